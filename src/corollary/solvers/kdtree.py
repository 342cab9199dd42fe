"""The order of rows in a k-d tree: at every node the rows are parted by the column in which they reach furthest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corollary._compiled.neighbors import kdtree as kernels
from corollary.core.parallel import each_block
from corollary.core.types import Array


def part_rows(X: Array, bounds: Sequence[Array]) -> tuple[Array, Array]:
    """The rows in the order of the tree, and the boxes (nodes × low and high × columns) of all nodes, level by level.

    Node v of level l holds the rows ``order[bounds[l][v] : bounds[l][v + 1]]``; its children are nodes 2v and 2v + 1 of
    the next level. X is float64 in C order. Cost: n d operations a level, and the parting, on threads.
    """
    order, boxes = np.arange(len(X)), np.empty(((1 << len(bounds)) - 1, 2, X.shape[1]))
    for level, ends in enumerate(bounds):
        last = level == len(bounds) - 1
        middles = np.ascontiguousarray(ends[:-1] if last else bounds[level + 1][1::2])  # the last level is not parted
        _part_level(X, order, ends, middles, boxes[(1 << level) - 1 : (2 << level) - 1])
    return order, boxes


def _part_level(X: Array, order: Array, ends: Array, middles: Array, boxes: Array) -> None:
    each_block(
        lambda a, b: kernels.split_nodes(X, order, ends, middles, a, b, boxes),
        len(middles),
        max(1, len(middles) // 8),
    )
