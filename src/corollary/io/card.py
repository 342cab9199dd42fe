"""The model card in a file: what the model predicts, from what, how well that was shown to work, and with what data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from corollary.io.errors import ModelFileError, short

CLASSES, COLUMNS = 1_000, 10_000  # how many of them a card lists
_LINE = 1_000
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class ColumnOfCard:
    """A column that the model was given: its role (``"number"``, ``"category"`` …), and a note."""

    name: str
    role: str
    note: str = ""


@dataclass(frozen=True)
class ModelCard:
    """What ``compare --save`` keeps beside a model, for ``inspect``.

    Attributes
    ----------
    model, target, task : str
        What predicts what; the task is "regression" or "classification".
    classes : tuple of str
        At most 1,000 of ``n_classes``.
    columns : tuple of ColumnOfCard
        At most 10,000 of ``n_columns``, those that were left out included.
    source, sha256, rows
        The name of the table, its SHA-256, and the rows the model was fitted to.
    metric, score, low, high, baseline
        The score on rows that were held out, the ends of its 95% interval, and what a model that ignores the columns
        has; None where there is none.
    validation : str
        How that was found, in words.
    luck : str
        How much of the score is luck of the search, in words; empty if there was none.
    holdout : dict of str to float
        Scores on a table that took no part.
    settings : dict of str to str
        Parameters that the search chose.
    seed : int
    versions : dict of str to str
    """

    model: str
    target: str
    task: str
    source: str
    sha256: str
    rows: int
    metric: str
    score: float | None
    low: float | None
    high: float | None
    baseline: float | None
    validation: str
    seed: int
    classes: tuple[str, ...] = ()
    n_classes: int = 0
    columns: tuple[ColumnOfCard, ...] = ()
    n_columns: int = 0
    luck: str = ""
    holdout: dict[str, float] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The card as plain values."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """The card for reading: labels and what stands beside them."""
        chosen = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        found = [("Model", self.model + (f" ({chosen})" if chosen else "")), ("Predicts", self._predicts())]
        found += [("From", self._from())]
        gone = [f"{each.name} ({each.note})" for each in self.columns if each.role == "left out"]
        found += [("Left out", _some(gone, 6))] if gone else []
        found += [("Score", self._score())]
        if self.holdout:
            told = ", ".join(f"{name} {_number(value)}" for name, value in self.holdout.items())
            found.append(("Hold-out", f"{told} on a table that took no part in the choice"))
        found += [("Luck", self.luck)] if self.luck else []
        found += [("Data", f"{self.source}: {self.rows:,} rows")]
        found += [("SHA-256", self.sha256)] if self.sha256 else []
        return [*found, ("Made with", ", ".join([f"seed {self.seed}", *map(" ".join, self.versions.items())]))]

    def _predicts(self) -> str:
        more = f" and {self.n_classes - 12} more" if self.n_classes > 12 else ""
        classes = f": {', '.join(self.classes[:12])}{more}" if self.classes else ""
        return f"{self.target} ({self.task}{classes})"

    def _from(self) -> str:
        by_role: dict[str, list[str]] = {}
        for each in self.columns:
            by_role.setdefault(each.role, []).append(each.name)
        parts = [f"{role}: {_some(names, 12)}" for role, names in by_role.items() if role != "left out"]
        rest = self.n_columns - len(self.columns)
        return "; ".join(parts) + (f"; and {rest:,} more columns" if rest else "")

    def _score(self) -> str:
        if self.score is None:
            return "none was measured"
        ends = "" if self.low is None or self.high is None else (
            f", 95% interval {_number(self.low)} to {_number(self.high)}"
        )  # fmt: skip
        base = "" if self.baseline is None else f"; a model that ignores the columns has {_number(self.baseline)}"
        return f"{self.metric} {_number(self.score)}{ends}, {self.validation}{base}"


def _some(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _number(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def parse_card(content: Any) -> ModelCard:
    """A card from a file, every entry checked: whatever it says is only ever shown."""
    known = {each.name for each in fields(ModelCard)}
    if not isinstance(content, dict) or set(content) != known:
        entries = sorted(content) if isinstance(content, dict) else content
        raise ModelFileError(f"its model card has the entries {short(entries)}, expected {short(sorted(known))}")
    found: dict[str, Any] = dict(content)
    for name in ("model", "target", "task", "source", "metric", "validation", "luck"):
        _line(name, found[name])
    for name in ("rows", "n_classes", "n_columns"):
        if type(found[name]) is not int or found[name] < 0:
            raise ModelFileError(f"its model card has {short(found[name])} as {name}, expected a count")
    if type(found["seed"]) is not int:
        raise ModelFileError(f"its model card has {short(found['seed'])} as seed, expected an integer")
    for name in ("score", "low", "high", "baseline"):
        found[name] = None if found[name] is None else _finite(name, found[name])
    if found["sha256"] != "" and not (isinstance(found["sha256"], str) and _SHA256.fullmatch(found["sha256"])):
        raise ModelFileError("its model card has a SHA-256 that is none")
    found["classes"] = tuple(_line("classes", each) for each in _listed("classes", found["classes"], CLASSES))
    found["columns"] = tuple(_column(each) for each in _listed("columns", found["columns"], COLUMNS))
    found["holdout"] = {name: _finite(name, each) for name, each in _named("holdout", found["holdout"]).items()}
    for name in ("settings", "versions"):
        found[name] = {key: _line(name, each) for key, each in _named(name, found[name]).items()}
    if len(found["classes"]) > found["n_classes"] or len(found["columns"]) > found["n_columns"]:
        raise ModelFileError("its model card lists more classes or columns than it says there are")
    return ModelCard(**found)


def _line(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LINE or not value.isprintable():
        raise ModelFileError(f"its model card has {short(value)} under {name}, expected a line of text")
    return value


def _finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ModelFileError(f"its model card has {short(value)} under {short(name)}, expected a number")
    return float(value)


def _listed(name: str, value: Any, most: int) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) > most:
        raise ModelFileError(f"its model card has {short(value)} as {name}, expected a list of at most {most:,}")
    return list(value)


def _named(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or len(value) > _LINE:
        raise ModelFileError(f"its model card has {short(value)} as {name}, expected named values")
    for key in value:
        _line(name, key)
    return value


def _column(value: Any) -> ColumnOfCard:
    if not isinstance(value, dict) or set(value) != {"name", "role", "note"}:
        raise ModelFileError(f"its model card has the column {short(value)}, expected a name, a role and a note")
    return ColumnOfCard(*(_line("columns", value[name]) for name in ("name", "role", "note")))


def plain_line(text: object, limit: int = 200) -> str:
    """Text as a card may hold it: printable, on one line, not long."""
    whole = "".join(letter if letter.isprintable() else "�" for letter in " ".join(str(text).split()))
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"
