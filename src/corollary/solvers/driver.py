"""The one loop that runs every iterative solver: tolerance, budget, callbacks, history, Ctrl-C.

A solver says what one iteration is (``init``, ``step``) and how to prove the answer (``gap``). It declares what it
needs from the loss and the penalty as data, and a mismatch becomes a sentence that names the missing piece.
"""

from __future__ import annotations

import functools
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

# called after each iteration with the history record and a way to read the current coefficients; True stops the fit
Observer = Callable[[dict[str, float], Callable[[], "State"]], bool]


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
    began = time.perf_counter()
    null, floor = solver.null_objective(problem), solver.trivial_dual(problem)
    if start is None:
        start = State(np.zeros(problem.coef_shape), problem.null_intercept())
    history: dict[str, list[float]] = {"iteration": [], "objective": [], "gap": [], "seconds": []}
    status, iteration = Status.MAX_ITER, 0
    state = solver.init(problem, start)
    _check_finite(state)
    best, best_gap, idle = state, np.inf, 0
    try:
        while True:
            gap = relative_gap(state.objective, max(state.dual, floor), null)
            moved = gap < 0.99 * best_gap or state.objective < best.objective - 1e-13 * abs(best.objective)
            idle = 0 if moved else idle + 1
            if gap <= best_gap or state.objective < best.objective:
                best, best_gap = state, gap
            values = (float(iteration), float(state.objective), float(gap), time.perf_counter() - began)
            record = dict(zip(history, values, strict=True))
            for name, value in record.items():
                history[name].append(value)
            if gap <= tol:
                status = Status.CONVERGED
                break
            if state.stalled or idle > PATIENCE:
                status = Status.STALLED
                break
            if observe is not None and observe(record, functools.partial(_same, best)):
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
        solver=solver.name,
        n_iter=iteration,
        seconds=time.perf_counter() - began,
        history=history,
        facts={"objective": float(best.objective), "dual objective": float(max(best.dual, floor))},
    )
    return Solution(best.coef, best.intercept, evidence, best)


def _same(state: State) -> State:
    return state


def _check_finite(state: State) -> None:
    if not (np.isfinite(state.objective) and np.isfinite(state.coef).all()):
        raise overflow()


def overflow() -> ValueError:
    """What to say when numbers leave the range of float64."""
    return ValueError(
        "The objective is not finite: squares of the data overflow float64. Rescale the columns of X, or y, to "
        "magnitudes below 1e100 (StandardScaler does)."
    )
