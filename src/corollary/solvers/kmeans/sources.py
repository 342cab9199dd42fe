"""Where the rows of k-means come from: an array, a sparse matrix, or blocks that are read anew for every pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.blocks import Block, BlockSource
from corollary.core.scaling import magnitude, power_of_two
from corollary.core.types import Array
from corollary.solvers.draws import Reservoir
from corollary.solvers.kmeans.bounds import Bounds
from corollary.solvers.kmeans.dense import DenseRows, Extent, extent_of, place_of
from corollary.solvers.kmeans.rows import KMeansRows, Place, SumChange
from corollary.solvers.kmeans.sparse import SparseRows


def as_rows(X: Any, weights: Array, angular: bool = False, place: Place | None = None) -> KMeansRows:
    """Wrap a validated array or SciPy sparse matrix."""
    if sparse.issparse(X):
        return SparseRows(X, weights, angular, place)
    return DenseRows(np.asarray(X), weights, angular, place)


class _Numbered:
    """Blocks with the number of their first row."""

    def __init__(self, source: BlockSource, n: int) -> None:
        self.source, self.n = source, n

    def __iter__(self) -> Iterator[Block]:
        start = 0
        for X, _, weights in self.source:
            if start + X.shape[0] <= self.n:
                yield start, X, weights
            start += X.shape[0]
        if start != self.n:
            raise ValueError(f"blocks had {self.n} rows when they were first read, and {start} later.")


class StreamedRows(KMeansRows):
    """Rows that are read, block by block, in every pass. Labels, weights and distances alone are held in memory.

    The first pass finds where the rows lie, the second how they spread; ``sample`` is filled on the way.
    """

    held = False

    def __init__(self, source: BlockSource, sample: Reservoir, angular: bool = False) -> None:
        weights, parts, dtypes = list[Array](), list[Extent](), set()
        thin, largest, d = False, 0.0, 0
        for X, _, own in source:
            sample.add(X, own)
            weights.append(own.copy())
            dtypes.add(X.dtype)
            d = X.shape[1]
            thin |= bool(sparse.issparse(X))
            largest = max(largest, magnitude(X))
            if not (thin or angular):
                parts.append(extent_of(X, weights[-1]))
        if not weights:
            raise ValueError("blocks is empty: there are no rows to learn from.")
        super().__init__((sample.seen, d), np.result_type(*dtypes), np.concatenate(weights), angular)
        if angular or thin:  # sparse rows are not moved: that would fill them
            place = np.zeros(d), 1.0 if angular else power_of_two(largest)
        else:
            place = place_of(parts, self.mass or 1.0)
        self.place: Place = place
        self.source = BlockSource(_Numbered(source, self.n))
        self.source.executor = source.executor
        *moment, total = self.source.total(self._moment)
        self._settle(place, float(total), np.array(moment))

    def _rows(self, block: Block) -> KMeansRows:
        _, X, weights = block
        return as_rows(X, weights, self.angular, self.place)

    def _moment(self, block: Block) -> Array:
        rows = self._rows(block)
        return np.append(rows.moment, rows.total)

    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> SumChange:
        def task(block: Block) -> SumChange:
            rows = self._rows(block)
            return rows.assign(centres, labels[block[0] : block[0] + rows.n], None)

        return self.source.total(task)

    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        distances = np.empty(self.n)

        def task(block: Block) -> Array:
            rows, own = self._rows(block), slice(block[0], block[0] + block[1].shape[0])
            distances[own], sums = rows.review(centres, labels[own])
            return sums

        return distances, self.source.total(task)

    def take(self, rows: Array) -> Array:
        found = np.empty((len(rows), self.d))
        for start, X, _ in self.source:
            inside = np.flatnonzero((rows >= start) & (rows < start + X.shape[0]))
            if len(inside):
                picked = (X.tocsr() if sparse.issparse(X) else X)[rows[inside] - start]
                held = as_rows(picked, np.ones(len(inside)), self.angular, self.place)
                found[inside] = held.take(np.arange(len(inside)))
        return found
