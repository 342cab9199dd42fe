r"""Euclidean neighbours among sparse rows: the products of a query with all rows screen them, and the rest is measured.

½‖q − x‖² − ½‖q‖² = ½‖x‖² − q·x. The rows are also stored by columns: a query adds its multiple of each of its columns
to the products with all rows. A product of d terms in a precision of unit u is off by at most (d + a few) u ‖q‖‖x‖, so
``low[r]`` − q·x − slack ``norms[r]`` is below the truth and ``high[r]`` − q·x + slack ``norms[r]`` above it.

Matrices are (data, indices, indptr) with sorted indices; a ``screen`` is (rows by columns, low, high, norms, scale),
where all but the scale are those of rows times the scale.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel, lean_kernel
from corollary._compiled.neighbors.nearest import ascend, sift
from corollary._compiled.team import count_blocks, rows_of, take

CHUNK = 64  # rows that are screened together
QUERIES = 8  # that a thread takes at once
UNIT = 2.0**-53
SMALLEST = 1e-280  # more than all that underflow can take away from a sum of products


@lean_kernel
def measure_sparse(Q, i, X, row):
    """The squared distance of a query to a row, summed over the columns of either in ascending order."""
    q_data, q_columns, q_starts = Q
    x_data, x_columns, x_starts = X
    a, b, a_stop, b_stop, total = q_starts[i], x_starts[row], q_starts[i + 1], x_starts[row + 1], 0.0
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
    return total


@inner_kernel
def _multiply(Q, i, screen, products):
    """Add the products of query i with all rows to ``products``; returns its squared norm (all times the scale)."""
    data, columns, starts = Q
    x_data, x_rows, x_starts = screen[0]
    square = 0.0
    for a in range(starts[i], starts[i + 1]):
        value, j = data[a] * screen[4], columns[a]
        square += value * value
        for b in range(x_starts[j], x_starts[j + 1]):
            products[x_rows[b]] += value * x_data[b]
    return square


@inner_kernel
def _slack(square, d):
    rounding, gamma = (d + 8) * 2.0**-52, d * UNIT / (1.0 - min(0.5, d * UNIT))
    return (gamma + 20.0 * UNIT) * math.sqrt(square) * (1.0 + rounding) + SMALLEST


@inner_kernel
def _cut(worst, square, d):
    """What the lower bound of a pair within the squared distance ``worst`` (times scale²) cannot exceed."""
    rounding = (d + 8) * 2.0**-52  # of squared distances in float64
    half = 0.5 * (worst * (1.0 + rounding) - square * (1.0 - rounding))
    return half + (8.0 * UNIT * abs(half) + SMALLEST)


@inner_kernel
def _below(products, low, norms, slack, cut, first, end):
    """Whether the lower bound of a row is within the cut; counting has no branch, so whole registers are compared."""
    hits = np.int32(0)
    for r in range(first, end):
        hits += np.int32(not (low[r] - products[r]) - slack * norms[r] > cut)
    return hits > 0


@inner_kernel
def _list_near(products, screen, square, d, uppers, numbers, lows, rows):
    """List the rows that may be among the nearest, by the least upper bounds so far (a heap, whose numbers are not
    used), with their lower bounds; clears the products. Returns how many."""
    low, high, norms = screen[1], screen[2], screen[3]
    slack, count, cut = _slack(square, d), 0, np.inf
    uppers[:] = np.inf
    numbers[:] = -1
    for first in range(0, len(products), CHUNK):
        end = min(first + CHUNK, len(products))
        if _below(products, low, norms, slack, cut, first, end):
            for r in range(first, end):
                bound = (low[r] - products[r]) - slack * norms[r]
                if bound > cut:
                    continue
                lows[count], rows[count] = bound, r
                count += 1
                above = (high[r] - products[r]) + slack * norms[r]
                if above < uppers[0]:
                    sift(uppers, numbers, 0, len(uppers), above, r)
                    half = uppers[0] + 4.0 * UNIT * abs(uppers[0])
                    cut = _cut(max(2.0 * half + square * (1.0 + (d + 8) * 2.0**-52), 0.0), square, d)
        products[first:end] = 0.0
    kept = 0
    for c in range(count):
        if not lows[c] > cut:
            rows[kept] = rows[c]
            kept += 1
    return kept


@kernel
def nearest_sparse(team, rank, X, screen, Q, d, distances, rows):
    """The nearest of all queries, into heaps; threads take a few queries at a time."""
    n, m, k = len(screen[1]), distances.shape[0], distances.shape[1]
    products, lows, listed = np.zeros(n), np.empty(n), np.empty(n, np.int64)
    uppers, numbers = np.empty(k), np.empty(k, np.int64)
    block = take(team)
    while block < count_blocks(m, QUERIES):
        start, stop = rows_of(block, m, QUERIES)
        for i in range(start, stop):
            square = _multiply(Q, i, screen, products)
            count = _list_near(products, screen, square, d, uppers, numbers, lows, listed)
            best, own = distances[i], rows[i]
            for c in range(count):
                distance, row = measure_sparse(Q, i, X, listed[c]), listed[c]
                if distance < best[0] or (distance == best[0] and row < own[0]):
                    sift(best, own, 0, k, distance, row)
            ascend(best, own)
        block = take(team)


@kernel
def sparse_within(X, screen, Q, d, limits, start, stop):
    """Queries, squared distances and rows of all pairs of queries ``start … stop − 1`` within their limits."""
    low, norms, n = screen[1], screen[3], len(screen[1])
    products, found, most = np.zeros(n), 0, max(n, 1024)
    queries, distances, rows = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
    for i in range(start, stop):
        if found + n > len(rows):
            most = 2 * len(rows)
            more, longer, further = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
            more[:found], longer[:found], further[:found] = queries[:found], distances[:found], rows[:found]
            queries, distances, rows = more, longer, further
        square = _multiply(Q, i, screen, products)
        slack, cut = _slack(square, d), _cut(limits[i] * screen[4] * screen[4], square, d)  # scale² may be 0 or ∞
        for first in range(0, n, CHUNK):
            end = min(first + CHUNK, n)
            if _below(products, low, norms, slack, cut, first, end):
                for r in range(first, end):
                    if not (low[r] - products[r]) - slack * norms[r] > cut:
                        distance = measure_sparse(Q, i, X, r)
                        if distance <= limits[i]:
                            queries[found], distances[found], rows[found] = i, distance, r
                            found += 1
            products[first:end] = 0.0
    return queries[:found], distances[:found], rows[:found]
