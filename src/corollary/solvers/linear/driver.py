"""What a linear solver is, and how the loop runs it on a problem.

A solver says what one iteration is (``init``, ``step``) and keeps the best dual value it knows, which bounds the
objective from below. It declares what it needs from the loss and the penalty as data, and a mismatch becomes a sentence
that names the missing piece.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from corollary.core.evidence import Evidence, Kind, Status, honest
from corollary.core.problem import FINEST, Problem, relative_gap
from corollary.core.types import Array
from corollary.solvers.linear.coordinates import Coordinates, fits_basis, in_basis, near_zero
from corollary.solvers.linear.separation import all_right, recession
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, overflow, run


@dataclass
class State:
    """Where a solver is: coefficients, their objective, and the best dual value known."""

    coef: Array
    intercept: Any
    objective: float = np.inf
    dual: float = -np.inf
    stalled: bool = False
    memory: dict[str, Any] = field(default_factory=dict)  # the solver's own
    where: Coordinates | None = None  # in which the coefficients are; None: the user's

    def given(self) -> State:
        """The same in the user's coordinates. Of the solver's memory only what has no coordinates stays."""
        if self.where is None:
            return self
        kept = {key: value for key, value in self.memory.items() if key in ("scale", "theta")}
        return replace(self, **_pair(self.where.back(self.coef, self.intercept)), memory=kept, where=None)

    def moved(self, where: Coordinates) -> State:
        """The same, of the user's coordinates, in others; the solver's memory is lost with the coordinates."""
        if where.here is where.given:
            return self
        kept = {key: value for key, value in self.memory.items() if key == "scale"}
        return State(**_pair(where.into(self.coef, self.intercept)), memory=kept)


def nearest(objective: float, *duals: float) -> float:
    """The best of several dual values: the one nearest to the objective, from below or from above.

    A dual point is feasible up to rounding only, and what that is worth is its own: one that is found early, at steep
    slopes, may come out above the optimum by far more than a later one. So the largest is not the best.
    """
    return min(duals, key=lambda dual: abs(objective - dual) if dual == dual else np.inf)


def _pair(found: tuple[Array, Any]) -> dict[str, Any]:
    return {"coef": found[0], "intercept": found[1]}


@dataclass(frozen=True)
class Need:
    """A capability that a solver asks of the loss or the penalty, and what to say when it is missing."""

    of: str  # "loss" or "penalty"
    attribute: str
    wanted: bool
    sentence: str


class Solver(ABC):
    """One algorithm."""

    name: ClassVar[str]
    needs: ClassVar[tuple[Need, ...]] = ()
    move: ClassVar[str] = "pass over all coordinates"  # what is tried again where there is no duality gap
    patience: ClassVar[int] = 15  # iterations without progress after which there will be none
    any_shape: ClassVar[bool] = False  # whether it also descends on losses that are not convex
    bounds_free: ClassVar[bool] = True  # whether it finds dual points where nothing is penalised

    def check(self, problem: Problem) -> None:
        """Raise ValueError, with a sentence, if this solver cannot handle the problem's loss or penalty."""
        if not (problem.loss.convex or self.any_shape):
            raise ValueError(f"{self.name} cannot use the {problem.loss.name} loss: it is not convex.")
        for need in self.needs:
            part = problem.loss if need.of == "loss" else problem.penalty
            if bool(getattr(part, need.attribute)) is not need.wanted:
                raise ValueError(f"{self.name} cannot use the {part.name} {need.of}: {need.sentence}.")

    def null_objective(self, problem: Problem) -> float:
        """The yardstick for relative gaps when the objective itself is nearly zero."""
        return problem.null_objective()

    def rounding(self, problem: Problem) -> float:
        """What the rounding of the targets may change in the objective: no gap is relative to less than that."""
        return problem.rounding()

    def yardstick(self, problem: Problem, given: Problem | None = None) -> float:
        """What ``relative_gap`` calls ``null``; ``given`` is the problem before its targets were moved."""
        return max(abs(self.null_objective(problem)), FINEST * self.rounding(given or problem))

    def objective(self, problem: Problem, coef: Array, raw: Array, memory: dict[str, Any]) -> float:
        """The objective of coefficients whose raw predictions are known."""
        return problem.primal_value(problem.loss_value(raw), coef)

    def afresh(self) -> Solver:
        """Another of the same kind, which has seen nothing."""
        return type(self)()

    def trivial_dual(self, problem: Problem) -> float:
        """The dual value of θ = 0, which is always feasible: it shows that an exact fit is optimal."""
        if not problem.has_dual:
            return -np.inf
        return problem.offset - problem.conjugate_of_zero() - problem.penalty.conjugate(np.zeros(problem.coef_shape))

    def certificate_name(self, problem: Problem) -> str:
        """What is shown: a duality gap, or where there is no dual problem only that no move of a kind helps."""
        return "relative duality gap" if problem.has_dual else f"relative gain of another {self.move}"

    def successor(self, problem: Problem) -> Solver | None:
        """Who goes on from the best point when this solver can make no more progress, if anyone can."""
        return None

    @abstractmethod
    def init(self, problem: Problem, start: State) -> State:
        """The state at a starting point, with its objective and dual value (``start.memory`` may be another's)."""

    @abstractmethod
    def step(self, problem: Problem, state: State, tol: float) -> State:
        """One iteration: a new state with its objective and the best dual value known."""


@dataclass(frozen=True)
class Solution:
    """Coefficients and the evidence for them."""

    coef: Array
    intercept: Any
    evidence: Evidence
    state: State


def solve(
    solver: Solver,
    problem: Problem,
    *,
    tol: float,
    max_iter: int,
    start: State | None = None,
    observe: Observer | None = None,
) -> Solution:
    """Run ``solver`` until the relative duality gap is at most ``tol``, ``max_iter``, or until a callback stops it."""
    solver.check(problem)
    problem.loss.check_convex(problem.y)
    where = near_zero(problem)
    begin = State(np.zeros(problem.coef_shape), problem.null_intercept()) if start is None else start.moved(where)
    yardstick = solver.yardstick(where.here, problem), where.here.terms()
    found = run(
        _Descent(solver, where, begin, tol, yardstick, solver.trivial_dual(where.here)), Rules(max_iter, tol, observe)
    )
    best, facts = found.state, {}
    if problem.has_dual:
        facts["dual objective"] = float(best.dual)
    notes: tuple[str, ...] = ()
    if found.status is Status.STALLED and not type(problem.loss).__module__.startswith("corollary."):
        notes = (
            "A wrong derivative stalls a fit too: check the loss against differences ('How to add a loss', step 4).",
        )
    evidence = found.evidence(facts=facts, notes=notes)
    evidence = replace(evidence, status=honest(evidence.status, evidence.certificate))
    return Solution(best.coef, best.intercept, _unbounded(problem, best, evidence), best)


def _unbounded(problem: Problem, best: State, evidence: Evidence) -> Evidence:
    """The evidence, with the status SEPARABLE where nothing is penalised and the loss falls for ever.

    It does along the coefficients themselves if they have every row with weight on the right side, else perhaps in
    another direction, which is named. A fit that was cut short keeps its status.
    """
    if evidence.status.cut_short or not (problem.loss.unattained and problem.penalty.absent):
        return evidence
    away = recession(problem, problem.raw(best.coef, best.intercept))
    if away is None and not all_right(problem, best.coef, best.intercept):
        return evidence
    notes = evidence.notes if away is None else (*evidence.notes, away.note)
    return replace(evidence, status=Status.SEPARABLE, notes=notes)


class _Descent(Algorithm[State]):
    """A solver on a problem in some coordinates, for the loop.

    ``yardstick`` is what gaps are measured by (see ``relative_gap``), ``floor`` a dual value that is known already.
    """

    def __init__(
        self, solver: Solver, where: Coordinates, start: State, tol: float, yardstick: tuple[float, float], floor: float
    ) -> None:
        self.solver, self.where, self.problem, self.start = solver, where, where.here, start
        problem = where.here
        self.tol, self.yardstick, self.floor = tol, yardstick, floor
        self.name, self.certificate_name = solver.name, solver.certificate_name(problem)
        self.patience = solver.patience
        self.kind = Kind.OPTIMAL if problem.has_dual else Kind.STATIONARY
        free = problem.has_dual and problem.penalty.absent and problem.penalty.elastic and solver.bounds_free
        self.may_change = free and where.basis is None and fits_basis(problem)

    def init(self) -> State:
        state = self._checked(self.solver.init(self.problem, self.start))
        self.name = self.solver.name  # some are named after what they find in the problem
        return state

    def step(self, state: State) -> State:
        return self._checked(self.solver.step(self.problem, state, self.tol))

    def _checked(self, state: State) -> State:
        if not (np.isfinite(state.objective) and np.isfinite(state.coef).all()):
            raise overflow()
        # a bound on some directions only is none
        state.dual = nearest(state.objective, state.dual, self.floor) if self.where.whole else self.floor
        state.where = None if self.where.here is self.where.given else self.where
        return state

    def measure(self, state: State) -> Measure:
        gap = relative_gap(state.objective, state.dual, *self.yardstick)
        ill = self.may_change and state.memory.get("ill", False)
        return Measure(state.objective, gap, stalled=state.stalled or ill)

    def better(self, new: Measure, old: Measure) -> bool:
        assert new.residual is not None
        assert old.residual is not None
        return new.residual <= old.residual or new.objective < old.objective

    def snapshot(self, state: State) -> State:
        return state.given()

    def finish(self, state: State, measure: Measure) -> tuple[State, Measure]:
        """What is delivered, with its own objective: rounding on the way back may have made it worse."""
        if state.where is None:
            return state, measure
        given = state.given()
        raw = state.where.raw(given.coef, given.intercept)
        given.objective = self.solver.objective(self.problem, given.coef, raw, state.memory)
        gap = relative_gap(given.objective, given.dual, *self.yardstick)
        return given, replace(measure, objective=given.objective, residual=gap)

    def successor(self, state: State) -> _Descent | None:
        """Another solver; where nothing is penalised and columns are nearly collinear, the same one in a basis."""
        solver, where, start = self.solver.successor(self.problem), self.where, state
        if self.may_change and (solver is None or state.memory.get("ill", False)):
            where = in_basis(self.where)
            solver, start = self.solver.afresh(), state.given().moved(where)
        if solver is None:
            return None
        # without a penalty a dual value speaks of what is within reach of the predictions it was found at
        floor = self.floor if self.problem.penalty.absent else nearest(state.objective, self.floor, state.dual)
        return _Descent(solver, where, start, self.tol, self.yardstick, floor)
