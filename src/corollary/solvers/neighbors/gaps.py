r"""Rows with gaps: the distance of two rows is that over the columns that both have, made up for the others.

With m of d columns in both, it is :math:`\sqrt{\frac d m \sum (x_j - z_j)^2}` over these m. Rows without a common
column are infinitely far from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.scaling import power_of_two
from corollary.core.types import Array
from corollary.solvers.neighbors.blocks import BlockSearch, Search
from corollary.solvers.neighbors.index import Lists


@dataclass(frozen=True, eq=False)
class GapSearch(BlockSearch):
    """Rows X that may have gaps; if they have none, ``whole`` answers the queries that have none either."""

    X: Array
    whole: Search | None

    @property
    def name(self) -> str:
        return "pairwise distances in blocks" if self.whole is None else self.whole.name

    def _n_rows(self) -> int:
        return len(self.X)

    def _block(self, Q: Any, first: int, stop: int) -> Array:
        return distances_with_gaps(Q, self.X[first:stop])

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        gaps = np.isnan(Q).any(axis=1)
        if self.whole is None or gaps.all():
            return super().nearest(Q, k)
        if not gaps.any():
            return self.whole.nearest(Q, k)
        distances, rows = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        distances[gaps], rows[gaps] = super().nearest(Q[gaps], k)
        distances[~gaps], rows[~gaps] = self.whole.nearest(Q[~gaps], k)
        return distances, rows

    def within(self, Q: Any, radius: Array) -> Lists:
        if self.whole is None or np.isnan(Q).any():
            return super().within(Q, radius)
        return self.whole.within(Q, radius)


def distances_with_gaps(A: Array, B: Array) -> Array:
    """Distances of the rows of A to those of B; ∞ for those that have no column in common."""
    size = max((float(np.nanmax(np.abs(part))) for part in (A, B) if not np.isnan(part).all()), default=0.0)
    scale = power_of_two(size)
    a, b = (np.asarray(part, dtype=np.float64) * scale for part in (A, B))
    squares, common = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
    for j in range(a.shape[1]):
        gap = a[:, j, None] - b[:, j]
        there = ~np.isnan(gap)
        common += there
        gap *= gap
        np.add(squares, gap, out=squares, where=there)
    with np.errstate(divide="ignore", over="ignore"):
        squares *= a.shape[1] / np.maximum(common, 1.0)
        found: Array = np.sqrt(squares, out=squares)
        found /= scale
    found[common == 0] = np.inf
    return found
