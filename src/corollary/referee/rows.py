"""What all parts of the referee share: rows as dense arrays, their extended precision, and how claims are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
LONG = np.longdouble
EPS = float(np.finfo(np.float64).eps)
ROUNDED = 1.01  # a fit works its number out in float64, and may stop when that is below the tolerance by a hair


def dense(X: Any) -> Array:
    """The rows as a dense array of extended precision, which nothing else holds."""
    return (X.toarray() if hasattr(X, "toarray") else np.asarray(X)).astype(LONG)


def unit(rows: Array) -> Array:
    """Rows of length one; zeros stay."""
    size = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.where(size > 0, rows / np.where(size > 0, size, 1), 0)
