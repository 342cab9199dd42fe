from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import harness, memory
from benchmarks.results import FAILED, MISSED, MISSING, REACHED, Race
from benchmarks.workload import OURS, Candidate, Check, Data, Quality, Workload, decades

FAST = harness.Settings(quick=True, repeats=2, cap=1.0, memory=False, growth=False)
EXACT = 4.0


def make(n: int, d: int) -> Data:
    return Data(np.zeros((n, d)), np.zeros(n))


def value(data: Data, fit: float) -> float:
    return fit


def workload(*candidates: Candidate, quality: Quality | None = None) -> Workload:
    quality = quality or Quality("objective", value, 1e-6, reference=lambda data: EXACT)
    return Workload("toy", "Toy", make, (40, 2), (20, 2), candidates, quality)


def exact(name: str, package: str = "numpy", log: list[str] | None = None) -> Candidate:
    def fit(data: Data, tolerance: float) -> float:
        if log is not None:
            log.append(name)
        return EXACT

    return Candidate(name, package, fit)


def run(entry: Workload, settings: harness.Settings = FAST) -> Race:
    return harness.run("toys", entry, settings, lambda text: None)


def test_the_loosest_sufficient_tolerance_is_chosen() -> None:
    tried = []

    def fit(data: Data, tolerance: float) -> float:
        tried.append(tolerance)
        return EXACT * (1 + tolerance)

    race = run(workload(Candidate("tuned", "numpy", fit, decades(1e-3, 1e-9))))
    (outcome,) = race.outcomes
    assert outcome.status == REACHED
    assert outcome.tolerance == 1e-6
    assert tried[:4] == [1e-3, 1e-4, 1e-5, 1e-6]
    assert set(tried[4:]) == {1e-6}


def test_a_peer_of_lower_quality_never_counts_as_best() -> None:
    sloppy = Candidate("sloppy", "numpy", lambda data, tolerance: EXACT * (1 + tolerance), (1e-2, 1e-3))
    race = run(workload(exact(OURS, OURS), sloppy, exact("honest")))
    assert [outcome.status for outcome in race.outcomes] == [REACHED, MISSED, REACHED]
    assert race.best_peer is not None
    assert race.best_peer.name == "honest"
    assert race.ratio == race.outcomes[2].best / race.outcomes[0].best


def test_without_reference_the_best_candidate_is_the_measure() -> None:
    worse = Candidate("worse", "numpy", lambda data, tolerance: EXACT * 1.01)
    race = run(workload(worse, exact("better"), quality=Quality("objective", value, 1e-6)))
    assert [outcome.status for outcome in race.outcomes] == [MISSED, REACHED]
    assert race.outcomes[0].excess == pytest.approx(0.01)


def test_an_absolute_rule_needs_no_reference() -> None:
    gap = Quality("gap", value, 1e-6, absolute=True)
    small = Candidate("small", "numpy", lambda data, tolerance: tolerance, decades(1e-4, 1e-8))
    race = run(workload(small, quality=gap))
    assert race.outcomes[0].tolerance == 1e-6
    assert str(gap) == "gap ≤ 1e-06"


def test_tolerances_cannot_be_chosen_against_nothing() -> None:
    with pytest.raises(ValueError, match="toy: a tolerance can only be chosen"):
        workload(Candidate("tuned", "numpy", lambda data, tolerance: 0.0, (1e-3,)), quality=Quality("q", value, 1e-6))


def test_missing_and_broken_candidates_are_results() -> None:
    def broken(data: Data, tolerance: float) -> float:
        raise RuntimeError("no such luck\nand a second line")

    absent = Candidate("absent", "a_package_that_does_not_exist", broken)
    race = run(workload(exact(OURS, OURS), absent, Candidate("broken", "numpy", broken)))
    assert [outcome.status for outcome in race.outcomes] == [REACHED, MISSING, FAILED]
    assert race.outcomes[2].note == "RuntimeError: no such luck"
    assert race.best_peer is None
    assert race.ratio is None
    assert race.verdict == "no peer to compare with"


def test_not_a_number_is_not_good_enough() -> None:
    race = run(workload(Candidate("lost", "numpy", lambda data, tolerance: math.nan), exact("found")))
    assert [outcome.status for outcome in race.outcomes] == [MISSED, REACHED]


def test_candidates_take_turns_and_the_first_changes() -> None:
    log: list[str] = []
    run(workload(exact("a", log=log), exact("b", log=log)))
    assert log[:2] == ["a", "b"]  # warm-up
    assert log[2:] == ["a", "b", "b", "a"]


def test_a_slow_candidate_gets_fewer_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"slow": 2.0, "fast": 0.1}
    monkeypatch.setattr(harness, "timed", lambda candidate, data, tolerance: (seconds[candidate.name], EXACT))
    race = run(workload(exact("slow"), exact("fast")))
    assert [len(outcome.times) for outcome in race.outcomes] == [1, 2]


def test_growth_compares_doubled_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    def cost(candidate: Candidate, data: Data, tolerance: float) -> tuple[float, float]:
        n, d = data.X.shape
        return 1e-6 * n * d**2, EXACT

    monkeypatch.setattr(harness, "timed", cost)
    race = run(workload(exact(OURS, OURS)), harness.Settings(quick=True, repeats=1, memory=False))
    assert race.growth == pytest.approx({"2n": 2.0, "2d": 4.0})


@pytest.mark.parametrize(("bar", "verdict"), [(2.0, "LOSS"), (0.5, "met")])
def test_a_check_is_held_against_its_bar(bar: float, verdict: str) -> None:
    check = Check("c", "Check", "s", bar, True, lambda quick: [("other", 3.0), (OURS, 1.0)])
    reading = harness.read("toys", check, FAST)
    assert reading.verdict == verdict
    assert reading.values == {"other": 3.0, OURS: 1.0}


def test_a_check_that_breaks_keeps_what_came_before() -> None:
    def measure(quick: bool):
        yield "other", 3.0
        raise RuntimeError("ours is not there")

    reading = harness.read("toys", Check("c", "Check", "s", 1.0, False, measure), FAST)
    assert reading.values == {"other": 3.0}
    assert reading.verdict == "LOSS"
    assert reading.note == "RuntimeError: ours is not there"


def test_extra_peak_sees_temporary_memory() -> None:
    def waste(megabytes: int) -> Callable[[], object]:
        return lambda: SimpleNamespace(total=np.ones(megabytes * 125_000).sum())

    small, large = memory.extra_peak(waste(1)), memory.extra_peak(waste(200))
    assert large > 150e6
    assert small < large / 2


def test_memory_of_a_candidate_is_measured_in_a_child() -> None:
    extra = memory.measure("linear", "ols", "scikit-learn", math.nan, quick=True)
    assert extra is not None
    assert extra >= 0


def test_memory_of_an_unknown_candidate_is_unknown() -> None:
    assert memory.measure("linear", "ols", "nobody", math.nan, quick=True) is None
