"""A loss of straight pieces with an l1 + l2 penalty, as a sum of check functions max(low·r, high·r), low ≤ 0 ≤ high.

For a row, r = kink − f: one check if its loss has one kink (absolute, quantile, hinge), two if it has two
(ε-insensitive). For l1|βⱼ|, r = −βⱼ, low = −l1, high = l1. The dual variable of a check is θ in [low, high].

Huber's loss is a check rounded off by a parabola, min over e of e²/(2 soft) + check(r − e): in the dual that is a term
−½ soft θ², and e = soft·θ. With a free scale, Σ s (σ + σ H(r/σ)) minimised over σ ≥ 0 as well, soft is σ/(2s), and σ is
the multiplier of Σ θ²/(4s) ≤ Σ s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from corollary.core.problem import Problem
from corollary.core.scaling import powers_above
from corollary.core.types import Array
from corollary.solvers.linear.free import REACH, FreeColumns, length_of
from corollary.solvers.linear.interior_point.kkt import System, check_size
from corollary.solvers.linear.smooth.huber_scale import best_scale, joint_value

ROUNDING = 4 * np.finfo(float).eps


@dataclass(frozen=True)
class Point:
    """An iterate: x in scaled columns, the intercept b, and per check u − v = r, p = high − θ, q = θ − low, all > 0.

    A free scale and the room that is left in its constraint are arrays of one number, else empty.
    """

    x: Array
    b: float
    u: Array
    v: Array
    scale: Array
    p: Array
    q: Array
    room: Array

    @property
    def products(self) -> tuple[Array, Array, Array]:
        """What is zero at the optimum."""
        return self.u * self.p, self.v * self.q, self.scale * self.room

    @property
    def mu(self) -> float:
        """The mean of all products."""
        return float(self.u @ self.p + self.v @ self.q + self.scale @ self.room) / (2 * len(self.u) + len(self.scale))

    @property
    def least(self) -> float:
        """The smallest product."""
        return float(min(part.min(initial=np.inf) for part in self.products))

    def plus(self, step: Point, a: float, c: float) -> Point:
        """The point after a step of length a in x, b, u, v, the scale, and c in p, q, the room."""
        x, b, u, v = self.x + a * step.x, self.b + a * step.b, self.u + a * step.u, self.v + a * step.v
        scale, room = self.scale + a * step.scale, self.room + c * step.room
        return Point(x, b, u, v, scale, self.p + c * step.p, self.q + c * step.q, room)


@dataclass(frozen=True)
class Checks:
    """All checks: those of the rows of positive weight, first kinks first, then those of l1|β|.

    β = scale · x with a power of two per column that makes the columns of X · scale of size one; ridge is l2 · scale².
    """

    problem: Problem
    scale: Array
    ridge: Array
    kinks: tuple[Array, Array]
    target: Array
    low: Array
    high: Array
    soft: Array  # with a free scale, for a scale of one
    budget: float = np.inf  # Σ s of a free scale
    free: FreeColumns | None = None  # of columns that nothing penalises

    @classmethod
    def of(cls, problem: Problem, *, free_scale: bool = False) -> Checks:
        live = problem.weights > 0
        if not live.all():
            design = problem.design.rows(np.flatnonzero(live))
            problem = replace(problem, design=design, y=problem.y[live], weights=problem.weights[live])
        check_size(problem)
        d, w, l1 = problem.design.shape[1], problem.weights, problem.penalty.l1
        steep = 2.0 if free_scale else 1.0  # H(z) = z² has twice the slopes of ½ r²
        left, right = (steep * problem.loss.gradient(problem.y, np.full(len(w), end)) for end in (-np.inf, np.inf))
        first, second = _kinks(problem, left, right)
        rms = np.sqrt(problem.design.column_squares(np.zeros(d)) / len(w))
        scale = 1.0 / powers_above(np.sqrt(0.5) * rms)  # the power above √½ x is the one nearest to x
        if np.array_equal(first, second):
            target, low, high = [first], [-w * right], [-w * left]
        else:
            target, low, high = [first, second], [0 * w, -w * right], [-w * left, 0 * w]
        if l1 > 0:
            target, low, high = [*target, np.zeros(d)], [*low, -l1 * scale], [*high, l1 * scale]
        stacked = np.concatenate(target), np.concatenate(low), np.concatenate(high)
        soft = np.zeros(len(stacked[0]))
        if problem.loss.flat:
            soft[: len(w)] = (0.5 if free_scale else 1.0) / w
        budget = float(w.sum()) if free_scale else np.inf
        penalised = l1 > 0 or problem.penalty.l2 > 0
        free = None if penalised else FreeColumns.of_problem(problem)
        return cls(problem, scale, problem.penalty.l2 * scale**2, (first, second), *stacked, soft, budget, free)

    @property
    def penalised(self) -> bool:
        return bool(self.problem.penalty.l1 > 0 or self.problem.penalty.l2 > 0)

    @property
    def free_scale(self) -> bool:
        return self.budget < np.inf

    @property
    def coupled(self) -> bool:
        """Whether the primal constraints hold dual variables, or the other way round."""
        return bool(self.ridge.any() or self.soft.any())

    def softness(self, point: Point) -> Array:
        """What θ is multiplied by in r = u − v + e."""
        return self.soft * point.scale[0] if self.free_scale else self.soft

    @property
    def count(self) -> int:
        """How many checks belong to rows."""
        return len(self.target) - (len(self.scale) if self.problem.penalty.l1 > 0 else 0)

    def by_row(self, values: Array) -> Array:
        """Sum over the checks of each row."""
        result: Array = values[: self.count].reshape(-1, len(self.problem.y)).sum(axis=0)
        return result

    def by_column(self, values: Array) -> Array:
        """The values of the checks of l1|β|, zero without them."""
        return values[self.count :] if self.problem.penalty.l1 > 0 else np.zeros(len(self.scale))

    def spread(self, raw: Array, x: Array) -> Array:
        """Values per row and per column, as values per check."""
        rows = np.tile(raw, self.count // len(raw))
        return np.concatenate([rows, x]) if self.problem.penalty.l1 > 0 else rows

    def start(self, coef: Array) -> Point:
        """The best intercept for ``coef``, and a dual point: θ = 0 where that is inside the bounds, else midway."""
        raw, x = self.problem.raw(coef, 0.0), coef / self.scale
        b = self._best_intercept(raw) if self.problem.fit_intercept else 0.0
        r = self.target - self.spread(raw + b, x)
        width = self.high - self.low
        inside = (self.low < 0) & (self.high > 0)
        q = np.where(inside, -self.low, 0.5 * width)
        # far from the kinks if the dual point is infeasible: feasibility must not be the last thing to be reached
        size = (0.1 if inside.all() else 100.0) * (float(np.abs(r).mean()) or 1.0)
        away = size * float(width[: self.count].mean()) / width
        scale = np.full(int(self.free_scale), float(np.abs(r).mean()) or 1.0)
        room = np.full(int(self.free_scale), self.budget)
        return Point(x, b, np.maximum(r, 0.0) + away, np.maximum(-r, 0.0) + away, scale, width - q, q, room)

    def _best_intercept(self, raw: Array) -> float:
        """The minimiser over b for given raw predictions: the slope rises by high − low at every kink.

        Where a whole interval costs nothing, its middle: at an end, what rounding does to b would be the loss.
        """
        rows = slice(self.count)
        kink = self.target[rows] - np.tile(raw, self.count // len(raw))
        order = np.argsort(kink)
        rise = np.cumsum((self.high - self.low)[rows][order])
        goal, slack = self.high[rows].sum(), 1e-12 * rise[-1]
        ends = np.searchsorted(rise, goal - slack, side="left"), np.searchsorted(rise, goal + slack, side="right")
        low, high = (kink[order[min(int(end), len(order) - 1)]] for end in ends)
        r = kink - (0.5 * low + 0.5 * high)
        free = not np.maximum(self.high[rows] * r, self.low[rows] * r).any()
        return float(0.5 * low + 0.5 * high if free else kink[order[min(np.searchsorted(rise, goal), len(order) - 1)]])

    def theta(self, point: Point) -> Array:
        """The dual variables, from the nearer bound: there the other one has lost its digits."""
        return np.where(point.q < point.p, self.low + point.q, self.high - point.p)

    def with_zeros(self, point: Point) -> Array:
        """β with exact zeros.

        At the optimum a coefficient or the slack of its bounds is zero. Which of the two it is shows by their sizes, in
        units of the largest coefficient or of the mean residual (the columns of X · scale are of size one).
        """
        coef = self.scale * point.x
        if self.problem.penalty.l1 > 0:
            of_columns = slice(self.count, None)
            slack = np.minimum(point.p, point.q)[of_columns] / (point.p + point.q)[of_columns]
            size = max(float(np.abs(point.x).max(initial=0.0)), float((point.u + point.v)[: self.count].mean()))
            coef[np.abs(point.x) < slack * size] = 0.0
        return coef

    def feasible(self, point: Point, system: System) -> Array:
        """A θ per row near the iterate's, in its box, balanced for an intercept, orthogonal to X if unpenalised."""
        theta = self.theta(point)
        rows = self.by_row(theta)
        pull = self.by_column(theta) - self.ridge * point.x
        rows = system.solve(np.zeros(len(rows)), rows, pull, 0.0)[2]
        low, high = self.by_row(self.low), self.by_row(self.high)
        if not self.penalised:
            slack = 1e-14 * (high - low)
            outside = (rows > high + slack) | (rows < low - slack)
            room = np.where(rows > 0, high, low)[outside] / rows[outside]
            return np.clip(float(room.min(initial=1.0)) * rows, low, high)
        rows = np.clip(rows, low, high)
        up, down = float(rows[rows > 0].sum()), float(-rows[rows < 0].sum())
        if self.problem.fit_intercept and up != down:
            rows = np.where((rows > 0) == (up > down), rows * (min(up, down) / max(up, down)), rows)
        return rows

    def values(self, coef: Array, intercept: float, theta: Array) -> Values:
        """Primal and dual objective in one pass over X, the dual one at the feasible multiple of θ."""
        problem, penalty = self.problem, self.problem.penalty
        residual = np.empty(len(theta))

        def pointwise(start: int, stop: int, raw: Array) -> tuple[float, Array, None]:
            residual[start:stop] = problem.y[start:stop] - raw
            return problem.pointwise(start, stop, raw)[0], theta[start:stop], None

        found = problem.design.sweep(coef, intercept, pointwise)
        shrink = penalty.feasible_scale(found.gradient) if self.penalised else 1.0
        energy = 0.5 * float(self.soft[: len(theta)] @ theta**2) if self.soft.any() else 0.0
        if energy > self.budget:
            shrink = min(shrink, (self.budget / energy) ** 0.5)
        theta, gradient = shrink * theta, shrink * found.gradient
        lost = self._lost(theta, gradient, length_of(problem, problem.y - residual, problem.weights))
        reward = float(self.kinks[0] @ np.maximum(theta, 0.0) + self.kinks[1] @ np.minimum(theta, 0.0))
        if not self.free_scale:
            dual = problem.offset + reward - lost - shrink**2 * energy
            return Values(problem.primal_value(found.value, coef), dual, theta)
        scale = best_scale(problem, residual)
        return Values(joint_value(problem, coef, residual, scale), reward - lost, theta, scale)

    def _lost(self, theta: Array, gradient: Array, length: float) -> float:
        """Ω*(Xᵀθ); of free coefficients, and of the intercept, what rounding leaves of their constraints may hide."""
        problem = self.problem
        if self.penalised:
            excess = abs(float(theta.sum())) * float(problem.fit_intercept)
            return problem.penalty.conjugate(gradient) + REACH * excess * length / float(np.sqrt(problem.weights.sum()))
        return np.inf if self.free is None else self.free.charge(problem, theta, gradient, length)


@dataclass(frozen=True)
class Values:
    """The primal objective, the dual objective, the feasible θ per row that attains it, and the best scale if free."""

    primal: float
    dual: float
    theta: Array
    scale: float = 0.0


def _kinks(problem: Problem, left: Array, right: Array) -> tuple[Array, Array]:
    """Where each row's loss leaves zero, to the left and to the right: there ℓ*(y, slope) = kink · slope."""
    y = problem.y
    if problem.loss.flat:
        return y, y
    found = []
    for slope in (left, right):
        kink = np.divide(problem.loss.conjugate(y, slope), slope, out=np.full(len(y), np.nan), where=slope != 0)
        found.append(np.where(np.abs(kink - y) <= ROUNDING * np.abs(y), y, kink))  # undo the rounding of the division
    return np.where(left == 0, found[1], found[0]), np.where(right == 0, found[0], found[1])
