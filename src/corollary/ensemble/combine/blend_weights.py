"""Weights of a linear blend, exactly: least squares with weights that are not negative, or that are shares of one.

Columns P hold what the members said of rows that they had not seen; y is the truth, s the rows' weights.
"""

from __future__ import annotations

import numpy as np

from corollary.core.design import as_design
from corollary.core.evidence import Certificate, Kind
from corollary.core.types import Array
from corollary.solvers.least_squares.nonnegative import nonnegative_least_squares
from corollary.solvers.least_squares.task import Task

TOLERANCE = 1e-8


def nonnegative_weights(P: Array, y: Array, s: Array) -> tuple[Array, Certificate]:
    """argmin Σ s (y − P w)² over w ≥ 0, with the violation of its optimality conditions."""
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
