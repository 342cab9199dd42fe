"""What was measured, as plain records that survive a round trip through JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.workload import OURS

REACHED, MISSED, MISSING, FAILED = "reached", "did not reach", "not installed", "failed"


@dataclass
class Outcome:
    """One candidate in one workload. ``value`` is the measured quality, ``excess`` its distance from the best."""

    name: str
    package: str
    status: str
    note: str = ""
    tolerance: float | None = None
    value: float | None = None
    excess: float | None = None
    times: list[float] = field(default_factory=list)
    memory: int | None = None

    @property
    def best(self) -> float:
        """The least of the times: noise on a shared machine only ever adds."""
        return min(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)


@dataclass
class Race:
    """All candidates of one workload, side by side."""

    family: str
    name: str
    title: str
    sizes: tuple[int, int]
    rule: str
    bar: float
    memory_bar: float | None
    data_bytes: int
    outcomes: list[Outcome]
    growth: dict[str, float] = field(default_factory=dict)
    date: str = ""
    quick: bool = False
    grid: str = ""
    cell: dict[str, str] = field(default_factory=dict)  # words for columns of the grid's table

    @property
    def ours(self) -> Outcome | None:
        return next((outcome for outcome in self.outcomes if outcome.package == OURS), None)

    @property
    def best_peer(self) -> Outcome | None:
        """The fastest peer among those that reached the quality asked for."""
        peers = [outcome for outcome in self.outcomes if outcome.package != OURS and outcome.status == REACHED]
        return min(peers, key=lambda outcome: outcome.best, default=None)

    @property
    def ratio(self) -> float | None:
        """Best peer's time over ours; above one we are faster. None unless both reached the quality."""
        ours, peer = self.ours, self.best_peer
        if ours is None or peer is None or ours.status != REACHED:
            return None
        return peer.best / ours.best

    @property
    def memory_share(self) -> float | None:
        """Our extra memory as a fraction of X."""
        ours = self.ours
        return None if ours is None or ours.memory is None else ours.memory / self.data_bytes

    @property
    def verdict(self) -> str:
        """``"met"``, ``"LOSS"`` with its cause, or why there is nothing to say."""
        ours = self.ours
        if ours is None or ours.status != REACHED:
            return f"LOSS: ours {ours.status}" if ours is not None else "ours not entered"
        if self.ratio is None:
            return "no peer to compare with"
        losses = ["slower than the bar"] if self.ratio < self.bar else []
        if self.memory_bar is not None and self.memory_share is not None and self.memory_share > self.memory_bar:
            losses.append("more memory than the bar")
        return f"LOSS: {', '.join(losses)}" if losses else "met"


@dataclass
class Reading:
    """One check: our number, the bar, and what stands beside it."""

    family: str
    name: str
    title: str
    unit: str
    bar: float | None
    higher_is_better: bool
    values: dict[str, float]
    note: str = ""
    date: str = ""
    quick: bool = False
    details: dict[str, str] = field(default_factory=dict)  # words for columns of a table

    @property
    def ours(self) -> float | None:
        return self.values.get(OURS)

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return "no bar"
        if self.ours is None:
            return "LOSS"
        met = self.ours >= self.bar if self.higher_is_better else self.ours <= self.bar
        return "met" if met else "LOSS"


Record = Race | Reading


def to_json(record: Record) -> dict[str, Any]:
    return {"kind": type(record).__name__.lower(), **asdict(record)}


def from_json(entry: Mapping[str, Any]) -> Record:
    fields = {key: value for key, value in entry.items() if key != "kind"}
    if entry["kind"] == "reading":
        return Reading(**fields)
    fields["outcomes"] = [Outcome(**outcome) for outcome in fields["outcomes"]]
    fields["sizes"] = tuple(fields["sizes"])
    return Race(**fields)


def write(path: Path, machine: Mapping[str, str], records: Sequence[Record]) -> None:
    """Write a run, whole or not at all."""
    text = json.dumps({"machine": dict(machine), "records": [to_json(record) for record in records]}, indent=1)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(path)


def read(path: Path) -> tuple[dict[str, str], list[Record]]:
    """The machine and the records of an earlier run; nothing when there was none."""
    if not path.exists():
        return {}, []
    content = json.loads(path.read_text(encoding="utf-8"))
    return content["machine"], [from_json(entry) for entry in content["records"]]


def merge(old: Sequence[Record], new: Sequence[Record], order: Sequence[tuple[str, str]]) -> list[Record]:
    """New records replace old ones of the same family and name; what is no longer in ``order`` is dropped."""
    latest = {(record.family, record.name): record for record in (*old, *new)}
    return [latest[key] for key in order if key in latest]
