"""Lasso and elastic net, one strength or a whole path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from corollary.base import fitting
from corollary.core.design import Design, as_design
from corollary.core.evidence import Evidence, worst_of
from corollary.core.limits import RANDOM_STATE, ArrayLike, Boolean, Choice, Integer, Limit, Real
from corollary.core.loss import Squared
from corollary.core.penalty import ElasticNet as ElasticNetPenalty
from corollary.core.penalty import Penalty, PositiveElasticNet
from corollary.core.problem import Problem, relative_gap
from corollary.core.types import Array
from corollary.linear.predict import LinearRegressor
from corollary.solvers.linear.cd import minimise_quadratic
from corollary.solvers.linear.compress import Compressed, compress, worth_compressing
from corollary.solvers.linear.driver import Solution, State, solve
from corollary.solvers.linear.prox_newton import ProxNewton
from corollary.solvers.loop import Observer


def penalty_of(alpha: float, l1_ratio: float, positive: bool) -> Penalty:
    """alpha · (l1_ratio ‖w‖₁ + ½ (1 − l1_ratio) ‖w‖²), on w ≥ 0 if asked."""
    kind = PositiveElasticNet if positive else ElasticNetPenalty
    return kind(l1=alpha * l1_ratio, l2=alpha * (1 - l1_ratio))


class SquaredPath:
    """The squared-loss problem of one target for any number of penalties: data prepared once, warm starts shared."""

    def __init__(
        self, design: Design, y: Array, weights: Array, fit_intercept: bool, compressed: Compressed | None = None
    ) -> None:
        total = float(weights.sum())
        self.compressed = compressed
        if compressed is None:
            self.data: tuple[Any, ...] = (design, y, weights / total)
            self.offset, self.fit_intercept = 0.0, fit_intercept
        else:
            rows = as_design(compressed.R)
            self.data = (rows, compressed.y, np.full(rows.shape[0], 1 / total))
            self.offset, self.fit_intercept = compressed.rest / (2 * total), False
        self.solver = ProxNewton()
        self.state: State | None = None

    def problem(self, penalty: Penalty) -> Problem:
        design, y, weights = self.data
        return Problem(design, y, weights, Squared(), penalty, self.fit_intercept, offset=self.offset)

    def alpha_max(self, l1_ratio: float, positive: bool = False) -> float:
        """The smallest alpha at which every coefficient is zero."""
        design, y, weights = self.data
        centred = y - (weights @ y / weights.sum() if self.fit_intercept else 0.0)
        return penalty_of(1.0, l1_ratio, positive).null_strength(-design.rmatvec(weights * centred))

    def solve(self, penalty: Penalty, *, tol: float, max_iter: int, observe: Observer | None = None) -> Solution:
        found = solve(self.solver, self.problem(penalty), tol=tol, max_iter=max_iter, start=self.state, observe=observe)
        self.state = found.state
        return found

    def intercept(self, found: Solution | State) -> float:
        if self.compressed is not None:
            return self.compressed.intercept(found.coef)
        return float(found.intercept)

    def walk(self, penalties: Iterable[Penalty], *, tol: float, max_iter: int) -> Iterator[tuple[Array, float, bool]]:
        """Coefficients, intercept and whether ``tol`` was reached for each penalty in turn, warm-started.

        On compressed data every step stays in d dimensions: the Gram matrix is formed once, and neither the solver's
        bookkeeping nor its history is needed.
        """
        if self.compressed is None:
            for penalty in penalties:
                found = self.solve(penalty, tol=tol, max_iter=max_iter)
                yield found.coef, self.intercept(found), found.evidence.holds
            return
        R, y = self.compressed.R, self.compressed.y
        scale = self.data[2][0] if len(y) else 1.0
        H, w = scale * (R.T @ R), np.zeros(R.shape[1])
        null = self.offset + 0.5 * scale * float(y @ y)
        for penalty in penalties:
            for part in (0.1, 1e-3, 1e-6):  # of the strength: as exact as the gap asks
                slope = scale * (R @ w - y)
                w, _ = minimise_quadratic(H, R.T @ slope, w, penalty, tol=part * tol * max(penalty.l1, 1e-300))
                gap = self._gap(penalty, w, scale, null)
                if gap <= tol:
                    break
            yield w, self.compressed.intercept(w), gap <= tol

    def _gap(self, penalty: Penalty, w: Array, scale: float, null: float) -> float:
        problem = self.problem(penalty)
        assert self.compressed is not None
        residual = self.compressed.R @ w - self.compressed.y
        primal = problem.primal_value(0.5 * scale * float(residual @ residual), w)
        slope = scale * residual
        return relative_gap(primal, problem.dual_value(slope, self.compressed.R.T @ slope), null)


def squared_paths(X: Any, Y: Array, weights: Array, fit_intercept: bool) -> Iterator[SquaredPath]:
    """One ``SquaredPath`` per column of Y; tall data are compressed in one pass for all of them."""
    design = as_design(X)
    moments = design.moments(Y, weights) if worth_compressing(design.shape) else None
    for target in range(Y.shape[1]):
        small = None if moments is None else compress(moments, target, fit_intercept=fit_intercept)
        yield SquaredPath(design, np.ascontiguousarray(Y[:, target]), weights, fit_intercept, small)


class ElasticNet(LinearRegressor):
    r"""Linear regression with a mixed L1 and L2 penalty.

    .. math:: \min_{w, b} \frac{1}{2 \sum_i s_i} \sum_i s_i (y_i - x_i^\top w - b)^2
              + \alpha \Big(\rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2\Big)

    with sample weights s and ρ = ``l1_ratio``. The intercept is not penalised.

    Parameters
    ----------
    alpha : float ≥ 0, default 1.0
        Strength of the penalty.
    l1_ratio : float in [0, 1], default 0.5
        Share of the L1 part; 1 is the lasso.
    fit_intercept : bool, default True
    max_iter : int ≥ 1, default 1000
        Iterations of the solver; each is one pass over X. A handful is typical.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach.
    warm_start : bool, default False
        Start from the coefficients of the previous fit.
    positive : bool, default False
        Require coefficients ≥ 0.
    precompute, copy_X, random_state, selection
        Accepted so that code written for scikit-learn runs; the solver needs none of them and never changes X.

    Attributes
    ----------
    coef_ : array of shape (d,) or (k, d)
    intercept_ : float or array of shape (k,)
    n_iter_ : int, or list of int for several targets
    dual_gap_ : float or array: the absolute duality gap
    sparse_coef_ : SciPy CSR matrix of ``coef_``
    evidence_ : Evidence
        The relative duality gap, with the history of the fit.

    Notes
    -----
    *Cost.* Tall data (n > 2d, d ≤ 2000): one pass over X, O(n d²) flops, memory d². Otherwise one pass per iteration
    and n·s + s² memory for a working set of s columns (a little more than the number of non-zero coefficients).

    *Evidence.* The duality gap from the Fenchel conjugates of loss and penalty: no coefficients have an objective that
    is lower than this model's by more than it.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), *Regularization paths for generalized linear models via coordinate descent*,
    Journal of Statistical Software 33.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01).fit(X, y)
    >>> model.evidence_.holds
    True
    """

    limits: ClassVar[dict[str, Limit]] = {
        "alpha": Real(low=0),
        "l1_ratio": Real(low=0, high=1),
        "fit_intercept": Boolean(),
        "precompute": Boolean() | ArrayLike(),
        "max_iter": Integer(1),
        "copy_X": Boolean(),
        "tol": Real(low=0),
        "warm_start": Boolean(),
        "positive": Boolean(),
        "random_state": RANDOM_STATE,
        "selection": Choice("cyclic", "random"),
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int = 1000,
        copy_X: bool = True,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ElasticNet:
        """Fit the coefficients; y may have several columns, each fitted by itself."""
        X, y, weights = self._validate_fit(X, y, sample_weight, multi_output=True)
        Y = y.reshape(len(y), -1).astype(np.float64, copy=False)
        penalty = penalty_of(self.alpha, self.l1_ratio, self.positive)
        found: list[tuple[Solution, float]] = []

        def attributes(state: State) -> dict[str, Any]:
            return _so_far([*found, (state, path.intercept(state))], Y.shape[1], y.ndim == 1)

        observe = self._observer(X, y, self.max_iter, attributes)
        for target, path in enumerate(squared_paths(X, Y, weights, self.fit_intercept)):
            path.state = self._previous(target, Y.shape[1], X.shape[1])
            solution = path.solve(penalty, tol=self.tol, max_iter=self.max_iter, observe=observe)
            found.append((solution, path.intercept(solution)))
        self._keep(found, X.dtype, y.ndim == 1)
        return self

    def _previous(self, target: int, n_targets: int, n_columns: int) -> State | None:
        if not (self.warm_start and hasattr(self, "coef_")) or np.size(self.coef_) != n_targets * n_columns:
            return None
        coef = np.reshape(self.coef_, (n_targets, n_columns))[target].astype(np.float64)
        return State(coef, float(np.reshape(self.intercept_, -1)[target]))

    def _keep(self, found: list[tuple[Solution, float]], dtype: Any, single: bool) -> None:
        coef = np.stack([solution.coef for solution, _ in found], axis=1)
        intercepts = np.array([intercept for _, intercept in found]) if self.fit_intercept else np.zeros(len(found))
        gaps = np.array([_gap(solution.evidence) for solution, _ in found])
        counts = [solution.evidence.n_iter for solution, _ in found]
        self.n_iter_ = counts[0] if single else counts
        self.dual_gap_ = gaps[0] if single else gaps
        self._keep_coefficients(coef[:, 0] if single else coef, intercepts[0] if single else intercepts, dtype)
        self._keep_evidence(worst_of([solution.evidence for solution, _ in found]))

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a CSR matrix."""
        return sparse.csr_array(np.atleast_2d(self.coef_))

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> tuple[Array, Array, Array]:
        """:func:`enet_path`."""
        return enet_path(X, y, **options)


class Lasso(ElasticNet):
    r"""Linear regression with an L1 penalty, which sets coefficients to zero.

    .. math:: \min_{w, b} \frac{1}{2 \sum_i s_i} \sum_i s_i (y_i - x_i^\top w - b)^2 + \alpha \|w\|_1

    Parameters, attributes, cost and evidence are those of :class:`ElasticNet` with ``l1_ratio=1``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import Lasso
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = Lasso(alpha=0.5).fit(X, y)
    >>> list(model.feature_names_in_[model.coef_ != 0])
    ['bmi', 'bp', 's3', 's5']
    """

    limits: ClassVar[dict[str, Limit]] = {k: v for k, v in ElasticNet.limits.items() if k != "l1_ratio"}
    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> tuple[Array, Array, Array]:
        """:func:`lasso_path`."""
        return lasso_path(X, y, **options)


def alpha_grid(alpha_max: float, eps: float, n_alphas: int) -> Array:
    """``n_alphas`` strengths from ``alpha_max`` down to ``eps · alpha_max``, evenly spaced in their logarithm."""
    if not alpha_max > 0:  # nothing correlates with y: any strength gives zero
        return np.full(n_alphas, np.finfo(float).eps)
    return np.geomspace(alpha_max, eps * alpha_max, n_alphas)


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: int = 100,
    alphas: Any = None,
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    sample_weight: Any = None,
    callback: Callable[[int, Evidence], None] | None = None,
) -> tuple[Array, Array, Array]:
    """Elastic-net coefficients for a decreasing grid of strengths, each warm-started from the one before.

    As in scikit-learn there is no intercept: centre X and y first, or use ``ElasticNetCV`` / ``LassoCV``.

    Returns
    -------
    alphas : array of shape (m,), decreasing
    coefs : array of shape (d, m)
    dual_gaps : array of shape (m,)
        Absolute duality gaps.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import lasso_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = lasso_path(X, y - y.mean(), n_alphas=5)
    >>> [int(k) for k in (coefs != 0).sum(axis=0)]
    [0, 4, 7, 9, 10]
    """
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if y.ndim != 1:
        raise ValueError(f"y must have one column, but it has shape {y.shape}; call the path once per target.")
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if len(weights) != X.shape[0] or len(y) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, y has {len(y)} and sample_weight {len(weights)}.")
    path = next(squared_paths(X, y[:, None], weights, fit_intercept=False))
    if alphas is None:
        grid = alpha_grid(path.alpha_max(l1_ratio, positive), eps, n_alphas)
    else:
        grid = np.sort(np.asarray(alphas, dtype=np.float64))[::-1]
    coefs, gaps = np.empty((X.shape[1], len(grid)), order="F"), np.empty(len(grid))
    for k, alpha in enumerate(grid):
        found = path.solve(penalty_of(float(alpha), l1_ratio, positive), tol=tol, max_iter=max_iter)
        coefs[:, k], gaps[k] = found.coef, _gap(found.evidence)
        if callback is not None:
            callback(k, found.evidence)
    return grid, coefs, gaps


def lasso_path(X: Any, y: Any, **options: Any) -> tuple[Array, Array, Array]:
    """Lasso coefficients for a decreasing grid of strengths: :func:`enet_path` with ``l1_ratio=1``."""
    return enet_path(X, y, l1_ratio=1.0, **options)


def _gap(evidence: Evidence) -> float:
    return max(float(evidence.facts["objective"] - evidence.facts["dual objective"]), 0.0)


def _so_far(parts: Sequence[tuple[Solution | State, float]], n_targets: int, single: bool) -> dict[str, Any]:
    """Fitted attributes from the targets met so far; the others have no coefficients yet."""
    coef, intercept = np.zeros((n_targets, len(parts[0][0].coef))), np.zeros(n_targets)
    for k, (part, start) in enumerate(parts):
        coef[k], intercept[k] = part.coef, start
    return {"coef_": coef[0] if single else coef, "intercept_": intercept[0] if single else intercept}
