"""A whole tree in one compiled call: the scratch memory of the threads that grow it, and its nodes as objects.

Takes trees on columns of numbers that may all be used at every node, with histograms that fit into memory; see
``_compiled/trees/boosting/grow.py``. Others are grown node by node (``tree.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corollary._compiled.trees.boosting import books
from corollary._compiled.trees.boosting.grow import grow_tree
from corollary._compiled.trees.boosting.split import RECORD
from corollary.core.team import run_team
from corollary.core.types import Array
from corollary.solvers.trees.boosting.frontier import Node

if TYPE_CHECKING:
    from corollary.solvers.trees.boosting.tree import Grower

_MOST_LEAVES = 4096  # the next leaf is found by looking at all


@dataclass(frozen=True)
class TreeMemory:
    """What ``workers`` threads write to while a tree grows; kept from tree to tree."""

    workers: int
    scratch: tuple[Array, ...]
    tree: tuple[Array, ...]
    rules: Array
    units: Array

    @classmethod
    def of(cls, grower: Grower, workers: int) -> TreeMemory | None:
        """For the trees of a grower; None if they must be grown node by node."""
        rules, (n, d) = grower.rules, grower.codes.shape
        leaves = max(1, min(rules.max_leaves, n // max(1, rules.min_rows) + 1))
        if grower.has_categories or rules.interactions is not None or leaves > min(_MOST_LEAVES, grower.most_kept - 1):
            return None
        cells, nodes = d * grower.width, 2 * leaves + 1
        scratch = (
            grower.packed,
            np.empty(n, dtype=np.int32),
            np.zeros((workers, cells), dtype=np.int64),
            np.zeros((workers, 3, cells), dtype=np.int64),
            np.empty((leaves + 1, 3, cells), dtype=np.int64),
            np.zeros(workers, dtype=np.int64),
            np.zeros((workers, 2)),
            np.empty((4, RECORD)),
            np.empty(4),
            np.empty(leaves + 1, dtype=np.int64),
        )
        tree = (
            np.zeros((nodes, books.WHOLE), dtype=np.int64),
            np.empty((nodes, 4)),
            np.empty((nodes, RECORD)),
            np.empty((nodes, grower.width), dtype=np.uint8),
            np.zeros(books.DESK, dtype=np.int64),
        )
        limits = (rules.min_rows, rules.min_hessian, rules.l1, rules.l2, rules.leaf_cost, rules.best_first)
        numbers = np.array([leaves, rules.max_depth, *limits], dtype=np.float64)
        return cls(workers, scratch, tree, numbers, np.empty(4))

    def grow(
        self, grower: Grower, gradient: Array, hessian: Array, rows: Array, columns: Array, seed: int
    ) -> list[Node]:
        """The nodes of one tree; the rows of each have a segment for each thread."""
        free, desk = self.scratch[-1], self.tree[-1]
        free[:] = np.arange(1, len(free) + 1)
        desk[:] = -1, 0, 1, 0, 1, len(free) - 1
        self.tree[0][0] = 0, len(rows), 0, -1, 0, 0
        try:
            run_team(
                grow_tree,
                (grower.codes, grower.binner.n_bins, grower.monotone, columns, grower.width),
                (gradient, hessian),
                (grower.shifts, grower.levels, grower.dither, grower.chunk),
                np.uint64(seed),
                self.rules,
                rows,
                grower.rows,
                self.scratch,
                self.tree,
                self.units,
                most=self.workers,
            )
        except BaseException:
            for sums in self.scratch[2:4]:  # which every tree begins with, and leaves, at zero
                sums[:] = 0
            raise
        return self._nodes(int(desk[books.N_NODES]))

    def _nodes(self, count: int) -> list[Node]:
        whole, sums, splits, goes_left = (part[:count].copy() for part in self.tree[:4])
        start, stop = whole[:, books.START, None], whole[:, books.STOP, None]
        edges = start + (stop - start) * np.arange(self.workers + 1) // self.workers
        nodes = []
        for i, (first, end, depth, left, _, _) in enumerate(whole.tolist()):
            g, h, low, high = sums[i].tolist()
            cuts = edges[i].tolist()
            node = Node(depth, cuts[:-1], cuts[1:], g, h, end - first, low, high, number=i)
            if left >= 0:
                node.split, node.left_codes, node.children = splits[i], goes_left[i], (left, left + 1)
            nodes.append(node)
        return nodes
