"""Compressed sparse rows for k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from corollary._compiled.kmeans import sparse as kernels
from corollary.core.parallel import sum_blocks
from corollary.core.scaling import magnitude, power_of_two, sparse_row_lengths
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import Bounds
from corollary.solvers.kmeans.rows import KMeansRows, Place, SumChange, block_rows


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

    def take(self, rows: Array) -> Array:
        kept = sparse.csr_array((self.data, self.indices, self.indptr), shape=(self.n, self.d))[rows]
        return np.asarray(kept.toarray())

    def _table(self, centres: Array) -> tuple[Array, Array]:
        scaled = self.heads(centres) * self.scale
        return scaled, np.einsum("ij,ij->i", scaled, scaled) / 2

    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> SumChange:
        scaled, half = self._table(centres)
        columns = np.ascontiguousarray(scaled.T)
        entries = (self.data, self.indices, self.indptr, self.scale)

        def task(start: int, stop: int) -> SumChange:
            old = labels[start:stop].copy()
            kernels.nearest_sparse(start, stop, *entries, columns, half, self.squares, labels)
            changed = np.flatnonzero(labels[start:stop] != old)
            sums = np.zeros((len(centres), self.d + 2))
            kernels.move_sparse(changed + start, *entries, self.weights, old[changed], labels, sums)
            return SumChange(sums, len(changed))

        return sum_blocks(task, self.n, block_rows(self.n, len(centres)))

    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        scaled, half = self._table(centres)
        distances, none = np.empty(self.n), np.full(self.n, -1, dtype=np.int32)
        entries = (self.data, self.indices, self.indptr, self.scale)

        def task(start: int, stop: int) -> Array:
            kernels.own_distances(start, stop, *entries, scaled, half, self.squares, labels, distances)
            sums = np.zeros((len(centres), self.d + 2))
            rows = np.arange(start, stop)
            kernels.move_sparse(rows, *entries, self.weights, none[start:stop], labels, sums)
            return sums

        sums = sum_blocks(task, self.n, block_rows(self.n, len(centres)))
        sums[:, : self.d] -= sums[:, self.d, None] * scaled
        return distances, sums

    def saving(self, centres: Array, sums: Array) -> float:
        """With what the rounding of sums about zero may hide: they are not moved, which would fill them."""
        half = self._table(centres)[1]
        unit = float(np.finfo(np.float64).eps) * (8 + np.sqrt(sums[:, -1]))
        return super().saving(centres, sums) + float(sums[:, self.d] @ (unit * unit * 2 * half))
