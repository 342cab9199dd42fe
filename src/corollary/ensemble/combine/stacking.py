"""Stacking: a final model that learns from what others say of rows that they had not seen."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.metaestimators import available_if

from corollary.base import fitting
from corollary.core.limits import CLASS_WEIGHT, N_JOBS, Boolean, Choice, Instance, Limit
from corollary.core.types import Array
from corollary.ensemble.combine.held_out import CV
from corollary.ensemble.combine.named import NAMED
from corollary.ensemble.combine.stacking_base import METHODS, Stacking, final_has


class StackingClassifier(ClassifierMixin, Stacking):
    """A classifier that learns how far to trust others, from what they say of rows that they had not seen.

    Parameters
    ----------
    estimators : list of (name, classifier) pairs, or None
        "drop" in place of a classifier leaves it out. None is logistic regression and a small tree.
    final_estimator : classifier or None, default None
        None is logistic regression.
    cv : int ≥ 2, float in (0, 1), splitter, splits, "prefit" or None, default None
        Where rows that members have not seen come from: folds (None is 5), one held-out share of the rows (a float), or
        members that were fitted elsewhere.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default "auto"
        What members are asked for; "auto" is the first of these that a member has. Of the probabilities of two classes
        the second is used.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    passthrough : bool, default False
        Whether the final model sees X too.
    class_weight : dict, "balanced" or None, default None
        What the rows of each class count, times ``sample_weight``; members that take no weights do not hear of it.

    Attributes
    ----------
    estimators_, named_estimators_ : members, fitted to all rows; their classes are the numbers of ``classes_``
    final_estimator_, stack_method_, classes_, n_features_in_, feature_names_in_
    evidence_ : Evidence

    Notes
    -----
    *Cost.* One fit of each member for each fold and one more, and the final fit.

    *Evidence.* That of the final model, where it has any; else that no prediction it learnt from was by a model that
    had seen the row. Facts: held-out accuracy of each member.

    References
    ----------
    Wolpert (1992), Stacked generalization.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from corollary.ensemble.combine.stacking import StackingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StackingClassifier([("near", KNeighborsClassifier()), ("bayes", GaussianNB())]).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.evidence_.holds
    (True, True)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "estimators": NAMED,
        "final_estimator": Choice(None) | Instance("a classifier", methods=("fit", "predict")),
        "cv": CV,
        "stack_method": Choice("auto", *METHODS),
        "n_jobs": N_JOBS,
        "passthrough": Boolean(),
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        estimators: Any = None,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: str = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        class_weight: Any = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.class_weight = class_weight

    def _default_final(self) -> Any:
        from corollary.linear.logistic import LogisticRegression

        return LogisticRegression()

    def _methods(self, members: list[tuple[str, Any]]) -> list[str]:
        wanted = METHODS if self.stack_method == "auto" else (self.stack_method,)
        chosen = []
        for name, member in members:
            able = [method for method in wanted if hasattr(member, method)]
            if not able:
                raise ValueError(f"stack_method={self.stack_method!r}, but estimator {name!r} has no such method.")
            chosen.append(able[0])
        return chosen

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StackingClassifier:
        """Fit the members and the final model to X and labels y."""
        if not is_classifier(self._final()):
            raise ValueError(f"final_estimator should be a classifier, but it is {self.final_estimator!r}.")
        self._fit(X, y, sample_weight)
        return self

    @available_if(final_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Probabilities by the final model."""
        return self._ask("predict_proba", X)

    @available_if(final_has("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Scores by the final model."""
        return self._ask("decision_function", X)


class StackingRegressor(RegressorMixin, Stacking):
    """A regressor that learns how far to trust others, from what they predict for rows that they had not seen.

    Parameters
    ----------
    estimators : list of (name, regressor) pairs, or None
        "drop" in place of a regressor leaves it out. None is ridge regression and a small tree.
    final_estimator : regressor or None, default None
        None is ridge regression with its penalty chosen by leave-one-out.
    cv, n_jobs, passthrough : as for :class:`StackingClassifier`

    Attributes
    ----------
    estimators_, named_estimators_, final_estimator_, stack_method_, n_features_in_, feature_names_in_
    evidence_ : Evidence

    Notes
    -----
    *Cost* and *Evidence*: as for :class:`StackingClassifier`, with held-out R².

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from corollary import Ridge
    >>> from corollary.ensemble.combine.stacking import StackingRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = StackingRegressor([("linear", Ridge()), ("near", KNeighborsRegressor())]).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> bool(model.score(X, X[:, 0] ** 2 + X[:, 1]) > 0.7), model.evidence_.holds
    (True, True)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "estimators": NAMED,
        "final_estimator": Choice(None) | Instance("a regressor", methods=("fit", "predict")),
        "cv": CV,
        "n_jobs": N_JOBS,
        "passthrough": Boolean(),
    }

    def __init__(
        self,
        estimators: Any = None,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough

    def _default_final(self) -> Any:
        from corollary.linear.ridge_cv import RidgeCV

        return RidgeCV()

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StackingRegressor:
        """Fit the members and the final model to X and y."""
        if is_classifier(self._final()):
            raise ValueError(f"final_estimator should be a regressor, but it is {self.final_estimator!r}.")
        self._fit(X, y, sample_weight)
        return self
