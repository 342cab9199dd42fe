"""Powers of two by which numbers are multiplied so that their squares neither overflow nor vanish: no digit is lost."""

from __future__ import annotations

import math

import numpy as np

from corollary.core.parallel import block_rows, map_blocks
from corollary.core.types import Array


def unit_scale(size: float) -> float:
    """The power of two that brings ``size`` to between a half and one; 1 for zero."""
    if size == 0:
        return 1.0
    exponent = math.frexp(size)[1] if math.isfinite(size) else 1025
    return math.ldexp(1.0, max(-1000, min(1000, -exponent)))


def row_lengths(X: Array) -> Array:
    """The Euclidean length of each row of a dense X, without overflow, for rows that must have a direction."""

    def task(start: int, stop: int) -> Array:
        block = X[start:stop].astype(np.float64)
        largest = np.abs(block).max(axis=1)
        safe = np.where(largest > 0, largest, 1.0)
        block /= safe[:, None]
        return np.asarray(safe * np.sqrt(np.einsum("ij,ij->i", block, block)))

    return check_lengths(np.concatenate(list(map_blocks(task, len(X), block_rows(len(X), 8 * X.shape[1])))))


def check_lengths(lengths: Array) -> Array:
    """The lengths, if all rows have a direction."""
    if not (lengths > 0).all():
        row = int(np.argmin(lengths > 0))
        raise ValueError(
            "metric='cosine' needs rows that have a direction, and a row of zeros has none, but "
            f"row {row} of X is zero."
        )
    return lengths
