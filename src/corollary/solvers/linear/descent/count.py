"""Smooth convex losses with a penalty on the number of coefficients: descend to where no single change helps.

Finding the best set of columns is hard; a set that no change of one coefficient improves is not. While it lowers the
objective, an iteration minimises the quadratic model of the loss with the penalty, by coordinate descent over all
columns; then it changes the one coefficient that gains most (``one_coefficient.py``), until none does. After either
the coefficients that are not zero are brought to their joint minimum. Columns are taken about their means, so the
intercept follows every change.

Cost: O(n d²) for an iteration of the first kind; of the second, two or three evaluations of the loss for each entry of
X and O(n s²) for s coefficients. Memory d² and n·s; blocks are read into memory.
Certificate: the gain of the best change of one coefficient, with the intercept (kind *stationary*).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corollary.core.design import Design
from corollary.core.penalty import NoPenalty, Penalty
from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.linear.descent.cd import GRAM_COLUMNS, minimise_quadratic
from corollary.solvers.linear.descent.one_coefficient import best_change
from corollary.solvers.linear.driver import Need, Solver, State
from corollary.solvers.linear.quadratic import Model, model_of

NEWTON_STEPS = 60
SHORTEST, LONGEST = 2.0**-30, 2.0**60  # steps, in units of the model's own
LOWERED = 1e-4  # share of a step's slope that the objective has to fall by
STRAIGHT = 0.75  # a half is what the model says; where it is more, curvature was overstated, and steps are doubled
LOWER = 1e-12  # relative; a smaller fall of the objective may be rounding


class Count(Solver):
    """See the module."""

    name = "coordinate descent"
    needs = (
        Need("loss", "smooth", True, "it has kinks; use the interior-point solver with a separable penalty"),
        Need("loss", "curved", True, "it has no second derivative; use proximal gradient"),
        Need("penalty", "by_coordinate", True, "coordinate descent does not know it; use proximal gradient"),
    )

    def certificate_name(self, problem: Problem) -> str:
        return "relative gain of changing one coefficient"

    def init(self, problem: Problem, start: State) -> State:
        design = problem.design
        if not design.resident:
            design = design.take(np.arange(design.shape[1]))
        means = design.column_means(problem.weights) if problem.fit_intercept else np.zeros(design.shape[1])
        intercept = start.intercept
        if problem.fit_intercept and not np.any(start.coef) and not np.any(start.intercept):
            intercept = problem.loss.best_constant(problem.y, problem.weights, problem.n_classes)
        state = State(start.coef, intercept, memory={"means": means, "columns": design.view(centre=means)})
        return self._measured(problem, state)

    def step(self, problem: Problem, state: State, tol: float) -> State:
        change, least = state.memory.get("change"), 0.01 * tol * abs(state.objective)
        new = _Point(problem, state)
        if change is None:
            new.descend(problem.penalty, np.ones(problem.coef_shape, dtype=bool))
            new.settle(least)
            found = self._measured(problem, new.state())
            if found.objective < state.objective - LOWER * abs(state.objective):
                return found
            return self._judged(problem, found if found.objective <= state.objective else state, least)
        new.change(change)
        new.settle(least)
        found = self._measured(problem, new.state())
        return (
            self._judged(problem, found, least) if found.objective < state.objective else replace(state, stalled=True)
        )

    def _measured(self, problem: Problem, state: State) -> State:
        """With the objective at the raw predictions of the coefficients themselves, not of what was summed up."""
        memory = state.memory
        raw = problem.raw(state.coef, state.intercept)
        value, slope, curve = problem.derivatives(raw)
        state.objective = problem.primal_value(value, state.coef)
        state.memory = {"means": memory["means"], "columns": memory["columns"], "at": (raw, value, slope, curve)}
        return state

    def _judged(self, problem: Problem, state: State, least: float) -> State:
        """With the best change of one coefficient, as the distance to a bound that counts for such changes only."""
        change = best_change(problem, state.memory["columns"], state.coef, state.memory["at"][0], least)
        state.dual = state.objective - max(change.gain, 0.0)
        state.memory["change"] = change
        return state


class _Point:
    """Coefficients, the intercept about the means of the columns, and what the loss is there; changed in place."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem, self.memory = problem, state.memory
        self.columns: Design = state.memory["columns"]
        self.coef = state.coef.copy()
        self.level = state.intercept + state.memory["means"] @ state.coef
        self.raw, self.value, self.slope, self.curve = state.memory["at"]

    def state(self) -> State:
        return State(self.coef, self.level - self.memory["means"] @ self.coef, memory=self.memory)

    def change(self, change: Any) -> None:
        """Set one coefficient, and move its intercept along."""
        column = np.array([change.at[0]])
        step = np.zeros((1, *self.coef.shape[1:]))
        step[(0, *change.at[1:])] = change.value - self.coef[change.at]
        shift: Any = np.zeros_like(self.level) if np.ndim(self.level) else change.shift
        if np.ndim(self.level):
            shift[change.at[1]] = change.shift
        self.coef[change.at] = change.value
        self.level, self.raw = self.level + shift, self.raw + self.columns.take(column).matvec(step) + shift
        self.value, self.slope, self.curve = self.problem.derivatives(self.raw)

    def settle(self, least: float) -> None:
        """The joint minimum of the coefficients that are not zero."""
        for _ in range(NEWTON_STEPS):
            if self.descend(NoPenalty(), self.coef != 0) <= least:
                break

    def descend(self, penalty: Penalty, mask: Array) -> float:
        """One step over the coefficients in ``mask`` to the minimum of the quadratic model; what it promised."""
        problem = self.problem
        chosen = np.flatnonzero(mask.any(axis=1) if mask.ndim > 1 else mask)
        if len(chosen) > GRAM_COLUMNS:
            chosen = self._steepest(chosen)
        part = self.columns if len(chosen) == len(mask) else self.columns.take(chosen)
        model = model_of(problem, part, self.slope, self.curve)
        w = self.coef[chosen]
        step = _minimised(model, w, mask[chosen], penalty) - w
        shift = model.follow(step) if problem.fit_intercept else 0.0 * self.level
        slack = float(np.vdot(model.gradient, step)) + penalty.value(w + step) - penalty.value(w) - model.floor
        direction = part.matvec(step) + shift
        if not slack < 0:
            return 0.0
        before, length, found = self.value + penalty.value(w), 1.0, None
        with np.errstate(over="ignore", invalid="ignore"):
            while LONGEST >= length >= SHORTEST:
                after = problem.derivatives(self.raw + length * direction)
                share = (after[0] + penalty.value(w + length * step) - before) / (length * slack)
                if found is None and not share >= LOWERED:
                    length *= 0.5
                    continue
                if found is not None and not share >= STRAIGHT:
                    break
                found = length, after
                if length < 1 or share < STRAIGHT:
                    break
                length *= 2
        if found is None:
            return 0.0
        length, (self.value, self.slope, self.curve) = found
        self.coef[chosen], self.level = w + length * step, self.level + length * shift
        self.raw = self.raw + length * direction
        return -length * slack

    def _steepest(self, chosen: Array) -> Array:
        """As many columns as a Hessian may have: those that are in use, and those that promise most."""
        d = len(self.coef)
        promise = np.abs(self.columns.rmatvec(self.slope)).reshape(d, -1).max(axis=1) ** 2
        promise /= np.maximum(self.columns.column_squares(np.zeros(d), self.problem.weights), 1e-300)
        promise[(self.coef != 0).reshape(d, -1).any(axis=1)] = np.inf
        return np.sort(chosen[np.argsort(-promise[chosen], kind="stable")[:GRAM_COLUMNS]])


def _minimised(model: Model, w: Array, mask: Array, penalty: Penalty) -> Array:
    """The minimiser of the model over the coefficients in ``mask``; the others stay."""
    target = w.copy()
    for where, H in model.blocks:
        old, gradient, free = (a.ravel() if where is None else a[where] for a in (w, model.gradient, mask))
        at = np.flatnonzero(free)
        if at.size == 0:
            continue
        block = H if at.size == len(H) else np.ascontiguousarray(H[np.ix_(at, at)])
        fine = 1e-12 * float(np.abs(gradient).max(initial=0.0))
        new = old.copy()
        new[at], _ = minimise_quadratic(block, gradient[at], old[at], penalty, tol=fine)
        if where is None:
            target = new.reshape(w.shape)
        else:
            target[where] = new
    return target
