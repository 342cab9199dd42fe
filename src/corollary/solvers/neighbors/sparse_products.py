"""Euclidean neighbours among sparse rows, by their columns: a query meets only the rows that share a column with it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.neighbors import sparse as kernels
from corollary.core.parallel import map_blocks, run_team
from corollary.core.scaling import magnitude, power_of_two
from corollary.core.types import Array
from corollary.solvers.neighbors.index import Index, Lists, empty_answers, join

_WORTH = 200_000  # rows, over all queries, that are worth a thread
_Matrix = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class SparseProducts(Index):
    """Points as a CSR matrix of float64 with sorted columns; queries likewise.

    *Cost*: a copy of the rows by columns, and their column numbers; for each thread three numbers a row.
    """

    X: Any
    name: str = "sparse matrix products"

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @functools.cached_property
    def _rows(self) -> _Matrix:
        return _parts(self.X)

    @functools.cached_property
    def _screen(self) -> tuple[_Matrix, Array, Array, Array, float]:
        """The rows times a power of two by columns, bounds of ½‖x‖² from below and above, ‖x‖ rounded up; the scale."""
        scale = power_of_two(magnitude(self.X))
        scaled = self.X * scale
        squares = np.asarray(scaled.multiply(scaled).sum(axis=1), dtype=np.float64).ravel()
        margin = 20 * kernels.UNIT + (self.X.shape[1] + 8) * 2.0**-52
        low = 0.5 * squares * (1 - margin) - kernels.SMALLEST
        high = 0.5 * squares * (1 + margin) + kernels.SMALLEST
        return _parts(scaled.T.tocsr()), low, high, np.sqrt(squares) * (1 + margin), scale

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, rows = empty_answers(Q.shape[0], k)
        index = self._rows, self._screen, _parts(Q), self.X.shape[1]
        run_team(kernels.nearest_sparse, *index, distances, rows, most=Q.shape[0] * self.n_rows // _WORTH)
        return distances, rows

    def within(self, Q: Any, limits: Array) -> Lists:
        index = self._rows, self._screen, _parts(Q), self.X.shape[1]
        size = max(kernels.QUERIES, _WORTH // max(1, self.n_rows))
        found = map_blocks(lambda a, b: kernels.sparse_within(*index, limits, a, b), Q.shape[0], size)
        return join(list(found), Q.shape[0])


def _parts(X: Any) -> _Matrix:
    return X.data, X.indices.astype(np.int64, copy=False), X.indptr.astype(np.int64, copy=False)
