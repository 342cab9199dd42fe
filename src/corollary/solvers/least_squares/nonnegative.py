"""Least squares and ridge with coefficients that must not be negative, exactly, by an active-set method."""

from __future__ import annotations

import time

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.types import Array
from corollary.solvers.least_squares.primal import factor_rows
from corollary.solvers.least_squares.root import power_of_two
from corollary.solvers.least_squares.task import Task, plain_gradient


def nonnegative_least_squares(task: Task, tol: float) -> tuple[Array, Array, Evidence]:
    """Minimise Σ w (y − xᵀβ − b)² + α‖β‖² subject to β ≥ 0, for each output: (β (d, k), b (k,), evidence).

    The rows are compressed to a triangular factor first, so the active-set method (Lawson and Hanson's) works on d rows
    however many there were. The certificate is the largest violation of the optimality conditions, measured on the
    data: a gradient that is not zero where β > 0 or points inwards where β = 0, relative to ‖xⱼ‖ ‖y‖.
    Cost: three passes over X, and the active-set method on a d × d system for each output.
    """
    from scipy.optimize import nnls

    began = time.perf_counter()
    d, k = task.design.shape[1], task.Y.shape[1]
    w = np.ones(len(task.Y)) if task.weights is None else task.weights
    mean, triangle, _ = factor_rows(task)
    level = w @ task.Y / task.weight if task.fit_intercept else np.zeros(k)
    start = plain_gradient(task, mean, np.zeros((d, k)), level)
    level = level + (start.total / task.weight if task.fit_intercept else 0.0)
    norms = np.sqrt(np.einsum("ij,ij->j", triangle, triangle))
    scale = power_of_two(norms)
    coef = np.zeros((d, k))
    for c, alpha in enumerate(task.alpha):
        rows = np.concatenate([triangle, np.diag(np.sqrt(task.penalty(alpha)))]) / scale
        # RᵀR β = slope has the same optimality conditions as ‖Rβ − target‖² for any target with Rᵀ target = slope
        target = np.linalg.lstsq(rows.T, start.slope[:, c] / scale, rcond=None)[0]
        coef[:, c] = nnls(rows, target)[0] / scale
    end = plain_gradient(task, mean, coef, level)
    slope = end.slope - task.penalties * coef
    violation = np.where(coef > 0, np.abs(slope), np.maximum(slope, 0.0))
    unit = np.outer(np.where(norms > 0, norms, 1.0), np.sqrt(np.maximum(start.squares, 1e-300)))
    objective = end.squares + task.penalty_value(coef)
    evidence = Evidence(
        status=Status.EXACT,
        certificate=Certificate(Kind.EXACT, "relative KKT violation", float((violation / unit).max(initial=0.0)), tol),
        solver="non-negative least squares",
        seconds=time.perf_counter() - began,
        facts={"objective": float(objective.sum()), "rank": float(np.linalg.matrix_rank(triangle / scale))},
    )
    return coef, level - mean @ coef, evidence
