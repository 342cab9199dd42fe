"""Searches in general, and those that compute distances in blocks of pairs, by any metric."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.neighbors import nearest as compiled
from corollary.core.types import Array
from corollary.solvers.distances import between
from corollary.solvers.neighbors.index import PAIRS, Lists, empty_answers, join


class Search(ABC):
    """Neighbours of queries, ordered by (distance, row number)."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How neighbours are found."""

    @abstractmethod
    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        """Distances and rows (m, k)."""

    @abstractmethod
    def within(self, Q: Any, radius: Array) -> Lists:
        """Places, distances and rows of all neighbours within radius[i] of query i."""

    def others(self, Q: Any, own: Array, k: int, *, skip_first: bool = False) -> tuple[Array, Array]:
        """Distances and rows (m, k) without row own[i] for query i, which is that row.

        With many equal rows before it, the row may not be among the first k + 1: the last of those is left out then, or
        if all are at one distance and it is asked for, the first.
        """
        distances, rows = self.nearest(Q, k + 1)
        left_out = rows == own[:, None]
        hidden = ~left_out.any(axis=1)
        level = hidden & skip_first & (distances[:, 0] == distances[:, -1])
        left_out[level, 0], left_out[hidden & ~level, -1] = True, True
        keep = ~left_out
        return distances[keep].reshape(-1, k), rows[keep].reshape(-1, k)


class BlockSearch(Search):
    """Distances computed in blocks of pairs, and the smallest kept."""

    @abstractmethod
    def _n_rows(self) -> int: ...

    @abstractmethod
    def _block(self, Q: Any, first: int, stop: int) -> Array:
        """Distances (queries, rows first … stop − 1) as float64 in C order."""

    def _sizes(self) -> tuple[int, int]:
        width = min(self._n_rows(), 4096)
        return max(1, PAIRS // max(1, width)), width

    def table(self, Q: Any) -> Array:
        """Distances of a few queries to all rows."""
        return self._block(scipy.sparse.csr_array(Q) if scipy.sparse.issparse(Q) else Q, 0, self._n_rows())

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, rows = empty_answers(Q.shape[0], k)
        Q = scipy.sparse.csr_array(Q) if scipy.sparse.issparse(Q) else Q
        size, width = self._sizes()

        def search(a: int, b: int) -> None:
            for first in range(0, self._n_rows(), width):
                block = self._block(Q[a:b], first, min(first + width, self._n_rows()))
                compiled.offer_block(block, first, distances[a:b], rows[a:b])
            compiled.sort_heaps(distances[a:b], rows[a:b])

        for a in range(0, Q.shape[0], size):  # a user's metric need not be safe in threads
            search(a, min(a + size, Q.shape[0]))
        for i in np.flatnonzero((rows < 0).any(axis=1)):  # rows that are infinitely far do not get into a heap
            table = self.table(Q[i : i + 1])[0]
            rows[i] = np.argsort(table, kind="stable")[:k]
            distances[i] = table[rows[i]]
        return distances, rows

    def within(self, Q: Any, radius: Array) -> Lists:
        Q = scipy.sparse.csr_array(Q) if scipy.sparse.issparse(Q) else Q
        size, width = self._sizes()
        found = []
        for a in range(0, Q.shape[0], size):
            for first in range(0, self._n_rows(), width):
                block = self._block(Q[a : a + size], first, min(first + width, self._n_rows()))
                query, row = (block <= radius[a : a + size, None]).nonzero()
                found.append((a + query, block[query, row], first + row))
        return join(found, Q.shape[0])


@dataclass(frozen=True, eq=False)
class PairwiseSearch(BlockSearch):
    """Any metric that ``sklearn.metrics.pairwise_distances`` takes, or a function of two rows."""

    X: Any
    metric: Any
    parameters: dict[str, Any]
    name: str = "pairwise distances in blocks"

    def _n_rows(self) -> int:
        return int(self.X.shape[0])

    def _block(self, Q: Any, first: int, stop: int) -> Array:
        from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

        rows = self.X[first:stop]
        boolean = isinstance(self.metric, str) and self.metric in PAIRWISE_BOOLEAN_FUNCTIONS
        if boolean:
            Q, rows = Q != 0, rows != 0
        block = between(Q, rows, self.metric, self.parameters)
        if boolean:
            block[np.isnan(block)] = 0.0  # two rows without anything in them are equal
        if not (block >= 0).all():
            raise ValueError(
                f"metric {self.metric!r} gave {'NaN' if np.isnan(block).any() else 'a negative number'}; "
                "a distance must be a number ≥ 0."
            )
        if isinstance(self.metric, str) and not np.isfinite(block.max(initial=0.0)):
            raise ValueError(
                f"Distances by metric {self.metric!r} overflow float64. Rescale the columns of X to magnitudes below "
                "1e100 (StandardScaler does)."
            )
        return np.ascontiguousarray(block, dtype=np.float64)
