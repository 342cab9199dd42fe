"""Dense rows for k-means: never all moved or copied in float64, with a float32 copy beside them for the sieve."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled.kmeans import dense as kernels
from corollary.core.memory import check_memory
from corollary.core.parallel import block_rows, map_blocks
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import GROUP, Bounds, Sieve
from corollary.solvers.kmeans.rows import Rows, added, check_lengths, power_of_two


class DenseRows(Rows):
    """Rows of an array, in any order and of either precision."""

    def __init__(self, X: Array, weights: Array, angular: bool = False) -> None:
        super().__init__(X, weights, angular)
        self.lengths = _lengths(X) if angular else None
        self.shift, self.scale = np.zeros(self.d), 1.0
        if not angular:
            self.shift, self.scale = self._place()
        check_memory(
            4 * self.n * self.d,
            "the float32 copy of X that k-means keeps",
            "use MiniBatchKMeans, which takes a batch of rows at a time",
        )
        self.single = np.empty((self.n, self.d), dtype=np.float32)
        self.norms = np.empty(self.n, dtype=np.float32)
        parts = list(map_blocks(self._prepare, self.n, self.block_rows(1)))
        self.total = float(sum(part[0] for part in parts))
        mean = np.sum([part[1] for part in parts], axis=0) / self.mass
        self.spread = max(0.0, (self.total / self.mass - float(mean @ mean)) / self.d)
        self.largest = float(self.norms.max())

    def _place(self) -> tuple[Array, float]:
        def survey(start: int, stop: int) -> tuple[Array, Array, Array]:
            sums, low, high = np.zeros(self.d), np.full(self.d, np.inf), np.full(self.d, -np.inf)
            kernels.survey_rows(self.block(start, stop), self.weights[start:stop], sums, low, high)
            return sums, low, high

        sums, low, high = zip(*map_blocks(survey, self.n, self.block_rows(1)), strict=True)
        shift = np.asarray(sum(part / self.mass for part in sums), dtype=np.float64)
        reach = np.maximum(np.max(high, axis=0) - shift, shift - np.min(low, axis=0))
        return shift, power_of_two(float(reach.max()))

    def _prepare(self, start: int, stop: int) -> tuple[float, Array]:
        sums, own = np.zeros(self.d), slice(start, stop)
        block, weights = self.block(start, stop), self.weights[own]
        place = (self.shift, self.scale, self.single[own], self.norms[own], sums)
        return float(kernels.prepare_rows(block, weights, *place)), sums

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

    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> tuple[Array, int]:
        sieve = Sieve(centres, self.shift, self.scale, self.largest, bounds)

        def task(start: int, stop: int) -> tuple[Array, int]:
            old = labels[start:stop].copy()
            doubtful = sieve.label(self.single, self.norms, labels, start, stop)
            if len(doubtful):
                winners = np.empty(len(doubtful), dtype=np.int32)
                kernels.nearest_exactly(self.take(doubtful), sieve.centres, self.scale, winners)
                labels[doubtful] = winners
            changed = np.flatnonzero(labels[start:stop] != old)
            change = np.zeros((len(centres), self.d + 2))
            rows: Any = changed + start
            if len(changed) == stop - start:  # a range is not copied
                rows = slice(start, stop)
            moving = self.take(rows)
            kernels.move_rows(
                moving, self.shift, self.scale, self.weights[rows], old[changed], labels[rows], change
            )  # fmt: skip
            return change, len(changed)

        parts = list(map_blocks(task, self.n, self.block_rows(len(centres))))
        if bounds is not None:
            bounds.fresh = False
        return added(parts)

    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        distances = np.empty(self.n)
        none = np.full(self.n, -1, dtype=np.int32)

        def task(start: int, stop: int) -> tuple[Array, int]:
            block, rows = self.block(start, stop), slice(start, stop)
            kernels.own_distances(block, centres, self.scale, labels[rows], distances[rows])
            sums = np.zeros((len(centres), self.d + 2))
            kernels.move_rows(block, self.shift, self.scale, self.weights[rows], none[rows], labels[rows], sums)
            return sums, 0

        parts = list(map_blocks(task, self.n, self.block_rows(len(centres))))
        return distances, added(parts)[0]


def _lengths(X: Array) -> Array:
    """The norm of each row, without overflow."""

    def task(start: int, stop: int) -> Array:
        block = X[start:stop].astype(np.float64)
        largest = np.abs(block).max(axis=1)
        safe = np.where(largest > 0, largest, 1.0)
        block /= safe[:, None]
        return np.asarray(safe * np.sqrt(np.einsum("ij,ij->i", block, block)))

    return check_lengths(np.concatenate(list(map_blocks(task, len(X), block_rows(len(X), 8 * X.shape[1])))))


def _as_rows(X: Array, lengths: Array | None) -> Array:
    if lengths is not None:
        return np.asarray(X / lengths[:, None], dtype=np.float64, order="C")
    rows = np.ascontiguousarray(X, dtype=np.float64)
    return rows if rows.flags.writeable else rows.copy()
