"""Proximal gradient with momentum: any smooth loss with any penalty that has a prox.

From a point v ahead of the iterate w, one step is w⁺ = prox(v − t ∇f(v), t), where f is the loss summed over the rows
and t is halved until f lies below the parabola of curvature 1/t through v. How far ahead v is follows Nesterov's rule,
and starts again from nothing when the objective rises or the step turns back (adaptive restart), so every step that is
kept lowers the objective. With an intercept the columns are taken about their means, which changes the intercept only
and keeps the two from pulling at each other.

Cost: two passes over X per iteration and one more for the certificate, which convex penalties ask for every few
iterations; memory for a few vectors. Slow where columns are nearly collinear: the number of iterations grows with the
condition number of X.
Certificate: the duality gap. Where there is none, what another proximal-gradient step would gain. One length for all
columns is far too short for those of small scale, so before that is believed each set of columns of like scale makes
steps of its own length, whose gains are measured; while one gains more than is asked for, they are kept and it goes on.
Reference: Beck and Teboulle (2009), SIAM Journal on Imaging Sciences 2; O'Donoghue and Candès (2015), *Adaptive restart
for accelerated gradient schemes*, Foundations of Computational Mathematics 15.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from corollary.core.problem import Problem, relative_gap
from corollary.core.types import Array
from corollary.solvers.linear.driver import Need, Solver, State, nearest

EVERY = 5  # iterations between two looks at the duality gap
GROWTH = 1.1  # of the length of steps, which is halved where it turns out too long
POWER_STEPS = 8
LIKE = 4.0  # columns whose standard deviations differ by less than this factor are of like scale
OWN = 4  # iterations between two steps of each scale on its own
HALVINGS = 20
ROUNDING = 1e-12  # of the objective, where columns are far from zero; a rise by less says nothing


Derivatives = tuple[float, Array, Array | None]  # Σ w ℓ, w ℓ′ and w ℓ″


@dataclass(frozen=True)
class _Point:
    """Coefficients, the intercept about the means of the columns, and the raw predictions of both."""

    coef: Array
    level: Any
    raw: Array

    def minus(self, other: _Point) -> _Point:
        return _Point(self.coef - other.coef, self.level - other.level, self.raw - other.raw)

    def beyond(self, before: _Point, share: float) -> _Point:
        """The point that lies ahead by a share of the last move."""
        move = self.minus(before)
        return _Point(self.coef + share * move.coef, self.level + share * move.level, self.raw + share * move.raw)


class _Geometry:
    """The problem in coefficients and level, where lengths are ‖Δcoef‖² + weight · Δlevel²."""

    def __init__(self, problem: Problem) -> None:
        self.problem, design, w = problem, problem.design, problem.weights
        self.means = design.column_means(w) if problem.fit_intercept else np.zeros(design.shape[1])
        guess = np.random.default_rng(0).standard_normal(design.shape[1])
        width = 0.0  # nearly the largest eigenvalue of XᵀWX about the means
        for _ in range(POWER_STEPS):
            guess = guess / (float(np.linalg.norm(guess)) or 1.0)
            guess, _ = self.transposed(w * (design.matvec(guess) - float(self.means @ guess)))
            width = float(np.linalg.norm(guess))
        self.width = width or 1.0
        self.weight = float(w.sum()) / self.width  # then coefficients and level are equally curved

    @cached_property
    def scales(self) -> list[tuple[Array, float]]:
        """Sets of columns of like scale, and for each a bound on its part of XᵀWX; constant columns have none."""
        squares = self.problem.design.column_squares(self.means, self.problem.weights)
        live = np.flatnonzero(squares > 0)
        kinds = np.floor(np.log(squares[live]) / np.log(LIKE**2))
        sets = [live[kinds == kind] for kind in np.unique(kinds)[::-1]]
        return [(columns, float(squares[columns].sum())) for columns in sets]

    def by_scale(self, point: _Point, there: Derivatives, bend: float) -> tuple[_Point, Derivatives, float]:
        """The point after a step of each set of columns of like scale that lowers the objective; and their gain."""
        penalty, gain = self.problem.penalty, 0.0
        for columns, width in self.scales:
            gradient, _ = self.transposed(there[1])
            before, length = there[0] + penalty.value(point.coef), 1 / (bend * width)
            for _ in range(HALVINGS):
                coef = point.coef.copy()
                coef[columns] = penalty.prox(point.coef - length * gradient, length)[columns]
                if (coef == point.coef).all():
                    break
                new = self.point(coef, point.level)
                found = self.problem.derivatives(new.raw)
                lower = before - found[0] - penalty.value(coef)
                if lower > 0:
                    point, there, gain = new, found, gain + lower
                    break
                length *= 0.5
        return point, there, gain

    def transposed(self, rows: Array) -> tuple[Array, Any]:
        """The products of rows with the columns about their means, and with the column of ones."""
        total = rows.sum(axis=0)
        gradient = self.problem.design.rmatvec(rows) - np.multiply.outer(self.means, total)
        return gradient, total if self.problem.fit_intercept else 0.0 * total

    def point(self, coef: Array, level: Any) -> _Point:
        return _Point(coef, level, self.problem.raw(coef, level - self.means @ coef))

    def dot(self, a: _Point, b: _Point) -> float:
        return float(np.vdot(a.coef, b.coef) + self.weight * np.sum(a.level * b.level))

    def stepped(self, point: _Point, gradient: Array, tilt: Any, length: float) -> _Point:
        """The point after a proximal-gradient step."""
        coef = self.problem.penalty.prox(point.coef - length * gradient, length)
        return self.point(coef, point.level - length / self.weight * tilt)

    def descend(self, point: _Point, length: float) -> tuple[_Point, Derivatives, float]:
        """A step that is so short that the loss lies below its parabola; what is there; and its length."""
        value, slope, _ = self.problem.derivatives(point.raw)
        gradient, tilt = self.transposed(slope)
        for _ in range(100):
            new = self.stepped(point, gradient, tilt, length)
            there, move = self.problem.derivatives(new.raw), new.minus(point)
            rise, room = there[0] - value - float(np.vdot(slope, move.raw)), self.dot(move, move) / (2 * length)
            if room <= 1e-10 * abs(value):  # values have lost the digits that tell, slopes have not
                rise = 0.5 * float(np.vdot(there[1] - slope, move.raw))
            if rise <= room:
                break
            length *= 0.5
        return new, there, length

    def promise(self, point: _Point, slope: Array, length: float) -> float:
        """By how much a step lowers the parabola and the penalty together."""
        (gradient, tilt), penalty = self.transposed(slope), self.problem.penalty
        new = self.stepped(point, gradient, tilt, length)
        move = new.minus(point)
        change = float(np.vdot(gradient, move.coef) + np.sum(tilt * move.level)) + self.dot(move, move) / (2 * length)
        return max(0.0, penalty.value(point.coef) - penalty.value(new.coef) - change)


class ProxGradient(Solver):
    """See the module."""

    name = "proximal gradient"
    any_shape = True
    move = "proximal-gradient step"
    patience = 100  # momentum overshoots and comes back
    needs = (Need("loss", "smooth", True, "it has kinks; use the interior point, with none, l1, l2 or elastic net"),)

    def init(self, problem: Problem, start: State) -> State:
        geometry, loss = _Geometry(problem), problem.loss
        level = start.intercept + geometry.means @ start.coef
        if problem.fit_intercept and not np.any(start.coef) and not np.any(start.intercept):
            level = loss.best_constant(problem.y, problem.weights, problem.n_classes)
        point = geometry.point(start.coef, level)
        there, bend = problem.derivatives(point.raw), loss.lipschitz
        if bend == np.inf:
            live = problem.weights > 0
            bend = 1.0 if there[2] is None else float((there[2][live] / problem.weights[live]).max()) or 1.0
        memory = {"geometry": geometry, "point": point, "before": point, "momentum": 1.0, "age": 0, "bend": bend}
        memory |= {"length": 1 / (bend * geometry.width), "null": self.null_objective(problem)}
        state = self._measured(problem, memory, there, -np.inf)
        if not problem.has_dual:
            state.dual = min(state.dual, state.objective - geometry.by_scale(point, there, bend)[2])
        return state

    def step(self, problem: Problem, state: State, tol: float) -> State:
        memory = state.memory
        geometry, point, momentum = memory["geometry"], memory["point"], memory["momentum"]
        following = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        ahead = point.beyond(memory["before"], (momentum - 1) / following)
        new, there, length = geometry.descend(ahead, GROWTH * memory["length"])
        highest = state.objective + ROUNDING * abs(state.objective)
        if momentum > 1 and not problem.primal_value(there[0], new.coef) <= highest:
            ahead = point
            new, there, length = geometry.descend(point, length)
        if ahead is point or geometry.dot(new.minus(ahead), point.minus(new)) > 0:  # or turns back
            following = 1.0
        memory = memory | {"point": new, "before": point, "momentum": following, "length": length}
        memory = memory | {"age": memory["age"] + 1}
        found = self._measured(problem, memory, there, state.dual)
        if not found.objective <= highest:
            return replace(state, stalled=True)
        if problem.has_dual:
            return found
        near = relative_gap(found.objective, found.dual, memory["null"]) <= tol
        if near or (len(geometry.scales) > 1 and memory["age"] % OWN == 0):
            new, there, gain = geometry.by_scale(new, there, memory["bend"])
            found = self._measured(problem, memory | {"point": new, "before": new, "momentum": 1.0}, there, -np.inf)
            found.dual = min(found.dual, found.objective - gain)
        return found

    def _measured(self, problem: Problem, memory: dict[str, Any], there: Derivatives, dual: float) -> State:
        geometry, point, (value, slope, curve) = memory["geometry"], memory["point"], there
        intercept = point.level - geometry.means @ point.coef
        state = State(point.coef, intercept, problem.primal_value(value, point.coef), dual, memory=memory)
        if not problem.has_dual:
            state.dual = state.objective - geometry.promise(point, slope, memory["length"])
        elif memory["age"] % EVERY == 0:
            balanced = problem.balance(slope, curve)
            found = problem.dual_value(balanced, problem.design.rmatvec(balanced))
            state.dual = nearest(state.objective, found, dual)
        return state
