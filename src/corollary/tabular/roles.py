"""What each column is for: number, boolean, category, date, or left out and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd

from corollary.tabular.messages import InputError, as_option, count, listed, shown
from corollary.tabular.reading import Table
from corollary.tabular.spellings import Spelling, find_spelling, usual_decimals
from corollary.tabular.values import all_numbers, date_format, is_plain_number, label, labels, numbers, strangers

MINIMUM_ROWS = 5
_BOOLEAN_WORDS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"}, {"on", "off"})
_IDENTIFIER_NAME = re.compile(
    r"(?i)^(unnamed: ?\d+|index|row(_?(number|id|no))?|(.*[_\s.-])?(id|uuid|guid|key))$|.*[a-z]Id$"
)


class Role(Enum):
    """How a column is used; the value is the word shown to people."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"
    UNUSED = "left out"


@dataclass(frozen=True)
class Column:
    """One column of the table: its role, its missing and distinct values, and a note worth reading."""

    name: str
    role: Role
    missing: int
    distinct: int
    note: str = ""
    date_format: str = ""
    decimal: str = ""  # the mark of numbers that are written as people do: $3,750.50


@dataclass(frozen=True)
class DataFacts:
    """Where the data came from and what they look like."""

    source: str
    sha256: str
    rows: int
    columns: tuple[Column, ...]
    rows_without_target: int = 0
    id: str | None = None  # the column that names the rows, which no model sees

    @property
    def used(self) -> list[Column]:
        """The columns that are not left out."""
        return [column for column in self.columns if column.role is not Role.UNUSED]


def choose_columns(table: Table, columns: Sequence[str] = (), drop: Sequence[str] = ()) -> tuple[Any, DataFacts]:
    """The used columns among those asked for (all by default), less those to leave out, and the facts about them."""
    frame, source = table.frame, table.source
    for option, names in (("--columns", columns), ("--drop", drop)):
        refuse_unknown(frame, option, names, source)
    kept = [name for name in (columns or frame.columns) if name not in set(drop)]
    if not kept:
        raise InputError(f"{source}: no column is left to find clusters in")
    refuse_few_rows(len(frame), source, "finding clusters")
    facts = DataFacts(source, table.sha256, len(frame), find_roles(frame[kept], source, text=False))
    return frame[[column.name for column in facts.used]], facts


def refuse_unknown(frame: Any, option: str, names: Sequence[str], source: str) -> None:
    """Refuse names that are not columns."""
    if unknown := [name for name in names if name not in frame.columns]:
        there = f"the columns are {listed(list(frame.columns), 8)}"
        raise InputError(f"{as_option(option, unknown[0])}: {source} has no such column; {there}")


def refuse_few_rows(rows: int, source: str, purpose: str) -> None:
    """Refuse tables too small for folds or clusters."""
    if rows < MINIMUM_ROWS:
        raise InputError(f"{source}: has {count(rows, 'row')} of data; {purpose} needs at least {MINIMUM_ROWS}")


def find_roles(frame: Any, source: str, *, categorical: Sequence[str] = (), text: bool = True) -> tuple[Column, ...]:
    """The role of every column of ``frame``, in order; at least one is used.

    Parameters
    ----------
    frame : DataFrame
    source : str
        What messages call it.
    categorical : sequence of str
        Columns whose values are categories, whatever they look like.
    text : bool, default True
        Whether free text can be used; if not, it is left out.

    Raises
    ------
    InputError
        If a column of numbers holds something else, or no column can be used.
    """
    if frame.shape[1] == 0:
        raise InputError(f"{source}: there is no column besides the target to predict it from")
    columns = tuple(
        _without_text(_column(frame[name], name, source, name in categorical), text) for name in frame.columns
    )
    if all(column.role is Role.UNUSED for column in columns):
        reasons = "; ".join(f"{shown(column.name)}: {column.note}" for column in columns[:3])
        more = f"; and {len(columns) - 3} more" if len(columns) > 3 else ""
        raise InputError(f"{source}: no usable column ({reasons}{more})")
    return columns


def _without_text(column: Column, text: bool) -> Column:
    if text or column.role is not Role.TEXT:
        return column
    return replace(column, role=Role.UNUSED, note=f"free text ({column.distinct:,} different values)")


def _column(series: Any, name: str, source: str, categorical: bool = False) -> Column:
    if is_plain_number(series) and not categorical:
        return _number(series, name)  # without making text of it: tables of numbers can be very wide
    try:
        texts = labels(series)
    except TypeError:
        return Column(name, Role.UNUSED, int(series.isna().sum()), 0, "nested values (lists or objects)")
    present = texts[texts != None]  # noqa: E711 (elementwise)
    distinct = pd.unique(present)
    missing = len(series) - len(present)

    def column(role: Role, note: str = "", form: str = "", decimal: str = "") -> Column:
        return Column(name, role, missing, len(distinct), note, form, decimal)

    kind = pd.api.types
    if nothing := _nothing(distinct, missing):
        return column(Role.UNUSED, nothing)
    if categorical:
        return column(Role.CATEGORY, "as asked")
    if kind.is_bool_dtype(series) or {text.lower() for text in distinct[:3]} in _BOOLEAN_WORDS:
        return column(Role.BOOLEAN)
    if kind.is_datetime64_any_dtype(series):
        return column(Role.DATE)
    if isinstance(series.dtype, pd.CategoricalDtype):
        return column(Role.CATEGORY)
    if kind.is_timedelta64_dtype(series):
        return column(Role.NUMBER)
    if kind.is_complex_dtype(series):
        return column(Role.UNUSED, "complex numbers")
    spelling = Spelling() if all_numbers(distinct) else find_spelling(distinct)
    if spelling.decimal:
        return column(Role.NUMBER, spelling.note, decimal=spelling.decimal)
    tried = (strangers(series, texts, decimal) for decimal in ("", *usual_decimals(distinct)))
    if odd := next(filter(None, tried), ""):
        advice = f"correct it, make it empty, or leave the column out with {as_option('--drop', name)}"
        raise InputError(f"{source}: column {shown(name)} holds numbers, but {odd}; {advice}")
    found = _text(present, distinct, column)
    return replace(found, note="; ".join(filter(None, (found.note, spelling.note))))


def _nothing(distinct: Any, missing: int) -> str:
    """Why a column can tell nothing, if it cannot."""
    if len(distinct) == 0:
        return "every value is missing"
    return f"constant (always {shown(distinct[0], 20)})" if len(distinct) == 1 and not missing else ""


def _number(series: Any, name: str) -> Column:
    found = numbers(series)
    gone = series.isna().to_numpy()
    distinct = pd.unique(series.to_numpy()[~gone])
    infinite = int(np.isnan(found).sum() - gone.sum())
    note = _nothing([label(value) for value in distinct[:2]], int(gone.sum()))
    role = Role.UNUSED if note else Role.NUMBER
    if not note and len(distinct) == len(found) and is_id_name(name) and np.all(found == np.floor(found)):
        role, note = Role.UNUSED, "identifier (every value differs)"
    elif not note and infinite:
        note = f"{count(infinite, 'infinite value')} treated as missing"
    return Column(name, role, int(gone.sum()), len(distinct), note)


def is_id_name(name: str) -> bool:
    """Whether a column of this name is likely to number things: ``id``, ``userId``, ``row_number``."""
    return _IDENTIFIER_NAME.match(name) is not None


def _text(present: Any, distinct: Any, column: Any) -> Column:
    result: Column
    many = len(distinct) > 5 and len(distinct) > 0.5 * len(present)
    if all_numbers(distinct):
        result = column(Role.NUMBER)
    elif form := date_format(distinct):
        note = "read as month/day/year" if form.startswith("%m/%d") and _day_first(distinct) else ""
        result = column(Role.DATE, note, form)
    elif many and np.mean([text.count(" ") for text in distinct[:1000]]) >= 2:
        result = column(Role.TEXT, "free text, used by its words")
    elif many:
        how_many = f"{len(distinct):,} different values in {count(len(present), 'row')}"
        result = column(Role.UNUSED, f"identifier ({how_many})")
    else:
        result = column(Role.CATEGORY)
    return result


def _day_first(distinct: Any) -> bool:
    """Whether day/month/year would have fitted as well."""
    other = pd.to_datetime(pd.Series(distinct[:200], dtype=object), format="%d/%m/%Y", errors="coerce")
    return not other.isna().any()


def tally(columns: tuple[Column, ...]) -> str:
    """``"6 numbers, 8 categories, 1 left out"``."""
    plurals = {Role.CATEGORY: "categories", Role.TEXT: "text", Role.UNUSED: "left out"}
    counts = {role: sum(column.role is role for column in columns) for role in Role}
    return ", ".join(count(n, role.value, plurals.get(role, "")) for role, n in counts.items() if n)
