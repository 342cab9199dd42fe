"""Compressed sparse rows for k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from corollary._compiled.kmeans import sparse as kernels
from corollary.core.parallel import n_threads, run_team
from corollary.core.scaling import magnitude, power_of_two, sparse_row_lengths
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import Bounds
from corollary.solvers.kmeans.rows import KMeansRows, Place, SumChange, count_parts, key_factors, part_rows

PARTS = 16  # at most, each of which has sums of its own
TRIED = 1 << 20  # products of entries and centres that are worth another thread


class SparseRows(KMeansRows):
    """Compressed sparse rows. They are not centred, which would make them dense, and not sieved: products are few."""

    def __init__(self, X: Any, weights: Array, angular: bool = False, place: Place | None = None) -> None:
        X = X.tocsr()
        if not X.has_canonical_format:  # entries of the same place are to be added before they are squared
            X = X.copy()
            X.sum_duplicates()
        super().__init__(X.shape, X.dtype, weights, angular)
        self.data = np.array(X.data, dtype=np.float64)
        self.indices, self.indptr = np.array(X.indices, dtype=np.int32), np.array(X.indptr, dtype=np.int64)
        if angular:
            self.data /= np.repeat(sparse_row_lengths(X), np.diff(self.indptr))
        if place is None:
            place = np.zeros(self.d), 1.0 if angular else power_of_two(magnitude(self.data))
        row_of = np.repeat(np.arange(self.n), np.diff(self.indptr))
        self.squares = np.bincount(row_of, (self.data * place[1]) ** 2, self.n)
        entry_weights = np.repeat(self.weights, np.diff(self.indptr))
        moment = np.bincount(self.indices, entry_weights * self.data * place[1], self.d)
        self._settle(place, float(self.weights @ self.squares), moment)
        self.keys = np.bincount(row_of, self.data * key_factors(self.d)[self.indices], self.n)
        self.entries = self.data, self.indices, self.indptr, self.scale

    def take(self, rows: Array) -> Array:
        kept = sparse.csr_array((self.data, self.indices, self.indptr), shape=(self.n, self.d))[rows]
        return np.asarray(kept.toarray())

    def _table(self, centres: Array) -> tuple[Array, Array]:
        scaled = self.heads(centres) * self.scale
        return scaled, np.einsum("ij,ij->i", scaled, scaled) / 2

    def _parts(self, k: int) -> Array:
        """Sums for parts of the rows, from shapes alone: as many numbers as X has at most."""
        parts = max(1, min(PARTS, len(self.data) // (k * (self.d + 2))))
        return np.empty((parts, k, self.d + 2))

    def _team(self, k: int) -> int:
        """How many threads a pass is worth."""
        return max(1, min(n_threads(), len(self.data) * k // TRIED))

    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> SumChange:
        k, (scaled, half), workers = len(centres), self._table(centres), self._team(len(centres))
        change, size = np.zeros((k, self.d + 2)), part_rows(self.n, 1)
        counts = np.zeros((count_parts(self.n, size), 2), dtype=np.int64)
        scratch = np.empty((workers, k)), np.zeros((workers, self.d))
        seen = np.ascontiguousarray(scaled.T), half, self.squares, self.weights, labels, np.empty_like(labels)
        target = counts, scratch, self._parts(k), change
        run_team(kernels.assign_sparse, size, self.entries, *seen, *target, most=workers)
        return SumChange(change, int(counts[:, 0].sum()))

    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        (scaled, half), workers = self._table(centres), self._team(len(centres))
        distances, none = np.empty(self.n), np.full(self.n, -1, dtype=np.int32)
        sums, gap = np.zeros((len(centres), self.d + 2)), np.empty((workers, self.d))
        seen = scaled, half, self.squares, self.weights, labels, none
        target = distances, gap, self._parts(len(centres)), sums
        run_team(kernels.review_sparse, part_rows(self.n, 1), self.entries, *seen, *target, most=workers)
        sums[:, : self.d] -= sums[:, self.d, None] * scaled
        return distances, sums

    def saving(self, centres: Array, sums: Array) -> float:
        """With what the rounding of sums about zero may hide: they are not moved, which would fill them."""
        half = self._table(centres)[1]
        unit = float(np.finfo(np.float64).eps) * (8 + np.sqrt(sums[:, -1]))
        return super().saving(centres, sums) + float(sums[:, self.d] @ (unit * unit * 2 * half))
