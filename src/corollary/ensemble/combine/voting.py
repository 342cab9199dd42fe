"""Voting: different models fitted to the same rows; the majority, or the mean of what they say."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from corollary.base import fitting
from corollary.core.evidence import Evidence, Status
from corollary.core.limits import N_JOBS, ArrayLike, Boolean, Choice, Limit
from corollary.core.types import Array
from corollary.ensemble.combine.named import (
    NAMED,
    NamedMembers,
    excess_of_vote,
    float_type,
    one_hot,
    score_of,
    shares_of,
    without_weights,
)
from corollary.ensemble.members import not_proved
from corollary.ensemble.plots import plot_weights


class _Voting(NamedMembers):
    """Fits all members to all rows."""

    weights: Any

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        began = time.perf_counter()
        X, y, given, row_weights = self._read(X, y, sample_weight)
        members = self._members()
        self._observer(X, y, 0, lambda state: {})
        self._shares = shares_of(self.weights, members, self.estimators)
        self._fit_members(members, X, y, given)
        part, truth, w = self._sampled(X, y, row_weights)
        w = w if w.sum() > 0 else np.ones(len(w))
        said = self._said(part)
        vote: Any = sum(share * each for share, each in zip(self._shares, said, strict=True))
        shown = dict(zip(self._names, said, strict=True)) | {"the vote": vote}
        evidence = Evidence(
            status=Status.EXACT,
            certificate=excess_of_vote(said, self._shares, truth, w),
            solver="voting",
            seconds=time.perf_counter() - began,
            facts={f"training score of {name}": score_of(each, truth, w) for name, each in shown.items()},
            notes=without_weights(members, given),
        )
        self._keep_evidence(not_proved(evidence, self.estimators_))

    def _vote(self, X: Any) -> tuple[Array, Any]:
        check_is_fitted(self)
        X = self._table(X, reset=False)
        mean: Any = sum(share * said for share, said in zip(self._shares, self._said(X), strict=True))
        return mean, float_type(X)

    def plot(self, ax: Any = None) -> Any:
        """Draw the members' weights beside their training scores; returns the matplotlib axes."""
        check_is_fitted(self)
        scores = {name: self.evidence_.facts[f"training score of {name}"] for name in self._names}
        return plot_weights(self._names, self._shares, scores, ax)


class VotingClassifier(ClassifierMixin, TransformerMixin, _Voting):
    """The majority vote of classifiers, or the class of the highest mean probability.

    Parameters
    ----------
    estimators : list of (name, classifier) pairs, or None
        "drop" in place of a classifier leaves it out. None is logistic regression and a small tree.
    voting : {"hard", "soft"}, default "hard"
        Whether a member casts one vote or its probabilities.
    weights : array of shape (members,) or None
        How much each member's vote counts, ≥ 0.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    flatten_transform : bool, default True
        Whether ``transform`` of soft votes gives one row of numbers for each row of X.

    Attributes
    ----------
    estimators_ : list of fitted members; their classes are the numbers of ``classes_``
    named_estimators_ : the same, by name
    classes_, n_features_in_, feature_names_in_
    evidence_ : Evidence

    Notes
    -----
    *Cost.* One fit of each member. ``sample_weight`` goes to members that take it (in a pipeline, to its last step).

    *Evidence.* A mean vote has at most the mean squared error of its voters (Jensen): checked on up to 2000 rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from corollary import LogisticRegression
    >>> from corollary.ensemble.combine.voting import VotingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotingClassifier([("linear", LogisticRegression()), ("bayes", GaussianNB())], voting="soft").fit(X, y)
    >>> round(model.score(X, y), 2), model.evidence_.holds
    (0.96, True)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "estimators": NAMED,
        "voting": Choice("hard", "soft"),
        "weights": Choice(None) | ArrayLike(),
        "n_jobs": N_JOBS,
        "flatten_transform": Boolean(),
    }

    class_weight = None  # members have their own; a full tree in a vote would not heed another's

    def __init__(
        self,
        estimators: Any = None,
        *,
        voting: str = "hard",
        weights: Any = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> VotingClassifier:
        """Fit every member to X and labels y."""
        for name, member in self._members() if self.voting == "soft" else ():
            if not hasattr(member, "predict_proba"):
                raise ValueError(f"voting='soft' needs predict_proba, which {name!r} does not have. Use voting='hard'.")
        self._fit(X, y, sample_weight)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.voting == "hard":
            tags.transformer_tags.preserves_dtype = []  # class numbers
        return tags

    def _say(self, member: Any, X: Any) -> Array:
        if self.voting == "soft":
            return super()._say(member, X)
        return one_hot(np.asarray(member.predict(X), dtype=np.intp), len(self.classes_))

    def predict_proba(self, X: Any) -> Array:
        """Mean probabilities; with hard votes, the share of votes for each class."""
        votes, dtype = self._vote(X)
        return votes.astype(dtype)

    def predict(self, X: Any) -> Array:
        """The class with most votes, the first of them in a tie."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def transform(self, X: Any) -> Array:
        """What the members say: class numbers (n, members), or probabilities (n, members · k) of soft votes."""
        check_is_fitted(self)
        X = self._table(X, reset=False)
        said = self._said(X)
        if self.voting == "hard":
            return np.column_stack([votes.argmax(axis=1) for votes in said])
        return (np.hstack(said) if self.flatten_transform else np.stack(said)).astype(float_type(X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of ``transform``."""
        check_is_fitted(self)
        if self.voting == "soft" and not self.flatten_transform:
            raise ValueError(
                "transform gives no table with voting='soft' and flatten_transform=False: it has no names."
            )
        ends = [""] if self.voting == "hard" else list(map(str, range(len(self.classes_))))
        return np.array([f"votingclassifier_{name}{end}" for name in self._names for end in ends], dtype=object)


class VotingRegressor(RegressorMixin, TransformerMixin, _Voting):
    """The weighted mean of what regressors predict.

    Parameters
    ----------
    estimators : list of (name, regressor) pairs, or None
        "drop" in place of a regressor leaves it out. None is ridge regression and a small tree.
    weights : array of shape (members,) or None
        How much each member counts, ≥ 0.
    n_jobs : as for :class:`VotingClassifier`

    Attributes
    ----------
    estimators_, named_estimators_, n_features_in_, feature_names_in_
    evidence_ : Evidence

    Notes
    -----
    *Cost* and *Evidence*: as for :class:`VotingClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from corollary import Ridge
    >>> from corollary.ensemble.combine.voting import VotingRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> model = VotingRegressor([("linear", Ridge()), ("near", KNeighborsRegressor(3))]).fit(X, X[:, 0] ** 2)
    >>> model.predict([[4.0]]).shape, model.evidence_.holds
    ((1,), True)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "estimators": NAMED,
        "weights": Choice(None) | ArrayLike(),
        "n_jobs": N_JOBS,
    }

    def __init__(self, estimators: Any = None, *, weights: Any = None, n_jobs: int | None = None) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> VotingRegressor:
        """Fit every member to X and y."""
        self._fit(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Array:
        """The weighted mean of the members' predictions."""
        votes, dtype = self._vote(X)
        return votes.astype(dtype)

    def transform(self, X: Any) -> Array:
        """What each member predicts (n, members)."""
        check_is_fitted(self)
        X = self._table(X, reset=False)
        return np.column_stack(self._said(X)).astype(float_type(X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of ``transform``."""
        check_is_fitted(self)
        return np.array([f"votingregressor_{name}" for name in self._names], dtype=object)
