"""Whole paths of strengths for the squared loss, as functions: ``lasso_path`` and ``enet_path``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from corollary.base import caller_level
from corollary.core.design import as_design
from corollary.core.door.integers import refuse_far_integers
from corollary.core.door.sparse_input import sound
from corollary.core.evidence import Evidence
from corollary.core.types import Array
from corollary.linear.folds import uninterrupted
from corollary.linear.gram import check_gram
from corollary.linear.squared_path import absolute_gap, alpha_grid, penalty_of, squared_paths
from corollary.solvers.linear.driver import State

# what scikit-learn's own estimators hand over to a path besides; no solver of ours looks at it
UNUSED = {"random_state", "selection", "do_screening", "X_scale"}


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    tol: float = 1e-8,
    max_iter: int = 1000,
    sample_weight: Any = None,
    callback: Callable[[int, Evidence], None] | None = None,
    **params: Any,
) -> Any:
    """Elastic-net coefficients for a decreasing grid of strengths, each warm-started from the one before.

    As in scikit-learn there is no intercept: centre X and y first, or use ``ElasticNetCV`` / ``LassoCV``.

    Parameters
    ----------
    X, y : array or sparse matrix (n, d), and array (n,)
        Several targets (n, k) are scikit-learn's multi-task path, with its ``tol`` and without our evidence.
    l1_ratio : float in [0, 1], default 0.5
        Share of the L1 part; 1 is the lasso.
    eps : float > 0, default 1e-3
        Ratio of the weakest to the strongest alpha of the automatic grid.
    n_alphas : int, deprecated in scikit-learn
        The same as a whole number as ``alphas``.
    alphas : int or array, default 100
        Size of the automatic grid, or the strengths themselves.
    precompute : bool, "auto" or array, default "auto"
        A matrix is checked against X, as in scikit-learn; the solver forms the products that it needs.
    Xy, copy_X, verbose, check_input, random_state, selection : accepted for compatibility
    coef_init : array of shape (d,) or None
        Coefficients to start from.
    return_n_iter : bool, default False
    positive : bool, default False
        Require coefficients ≥ 0.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach at each strength.
    max_iter : int, default 1000
    sample_weight : array of shape (n,) or None
    callback : callable or None
        Called with the number of each strength and the evidence of its fit.

    Returns
    -------
    alphas : array of shape (m,), decreasing
    coefs : array of shape (d, m), or (k, d, m)
    dual_gaps : array of shape (m,)
        Absolute duality gaps.
    n_iters : list of int
        Iterations of the solver, if asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import lasso_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = lasso_path(X, y - y.mean(), alphas=5)
    >>> [int(k) for k in (coefs != 0).sum(axis=0)]
    [0, 4, 7, 9, 10]
    """
    offset = params.pop("X_offset", None)
    if unknown := sorted(set(params) - UNUSED):
        raise ValueError(f"Unexpected parameters in params: {unknown}. A path has no such option.")
    X, y, weights = _checked(X, y, sample_weight)
    centred = offset is not None and sparse.issparse(X) and bool(np.any(offset))  # y is centred, X stays sparse
    wanted = _asked(alphas, n_alphas)
    if y.ndim > 1:
        if positive:
            raise ValueError("positive=True is not allowed for multi-output y: call the path once per target.")
        found = _several(X, y, weights, wanted, l1_ratio, eps, coef_init, tol, max_iter, centred)
        return found if return_n_iter else found[:3]
    if check_input:
        check_gram(precompute, as_design(X), weights, fit_intercept=False)
    path = next(squared_paths(X, y[:, None], weights, fit_intercept=centred))
    grid = _grid(wanted, eps, l1_ratio, lambda: path.alpha_max(l1_ratio, positive))
    if coef_init is not None:
        path.state = State(_start(coef_init, X.shape[1]), 0.0)
    coefs, gaps, counts = np.empty((X.shape[1], len(grid)), order="F"), np.empty(len(grid)), []
    for k, alpha in enumerate(grid):
        fit = uninterrupted(path.solve(penalty_of(float(alpha), l1_ratio, positive), tol=tol, max_iter=max_iter))
        coefs[:, k], gaps[k] = fit.coef, absolute_gap(fit.evidence)
        counts.append(fit.evidence.n_iter)
        if callback is not None:
            callback(k, fit.evidence)
    return (grid, coefs, gaps, counts) if return_n_iter else (grid, coefs, gaps)


def lasso_path(X: Any, y: Any, **options: Any) -> Any:
    """Lasso coefficients for a decreasing grid of strengths: :func:`enet_path` with ``l1_ratio=1``."""
    return enet_path(X, y, **{"l1_ratio": 1.0, **options})


def _checked(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
    X = sound(X)
    refuse_far_integers(X)
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if len(weights) != X.shape[0] or len(y) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, y has {len(y)} and sample_weight {len(weights)}.")
    return X, y, weights


def _start(coef_init: Any, d: int) -> Array:
    start = np.array(coef_init, dtype=np.float64)
    if start.shape != (d,) or not np.isfinite(start).all():
        came = f"its shape is {start.shape}" if start.shape != (d,) else "it has entries that are NaN or infinite"
        raise ValueError(f"coef_init must be {d} finite numbers, one for each column of X, but {came}.")
    return start


def _asked(alphas: Any, n_alphas: Any) -> Any:
    """A whole number, or strengths; scikit-learn's older ways to say so are accepted with its kind of warning."""
    count = 100
    if not (isinstance(n_alphas, str) and n_alphas == "deprecated"):
        count = n_alphas
        warnings.warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11 of scikit-learn: give the number as alphas.",
            FutureWarning,
            stacklevel=caller_level(),
        )
    if alphas is None:
        warnings.warn(
            "'alphas=None' is deprecated and will be removed in 1.11 of scikit-learn: give alphas=100 instead.",
            FutureWarning,
            stacklevel=caller_level(),
        )
    return count if alphas is None or isinstance(alphas, str) else alphas


def _grid(wanted: Any, eps: float, l1_ratio: float, strongest: Callable[[], float]) -> Array:
    if np.ndim(wanted):
        return np.sort(np.asarray(wanted, dtype=np.float64))[::-1]
    refuse_grid_without_l1(l1_ratio)
    return alpha_grid(strongest(), eps, int(wanted))


def refuse_grid_without_l1(l1_ratio: float) -> None:
    """Raise ValueError where no strength makes all coefficients zero, so that a grid has nowhere to begin."""
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing your "
            "estimator with the appropriate `alphas=` argument: without an L1 part no strength makes all "
            "coefficients zero, so there is none to begin with."
        )


def _several(
    X: Any, Y: Array, weights: Array, wanted: Any, l1_ratio: float, eps: float, init: Any, tol: float, most: int,
    centred: bool,
) -> tuple[Array, Array, Array, list[int]]:  # fmt: skip
    """Targets that share which columns they use, which is scikit-learn's to solve, one strength after the other."""
    from sklearn.linear_model import MultiTaskElasticNet

    def strongest() -> float:
        centre = Y.mean(axis=0) if centred else 0.0
        pulls = as_design(X).rmatvec(weights[:, None] * (Y - centre))
        return float(np.sqrt((pulls**2).sum(axis=1).max(initial=0.0)) / (weights.sum() * l1_ratio))

    grid = _grid(wanted, eps, l1_ratio, strongest)
    model = MultiTaskElasticNet(l1_ratio=l1_ratio, fit_intercept=centred, tol=tol, max_iter=most, warm_start=True)
    if init is not None:
        model.coef_ = np.asfortranarray(init, dtype=X.dtype)
    coefs, gaps, counts = np.empty((Y.shape[1], X.shape[1], len(grid))), np.empty(len(grid)), []
    rows = None if (weights == weights[0]).all() else weights
    for k, alpha in enumerate(grid):
        model.set_params(alpha=float(alpha)).fit(X, Y.astype(X.dtype, copy=False), sample_weight=rows)
        coefs[..., k], gaps[k] = model.coef_, model.dual_gap_
        counts.append(int(model.n_iter_))
    return grid, coefs, gaps, counts
