"""Scaling that loses no digit: powers of two that keep squares within float64, and the lengths of rows."""

from __future__ import annotations

import numpy as np

from corollary.core.parallel import block_rows, map_blocks
from corollary.core.types import Array

MOST = 1000  # exponents beyond this would leave no room for the scale itself


def exponent_of(reach: float) -> int:
    """The exponent e for which numbers up to ``reach``, divided by 2**e, are below 1; 0 if all are zero."""
    if not np.isfinite(reach):
        raise ValueError(
            "The range of the numbers overflows float64. Rescale the columns of X to magnitudes below 1e100 "
            "(StandardScaler does)."
        )
    return int(np.clip(np.frexp(reach)[1], -MOST, MOST)) if reach > 0 else 0


def power_of_two(reach: float) -> float:
    """The factor that brings numbers up to ``reach`` below 1."""
    return float(np.ldexp(1.0, -exponent_of(reach)))


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
