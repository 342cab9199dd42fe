"""Proximity: in what share of the trees two rows end in the same leaf."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from corollary.core.memory import check_memory
from corollary.core.parallel import each_block, threads
from corollary.core.types import Array

_BLOCK = 64


class Proximity:
    """What a forest knows about how alike rows are."""

    def proximity(self: Any, X: Any, Z: Any = None, *, top: int | None = None) -> Any:
        """Share of the trees in which a row of X and a row of Z (of X itself by default) end in the same leaf.

        Parameters
        ----------
        X, Z : tables
        top : int ≥ 1, optional
            Keep only so many of the largest entries of each row, in a sparse matrix.

        Returns
        -------
        float32 array of shape (rows of X, rows of Z), or a CSR array of that shape

        Notes
        -----
        *Cost.* O(rows of X · rows of Z · trees), threads over rows; 4 bytes for each pair, which are checked against
        the memory there is before anything is allocated.
        """
        check_is_fitted(self, "nodes_")
        if top is not None and top < 1:
            raise ValueError(f"top must be a whole number ≥ 1, but it is {top!r}.")
        first = np.ascontiguousarray(self.apply(X).T)
        second = first if Z is None else np.ascontiguousarray(self.apply(Z).T)
        n, m = first.shape[1], second.shape[1]
        if top is None:
            check_memory(4 * n * m, f"The proximities of {n} × {m} rows", "use top= to keep only the nearest rows")
        with threads(self.n_jobs):
            return _whole(first, second) if top is None else _nearest(first, second, min(top, m))


def _shares(first: Array, second: Array) -> Array:
    from corollary._compiled.trees.forest.nodes import same_leaves

    counts = np.zeros((first.shape[1], second.shape[1]), dtype=np.float32)
    same_leaves(np.ascontiguousarray(first), second, counts)
    counts /= np.float32(len(first))
    return counts


def _whole(first: Array, second: Array) -> Array:
    out = np.empty((first.shape[1], second.shape[1]), dtype=np.float32)

    def run(start: int, stop: int) -> None:
        out[start:stop] = _shares(first[:, start:stop], second)

    each_block(run, len(out), _BLOCK)
    return out


def _nearest(first: Array, second: Array, top: int) -> Any:
    n = first.shape[1]
    columns, shares = np.empty((n, top), dtype=np.int32), np.empty((n, top), dtype=np.float32)

    def run(start: int, stop: int) -> None:
        block = _shares(first[:, start:stop], second)
        best = np.argsort(-block, axis=1, kind="stable")[:, :top]
        columns[start:stop] = np.sort(best, axis=1)
        shares[start:stop] = np.take_along_axis(block, columns[start:stop], axis=1)

    each_block(run, n, _BLOCK)
    starts = np.arange(0, n * top + 1, top)
    found = scipy.sparse.csr_array((shares.ravel(), columns.ravel(), starts), shape=(n, second.shape[1]))
    found.eliminate_zeros()
    return found
