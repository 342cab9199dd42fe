"""Dense rows for k-means: never all moved or copied in float64, with a float32 copy beside them for the sieve."""

from __future__ import annotations

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
        kernels.survey_rows(_as_rows(X[start:stop], None), weights[start:stop], found.sums, found.low, found.high)
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
            sums, own = np.zeros(self.d), slice(start, stop)
            target = (*place, self.single[own], self.norms[own], sums)
            return float(kernels.prepare_rows(self.block(start, stop), self.weights[own], *target)), sums

        parts = list(map_blocks(prepare, self.n, block_rows(self.n, 1)))
        self._settle(place, float(sum(part[0] for part in parts)), np.sum([part[1] for part in parts], axis=0))
        self.largest = float(self.norms.max())

    def block(self, start: int, stop: int) -> Array:
        """A range of rows in float64, which kernels may be given."""
        return _as_rows(self.X[start:stop], None if self.lengths is None else self.lengths[start:stop])

    def take(self, rows: Any) -> Array:
        return _as_rows(self.X[rows], None if self.lengths is None else self.lengths[rows])

    def bounds(self, k: int) -> Bounds | None:
        if k < 2 * GROUP or self.n * k < 1 << 18:
            return None
        # bounds take at most as much memory as the float32 rows, or 8 numbers a row
        groups = min(-(-k // GROUP), max(8, self.d), 32)
        return Bounds(self.n, k, 4 * -(-k // (4 * groups)))

    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> SumChange:
        sieve = Sieve(centres, self.shift, self.scale, self.largest, bounds)

        def task(start: int, stop: int) -> SumChange:
            old = labels[start:stop].copy()
            doubtful = sieve.label(self.single, self.norms, labels, start, stop)
            if len(doubtful):
                winners = np.empty(len(doubtful), dtype=np.int32)
                kernels.nearest_exactly(self.take(doubtful), sieve.centres, self.scale, winners)
                labels[doubtful] = winners
            changed = np.flatnonzero(labels[start:stop] != old)
            rows: Any = changed + start
            if len(changed) == stop - start:  # a range is not copied
                rows = slice(start, stop)
            sums = np.zeros((len(centres), self.d + 2))
            kernels.move_rows(
                self.take(rows), self.shift, self.scale, self.weights[rows], old[changed], labels[rows], sums
            )
            return SumChange(sums, len(changed))

        change = sum_blocks(task, self.n, block_rows(self.n, len(centres)))
        if bounds is not None:
            bounds.fresh = False
        return change

    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        distances, none = np.empty(self.n), np.full(self.n, -1, dtype=np.int32)

        def task(start: int, stop: int) -> Array:
            block, rows = self.block(start, stop), slice(start, stop)
            kernels.own_distances(block, centres, self.scale, labels[rows], distances[rows])
            sums = np.zeros((len(centres), self.d + 2))
            kernels.move_rows(block, self.shift, self.scale, self.weights[rows], none[rows], labels[rows], sums)
            return sums

        return distances, sum_blocks(task, self.n, block_rows(self.n, len(centres)))


def _as_rows(X: Array, lengths: Array | None) -> Array:
    if lengths is not None:
        return np.asarray(X / lengths[:, None], dtype=np.float64, order="C")
    return writable(np.ascontiguousarray(X, dtype=np.float64))
