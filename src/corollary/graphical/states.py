"""Columns of tables as numbered states, and back: text, categories, booleans and numbers, with gaps.

Text, categories and booleans are states as they are; so are numbers of which a column has few (if they are not whole,
others belong to the nearest of them). Other numbers are cut at quantiles into states with names such as "≤ 1.5",
"1.5 to 2.7" and "> 2.7".
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils.validation import check_array

from corollary.core.door.target import missing
from corollary.core.parallel import share_out
from corollary.core.types import Array
from corollary.solvers.graphical.learning.text_codes import text_codes

SHOWN = 8  # states or names in an error
LARGE = 1 << 18  # cells of a frame that are worth a thread


@dataclass(frozen=True)
class Column:
    """A column of a table: each row's place among ``values``, −1 where it is missing."""

    name: str
    codes: Array
    values: Array  # different, in increasing order, or in the order of the categories that the table declares
    declared: bool = False  # whether the table says which values there can be

    def seen(self, rows: Array) -> Column:
        """Without values that none of these rows has."""
        if self.declared or rows.all():  # values are those of all rows
            return self
        there = np.zeros(len(self.values), dtype=bool)
        there[self.codes[rows & (self.codes >= 0)]] = True
        places = np.append(np.cumsum(there) - 1, -1).astype(np.int32)
        places[:-1][~there] = -1
        return Column(self.name, places[self.codes], self.values[there])


def read_columns(X: Any, estimator: Any = None) -> list[Column]:
    """The columns of a frame, or of an array, whose columns are called x0, x1, …"""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names = frame.columns
        native = [column for _, column in X.items()] if hasattr(X, "iloc") else [X[name] for name in names]
        return _of_frame(list(zip(map(str, names), native, strict=True)), len(frame))
    X = check_array(X, dtype=None, ensure_all_finite="allow-nan", estimator=estimator, input_name="X")
    if X.dtype.kind == "V":
        raise ValueError("X is a structured array; give a frame or an array of rows and columns.")
    return [_of_array(f"x{f}", X[:, f]) for f in range(X.shape[1])]


def _of_frame(columns: list[tuple[str, Any]], n: int) -> list[Column]:
    """The columns, shared out among threads if they are large; codes of text are rows of one array."""
    room = np.empty((len(columns), n), dtype=np.int16)
    tasks = [(*column, row) for column, row in zip(columns, room, strict=True)]
    return share_out(lambda task: _of_series(*task), tasks, n * len(columns) // LARGE)


def _of_series(name: str, native: Any, room: Array) -> Column:
    if (found := text_codes(native, room)) is not None:
        return Column(name, *found)
    series = nw.from_native(native, series_only=True)
    if series.dtype == nw.Categorical or isinstance(series.dtype, nw.Enum):
        return _categorical(name, series)
    if series.dtype.is_temporal():
        raise ValueError(f"Column {name!r} holds dates or times. Make numbers of them, such as year and month.")
    if hasattr(native, "factorize") and series.dtype == nw.String:  # pandas: by hashing, much faster than by sorting
        codes, values = native.factorize(sort=True)
        return Column(name, np.asarray(codes, dtype=np.int64), np.asarray(values, dtype=str))
    return _of_array(name, np.asarray(series.to_numpy()))


def _categorical(name: str, series: Any) -> Column:
    """Categories in the order that the table declares; one that only lists what it holds is as good as text."""
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas
        values = plain(np.asarray(series.cat.get_categories().to_numpy()))
        return Column(name, np.asarray(native.cat.codes, dtype=np.int64), values, declared=True)
    text = _of_array(name, np.asarray(series.cast(nw.String).to_numpy(), dtype=object))
    if not isinstance(series.dtype, nw.Enum):
        return text
    values = np.asarray(series.cat.get_categories().to_numpy())
    places = {value: place for place, value in enumerate(values.astype(str).tolist())}
    renumbered = np.array([places[value] for value in text.values.tolist()] + [-1], dtype=np.int64)
    return Column(name, renumbered[text.codes], values.astype(str), declared=True)


def _of_array(name: str, column: Array) -> Column:
    if column.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has a column of complex numbers.")
    gone = missing(column) if column.dtype == object else np.isnan(column) if column.dtype.kind == "f" else None
    known = column if gone is None else column[~gone]
    known = plain(known)
    if known.dtype.kind == "f" and np.isinf(known).any():
        raise ValueError(f"Column {name!r} contains infinity; replace it by a number.")
    values, places = np.unique(known, return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.int32)
    codes[slice(None) if gone is None else ~gone] = places
    if values.dtype.kind == "b":
        return Column(name, _both(codes, values), np.array([False, True]), declared=True)
    return Column(name, codes, values)


def _both(codes: Array, values: Array) -> Array:
    return np.where(codes >= 0, codes + int(values[0]), -1) if len(values) else codes


def plain(values: Array) -> Array:
    """Values as text, whole numbers, float64 or booleans of this machine: what can be compared and stored."""
    kind = values.dtype.kind
    if kind == "O":
        kinds = {type(value) for value in values.tolist()}
        if kinds and kinds <= {bool, np.bool_}:
            return values.astype(bool)
        if kinds and all(issubclass(each, (int, float, np.integer, np.floating)) for each in kinds):
            return values.astype(np.float64) if any(issubclass(k, (float, np.floating)) for k in kinds) else (
                values.astype(np.int64))  # fmt: skip
        if any(issubclass(each, (int, float, np.integer, np.floating)) for each in kinds) and str in kinds:
            text = next(value for value in values.tolist() if isinstance(value, str))
            raise ValueError(f"A column holds both numbers and text such as {text!r}; make it one or the other.")
        return values.astype(str)
    if kind in "mMV":
        raise ValueError(f"A column holds {values.dtype}; make text or numbers of it.")
    if kind == "S":
        return np.char.decode(values, "utf-8")
    if kind == "f":
        return values.astype(np.float64)
    return values.astype(np.int64) if kind in "iu" else values


@dataclass(frozen=True)
class States:
    """The states of one variable. With ``edges``, numbers are cut there: state i is edges[i−1] < x ≤ edges[i]."""

    name: str
    labels: Array
    edges: Array | None = None

    @property
    def size(self) -> int:
        return len(self.labels)

    def code(self, value: Any) -> int:
        """The number of a state, given as itself, as its text, or as a number that lies in it."""
        labels = self.labels.tolist()
        value = value.item() if isinstance(value, np.generic) else value
        for place, label in enumerate(labels):
            if label == value and isinstance(label, str) == isinstance(value, str):
                return place
        if self.edges is not None and isinstance(value, (int, float)) and value == value:
            return int(np.searchsorted(self.edges, value, side="left"))
        texts = [str(label) for label in labels]
        if texts.count(str(value)) == 1:
            return texts.index(str(value))
        raise ValueError(self.unknown(value))

    def _place(self, value: Any, unknown: int | None) -> int:
        try:
            return self.code(value)
        except ValueError:
            if unknown is None:
                raise
            return unknown

    def unknown(self, value: Any) -> str:
        return f"{self.name!r} has no state {value!r}; its states are {shown(self.labels.tolist())}."

    def encode(self, column: Column, unknown: int | None = None) -> Array:
        """The state of each row, −1 where it is missing; a value that is no state is refused, or ``unknown``."""
        if self.edges is not None and column.values.dtype.kind in "if":
            places = np.searchsorted(self.edges, column.values, side="left")
        elif np.array_equal(self.labels, column.values):
            return column.codes
        else:
            used = np.zeros(len(column.values) + 1, dtype=bool)
            used[column.codes] = True
            codes = [self._place(value, unknown) if used[i] else -1 for i, value in enumerate(column.values.tolist())]
            places = np.array(codes, dtype=np.int64)
        return np.append(places, -1)[column.codes]


def column_names(columns: Sequence[Column]) -> list[str]:
    """The names of columns, which must differ."""
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise ValueError(f"The columns of X must have different names, but they are {shown(names)}.")
    return names


def given_states(given: Any, name: str) -> States:
    """States as the parameter ``states`` gives them: a list, or how many there are."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        given = list(range(int(given)))
    labels = plain(np.asarray(list(given), dtype=object))
    if not len(labels) or len(set(labels.tolist())) < len(labels):
        raise ValueError(f"states of {name!r} must be different, and at least one, but they are {shown(list(given))}.")
    return States(name, labels)


def states_of(seen: Column, weights: Array, max_states: int, n_bins: int, given: Any = None) -> States:
    """The states of a column: those given, or else its values, of which rows without weight have had no part."""
    if given is not None:
        return given_states(given, seen.name)
    if not len(seen.values):
        raise ValueError(f"Column {seen.name!r} has no value at all. Leave it out, or give its states.")
    if seen.values.dtype.kind not in "if" or seen.declared:
        return States(seen.name, seen.values)
    if len(seen.values) <= max_states:
        whole = (seen.values == np.floor(seen.values)).all()
        return States(seen.name, seen.values, None if whole else _between(seen.values))
    edges = _quantiles(seen, weights, n_bins)
    return States(seen.name, np.array(_intervals(edges)), edges)


def _quantiles(column: Column, weights: Array, n_bins: int) -> Array:
    """Values below or at which 1/n, 2/n, … of the weight lies; the largest value is no edge."""
    known = column.codes >= 0
    mass = np.cumsum(np.bincount(column.codes[known], weights=weights[known], minlength=len(column.values)))
    at = np.searchsorted(mass, mass[-1] * np.arange(1, n_bins) / n_bins, side="left")
    inner = np.unique(at[at < len(column.values) - 1])
    return column.values[inner if len(inner) else [-2]].astype(np.float64)  # most of the weight may be on the largest


def _between(values: Array) -> Array:
    """Edges half way between numbers (or at the lower one), so that others belong to the nearest."""
    low, high = values[:-1], values[1:]
    with np.errstate(over="ignore"):
        half = low + (high - low) / 2
    return np.where((low <= half) & (half < high), half, low)


def _intervals(edges: Array) -> list[str]:
    """Names of the states between edges, with as few digits as tell edges apart."""
    for digits in range(4, 18):
        texts = [f"{edge:.{digits}g}" for edge in edges.tolist()]
        if len(set(texts)) == len(texts):
            break
    inner = [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
    return [f"≤ {texts[0]}", *inner, f"> {texts[-1]}"]


def shown(values: Sequence[Any]) -> str:
    """Some values for an error message."""
    listed = ", ".join(repr(value) for value in values[:SHOWN])
    return listed if len(values) <= SHOWN else f"{listed}, … ({len(values)} in all)"


def called(name: Any, names: Sequence[str]) -> Any:
    """The name that is meant: a whole number is its text, where that is a name, or else a place."""
    if not isinstance(name, (int, np.integer)) or isinstance(name, bool):
        return name
    return str(name) if str(name) in names or not 0 <= name < len(names) else names[int(name)]


def find(name: Any, names: Sequence[str], what: str = "variable") -> int:
    """The place of a name; ValueError with the nearest known names if it is not there."""
    try:
        return names.index(called(name, names))
    except ValueError:
        pass
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" There are {shown(names)}."
    raise ValueError(f"There is no {what} {name!r} in this network.{hint}")


def find_all(wanted: Any, names: Sequence[str]) -> list[int]:
    """The places of one name or of several different ones."""
    several: Iterable[Any] = [wanted] if isinstance(wanted, (str, int, np.integer)) else list(wanted)
    found = [find(name, names) for name in several]
    if len(set(found)) < len(found):
        raise ValueError(f"A variable is named twice: {shown(list(several))}.")
    return found
