"""The one loop that runs every iterative solver: tolerance, budget, callbacks, history, Ctrl-C.

A solver says what one iteration is (``init``, ``step``) and how to prove the answer (``gap``). It declares what it
needs from the loss and the penalty as data, and a mismatch becomes a sentence that names the missing piece.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Status
from corollary.core.parallel import one_blas_thread
from corollary.core.problem import Problem, relative_gap
from corollary.core.types import Array

# called after each iteration with its record and a way to read the answer so far; True stops the fit
Observer = Callable[[dict[str, float], Callable[[], Any]], bool]


PATIENCE = 15  # iterations without any progress after which there will be none


@dataclass
class State:
    """Where a solver is. ``gap`` and ``objective`` belong to ``coef`` and ``intercept``."""

    coef: Array
    intercept: Any
    objective: float = np.inf
    dual: float = -np.inf
    stalled: bool = False
    memory: dict[str, Any] = field(default_factory=dict)  # the solver's own


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

    def check(self, problem: Problem) -> None:
        """Raise ValueError, with a sentence, if this solver cannot handle the problem's loss or penalty."""
        for need in self.needs:
            part = problem.loss if need.of == "loss" else problem.penalty
            if bool(getattr(part, need.attribute)) is not need.wanted:
                raise ValueError(f"{self.name} cannot use the {part.name} {need.of}: {need.sentence}.")

    def null_objective(self, problem: Problem) -> float:
        """The yardstick for relative gaps when the objective itself is nearly zero."""
        return problem.null_objective()

    def trivial_dual(self, problem: Problem) -> float:
        """The dual value of θ = 0, which is always feasible: exact fits are proved by it."""
        zero = np.zeros((len(problem.y), *problem.coef_shape[1:]))
        return problem.offset - problem.conjugate_sum(zero) if problem.penalty.convex else -np.inf

    def certificate_name(self, problem: Problem) -> str:
        """What is proved: a duality gap, or for penalties that are not convex only a local optimum."""
        return (
            "relative duality gap" if problem.penalty.convex else "relative gain of another pass over all coordinates"
        )

    def successor(self, problem: Problem) -> Solver | None:
        """Who goes on from the best point when this solver can make no more progress, if anyone can.

        A loss whose straight parts hold most rows is nearly a linear program: the interior point solves it.
        """
        from corollary.solvers.linear.interior_point.solver import InteriorPoint

        return InteriorPoint() if InteriorPoint().suits(problem) else None

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
    """Run ``solver`` until the relative duality gap is at most ``tol``, or ``max_iter``, or someone says stop."""
    solver.check(problem)
    with one_blas_thread():  # the threads are ours, over blocks; BLAS threads would wait for them in busy loops
        return _loop(solver, problem, tol, max_iter, start, observe)


def _loop(
    solver: Solver, problem: Problem, tol: float, max_iter: int, start: State | None, observe: Observer | None
) -> Solution:
    log = Log()
    null, floor = solver.null_objective(problem), solver.trivial_dual(problem)
    if start is None:
        start = State(np.zeros(problem.coef_shape), problem.null_intercept())
    status, iteration, hands = Status.MAX_ITER, 0, [solver]
    state = solver.init(problem, start)
    _check_finite(state)
    best, best_gap, progress = state, np.inf, _Progress()
    try:
        while True:
            gap = relative_gap(state.objective, max(state.dual, floor), null)
            progress.note(gap, state.objective)
            if gap <= best_gap or state.objective < best.objective:
                best, best_gap = state, gap
            record = log.add(iteration, state.objective, gap)
            if gap <= tol:
                status = Status.CONVERGED
                break
            if state.stalled or progress.idle > PATIENCE:
                successor = solver.successor(problem)
                if successor is None:
                    status = Status.STALLED
                    break
                solver, floor, progress = successor, max(floor, best.dual), _Progress()
                state = solver.init(problem, best)
                hands.append(solver)
            if observe is not None and observe(record, snapshot(best)):
                status = Status.BUDGET
                break
            if iteration == max_iter:
                break
            state = solver.step(problem, state, tol)
            _check_finite(state)
            iteration += 1
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    evidence = Evidence(
        status=status,
        certificate=Certificate(solver.certificate_name(problem), float(best_gap), tol),
        solver=", then ".join(hand.name for hand in hands),
        n_iter=iteration,
        seconds=log.seconds,
        history=log.history,
        facts={"objective": float(best.objective), "dual objective": float(max(best.dual, floor))},
    )
    return Solution(best.coef, best.intercept, evidence, best)


class Log:
    """The history of a fit, one record an iteration."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.history: dict[str, list[float]] = {"iteration": [], "objective": [], "gap": [], "seconds": []}

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def add(self, iteration: int, objective: float, gap: float) -> dict[str, float]:
        """Keep and return the record of this iteration."""
        values = (float(iteration), float(objective), float(gap), self.seconds)
        for entries, value in zip(self.history.values(), values, strict=True):
            entries.append(value)
        return dict(zip(self.history, values, strict=True))


def snapshot(state: State) -> Callable[[], State]:
    """A way to read this state, for an observer."""
    return lambda: state


class _Progress:
    """Counts the iterations since the gap or the objective last fell."""

    def __init__(self) -> None:
        self.gap, self.objective, self.idle = np.inf, np.inf, 0

    def note(self, gap: float, objective: float) -> None:
        moved = gap < 0.99 * self.gap or objective < self.objective - 1e-13 * abs(self.objective)
        self.idle = 0 if moved else self.idle + 1
        self.gap, self.objective = min(gap, self.gap), min(objective, self.objective)


def _check_finite(state: State) -> None:
    if not (np.isfinite(state.objective) and np.isfinite(state.coef).all()):
        raise overflow()


def overflow() -> ValueError:
    """What to say when numbers leave the range of float64."""
    return ValueError(
        "The objective is not finite: squares of the data overflow float64. Rescale the columns of X, or y, to "
        "magnitudes below 1e100 (StandardScaler does)."
    )
