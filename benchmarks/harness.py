"""Run a workload: choose tolerances, time all candidates in turn, then measure memory and growth."""

from __future__ import annotations

import datetime
import gc
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks import memory
from benchmarks.results import FAILED, MISSED, MISSING, REACHED, Outcome, Race, Reading
from benchmarks.workload import OURS, Candidate, Check, Data, Workload

PAUSE = 0.02  # between candidates, so that spinning threads of the last one have gone to sleep


@dataclass(frozen=True)
class Settings:
    """How thorough to be. ``cap`` is the seconds of timed runs after which a candidate gets no further turn.

    A candidate that is quick is repeated until it has run ``short`` seconds in all, or ``rounds`` times.
    """

    quick: bool = False
    repeats: int = 5
    cap: float = 40.0
    memory: bool = True
    growth: bool = True
    short: float = 1.0
    rounds: int = 15

    def of_a_cell(self) -> Settings:
        """A grid has a hundred cells: each gets a few seconds, and only its times are measured."""
        return replace(self, repeats=2, cap=min(self.cap, 0.5), short=0.1, rounds=5, memory=False, growth=False)


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def timed(candidate: Candidate, data: Data, tolerance: float) -> tuple[float, Any]:
    """Seconds of one fit, and the fit."""
    gc.collect()
    time.sleep(PAUSE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        fit = candidate.fit(data, tolerance)
        return time.perf_counter() - start, fit


def calibrate(candidate: Candidate, workload: Workload, data: Data, best: float, cap: float) -> Outcome:
    """Warm the candidate up and find the loosest tolerance at which it is good enough.

    The first fit is thrown away: it compiles. When the tightest tolerance is not enough, or ``cap`` seconds are over,
    the candidate did not reach; the time and quality of its last attempt are kept for the record.
    """
    outcome = Outcome(candidate.name, candidate.package, MISSED)
    if not candidate.installed:
        outcome.status = MISSING
        return outcome
    spent = 0.0
    for attempt, tolerance in enumerate(candidate.tolerances or (math.nan,)):
        try:
            seconds, fit = timed(candidate, data, tolerance)
            value = float(workload.quality.measure(data, fit))
        except Exception as error:  # a candidate that breaks is a result, not the end of the run
            outcome.status = FAILED
            outcome.note = f"{type(error).__name__}: {error}".splitlines()[0][:160]
            return outcome
        spent += seconds if attempt else 0.0  # the first one compiles
        outcome.tolerance = None if math.isnan(tolerance) else tolerance
        outcome.value, outcome.times = value, [seconds]
        # Without a reference the best is only known when all have run; judge() has the last word.
        if math.isnan(best) or workload.quality.holds(workload.quality.excess(value, best)):
            outcome.status, outcome.times = REACHED, []
            return outcome
        if spent > cap:
            outcome.note = f"gave up after {spent:.0f} s"
            return outcome
    return outcome


def judge(outcomes: list[Outcome], workload: Workload, best: float) -> None:
    """Compare every value with the best known one and mark those that fall short."""
    values = [outcome.value for outcome in outcomes if outcome.value is not None and math.isfinite(outcome.value)]
    best = min(values if math.isnan(best) else [*values, best], default=math.nan)
    for outcome in outcomes:
        if outcome.value is not None:
            outcome.excess = workload.quality.excess(outcome.value, best)
            if outcome.status == REACHED and not workload.quality.holds(outcome.excess):
                outcome.status = MISSED


def race(outcomes: list[Outcome], workload: Workload, data: Data, settings: Settings) -> None:
    """Time the candidates in turn, each round starting with the next one, so that a slow minute hits all alike."""
    running = [outcome for outcome in outcomes if outcome.status == REACHED]
    for number in range(settings.rounds):
        turn = number % max(1, len(running))
        for outcome in running[turn:] + running[:turn]:
            total = sum(outcome.times)
            enough = total > settings.cap if number < settings.repeats else total > settings.short
            if outcome.times and (enough or (settings.quick and number >= settings.repeats)):
                continue
            seconds, _ = timed(workload.candidate(outcome.name), data, _number(outcome.tolerance))
            outcome.times.append(seconds)


def growth(outcome: Outcome, workload: Workload, settings: Settings) -> dict[str, float]:
    """Factors by which our time grows when the rows, and when the columns, are doubled."""
    n, d = workload.quick_sizes if settings.quick else workload.sizes
    candidate = workload.candidate(outcome.name)
    factors = {}
    for label, sizes in {"2n": (2 * n, d), "2d": (n, 2 * d)}.items():
        data = workload.make(*sizes)
        runs = 3 if outcome.best < settings.cap / 10 else 1
        least = min(timed(candidate, data, _number(outcome.tolerance))[0] for _ in range(runs))
        factors[label] = least / outcome.best
    return factors


def _number(tolerance: float | None) -> float:
    return math.nan if tolerance is None else tolerance


def run(family: str, workload: Workload, settings: Settings, tell: Callable[[str], object]) -> Race:
    """One workload from data to verdict; ``tell`` is called with what is going on."""
    settings = settings.of_a_cell() if workload.grid else settings
    sizes = workload.quick_sizes if settings.quick else workload.sizes
    tell("making the data")
    data = workload.make(*sizes)
    quality = workload.quality
    best = math.nan
    if quality.absolute:
        best = 0.0
    elif quality.reference is not None:
        tell("reference solution")
        best = quality.reference(data)
    outcomes = []
    for candidate in workload.candidates:
        tell(f"warming up {candidate.name}")
        outcomes.append(calibrate(candidate, workload, data, best, 5 * settings.cap))
    judge(outcomes, workload, best)
    tell("timing")
    race(outcomes, workload, data, settings)
    result = Race(
        family,
        workload.name,
        workload.title,
        sizes,
        str(quality),
        workload.bar,
        workload.memory_bar,
        data.bytes,
        outcomes,
        date=today(),
        quick=settings.quick,
        grid=workload.grid,
        cell=workload.cell,
    )
    del data
    for outcome in outcomes if settings.memory else ():
        if outcome.status == REACHED and outcome.best < settings.cap:
            tell(f"memory of {outcome.name}")
            outcome.memory = memory.measure(
                family, workload.name, outcome.name, _number(outcome.tolerance), settings.quick
            )
    ours = result.ours
    if settings.growth and ours is not None and ours.status == REACHED:
        tell("growth")
        result.growth = growth(ours, workload, settings)
    return result


def read(family: str, check: Check, settings: Settings) -> Reading:
    """Measure one check; what breaks is written down beside it."""
    values: dict[str, float] = {}
    note = ""
    try:
        for name, value in check.measure(settings.quick):
            values[name] = value
    except Exception as error:  # our own failure is a loss with its cause, not the end of the run
        note = f"{type(error).__name__}: {error}".splitlines()[0][:160]
    if OURS not in values and not note:
        note = "ours was not measured"
    fields = (family, check.name, check.title, check.unit, check.bar, check.higher_is_better)
    return Reading(*fields, values, note, date=today(), quick=settings.quick, details=check.details)
