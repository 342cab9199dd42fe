"""Single linkage: the edges of the minimum spanning tree, shortest first."""

from __future__ import annotations

import numpy as np

from corollary._compiled.linkage import spanning_tree as kernels
from corollary._compiled.linkage.triangle import NOTHING
from corollary.core.types import Array
from corollary.solvers.linkage.rows import Distances, Points

SLICE = 500  # edges between two looks at the keyboard


def spanning_tree(rows: Points | Distances) -> tuple[Array, Array, Array]:
    """(one end, other end, length) of the n − 1 edges, shortest first; needs memory for one more copy of the rows."""
    left, right, lengths = _from_points(rows) if isinstance(rows, Points) else _from_table(rows)
    order = np.argsort(lengths, kind="stable")
    return left[order], right[order], lengths[order]


def _from_points(rows: Points) -> tuple[Array, Array, Array]:
    n = rows.n
    columns, ids = rows.columns.copy(), np.arange(n)
    best, parent = np.full(n, NOTHING), np.zeros(n, dtype=np.int64)
    left, right, bits = (np.empty(n - 1, dtype=np.int64) for _ in range(3))
    for start in range(0, n - 1, SLICE):
        stop = min(n - 1, start + SLICE)
        kernels.grow_points(columns, rows.metric, ids, best, parent, start, stop, left, right, bits)
    return left, right, rows.finished(bits.view(np.float64))


def _from_table(rows: Distances) -> tuple[Array, Array, Array]:
    """Row after row of the table, each looked at once."""
    n, newest = rows.n, 0
    best, parent = np.full(n, NOTHING), np.zeros(n, dtype=np.int64)
    left, right, bits = (np.empty(n - 1, dtype=np.int64) for _ in range(3))
    for t in range(n - 1):
        row = rows.row(newest).view(np.int64)
        newest = int(kernels.grow_table(row, newest, best, parent))
        left[t], right[t], bits[t] = parent[newest], newest, best[newest]
    return left, right, bits.view(np.float64)
