"""The order of rows in a k-d tree: at every node the rows are parted by the column in which they reach furthest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corollary._compiled.neighbors import parting as kernels
from corollary.core.parallel import run_team
from corollary.core.types import Array

_WORTH = 30_000  # rows on all levels, to box and to part, that are worth a thread


def part_rows(X: Array, bounds: Sequence[Array]) -> tuple[Array, Array]:
    """The rows in the order of the tree, and the boxes (nodes × low and high × columns) of all nodes, level by level.

    Node v of level l holds the rows ``order[bounds[l][v] : bounds[l][v + 1]]``; its children are nodes 2v and 2v + 1 of
    the next level. X is float64 in C order. Cost: n d operations a level, and the parting, on threads; memory, besides
    the answer: four numbers a row and some rows for each thread.
    """
    n, levels = len(X), len(bounds)
    order, boxes = np.arange(n), np.empty(((1 << levels) - 1, 2, X.shape[1]))
    sizes = [int(np.diff(ends).max()) for ends in bounds]
    top = next((level for level, size in enumerate(sizes) if size <= kernels.MANY), levels - 1)
    spare, keys, values = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    blocks = -(-n // kernels.BLOCK)
    counts, parts = np.empty((blocks, kernels.BUCKETS), dtype=np.int64), np.empty((blocks, 2, X.shape[1]))
    ends, most = np.concatenate(bounds).astype(np.int64, copy=False), n * levels // _WORTH
    scratch = order, spare, keys, values, counts, parts
    run_team(kernels.grow, X, ends, levels, top, sizes[top], *scratch, boxes, most=most)
    return order, boxes
