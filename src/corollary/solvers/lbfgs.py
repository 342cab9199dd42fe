"""Limited-memory BFGS, preconditioned by the Gram matrix, for smooth losses with an L2 penalty or none.

The curvature of Σ w ℓ(y, Xβ + b) is Xᵀ D X for some diagonal D, so the inverse of c·XᵀWX + λI is a good first guess at
the inverse Hessian, whatever the scales of the columns; the pairs that L-BFGS collects correct it. Beyond
``GRAM_COLUMNS`` columns only the diagonal is used. Serves binary and multi-class losses alike, one matrix for all
classes.

Cost: O(n d k) per iteration in one pass over X, plus O(n d²) once; memory d² + 20 vectors of d·k.
Reference: Liu and Nocedal (1989), *On the limited memory BFGS method*, Mathematical Programming 45.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.driver import Need, Solver, State, solve
from corollary.solvers.newton import SAMPLE_ROWS, THINNING

PAIRS = 10
GRAM_COLUMNS = 2000


class LBFGS(Solver):
    """See the module."""

    name = "L-BFGS"
    needs = (
        Need("loss", "smooth", True, "it has kinks; use the interior-point solver"),
        Need("penalty", "separable", True, "only L2 and no penalty are smooth"),
    )

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if problem.penalty.l1 > 0:
            raise ValueError(f"{self.name} cannot use the {problem.penalty.name} penalty: it has kinks at zero.")

    def init(self, problem: Problem, start: State) -> State:
        coef, intercept = start.coef, start.intercept
        n, d = problem.design.shape
        if n // THINNING >= max(SAMPLE_ROWS // 4, 20 * d) and not coef.any():
            coef, intercept = self._sample_solution(problem)
        state = State(coef, intercept)
        state.memory = {"pairs": [], "precondition": self._preconditioner(problem)}
        return self._evaluate(problem, state)

    def _sample_solution(self, problem: Problem) -> tuple[Array, Any]:
        keep = np.arange(0, problem.design.shape[0], THINNING)
        weights = problem.weights[keep]
        if not weights.sum() > 0:
            return np.zeros(problem.coef_shape), problem.null_intercept()
        sample = Problem(
            problem.design.rows(keep),
            problem.y[keep],
            weights * (problem.weights.sum() / weights.sum()),
            problem.loss,
            problem.penalty,
            problem.fit_intercept,
            n_classes=problem.n_classes,
        )
        found = solve(LBFGS(), sample, tol=1e-4, max_iter=100)
        return found.coef, found.intercept

    def _preconditioner(self, problem: Problem) -> Any:
        """A function (coefficients' gradient, intercept's gradient) → preconditioned pair."""
        design, w, l2 = problem.design, problem.weights, problem.penalty.l2
        d, total = design.shape[1], float(w.sum())
        # the mean curvature of the loss at f = 0: 1/4 for logistic, (K − 1)/K² for softmax, about 1 otherwise
        k = max(problem.n_classes, 2)
        level = (k - 1) / k**2 if problem.loss.task == "classification" else 1.0
        free = problem.fit_intercept
        if d > GRAM_COLUMNS:
            diagonal = level * design.column_squares(np.zeros(d), w) + l2
            diagonal = np.where(diagonal > 0, diagonal, 1.0)

            def by_diagonal(g: Array, t: Any) -> tuple[Array, Any]:
                return (g.T / diagonal).T, t / (level * total) if free else 0.0 * t

            return by_diagonal
        H = level * design.gram(w)
        border = level * design.rmatvec(w)
        if free:
            H -= np.outer(border, border / (level * total))
        H[np.diag_indices_from(H)] += l2
        H[np.diag_indices_from(H)] += 1e-12 * max(float(np.trace(H)) / d, 1e-300)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        factor = cho_factor((H * scale).T * scale + 1e-13 * np.eye(d), check_finite=False)

        def by_gram(g: Array, t: Any) -> tuple[Array, Any]:
            reduced = g - np.multiply.outer(border, t / (level * total)) if free else g
            p = (scale * cho_solve(factor, (reduced.T * scale).T, check_finite=False).T).T
            return p, (t - border @ p) / (level * total) if free else 0.0 * t

        return by_gram

    def step(self, problem: Problem, state: State, tol: float) -> State:
        memory = state.memory
        direction, shift = self._direction(state)
        gradient, tilt = memory["gradient"], memory["tilt"]
        promise = float(np.vdot(gradient, direction) + np.vdot(tilt, shift))
        length = 1.0
        for _ in range(40):
            new = State(state.coef + length * direction, state.intercept + length * shift)
            new.memory = {"precondition": memory["precondition"]}
            new = self._evaluate(problem, new)
            if np.isfinite(new.objective) and new.objective <= (
                state.objective + 1e-4 * length * promise + 1e-14 * abs(state.objective)
            ):
                break
            length *= 0.5
        if not new.objective <= state.objective:
            # either a bad model of the curvature (start again from the preconditioner) or the end of the road
            state.stalled = not memory["pairs"]
            memory["pairs"] = []
            return state
        new.dual = max(new.dual, state.dual)
        s, y = (length * direction, length * shift), (new.memory["gradient"] - gradient, new.memory["tilt"] - tilt)
        curvature = float(np.vdot(s[0], y[0]) + np.vdot(s[1], y[1]))
        pairs = memory["pairs"]
        if curvature > 1e-14 * float(np.vdot(y[0], y[0])) ** 0.5:
            pairs = [*pairs, (s, y, curvature)][-PAIRS:]
        new.memory["pairs"] = pairs
        new.stalled = new.objective == state.objective and new.dual == state.dual and not (s[0].any() or np.any(s[1]))
        return new

    def _direction(self, state: State) -> tuple[Array, Any]:
        """The two-loop recursion around the preconditioner."""
        pairs, memory = state.memory["pairs"], state.memory
        q, t = memory["gradient"].copy(), memory["tilt"]
        weights = []
        for s, y, curvature in reversed(pairs):
            a = (np.vdot(s[0], q) + np.vdot(s[1], t)) / curvature
            q, t = q - a * y[0], t - a * y[1]
            weights.append(a)
        p, shift = memory["precondition"](q, t)
        if pairs:
            _, y, curvature = pairs[-1]
            py, pt = memory["precondition"](*y)
            ratio = curvature / float(np.vdot(y[0], py) + np.vdot(y[1], pt))
            p, shift = ratio * p, ratio * shift
        for (s, y, curvature), a in zip(pairs, reversed(weights), strict=True):
            b = a - (np.vdot(y[0], p) + np.vdot(y[1], shift)) / curvature
            p, shift = p + b * s[0], shift + b * s[1]
        return -p, -shift

    def _evaluate(self, problem: Problem, state: State) -> State:
        n = problem.design.shape[0]
        shape = (n, problem.n_classes) if problem.n_classes else (n,)
        slope = np.empty(shape)
        curve = None if problem.n_classes else np.empty(n)

        def record(start: int, stop: int, raw: Array) -> tuple[float, Array, Array | None]:
            value, first, second = problem.pointwise(start, stop, raw)
            slope[start:stop] = first
            if curve is not None and second is not None:
                curve[start:stop] = second
            return value, first, second

        swept = problem.design.sweep(state.coef, state.intercept, record)
        l2 = problem.penalty.l2
        state.objective = problem.primal_value(swept.value, state.coef)
        gradient = swept.gradient + l2 * state.coef
        tilt = swept.gradient_sum if problem.fit_intercept else 0.0 * swept.gradient_sum
        state.memory |= {"gradient": gradient, "tilt": tilt}
        estimate = float(np.vdot(gradient, gradient)) / (2 * l2) if l2 > 0 else 0.0
        if np.isfinite(state.objective) and (estimate <= 1e-6 * abs(state.objective) or n <= 10_000):
            state.dual = self._dual(problem, slope, curve, swept.gradient, tilt)
        return state

    def _dual(self, problem: Problem, slope: Array, curve: Array | None, gradient: Array, tilt: Any) -> float:
        if problem.fit_intercept and np.any(tilt):
            slope = problem.balance(slope, curve)
            gradient = problem.design.rmatvec(slope)
        if problem.penalty.l2 > 0:
            return problem.dual_value(slope, gradient)
        return -np.inf
