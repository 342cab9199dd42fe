"""The minimum spanning tree of points or of a table of distances, by growing one tree (Prim)."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import kernel
from corollary._compiled.linkage.triangle import CHUNK, NOTHING, accumulate


@kernel
def grow_points(columns, metric, ids, best, parent, first, last, left, right, lengths):
    """Edges first … last − 1 of the spanning tree of points.

    Points that are not in the tree are columns 0 … n − edges − 2; the point that joined last is the column after them.
    ``best`` and ``parent`` are the nearest point of the tree and its distance, as the bits of a float.
    """
    d, n = columns.shape
    point, values = np.empty(d), np.empty(CHUNK)
    bits = values.view(np.int64)
    for t in range(first, last):
        left_over = n - t - 1
        newest = ids[left_over]
        for k in range(d):
            point[k] = columns[k, left_over]
        least, where = NOTHING, 0
        for start in range(0, left_over, CHUNK):
            stop = min(left_over, start + CHUNK)
            accumulate(columns, start, stop, point, metric, values)
            here, known, who = NOTHING, best[start:stop], parent[start:stop]
            for j in range(stop - start):
                closer = bits[j] < known[j]
                value = bits[j] if closer else known[j]
                known[j] = value
                who[j] = newest if closer else who[j]
                here = value if value < here else here
            if here < least:
                least, where = here, start
        while best[where] != least and where < left_over - 1:
            where += 1
        left[t], right[t], lengths[t] = parent[where], ids[where], best[where]
        end = left_over - 1
        for k in range(d):
            columns[k, where], columns[k, end] = columns[k, end], columns[k, where]
        ids[where], ids[end] = ids[end], ids[where]
        best[where], best[end] = best[end], best[where]
        parent[where], parent[end] = parent[end], parent[where]


@kernel
def grow_table(row, newest, best, parent):
    """Let point ``newest``, whose distances are ``row`` (bits of floats), into the tree; returns the point to follow.

    A point of the tree has best −1. Returns −1 when all are in it.
    """
    best[newest] = -1
    least = NOTHING
    for j in range(row.shape[0]):
        closer = row[j] < best[j]
        value = row[j] if closer else best[j]
        best[j] = value
        parent[j] = newest if closer else parent[j]
        outside = value if value >= 0 else NOTHING
        least = outside if outside < least else least
    for j in range(row.shape[0]):
        if best[j] == least:
            return j
    for j in range(row.shape[0]):  # what is left is infinitely far
        if best[j] >= 0:
            return j
    return -1
