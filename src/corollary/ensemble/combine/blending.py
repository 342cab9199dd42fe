"""Blending: a weighted sum of different models, its weights found exactly on rows that the models had not seen."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from corollary.base import fitting
from corollary.core.evidence import Certificate, Evidence, Status
from corollary.core.limits import CLASS_WEIGHT, N_JOBS, Boolean, Choice, Limit
from corollary.core.types import Array
from corollary.ensemble.combine.blend_weights import nonnegative_weights, simplex_weights
from corollary.ensemble.combine.held_out import CV, HeldOut, hold_out, splits_of
from corollary.ensemble.combine.named import (
    NAMED,
    NamedMembers,
    excess_of_vote,
    float_type,
    one_hot,
    score_of,
    squared_error,
    without_weights,
)
from corollary.ensemble.members import not_proved
from corollary.ensemble.plots import plot_weights


class _Blending(NamedMembers):
    """Finds weights on held-out predictions, then fits the members to all rows."""

    weighting: str
    cv: Any

    @abstractmethod
    def _solve(self, said: list[Array], truth: Array, w: Array) -> tuple[Array, Certificate]:
        """Weights for votes on held-out rows."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        began = time.perf_counter()
        X, y, given, row_weights = self._read(X, y, sample_weight)
        members = self._members()
        self._observer(X, y, 0, lambda state: {})
        found = self._held_out(members, X, y, given)
        rows = found.rows[row_weights[found.rows] > 0]
        said = [votes[row_weights[found.rows] > 0] for votes in found.votes]
        truth, w = y[rows], row_weights[rows]
        if self.weighting == "linear":
            self.weights_, certificate = self._solve(said, truth, w)
        else:
            self.weights_ = np.full(len(members), 1.0 / len(members))
            certificate = excess_of_vote(said, self.weights_, truth, w)
        if self.cv != "prefit":
            self._fit_members(members, X, y, given)
        evidence = self._prove(found, said, truth, w, certificate, time.perf_counter() - began)
        evidence = replace(evidence, notes=(*evidence.notes, *without_weights(members, given)))
        self._keep_evidence(not_proved(evidence, [*self.estimators_, *found.evidence]))

    def _held_out(self, members: list[tuple[str, Any]], X: Any, y: Array, weights: Array | None) -> HeldOut:
        if isinstance(self.cv, str):
            self._keep_prefit(members)
            return HeldOut(self._said(X), np.arange(len(y)), 0.0, 0)
        self._labels = np.arange(len(self.classes_)) if is_classifier(self) else None
        splits = splits_of(self.cv, X, y, bool(is_classifier(self)))
        return hold_out(members, X, y, weights, splits, self._say, self.n_jobs)

    def _prove(
        self, found: HeldOut, said: list[Array], truth: Array, w: Array, certificate: Certificate, seconds: float
    ) -> Evidence:
        blend: Any = sum(weight * votes for weight, votes in zip(self.weights_, said, strict=True))
        mean: Any = sum(said) / len(said)
        shown = dict(zip(self._names, said, strict=True)) | {"the blend": blend, "the plain mean": mean}
        facts = {f"held-out score of {name}": score_of(votes, truth, w) for name, votes in shown.items()}
        facts |= {f"held-out squared error of {name}": squared_error(votes, truth, w) for name, votes in shown.items()}
        notes = []
        if found.n_splits == 0:
            notes.append("The members came fitted: if they had seen these rows, the weights favour those that overfit.")
        if found.seen > 0:
            notes.append(f"{found.seen:.0%} of the predictions are by models that had seen the row: cv overlaps.")
        if not self.weights_.any():
            notes.append("All weights are zero: no member is of any use for this target.")
        return Evidence(
            status=Status.EXACT,
            certificate=certificate,
            solver="non-negative least squares" if self.weighting == "linear" else "uniform blending",
            seconds=seconds,
            facts=facts,
            notes=tuple(notes),
        )

    def _blend(self, X: Any) -> tuple[Array, Any]:
        check_is_fitted(self)
        X = self._table(X, reset=False)
        mean: Any = sum(weight * said for weight, said in zip(self.weights_, self._said(X), strict=True))
        return mean, float_type(X)

    def plot(self, ax: Any = None) -> Any:
        """Draw the members' weights beside their held-out scores; returns the matplotlib axes."""
        check_is_fitted(self)
        scores = {name: self.evidence_.facts[f"held-out score of {name}"] for name in self._names}
        return plot_weights(self._names, self.weights_, scores, ax)


class BlendingClassifier(ClassifierMixin, _Blending):
    r"""A mean of classifiers' probabilities, with the weights of least squared error on rows they had not seen.

    .. math:: \min_{w \ge 0, \; \sum_m w_m = 1} \; \sum_i s_i \Big\| \sum_m w_m \, p_m(x_i) - e_{y_i} \Big\|^2,

    the Brier score of the blend, with e the unit vectors. It is solved exactly, so on those rows the blend has a Brier
    score no worse than any member's.

    Parameters
    ----------
    estimators : list of (name, classifier) pairs, or None
        "drop" in place of a classifier leaves it out. None is logistic regression and a small tree. A classifier
        without probabilities casts a whole vote.
    weighting : {"linear", "uniform"}, default "linear"
        Uniform weights need no fit; held-out rows then only measure the members.
    cv : int ≥ 2, float in (0, 1), splitter, splits, "prefit" or None, default 5
        Where rows that members have not seen come from: folds (None is 5), one held-out share of the rows (a float), or
        members that were fitted elsewhere. Members are fitted to all rows in the end.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    class_weight : dict, "balanced" or None, default None
        What the rows of each class count, times ``sample_weight``; members that take no weights do not hear of it.

    Attributes
    ----------
    weights_ : array of shape (members,)
    estimators_, named_estimators_, classes_, n_features_in_, feature_names_in_
    evidence_ : Evidence

    Notes
    -----
    *Cost.* One fit of each member for each fold and one more; the weights are negligible.

    *Evidence.* The relative duality gap of the weights. Facts: held-out accuracy of members, blend and plain mean.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from corollary import LogisticRegression
    >>> from corollary.ensemble.combine.blending import BlendingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BlendingClassifier([("linear", LogisticRegression()), ("bayes", GaussianNB())]).fit(X, y)
    >>> float(model.weights_.sum().round(6)), model.evidence_.holds
    (1.0, True)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "estimators": NAMED,
        "weighting": Choice("linear", "uniform"),
        "cv": CV,
        "n_jobs": N_JOBS,
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        estimators: Any = None,
        *,
        weighting: str = "linear",
        cv: Any = 5,
        n_jobs: int | None = None,
        class_weight: Any = None,
    ) -> None:
        self.estimators = estimators
        self.weighting = weighting
        self.cv = cv
        self.n_jobs = n_jobs
        self.class_weight = class_weight

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BlendingClassifier:
        """Find the weights and fit the members to X and labels y."""
        self._fit(X, y, sample_weight)
        return self

    def _solve(self, said: list[Array], truth: Array, w: Array) -> tuple[Array, Certificate]:
        k = len(self.classes_)
        columns = np.stack([votes.ravel() for votes in said], axis=1)
        return simplex_weights(columns, one_hot(truth, k).ravel(), np.repeat(w, k))

    def predict_proba(self, X: Any) -> Array:
        """The weighted mean of the members' probabilities."""
        votes, dtype = self._blend(X)
        return votes.astype(dtype)

    def predict(self, X: Any) -> Array:
        """The class of the highest probability."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class BlendingRegressor(RegressorMixin, _Blending):
    r"""A sum of regressors' predictions, with the non-negative weights of least squares on rows they had not seen.

    .. math:: \min_{w \ge 0} \; \sum_i s_i \Big( y_i - \sum_m w_m \, f_m(x_i) \Big)^2

    Parameters
    ----------
    estimators : list of (name, regressor) pairs, or None
        "drop" in place of a regressor leaves it out. None is ridge regression and a small tree.
    weighting : {"linear", "uniform"}, default "linear"
    sum_to_one : bool, default False
        Whether the weights must be shares of one, so that the blend lies between its members.
    cv, n_jobs : as for :class:`BlendingClassifier`

    Attributes
    ----------
    weights_ : array of shape (members,)
    estimators_, named_estimators_, n_features_in_, feature_names_in_
    evidence_ : Evidence

    Notes
    -----
    *Cost.* As for :class:`BlendingClassifier`.

    *Evidence.* The violation of the optimality conditions of the weights, relative to the data; with ``sum_to_one``
    their relative duality gap. Facts: held-out R² of members, blend and plain mean.

    References
    ----------
    Breiman (1996), Stacked regressions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from corollary import Ridge
    >>> from corollary.ensemble.combine.blending import BlendingRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = BlendingRegressor([("linear", Ridge()), ("near", KNeighborsRegressor())]).fit(X, X[:, 0] ** 2)
    >>> bool(model.weights_[1] > model.weights_[0]), model.evidence_.holds
    (True, True)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "estimators": NAMED,
        "weighting": Choice("linear", "uniform"),
        "sum_to_one": Boolean(),
        "cv": CV,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        estimators: Any = None,
        *,
        weighting: str = "linear",
        sum_to_one: bool = False,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weighting = weighting
        self.sum_to_one = sum_to_one
        self.cv = cv
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BlendingRegressor:
        """Find the weights and fit the members to X and y."""
        self._fit(X, y, sample_weight)
        return self

    def _solve(self, said: list[Array], truth: Array, w: Array) -> tuple[Array, Certificate]:
        columns = np.stack(said, axis=1)
        return (simplex_weights if self.sum_to_one else nonnegative_weights)(columns, truth, w)

    def predict(self, X: Any) -> Array:
        """The weighted sum of the members' predictions."""
        blend, dtype = self._blend(X)
        return blend.astype(dtype)
