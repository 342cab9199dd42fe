"""The door for y: a label or a target that is missing, or not finite, is refused with the number of its row."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from corollary.core.types import Array


def refuse_missing(y: Any, *, numeric: bool) -> None:
    """Raise ValueError if an entry of y is None, NaN, NaT or NA, or infinite where a number is meant.

    ``numeric`` says that y will be read as numbers, as the targets of a regression are. What is not an array or a
    sequence at all is left to those who read y.
    """
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        _refuse(np.ma.getmaskarray(y), "missing values", "masked")
    try:
        values = np.asarray(y)
        if values.dtype.kind in "US" and isinstance(y, (list, tuple)):
            values = np.asarray(y, dtype=object)  # NumPy writes None and NaN among texts as "None" and "nan"
    except (TypeError, ValueError):
        return
    if values.dtype.kind in "fc":
        _refuse_not_finite(values)
    elif values.dtype.kind in "mM":
        _refuse(np.isnat(values), "missing values", "NaT")
    elif values.dtype.kind not in "biuUS":
        _refuse_objects(values.astype(object), numeric)


def missing(column: Array) -> Array:
    """Which entries of an array of objects are None, NaN, NaT or NA."""
    found = np.array([_is_missing(value) for value in column.ravel().tolist()], dtype=bool)
    return found.reshape(column.shape)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas will not say whether NA differs from NA
        return True
    except ValueError:  # an array, which those who read y refuse
        return False


def _refuse_objects(values: Array, numeric: bool) -> None:
    different: Iterable[Any] = values.ravel().tolist()
    with suppress(TypeError):
        different = set(different)  # a few labels, as a rule, of many rows
    if any(map(_is_missing, different)):
        where = missing(values)
        first = values.ravel()[np.flatnonzero(where)[0]]
        _refuse(where, "NaN" if isinstance(first, float) else "missing values", repr(first))
    if numeric:
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError):
            return
        _refuse_not_finite(numbers)


def _refuse_not_finite(values: Array) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    _refuse(np.isnan(values), "NaN", "NaN")
    _refuse(np.isinf(values), "infinity", "infinite")


def _refuse(where: Array, what: str, value: str) -> None:
    rows = np.flatnonzero(where.any(axis=1) if where.ndim > 1 else where)
    if rows.size:
        more = f", and so are {rows.size - 1} more" if rows.size > 1 else ""
        raise ValueError(
            f"Input y contains {what}: row {rows[0]} (counted from 0) is {value}{more}. Leave out the rows whose "
            "answer is not known."
        )
