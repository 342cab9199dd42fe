"""The loop that runs every iterative method: how it ends, what it keeps, what it shows, what several starts give."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from corollary.core.evidence import Kind, Status
from corollary.solvers.loop import Algorithm, Measure, Rules, best_of, run


class Script(Algorithm[int]):
    """Goes through given objectives; the residual is the objective, the state its position."""

    name = "a script"
    certificate_name = "objective left"

    def __init__(self, *objectives: float, interrupt_at: int = -1, first_step_tells: bool = False) -> None:
        self.objectives, self.interrupt_at, self.first_step_tells = objectives, interrupt_at, first_step_tells
        self.settled = False

    def init(self) -> int:
        return 0

    def step(self, state: int) -> int:
        if state + 1 == self.interrupt_at:
            raise KeyboardInterrupt
        return state + 1

    def measure(self, state: int) -> Measure | None:
        if self.first_step_tells and state == 0:
            return None
        value = self.objectives[state]
        return Measure(value, value, more={"state": state})

    def settle(self, state: int) -> int:
        self.settled = True
        return state


def test_until_the_tolerance() -> None:
    found = run(Script(3.0, 2.0, 0.5, 0.0), Rules(max_iter=10, tol=1.0))
    assert (found.state, found.status, found.n_iter) == (2, Status.CONVERGED, 2)
    assert found.history["objective"] == found.history["certificate"] == [3.0, 2.0, 0.5]
    assert found.history["iteration"] == found.history["state"] == [0, 1, 2]
    evidence = found.evidence(facts={"more": 1.0}, notes=("A note.",))
    assert evidence.holds
    assert (evidence.certificate.kind, evidence.certificate.value) == (Kind.STATIONARY, 0.5)
    assert evidence.facts == {"objective": 0.5, "more": 1.0}
    assert list(evidence.history) == ["iteration", "objective", "certificate", "state", "seconds"]


def test_max_iter() -> None:
    found = run(Script(3.0, 2.0, 1.0), Rules(max_iter=1))
    assert (found.state, found.status, found.n_iter) == (1, Status.MAX_ITER, 1)
    assert not found.stopped


def test_what_only_a_step_can_tell() -> None:
    found = run(Script(np.nan, 2.0, 0.0, first_step_tells=True), Rules(max_iter=5))
    assert found.history["iteration"] == [1, 2]
    with pytest.raises(ValueError, match="nothing is known before the first iteration"):
        run(Script(np.nan, first_step_tells=True), Rules(max_iter=0))


def test_the_best_state_is_kept() -> None:
    class Wandering(Script):
        def better(self, new: Measure, old: Measure) -> bool:
            return new.objective < old.objective

    assert run(Wandering(3.0, 1.0, 2.0), Rules(max_iter=2)).state == 1
    assert run(Script(3.0, 1.0, 2.0), Rules(max_iter=2)).state == 2


def test_done_needs_no_tolerance() -> None:
    class Counting(Script):
        def measure(self, state: int) -> Measure:
            return Measure(1.0, done=state == 3)

    found = run(Counting(), Rules(max_iter=9))
    assert (found.state, found.status) == (3, Status.CONVERGED)
    assert "certificate" not in found.history


def test_interrupted() -> None:
    script = Script(3.0, 2.0, 1.0, interrupt_at=2)
    found = run(script, Rules(max_iter=9))
    assert (found.state, found.status, found.stopped, script.settled) == (1, Status.INTERRUPTED, True, True)
    assert not found.evidence().holds
    with pytest.raises(KeyboardInterrupt):  # nothing is known yet that could be kept
        run(Script(np.nan, 1.0, interrupt_at=1, first_step_tells=True), Rules(max_iter=9))


def test_an_observer_is_asked_after_every_step_but_the_last() -> None:
    seen: list[Any] = []

    def observe(record: dict[str, float], snapshot: Any) -> bool:
        seen.append((record["iteration"], snapshot()))
        return len(seen) == 3

    assert run(Script(3.0, 2.0, 0.0), Rules(5, observe=observe)).status is Status.CONVERGED
    assert seen == [(0, 0), (1, 1)]
    assert run(Script(3.0, 2.0, 1.0, 0.5), Rules(5, observe=observe)).status is Status.BUDGET


def test_a_budget_of_seconds() -> None:
    found = run(Script(3.0, 2.0, 1.0), Rules(max_iter=2, seconds=0.0))
    assert (found.status, found.n_iter) == (Status.BUDGET, 0)


def test_a_stall_and_who_goes_on() -> None:
    class Impatient(Script):
        patience = 2

        def __init__(self, *objectives: float, then: Algorithm[int] | None = None) -> None:
            super().__init__(*objectives)
            self.then = then

        def successor(self, state: int) -> Algorithm[int] | None:
            return self.then

    assert run(Impatient(2.0, 1.0, 1.0, 1.0, 1.0), Rules(9)).status is Status.STALLED
    heir = Script(9.0, 0.0)
    heir.name = "another"
    found = run(Impatient(2.0, 1.0, 1.0, 1.0, 1.0, then=heir), Rules(9))
    assert (found.status, found.solver) == (Status.CONVERGED, "a script, then another")


def test_the_best_of_several_starts() -> None:
    found = best_of([Script(3.0, 2.0), Script(3.0, 0.5), Script(3.0, 1.0)], Rules(max_iter=1))
    assert found.measure.objective == 0.5
    assert found.ends == (2.0, 0.5, 1.0)
    with pytest.raises(ValueError, match="no start"):
        best_of([], Rules(1))


def test_ctrl_c_among_several_starts() -> None:
    found = best_of([Script(3.0, 2.0), Script(3.0, 2.5, 1.0, interrupt_at=2), Script(0.0)], Rules(max_iter=1))
    assert found.ends == (2.0, 2.5, 0.0)
    later = best_of([Script(1.0, 0.9), Script(3.0, 2.5, 1.0, interrupt_at=2), Script(0.0)], Rules(max_iter=5, tol=0.95))
    assert (later.status, later.ends) == (Status.INTERRUPTED, (0.9, 2.5))

    def starts() -> Iterator[Script]:
        yield Script(1.0, 0.9)
        raise KeyboardInterrupt

    drawn = best_of(starts(), Rules(1))
    assert (drawn.status, drawn.measure.objective) == (Status.INTERRUPTED, 0.9)


def test_callbacks_are_asked_between_starts() -> None:
    """Runs that end before a callback is asked, one after the other, must not outlast a budget."""

    class Callbacks:
        asked = 0

        def __call__(self, record: Any, snapshot: Any) -> bool:
            return False

        def between(self) -> bool:
            self.asked += 1
            return self.asked == 2

    given = [Script(1.0), Script(0.5), Script(0.2), Script(0.1)]
    found = best_of(given, Rules(max_iter=3, tol=2.0, observe=Callbacks()))
    assert (found.status, found.ends, found.measure.objective) == (Status.BUDGET, (1.0, 0.5), 0.5)
    finished = best_of([Script(1.0), Script(0.5)], Rules(max_iter=3, tol=2.0, observe=Callbacks()))
    assert (finished.status, finished.ends) == (Status.CONVERGED, (1.0, 0.5))


def test_seconds_count_between_starts() -> None:
    drawn = []

    def starts() -> Iterator[Script]:
        for value in (1.0, 0.5, 0.2):
            drawn.append(value)
            time.sleep(0.02)
            yield Script(value)

    found = best_of(starts(), Rules(max_iter=3, tol=2.0, seconds=0.03))
    assert (found.status, found.ends, drawn) == (Status.BUDGET, (1.0,), [1.0, 0.5])
