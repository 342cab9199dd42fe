"""Ridge at the best of many penalties: leave-one-out in closed form, or any folds, each from one decomposition."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring

from corollary.base import assigning, fitting, predicting
from corollary.core.drawing import axes
from corollary.core.evidence import Status
from corollary.core.fitted import Fitted, Floats, Maybe, Number
from corollary.core.limits import ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.linear.folds import Fold, splits
from corollary.linear.least_squares import LeastSquaresRegressor, one_or_each
from corollary.solvers.least_squares.closed_form import solve
from corollary.solvers.least_squares.leave_one_out import ridge_path
from corollary.solvers.least_squares.task import Task, steady_algebra

Score = Callable[[Array, Array, Array | None], float]  # of (truth, prediction, weights)


class RidgeCV(LeastSquaresRegressor):
    """Ridge at the alpha with the best cross-validation score; leave-one-out in closed form by default.

    The error of row i in a fit without it is rᵢ / (1 − hᵢ), with rᵢ its residual and hᵢ its leverage in the fit to all
    rows. A row of weight w counts as w rows, of which one is left out at a time; if it weighs less than one, all of it
    is. One decomposition of X gives all rows and all alphas, so the whole path costs about as much as two fits.

    Parameters
    ----------
    alphas : array of shape (m,) or float, default=(0.1, 1.0, 10.0)
        Penalties to try, > 0.
    fit_intercept : bool, default=True
        Whether to fit b; if not, b = 0.
    scoring : str, callable or None, default=None
        None is the mean squared error (R² with ``cv``). A callable is called as scoring(estimator, X, y).
    cv : int, splitter, iterable of splits or None, default=None
        None is leave-one-out. Folds are fitted and scored with their weights.
    gcv_mode : {None, "auto", "svd", "eigen"}, default=None
        Decomposition: singular values of X or eigenvalues of its moments; None and "auto" choose by size.
    store_cv_results : bool, default=False
        Keep ``cv_results_`` (leave-one-out only).
    alpha_per_target : bool, default=False
        Choose alpha for each target separately (leave-one-out only).

    Attributes
    ----------
    alpha_ : float, or array of shape (k,) with ``alpha_per_target``
    best_score_ : float, or array of shape (k,) with ``alpha_per_target``
        Weighted mean over the rows; higher is better, so an error is negative.
    mean_scores_ : array of shape (m,), or (m, k) with ``alpha_per_target``
        The score at each alpha.
    cv_results_ : array of shape (n, m) or (n, k, m)
        Squared leave-one-out errors, or leave-one-out predictions if ``scoring`` is given.
    coef_, intercept_, effective_dof_, evidence_ : as in :class:`Ridge`, at ``alpha_``
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: three threaded passes over X, n d² operations in two of them and n d m in one; memory for a few d × d
    matrices and a few vectors of length n. With fewer rows than columns, an eigendecomposition of n × n. With ``cv``, a
    decomposition and three passes a fold.

    *Evidence*: that of the ridge fit at ``alpha_``. A callback may end the folds early; alpha is then the best of those
    that were scored.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.linear import RidgeCV
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> RidgeCV(alphas=[0.01, 100.0]).fit(X, [0.1, 0.9, 2.1, 2.9]).alpha_
    0.01
    """

    flat = True
    fitted: ClassVar[dict[str, Fitted]] = {
        "alpha_": Floats("*t", low=0) | Number(low=0),
        "mean_scores_": Floats("?", finite=False) | Floats("?", "t", finite=False),
        "best_score_": Floats("*t", finite=False) | Number(finite=False),
        "effective_dof_": Floats("*t", finite=False) | Number(finite=False),
        "cv_results_": Maybe(Floats("?", "?", finite=False) | Floats("?", "t", "?", finite=False)),
    }
    _penalty_beside_sum = True
    limits: ClassVar[dict[str, Limit]] = {
        "alphas": Real(0, 1e300, above=True) | ArrayLike(),
        "fit_intercept": Boolean(),
        "scoring": Choice(None) | Instance("the name of a scorer", str) | Instance("a scorer", methods=("__call__",)),
        "cv": Choice(None)
        | Integer(2)
        | Instance("a splitter", methods=("split",))
        | Instance("an iterable of splits", methods=("__iter__",)),
        "gcv_mode": Choice(None, "auto", "svd", "eigen"),
        "store_cv_results": Boolean(),
        "alpha_per_target": Boolean(),
    }

    @assigning
    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RidgeCV:
        """Choose alpha and fit to X (n × d, dense or sparse) and y (n,) or (n, k), or to blocks of (X, y), with it."""
        X, y, weights = self._validate_fit(X, y, sample_weight, multi_output=True, blocks=True)
        task, alphas, stopped = self._task(X, y, weights), self._path(), False
        if self.cv is None:
            scores = self._leave_one_out(task, alphas * self._weight_unit, y)
        else:
            for name in ("store_cv_results", "alpha_per_target"):
                if getattr(self, name):
                    raise ValueError(f"{name}=True needs leave-one-out (cv=None), but cv is {self.cv!r}.")
            scores, stopped = self._by_folds(task, X, y, alphas * self._weight_unit)
        separate = self.alpha_per_target and task.Y.shape[1] > 1
        self.mean_scores_ = scores if separate else scores.mean(axis=1)
        best = self.mean_scores_.argmax(axis=0)
        self.alpha_ = alphas[best] if separate else float(alphas[best])
        self.best_score_ = self.mean_scores_.max(axis=0) if separate else float(self.mean_scores_[best])
        task = task.at(self.alpha_ * self._weight_unit)
        answer, evidence = solve(task)
        self.effective_dof_ = one_or_each(answer.dof)
        evidence = self._keep_shaped(task, (answer.coef, answer.intercept, evidence), y, X.dtype)
        self._keep_evidence(replace(evidence, status=Status.BUDGET) if stopped else evidence)
        return self

    def _path(self) -> Array:
        alphas = np.asarray(self.alphas, dtype=np.float64).ravel()
        if not alphas.size or not all(a > 0 and np.isfinite(a) for a in alphas):
            raise ValueError(f"alphas must be finite numbers > 0, at least one of them, but they are {self.alphas!r}.")
        return alphas

    def _leave_one_out(self, task: Task, alphas: Array, y: Array) -> Array:
        """Scores (number of alphas, k); keeps ``cv_results_`` if asked."""
        method = self.gcv_mode or "auto"
        scores, residuals = leave_one_out_scores(task, alphas, method, self.scoring, self.store_cv_results)
        self.__dict__.pop("cv_results_", None)
        if self.store_cv_results and residuals is not None:
            rows = residuals**2 if self.scoring is None else task.Y[:, :, None] - residuals
            self.cv_results_ = rows[:, 0] if y.ndim == 1 else rows
        return scores

    def _by_folds(self, task: Task, X: Any, y: Array, alphas: Array) -> tuple[Array, bool]:
        """Mean scores (number of alphas, 1) over the folds, and whether a callback ended them early."""
        scores: list[list[float]] = []
        for row in fold_scores(task, y, alphas, splits(self.cv, X, y, task.weights), self.scoring):
            scores.append(row)
            if self._stop_between("fold"):
                return np.mean(scores, axis=0)[:, None], True
        return np.mean(scores, axis=0)[:, None], False

    @predicting
    def plot(self, ax: Any = None) -> Any:
        """Draw the score against alpha, with the choice marked; returns the matplotlib axes."""
        ax = axes(ax)
        error = self.cv is None and self.scoring is None
        scores = np.abs(self.mean_scores_) if error else self.mean_scores_
        alphas = self._path()
        order = np.argsort(alphas)
        ax.plot(alphas[order], scores[order], marker="o", ms=3)
        for alpha in np.atleast_1d(self.alpha_):
            ax.axvline(alpha, color="0.5", ls="--", lw=1)
        ylabel = "leave-one-out mean squared error" if error else "cross-validation score"
        ax.set(xscale="log", xlabel="alpha", ylabel=ylabel, title=f"best alpha: {np.round(self.alpha_, 6)}")
        return ax


class _Predicted(RegressorMixin, BaseEstimator):
    """Stands in for a fitted model towards a scorer: what it is given as X are the predictions themselves."""

    def fit(self, X: Any, y: Any = None) -> _Predicted:
        return self

    def predict(self, X: Array) -> Array:
        return X


def score_function(scoring: Any, default: str) -> Score:
    """A scorer by name or a callable (estimator, X, y); weights are handed on to those that take them."""
    scorer = check_scoring(_Predicted(), scoring=scoring or default)
    weighted = "sample_weight" in inspect.signature(scorer).parameters

    def score(truth: Array, prediction: Array, weights: Array | None) -> float:
        options = {"sample_weight": weights} if weighted and weights is not None else {}
        return float(scorer(_Predicted(), prediction, truth, **options))

    return score


def leave_one_out_scores(
    task: Task, alphas: Array, method: str, scoring: Any, keep: bool
) -> tuple[Array, Array | None]:
    """(scores (number of alphas, k), residuals (n, k, number of alphas) if they are kept or a scorer asks for them)."""
    n, k = task.Y.shape
    errors = np.zeros((len(alphas), k))
    residuals = np.empty((n, k, len(alphas))) if keep or scoring is not None else None
    weights = np.ones(n) if task.weights is None else task.weights

    def consume(start: int, stop: int, part: Array) -> None:
        errors[:] += np.einsum("i,ika,ika->ak", weights[start:stop], part, part)
        if residuals is not None:
            residuals[start:stop] = part

    with steady_algebra(task.design):
        ridge_path(task, method).leave_one_out(alphas, consume)
    if scoring is None or residuals is None:
        return -errors / task.weight, residuals
    score = score_function(scoring, "")
    predictions = task.Y[:, :, None] - residuals
    scores = [[score(task.Y[:, c], predictions[:, c, a], task.weights) for c in range(k)] for a in range(len(alphas))]
    return np.array(scores), residuals


def fold_scores(task: Task, y: Array, alphas: Array, folds: list[Fold], scoring: Any) -> Iterator[list[float]]:
    """The score of each alpha in each fold (R² unless asked otherwise), weights used in fit and score alike."""
    score, design = score_function(scoring, "r2"), task.design
    for train, test in folds:
        weights = (None, None) if task.weights is None else (task.weights[train], task.weights[test])
        part = Task(design.rows(train), task.Y[train], weights[0], task.alpha, task.fit_intercept)
        with steady_algebra(part.design):
            path, held_out = ridge_path(part), design.rows(test)
        found = [path.coefficients(float(alpha)) for alpha in alphas]
        raw = held_out.matvec(np.hstack([coef for coef, _ in found])) + np.hstack([start for _, start in found])
        each = np.split(raw, len(alphas), axis=1)
        yield [score(y[test], prediction.reshape(y[test].shape), weights[1]) for prediction in each]
