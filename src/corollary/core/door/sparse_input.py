"""The door for sparse matrices: what is malformed is refused, what is stored twice is added up.

SciPy trusts the arrays that a matrix is made of, and so do compiled kernels: an index that is out of range would be
read or written outside the memory of the matrix. Looking at every index once costs a few passes over integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.types import Array


def sound(X: Any, name: str = "X") -> Any:
    """X, if it is not sparse; else a CSR or CSC matrix with sorted indices and no entry twice, or ValueError.

    A matrix that is so already is returned as it is, and no matrix is changed in place.
    """
    if not sparse.issparse(X) or X.ndim != 2:
        return X
    if X.format == "coo":
        for axis, part in enumerate((X.row, X.col)):
            _check_range(part, X.shape[axis], "coordinates", X, name)
    elif X.format == "bsr":
        _check_compressed(X, X.shape[0] // X.blocksize[0], X.shape[1] // X.blocksize[1], name)
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    across, along = X.shape if X.format == "csr" else X.shape[::-1]
    _check_compressed(X, across, along, name)
    # a new object over the same arrays: SciPy keeps what it once found out, even if the arrays have changed since
    seen = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if seen.has_canonical_format:
        return X if len(X.data) == X.indptr[-1] else seen  # whose arrays end where the last row does
    whole = seen.copy()
    whole.sum_duplicates()
    return whole


def _check_compressed(X: Any, across: int, along: int, name: str) -> None:
    pointers = np.asarray(X.indptr)
    _refuse(pointers.dtype.kind not in "iu", X, name, f"indptr must be of integers, but it is of {pointers.dtype}")
    _refuse(
        pointers.shape != (across + 1,), X, name, f"indptr must have length {across + 1}, but it has {len(pointers)}"
    )
    _refuse(pointers[0] != 0, X, name, f"indptr must begin with 0, but it begins with {pointers[0]}")
    falls = np.flatnonzero(np.diff(pointers) < 0)
    _refuse(falls.size, X, name, f"indptr must not fall, but it does after {falls[0] if falls.size else 0}")
    _refuse(
        len(X.indices) != len(X.data), X, name, f"there are {len(X.indices)} indices for {len(X.data)} stored values"
    )
    _refuse(pointers[-1] > len(X.indices), X, name, f"indptr ends with {pointers[-1]}, beyond {len(X.indices)} indices")
    _check_range(X.indices[: pointers[-1]], along, "indices", X, name)


def _check_range(found: Array, size: int, what: str, X: Any, name: str) -> None:
    _refuse(found.dtype.kind not in "iu", X, name, f"{what} must be integers, but they are {found.dtype}")
    if len(found):
        low, high = int(found.min()), int(found.max())
        wrong = low if low < 0 else high
        _refuse(low < 0 or high >= size, X, name, f"{what} must be from 0 to {size - 1}, but one is {wrong}")


def _refuse(wrong: Any, X: Any, name: str, why: str) -> None:
    if wrong:
        raise ValueError(f"{name} is a malformed {X.format.upper()} matrix of shape {X.shape}: {why}.")
