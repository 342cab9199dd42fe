"""The minimum spanning tree of points or of a table of distances, by growing one tree (Prim)."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel, lean_kernel
from corollary._compiled.linkage.triangle import CHUNK, NOTHING, accumulate
from corollary._compiled.team import SIZE, count_blocks, meet, share


@inner_kernel
def _shorten(columns, metric, first, stop, newest, best, parent, point, values, bits):
    """Let points first … stop − 1 know of the newest point of the tree; returns the least of ``best``, and where."""
    least, where = NOTHING, stop
    for start in range(first, stop, CHUNK):
        end = min(stop, start + CHUNK)
        accumulate(columns, start, end, point, metric, values)
        here, known, who = NOTHING, best[start:end], parent[start:end]
        for j in range(end - start):
            closer = bits[j] < known[j]
            value = bits[j] if closer else known[j]
            known[j] = value
            who[j] = newest if closer else who[j]
            here = value if value < here else here
        if here < least:
            least, where = here, start
    while where < stop and best[where] != least:
        where += 1
    return least, where


@kernel
def grow_points(team, rank, columns, metric, ids, best, parent, left, right, lengths, desks):
    """All edges of the spanning tree of points.

    Points that are not in the tree are columns 0 … n − edges − 2; the point that joined last is the column after them.
    ``best`` and ``parent`` are the nearest point of the tree and its distance, as the bits of a float. Threads have
    shares of the points, and tell on their ``desks`` which is nearest; the first thread lets it in.
    """
    d, n = columns.shape
    point, values = np.empty(d), np.empty(CHUNK)
    bits = values.view(np.int64)
    for t in range(n - 1):
        left_over = n - t - 1
        for k in range(d):
            point[k] = columns[k, left_over]
        first, end = share(team, rank, count_blocks(left_over, CHUNK))
        stop = min(end * CHUNK, left_over)
        desks[rank, 0], desks[rank, 1] = _shorten(
            columns, metric, first * CHUNK, stop, ids[left_over], best, parent, point, values, bits
        )
        if not meet(team):
            return
        if rank == 0:
            least, where, last = NOTHING, np.int64(0), left_over - 1
            for u in range(team[SIZE]):
                if desks[u, 0] < least:
                    least, where = desks[u, 0], desks[u, 1]
            left[t], right[t], lengths[t] = parent[where], ids[where], best[where]
            for k in range(d):
                columns[k, where], columns[k, last] = columns[k, last], columns[k, where]
            ids[where], ids[last] = ids[last], ids[where]
            best[where], best[last] = best[last], best[where]
            parent[where], parent[last] = parent[last], parent[where]
        if not meet(team):
            return


@lean_kernel
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
