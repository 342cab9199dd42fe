"""The door for integers that float64 cannot tell apart: beyond 2⁵³ neighbours become one number when they are cast."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.types import Array

FARTHEST = 2**53  # up to here every integer is a number of float64


def refuse_far_integers(X: Any, but: Container[int] = ()) -> None:
    """Raise ValueError if X has integers beyond 2⁵³, unless in one of the columns ``but``, which are not cast.

    A sparse X has come through ``sparse_input.sound`` before.

    Cost: the smallest and the largest of numbers of type int64 and uint64; of any other type nothing is looked at.
    """
    for column, low, high in _ranges(X, but):
        if low < -FARTHEST or high > FARTHEST:
            where = "X" if column is None else f"Column {column} of X"
            raise ValueError(
                f"{where} has integers as far from zero as {max(-low, high)}, and beyond 2**53 = {FARTHEST} different "
                "ones become equal in float64. Subtract an offset first, or pass float64 if their last digits do not "
                "matter."
            )


def _ranges(X: Any, but: Container[int]) -> Iterator[tuple[int | None, int, int]]:
    """The column (None: all of X), the smallest and the largest entry, of whatever has integers of eight bytes."""
    if sparse.issparse(X):
        yield from _range(None, X.data)
    elif isinstance(X, (np.ndarray, list, tuple)):
        values: Array = np.empty(0)
        with suppress(TypeError, ValueError):  # which scikit-learn refuses in its own words
            values = np.asarray(X)
        if but and values.ndim == 2:
            for j in range(values.shape[1]):
                if j not in but:
                    yield from _range(j, values[:, j])
        else:
            yield from _range(None, values)
    else:
        yield from _ranges_of_frame(X, but)


def _range(column: int | None, values: Array) -> Iterator[tuple[int | None, int, int]]:
    if values.dtype.kind in "iu" and values.dtype.itemsize > 4 and values.size:
        yield column, int(values.min()), int(values.max())


def _ranges_of_frame(X: Any, but: Container[int]) -> Iterator[tuple[int | None, int, int]]:
    for j, column in _integer_columns(X):
        if j not in but:
            low, high = column.min(), column.max()
            if isinstance(low, Integral):  # it is none if all are missing
                yield j, int(low), int(high)


def _integer_columns(X: Any) -> Iterator[tuple[int, Any]]:
    """Columns of type int64 and uint64 of a frame; of pandas by their places, for names may be there twice."""
    if hasattr(X, "iloc"):
        for j, dtype in enumerate(X.dtypes if X.ndim == 2 else ()):
            if getattr(dtype, "kind", "") in ("i", "u") and dtype.itemsize > 4:
                yield j, X.iloc[:, j]
        return
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for j, dtype in enumerate(frame.schema.dtypes()):
            if dtype in (nw.Int64, nw.UInt64):
                yield j, frame[:, j]
