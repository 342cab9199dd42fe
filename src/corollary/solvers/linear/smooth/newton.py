"""Damped Newton for smooth losses with an L2 penalty or none, when the d × d Hessian fits.

The Hessian is factorised once and kept while it still contracts the gradient fast (a chord step costs one pass over
X, a fresh Hessian about three). On tall data the iteration starts from the solution of a thinned-out sample, which is
close enough that one or two Hessians of the full data are needed in all. Where there is a penalty, that of the sample
will do as a rule: what the steps show of the curvature corrects it, as in L-BFGS (``pairs.py``).

Cost: O(n d²) per Hessian and O(n d) per chord step; memory d², a few vectors of length n and the sums of
``row_pass.py``.
Certificate: the duality gap at slopes that are balanced for the intercept and, without a penalty, projected onto the
null space of Xᵀ, which makes them dual feasible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from corollary.core.loss import Loss
from corollary.core.problem import Problem
from corollary.core.summary import centre_gram
from corollary.core.types import Array
from corollary.solvers.linear.backtracking import backtrack
from corollary.solvers.linear.driver import Need, Solver, State, nearest
from corollary.solvers.linear.free import Bound, FreeColumns, scale_of_raw
from corollary.solvers.linear.interior_point.solver import finisher
from corollary.solvers.linear.smooth.pairs import added, along
from corollary.solvers.linear.smooth.row_pass import RowPass, in_one_call, row_pass
from corollary.solvers.linear.smooth.sample import from_sample
from corollary.solvers.loop import overflow

CONTRACTION = 0.15  # a chord step that shrinks the gradient by less than this factor asks for a new Hessian
TURNS = 15  # enough for a loss with straight parts, unless rows keep changing from one part to another


class Newton(Solver):
    """See the module."""

    name = "damped Newton"
    needs = (
        Need("loss", "smooth", True, "it has kinks; use the interior-point solver"),
        Need("loss", "curved", True, "it has no second derivative"),
        Need("loss", "multiclass", False, "its Hessian couples the classes; use L-BFGS"),
        Need("penalty", "separable", True, "only L2 and no penalty have a Hessian"),
        Need("penalty", "quadratic", True, "it has kinks at zero"),
    )

    def successor(self, problem: Problem) -> Solver | None:
        return finisher(problem)

    def init(self, problem: Problem, start: State) -> State:
        coef, intercept = start.coef, start.intercept
        sampled = from_sample(Newton(), problem, start, 20)
        if sampled is not None:
            part, found = sampled
            coef, intercept = found.coef, found.intercept
            if problem.penalty.l2 > 0 and in_one_call(problem) and not problem.loss.flat:
                return self._near(problem, part, coef, intercept)
        state = self._evaluate(problem, State(coef, intercept), hessian=True)
        free = state.memory["free"]  # later on the curvature may vanish, which is no fault of the columns
        state.memory["ill"] = problem.penalty.l2 == 0 and (free is None or free.coarse)
        return state

    def _near(self, problem: Problem, part: Problem, coef: Array, intercept: Any) -> State:
        """The state at the optimum of a sample, with the Hessian of the sample: good enough for the first steps."""
        sample = self._evaluate(part, State(coef, intercept), hessian=True)
        state = State(coef, intercept)
        state.memory = {key: sample.memory[key] for key in ("factor", "scale", "border", "total", "free")}
        state.memory |= {"chord": True, "sampled": True, "pairs": [], "ill": False}
        return self._evaluate(problem, state, hessian=False)

    def step(self, problem: Problem, state: State, tol: float) -> State:
        memory = state.memory
        direction, shift = along(
            memory["pairs"], lambda g, t: self._inverse(problem, g, t, memory), memory["gradient"], memory["tilt"]
        )
        promise = float(memory["gradient"] @ direction) + memory["tilt"] * shift

        def attempt(length: float) -> tuple[float, State]:
            new = State(state.coef + length * direction, state.intercept + length * shift)
            new.memory = {**memory, "ill": False}
            return self._evaluate(problem, new, hessian=False).objective, new

        length, new = backtrack(attempt, state.objective, promise)
        shrinkage = new.memory["size"] / max(memory["size"], 1e-300)
        fresh = not memory["chord"]
        worse = length == 0.0 or new.objective > state.objective
        if worse or (fresh and shrinkage >= 1.0 and new.objective >= state.objective):
            state.stalled = fresh
            return state if fresh else self._evaluate(problem, state, hessian=True)
        new = _with_older(new, state)
        new.memory["chord"] = True
        if memory["sampled"]:
            change = new.memory["gradient"] - memory["gradient"], new.memory["tilt"] - memory["tilt"]
            new.memory["pairs"] = added(memory["pairs"], (length * direction, length * shift), change)
        if problem.loss.flat:
            new.memory["turn"] = turn = memory.get("turn", 0) + 1
            new.stalled = turn >= TURNS and self.successor(problem) is not None
            new.memory["exact"] = length == 1.0 and state.objective - new.objective <= 1e-3 * abs(new.objective)
        slow = shrinkage > CONTRACTION or length < 1.0
        if slow and new.memory["estimate"] > 0.1 * tol * abs(new.objective):
            if new.stalled:
                return new
            new = _with_older(self._evaluate(problem, new, hessian=True), state)
        return new

    def _evaluate(self, problem: Problem, state: State, *, hessian: bool) -> State:
        """One pass over X: objective, gradient and, if asked, a factorised Hessian at the state's coefficients."""
        memory, penalty = state.memory, problem.penalty
        exact, free = problem.loss.flat and memory.get("exact", False), penalty.l2 == 0
        # close to the optimum the true curvature, zero on the flat parts, converges faster
        swept = row_pass(problem, state.coef, state.intercept, gram=hessian, exact=exact)
        state.objective = problem.primal_value(swept.value, state.coef)
        memory["slope"], memory["loss_gradient"] = swept.slope, swept.gradient
        memory["gradient"] = swept.gradient + penalty.l2 * state.coef
        memory["tilt"] = float(swept.gradient_sum) if problem.fit_intercept else 0.0
        memory["size"] = float(np.linalg.norm(memory["gradient"]) + abs(memory["tilt"]))
        if free:
            memory["length"] = float(np.sqrt(swept.square + scale_of_raw(problem, problem.weights)))
        if swept.border is not None:
            memory["share"] = swept.curve, swept.border, swept.total
        if hessian:
            memory |= {"curve": swept.curve, "chord": False, "sampled": False, "pairs": []}
            self._factorise(problem, swept, memory)
        if np.isfinite(state.objective):
            state.dual = self._dual(problem, state)
        return state

    def _factorise(self, problem: Problem, swept: RowPass, memory: dict[str, Any]) -> None:
        """Scale to a unit diagonal and factorise; a singular Hessian gets the smallest shift that makes it definite."""
        assert swept.gram is not None
        assert swept.border is not None
        H = swept.gram
        total, border = swept.total, swept.border
        raw = np.diag(H).copy()
        if problem.fit_intercept and total > 0:
            centre_gram(H, border, total)
        removed, free = raw - np.diag(H), problem.penalty.l2 == 0
        H[np.diag_indices_from(H)] += problem.penalty.l2
        memory["border"], memory["total"] = border, total
        if not np.isfinite(H).all():
            raise overflow()
        there = np.diag(H) > 0  # coefficients of the rest stay as they are
        scale = np.where(there, 1.0 / np.sqrt(np.where(there, np.diag(H), 1.0)), 0.0)
        H *= scale
        H *= scale[:, None]
        H[np.diag_indices_from(H)] += np.where(there, 0.0, 1.0)
        shift = 0.0
        while True:
            try:
                memory["factor"] = cho_factor(H + shift * np.eye(len(H)), check_finite=False)
                break
            except np.linalg.LinAlgError:
                shift = max(1e-14, 10 * shift)
        memory["scale"] = scale
        mean = border / total if problem.fit_intercept and total > 0 else 0.0 * border
        seen = free and shift == 0 and self._constant(problem, memory, ~there)
        memory["free"] = FreeColumns.of(memory["factor"], scale, removed, mean, total) if seen else None

    def _constant(self, problem: Problem, memory: dict[str, Any], erased: Array) -> bool:
        """Whether columns of which the Hessian keeps nothing are constant (zero, without an intercept).

        Others vary by less than the rounding of centring, or only in rows without curvature.
        """
        if erased.any() and "constant" not in memory:
            centre = problem.design.middle(problem.weights) if problem.fit_intercept else np.zeros(len(erased))
            memory["constant"] = problem.design.view(centre=centre).column_largest() == 0
        return not erased.any() or bool(memory["constant"][erased].all())

    def _inverse(self, problem: Problem, gradient: Array, tilt: float, memory: dict[str, Any]) -> tuple[Array, float]:
        """The inverse Hessian, as it was factorised, times a gradient of (coefficients, intercept)."""
        total, border, scale = memory["total"], memory["border"], memory["scale"]
        free = problem.fit_intercept and total > 0
        reduced = gradient - border * (tilt / total) if free else gradient
        step = scale * cho_solve(memory["factor"], scale * reduced, check_finite=False)
        return step, (tilt - float(border @ step)) / total if free else 0.0

    def _dual(self, problem: Problem, state: State) -> float:
        """A dual value, exact but for rounding; skipped (−inf) while the estimate says the gap is far from closing."""
        memory, l2 = state.memory, problem.penalty.l2
        gradient, tilt = memory["gradient"], memory["tilt"]
        step, lift = self._inverse(problem, gradient, tilt, memory)
        decrement = 0.5 * (float(gradient @ step) + tilt * lift)
        estimate = float(gradient @ gradient) / (2 * l2) if l2 > 0 else decrement
        memory["estimate"] = max(estimate, decrement)
        costly = len(problem.y) > 10_000 or type(problem.loss).conjugate is Loss.conjugate  # a search for each row
        if estimate > 1e-3 * abs(state.objective) and costly:
            return -np.inf
        slope = memory["slope"]
        if l2 > 0:
            if not problem.fit_intercept:
                return problem.dual_value(slope, memory["loss_gradient"])
            curve, border, total = memory["share"]
            if not total > 0:  # no row has curvature, so slopes cannot be balanced
                return -np.inf
            ratio = tilt / total
            return problem.dual_value(slope - curve * ratio, memory["loss_gradient"] - border * ratio)
        curve = memory["curve"]
        # no penalty: Xᵀθ must vanish; the Newton direction says what to subtract
        projected = slope - curve * (problem.design.matvec(step) + lift)
        if memory["free"] is None:
            return -np.inf
        if problem.loss.unattained:  # rows that are as good as certain: the correction may be larger than the slope
            projected[projected * problem.y > 0] = 0.0
        gradient = problem.design.rmatvec(projected)
        live = problem.weights > 0
        steepest = np.sqrt(np.max(curve[live] / problem.weights[live], initial=0.0))
        rate = memory["free"].charge(problem, projected, gradient, float(steepest))
        memory["bound"] = Bound(problem.offset - problem.conjugate_sum(projected), rate)
        return float(memory["bound"].at(memory["length"]))


def _with_older(new: State, old: State) -> State:
    """With the better of two dual values; the older one is measured by the predictions of now."""
    bound = old.memory.get("bound")
    older = old.dual if bound is None else bound.at(new.memory["length"])
    if nearest(new.objective, new.dual, older) != new.dual:
        new.dual, new.memory["bound"] = older, bound
    return new
