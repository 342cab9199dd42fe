"""The door for numbers whose squares leave float64: a column of X, or a target, that is too large or too small.

Losses, Gram matrices and gaps are sums of w x² and w y². With weights of at most ``LARGEST`` these are numbers, neither
infinite nor zero, while |x| lies between ``LEAST`` and ``MOST``. A column (or y) that is beyond in all its entries
cannot be told from one of zeros, and what is then shown of a model is shown of another problem: it is refused, with
what to do. Multiplying by a power of two changes no digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.types import Array

MOST, LEAST = 2.0**450, 2.0**-450  # about 1e±135: squares times weights of 2^±100 are numbers still
SQUARES = 2.0**505  # about 1e152: how far the targets of trees may go, where nothing is multiplied by their squares
SMALL = 1 << 16  # numbers, up to which all of X is looked at
ROWS = 64  # of a larger one


def refuse_columns(largest: Array, known_as: str = "") -> None:
    """Raise ValueError for a column of X whose squares vanish or overflow, by the largest |x| of each."""
    if (bad := _beyond(largest)) is not None:
        also = f" (In scikit-learn: {known_as}.)" if known_as else ""
        advice = "Rescale it by a power of two (StandardScaler will do)."
        raise ValueError(f"Column {bad[0]} of X {bad[1]}. {advice}{also}")


def refuse_targets(y: Array, weights: Array, most: float = MOST) -> None:
    """Raise ValueError if the squares of y, or of one of its columns, vanish or overflow in rows that count.

    ``most`` and its reciprocal are as far as y may go.
    """
    if not np.issubdtype(y.dtype, np.floating):
        return
    largest = np.atleast_1d(np.abs(y if weights.all() else y[weights > 0]).max(axis=0, initial=0.0))
    if (bad := _beyond(largest, most)) is not None:
        which = "y" if len(largest) == 1 else f"Column {bad[0]} of y"
        raise ValueError(f"{which} {bad[1]}. Rescale it by a power of two, and a penalty with it.")


def largest_seen(X: Any) -> Array:
    """max |x| of each column, as far as ``refuse_columns`` needs it: ones stand for columns that are within reach.

    Those are all columns of float32, and of a sparse X whose every entry is. Of a large dense X a sample of rows is
    looked at, and all of a column that is zero there. One that is too large in other rows only makes sums that are not
    finite, which solvers refuse.
    """
    if X.dtype == np.float32:  # its squares are numbers of float64
        return np.ones(X.shape[1])
    if sparse.issparse(X):
        return _largest_sparse(X)
    n = X.shape[0]
    every = 1 if X.size <= SMALL else max(1, n // ROWS)
    # where rows are scattered, those that lie side by side: a page of memory for each entry would be half of X
    sample = X[:ROWS] if every > 1 and X.flags.f_contiguous else X[::every]
    largest: Array = np.abs(sample).max(axis=0, initial=0.0)
    step = max(ROWS, SMALL // max(1, X.shape[1]))
    for start in range(0, n if X.size > SMALL else 0, step):
        small = np.flatnonzero(largest < LEAST)
        if not small.size:
            break
        largest[small] = np.maximum(largest[small], np.abs(X[start : start + step, small]).max(axis=0))
    return largest


def _largest_sparse(X: Any) -> Array:
    for start in range(0, X.nnz, SMALL):  # a copy of all entries would be half of X
        sizes = np.abs(X.data[start : start + SMALL])
        if sizes.min() < LEAST or sizes.max() > MOST:
            largest: Array = abs(X).max(axis=0).toarray().ravel()
            return largest
    return np.ones(X.shape[1])  # as a rule: columns need not be told apart


def _beyond(largest: Array, most: float = MOST) -> tuple[int, str] | None:
    """The first entry that is out of reach, and how."""
    bad = np.flatnonzero((largest > most) | ((largest < 1 / most) & (largest > 0)))
    if not bad.size:
        return None
    size = float(largest[bad[0]])
    if size > most:
        return int(bad[0]), f"reaches {size:.3g}, and above {most:.0e} squares overflow float64"
    return int(bad[0]), f"goes no further than {size:.3g}, and below {1 / most:.0e} squares vanish in float64"
