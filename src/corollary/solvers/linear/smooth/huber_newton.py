r"""Huber regression with its scale, by a semi-smooth Newton method with the scale eliminated.

Minimises, jointly in the coefficients and the scale σ > 0,

    F(β, b, σ) = Σ s (σ + σ H(r/σ)) + α ‖β‖²,   r = y − Xβ − b,   H(z) = z² if |z| ≤ ε, else 2ε|z| − ε².

F is convex and piecewise smooth. Its dual: maximise Σ s u y − ‖Xᵀ(s u)‖² / (4α) over |u| ≤ 2ε with Σ s u = 0 (for the
intercept) and Σ s u²/4 ≤ Σ s (for the scale); u = H′(r/σ) at the optimum.

With ε near 1 or heavy tails σ becomes small or zero, where F is least absolute deviations: too many pieces for Newton's
method, so the interior point takes over, which solves the same pair of problems.

Cost: O(n d²) per iteration, commonly 3 to 15; memory d².
Reference: Owen (2007), *A robust hybrid of lasso and ridge regression*, Contemporary Mathematics 443.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.least_squares.closed_form import solve
from corollary.solvers.least_squares.task import Task
from corollary.solvers.linear.driver import Solver, State, nearest
from corollary.solvers.linear.free import FreeColumns, length_of
from corollary.solvers.linear.interior_point.solver import InteriorPoint
from corollary.solvers.linear.smooth.huber_scale import best_scale, joint_rounding, joint_value, null_value

TURNS = 12  # usually enough; if not, another solver goes on


class HuberNewton(Solver):
    """``problem.loss.parameter`` is ε and ``problem.penalty.l2`` is 2α; the scale is kept in the state's memory."""

    name = "semi-smooth Newton"
    free: FreeColumns | None = None

    def null_objective(self, problem: Problem) -> float:
        return null_value(problem)

    def rounding(self, problem: Problem) -> float:
        return joint_rounding(problem)

    def objective(self, problem: Problem, coef: Array, raw: Array, memory: dict[str, Any]) -> float:
        return joint_value(problem, coef, problem.y - raw, memory["scale"])

    def trivial_dual(self, problem: Problem) -> float:
        return 0.0

    def successor(self, problem: Problem) -> Solver | None:
        """Where few rows are inliers, or σ tends to zero, the problem is nearly a linear program."""
        return InteriorPoint(free_scale=True) if InteriorPoint().suits(problem) else None

    def init(self, problem: Problem, start: State) -> State:
        """Least squares, unless a start with a scale is given."""
        self.free = None if problem.penalty.l2 > 0 else FreeColumns.of_problem(problem)
        if "scale" in start.memory:
            return self._evaluate(problem, start.coef, start.intercept, start.memory["scale"] or None, None)
        # the penalty's share shrinks with the scale, so an exact fit is near the unpenalised solution
        starts, y = [], problem.y[:, None]
        task = Task(problem.design, y, problem.weights, np.zeros(1), problem.fit_intercept)
        for alpha in {0.0, 0.5 * problem.penalty.l2}:
            answer, _ = solve(task.at(alpha))
            starts.append(self._evaluate(problem, answer.coef[:, 0], float(answer.intercept[0]), None, None))
        best = min(starts, key=lambda state: state.objective)
        # with ε = 1 the constraint of the scale is void: σ = 0, and there is no smooth piece to step on
        best.stalled = problem.loss.parameter <= 1.0 and self.successor(problem) is not None
        return best

    def _evaluate(self, problem: Problem, coef: Array, intercept: Any, scale: float | None, old: State | None) -> State:
        state = State(coef, intercept)
        residual = problem.y - problem.raw(coef, intercept)
        if scale is None:
            scale = best_scale(problem, residual)
        z = residual / scale
        state.objective = joint_value(problem, coef, residual, scale)
        turn = old.memory["turn"] + 1 if old is not None else 0
        state.memory = {"scale": scale, "z": z, "inlier": np.abs(z) <= problem.loss.parameter, "turn": turn}
        state.memory["ill"] = problem.penalty.l2 == 0 and (self.free is None or self.free.coarse)
        near = old is not None and old.objective - state.objective <= 1e-6 * abs(state.objective)
        state.dual = self._dual(problem, state, near)
        if old is not None:
            state.dual = nearest(state.objective, state.dual, old.dual)
        return state

    def _dual(self, problem: Problem, state: State, near: bool) -> float:
        """The dual value of u = H′(z), balanced for the intercept.

        Without a penalty Xᵀ(s u) must vanish, and with a weak one any excess over 2αβ is punished by 1/α; near the
        optimum it is worth a Gram matrix to correct the inliers by their least-squares projection.
        """
        w, eps, l2 = problem.weights, problem.loss.parameter, problem.penalty.l2
        z, inlier = state.memory["z"], state.memory["inlier"]
        u = 2 * np.clip(z, -eps, eps)
        free = w * inlier
        if problem.fit_intercept and free.sum() > 0:
            u = u - inlier * ((w @ u) / free.sum())
        if (l2 > 0 and not near) or not free.sum() > 0:
            return self._dual_value(problem, u, state) if l2 > 0 else -np.inf
        moments = problem.design.moments(problem.y[:, None], free)
        gram = moments.xx if problem.fit_intercept else moments.about_zero()[0]
        step = np.linalg.lstsq(gram, problem.design.rmatvec(w * u) - l2 * state.coef, rcond=None)[0]
        centre = moments.mean_x @ step if problem.fit_intercept else 0.0
        better = u - inlier * (problem.design.matvec(step) - centre)
        if l2 > 0:
            return max(self._dual_value(problem, u, state), self._dual_value(problem, better, state))
        return self._dual_value(problem, better, state)

    def _dual_value(self, problem: Problem, u: Array, state: State) -> float:
        """The dual objective at u, shrunk into the feasible set; u is balanced, and Xᵀ(s u) = 0 if α = 0.

        What rounding may hide in what is left of that equation is taken off.
        """
        w, eps, l2 = problem.weights, problem.loss.parameter, problem.penalty.l2
        pull = problem.design.rmatvec(w * u)
        spread = float(w @ u**2) / (4 * w.sum())
        shrink = min(1.0, 1 / np.sqrt(spread) if spread > 0 else 1.0, 2 * eps / max(float(np.abs(u).max()), 1e-300))
        if l2 > 0:
            lost = shrink * float(pull @ pull) / (2 * l2)
        elif self.free is None:
            return -np.inf
        else:
            raw = problem.y - state.memory["scale"] * state.memory["z"]
            lost = self.free.charge(problem, w * u, pull, length_of(problem, raw, w))
        return shrink * (float((w * u) @ problem.y) - lost)

    def step(self, problem: Problem, state: State, tol: float) -> State:
        """A Newton step of min over σ of F, which is convex in (β, b); where that fails, one of its majorant.

        For a fixed scale, weights min(1/σ, ε/|r|) give a quadratic that lies above F and touches it, so the second
        kind of step always goes down.
        """
        for direction, shift, tries in (self._direction(problem, state), self._majorant_step(problem, state)):
            length = 1.0
            for _ in range(tries):
                new = self._evaluate(
                    problem, state.coef + length * direction, state.intercept + length * shift, None, state
                )
                level = new.objective <= state.objective * (1 + 1e-13) and new.dual > state.dual
                if new.objective < state.objective or level:  # F differs by rounding only: compare duals
                    new.stalled = new.memory["turn"] >= TURNS and self.successor(problem) is not None
                    return new
                length *= 0.25
        state.stalled = True
        return state

    def _majorant_step(self, problem: Problem, state: State) -> tuple[Array, float, int]:
        scale, z, l2 = state.memory["scale"], state.memory["z"], problem.penalty.l2
        pull = 2 * problem.weights / scale / np.maximum(1.0, np.abs(z) / problem.loss.parameter)
        moments = problem.design.moments((scale * z)[:, None], pull)
        xx, xy = (moments.xx, moments.xy) if problem.fit_intercept else moments.about_zero()[:2]
        system, target = xx + l2 * np.eye(len(xx)), xy[:, 0] - l2 * state.coef
        step = np.linalg.lstsq(system, target, rcond=None)[0]
        shift = float(moments.mean_y[0] - moments.mean_x @ step) if problem.fit_intercept else 0.0
        return step, shift, 3

    def _direction(self, problem: Problem, state: State) -> tuple[Array, float, int]:
        """Newton step for (β, b), with σ eliminated, from the Hessian of the inliers; and how often to shorten it."""
        w, eps, l2 = problem.weights, problem.loss.parameter, problem.penalty.l2
        scale, z, inlier = (state.memory[key] for key in ("scale", "z", "inlier"))
        if not w @ inlier > 0:  # no curvature anywhere
            return np.zeros_like(state.coef), 0.0, 0
        curve = 2 * w * inlier / scale
        slope = -2 * w * np.clip(z, -eps, eps)
        lean = curve * np.where(inlier, z, 0.0)  # d² F / df dσ
        design, d = problem.design, problem.design.shape[1]
        free = problem.fit_intercept
        H = np.zeros((d + 2, d + 2))
        H[:d, :d] = design.gram(curve) + l2 * np.eye(d)
        H[:d, d] = H[d, :d] = design.rmatvec(curve)
        H[:d, d + 1] = H[d + 1, :d] = design.rmatvec(lean)
        H[d, d], H[d, d + 1], H[d + 1, d] = curve.sum(), lean.sum(), lean.sum()
        H[d + 1, d + 1] = float(lean @ np.where(inlier, z, 0.0))
        gradient = np.empty(d + 2)
        gradient[:d] = design.rmatvec(slope) + l2 * state.coef
        gradient[d] = slope.sum()
        gradient[d + 1] = float(w @ (1 - np.where(inlier, z**2, eps**2)))
        if not free:
            H[d, :] = H[:, d] = 0.0
            gradient[d], H[d, d] = 0.0, 1.0
        size = 1 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        unit = H * size * size[:, None]
        unit[np.diag_indices_from(unit)] += 1e-13
        step = -size * np.linalg.lstsq(unit, size * gradient, rcond=None)[0]
        return step[:d], float(step[d]) if free else 0.0, 8
