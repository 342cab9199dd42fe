"""A table of distances that somebody else made: refused, naming an entry, if it cannot be one."""

from __future__ import annotations

import numpy as np

from corollary._compiled.medoids.swaps import square_faults
from corollary.core.parallel import map_blocks
from corollary.core.types import Array

_SQUARE = 64  # rows that are looked at together


def distance_table(matrix: Array) -> Array:
    """The matrix in C order, if it is square and all its entries are distances."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"metric='precomputed' expects the distances of all rows to all rows, a square matrix; X has shape "
            f"{matrix.shape}."
        )
    if not matrix.flags.c_contiguous:
        # a symmetric matrix in Fortran order is its own transpose in C order, without a copy
        matrix = matrix.T if matrix.T.flags.c_contiguous else np.ascontiguousarray(matrix)
    check_square(matrix, "X")
    return matrix


def check_square(matrix: Array, name: str) -> None:
    """Raise ValueError, naming an entry, unless all distances are finite, not negative and symmetric."""
    closeness = 1e-4 if matrix.dtype == np.float32 else 1e-8
    parts = map_blocks(lambda a, b: square_faults(matrix, a, b, closeness), len(matrix), 4 * _SQUARE)
    bad, unlike = (sum(found) for found in zip(*parts, strict=True))
    if bad:
        checked(matrix, name)
    if unlike:
        i, j = next(
            (i, int(np.flatnonzero(wrong)[0]))
            for i in range(len(matrix))
            if (wrong := np.abs(matrix[i] - matrix[:, i]) > closeness * np.maximum(matrix[i], matrix[:, i])).any()
        )
        raise ValueError(
            f"Distances must be symmetric, but {name} has {matrix[i, j]:g} from row {i} to row {j} and "
            f"{matrix[j, i]:g} back. Use a symmetric metric, for instance the mean of both directions."
        )


def checked(block: Array, name: str = "the metric") -> Array:
    """The block, if every distance in it is finite and not negative."""
    if np.isfinite(block.sum(dtype=np.float64)) and (block.size == 0 or block.min() >= 0):
        return block
    if np.isnan(block).any():
        raise ValueError(f"Distances must be numbers, but {name} contains NaN.")
    if not np.isfinite(block).all():
        raise ValueError(f"Distances must be finite, but {name} contains infinity.")
    if block.min() < 0:
        raise ValueError(f"Distances must not be negative, but {name} has {block.min():g}.")
    raise ValueError("The sum of the distances overflows float64. Rescale the distances to magnitudes below 1e100.")
