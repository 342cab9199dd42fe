"""The k nearest so far: a heap that breaks ties by row number; and lists of neighbours.

A *reduced* distance orders like the distance and is cheaper: the square for L2, Σ|t|^p for Lp. It is always summed over
the columns in ascending order with strict arithmetic, so a pair of rows has the same reduced distance to the last bit
whichever kernel computes it, dense or sparse. Neighbours are ordered by (reduced distance, row number).
"""

from __future__ import annotations

from corollary._compiled._jit import inner_kernel, lean_kernel


@inner_kernel
def sift(distances, rows, at, k, distance, row):
    """Put (distance, row) into place ``at`` of a heap of k, or below; the root, place 0, is the farthest."""
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        other = child + 1
        if other < k and (
            distances[other] > distances[child] or (distances[other] == distances[child] and rows[other] > rows[child])
        ):
            child = other
        if distances[child] > distance or (distances[child] == distance and rows[child] > row):
            distances[at], rows[at] = distances[child], rows[child]
            at = child
        else:
            break
    distances[at], rows[at] = distance, row


@inner_kernel
def ascend(distances, rows):
    """Sort a heap in place, the nearest first."""
    for last in range(len(distances) - 1, 0, -1):
        distance, row = distances[last], rows[last]
        distances[last], rows[last] = distances[0], rows[0]
        sift(distances, rows, 0, last, distance, row)


@lean_kernel
def sort_heaps(distances, rows):
    """Sort the heap of every query."""
    for i in range(len(distances)):
        ascend(distances[i], rows[i])


@inner_kernel
def sort_list(distances, rows):
    """Sort a list by (distance, row)."""
    for at in range(len(distances) // 2 - 1, -1, -1):
        sift(distances, rows, at, len(distances), distances[at], rows[at])
    ascend(distances, rows)


@lean_kernel
def sort_lists(distances, rows, places, start, stop):
    """Sort the lists of queries ``start … stop − 1``; that of query i lies from ``places[i]`` to ``places[i + 1]``."""
    for i in range(start, stop):
        sort_list(distances[places[i] : places[i + 1]], rows[places[i] : places[i + 1]])


@lean_kernel
def count_pairs(query, counts):
    """Add the number of pairs of each query to ``counts``."""
    for i in range(len(query)):
        counts[query[i]] += 1


@lean_kernel
def place_pairs(query, distance, row, heads, distances, rows):
    """Put pairs into the lists of their queries, each at the place ``heads`` of its query, which moves on."""
    for i in range(len(query)):
        at = heads[query[i]]
        distances[at], rows[at] = distance[i], row[i]
        heads[query[i]] = at + 1


@lean_kernel
def offer_block(block, first_row, distances, rows):
    """Offer every entry of a block of distances (queries × rows) to the heaps."""
    k = distances.shape[1]
    for i in range(block.shape[0]):
        for c in range(block.shape[1]):
            distance, row = block[i, c], first_row + c
            if distance < distances[i, 0] or (distance == distances[i, 0] and row < rows[i, 0]):
                sift(distances[i], rows[i], 0, k, distance, row)
