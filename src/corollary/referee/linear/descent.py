"""A descent that shares nothing with the library's solvers: damped Newton in an orthonormal basis, long doubles.

It starts from the coefficients that were called optimal. Where it ends, the subgradient that is left over bounds the
objective from below: P(x′) ≥ lines(x) + G·(x′ − x) ≥ lines(x) − ‖G‖ ‖x′ − x‖, in the norm of the basis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.referee.linear.losses import LONG, Array
from corollary.referee.linear.problem import Problem

WIDTHS = tuple(10.0**-k for k in range(1, 15))  # of rounded kinks, in units of the spread of y
STEPS = 40
REACH = 100.0  # the bound is over predictions up to so many times the size of those at hand


@dataclass
class Found:
    """The lowest objective met, where, and the best lower bound."""

    value: Any
    x: Array
    bound: Any


def descend(problem: Problem, x: Array) -> Found:
    """From x, over narrower and narrower kinks."""
    basis, length = problem.basis()
    rows, sides = (problem.Z @ basis).astype(np.float64), basis[problem.first :].astype(np.float64)
    best = Found(problem.value(x), x, LONG(-np.inf))
    kinked = bool(problem.kinks) or problem.given.groups is not None
    last, idle = best.bound, 0
    for mu in WIDTHS if kinked else (1.0,):
        x, gradient, lines = _newton(problem, x, mu, basis, rows, sides)
        trial = _feasible(problem, x)
        value = problem.value(trial)
        if value < best.value:
            best.value, best.x = value, trial
        size = np.sqrt((((problem.Z @ x) ** 2) * problem.weights[:, None]).sum() + problem.weights.sum())
        scale = np.abs(np.sqrt(problem.weights)[:, None] * problem.Z).max(initial=0)
        reach = REACH * size / max(scale, np.finfo(LONG).tiny)
        if length > 0:  # else there may be directions that the basis lacks
            best.bound = max(best.bound, lines - np.sqrt((gradient**2).sum()) * reach / length)
        gap = best.value - best.bound
        idle = idle + 1 if best.bound <= last else 0
        last = best.bound
        if gap <= 1e-13 * max(abs(best.value), LONG(1e-300)) or idle >= 4:
            break
    return best


def _feasible(problem: Problem, x: Array) -> Array:
    if not problem.given.positive:
        return x
    x = x.copy()
    x[problem.first :] = np.maximum(x[problem.first :], 0)
    return x


def _newton(problem: Problem, x: Array, mu: float, basis: Array, rows: Array, sides: Array) -> tuple[Array, Array, Any]:
    """Newton's method on the rounded objective; the point, its gradient in the basis, the height of the lines there."""
    value, lines, gradient, curve_rows, curve_beta = problem.rounded(x, mu)
    damping = 0.0
    n, each = len(rows), step_cost(len(rows), problem.Z.shape[1], problem.k)
    for _ in range(STEPS):
        if problem.spent > problem.given.patience:  # the bound that there is by now counts
            break
        problem.spent += each
        g = basis.T @ gradient
        H = _hessian(rows, sides, curve_rows, curve_beta, problem.k)
        step = _solve(H, np.asarray(g, np.float64), damping)
        if step is None:
            break
        move = basis @ step.astype(LONG)
        slope = (g * step).sum()
        if not slope < 0:
            break
        taken, rate = None, LONG(1)
        for _ in range(30):
            problem.spent += 10 * n * x.size
            state = problem.rounded(x + rate * move, mu)
            if state[0] <= value + LONG(1e-4) * rate * slope:
                taken = state
                break
            rate = rate / 4
        if taken is None:
            break
        drop, x = value - taken[0], x + rate * move
        value, lines, gradient, curve_rows, curve_beta = taken
        damping = 0.0 if rate == 1 else max(10 * damping, 1e-10)
        if drop <= LONG(1e-18) * abs(value):
            break
    return x, basis.T @ gradient, lines


def step_cost(n: int, d: int, k: int) -> float:
    """Operations of one step of Newton's method, those in extended precision counted as ten."""
    return float(n * (d * k) ** 2 + (d * k) ** 3 + 10 * n * d * k)


def _hessian(rows: Array, sides: Array, curve_rows: Array, curve_beta: Array, k: int) -> Array:
    curve_rows, curve_beta = np.asarray(curve_rows, np.float64), np.asarray(curve_beta, np.float64)
    r = rows.shape[1]
    H = np.zeros((r, k, r, k))
    for a in range(k):
        H[:, a, :, a] += (sides * curve_beta[:, a, None]).T @ sides
        for b in range(k):
            curve = curve_rows[:, a, b] if curve_rows.ndim == 3 else curve_rows
            if curve_rows.ndim == 3 or a == b:
                H[:, a, :, b] += (rows * curve[:, None]).T @ rows
    return H.reshape(r * k, r * k)


def _solve(H: Array, g: Array, damping: float) -> Array | None:
    """−(H + damping)⁻¹ g by eigenvectors; directions without curvature get a step as if they had a little."""
    top = np.abs(H).max(initial=0.0)
    if not np.isfinite(top) or not np.isfinite(g).all() or g.size == 0:
        return None
    if top == 0:
        return -g
    values, vectors = np.linalg.eigh(H / top)
    floor = max(values.max(), 1e-300) * (1e-15 + damping)
    step: Array = -(vectors @ ((vectors.T @ (g.ravel() / top)) / np.maximum(values, floor)))
    return step.reshape(g.shape)
