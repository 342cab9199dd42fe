"""Limited-memory BFGS with a preconditioner, for smooth losses with an L2 penalty or none.

The curvature of Σ w ℓ(y, Xβ + b) is Xᵀ D X for some diagonal D, so the inverse of c·XᵀWX + λI is a good first guess at
the inverse Hessian, whatever the scales of the columns; the pairs that L-BFGS collects correct it. Several classes
whose Hessian is small use the Hessian of a sample of rows at the start instead, and beyond ``GRAM_COLUMNS`` columns
only the diagonal is used. On tall data the start is the solution of a thinned-out sample.

Cost: O(n d k) per iteration in one pass over X, plus O(n d²) once; memory d² (up to that many columns), a
dozen vectors of n·k, thirty of d·k and the sums of ``row_pass.py``.
Reference: Liu and Nocedal (1989), *On the limited memory BFGS method*, Mathematical Programming 45.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from corollary.core.problem import Problem
from corollary.core.summary import centre_gram
from corollary.core.types import Array
from corollary.solvers.linear.backtracking import backtrack
from corollary.solvers.linear.driver import Need, Solver, State, nearest
from corollary.solvers.linear.interior_point.solver import finisher
from corollary.solvers.linear.quadratic import FULL_BLOCK, class_hessian
from corollary.solvers.linear.smooth.pairs import Precondition, added, along
from corollary.solvers.linear.smooth.row_pass import row_pass
from corollary.solvers.linear.smooth.sample import from_sample, thinned
from corollary.solvers.loop import overflow

PATIENCE = 15  # iterations with one preconditioner before a better one is worth its price
GRAM_COLUMNS = 2000


class LBFGS(Solver):
    """See the module."""

    name = "L-BFGS"
    bounds_free = False
    needs = (
        Need("loss", "smooth", True, "it has kinks; use the interior-point solver"),
        Need("penalty", "separable", True, "only L2 and no penalty are smooth"),
        Need("penalty", "quadratic", True, "it has kinks at zero"),
    )

    def successor(self, problem: Problem) -> Solver | None:
        return finisher(problem)

    def init(self, problem: Problem, start: State) -> State:
        coef, intercept = start.coef, start.intercept
        n, d = problem.design.shape
        sampled = from_sample(LBFGS(), problem, start, 100)
        if sampled is not None:
            coef, intercept = sampled[1].coef, sampled[1].intercept
        state = State(coef, intercept)
        if coupled(problem) and coef.any():
            precondition = _by_class_hessian(problem, state, every=max(1, n // max(8 * d * problem.n_classes, 4000)))
        elif d <= GRAM_COLUMNS:
            precondition = _by_gram(problem)
        else:
            precondition = _by_diagonal(problem)
        means = problem.design.column_means(problem.weights) if problem.fit_intercept else np.zeros(d)
        state.memory = {"pairs": [], "precondition": precondition, "age": 0, "means": means}
        return self._evaluate(problem, state, 1e-8)

    def step(self, problem: Problem, state: State, tol: float) -> State:
        memory = state.memory
        if memory["age"] == PATIENCE and coupled(problem):  # slow: use the curvature here, from every row
            memory |= {"pairs": [], "age": 0, "precondition": _by_class_hessian(problem, state, every=1)}
        direction, shift = along(memory["pairs"], memory["precondition"], memory["gradient"], memory["tilt"])
        gradient, tilt = memory["gradient"], memory["tilt"]
        promise = float(np.vdot(gradient, direction) + np.vdot(tilt, shift))

        def attempt(length: float) -> tuple[float, State]:
            new = State(state.coef + length * direction, state.intercept + length * shift)
            new.memory = {"precondition": memory["precondition"], "age": memory["age"] + 1, "means": memory["means"]}
            return self._evaluate(problem, new, tol).objective, new

        length, new = backtrack(attempt, state.objective, promise)
        if length == 0.0 or new.objective > state.objective:
            # either the model of the curvature is bad (start again from the preconditioner) or no progress is possible
            state.stalled = not memory["pairs"]
            memory["pairs"], memory["age"] = [], PATIENCE
            return state
        new.dual = nearest(new.objective, new.dual, state.dual)
        step = length * direction, length * shift
        change = new.memory["gradient"] - gradient, new.memory["tilt"] - tilt
        new.memory["pairs"] = added(memory["pairs"], step, change)
        moved = step[0].any() or np.any(step[1])
        new.stalled = new.objective == state.objective and new.dual == state.dual and not moved
        return new

    def _evaluate(self, problem: Problem, state: State, tol: float) -> State:
        swept = row_pass(problem, state.coef, state.intercept)
        l2 = problem.penalty.l2
        state.objective = problem.primal_value(swept.value, state.coef)
        gradient = swept.gradient + l2 * state.coef
        tilt = swept.gradient_sum if problem.fit_intercept else 0.0 * swept.gradient_sum
        state.memory |= {"gradient": gradient, "tilt": tilt}
        about_means = gradient - np.multiply.outer(state.memory["means"], tilt)  # as if the intercept followed
        estimate = float(np.vdot(about_means, about_means)) / (2 * l2) if l2 > 0 else 0.0
        # for an L2 penalty the gap is |gradient|²/(2 l2) but for the intercept's part, so the costly bound can wait
        if np.isfinite(state.objective) and estimate <= tol * abs(state.objective):
            state.dual = self._dual(problem, swept.slope, swept.curve, swept.gradient, tilt)
        return state

    def _dual(self, problem: Problem, slope: Array, curve: Array | None, gradient: Array, tilt: Any) -> float:
        if problem.fit_intercept and np.any(tilt):
            slope = problem.balance(slope, curve)
            gradient = problem.design.rmatvec(slope)
        if problem.penalty.l2 > 0:
            return problem.dual_value(slope, gradient)
        return -np.inf


def _level(problem: Problem) -> float:
    """The mean curvature of the loss at f = 0: 1/4 for logistic, 1/K for softmax, about 1 otherwise."""
    k = max(problem.n_classes, 2)
    # slopes sum to zero over the classes, where diag(p) − p pᵀ at equal p is 1/K
    if problem.loss.multiclass:
        return 1 / k
    return 0.25 if problem.loss.task == "classification" else 1.0


def _by_diagonal(problem: Problem) -> Precondition:
    level, total = _level(problem), float(problem.weights.sum())
    zero = np.zeros(problem.design.shape[1])
    diagonal = level * problem.design.column_squares(zero, problem.weights) + problem.penalty.l2
    diagonal = np.where(diagonal > 0, diagonal, 1.0)

    def apply(g: Array, t: Any) -> tuple[Array, Any]:
        return (g.T / diagonal).T, t / (level * total) if problem.fit_intercept else 0.0 * t

    return apply


def _by_gram(problem: Problem) -> Precondition:
    """One matrix level · XᵀWX + l2 for every class, with the intercept eliminated."""
    design, level, free = problem.design, _level(problem), problem.fit_intercept
    total = level * float(problem.weights.sum())
    H, border = level * design.gram(problem.weights), level * design.rmatvec(problem.weights)
    if free:
        centre_gram(H, border, total)
    H[np.diag_indices_from(H)] += problem.penalty.l2
    scale, factor = _factor(H)

    def apply(g: Array, t: Any) -> tuple[Array, Any]:
        reduced = g - np.multiply.outer(border, t / total) if free else g
        p = (scale * cho_solve(factor, (reduced.T * scale).T, check_finite=False).T).T
        return p, (t - border @ p) / total if free else 0.0 * t

    return apply


def coupled(problem: Problem) -> bool:
    """Whether the Hessian of all classes together is small enough to use."""
    return problem.loss.simplex and (problem.design.shape[1] + 1) * problem.n_classes <= FULL_BLOCK


def _by_class_hessian(problem: Problem, state: State, *, every: int) -> Precondition:
    """The Hessian of all classes together at a state, from every so many rows."""
    n, d = problem.design.shape
    k = problem.n_classes
    part = thinned(problem, np.arange(0, n, every)) if every > 1 else problem
    _, slope, _ = part.derivatives(part.raw(state.coef, state.intercept))
    H = class_hessian(part, part.design, slope)
    H[np.arange(d * k), np.arange(d * k)] += problem.penalty.l2
    if not problem.fit_intercept:
        H = H[: d * k, : d * k]
    scale, factor = _factor(H)

    def apply(g: Array, t: Any) -> tuple[Array, Any]:
        flat = np.concatenate([g.ravel(), t]) if problem.fit_intercept else g.ravel()
        p = scale * cho_solve(factor, scale * flat, check_finite=False)
        return p[: d * k].reshape(d, k), p[d * k :] if problem.fit_intercept else 0.0 * t

    return apply


def _factor(H: Array) -> tuple[Array, Any]:
    """Cholesky of H scaled to a unit diagonal, with a very small ridge: intercepts of classes share a null space."""
    scale = 1 / np.sqrt(np.where(np.diag(H) > 0, np.diag(H), 1.0))
    unit = H * scale * scale[:, None]
    if not np.isfinite(unit).all():
        raise overflow()
    ridge = 1e-10
    while True:
        try:
            return scale, cho_factor(unit + ridge * np.eye(len(H)), check_finite=False)
        except LinAlgError:
            ridge *= 100
