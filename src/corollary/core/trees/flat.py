"""The memory of a dense table as one line of numbers, so that kernels need one compiled version for every layout."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from corollary.core.types import Array


class Flat(NamedTuple):
    """Cell (i, f) is at ``origin + i · row_step + f · column_step`` of the one line that is not empty.

    Kernels read it and write nothing. There is a line for each type, so that a kernel is compiled for both at once.
    """

    doubles: Array  # float64
    singles: Array  # float32
    origin: int
    row_step: int
    column_step: int
    n_rows: int


class _Memory:
    """Numbers at an address, which stay as long as somebody has this."""

    def __init__(self, owner: Array, address: int, count: int) -> None:
        self.owner = owner
        # as if they could be written: what is read-only would be a type of its own to the compiler
        self.__array_interface__ = {
            "version": 3, "typestr": owner.dtype.str, "shape": (count,), "data": (address, False),
        }  # fmt: skip


def flatten(X: Any) -> Flat:
    """The memory of X, of any layout, read-only or not. A copy only if numbers are not float32 or float64 in place."""
    X = np.asarray(X)
    size = X.itemsize
    plain = X.dtype.kind == "f" and size in (4, 8) and X.dtype.isnative and X.flags.aligned
    if not plain or any(step % size for step in X.strides) or not X.size:
        X = np.array(X, dtype=np.float64, order="C")
        size = 8
    steps = [stride // size if length > 1 else 0 for stride, length in zip(X.strides, X.shape, strict=True)]
    reaches = [step * (length - 1) for step, length in zip(steps, X.shape, strict=True)]
    origin = -sum(min(0, reach) for reach in reaches)
    count = origin + sum(max(0, reach) for reach in reaches) + 1 if X.size else 0
    memory = _Memory(X, X.__array_interface__["data"][0] - size * origin, count)
    line = np.asarray(memory)
    doubles, singles = (line, np.empty(0, np.float32)) if size == 8 else (np.empty(0), line)
    return Flat(doubles, singles, origin, steps[0], steps[1], X.shape[0])
