"""Compressed sparse rows for k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from corollary._compiled.kmeans import sparse as kernels
from corollary.core.parallel import map_blocks
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import Bounds
from corollary.solvers.kmeans.rows import Rows, added, check_lengths, power_of_two


class SparseRows(Rows):
    """Compressed sparse rows. They are not moved (that would fill them) and need no sieve: their products are few."""

    def __init__(self, X: Any, weights: Array, angular: bool = False) -> None:
        X = X.tocsr()
        super().__init__(X, weights, angular)
        self.data = np.array(X.data, dtype=np.float64)
        self.indices, self.indptr = np.array(X.indices, dtype=np.int32), np.array(X.indptr, dtype=np.int64)
        self.shift = np.zeros(self.d)
        self.scale = power_of_two(float(np.abs(self.data).max(initial=0.0)))
        if angular:
            lengths = check_lengths(np.sqrt(self._squares())) / self.scale
            self.data /= np.repeat(lengths, np.diff(self.indptr))
            self.scale = 1.0
        self.squares = self._squares()
        self.total = float(weights @ self.squares)
        entry_weights = np.repeat(weights, np.diff(self.indptr))
        mean = np.bincount(self.indices, entry_weights * self.data * self.scale, self.d) / self.mass
        self.spread = max(0.0, (self.total / self.mass - float(mean @ mean)) / self.d)

    def _squares(self) -> Array:
        row_of = np.repeat(np.arange(self.n), np.diff(self.indptr))
        return np.bincount(row_of, (self.data * self.scale) ** 2, self.n)

    def take(self, rows: Array) -> Array:
        kept = sparse.csr_array((self.data, self.indices, self.indptr), shape=(self.n, self.d))[rows]
        return np.asarray(kept.toarray())

    def bounds(self, k: int) -> Bounds | None:
        return None

    def _table(self, centres: Array) -> tuple[Array, Array]:
        scaled = centres * self.scale
        return scaled, np.einsum("ij,ij->i", scaled, scaled) / 2

    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> tuple[Array, int]:
        scaled, half = self._table(centres)
        columns, scores = np.ascontiguousarray(scaled.T), np.empty(self.n)
        entries = (self.data, self.indices, self.indptr, self.scale)

        def task(start: int, stop: int) -> tuple[Array, int]:
            old = labels[start:stop].copy()
            kernels.nearest_sparse(start, stop, *entries, columns, half, labels, scores)
            changed = np.flatnonzero(labels[start:stop] != old)
            change = np.zeros((len(centres), self.d + 2))
            kernels.move_sparse(changed + start, *entries, self.weights, old[changed], labels, change)
            return change, len(changed)

        return added(list(map_blocks(task, self.n, self.block_rows(len(centres)))))

    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        scaled, half = self._table(centres)
        scores = np.empty(self.n)
        entries = (self.data, self.indices, self.indptr, self.scale)
        none = np.full(self.n, -1, dtype=np.int32)

        def task(start: int, stop: int) -> tuple[Array, int]:
            kernels.own_scores(start, stop, *entries, scaled, half, labels, scores)
            sums = np.zeros((len(centres), self.d + 2))
            rows = np.arange(start, stop)
            kernels.move_sparse(rows, *entries, self.weights, none[start:stop], labels, sums)
            return sums, 0

        sums = added(list(map_blocks(task, self.n, self.block_rows(len(centres)))))[0]
        return np.maximum(self.squares + 2 * scores, 0.0), sums
