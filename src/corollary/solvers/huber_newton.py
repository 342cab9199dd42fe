r"""Huber regression with its scale, by a semi-smooth Newton method.

Minimises, jointly in the coefficients and the scale σ > 0,

    F(β, b, σ) = Σ s (σ + σ H(r/σ)) + α ‖β‖²,   r = y − Xβ − b,   H(z) = z² if |z| ≤ ε, else 2ε|z| − ε².

F is convex and piecewise smooth. Its dual: maximise Σ s u y − ‖Xᵀ(s u)‖² / (4α) over |u| ≤ 2ε with Σ s u = 0 (for the
intercept) and Σ s u²/4 ≤ Σ s (for the scale); u = H′(r/σ) at the optimum.

Cost: O(n d²) per iteration, commonly 5 to 15; memory d².
Reference: Owen (2007), *A robust hybrid of lasso and ridge regression*, Contemporary Mathematics 443.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.problem import Problem
from corollary.core.summary import Moments
from corollary.core.types import Array
from corollary.solvers.driver import Solver, State


class HuberNewton(Solver):
    """``problem.loss.parameter`` is ε and ``problem.penalty.l2`` is 2α; the scale is kept in the state's memory."""

    name = "semi-smooth Newton"

    def null_objective(self, problem: Problem) -> float:
        """F at β = 0 with the best scale for squared residuals: 2 Σ s · (root mean square of y)."""
        w, y = problem.weights, problem.y
        centred = y - (w @ y / w.sum() if problem.fit_intercept else 0.0)
        return 2 * float(np.sqrt((w @ centred**2) * w.sum()))

    def trivial_dual(self, problem: Problem) -> float:
        return 0.0

    def init(self, problem: Problem, start: State) -> State:
        """Least squares, unless a start with a scale is given: then every row is an inlier and σ² = mean r²."""
        w = problem.weights
        if "scale" in start.memory:
            return self._evaluate(problem, start.coef, start.intercept, start.memory["scale"], None)
        moments = problem.design.moments(problem.y[:, None], w)
        penalties = {0.0, problem.penalty.l2}
        xx, xy = (moments.xx, moments.xy) if problem.fit_intercept else moments.about_zero()[:2]
        # the penalty's share shrinks with the scale, so an exact fit is near the unpenalised solution
        starts = [self._start(problem, moments, xx + 0.5 * l2 * np.eye(len(xx)), xy[:, 0]) for l2 in penalties]
        return min(starts, key=lambda state: state.objective)

    def _start(self, problem: Problem, moments: Moments, system: Array, target: Array) -> State:
        w = problem.weights
        coef = np.linalg.lstsq(system, target, rcond=None)[0]
        intercept = float(moments.mean_y[0] - moments.mean_x @ coef) if problem.fit_intercept else 0.0
        residual = problem.y - problem.raw(coef, intercept)
        scale = float(np.sqrt(w @ residual**2 / w.sum()))
        return self._evaluate(problem, coef, intercept, max(scale, self._least_scale(problem)), None)

    def _least_scale(self, problem: Problem) -> float:
        return 10 * np.finfo(float).eps * (float(np.abs(problem.y).max(initial=0.0)) or 1.0)

    def _evaluate(self, problem: Problem, coef: Array, intercept: Any, scale: float, old: State | None) -> State:
        state = State(coef, intercept)
        residual = problem.y - problem.raw(coef, intercept)
        z = residual / scale
        eps, w = problem.loss.parameter, problem.weights
        inlier = np.abs(z) <= eps
        height = np.where(inlier, z**2, eps * (2 * np.abs(z) - eps))
        state.objective = float(scale * (w @ (1 + height))) + problem.penalty.value(coef)
        state.memory = {"scale": scale, "z": z, "inlier": inlier}
        state.dual = self._dual(problem, state)
        if old is not None:
            state.dual = max(state.dual, old.dual)
        return state

    def _dual(self, problem: Problem, state: State) -> float:
        w, eps = problem.weights, problem.loss.parameter
        z, inlier = state.memory["z"], state.memory["inlier"]
        u = 2 * np.clip(z, -eps, eps)
        free = w * inlier
        if problem.fit_intercept and free.sum() > 0:
            u = u - inlier * ((w @ u) / free.sum())
        if problem.penalty.l2 == 0:  # Xᵀ(s u) must vanish: correct the inliers by their least-squares projection
            moments = problem.design.moments(problem.y[:, None], free)
            gram = moments.xx if problem.fit_intercept else moments.about_zero()[0]
            step = np.linalg.lstsq(gram, problem.design.rmatvec(w * u), rcond=None)[0]
            centre = moments.mean_x @ step if problem.fit_intercept else 0.0
            u = u - inlier * (problem.design.matvec(step) - centre)
            pull = problem.design.rmatvec(w * u)
            size = problem.design.rmatvec(w * np.abs(u))
            if np.any(np.abs(pull) > 1e-8 * (np.abs(size) + 1e-300)):
                return -np.inf
        return self._dual_value(problem, u)

    def _dual_value(self, problem: Problem, u: Array) -> float:
        """The dual objective at u, shrunk into the feasible set; u is balanced, and Xᵀ(s u) = 0 if α = 0."""
        w, eps, l2 = problem.weights, problem.loss.parameter, problem.penalty.l2
        pull = problem.design.rmatvec(w * u)
        spread = float(w @ u**2) / (4 * w.sum())
        shrink = min(1.0, 1 / np.sqrt(spread) if spread > 0 else 1.0, 2 * eps / max(float(np.abs(u).max()), 1e-300))
        ridge = shrink**2 * float(pull @ pull) / (2 * l2) if l2 > 0 else 0.0
        return shrink * float((w * u) @ problem.y) - ridge

    def step(self, problem: Problem, state: State, tol: float) -> State:
        direction, shift, stretch = self._direction(problem, state)
        scale = state.memory["scale"]
        least = self._least_scale(problem)
        length = 1.0
        for _ in range(50):
            new_scale = scale + length * stretch
            if new_scale <= 0:
                new_scale = max(0.1 * scale, least)
            new = self._evaluate(
                problem, state.coef + length * direction, state.intercept + length * shift, max(new_scale, least), state
            )
            if new.objective < state.objective:
                return new
            length *= 0.5
        state.stalled = True
        nobody = np.ones(len(problem.y), dtype=bool)
        witnesses = [self._exact_fit_dual(problem, state, rows) for rows in (state.memory["inlier"], nobody)]
        state.dual = max(state.dual, *witnesses)
        return state

    def _exact_fit_dual(self, problem: Problem, state: State, inlier: Array) -> float:
        """When rows are fitted exactly their residuals are rounding and say nothing about u.

        A better witness keeps u = ±2ε for the outliers and takes the smallest u of the others that makes
        Xᵀ(s u) = 2αβ and Σ s u = 0.
        """
        w, l2, free = problem.weights, problem.penalty.l2, problem.fit_intercept
        u = np.where(inlier, 0.0, 2 * problem.loss.parameter * np.sign(state.memory["z"]))
        wanted, excess = l2 * state.coef - problem.design.rmatvec(w * u), -float(w @ u)
        moments = problem.design.moments(problem.y[:, None], w * inlier)
        if free:
            step = np.linalg.lstsq(moments.xx, wanted - moments.mean_x * excess, rcond=None)[0]
            u = u + inlier * (problem.design.matvec(step) - moments.mean_x @ step + excess / moments.weight)
        else:
            step = np.linalg.lstsq(moments.about_zero()[0], wanted, rcond=None)[0]
            u = u + inlier * problem.design.matvec(step)
        missed = float(np.abs(problem.design.rmatvec(w * u) - l2 * state.coef).max(initial=0.0))
        if l2 == 0 and missed > 1e-8 * float(np.abs(wanted).max(initial=0.0)):
            return -np.inf
        return self._dual_value(problem, u)

    def _direction(self, problem: Problem, state: State) -> tuple[Array, float, float]:
        """Newton step for (β, b, σ) from the Hessian of the inliers."""
        w, eps, l2 = problem.weights, problem.loss.parameter, problem.penalty.l2
        scale, z, inlier = (state.memory[key] for key in ("scale", "z", "inlier"))
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
        return step[:d], float(step[d]), float(step[d + 1])
