"""The order of rows in a k-d tree: at every node the rows are parted by the column in which they reach furthest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corollary._compiled import kdtree as kernels
from corollary.core.parallel import n_threads, run_team
from corollary.core.types import Array

_WORTH = 30_000  # rows on all levels, to box and to part, that are worth a thread


def tree_order(X: Array, bounds: Sequence[Array]) -> tuple[Array, Array]:
    """The rows in the order of the tree, and the boxes (nodes × low and high × columns) of all nodes, level by level.

    Node v of level l holds the rows ``order[bounds[l][v] : bounds[l][v + 1]]``; its children are nodes 2v and 2v + 1 of
    the next level. X is float64 in C order. Cost: n d operations a level, and the parting, on threads; memory, besides
    the answer: four numbers a row and some rows for each thread.
    """
    (n, d), levels = X.shape, len(bounds)
    order, boxes = np.arange(n), np.empty(((1 << levels) - 1, 2, d))
    sizes = [int(np.diff(ends).max()) for ends in bounds]
    top = next((level for level, size in enumerate(sizes) if size <= kernels.MANY), levels - 1)
    ends, spare = np.concatenate(bounds).astype(np.int64, copy=False), np.empty(n, dtype=np.int64)
    T, size = max(1, min(n_threads(), n * levels // _WORTH)), sizes[top]
    if top > 0:
        blocks = -(-n // kernels.BLOCK)
        counts, parts = np.empty((blocks, kernels.BUCKETS), dtype=np.int64), np.empty((blocks, 2, d))
        scratch = np.empty(n), np.empty(n), counts, parts, np.empty((T, 2, d))
        run_team(kernels.grow_together, X, ends, top, order, spare, *scratch, boxes, most=T)
    room = np.empty((T, size, d)), np.empty((T, size), dtype=np.int64), np.empty((T, size))
    run_team(kernels.grow_alone, X, ends, top, levels, order, spare, *room, boxes, most=T)
    return order, boxes
