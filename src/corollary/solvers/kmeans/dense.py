"""Dense rows for k-means: never all moved or copied in float64, with a float32 copy beside them for the sieve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 - kernels call its BLAS, which must be there when the threads of BLAS are limited

from corollary._compiled.kmeans import dense as of_rows
from corollary._compiled.kmeans import lloyd as kernels
from corollary._compiled.kmeans import passes
from corollary.core.memory import check_memory
from corollary.core.parallel import each_block, n_threads, run_team
from corollary.core.scaling import row_lengths, scale_about
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import GROUP, Bounds
from corollary.solvers.kmeans.rows import KMeansRows, Place, SumChange, count_parts, key_factors, part_rows, writable

TILE = 1 << 16  # scores of one tile: 256 KiB of float32, which a core's second cache holds
PIECE = 1 << 18  # numbers that are brought to float64 at once, however many there are
SMALL = 1 << 14  # numbers of X up to which NumPy takes a pass as quickly as a kernel, which need not be compiled then
GRID = 2.0**-30  # of a column's range: to what its shift is rounded
CALL = 1 << 30  # products after which Python looks up
NO_RECORDS = np.empty((0, kernels.RECORD))
TYPICAL = 64  # rows that tell how far apart rows are
FINE = 2.0**-24  # squared: how far beside the longest row float32 leaves enough digits for distances
READ, TRIED = 1 << 18, 1 << 22  # numbers to read, and products to add up, that are worth another thread


@dataclass(frozen=True)
class Extent:
    """Σ w x of parts of the rows, and the smallest and the largest value of each column."""

    sums: Array
    low: Array
    high: Array


def extent_of(X: Array, weights: Array) -> Extent:
    """The extent of the rows of X."""
    if X.size <= PIECE:
        with np.errstate(over="ignore", invalid="ignore"):  # a mean that is no number is told by what comes of it
            sums = (weights @ X)[None]
        return Extent(sums, *(edge.astype(np.float64) for edge in (X.min(axis=0), X.max(axis=0))))
    (n, d), size = X.shape, part_rows(len(X), 1)
    parts = count_parts(n, size)
    sums, low, high = np.zeros((parts, d)), np.full((parts, d), np.inf), np.full((parts, d), -np.inf)

    def task(start: int, stop: int) -> None:
        part = slice(start // size, start // size + 1)
        given = _as_rows(X[start:stop], None), weights[start:stop]
        run_team(passes.survey, size, *given, sums[part], low[part], high[part], most=1)

    if (readable := _readable(X, None)) is None:
        each_block(task, n, size)
    else:
        run_team(passes.survey, size, readable, weights, sums, low, high, most=n * d // READ)
    return Extent(sums, low.min(axis=0), high.max(axis=0))


def place_of(parts: list[Extent], mass: float) -> Place:
    """About the mean of all rows, and the power of two that brings what is left of the largest below 1.

    The mean is rounded a little, so that it, and all that is worked out about it, does not depend on the order in which
    rows were added.
    """
    mean = np.asarray(sum((part.sums / mass).sum(axis=0) for part in parts), dtype=np.float64)
    low, high = np.min([part.low for part in parts], axis=0), np.max([part.high for part in parts], axis=0)
    grid = np.ldexp(GRID, np.frexp(high - low)[1])
    shift = np.where((grid > 0) & np.isfinite(mean / grid), np.rint(mean / grid) * grid, mean)
    return shift, scale_about(shift, low, high)


class _Scratch:
    """What the threads of a team write to in a pass; kept from pass to pass."""

    def __init__(self, rows: DenseRows, k: int, workers: int) -> None:
        self.size = part_rows(rows.n, k)
        parts, tile = count_parts(rows.n, self.size), min(self.size, max(64, TILE // k))
        single, whole = np.float32, np.int32
        minima = (workers, k // 4 + 2, tile)  # groups have four centres or more
        self.own = (
            np.empty((workers, self.size), dtype=whole),
            np.empty((workers, tile, rows.d), dtype=single),
            np.empty((workers, k, tile), dtype=single),
            np.empty(minima, dtype=single),
            np.empty(minima, dtype=single),
            np.zeros((workers, 2, tile), dtype=whole),
        )
        self.old, self.doubtful = np.empty(rows.n, dtype=whole), np.empty(rows.n + parts, dtype=whole)
        self.sums, self.touched = np.empty((parts, k, rows.d + 2)), np.empty((parts, k), dtype=bool)
        self.counts = np.zeros((parts, 2), dtype=np.int64)
        self.books = self.old, self.doubtful, self.sums, self.touched, self.counts
        table, after = np.empty((k, rows.d), dtype=single), np.empty((k, rows.d))
        self.desk = (
            table, np.empty(k, dtype=single), np.empty(k), after, np.empty(k), np.empty(k),
            np.empty((workers, kernels.RECORD)),
        )  # fmt: skip

    def doubts(self) -> Array:
        """The rows that float32 could not decide."""
        starts = np.arange(len(self.counts)) * (self.size + 1)
        lists = [self.doubtful[a : a + m] for a, m in zip(starts, self.counts[:, 0], strict=True) if m]
        return np.concatenate(lists) if lists else np.empty(0, dtype=np.int32)


class DenseRows(KMeansRows):
    """Rows of an array, in any order and of either precision; ``place`` is worked out unless it is given.

    Kernels read the rows where they are. Rows out of order or read-only, and directions, are brought to float64: all of
    them if they are few, else a part at a time.
    """

    def __init__(self, X: Array, weights: Array, angular: bool = False, place: Place | None = None) -> None:
        super().__init__(X.shape, X.dtype, weights, angular)
        self.X, self.lengths = X, row_lengths(X) if angular else None
        self._readable = _readable(X, self.lengths)
        self._scratch: tuple[tuple[int, int], _Scratch] | None = None
        if place is None:
            place = (np.zeros(self.d), 1.0) if angular else place_of([extent_of(X, self.weights)], self.mass or 1.0)
        check_memory(
            4 * self.n * self.d,
            "the float32 copy of X that k-means keeps",
            "use Blocks, or MiniBatchKMeans, which take a part of the rows at a time",
        )
        self.single = np.empty((self.n, self.d), dtype=np.float32)
        self.norms, self.keys = np.empty(self.n, dtype=np.float32), np.empty(self.n)
        if X.size <= SMALL:
            self._prepare_few(place)
        else:
            self._prepare(place)
        self.largest = float(self.norms.max())

    def _prepare(self, place: Place) -> None:
        size = part_rows(self.n, 1)
        sums, totals = np.zeros((count_parts(self.n, size), self.d)), np.zeros(count_parts(self.n, size))

        def task(start: int, stop: int) -> None:
            own, part = slice(start, stop), slice(start // size, start // size + 1)
            given = self.take(own), self.weights[own], *place, key_factors(self.d)
            target = self.single[own], self.norms[own], self.keys[own], sums[part], totals[part]
            run_team(passes.prepare, size, *given, *target, most=1)

        if self._readable is None:
            each_block(task, self.n, size)
        else:
            given = self._readable, self.weights, *place, key_factors(self.d)
            target = self.single, self.norms, self.keys, sums, totals
            run_team(passes.prepare, size, *given, *target, most=self.n * self.d // READ)
        self._settle(place, float(sum(totals.tolist())), sums.sum(axis=0))

    def _prepare_few(self, place: Place) -> None:
        """The same in NumPy; sums of a row are taken row by row, so that equal rows have equal keys."""
        with np.errstate(over="ignore", invalid="ignore"):
            Z = (_as_rows(self.X, self.lengths) - place[0]) * place[1]
            squares, self.keys[:] = (Z * Z).sum(axis=1), (Z * key_factors(self.d)).sum(axis=1)
            self.single[:], self.norms[:] = Z, np.sqrt(squares)
        self._settle(place, float(self.weights @ squares), self.weights @ Z)

    def take(self, rows: Any) -> Array:
        return _as_rows(self.X[rows], None if self.lengths is None else self.lengths[rows])

    @cached_property
    def resolved(self) -> bool:
        """Whether float32 tells rows apart: not if they lie close together beside a single one far away."""
        away = np.diff(self.single[:: max(1, self.n // TYPICAL)], axis=0)
        squares = np.sort(np.einsum("ij,ij->i", away, away))
        return len(squares) > 0 and bool(squares[len(squares) // 2] > FINE * self.largest**2)

    def bounds(self, k: int) -> Bounds | None:
        if k < 2 * GROUP or self.n * k < 1 << 18:
            return None
        # bounds take at most as much memory as the float32 rows, or 8 numbers a row
        groups = min(-(-k // GROUP), max(8, self.d), 32)
        return Bounds(self.n, k, 4 * -(-k // (4 * groups)))

    def _team(self, k: int) -> tuple[_Scratch, int]:
        """What a pass over all rows and k centres writes to, and how many threads are worth it."""
        workers = max(1, min(n_threads(), self.n * self.d * k // TRIED))
        if self._scratch is None or self._scratch[0] != (k, workers):
            self._scratch = (k, workers), _Scratch(self, k, workers)
        return self._scratch[1], workers

    def _run(
        self, count: int, tol: float, centres: Array, sums: Array, labels: Array, bounds: Bounds | None, records: Array
    ) -> _Scratch:
        """So many iterations; none is labels, and what they change, alone."""
        scratch, workers = self._team(len(centres))
        run_team(
            kernels.lloyd,
            max(1, count),
            count > 0,
            scratch.size,
            bounds is None or bounds.fresh,
            tol,
            self.dtype == np.float32,
            (self.single, self.norms),
            (np.empty((0, 0)) if self._readable is None else self._readable, self.weights),
            (self.shift, self.scale),
            (self.total, self.spread, self.largest),
            GROUP if bounds is None else bounds.size,
            None if bounds is None else bounds.numbers,
            writable(centres),  # those of a loaded model may not be; labels alone change none
            sums,
            labels,
            scratch.books,
            scratch.own,
            scratch.desk,
            records,
            most=workers,
        )
        if bounds is not None:
            bounds.fresh = False
        return scratch

    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> SumChange:
        change, heads = np.zeros((len(centres), self.d + 2)), np.ascontiguousarray(self.heads(centres))
        scratch = self._run(0, 0.0, heads, change, labels, bounds, NO_RECORDS)
        if self._readable is None:
            self._complete(scratch, heads, labels, change)
        return SumChange(change, int(scratch.counts[:, 1].sum()))

    def advance(
        self, count: int, tol: float, centres: Array, sums: Array, labels: Array, bounds: Bounds | None
    ) -> Array | None:
        if self._readable is None or self.angular:
            return None
        records = np.full((min(count, max(1, CALL // (self.n * self.d * len(centres)))), kernels.RECORD), -1.0)
        self._run(len(records), tol, centres, sums, labels, bounds, records)
        return records[records[:, kernels.EMPTY] >= 0]

    def _complete(self, scratch: _Scratch, heads: Array, labels: Array, change: Array) -> None:
        """What a kernel does that can read X: decide doubts in float64, and add up what has changed."""
        doubtful, old, sums, counts = scratch.doubts(), scratch.old, scratch.sums, scratch.counts

        def decide(start: int, stop: int) -> None:
            asked = doubtful[start:stop]
            every, winners = np.arange(len(asked), dtype=np.int32), np.empty(len(asked), dtype=np.int32)
            of_rows.nearest_exactly(every, self.take(asked), heads, self.scale, winners)
            labels[asked] = winners

        def move(start: int, stop: int) -> None:
            changed, part = np.flatnonzero(labels[start:stop] != old[start:stop]), start // scratch.size
            rows = slice(start, stop) if len(changed) == stop - start else changed + start  # a range is not copied
            sums[part], scratch.touched[part], counts[part, 1] = 0.0, True, len(changed)
            moved = self.weights[rows], old[rows], labels[rows]
            target = sums[part], scratch.touched[part]
            of_rows.move_rows(0, len(changed), self.take(rows), self.shift, self.scale, *moved, *target)

        each_block(decide, len(doubtful), scratch.size)
        each_block(move, self.n, scratch.size)
        change += sums.sum(axis=0)

    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        distances, heads = np.empty(self.n), self.heads(centres)
        if self._readable is not None and self.X.size * len(heads) <= 8 * SMALL:
            return self._review_few(self._readable, heads, labels)
        scratch, _ = self._team(len(centres))
        total, sums = np.zeros((len(centres), self.d + 2)), scratch.sums

        def task(start: int, stop: int) -> None:
            own, part = slice(start, stop), slice(start // scratch.size, start // scratch.size + 1)
            seen = heads, self.scale, self.weights[own], labels[own], distances[own]
            target = sums[part], scratch.touched[part], np.zeros_like(total)
            run_team(passes.review, scratch.size, self.take(own), *seen, *target, most=1)

        if self._readable is None:
            each_block(task, self.n, scratch.size)
            return distances, sums.sum(axis=0)
        seen = heads, self.scale, self.weights, labels, distances
        target = sums, scratch.touched, total
        run_team(passes.review, scratch.size, self._readable, *seen, *target, most=self.n * self.d // READ)
        return distances, total

    def _review_few(self, X: Array, heads: Array, labels: Array) -> tuple[Array, Array]:
        """The same in NumPy."""
        with np.errstate(over="ignore", invalid="ignore"):
            gap = (X - heads[labels]) * self.scale
            own = (labels == np.arange(len(heads))[:, None]) * self.weights
            sums = np.column_stack([own @ gap, own.sum(axis=1), (own > 0).sum(axis=1)])
            return np.einsum("ij,ij->i", gap, gap), sums


def _readable(X: Array, lengths: Array | None) -> Array | None:
    """The rows as kernels read them: as they are or, if they are few, a copy; None if there is to be no copy."""
    if lengths is None and X.flags.c_contiguous and X.flags.writeable and X.dtype in (np.float32, np.float64):
        return X
    return _as_rows(X, lengths) if X.size <= PIECE else None


def _as_rows(X: Array, lengths: Array | None) -> Array:
    if lengths is not None:
        return np.asarray(X / lengths[:, None], dtype=np.float64, order="C")
    return writable(np.ascontiguousarray(X, dtype=np.float64))
