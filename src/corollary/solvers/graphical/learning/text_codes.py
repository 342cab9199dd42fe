"""Text of frames as numbered values, without making a Python string of each cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array

SOME = 1024
TEXT = ("str", "string", "string[pyarrow]", "large_string[pyarrow]", "String", "large_string")


def text_codes(column: Any, room: Array | None = None) -> tuple[Array, Array] | None:
    """(number of each row's value, values in increasing order) of a column that Arrow can show; None if it cannot.

    A column with gaps, or with more than some hundred different values, is left to others. Numbers are written into
    ``room``, if it is given: as many int16.
    """
    arrow = _arrow(column)
    if arrow is None:
        return None
    from corollary._compiled.graphical.text import MOST, SLOTS, encode_text

    _, offsets, text = arrow.buffers()
    n, begin = len(arrow), arrow.offset
    kind = np.int64 if str(arrow.type) == "large_string" else np.int32
    places = np.frombuffer(offsets, dtype=kind)[begin : begin + n + 1]
    letters = np.frombuffer(text, dtype=np.uint8) if text is not None and text.size else np.zeros(0, dtype=np.uint8)
    codes, firsts = np.empty(n, dtype=np.int16) if room is None else room, np.empty(MOST, dtype=np.int64)
    work = np.empty(SLOTS, dtype=np.int16), np.empty(MOST, dtype=np.uint64), np.empty(MOST, dtype=np.int64)
    table = np.empty(SLOTS, dtype=np.uint64), np.empty(SLOTS, dtype=np.int16)
    some = min(n, SOME)  # most values are among the first rows: these are put in order before the others are read
    count = int(encode_text(places[: some + 1], letters, 0, firsts, *work, *table, codes[:some]))
    if count < 0:
        return None
    values, order = _sorted(arrow, firsts[:count])
    firsts[:count] = firsts[order]
    before, count = count, int(encode_text(places, letters, count, firsts, *work, *table, codes))
    if count < 0:
        return None
    if count > before:
        values, order = _sorted(arrow, firsts[:count])
        _renumber(codes, order)
    return codes, values


def _sorted(arrow: Any, rows: Array) -> tuple[Array, list[int]]:
    """The values of some rows in increasing order, and how they are to be taken for that."""
    values = [arrow[row].as_py() for row in rows.tolist()]
    order = sorted(range(len(values)), key=values.__getitem__)
    return np.array([values[k] for k in order], dtype=str), order


def _renumber(numbers: Array, order: list[int]) -> None:
    """Let number order[k] be k."""
    places = np.empty(len(order), dtype=numbers.dtype)
    places[order] = np.arange(len(order))
    numbers[:] = places[numbers]


def _arrow(column: Any) -> Any:
    """The column as one Arrow array of text without gaps, if it is one and nothing has to be made for it."""
    kind = getattr(column, "dtype", None) or getattr(column, "type", None)  # the latter is Arrow's own
    if not hasattr(column, "__arrow_c_stream__") or str(kind) not in TEXT:
        return None
    try:
        import pyarrow as pa
    except ImportError:
        return None
    inside: Any = getattr(column, "array", None)  # of pandas, which says the same more quickly
    chunks = inside.__arrow_array__() if hasattr(inside, "__arrow_array__") else pa.chunked_array(column)
    if str(chunks.type) == "string_view":  # of polars
        chunks = chunks.cast(pa.large_string())
    if chunks.num_chunks != 1 or str(chunks.type) not in ("string", "large_string") or chunks.null_count:
        return None
    return chunks.chunk(0) if len(chunks) else None
