r"""The lasso at one strength and along a path, dense and sparse, to a relative duality gap of 1e-6.

No candidate fits an intercept. With one, celer and scikit-learn copy and centre a dense X while skglm treats it as one
more coordinate; without, all of them minimise the same function and none pays for a copy:

.. math:: P(w) = \frac{1}{2n} \lVert y - Xw \rVert^2 + \alpha \lVert w \rVert_1

The gap is computed here from the coefficients alone, with the residual scaled into the dual feasible set, and divided
by :math:`P(0)`; nobody's own stopping rule is believed. Along a path the worst point counts. X is stored by columns
(Fortran order or CSC), which is what all of them would convert it to.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.linear.text import tf_idf
from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, decades, load

GAP = 1e-6
POINTS = 100
LIMIT = 100_000  # iterations: the tolerance is what must end a fit


def dense(n: int, d: int, correlation: float = 0.5) -> Data:
    """Columns correlated as a first-order autoregression, n/10 true weights, signal to noise 5."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((d, n))
    for previous, row in pairwise(rows):
        row *= np.sqrt(1 - correlation**2)
        row += correlation * previous
    return _with_target(rows.T, rng, strength=1 / 20)


def sparse(n: int, d: int) -> Data:
    """A term-document matrix (CSC), n/40 true weights on frequent words, signal to noise 5."""
    return _with_target(scipy.sparse.csc_matrix(tf_idf(n, d)), np.random.default_rng(1), strength=1 / 50)


def scattered(n: int, d: int) -> Data:
    """Some hundred standard normal entries a row, anywhere (CSC); the target as for text."""
    rng = np.random.default_rng(2)
    X = scipy.sparse.random(n, d, min(0.5, 100 / d), "csc", rng=rng, data_rvs=rng.standard_normal)
    return _with_target(X, rng, strength=1 / 50)


def _with_target(X: Any, rng: np.random.Generator, strength: float) -> Data:
    n, d = X.shape
    if scipy.sparse.issparse(X):
        support = rng.choice(max(1, d // 10), max(1, min(n // 40, d // 10)), replace=False)
    else:
        support = rng.choice(d, max(1, min(n // 10, d)), replace=False)
    signal = X[:, support] @ rng.standard_normal(len(support))
    y = signal + rng.standard_normal(n) * signal.std() / np.sqrt(5)
    y -= y.mean()
    top = float(np.abs(X.T @ y).max()) / n
    return Data(X, y, {"alpha": strength * top, "alphas": np.geomspace(top, 0.01 * top, POINTS)})


def relative_gap(data: Data, coefficients: Any, alpha: float, l1_ratio: float = 1.0) -> float:
    """(P(w) - D(θ)) / P(0), where θ is the residual on the best multiple that is dual feasible.

    With an L2 part every multiple is feasible at a price, and the residual itself is tried too.
    """
    X, y, n = data.X, data.y, len(data.y)
    l1, l2 = alpha * l1_ratio, alpha * (1 - l1_ratio)
    active = np.flatnonzero(coefficients)
    residual = y - X[:, active] @ coefficients[active]
    pulls = np.abs(X.T @ residual) / n
    length, along = float(residual @ residual), float(y @ residual)
    bound = l1 / pulls.max() if pulls.max() > 0 else np.inf
    best = float(np.clip(along / length, -bound, bound)) if length > 0 else 0.0
    primal = length / (2 * n) + l1 * float(np.abs(coefficients).sum()) + 0.5 * l2 * float(coefficients @ coefficients)
    dual = best * (2 * along - best * length) / (2 * n)
    if l2 > 0:
        excess = np.maximum(pulls - l1, 0.0)
        dual = max(dual, (2 * along - length) / (2 * n) - float(excess @ excess) / (2 * l2))
    return (primal - dual) / (float(y @ y) / (2 * n))


def fit_gap(data: Data, fit: Any) -> float:
    return relative_gap(data, np.ravel(fit.coef_), data.settings["alpha"])


def path_gap(data: Data, fit: Any) -> float:
    """The worst gap along a path; ``fit`` is (alphas, coefficients by column)."""
    return max(relative_gap(data, fit[1][:, k], alpha) for k, alpha in enumerate(fit[0]))


def _single(module: str, **arguments: float) -> Callable[[Data, float], Any]:
    def fit(data: Data, tolerance: float) -> Any:
        model = load(module, "Lasso")(alpha=data.settings["alpha"], tol=tolerance, fit_intercept=False, **arguments)
        return model.fit(data.X, data.y)

    return fit


def _path(module: str) -> Callable[[Data, float], Any]:
    def fit(data: Data, tolerance: float) -> Any:
        alphas = data.settings["alphas"]
        found = load(module, "lasso_path")(data.X, data.y, alphas=alphas, tol=tolerance, max_iter=LIMIT)
        return found[0], found[1]

    return fit


def _celer_path(data: Data, tolerance: float) -> Any:
    # max_iter and prune as in celer's own estimators; the function's defaults stop early
    found = load("celer", "celer_path")(
        data.X, data.y, "lasso", alphas=data.settings["alphas"], tol=tolerance, max_iter=100, prune=1
    )
    return found[0], found[1]


def _skglm_path(data: Data, tolerance: float) -> Any:
    found = load("skglm", "Lasso")(tol=tolerance, fit_intercept=False).path(data.X, data.y, data.settings["alphas"])
    return found[0], found[1]


def _half_decades(first: float, last: float) -> tuple[float, ...]:
    return tuple(sorted((*decades(first, last), *decades(0.3 * first, last)), reverse=True))


# Ours is relative to P(0), scikit-learn's and celer's to twice that: 5e-7 is a gap of 1e-6. But celer's dual point is
# its own, and skglm stops by the distance to the subdifferential, so these two get ladders with finer steps.
_OURS, _SKLEARN, _CELER = decades(1e-3, 1e-10), decades(5e-4, 5e-10), _half_decades(5e-4, 5e-10)

SINGLE = (
    Candidate(OURS, OURS, _single(OURS), _OURS),
    Candidate("celer", "celer", _single("celer"), _CELER),
    Candidate("skglm", "skglm", _single("skglm"), _half_decades(1e-3, 1e-12)),
    Candidate("scikit-learn", "sklearn", _single("sklearn.linear_model", max_iter=LIMIT), _SKLEARN),
)


def _paths(skglm: float) -> tuple[Candidate, ...]:
    """A whole path is long, so the ladders start close to what will be needed (for skglm: here)."""
    return (
        Candidate(OURS, OURS, _path(OURS), _OURS[2:]),
        Candidate("celer", "celer", _celer_path, _CELER[6:]),
        Candidate("skglm", "skglm", _skglm_path, _half_decades(skglm, 1e-12)),
        Candidate("scikit-learn", "sklearn", _path("sklearn.linear_model"), _SKLEARN[3:]),
    )


_DENSE, _SPARSE = (1_000, 10_000), (20_000, 50_000)
_QUICK_DENSE, _QUICK_SPARSE = (100, 400), (300, 800)
_ONE = Quality("relative gap", fit_gap, GAP, absolute=True)
_ALL = Quality("relative gap of every point", path_gap, GAP, absolute=True)

WORKLOADS: tuple[Workload, ...] = (
    Workload("lasso-dense", "Lasso, dense, α = α_max/20", dense, _DENSE, _QUICK_DENSE, SINGLE, _ONE),
    Workload("lasso-sparse", "Lasso, sparse text, α = α_max/50", sparse, _SPARSE, _QUICK_SPARSE, SINGLE, _ONE),
    Workload("lasso-path-dense", "Lasso path to α_max/100, dense", dense, _DENSE, _QUICK_DENSE, _paths(1e-6), _ALL),
    Workload(
        "lasso-path-sparse",
        "Lasso path to α_max/100, sparse text",
        sparse,
        _SPARSE,
        _QUICK_SPARSE,
        _paths(1e-9),
        _ALL,
    ),
)
