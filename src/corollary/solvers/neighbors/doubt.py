"""Queries whose answer rounding may have spoilt, and their answer by distances as they are.

A reduced distance is off by its rounding, relatively, as long as it neither overflows nor vanishes; then neighbours
ordered by it are right to rounding. Sums of powers lose digits below ``TINY`` and are all alike beyond float64. Unit
vectors are off by a few units in the last place, so of the distance of nearly parallel ones more digits are lost the
closer they are: half of them at an angle of 10⁻⁸. Few queries meet such pairs. For those, all rows that could be among
the answers, by a wider margin than the errors, are measured as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from corollary._compiled.codes import CHEBYSHEV, MANHATTAN
from corollary.core.types import Array
from corollary.solvers.neighbors.index import PAIRS, Index, Lists
from corollary.solvers.neighbors.metric import Metric
from corollary.solvers.neighbors.wide import differ, distances_of, shrink_for

TINY = 2.0**-960
_OPPOSITE = 3.99  # squared chords beyond this are of points that face each other, whose angle loses digits too
_SHARE = 2.0**33  # times the margin: beyond this, errors of lengths are below 10⁻⁹ of them


class Doubt:
    """What to doubt among neighbours of queries Q (their ``points`` are what the index knows) and rows X."""

    def __init__(self, metric: Metric, X: Any, index: Index, Q: Any, points: Any) -> None:
        self.metric, self.X, self.index, self.Q, self.points = metric, X, index, Q, points
        self.margin = 8 * (X.shape[1] + 8) * 2.0**-53  # of the length of a difference of two unit vectors

    @property
    def _sums(self) -> bool:
        return self.metric.code in (MANHATTAN, CHEBYSHEV)

    @property
    def least(self) -> float:
        """Reduced distances below this have lost digits."""
        if self.metric.unit:
            return (_SHARE * self.margin) ** 2
        return 0.0 if self._sums else TINY

    def queries(self, query: Array, row: Array, reduced: Array) -> Array:
        """Those of the queries of these pairs that have to be answered again."""
        bad = ~np.isfinite(reduced)
        if self.metric.sphere:
            bad |= reduced > _OPPOSITE
        near = np.flatnonzero((reduced < self.least) & ~bad)
        bad[near] = differ(self.Q, self.X, query[near], row[near])
        return np.unique(query[bad])

    def wider(self, reduced: Array) -> Array:
        """What the reduced distances of rows can be that are really as near as this."""
        if self.metric.unit:
            wide: Array = (np.sqrt(reduced) + self.margin) ** 2 * (1 + 1e-12)
            return wide
        return reduced * (1 + 1e-9) + (0.0 if self._sums else 2 * TINY)

    def nearest(self, unsure: Array, reduced: Array, k: int) -> tuple[Array, Array]:
        """Distances and rows (m, k) of the queries ``unsure``, whose k-th neighbour was found at ``reduced``."""
        distances, rows = np.empty((len(unsure), k)), np.empty((len(unsure), k), dtype=np.int64)
        done = 0
        for query, distance, row in self._measured(unsure, self.wider(reduced)):
            first = np.flatnonzero(np.diff(query, prepend=-1))
            chosen, part = first[:, None] + np.arange(k), slice(done, done + len(first))
            distances[part], rows[part] = distance[chosen], row[chosen]
            done += len(first)
        return distances, rows

    def within(self, unsure: Array, reduced: Array, radius: Array) -> Lists:
        """Places, distances and rows of the queries ``unsure``: all within their radius."""
        query, distance, row = (
            np.concatenate(column) for column in zip(*self._measured(unsure, self.wider(reduced)), strict=True)
        )
        inside = distance <= radius[np.searchsorted(unsure, query)]
        counts = np.bincount(np.searchsorted(unsure, query[inside]), minlength=len(unsure))
        return np.concatenate([[0], np.cumsum(counts)]), distance[inside], row[inside]

    def _measured(self, unsure: Array, limits: Array) -> Iterator[tuple[Array, Array, Array]]:
        """(query, distance, row) of all rows within the limits, in this order, for some queries at a time."""
        shrink, n = shrink_for(self.metric, self.X, self.Q), self.X.shape[0]
        step = max(1, PAIRS // n)
        for a in range(0, len(unsure), step):
            own, most = unsure[a : a + step], limits[a : a + step]
            query, row = self._candidates(own, most)
            key = distances_of(self.metric, self.Q, self.X, query, row, shrink)
            order = np.lexsort((row, key, query))
            with np.errstate(over="ignore"):
                yield query[order], key[order] / shrink, row[order]

    def _candidates(self, queries: Array, limits: Array) -> tuple[Array, Array]:
        known, n = limits < math.inf, self.X.shape[0]
        far = queries[~known]
        query, row = np.repeat(far, n), np.tile(np.arange(n), len(far))
        if known.any():
            near = queries[known]
            places, _, found = self.index.within(self.points[near], limits[known])
            query, row = np.concatenate([query, np.repeat(near, np.diff(places))]), np.concatenate([row, found])
        return query, row
