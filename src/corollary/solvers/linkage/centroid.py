"""Centroid linkage: the two nearest centres merge, again and again; heights can fall."""

from __future__ import annotations

import numpy as np

from corollary._compiled.linkage.centroid import merge_centres
from corollary.core.types import Array
from corollary.solvers.linkage.centres import CentreTree
from corollary.solvers.linkage.rows import Points

SLICE = 500  # merges between two looks at the keyboard


def agglomerate(rows: Points, weights: Array) -> tuple[Array, Array, Array]:
    """(row of one side, row of the other, height) of the n − 1 merges, in the order in which they are made."""
    n = rows.n
    tree = CentreTree.of(np.ascontiguousarray(rows.columns.T), weights)
    squares, near, second = tree.neighbours(np.ones(n, dtype=bool), ward=False)
    columns, weights = rows.columns.copy(), weights.copy()
    best, bound = squares.view(np.int64), second.view(np.int64)
    names, leaves = np.arange(n), np.arange(n)
    place = np.concatenate([np.arange(n), np.full(n, -1)])
    left, right, bits = (np.empty(n - 1, dtype=np.int64) for _ in range(3))
    for start in range(0, n - 1, SLICE):
        stop = min(n - 1, start + SLICE)
        merge_centres(columns, weights, names, leaves, best, near, bound, place, start, stop, left, right, bits)
    return left, right, rows.finished(bits.view(np.float64))
