"""Complete and average linkage on a triangle of distances: all reciprocal nearest neighbours merge at once.

A linkage is reducible if a union is never nearer to a third cluster than the nearer of its parts was. Two clusters that
are each other's nearest then stay so whatever else merges, so all such pairs can merge in one pass over the triangle,
which shrinks by half or more. Where few pairs are left, chains of nearest neighbours finish the work.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled.linkage import triangle as kernels
from corollary.core.memory import check_memory
from corollary.core.parallel import each_block, map_blocks
from corollary.core.types import Array
from corollary.solvers.distance_tables import Distances
from corollary.solvers.linkage.leaves import Merges, Points, too_large

CODES = {"complete": kernels.COMPLETE, "average": kernels.AVERAGE, "single": kernels.SINGLE}
STALLED = 25  # if a pass merges fewer than one cluster in so many, chains are quicker
SMALL = 64
WRITTEN = 1 << 18
BAND = 1 << 21  # entries of the triangle that are worked out before they overwrite the old ones


def merge_triangle(rows: Points | Distances, weights: Array, linkage: str) -> Merges:
    """The n − 1 merges, parts before unions."""
    n = rows.n
    check_memory(
        4 * n * (n - 1) + 16 * BAND,
        f"{linkage} linkage of {n} rows keeps the distances of all pairs, which",
        "use linkage='ward' or 'single', whose memory grows with n only, or give a sparse connectivity graph, "
        "or cluster the centres of a k-means with many clusters",
    )
    triangle = np.empty(n * (n - 1) // 2)
    best, near = _fill_points(rows, triangle) if isinstance(rows, Points) else _fill_table(rows, triangle)
    left, right, heights = _merge_all(triangle, best, near, weights, CODES[linkage])
    return left, right, rows.scaled(heights) if isinstance(rows, Points) else heights


class _Nearest:
    """The nearest neighbour of each of m clusters as far as known; blocks are merged in their order."""

    def __init__(self, m: int) -> None:
        self.best = np.full(m, kernels.NOTHING)
        self.near = np.full(m, -1)

    def learn(self, other: _Nearest) -> None:
        m = len(other.best)
        closer = other.best < self.best[:m]
        np.copyto(self.best[:m], other.best, where=closer)
        np.copyto(self.near[:m], other.near, where=closer)


def _fill_points(rows: Points, triangle: Array) -> tuple[Array, Array]:
    n, bits = rows.n, triangle.view(np.int64)

    def task(first: int, last: int) -> _Nearest:
        part = _Nearest(last)
        kernels.fill_rows(
            rows.columns, rows.metric, rows.shape, first, last, triangle, bits, part.best, part.near
        )  # fmt: skip
        return part

    known = _Nearest(n)
    for part in map_blocks(task, n, max(64, n // 64)):
        known.learn(part)
    return known.best, known.near


def _fill_table(rows: Distances, triangle: Array) -> tuple[Array, Array]:
    n, bits = rows.n, triangle.view(np.int64)
    size = max(1, BAND // n)
    for start in range(0, n, size):
        block = rows.rows(slice(start, min(n, start + size))) + 0.0  # no negative zeros: their bits would come last
        for i in range(start, start + len(block)):
            triangle[i * (i - 1) // 2 : i * (i + 1) // 2] = block[i - start, :i]

    def task(first: int, last: int) -> _Nearest:
        part = _Nearest(last)
        kernels.scan_rows(first, last, bits, part.best, part.near)
        return part

    known = _Nearest(n)
    for part in map_blocks(task, n, max(64, n // 64)):
        known.learn(part)
    return known.best, known.near


def _merge_all(triangle: Array, best: Array, near: Array, weights: Array, linkage: int) -> Merges:
    n = m = len(best)
    rows, weights = np.arange(n), weights.copy()
    left, right, heights = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64), np.empty(n - 1)
    done = 0
    while m > SMALL:
        one = np.flatnonzero((near[near] == np.arange(m)) & (np.arange(m) < near))
        if STALLED * len(one) < m:
            break
        other = near[one]
        now = slice(done, done + len(one))
        left[now], right[now], heights[now] = rows[one], rows[other], best.view(np.float64)[one]
        partner, share = np.full(m, -1), np.ones(m)
        partner[one], share[one] = other, weights[one] / (weights[one] + weights[other])
        weights[one] += weights[other]
        kept = np.delete(np.arange(m), other)
        best, near = _compact(triangle, kept, partner[kept], share[kept], linkage)
        rows, weights, m, done = rows[kept], weights[kept], len(kept), done + len(one)
    if m > 1:
        links, steps = np.zeros(m, dtype=np.int64), np.empty(m)
        finished = kernels.chain(
            triangle, weights, linkage, np.arange(m), links, steps, left[done:], right[done:], heights[done:]
        )  # fmt: skip
        if finished < m - 1:
            raise too_large()
        left[done:], right[done:] = rows[left[done:]], rows[right[done:]]
    return left, right, heights


def _compact(triangle: Array, one: Array, other: Array, share: Array, linkage: int) -> tuple[Array, Array]:
    """Rewrite the triangle in place for the clusters after a round of merges; returns their nearest neighbours.

    Row K of the new triangle needs rows one[K] ≥ K and other[K] > one[K] of the old one, and its place there ends
    before row K + 1 begins. A band of rows is worked out aside before it is written, so nothing is lost.
    """
    m, merged = len(one), np.flatnonzero(other >= 0)
    known, first = _Nearest(m), 0
    buffer = np.empty(max(min(BAND, m * (m - 1) // 2), m))
    while first < m:
        base = first * (first - 1) // 2
        last = min(m, max(first + 1, int(np.sqrt(2.0 * (base + len(buffer))))))

        def task(start: int, stop: int, first: int = first, base: int = base) -> _Nearest:
            part = _Nearest(first + stop)
            kernels.merge_rows(
                triangle, first + start, first + stop, one, merged, other, share, linkage, buffer, base,
                buffer.view(np.int64), part.best, part.near,
            )  # fmt: skip
            return part

        def write(start: int, stop: int, base: int = base) -> None:
            triangle[base + start : base + stop] = buffer[start:stop]

        for part in map_blocks(task, last - first, max(8, -(-(last - first) // 8))):
            known.learn(part)
        each_block(write, last * (last - 1) // 2 - base, WRITTEN)
        first = last
    return known.best, known.near
