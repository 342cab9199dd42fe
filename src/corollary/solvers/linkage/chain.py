"""Complete and average linkage on a triangle of distances: all reciprocal nearest neighbours merge at once.

A linkage is reducible if a union is never nearer to a third cluster than the nearer of its parts was. Two clusters that
are each other's nearest then stay so whatever else merges, so all such pairs can merge in one pass over the triangle,
which shrinks by half or more. Where few pairs are left, chains of nearest neighbours finish the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from corollary._compiled.linkage import triangle as kernels
from corollary.core.memory import check_memory
from corollary.core.parallel import n_threads, run_team
from corollary.core.types import Array
from corollary.solvers.distance_tables import Distances
from corollary.solvers.linkage.leaves import Merges, Points, too_large

CODES = {"complete": kernels.COMPLETE, "average": kernels.AVERAGE, "single": kernels.SINGLE}
STALLED = 25  # if a pass merges fewer than one cluster in so many, chains are quicker
SMALL = 64
SHARE = 1 << 19  # steps that are worth another thread
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


def merge_ward_triangle(rows: Points, weights: Array) -> Merges:
    """Ward's merges of a few rows, parts before unions, along chains: 4 n² bytes."""
    n = rows.n
    triangle = np.empty(n * (n - 1) // 2)
    _fill_points(replace(rows, shape=kernels.PLAIN), triangle)
    kernels.weigh(triangle, weights)
    left, right, heights = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64), np.empty(n - 1)
    _chain(triangle, weights.copy(), kernels.WARD, left, right, heights)
    return left, right, rows.scaled(np.sqrt(2.0 * heights))


def _chain(triangle: Array, weights: Array, linkage: int, left: Array, right: Array, heights: Array) -> None:
    m = len(weights)
    links, steps = np.zeros(m, dtype=np.int64), np.empty(m)
    if kernels.chain(triangle, weights, linkage, np.arange(m), links, steps, left, right, heights) < m - 1:
        raise too_large()


class _Nearest:
    """The nearest neighbour of each of m clusters as each thread knows it; in the end the first knows all."""

    def __init__(self, m: int, work: int) -> None:
        self.threads = min(n_threads(), 1 + work // SHARE)
        self.best = np.full((self.threads, m), kernels.NOTHING)
        self.near = np.full((self.threads, m), -1)

    def found_by(self, kernel: Callable[..., Any], *args: Any) -> tuple[Array, Array]:
        """(how near, which) of all clusters."""
        run_team(kernel, *args, self.best, self.near, most=self.threads)
        return self.best[0], self.near[0]


def _fill_points(rows: Points, triangle: Array) -> tuple[Array, Array]:
    known = _Nearest(rows.n, len(triangle) * (2 + len(rows.columns)))
    return known.found_by(kernels.fill, rows.columns, rows.metric, rows.shape, triangle, triangle.view(np.int64))


def _fill_table(rows: Distances, triangle: Array) -> tuple[Array, Array]:
    n = rows.n
    size = max(1, BAND // n)
    for start in range(0, n, size):
        block = rows.rows(slice(start, min(n, start + size))) + 0.0  # no negative zeros: their bits would come last
        for i in range(start, start + len(block)):
            triangle[i * (i - 1) // 2 : i * (i + 1) // 2] = block[i - start, :i]
    return _Nearest(n, 2 * len(triangle)).found_by(kernels.scan, triangle.view(np.int64))


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
        _chain(triangle, weights, linkage, left[done:], right[done:], heights[done:])
        left[done:], right[done:] = rows[left[done:]], rows[right[done:]]
    return left, right, heights


def _compact(triangle: Array, one: Array, other: Array, share: Array, linkage: int) -> tuple[Array, Array]:
    """Rewrite the triangle in place for the clusters after a round of merges; returns their nearest neighbours."""
    m, merged = len(one), np.flatnonzero(other >= 0)
    pairs = m * (m - 1) // 2
    buffer = np.empty(max(min(BAND, pairs), m))
    state = one, merged, other, share, linkage, buffer, buffer.view(np.int64)
    return _Nearest(m, 8 * pairs).found_by(kernels.merge_round, triangle, *state)
