"""Dense rows for k-means: never all moved or copied in float64, with a float32 copy beside them for the sieve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.kmeans import dense as kernels
from corollary.core.memory import check_memory
from corollary.core.parallel import map_blocks, sum_blocks
from corollary.core.scaling import row_lengths, scale_about
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import GROUP, Bounds, Sieve
from corollary.solvers.kmeans.rows import KMeansRows, Place, SumChange, block_rows, writable

PIECE = 1 << 18  # numbers that are brought to float64 at a time


@dataclass(frozen=True)
class Extent:
    """Σ w x, the smallest and the largest value of each column, of a block of rows."""

    sums: Array
    low: Array
    high: Array


def extents(X: Array, weights: Array) -> list[Extent]:
    """The extents of the rows of X, block by block."""
    n, d = X.shape

    def survey(start: int, stop: int) -> Extent:
        found = Extent(np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf))
        for own in _pieces(X, start, stop):
            kernels.survey_rows(_as_rows(X[own], None), weights[own], found.sums, found.low, found.high)
        return found

    return list(map_blocks(survey, n, block_rows(n, 1)))


def place_of(parts: list[Extent], mass: float) -> Place:
    """The mean of all rows, and the power of two that brings what is left of the largest below 1."""
    shift = np.asarray(sum(part.sums / mass for part in parts), dtype=np.float64)
    low, high = np.min([part.low for part in parts], axis=0), np.max([part.high for part in parts], axis=0)
    return shift, scale_about(shift, low, high)


class DenseRows(KMeansRows):
    """Rows of an array, in any order and of either precision; ``place`` is worked out unless it is given."""

    def __init__(self, X: Array, weights: Array, angular: bool = False, place: Place | None = None) -> None:
        super().__init__(X.shape, X.dtype, weights, angular)
        self.X, self.lengths = X, row_lengths(X) if angular else None
        if place is None:
            place = (np.zeros(self.d), 1.0) if angular else place_of(extents(X, self.weights), self.mass or 1.0)
        check_memory(
            4 * self.n * self.d,
            "the float32 copy of X that k-means keeps",
            "use Blocks, or MiniBatchKMeans, which take a part of the rows at a time",
        )
        self.single = np.empty((self.n, self.d), dtype=np.float32)
        self.norms = np.empty(self.n, dtype=np.float32)

        def prepare(start: int, stop: int) -> tuple[float, Array]:
            sums, total = np.zeros(self.d), 0.0
            for own in _pieces(X, start, stop):
                target = (*place, self.single[own], self.norms[own], sums)
                total += float(kernels.prepare_rows(self.take(own), self.weights[own], *target))
            return total, sums

        parts = list(map_blocks(prepare, self.n, block_rows(self.n, 1)))
        self._settle(place, float(sum(part[0] for part in parts)), np.sum([part[1] for part in parts], axis=0))
        self.largest = float(self.norms.max())

    def take(self, rows: Any) -> Array:
        return _as_rows(self.X[rows], None if self.lengths is None else self.lengths[rows])

    def bounds(self, k: int) -> Bounds | None:
        if k < 2 * GROUP or self.n * k < 1 << 18:
            return None
        # bounds take at most as much memory as the float32 rows, or 8 numbers a row
        groups = min(-(-k // GROUP), max(8, self.d), 32)
        return Bounds(self.n, k, 4 * -(-k // (4 * groups)))

    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> SumChange:
        sieve = Sieve(self.heads(centres), self.shift, self.scale, self.largest, bounds)

        def task(start: int, stop: int) -> SumChange:
            old = labels[start:stop].copy()
            doubtful = sieve.label(self.single, self.norms, labels, start, stop)
            for part in _pieces(self.X, 0, len(doubtful)):
                asked = doubtful[part]
                winners = np.empty(len(asked), dtype=np.int32)
                kernels.nearest_exactly(self.take(asked), sieve.centres, self.scale, winners)
                labels[asked] = winners
            changed = np.flatnonzero(labels[start:stop] != old)
            sums, whole = np.zeros((len(centres), self.d + 2)), len(changed) == stop - start
            for part in _pieces(self.X, 0, len(changed)):
                # a range is not copied
                rows = slice(start + part.start, start + part.stop) if whole else changed[part] + start
                moved = self.weights[rows], old[changed[part]], labels[rows]
                kernels.move_rows(self.take(rows), self.shift, self.scale, *moved, sums)
            return SumChange(sums, len(changed))

        change = sum_blocks(task, self.n, block_rows(self.n, len(centres)))
        if bounds is not None:
            bounds.fresh = False
        return change

    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        distances, heads = np.empty(self.n), self.heads(centres)

        def task(start: int, stop: int) -> Array:
            sums = np.zeros((len(centres), self.d + 2))
            for own in _pieces(self.X, start, stop):
                seen = self.weights[own], labels[own], distances[own]
                kernels.review_rows(self.take(own), heads, self.scale, *seen, sums)
            return sums

        return distances, sum_blocks(task, self.n, block_rows(self.n, len(centres)))


def _pieces(X: Array, start: int, stop: int) -> Iterator[slice]:
    """The range in pieces that are brought to float64 one after the other: never a copy of all."""
    size = max(1, PIECE // max(1, X.shape[1]))
    return (slice(first, min(first + size, stop)) for first in range(start, stop, size))


def _as_rows(X: Array, lengths: Array | None) -> Array:
    if lengths is not None:
        return np.asarray(X / lengths[:, None], dtype=np.float64, order="C")
    return writable(np.ascontiguousarray(X, dtype=np.float64))
