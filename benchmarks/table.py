"""The same tables for the terminal and for the page: rows of cells, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.results import REACHED, Outcome, Race, Reading
from benchmarks.workload import OURS

NONE = "–"


@dataclass(frozen=True)
class Table:
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def duration(seconds: float) -> str:
    """Three figures and a unit.

    >>> duration(0.01234), duration(2.5)
    ('12.3 ms', '2.50 s')
    """
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} µs"
    if seconds < 1:
        return f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:.0f} s"


def _memory(outcome: Outcome | None, data_bytes: int) -> str:
    if outcome is None or outcome.memory is None:
        return NONE
    return f"{outcome.memory / 1e6:.0f} MB ({100 * outcome.memory / data_bytes:.0f} %)"


def _quality(outcome: Outcome | None) -> str:
    if outcome is None or outcome.excess is None:
        return NONE
    return f"{outcome.excess:.0e}" if outcome.excess > 0 else "0"


def _time(outcome: Outcome | None) -> str:
    if outcome is None:
        return NONE
    return duration(outcome.best) if outcome.times and outcome.status == REACHED else outcome.status


def _bar(race: Race) -> str:
    text = f"≥ {race.bar:g}×"
    return text if race.memory_bar is None else f"{text}, memory ≤ {100 * race.memory_bar:.0f} %"


def size(sizes: tuple[int, int]) -> str:
    return " × ".join(f"{count:,}".replace(",", " ") for count in sizes)


def summary(races: Sequence[Race]) -> Table:
    """One row a workload: ours, the best peer, the ratio, what both reached and what both took."""
    header = (
        "workload",
        "size",
        "bar",
        "ours",
        "best peer",
        "ratio",
        "verdict",
        "quality, ours / peer",
        "memory, ours / peer",
    )
    rows = []
    for race in races:
        ours, peer = race.ours, race.best_peer
        rows.append(
            (
                race.title,
                size(race.sizes),
                _bar(race),
                _time(ours),
                NONE if peer is None else f"{_time(peer)} {peer.name}",
                NONE if race.ratio is None else f"{race.ratio:.2f}",
                race.verdict,
                f"{_quality(ours)} / {_quality(peer)}",
                f"{_memory(ours, race.data_bytes)} / {_memory(peer, race.data_bytes)}",
            )
        )
    return Table("Ours and the best peer", header, tuple(rows))


def brief(races: Sequence[Race]) -> Table:
    """The summary in the width of a terminal."""
    rows = [(race.name, *row[3:7]) for race, row in zip(races, summary(races).rows, strict=True)]
    return Table("Ours and the best peer", ("workload", "ours", "best peer", "ratio", "verdict"), tuple(rows))


def candidates(race: Race) -> Table:
    """Every candidate of one workload."""
    rows = []
    for outcome in race.outcomes:
        note = "" if outcome.status == REACHED else outcome.status
        rows.append(
            (
                outcome.name,
                duration(outcome.best) if outcome.times else NONE,
                duration(outcome.median) if outcome.times else NONE,
                str(len(outcome.times)),
                NONE if outcome.tolerance is None else f"{outcome.tolerance:g}",
                _quality(outcome),
                _memory(outcome, race.data_bytes),
                f"{note}: {outcome.note}" if outcome.note else note,
            )
        )
    header = ("candidate", "least time", "median", "runs", "tolerance", "quality", "extra memory", "note")
    return Table("", header, tuple(rows))


def grid(races: Sequence[Race]) -> Table:
    """One row a cell of a grid: what it is, ours, the best peer, the ratio, and the others."""
    rows = []
    for race in races:
        ours, peer = race.ours, race.best_peer
        others = [f"{other.name} {_time(other)}" for other in race.outcomes if other not in (ours, peer)]
        rows.append(
            (
                *race.cell.values(),
                size(race.sizes),
                _time(ours),
                NONE if peer is None else f"{_time(peer)} {peer.name}",
                NONE if race.ratio is None else f"{race.ratio:.2f}",
                race.verdict,
                ", ".join(others),
            )
        )
    header = (*races[0].cell, "size", "ours", "best peer", "ratio", "verdict", "others")
    return Table(races[0].grid, header, tuple(rows))


def everyone(races: Sequence[Race]) -> Table:
    """Every candidate of every workload."""
    header = candidates(races[0]).header if races else ()
    rows = tuple((race.name, *row) for race in races for row in candidates(race).rows)
    return Table("Every candidate", ("workload", *header), rows)


def rules(races: Sequence[Race]) -> Table:
    rows = tuple((race.name, race.rule, race.date) for race in races)
    return Table("Rules of equal quality", ("workload", "rule", "measured"), rows)


def growth(races: Sequence[Race], terminal: bool = False) -> Table:
    """Our time when rows or columns double, as a multiple."""
    rows = tuple(
        (
            race.name if terminal else race.title,
            size(race.sizes),
            f"{race.growth['2n']:.2f}×",
            f"{race.growth['2d']:.2f}×",
        )
        for race in races
        if race.growth
    )
    return Table("Growth of our time", ("workload", "size", "twice the rows", "twice the columns"), rows)


def readings(found: Sequence[Reading]) -> Table:
    """One row a check."""
    rows = []
    for reading in found:
        sign = "≥" if reading.higher_is_better else "≤"
        others = [f"{name} {value:.3g}" for name, value in reading.values.items() if name != OURS]
        if reading.note:
            others.append(f"ours: {reading.note}")
        rows.append(
            (
                reading.title,
                NONE if reading.bar is None else f"{sign} {reading.bar:g} {reading.unit}",
                NONE if reading.ours is None else f"{reading.ours:.3g} {reading.unit}",
                reading.verdict,
                ", ".join(others) or NONE,
            )
        )
    return Table("Ours and the bar", ("what", "bar", "ours", "verdict", "beside it"), tuple(rows))


def footprints(found: Sequence[Reading]) -> Table:
    """One row an estimator and dtype: the peak of a fit beyond X, and the promise beside it."""
    rows = []
    for reading in found:
        values, details, peak = reading.values, reading.details, reading.ours
        known = peak is not None and reading.bar is not None
        share = f" ({reading.bar / values['X']:.2f} X)" if reading.bar is not None and "X" in values else ""
        rows.append(
            (
                details["estimator"],
                details["dtype"],
                size((int(values["rows"]), int(values["columns"]))) if "rows" in values else NONE,
                f"{values['X']:.1f} MB" if "X" in values else NONE,
                reading.note or NONE if peak is None else f"{peak:.1f} MB ({peak / values['X']:.2f} X)",
                details["promise"],
                NONE if reading.bar is None else f"≤ {reading.bar:.1f} MB{share}",
                f"{peak / reading.bar:.2f}" if known else NONE,
                reading.verdict,
            )
        )
    header = ("estimator", "dtype", "size", "X", "peak beyond X", "promise", "at most", "peak / promise", "verdict")
    return Table("Peak of a fit and promise", header, tuple(rows))


def tables(records: Sequence[Race | Reading], terminal: bool = False) -> list[Table]:
    """The tables of some records, empty ones left out; a terminal has already shown every candidate."""
    every = [record for record in records if isinstance(record, Race)]
    races = [race for race in every if not race.grid]
    names = dict.fromkeys(race.grid for race in every if race.grid)
    grids = [grid([race for race in every if race.grid == name]) for name in names]
    checks = [record for record in records if isinstance(record, Reading)]
    weighed = [check for check in checks if "promise" in check.details]
    made = [growth(races, terminal), readings([check for check in checks if check not in weighed]), footprints(weighed)]
    made = [brief(races), *grids, *made] if terminal else [summary(races), *grids, everyone(races), *made, rules(races)]
    return [table for table in made if table.rows]
