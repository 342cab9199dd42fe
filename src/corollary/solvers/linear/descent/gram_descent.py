"""Coordinate descent where all products of the columns are known: tall data, of which one pass makes them.

For the squared loss the objective is ½ wᵀHw − pullᵀw + ½ square + Ω(w) + a constant, so neither an epoch nor its
duality gap looks at a row. Epochs end when the gap is small enough (``gram_fit`` of the kernels). Where a small one is
wanted, or columns are so nearly collinear that epochs crawl, the end is exact given the signs they found (``cd.py``).

Cost: O(d) for each coefficient that an epoch moves, and O(d²) for what is certified: the gradient is worked out anew.
"""

from __future__ import annotations

import numpy as np

from corollary.core.problem import LEAST, Problem
from corollary.core.types import Array
from corollary.solvers.linear.descent.cd import descend_products, minimise_quadratic
from corollary.solvers.linear.descent.prox_newton import ProxNewton
from corollary.solvers.linear.driver import Need, Solver, State, nearest

EPOCHS = 60  # of descent on a Gram matrix, after which its exact end is worth its cost
PARTS = (0.1, 1e-3, 1e-6)  # of the tolerance, times the strength: how exact that end is, one after the other
NARROW = 32  # columns, up to which an exact end costs nothing
ROUGH = 1e-6  # a gap up to which epochs go; a smaller one is asked for by those who want the digits of coefficients


class GramDescent(Solver):
    """See the module."""

    name = "coordinate descent"
    needs = (
        Need("loss", "constant_curvature", True, "it depends on more than products of columns"),
        Need("penalty", "separable", True, "epochs visit one coefficient at a time"),
        Need("penalty", "absent", False, "nothing bounds the dual"),
        Need("penalty", "convex", True, "it has no duality gap"),
    )

    def __init__(self, H: Array, pull: Array, square: float) -> None:
        self.H, self.pull, self.square = H, pull, square

    def successor(self, problem: Problem) -> Solver | None:
        return ProxNewton()

    def init(self, problem: Problem, start: State) -> State:
        self.small = LEAST * self.yardstick(problem)
        allowed = np.isfinite(problem.penalty.value(start.coef))  # those of another penalty may be negative
        return self._certified(problem, State(start.coef.copy() if allowed else 0.0 * start.coef, start.intercept))

    def step(self, problem: Problem, state: State, tol: float) -> State:
        new, turn = State(state.coef.copy(), state.intercept), state.memory.get("turn", 0)
        gradient = state.memory["gradient"].copy()
        if turn == 0:
            self._descend(problem, new.coef, gradient, max(tol, ROUGH), EPOCHS)
        if turn > 0 or tol < ROUGH or len(new.coef) <= NARROW:
            part = PARTS[min(turn, len(PARTS) - 1)] * tol * max(problem.penalty.l1, 1e-300)
            new.coef, _ = minimise_quadratic(self.H, gradient, new.coef, problem.penalty, tol=part)
        new = self._certified(problem, new)
        new.memory["turn"] = turn + 1
        new.dual = nearest(new.objective, new.dual, state.dual)
        new.stalled = turn >= len(PARTS) and not new.objective < state.objective
        return new

    def _certified(self, problem: Problem, state: State) -> State:
        gradient = np.empty(len(state.coef))
        state.objective, state.dual = self._descend(problem, state.coef, gradient, 0.0, 0)
        state.memory = {"gradient": gradient}
        return state

    def _descend(self, problem: Problem, w: Array, gradient: Array, tol: float, epochs: int) -> tuple[float, float]:
        fixed = self.H, self.pull, self.square, problem.offset, gradient, w, problem.penalty
        return descend_products(*fixed, float(tol), self.small, epochs)
