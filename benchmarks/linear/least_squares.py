"""Ordinary least squares and ridge on a tall dense matrix.

All candidates fit an intercept, as they do by default. X is in C order, as NumPy makes it. The answers are compared by
the value of the objective, which every candidate's coefficients are put into.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

ALPHA = 1.0
BLOCK = 50_000


def make(n: int, d: int) -> Data:
    """Independent standard normal columns, half of the variance of y is noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    weights = rng.standard_normal(d)
    signal = X @ weights
    return Data(X, 3.0 + signal + np.sqrt(d) * rng.standard_normal(n))


def squared_error(data: Data, fit: Any) -> float:
    """Residual sum of squares, block by block: no second matrix of the size of X."""
    total = 0.0
    for start in range(0, len(data.y), BLOCK):
        rows = slice(start, start + BLOCK)
        residual = data.y[rows] - data.X[rows] @ np.ravel(fit.coef_) - float(np.ravel(fit.intercept_)[0])
        total += float(residual @ residual)
    return total


def ridge_objective(data: Data, fit: Any) -> float:
    coefficients = np.ravel(fit.coef_)
    return squared_error(data, fit) + ALPHA * float(coefficients @ coefficients)


def _candidates(estimator: str, **arguments: float) -> tuple[Candidate, ...]:
    def fit(module: str) -> Any:
        return lambda data, tolerance: load(module, estimator)(**arguments).fit(data.X, data.y)

    return (
        Candidate(OURS, OURS, fit(OURS)),
        Candidate("scikit-learn", "sklearn", fit("sklearn.linear_model")),
        Candidate("scikit-learn-intelex", "sklearnex", fit("sklearnex.linear_model")),
    )


WORKLOADS = (
    Workload(
        "ols",
        "Ordinary least squares, dense",
        make,
        sizes=(1_000_000, 100),
        quick_sizes=(5_000, 20),
        candidates=_candidates("LinearRegression"),
        quality=Quality("residual sum of squares", squared_error, within=1e-9),
        memory_bar=0.10,
    ),
    Workload(
        "ridge",
        "Ridge, dense",
        make,
        sizes=(1_000_000, 100),
        quick_sizes=(5_000, 20),
        candidates=_candidates("Ridge", alpha=ALPHA),
        quality=Quality("ridge objective", ridge_objective, within=1e-9),
        memory_bar=0.10,
    ),
)
