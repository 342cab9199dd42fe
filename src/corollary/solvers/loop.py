"""The one loop that runs every iterative method of the library.

An :class:`Algorithm` says how it starts (``init``), what one iteration is (``step``) and what is known of a state
(``measure``: the objective, and how far the state is from what is asked). Everything else is decided here, once, for
all of them: tolerance, ``max_iter``, budgets, callbacks, the history, the best state, stalls, handing over to another
algorithm, restarts and Ctrl-C.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status, honest
from corollary.core.parallel import one_blas_thread, stop_if_ended

S = TypeVar("S")


@dataclass(frozen=True)
class BackTo:
    """What an observer answers to stop a fit and keep what there was after this iteration, if the algorithm can."""

    iteration: int
    who: str


# called after each iteration with its record and a way to read the best answer so far; true stops the fit
Observer = Callable[[dict[str, float], Callable[[], Any]], bool | BackTo]


@dataclass(frozen=True)
class Measure:
    """What is known of a state.

    ``objective`` is what the algorithm lowers. ``residual`` is the value of the certificate: the loop ends when it is
    at most the tolerance; None for an algorithm that does not run to a tolerance. ``done`` says that no further step
    is wanted (all trees are grown, no label changed), ``stalled`` that none can help. ``more`` are further columns of
    the history.
    """

    objective: float
    residual: float | None = None
    done: bool = False
    stalled: bool = False
    more: Mapping[str, float] = field(default_factory=dict)


class Algorithm(ABC, Generic[S]):
    """One iterative method, on data and from a start that the instance holds. States may be changed in place."""

    name: str
    kind: Kind = Kind.STATIONARY
    begun: int = 0  # iterations of an earlier fit that this one goes on from
    certificate_name: str = ""
    patience: int | None = None  # iterations without progress after which there will be none; None: no limit
    foreign: bool = False  # whether steps run other people's code, which may want its BLAS threads

    @abstractmethod
    def init(self) -> S:
        """The state to start from."""

    @abstractmethod
    def step(self, state: S) -> S | None:
        """The state after one more iteration; None if there was nothing left to do, which ends the run."""

    @abstractmethod
    def measure(self, state: S) -> Measure | None:
        """What is known of a state; None before the first step if only a step can tell."""

    def better(self, new: Measure, old: Measure) -> bool:
        """Whether the newer of two states is the one to keep. An algorithm that never loses ground keeps the newest."""
        return True

    def snapshot(self, state: S) -> Any:
        """What callbacks see of a state; they may keep it."""
        return state

    def settle(self, state: S) -> S:
        """A whole state, after Ctrl-C may have broken off a step that changes its state in place."""
        return state

    def rewind(self, iteration: int) -> S | None:
        """The state after an earlier iteration, or None for an algorithm that cannot go back."""
        return None

    def successor(self, state: S) -> Algorithm[S] | None:
        """Who goes on from the best state when this algorithm can make no more progress."""
        return None

    def finish(self, state: S, measure: Measure) -> tuple[S, Measure]:
        """The state that is kept, however the run ended, with what is too costly to work out after every step."""
        return state, measure

    def certify(self, measure: Measure, tol: float) -> Certificate:
        """What is claimed of the state that is kept."""
        value = np.inf if measure.residual is None else measure.residual
        return Certificate(self.kind, self.certificate_name, float(value), tol)


@dataclass(frozen=True)
class Rules:
    """When to stop. ``seconds`` of wall clock are counted from the start of the first of several runs."""

    max_iter: int
    tol: float = 0.0
    observe: Observer | None = None
    seconds: float = np.inf


@dataclass(frozen=True)
class Run(Generic[S]):
    """How it went: the state that is kept, what is known of it, and what happened on the way."""

    state: S
    measure: Measure
    status: Status
    certificate: Certificate
    solver: str
    n_iter: int
    seconds: float
    history: dict[str, list[float]]
    notes: tuple[str, ...] = ()
    ends: tuple[float, ...] = ()  # the objective at the end of each of several starts

    @property
    def stopped(self) -> bool:
        """Whether a callback or Ctrl-C ended it: whoever runs several must not begin another."""
        return self.status.cut_short

    def uninterrupted(self) -> Run[S]:
        """This run, where it is one step of something larger: Ctrl-C ends that too."""
        if self.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return self

    def evidence(self, *, facts: Mapping[str, float] | None = None, notes: tuple[str, ...] = ()) -> Evidence:
        """The evidence of this run, with what else was measured."""
        return Evidence(
            status=self.status,
            certificate=self.certificate,
            solver=self.solver,
            n_iter=self.n_iter,
            seconds=self.seconds,
            history=self.history,
            facts={"objective": float(self.measure.objective), **(facts or {})},
            notes=self.notes + notes,
        )


def run(algorithm: Algorithm[S], rules: Rules, began: float | None = None) -> Run[S]:
    """Step until the residual is at most ``rules.tol``, the algorithm is done, or a callback stops it."""
    # the threads are ours, over blocks; BLAS threads would wait for them in busy loops
    with nullcontext() if algorithm.foreign else one_blas_thread():
        return _Loop(algorithm, rules, began).run()


class _Loop(Generic[S]):
    def __init__(self, algorithm: Algorithm[S], rules: Rules, began: float | None) -> None:
        self.hands, self.rules = [algorithm], rules
        self.began = time.perf_counter() if began is None else began
        self.history: dict[str, list[float]] = {}
        self.kept: tuple[S, Measure] | None = None
        self.iteration, self.told, self.progress = 0, 0, _Progress()
        self.notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def run(self) -> Run[S]:
        try:
            status = self._iterate()
        except KeyboardInterrupt:
            if self.kept is None:
                raise
            status = Status.INTERRUPTED
            self.kept = self.hands[-1].settle(self.kept[0]), self.kept[1]
        assert self.kept is not None
        state, measure = self.hands[-1].finish(*self.kept)
        certificate = self.hands[-1].certify(measure, self.rules.tol)
        if measure is not self.kept[1] and measure.residual is not None and status is Status.MAX_ITER:
            status = Status.CONVERGED if measure.residual <= self.rules.tol else status  # known at the end only
        if status is Status.BUDGET and self.iteration == 0:
            self.notes = ("Nothing was fitted: the budget was spent before the first iteration.",)
        return Run(
            state=state,
            measure=measure,
            status=status if certificate.value == np.inf else honest(status, certificate),  # not known is not failed
            certificate=certificate,
            solver=", then ".join(hand.name for hand in self.hands),
            n_iter=self.iteration,
            seconds=self.seconds,
            history=self.history,
            notes=self.notes,
        )

    def _iterate(self) -> Status:
        rules, algorithm = self.rules, self.hands[-1]
        self.iteration = self.told = algorithm.begun
        state = algorithm.init()
        while True:
            stop_if_ended()
            measure = algorithm.measure(state)
            if measure is not None:
                record = self._note(algorithm, state, measure)
                if measure.done or (measure.residual is not None and measure.residual <= rules.tol):
                    self._tell_last(record)
                    return Status.CONVERGED
                if measure.stalled or self.progress.none_for(algorithm.patience):
                    assert self.kept is not None
                    successor = algorithm.successor(self.kept[0])
                    if successor is None:
                        return Status.STALLED
                    algorithm, self.progress = successor, _Progress()
                    self.hands.append(algorithm)
                    state = algorithm.init()
                if asked := self._asked_to_stop(record):
                    return Status.CONVERGED if isinstance(asked, BackTo) and self._went(asked) else Status.BUDGET
            if self.iteration >= rules.max_iter:
                if self.kept is None and measure is None:
                    raise ValueError("max_iter is 0, but nothing is known before the first iteration.")
                return Status.MAX_ITER
            following = algorithm.step(state)
            if following is None:
                return Status.CONVERGED
            state = following
            self.iteration += 1

    def _note(self, algorithm: Algorithm[S], state: S, measure: Measure) -> dict[str, float]:
        """Keep the record and, if it is the best so far, the state."""
        self.progress.note(measure)
        if self.kept is None or algorithm.better(measure, self.kept[1]):
            self.kept = state, measure
        record = {"iteration": float(self.iteration), "objective": float(measure.objective)}
        if measure.residual is not None:
            record["certificate"] = float(measure.residual)
        record |= {name: float(value) for name, value in measure.more.items()}
        record["seconds"] = self.seconds
        for name, value in record.items():
            self.history.setdefault(name, []).append(value)
        return record

    def _went(self, back: BackTo) -> bool:
        """Keep the state of an earlier iteration, if the algorithm can go back: a choice, and no lack of time."""
        state = self.hands[-1].rewind(back.iteration)
        if state is None:
            return False
        row = self.history["iteration"].index(back.iteration)
        self.kept = state, Measure(self.history["objective"][row])
        self.notes = (f"Stopped by {back.who} and kept as it was at its best score, after iteration {back.iteration}.",)
        return True

    def _tell_last(self, record: dict[str, float]) -> None:
        """The last step is told to those who were not told of the start, and to callbacks, who wait for its end."""
        last = getattr(self.rules.observe, "last", None)  # of the callbacks of an estimator; a plain function has none
        if self.told < self.iteration:
            self._asked_to_stop(record)
        elif last is not None and self.iteration > 0:
            assert self.kept is not None
            (best, _), algorithm = self.kept, self.hands[-1]
            last(record, lambda: algorithm.snapshot(best))

    def _asked_to_stop(self, record: dict[str, float]) -> bool | BackTo:
        """Callbacks are asked as often as there are iterations, and not after the last if the start was told too."""
        self.told += 1
        if self.rules.observe is not None:
            assert self.kept is not None
            (best, _), algorithm = self.kept, self.hands[-1]
            if asked := self.rules.observe(record, lambda: algorithm.snapshot(best)):
                return asked
        return self.seconds >= self.rules.seconds


class _Progress:
    """Counts the iterations since the residual or the objective last fell."""

    def __init__(self) -> None:
        self.residual, self.objective, self.idle = np.inf, np.inf, 0

    def note(self, measure: Measure) -> None:
        residual = np.inf if measure.residual is None else measure.residual
        moved = residual < 0.99 * self.residual or measure.objective < self.objective - 1e-13 * abs(self.objective)
        self.idle = 0 if moved else self.idle + 1
        self.residual, self.objective = min(residual, self.residual), min(measure.objective, self.objective)

    def none_for(self, patience: int | None) -> bool:
        return patience is not None and self.idle > patience


def best_of(starts: Iterable[Algorithm[S]], rules: Rules) -> Run[S]:
    """Run from each start (a generator draws one when the one before has ended) and keep the lowest objective.

    ``ends`` of the answer has the objectives of all; its time is that of all together. Callbacks are asked between two
    starts as well: the end of a run, which is what it was to find, is not up to them.
    """
    began, best, status = time.perf_counter(), None, None
    ends: list[float] = []
    between = getattr(rules.observe, "between", None)  # of the callbacks of an estimator; a plain function has none
    try:
        for algorithm in starts:
            late = time.perf_counter() - began >= rules.seconds
            if best is not None and (late or (between is not None and between())):
                status = Status.BUDGET
                break
            found = run(algorithm, rules, began)
            ends.append(float(found.measure.objective))
            if best is None or found.measure.objective < best.measure.objective:
                best = found
            if found.stopped:
                status = found.status
                break
    except KeyboardInterrupt:  # while a start was drawn, or before anything was known of it
        if best is None:
            raise
        status = Status.INTERRUPTED
    if best is None:
        raise ValueError("there is no start to run from.")
    return replace(best, status=status or best.status, seconds=time.perf_counter() - began, ends=tuple(ends))


def overflow() -> ValueError:
    """What to say when numbers leave the range of float64."""
    return ValueError(
        "The objective is not finite: squares of the data overflow float64. Rescale the columns of X, or y, to "
        "magnitudes below 1e100 (StandardScaler does)."
    )
