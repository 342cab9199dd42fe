"""Primal–dual interior point for losses of straight pieces (absolute, quantile, ε-insensitive, hinge, Huber's).

The loss and l1‖β‖₁ are a sum of check functions max(low·r, high·r) of r = target − A x, where x = (β, b), the rows of A
are those of (X, 1) and of the identity (see ``checks``), R holds l2 on β and zero on b, and S the softness of Huber's:

    primal  min   Σ high·u − low·v + ½ xᵀR x + ½ θᵀS θ   subject to  A x + u − v + S θ = target,  u, v ≥ 0
    dual    max   targetᵀθ − ½ xᵀR x − ½ θᵀS θ           subject to  Aᵀθ = R x,  low ≤ θ ≤ high
    KKT     both constraints,  u p = μ,  v q = μ,  where p = high − θ, q = θ − low, and μ falls to 0.

Newton's step towards products u p + δᵤ, v q + δᵥ eliminates du, dv and dθ = W(ρ − A dx) with W = 1 / (S + u/p + v/q):

    (AᵀW A + R) dx = AᵀW ρ − (R x − Aᵀθ),       ρ = (target − A x − u + v − S θ) − δᵤ/p + δᵥ/q.

A free scale σ makes this σ S, and adds ½ θᵀS θ + room = budget and σ · room = μ: a border of one row (see ``_Newton``).
The matrix is the weighted Gram matrix of X plus a diagonal (see ``kkt``). Steps are Mehrotra's predictor and corrector,
followed by Gondzio's centrality corrections, which lengthen the step for the price of a few passes over X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from corollary.core.problem import LEAST, Problem
from corollary.core.types import Array
from corollary.solvers.linear.driver import Need, Solver, State
from corollary.solvers.linear.interior_point.check_functions import Checks, Point
from corollary.solvers.linear.interior_point.kkt import fits, newton_system
from corollary.solvers.linear.smooth.huber_scale import joint_rounding, joint_value, null_value

PATIENCE = 12  # iterations without progress after which more would not help in float64
CENTRED = 1e-3  # no product u p, v q may fall below this part of their mean
LONGER = 0.3  # centrality corrections aim at steps longer by this much
BACK = 0.9995  # how much of the way to the boundary a step goes


def finisher(problem: Problem) -> Solver | None:
    """The interior point, where it can go on after a solver that stalled.

    A loss whose straight parts hold most rows is nearly a linear program: there the others run out of curvature.
    """
    return InteriorPoint() if InteriorPoint().suits(problem) else None


class InteriorPoint(Solver):
    """Mehrotra's predictor–corrector method.

    With ``free_scale`` it solves Huber's joint problem in the coefficients and the scale (see ``huber_scale``), also
    where the best scale is zero, which makes it least absolute deviations.

    Cost: per iteration one weighted Gram matrix (n d² time, d² memory; n² d and n² if d > n and β is penalised) and a
    dozen passes over X; 10 to 40 iterations, whatever the tolerance.

    >>> import numpy as np
    >>> from corollary.core.design import as_design
    >>> from corollary.core.loss import Absolute
    >>> from corollary.core.penalty import NoPenalty
    >>> from corollary.solvers.linear.driver import solve
    >>> X, y = np.arange(5.0)[:, None], np.array([1.0, 3.0, 5.0, 7.0, 100.0])
    >>> problem = Problem(as_design(X), y, np.ones(5), Absolute(), NoPenalty())
    >>> solution = solve(InteriorPoint(), problem, tol=1e-9, max_iter=50)
    >>> solution.coef.round(6), round(solution.intercept, 6), solution.evidence.holds
    (array([2.]), 1.0, True)
    """

    name = "interior point"
    needs = (
        Need("loss", "straight", True, "it solves losses made of straight pieces; use another solver"),
        Need("penalty", "separable", True, "it needs l1‖β‖₁ + ½ l2‖β‖²; use none, l1, l2 or elastic net"),
        Need("penalty", "elastic", True, "β must be free in sign"),
    )

    def __init__(self, *, free_scale: bool = False) -> None:
        self.free_scale = free_scale

    def afresh(self) -> Solver:
        return InteriorPoint(free_scale=self.free_scale)

    def objective(self, problem: Problem, coef: Array, raw: Array, memory: dict[str, Any]) -> float:
        if not self.free_scale:
            return super().objective(problem, coef, raw, memory)
        return joint_value(problem, coef, problem.y - raw, memory["scale"])

    def null_objective(self, problem: Problem) -> float:
        return null_value(problem) if self.free_scale else super().null_objective(problem)

    def rounding(self, problem: Problem) -> float:
        return joint_rounding(problem) if self.free_scale else super().rounding(problem)

    def suits(self, problem: Problem) -> bool:
        """Whether it can solve the problem."""
        return problem.loss.straight and problem.penalty.elastic and fits(problem)

    def init(self, problem: Problem, start: State) -> State:
        checks = Checks.of(problem, free_scale=self.free_scale)
        coef = np.array(start.coef, dtype=np.float64)
        point = checks.start(coef)
        # θ = 0 is always feasible: no loss is negative
        found = checks.values(coef, point.b, np.zeros(len(checks.problem.y)))
        memory = {
            "checks": checks,
            "point": point,
            "theta": found.theta,
            "scale": found.scale,
            "ill": not checks.penalised and (checks.free is None or checks.free.coarse),
            "waited": 0,
            "gap": found.primal - found.dual,
            "floor": LEAST * self.yardstick(problem),  # as relative_gap has it
        }
        return State(coef, point.b, found.primal, found.dual, memory=memory)

    def step(self, problem: Problem, state: State, tol: float) -> State:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # seen below as a value that is not finite
            return self._step(state, tol)

    def _step(self, state: State, tol: float) -> State:
        memory = state.memory
        checks: Checks = memory["checks"]
        if not memory["point"].mu > 0:  # every product is zero: there is nowhere to go
            return replace(state, stalled=True)
        newton = _Newton(checks, memory["point"])
        point = newton.advance(0.1 * tol * max(abs(state.objective), memory["floor"]))
        coef = checks.scale * point.x
        found = checks.values(coef, point.b, checks.feasible(point, newton.system))
        if not np.isfinite(found.primal):
            return replace(state, stalled=True)
        dual, theta = (found.dual, found.theta) if found.dual > state.dual else (state.dual, memory["theta"])
        gap = found.primal - dual
        progress = gap < 0.9 * memory["gap"] or point.mu < 0.95 * newton.point.mu
        waited = 0 if progress else memory["waited"] + 1
        enough = tol * max(abs(found.primal), memory["floor"])
        if checks.problem.penalty.l1 > 0 and (gap <= enough or waited >= PATIENCE):
            sparser = checks.with_zeros(point)
            polished = checks.values(sparser, point.b, theta)
            if polished.primal - dual <= max(gap, enough):  # so that the gap is that of these coefficients
                coef, found = sparser, polished
        memory = memory | {"point": point, "theta": theta, "waited": waited, "gap": min(gap, memory["gap"])}
        return State(coef, point.b, found.primal, dual, waited >= PATIENCE, memory | {"scale": found.scale})


class _Newton:
    """Newton's equations at one iterate."""

    def __init__(self, checks: Checks, point: Point) -> None:
        self.checks, self.point = checks, point
        soft = checks.softness(point)
        self.weights = 1.0 / (soft + point.u / point.p + point.v / point.q)
        self.row_weights = checks.by_row(self.weights)
        diagonal = checks.ridge + checks.by_column(self.weights)
        self.system = newton_system(checks.problem, checks.scale, self.row_weights, diagonal)
        theta = checks.theta(point)
        by_row, raw = checks.by_row(theta), np.empty(len(self.row_weights))

        def pointwise(start: int, stop: int, moved: Array) -> tuple[float, Array, None]:
            raw[start:stop] = moved
            return 0.0, by_row[start:stop], None

        found = checks.problem.design.sweep(checks.scale * point.x, point.b, pointwise)
        self.primal_residual = checks.target - checks.spread(raw, point.x) - point.u + point.v - soft * theta
        self.dual_residual = checks.ridge * point.x - checks.scale * found.gradient - checks.by_column(theta)
        self.imbalance = -float(found.gradient_sum)
        if checks.free_scale:
            self.pull = checks.soft * theta
            self.budget_residual = checks.budget - point.room - 0.5 * float(self.pull @ theta)
            self.per_scale = self._eliminate(self.pull, np.zeros(len(point.x)), 0.0)

    def _eliminate(self, rho: Array, pull: Array, total: float) -> tuple[Array, float, Array]:
        """dx, db and dθ."""
        checks, W = self.checks, self.weights
        mean = checks.by_row(W * rho) / self.row_weights
        dx, db, by_row = self.system.solve(mean, np.zeros(len(mean)), checks.by_column(W * rho) + pull, total)
        # W (ρ − A dx), written so that nothing cancels where W is large
        apart = rho - checks.spread(mean, dx)
        return dx, db, W * (apart + checks.spread(by_row / self.row_weights, np.zeros(len(dx))))

    def direction(self, changes: tuple[Array, Array, Array], share: float) -> Point:
        """The step that changes the products by so much, to first order, and takes off ``share`` of all residuals.

        A free scale: S θ · dθ − (room/σ) dσ = residual − δ/σ, where dθ and dx are linear in dσ.
        """
        z, (change_u, change_v, change_scale) = self.point, changes
        rho = share * self.primal_residual - change_u / z.p + change_v / z.q
        dx, db, dtheta = self._eliminate(rho, -share * self.dual_residual, share * self.imbalance)
        dscale = np.zeros(0)
        if self.checks.free_scale:
            wanted = share * self.budget_residual - change_scale / z.scale
            lean_x, lean_b, lean = self.per_scale
            dscale = (float(self.pull @ dtheta) - wanted) / (float(self.pull @ lean) + z.room / z.scale)
            dx, db, dtheta = dx - dscale[0] * lean_x, db - dscale[0] * lean_b, dtheta - dscale[0] * lean
        du, dv = (change_u + z.u * dtheta) / z.p, (change_v - z.v * dtheta) / z.q
        return Point(dx, float(db), du, dv, dscale, -dtheta, dtheta, (change_scale - z.room * dscale) / z.scale)

    def lengths(self, step: Point) -> tuple[float, float]:
        """How far u, v and p, q may go, at most 1; the same for both if R ties x to θ."""
        z = self.point
        primal = min(1.0, _reach(z.u, step.u), _reach(z.v, step.v), _reach(z.scale, step.scale))
        dual = min(1.0, _reach(z.p, step.p), _reach(z.q, step.q), _reach(z.room, step.room))
        return (min(primal, dual),) * 2 if self.checks.coupled else (primal, dual)

    def blend(self, step: Point, extra: Point, least: float) -> tuple[Point, float, float]:
        """step + share · extra for the share in [least, 1] that allows the longest step."""
        best = (step, 0.0, 0.0)
        for weight in (1.0, 0.75, 0.5, 0.25):
            share = least + weight * (1.0 - least)
            trial = step.plus(extra, share, share)
            a, c = self.lengths(trial)
            if min(a, c) > min(best[1:]):
                best = (trial, a, c)
            if min(a, c) > 0.95:
                break
        return best

    def advance(self, floor: float) -> Point:
        """The next iterate. Σ u p + v q is not driven below ``floor``: that would only cost digits."""
        z = self.point
        guess = self.direction(_each(z.products, lambda product: -product), 1.0)
        a, c = self.lengths(guess)
        mu = max(z.mu * (z.plus(guess, a, c).mu / z.mu) ** 3, floor / (2 * len(z.u)))
        extra = self.direction(_each(guess.products, lambda product: mu - product), 0.0)
        step, a, c = self.blend(guess, extra, a * c)
        for _ in range(2):
            if min(a, c) > 0.9:
                break
            ahead = z.plus(step, min(1.0, a + LONGER), min(1.0, c + LONGER))
            extra = self.direction(_each(ahead.products, lambda product: _correction(product, mu)), 0.0)
            trial, longer_a, longer_c = self.blend(step, extra, a * c)
            if min(longer_a, longer_c) <= min(a, c):
                break
            step, a, c = trial, longer_a, longer_c
        a, c = (BACK * a if a < 1 else 1.0), (BACK * c if c < 1 else 1.0)
        new, centred = z.plus(step, a, c), min(CENTRED, z.least / z.mu)
        for _ in range(12):
            if new.least >= centred * new.mu:
                break
            a, c = 0.8 * a, 0.8 * c
            new = z.plus(step, a, c)
        return new


def _each(products: tuple[Array, Array, Array], change: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
    u, v, scale = products
    return change(u), change(v), change(scale)


def _reach(value: Array, step: Array) -> float:
    """The largest t with value + t · step ≥ 0."""
    falling = step < 0
    return float((value[falling] / -step[falling]).min(initial=np.inf))


def _correction(product: Array, mu: float) -> Array:
    """What would bring the products into [0.1 μ, 10 μ]; large ones are only pulled by 10 μ."""
    change: Array = np.maximum(np.clip(product, 0.1 * mu, 10 * mu) - product, -10 * mu)
    return change
