"""What is in one column: missing values, numbers, category labels, dates. The folds and ``predict`` share these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from corollary.tabular.messages import shown
from corollary.tabular.spellings import written_numbers

MISSING_TEXT = frozenset(("", "?"))
_DATE_LIKE = re.compile(r"^\s*(\d{4}-\d{2}|\d{1,4}[-/. ]\w{1,9}[-/., ]+\d{1,4}|[A-Za-z]{3,9}\.? \d{1,2}, ?\d{4})")
_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")
DATE_FORMATS = ("ISO8601", *(day + time for day in _DAYS for time in _TIMES))


def is_plain_number(series: Any) -> bool:
    """Whether the column's type is numeric (booleans, dates and categories are not)."""
    kind = pd.api.types
    return bool(kind.is_numeric_dtype(series) and not kind.is_bool_dtype(series) and not kind.is_complex_dtype(series))


def all_numbers(texts: Sequence[Any] | NDArray[np.object_]) -> bool:
    """Whether every one of these texts is a number."""
    return not pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").isna().any()


def row_number(series: Any, position: int) -> str:
    """The row of the table, counted from 1, that stands at ``position`` (rows may have been left out before it)."""
    index = series.index[position]
    return f"{(int(index) if isinstance(index, int | np.integer) else int(position)) + 1:,}"


def labels(series: Any) -> NDArray[np.object_]:
    """The column as text, ``None`` where it is missing; ``3`` and ``3.0`` are the same label.

    Cost: one pass, and one conversion for each distinct value.
    """
    codes, distinct = pd.factorize(pd.Series(series))
    texts = [label(value) for value in distinct]
    table = np.array([*(None if text in MISSING_TEXT else text for text in texts), None], dtype=object)
    found: NDArray[np.object_] = table[codes]  # code −1 (missing) picks the None at the end
    return found


def label(value: Any) -> str:
    """One value as text."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def numbers(series: Any, decimal: str = "") -> NDArray[np.float64]:
    """The column as float64; missing and infinite values are NaN. Other text is an error that names the row.

    ``decimal`` is the mark of numbers that are written as people do (``$3,750.50``), if they are.
    """
    series = pd.Series(series)
    if pd.api.types.is_timedelta64_dtype(series):
        series = series.dt.total_seconds()
    if is_plain_number(series) or pd.api.types.is_bool_dtype(series):
        found: NDArray[np.float64] = series.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    else:
        texts = labels(series)
        found = written_numbers(texts, decimal)
        wrong = np.flatnonzero(np.isnan(found) & (texts != None))  # noqa: E711 (elementwise)
        if wrong.size:
            more = f" and {wrong.size - 1:,} more" if wrong.size > 1 else ""
            raise ValueError(f"{shown(texts[wrong[0]])} in row {row_number(series, wrong[0])}{more} is not a number")
    found[np.isinf(found)] = np.nan
    return found


def strangers(series: Any, texts: NDArray[np.object_], decimal: str = "") -> str:
    """What spoils a column of numbers, in words; empty if it is not one, or nothing does.

    A column is meant to be numeric when nine in ten of its values are numbers, of more than twenty kinds.
    """
    present = np.flatnonzero(texts != None)  # noqa: E711 (elementwise)
    codes, distinct = pd.factorize(texts[present])
    strange = np.isnan(written_numbers(distinct, decimal))
    odd = present[strange[codes]]
    if not 0 < len(odd) <= 0.1 * len(present) or (~strange).sum() <= 20:
        return ""
    first = f"{shown(texts[odd[0]])} in row {row_number(series, odd[0])}"
    return f"{first} is not a number" if len(odd) == 1 else f"{first} and {len(odd) - 1:,} other values are not numbers"


def date_format(texts: NDArray[np.object_]) -> str | None:
    """The first known format in which every one of these texts is a date, or ``None``."""
    if not all(_DATE_LIKE.match(text) for text in texts[:20]):
        return None
    for candidate in DATE_FORMATS:
        head = pd.to_datetime(pd.Series(texts[:200], dtype=object), format=candidate, errors="coerce", utc=True)
        if head.isna().any():
            continue
        whole = pd.to_datetime(pd.Series(texts, dtype=object), format=candidate, errors="coerce", utc=True)
        if not whole.isna().any():
            return candidate
    return None


def dates(series: Any, form: str = "") -> Any:
    """The column as UTC timestamps (missing: NaT). ``form`` is a known format, or ``""`` for a column of dates."""
    series = pd.Series(series)
    if pd.api.types.is_datetime64_any_dtype(series):
        return pd.to_datetime(series, utc=True).reset_index(drop=True)
    texts = labels(series)
    found = pd.to_datetime(pd.Series(texts, dtype=object), format=form or "ISO8601", errors="coerce", utc=True)
    wrong = np.flatnonzero(found.isna().to_numpy() & (texts != None))  # noqa: E711 (elementwise)
    if wrong.size:
        expected = "year-month-day" if form in ("", "ISO8601") else form
        row = row_number(series, wrong[0])
        raise ValueError(f"{shown(texts[wrong[0]])} in row {row} is not a date (expected {expected})")
    return found
