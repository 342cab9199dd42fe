"""How a run of the loop ends when the algorithm has nothing left to do, and how often callbacks hear of it."""

from __future__ import annotations

from typing import Any

import pytest

from corollary import Status
from corollary.solvers.loop import Algorithm, Measure, Rules, run


class Count(Algorithm[int]):
    """Counts up to ``last``; only a step can tell whether there is another."""

    name = "counting"

    def __init__(self, last: int, *, known_at_start: bool, says_so: bool) -> None:
        self.last, self.known_at_start, self.says_so = last, known_at_start, says_so

    def init(self) -> int:
        return 0

    def step(self, state: int) -> int | None:
        return state + 1 if state < self.last else None

    def measure(self, state: int) -> Measure | None:
        if not state and not self.known_at_start:
            return None
        return Measure(float(self.last - state), done=self.says_so and state == self.last)


@pytest.mark.parametrize("says_so", [True, False])
def test_a_step_that_finds_nothing_to_do_ends_the_run(says_so: bool) -> None:
    heard: list[tuple[float, int]] = []

    def observe(record: dict[str, float], snapshot: Any) -> bool:
        heard.append((record["iteration"], snapshot()))
        return record["iteration"] == 4  # too late: it is the last

    found = run(Count(4, known_at_start=False, says_so=says_so), Rules(10, observe=observe if says_so else None))
    assert found.status is Status.CONVERGED
    assert found.state == found.n_iter == 4
    assert found.history["iteration"] == [1, 2, 3, 4]
    assert heard == ([(1, 1), (2, 2), (3, 3), (4, 4)] if says_so else [])


def test_callbacks_that_heard_of_the_start_do_not_hear_of_the_end() -> None:
    heard: list[float] = []

    def observe(record: dict[str, float], snapshot: Any) -> bool:
        heard.append(record["iteration"])
        return False

    found = run(Count(3, known_at_start=True, says_so=True), Rules(10, observe=observe))
    assert found.status is Status.CONVERGED
    assert heard == [0, 1, 2]
    assert found.n_iter == len(heard)


class Late(Count):
    """Finds out at the end how far it is from what was asked."""

    def __init__(self, last: int, residual: float) -> None:
        super().__init__(last, known_at_start=True, says_so=True)
        self.residual = residual

    def finish(self, state: int, measure: Measure) -> tuple[int, Measure]:
        return 100 + state, Measure(-1.0, self.residual)


@pytest.mark.parametrize(
    ("max_iter", "residual", "status"),
    [
        (10, 0.1, Status.CONVERGED),
        (10, 0.9, Status.STALLED),  # it was done, and is not good enough
        (2, 0.1, Status.CONVERGED),
        (2, 0.9, Status.MAX_ITER),
    ],
)
def test_what_is_worked_out_at_the_end_decides(max_iter: int, residual: float, status: Status) -> None:
    found = run(Late(3, residual), Rules(max_iter, tol=0.5))
    assert found.status is status
    assert found.state == 100 + min(3, max_iter)
    assert (found.measure.objective, found.certificate.value) == (-1.0, residual)
    assert "certificate" not in found.history


def test_a_run_that_was_cut_short_stays_so() -> None:
    found = run(Late(3, 0.1), Rules(10, tol=0.5, observe=lambda record, snapshot: True))
    assert found.status is Status.BUDGET
    assert found.state == 100
