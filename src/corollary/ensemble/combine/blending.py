"""Blending: a weighted sum of different models, its weights found exactly on rows that the models had not seen."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning
from corollary.core.design import as_design
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Fitted, Floats
from corollary.core.limits import CLASS_WEIGHT, Boolean, Choice, Limit
from corollary.core.types import Array
from corollary.ensemble.combine.held_out import CV, HeldOut
from corollary.ensemble.combine.named import NAMED_LIMITS, Members, WeightedMembers, without_weights
from corollary.ensemble.combine.votes import (
    ByMean,
    ByVote,
    counted_again,
    one_hot,
    squared_error,
    take_rows,
    weighted_sum,
)
from corollary.ensemble.members import weakened
from corollary.ensemble.routing import Told
from corollary.referee.verdict import Verification
from corollary.solvers.least_squares.nonnegative import nonnegative_least_squares
from corollary.solvers.least_squares.task import Task

TOLERANCE = 1e-8


def nonnegative_weights(P: Array, y: Array, s: Array) -> tuple[Array, Certificate]:
    """argmin Σ s (y − P w)² over w ≥ 0, with the violation of its optimality conditions.

    Columns P hold what the members said of rows that they had not seen; y is the truth, s the rows' weights.
    """
    task = Task(as_design(np.ascontiguousarray(P)), y[:, None], s, np.zeros(1), False)
    coef, _, evidence = nonnegative_least_squares(task, TOLERANCE)
    return coef[:, 0], evidence.certificate


def simplex_weights(P: Array, y: Array, s: Array) -> tuple[Array, Certificate]:
    """argmin Σ s (y − P w)² over w ≥ 0 with Σ w = 1, with its relative duality gap.

    On the simplex y − P w = −A w with A = P − y 1ᵀ, so this is the shortest point A w of a convex hull. For u = c w the
    least-squares problem ‖A u‖² + (1ᵀu − 1)² over u ≥ 0 has its minimum over c at ‖A w‖² / (1 + ‖A w‖²), which grows
    with ‖A w‖²: its solution, divided by its sum, is the answer. For f(w) = ‖A w‖² with gradient g, no w on the simplex
    has a value below f(w) − (wᵀg − min g): that difference is the gap.
    """
    share = s / s.sum()
    A = P - y[:, None]
    scale = np.sqrt(max(float(share @ np.square(A).sum(axis=1)) / A.shape[1], 1e-300))
    rows = np.concatenate([A / scale, np.ones((1, A.shape[1]))])
    target = np.zeros(len(rows))
    target[-1] = 1.0
    u, _ = nonnegative_weights(rows, target, np.append(share, 1.0))
    w = u / u.sum()
    residual = A @ w
    gradient = 2 * (A.T @ (share * residual))
    gap = max(0.0, float(w @ gradient - gradient.min()))
    worst = float((share @ np.square(A)).max())  # a blend a million times better than this is as good as exact
    value = float(share @ np.square(residual))
    return w, Certificate(Kind.OPTIMAL, "relative duality gap", gap / max(value, 1e-6 * worst, 1e-300), TOLERANCE)


RECOUNTED = 200  # rows whose uniform blend is counted again


class _Blending(WeightedMembers):
    """Finds weights on held-out predictions, then fits the members to all rows."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "weights_": Floats("members", low=0),
    }
    weighting: str
    weights_: Array

    @property
    def _counts(self) -> Array:
        return self.weights_

    @abstractmethod
    def _solve(self, said: list[Array], truth: Array, w: Array) -> tuple[Array, Certificate]:
        """Weights for votes on held-out rows."""

    def _fit(self, members: Members, X: Any, y: Array, told: Told, weights: Array) -> Evidence:
        found = self._held_out(members, X, y, told)
        counted = weights[found.rows] > 0
        said, rows = [votes[counted] for votes in found.votes], found.rows[counted]
        truth, w = y[rows], weights[rows]
        if self.weighting == "linear":
            self.weights_, inner = self._solve(said, truth, w)
            # this makes the weights optimal for these members, but says nothing of better members: so not the model
            certificate: Certificate | None = Certificate(
                Kind.CHECKED, f"{inner.name} of the weights", inner.value, inner.tolerance
            )
        else:
            self.weights_, certificate = np.full(len(members), 1.0 / len(members)), None
        self._fit_members(members, X, y, told)
        if certificate is None:  # there is nothing to solve for, so what is left to check is the sum
            some = take_rows(X, np.arange(min(len(y), RECOUNTED)))
            certificate = counted_again(self, some, self.estimators_, self.weights_)
        blend, mean = weighted_sum(self.weights_, said), weighted_sum(np.full(len(said), 1 / len(said)), said)
        shown = dict(zip(self._names, said, strict=True)) | {"the blend": blend, "the plain mean": mean}
        errors = {f"held-out squared error of {name}": squared_error(votes, truth, w) for name, votes in shown.items()}
        evidence = Evidence(
            status=Status.EXACT,
            certificate=certificate,
            solver="non-negative least squares" if self.weighting == "linear" else "uniform blending",
            facts=self._scores(shown, truth, w) | errors,
            notes=(*self._warnings(found), *without_weights(members, told)),
        )
        return weakened(evidence, [*self.estimators_, *found.evidence])

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.combine.claims import verify_blend

        return verify_blend(self, X, y, sample_weight)

    def _warnings(self, found: HeldOut) -> list[str]:
        notes = []
        if self._prefit:
            notes.append("The members came fitted: if they had seen these rows, the weights favour those that overfit.")
        if found.seen > 0:
            notes.append(f"{found.seen:.0%} of the predictions are by models that had seen the row: cv overlaps.")
        if not self.weights_.any():
            notes.append("All weights are zero: no member is of any use for this target.")
        return notes


class BlendingClassifier(ByVote, _Blending):
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
        What the rows of each class count, times ``sample_weight``; members that take no weights ignore it.

    Attributes
    ----------
    weights_ : array of shape (members,)
    estimators_ : list of members, fitted to all rows
        Their classes are the numbers of ``classes_``.
    named_estimators_ : Bunch
        The same, by name.
    classes_ : array of shape (k,)
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* One fit of each member for each fold and one more; the weights are negligible. Memory: for each thread
    a copy of the rows of a fold and what the fit of a member takes.

    *Evidence.* Checked: the relative duality gap of the weights. No other weights are better by more than this on the
    held-out rows; of the members nothing is claimed. Uniform weights are not solved for: then the blend of some rows is
    counted again. Facts: held-out accuracy of members, blend and plain mean.

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

    limits: ClassVar[dict[str, Limit]] = NAMED_LIMITS | {
        "weighting": Choice("linear", "uniform"),
        "cv": CV,
        "class_weight": CLASS_WEIGHT,
    }

    @assigning
    def __init__(
        self,
        estimators: Any = None,
        *,
        weighting: str = "linear",
        cv: Any = 5,
        n_jobs: int | None = None,
        class_weight: Any = None,
    ) -> None: ...

    def _solve(self, said: list[Array], truth: Array, w: Array) -> tuple[Array, Certificate]:
        k = len(self.classes_)
        columns = np.stack([votes.ravel() for votes in said], axis=1)
        return simplex_weights(columns, one_hot(truth, k).ravel(), np.repeat(w, k))


class BlendingRegressor(ByMean, _Blending):
    r"""A sum of regressors' predictions, with the non-negative weights of least squares on rows they had not seen.

    .. math:: \min_{w \ge 0} \; \sum_i s_i \Big( y_i - \sum_m w_m \, f_m(x_i) \Big)^2

    Parameters
    ----------
    estimators : list of (name, regressor) pairs, or None
        "drop" in place of a regressor leaves it out. None is ridge regression and a small tree.
    weighting : {"linear", "uniform"}, default "linear"
        Uniform weights need no fit; held-out rows then only measure the members.
    sum_to_one : bool, default False
        Whether the weights must be shares of one, so that the blend lies between its members.
    cv : int ≥ 2, float in (0, 1), splitter, splits, "prefit" or None, default 5
        Where rows that members have not seen come from: folds (None is 5), one held-out share of the rows (a float), or
        members that were fitted elsewhere. Members are fitted to all rows in the end.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).

    Attributes
    ----------
    weights_ : array of shape (members,)
    estimators_ : list of members, fitted to all rows
    named_estimators_ : Bunch
        The same, by name.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* As for :class:`BlendingClassifier`.

    *Evidence.* Checked: the violation of the optimality conditions of the weights, relative to the data; with
    ``sum_to_one`` their relative duality gap. Facts: held-out R² of members, blend and plain mean.

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

    limits: ClassVar[dict[str, Limit]] = NAMED_LIMITS | {
        "weighting": Choice("linear", "uniform"),
        "sum_to_one": Boolean(),
        "cv": CV,
    }

    @assigning
    def __init__(
        self,
        estimators: Any = None,
        *,
        weighting: str = "linear",
        sum_to_one: bool = False,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None: ...

    def _solve(self, said: list[Array], truth: Array, w: Array) -> tuple[Array, Certificate]:
        columns = np.stack(said, axis=1)
        return (simplex_weights if self.sum_to_one else nonnegative_weights)(columns, truth, w)
