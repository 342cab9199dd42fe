"""The k nearest so far: exact distances, a heap that breaks ties by row number, and screening of product blocks.

A *reduced* distance orders like the distance and is cheaper: the square for L2, Σ|t|^p for Lp. It is always summed over
the columns in ascending order with strict arithmetic, so a pair of rows has the same reduced distance to the last bit
whichever kernel computes it, dense or sparse. Neighbours are ordered by (reduced distance, row number).
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel

CHUNK = 64  # columns that are screened together


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
def measure_sparse_block(
    q_data, q_columns, q_starts, x_data, x_columns, x_starts, first_query, first_row, candidates, counts, out
):
    """Squared distances of each query to its candidates (numbered from ``first_row`` on); CSR with sorted columns."""
    for i in range(len(counts)):
        for c in range(counts[i]):
            row = first_row + candidates[i, c]
            a, b = q_starts[first_query + i], x_starts[row]
            a_stop, b_stop = q_starts[first_query + i + 1], x_starts[row + 1]
            total = 0.0
            while a < a_stop or b < b_stop:
                if b == b_stop or (a < a_stop and q_columns[a] < x_columns[b]):
                    step = q_data[a]
                    a += 1
                elif a == a_stop or x_columns[b] < q_columns[a]:
                    step = x_data[b]
                    b += 1
                else:
                    step = x_data[b] - q_data[a]
                    a += 1
                    b += 1
                total += step * step
            out[i, c] = total


@lean_kernel
def settle_block(first_row, candidates, counts, measured, distances, rows):
    """Offer the measured candidates of each query to its heap."""
    k = distances.shape[1]
    for i in range(len(counts)):
        for c in range(counts[i]):
            distance, row = measured[i, c], first_row + candidates[i, c]
            if distance < distances[i, 0] or (distance == distances[i, 0] and row < rows[i, 0]):
                sift(distances[i], rows[i], 0, k, distance, row)


@lean_kernel
def screen_block(products, halves, norms, slack, cut, candidates, counts):
    """List the columns c of each row whose lower bound halves[c] − products[i, c] − slack[i]·norms[c] is ≤ cut[i]."""
    n = products.shape[1]
    for i in range(products.shape[0]):
        found, limit, share = 0, cut[i], slack[i]
        for begin in range(0, n, CHUNK):
            end = min(begin + CHUNK, n)
            hits = np.int32(0)  # counting has no branch, so whole registers are compared at once
            for c in range(begin, end):
                hits += np.int32((halves[c] - products[i, c]) - share * norms[c] <= limit)
            if hits == 0:
                continue
            for c in range(begin, end):
                if (halves[c] - products[i, c]) - share * norms[c] <= limit:
                    candidates[i, found] = c
                    found += 1
        counts[i] = found


@lean_kernel
def offer_block(block, first_row, distances, rows):
    """Offer every entry of a block of distances (queries × rows) to the heaps."""
    k = distances.shape[1]
    for i in range(block.shape[0]):
        for c in range(block.shape[1]):
            distance, row = block[i, c], first_row + c
            if distance < distances[i, 0] or (distance == distances[i, 0] and row < rows[i, 0]):
                sift(distances[i], rows[i], 0, k, distance, row)
