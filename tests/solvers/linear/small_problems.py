"""Small problems of every kind for the solvers' tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.design import as_design
from corollary.core.loss import LOSSES, Loss
from corollary.core.penalty import Penalty
from corollary.core.problem import Problem

SMOOTH = [name for name, cls in LOSSES.items() if cls.smooth and not cls.multiclass]


def make_problem(
    loss: str | Loss,
    penalty: Penalty,
    *,
    n: int = 40,
    d: int = 4,
    classes: int = 3,
    fit_intercept: bool = True,
    layout: str = "dense",
    weighted: bool = True,
    seed: int = 0,
) -> Problem:
    """Noisy data, so that nothing is separable; weights sum to one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    signal = X @ np.resize([1.0, -1.0, 0.0, 0.5], d) + rng.normal(size=n)
    part = LOSSES[loss]() if isinstance(loss, str) else loss
    if part.multiclass:
        y: Any = np.searchsorted(np.quantile(signal, np.arange(1, classes) / classes), signal)
    elif part.task == "classification":
        y = np.where(signal + rng.normal(size=n) > np.median(signal), 1.0, -1.0)
    elif part.domain.low >= 0:
        y = rng.poisson(np.exp(0.3 * signal)).astype(float)
    else:
        y = signal
    weights = rng.uniform(0.5, 1.5, n) if weighted else np.ones(n)
    rows = {"dense": X, "fortran": np.asfortranarray(X), "sparse": sparse.csc_array(X * (np.abs(X) > 0.6))}[layout]
    k = classes if part.multiclass else 0
    return Problem(as_design(rows), y, weights / weights.sum(), part, penalty, fit_intercept, n_classes=k)


def objective(problem: Problem, coef: Any, intercept: Any) -> float:
    """The primal value, from the parts."""
    raw = problem.design.matvec(coef) + intercept
    return float(problem.weights @ problem.loss.value(problem.y, raw) + problem.penalty.value(coef))


def numerical_gradient(function: Any, point: Any, step: float = 1e-5) -> Any:
    """Central differences of a function of an array of any shape."""
    gradient = np.empty_like(point)
    for at in np.ndindex(point.shape):
        change = np.zeros_like(point)
        change[at] = step
        gradient[at] = (function(point + change) - function(point - change)) / (2 * step)
    return gradient
