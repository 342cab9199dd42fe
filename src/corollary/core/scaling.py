"""Scaling that loses no digit: powers of two that keep squares within float64, and the lengths of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.parallel import block_rows, map_blocks
from corollary.core.types import Array

SQUARED = 2.0**500  # numbers up to this, and down to its inverse, have squares with all their digits
MOST = 1000  # exponents beyond this would leave no room for the scale itself


def exponent_of(reach: float) -> int:
    """The exponent e for which numbers up to ``reach``, divided by 2**e, are below 1; 0 if all are zero."""
    if not np.isfinite(reach):
        raise ValueError(
            "The range of the numbers overflows float64. Rescale the columns of X to magnitudes below 1e100 "
            "(StandardScaler does)."
        )
    return int(exponents_of(reach))


def exponents_of(reach: Array | float) -> Array:
    """As :func:`exponent_of` for each of many, which need not be finite."""
    return np.where(np.greater(reach, 0), np.clip(np.frexp(reach)[1], -MOST, MOST), 0)


def powers_above(reach: Array) -> Array:
    """The powers of two next above many numbers; 1 for zero."""
    return np.ldexp(1.0, exponents_of(reach))


def check_squares(reach: float) -> None:
    """Refuse numbers that reach so far, where their squares are not finite or, unless all are zero, are lost."""
    if reach and not 1 / SQUARED <= reach <= SQUARED:
        raise ValueError(
            f"X reaches {reach:.3g} from its middle, where squares {'overflow' if reach > 1 else 'vanish in'} float64. "
            "Multiply X by a power of two that brings it near 1."
        )


def power_of_two(reach: float) -> float:
    """The factor that brings numbers up to ``reach`` below 1."""
    return float(np.ldexp(1.0, -exponent_of(reach)))


def scale_about(centre: Array, low: Array, high: Array) -> float:
    """The factor that brings columns from ``low`` to ``high``, with the centre taken away, below 1."""
    return power_of_two(float(np.maximum(high - centre, centre - low).max()))


def magnitude(X: Any) -> float:
    """The largest absolute value in X, dense or sparse."""
    values = X.data if scipy.sparse.issparse(X) else X
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def answer_type(dtype: Any, reach: float) -> Any:
    """The type of predictions of rows of type ``dtype`` by a model whose answers go up to ``reach``.

    That of the rows; but float32 has no numbers beyond 3e38, and below 1e-30 not all of its digits.
    """
    narrow = np.finfo(np.float32)
    fits = reach == 0 or float(narrow.tiny / narrow.eps) <= reach <= float(narrow.max)
    return dtype if dtype != np.float32 or fits else np.dtype(np.float64)


def of_length_one(rows: Array) -> Array:
    """A few rows in float64, each divided by its length, without overflow; zeros stay."""
    rows = rows / powers_above(np.abs(rows).max(axis=1, initial=0.0))[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0)[:, None])


def sparse_row_lengths(X: Any) -> Array:
    """The Euclidean length of each row of a CSR matrix; see :func:`row_lengths`."""
    scale, row_of = power_of_two(magnitude(X)), np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    squares = np.bincount(row_of, (X.data.astype(np.float64) * scale) ** 2, X.shape[0])
    return check_lengths(np.sqrt(squares)) / scale


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
            "Cosine affinity cannot be used when X contains zero vectors: metric='cosine' needs rows that have a "
            f"direction, and a row of zeros has none, but row {row} of X is zero."
        )
    return lengths
