"""Ward's linkage in memory that grows with the rows only: clusters are their centres and weights.

The measure of two clusters is what their union adds to the sum of squares, w v / (w + v) ‖a − b‖². It is reducible, so
that all reciprocal nearest neighbours merge at once (see ``linkage_chain``); neighbours are found by a k-d tree.
"""

from __future__ import annotations

import numpy as np

from corollary.core.types import Array
from corollary.solvers.linkage.centres import CentreTree
from corollary.solvers.linkage.chain import SMALL, STALLED
from corollary.solvers.linkage.rows import Points


def agglomerate(rows: Points, weights: Array) -> tuple[Array, Array, Array]:
    """(row of one side, row of the other, height √(2 measure)) of the n − 1 merges, parts before unions."""
    n = rows.n
    state = _Clusters(rows.columns.T.copy(order="C"), weights.copy())
    left, right, heights = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64), np.empty(n - 1)
    done = 0
    while done < n - 1:
        one = state.pairs() if n - done > SMALL else np.empty(0, dtype=np.int64)
        if STALLED * len(one) < n - done:
            CentreTree.of(state.centres, state.weights).ward_chain(left[done:], right[done:], heights[done:])
            left[done:], right[done:] = state.names[left[done:]], state.names[right[done:]]
            break
        now = slice(done, done + len(one))
        left[now], right[now] = state.names[one], state.names[state.near[one]]
        heights[now] = state.best[one]
        state.merge(one)
        done += len(one)
    return left, right, rows.scaled(np.sqrt(2.0 * heights))


class _Clusters:
    """Centres, weights and nearest neighbours of the clusters there are; ``names`` are rows in them.

    ``best`` is how near the cluster ``near`` is. Merges elsewhere leave it true; a cluster that has merged, or whose
    nearest has, must search again (``asking``).
    """

    def __init__(self, centres: Array, weights: Array) -> None:
        n = len(weights)
        self.centres, self.weights, self.names = centres, weights, np.arange(n)
        self.best, self.near, self.asking = np.empty(n), np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool)

    def pairs(self) -> Array:
        """The first of each two clusters that are each other's nearest."""
        tree = CentreTree.of(self.centres, self.weights)
        self.best[self.asking], self.near[self.asking], _ = tree.neighbours(self.asking, ward=True)
        here = np.arange(len(self.near))
        return np.flatnonzero((self.near[self.near] == here) & (here < self.near))

    def merge(self, one: Array) -> None:
        """Merge each of these with its nearest."""
        other, m = self.near[one], len(self.near)
        total = self.weights[one] + self.weights[other]
        self.centres[one] += (self.weights[other] / total)[:, None] * (self.centres[other] - self.centres[one])
        self.weights[one] = total
        kept = np.delete(np.arange(m), other)
        number, merged = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
        number[kept] = np.arange(len(kept))
        merged[one] = merged[other] = True
        self.asking = merged[self.near[kept]]
        self.near, self.best = number[self.near[kept]], self.best[kept]
        self.centres, self.weights, self.names = self.centres[kept], self.weights[kept], self.names[kept]
