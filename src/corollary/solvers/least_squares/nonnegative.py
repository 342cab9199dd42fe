"""Least squares and ridge with coefficients that must not be negative, exactly, by an active-set method."""

from __future__ import annotations

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.problem import EPS
from corollary.core.scaling import powers_above
from corollary.core.types import Array
from corollary.solvers.least_squares.primal import factor_rows
from corollary.solvers.least_squares.root import root_of_triangle
from corollary.solvers.least_squares.task import Factor, Task, plain_gradient, relative_gap, rounded_level

REACH = 10.0  # how much farther than y and what they contribute themselves columns are taken, where they are dependent


def nonnegative_least_squares(task: Task, tol: float) -> tuple[Array, Array, Evidence]:
    """Minimise Σ w (y − xᵀβ − b)² + α‖β‖² subject to β ≥ 0, for each output: (β (d, k), b (k,), evidence).

    The rows are compressed to a triangular factor first, so the active-set method (Lawson and Hanson's) works on d rows
    however many there were. What is left of the optimality conditions is measured on the data: v is the gradient where
    β > 0, and its part that points inwards where β = 0. Half the objective is then within ½ vᵀH⁻¹v of its minimum, with
    H = X̃ᵀX̃ + αI, since −(g − v)ᵀ(β′ − β) ≥ 0 for every β′ ≥ 0. Where H is singular the bound is ``_within_reach``.
    Cost: three passes over X, and the active-set method on a d × d system for each output.
    """
    from scipy.optimize import nnls

    d, k = task.design.shape[1], task.Y.shape[1]
    mean, triangle, noise = factor_rows(task)
    start = plain_gradient(task, mean, np.zeros((d, k)), task.level)
    level = task.level + (start.gradient_sum / task.weight if task.fit_intercept else 0.0)
    norms = np.sqrt(np.einsum("ij,ij->j", triangle, triangle))
    scale = powers_above(norms)
    coef = np.zeros((d, k))
    for c, alpha in enumerate(task.alpha):
        rows = np.concatenate([triangle, np.diag(np.sqrt(task.penalty(alpha)))]) / scale
        # RᵀR β = slope has the same optimality conditions as ‖Rβ − target‖² for any target with Rᵀ target = slope
        target = np.linalg.lstsq(rows.T, start.gradient[:, c] / scale, rcond=None)[0]
        coef[:, c] = nnls(rows, target)[0] / scale
    end = plain_gradient(task, mean, coef, level)
    slope = end.gradient - task.penalties * coef
    violation = np.where(coef > 0, slope, np.maximum(slope, 0.0))
    objective = end.value + task.penalty_value(coef)
    values, index = task.groups
    roots = [root_of_triangle(triangle, task.penalty(a) if a > 0 else None, noise, EPS) for a in values]
    tilt = end.gradient_sum**2 / task.weight if task.fit_intercept else 0.0
    intercept = level - mean @ coef
    blur = rounded_level(task, coef, intercept, mean)
    if all(root.rank == d for root in roots):
        gap = 0.5 * (Factor(roots, index, mean, np.any(triangle != 0, axis=0)).whiten(violation) + tilt) + blur
        certificate = Certificate(Kind.OPTIMAL, "relative duality gap", relative_gap(task, gap, objective), tol)
    else:
        gap = _within_reach(violation, norms, coef, np.sqrt(start.value), end.value) + 0.5 * tilt + blur
        gap = np.minimum(gap, 0.5 * objective)  # no sum of squares is below zero
        value = relative_gap(task, gap, objective)
        certificate = Certificate(Kind.EXACT, "relative gain left by the optimality conditions", value, tol)
    facts = {
        "condition number": max(root.condition for root in roots),
        "objective": float(objective.sum()),
        "rank": float(np.linalg.matrix_rank(triangle / scale)),
    }
    evidence = Evidence(Status.EXACT, certificate, "non-negative least squares", facts=facts)
    return coef, intercept, evidence


def _within_reach(violation: Array, norms: Array, coef: Array, length: Array, squares: Array) -> Array:
    """vᵀ(β′ − β) for all β′ with |β′ⱼ − βⱼ| ‖xⱼ‖ ≤ ``REACH`` (‖y‖ + ‖xⱼ‖ βⱼ): so much half the objective may fall.

    Residuals are differences of what y and the columns contribute, and v is a sum over them: both are rounded.
    """
    parts = norms[:, None] * coef
    rounding = EPS * (length + parts.sum(axis=0) + np.sqrt(len(norms)) * np.sqrt(squares))
    used = norms > 0
    each = np.abs(violation[used]) / norms[used, None] + rounding
    return np.asarray((each * REACH * (length + parts[used])).sum(axis=0))
