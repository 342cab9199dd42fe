"""Ward's and centroid linkage in memory that grows with the rows only: clusters are their centres and weights.

Ward's measure of two clusters is what their union adds to the sum of squares, w v / (w + v) ‖a − b‖². It is reducible,
so that all reciprocal nearest neighbours merge at once (see ``chain``). Centroid linkage is not: the two nearest
centres merge, again and again, and heights can fall. A k-d tree finds the neighbours, on threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.linkage import tree as kernels
from corollary._compiled.linkage.centroid import DESK, DONE, OWN, merge_centres
from corollary.core.parallel import n_threads, run_team
from corollary.core.types import Array
from corollary.solvers.kdtree import tree_order
from corollary.solvers.linkage.chain import SMALL, STALLED
from corollary.solvers.linkage.leaves import Merges, Points, too_large

WIDE = kernels.WIDE
SHARE = 1 << 16  # numbers to compare a centre with that are worth another thread


@dataclass(frozen=True)
class CentreTree:
    """A k-d tree; place p holds centre order[p]."""

    order: Array
    blocks: Array
    weights: Array
    low: Array
    high: Array
    light: Array
    levels: int
    node_of: Array

    @classmethod
    def of(cls, centres: Array, weights: Array) -> CentreTree:
        """The tree of centres (n × d)."""
        n, d = centres.shape
        leaves = -(-n // WIDE)
        levels = (leaves - 1).bit_length()
        nodes = (2 << levels) - 1
        bounds = [np.minimum((leaves * np.arange((1 << k) + 1) >> k) * WIDE, n) for k in range(levels + 1)]
        order, _ = tree_order(centres, bounds)
        ordered, places = np.full((leaves * WIDE, d), np.inf), np.ones(leaves * WIDE)
        ordered[:n], places[:n] = centres[order], weights[order]
        blocks = np.ascontiguousarray(ordered.reshape(leaves, WIDE, d).transpose(0, 2, 1))
        low, high, light = np.empty((nodes, d)), np.empty((nodes, d)), np.empty(nodes)
        node_of = np.empty(leaves, dtype=np.int64)
        kernels.bound_all(blocks, places, levels, low, high, light, node_of)
        return cls(order, blocks, places, low, high, light, levels, node_of)

    @property
    def parts(self) -> tuple[Array, Array, Array, Array, Array, int]:
        return self.blocks, self.weights, self.low, self.high, self.light, self.levels

    def desk(self) -> tuple[Array, ...]:
        """Room for one search at a time: a point, a stack with its bounds, the distances of a leaf and their bits."""
        depth, values = 2 * self.levels + 4, np.empty(WIDE + 1)
        point, stack = np.empty(self.blocks.shape[1]), np.empty(depth, dtype=np.int64)
        return point, stack, np.empty(depth), values, values.view(np.int64)

    def neighbours(self, asking: Array, *, ward: bool) -> tuple[Array, Array, Array]:
        """(measure, nearest centre, measure of the next) for the centres with ``asking``, in the order of numbers.

        In Ward's measure the next one is not looked for.
        """
        places = np.flatnonzero(asking[self.order])
        best, second, near = np.empty(len(places)), np.empty(len(places)), np.empty(len(places), dtype=np.int64)
        run_team(kernels.neighbours, *self.parts, ward, places, best, near, second, most=-(-len(places) // 256))
        if near.min(initial=0) < 0:
            raise too_large()
        by_number = np.argsort(self.order[places])
        return best[by_number], self.order[near[by_number]], second[by_number]

    def ward_chain(self, left: Array, right: Array, heights: Array) -> None:
        """Merge all centres (which leaves the tree without them); ``left`` and ``right`` are numbers of centres."""
        n = len(self.order)
        links, steps = np.zeros(n, dtype=np.int64), np.empty(n)
        desk = self.desk()
        done = kernels.ward_chain(*self.parts, True, self.node_of, links, steps, left, right, heights, *desk)
        if done < len(left):
            raise too_large()
        left[:], right[:] = self.order[left], self.order[right]


def merge_ward(rows: Points, weights: Array) -> Merges:
    """The n − 1 merges, parts before unions, at heights √(2 measure)."""
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


def merge_centroids(rows: Points, weights: Array) -> Merges:
    """The n − 1 merges, in the order in which they are made."""
    n = rows.n
    tree = CentreTree.of(np.ascontiguousarray(rows.columns.T), weights)
    squares, near, second = tree.neighbours(np.ones(n, dtype=bool), ward=False)
    columns, weights = rows.columns.copy(), weights.copy()
    best, bound = squares.view(np.int64), second.view(np.int64)
    names, leaves = np.arange(n), np.arange(n)
    place = np.concatenate([np.arange(n), np.full(n, -1)])
    left, right, bits = (np.empty(n - 1, dtype=np.int64) for _ in range(3))
    state, workers = (names, leaves, best, near, bound, place), min(n_threads(), 1 + rows.columns.size // SHARE)
    desks = np.zeros((workers + 1, DESK), dtype=np.int64)
    desks[-1, OWN] = int(best.argmin())
    run_team(merge_centres, columns, weights, *state, left, right, bits, desks, most=workers)
    if desks[-1, DONE] < n - 1:
        raise too_large()
    return left, right, rows.finished(bits.view(np.float64))
