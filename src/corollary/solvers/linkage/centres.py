"""Trees of weighted centres: their nearest neighbours, in Ward's or the plain measure, on threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.linkage import tree as kernels
from corollary.core.parallel import each_block
from corollary.core.types import Array

WIDE = kernels.WIDE


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
        order, nodes = np.arange(n), (2 << levels) - 1
        kernels.build(centres, order, leaves, levels)
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

        def task(first: int, last: int) -> None:
            kernels.neighbours(*self.parts, ward, places, first, last, best, near, second, *self.desk())

        each_block(task, len(places), 256)
        by_number = np.argsort(self.order[places])
        return best[by_number], self.order[near[by_number]], second[by_number]

    def ward_chain(self, left: Array, right: Array, heights: Array) -> None:
        """Merge all centres (which leaves the tree without them); ``left`` and ``right`` are numbers of centres."""
        n = len(self.order)
        links, steps = np.zeros(n, dtype=np.int64), np.empty(n)
        kernels.ward_chain(*self.parts, True, self.node_of, links, steps, left, right, heights, *self.desk())
        left[:], right[:] = self.order[left], self.order[right]
