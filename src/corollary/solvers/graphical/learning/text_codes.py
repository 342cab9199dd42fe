"""Text of frames as numbered values, without making a Python string of each cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array

SOME = 1024
TEXT = ("str", "string", "string[pyarrow]", "large_string[pyarrow]", "String", "large_string")


def text_codes(column: Any) -> tuple[Array, Array] | None:
    """(number of each row's value, values in increasing order) of a column that Arrow can show; None if it cannot.

    A column with gaps, or with more than some hundred different values, is left to others.
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
    codes, slots = np.empty(n, dtype=np.int16), np.full(SLOTS, -1, dtype=np.int16)
    known = np.zeros(MOST, dtype=np.uint64), np.full(MOST, -1, dtype=np.int64), np.zeros(MOST, dtype=np.int64)
    some = min(n, SOME)  # most values are among the first rows: these are put in order before the others are read
    count = int(encode_text(places[: some + 1], letters, 0, slots, *known, codes[:some]))
    if count < 0:
        return None
    values, order = _sorted(arrow, known[2], count)
    for part in known:
        part[:count] = part[:count][order]
    _renumber(slots, order)
    before, count = count, int(encode_text(places, letters, count, slots, *known, codes))
    if count < 0:
        return None
    if count > before:
        values, order = _sorted(arrow, known[2], count)
        _renumber(codes, order)
    return codes, values


def _sorted(arrow: Any, rows: Array, count: int) -> tuple[Array, Array]:
    """Values in increasing order, and how they are to be taken for that."""
    values = np.array([arrow[int(row)].as_py() for row in rows[: max(count, 0)]], dtype=str)
    order = np.argsort(values)
    return values[order], order


def _renumber(numbers: Array, order: Array) -> None:
    """Let number order[k] be k; −1 stays."""
    places = np.full(len(order) + 1, -1, dtype=numbers.dtype)
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
