r"""Euclidean neighbours by products: pairs are screened by tiles in working precision, and what is left is measured.

With rows and queries shifted and scaled alike, ½‖q − x‖² − ½‖q‖² = ½‖x‖² − q·x. A panel has two more columns than the
rows: ``low``, which is ½‖x‖² rounded down, and ``norm``, ‖x‖ rounded up. Queries are −q, 1 and −slack there. So one sum
of products is a lower bound of what a pair has to be compared by, its own rounding included (see ``Panels``).
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel, lean_kernel
from corollary._compiled.atomic import atomic_load
from corollary._compiled.neighbors.nearest import ascend, sift
from corollary._compiled.neighbors.tile import QUERIES, tile_hits
from corollary._compiled.team import STOPPED, count_blocks, rows_of, take

SPAN = 1024  # rows whose extent is taken together
SCALE, UNIT, SMALLEST, MARGIN, SLACK, TRAITS = range(6)  # what ``Panels`` knows of its precision
AT_ONCE = 4  # pairs that are measured side by side: a sum in strict order waits for each of its terms


@lean_kernel
def spans(team, rank, X, sums, lows, highs):
    """Column sums, minima and maxima of blocks of ``SPAN`` rows."""
    block, blocks = take(team), len(sums)
    while block < blocks:
        start, stop = rows_of(block, X.shape[0], SPAN)
        total, low, high = sums[block], lows[block], highs[block]
        for j in range(X.shape[1]):
            total[j], low[j], high[j] = 0.0, X[start, j], X[start, j]
        for i in range(start, stop):
            for j in range(X.shape[1]):
                value = X[i, j]
                total[j] += value
                low[j] = value if value < low[j] else low[j]
                high[j] = value if value > high[j] else high[j]
        block = take(team)


@lean_kernel
def pack_rows(team, rank, X, centre, traits, panels):
    """Fill the panels with the rows; what the last one has room for beyond them is zero."""
    (n, d), width, scale = X.shape, panels.shape[2], traits[SCALE]
    p = take(team)
    while p < len(panels):
        start, stop = rows_of(p, n, width)
        own = panels[p]
        for c in range(stop - start):
            square = 0.0
            for j in range(d):
                value = (float(X[start + c, j]) - centre[j]) * scale
                own[j, c] = value
                square += value * value
            own[d, c] = 0.5 * square * (1.0 - traits[MARGIN]) - traits[SMALLEST]
            own[d + 1, c] = math.sqrt(square) * (1.0 + traits[MARGIN])
        for j in range(d + 2):
            for c in range(stop - start, width):
                own[j, c] = 0.0
        p = take(team)


@inner_kernel
def _pack_queries(Q, start, stop, centre, traits, tiles, cuts, squares):
    """Queries ``start … stop − 1`` as tiles without cuts, and their squared norms; missing ones are near nothing."""
    d, rounding = Q.shape[1], (Q.shape[1] + 8) * 2.0**-52
    for i in range(len(tiles) * QUERIES):
        own, c = tiles[i // QUERIES], i % QUERIES
        if start + i >= stop:
            for j in range(d + 2):
                own[j, c] = 0.0
            cuts[i // QUERIES, c] = -np.inf
            continue
        square = 0.0
        for j in range(d):
            value = (Q[start + i, j] - centre[j]) * traits[SCALE]
            own[j, c] = -value
            square += value * value
        squares[i] = square
        own[d, c] = 1.0
        own[d + 1, c] = -(traits[SLACK] * math.sqrt(square) * (1.0 + rounding) + traits[SMALLEST])
        cuts[i // QUERIES, c] = np.inf


@inner_kernel
def _cut(worst, square, d, traits):
    """What the lower bound of a pair within the squared distance ``worst`` cannot exceed, in working precision."""
    rounding = (d + 8) * 2.0**-52  # of squared distances in float64
    scaled = worst * traits[SCALE] * traits[SCALE]  # the square itself may be 0 or ∞
    half = 0.5 * (scaled * (1.0 + rounding) - square * (1.0 - rounding))
    return half + (8.0 * traits[UNIT] * abs(half) + traits[SMALLEST])


@inner_kernel
def measure_four(X, Q, pairs, at, out):
    """Squared distances of the four pairs (row, query) from ``at`` on, each summed over the columns in their order."""
    r0, r1, r2, r3 = pairs[0, at], pairs[0, at + 1], pairs[0, at + 2], pairs[0, at + 3]
    q0, q1, q2, q3 = pairs[1, at], pairs[1, at + 1], pairs[1, at + 2], pairs[1, at + 3]
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for j in range(X.shape[1]):
        s0, s1 = float(X[r0, j]) - Q[q0, j], float(X[r1, j]) - Q[q1, j]
        s2, s3 = float(X[r2, j]) - Q[q2, j], float(X[r3, j]) - Q[q3, j]
        t0, t1, t2, t3 = t0 + s0 * s0, t1 + s1 * s1, t2 + s2 * s2, t3 + s3 * s3
    out[0], out[1], out[2], out[3] = t0, t1, t2, t3


@inner_kernel
def _list_hits(hits, first_row, n, first_query, pairs, count):
    """Add the pairs of a tile whose bits are set to the list, without rows from n on; returns its length."""
    for i in range(QUERIES):
        bits, row = hits[i], first_row
        while bits != 0 and row < n:
            if bits & 1:
                pairs[0, count], pairs[1, count] = row, first_query + i
                count += 1
            bits >>= 1
            row += 1
    return count


@inner_kernel
def _settle(X, Q, pairs, count, whole, start, traits, squares, cuts, out, distances, rows, offset):
    """Measure listed pairs and offer them to the heaps of their queries; returns how many are left for the next time.

    Pairs are taken four at a time, the last few with what happens to lie behind them if the ``whole`` list is wanted.
    """
    k, at = distances.shape[1], count - count  # a constant would have what is called compiled twice
    while at + AT_ONCE <= count or (whole and at < count):
        measure_four(X, Q, pairs, at, out)
        for c in range(min(AT_ONCE, count - at)):
            row, query, distance = pairs[0, at + c], pairs[1, at + c], out[c]
            best, own, i = distances[offset + query], rows[offset + query], query - start
            if distance < best[0] or (distance == best[0] and row < own[0]):
                sift(best, own, 0, k, distance, row)
                cuts[i // QUERIES, i % QUERIES] = _cut(best[0], squares[i], X.shape[1], traits)
        at += AT_ONCE
    left = max(0, count - at)
    for c in range(left):
        pairs[0, c], pairs[1, c] = pairs[0, at + c], pairs[1, at + c]
    return left


@lean_kernel
def nearest_rows(team, rank, panels, X, Q, centre, traits, size, parts, most, distances, rows, given_up, desks):
    """The nearest of every query within every one of ``parts`` runs of panels, into heaps (part after part).

    Threads take blocks of ``size`` queries and one part each. Where more pairs than ``most`` a query are not ruled out,
    the block is given up. ``desks`` have room for each thread: tiles of queries, their cuts and squares, and pairs.
    """
    n, m, width, n_panels = X.shape[0], Q.shape[0], panels.shape[2], panels.shape[0]
    tiles, cuts, squares = desks[0][rank], desks[1][rank], desks[2][rank]
    pairs, hits, out = desks[3][rank], desks[4][rank], desks[5][rank]
    blocks, task = count_blocks(m, size), take(team)
    while task < blocks * parts:
        block, part = task // parts, task % parts
        start, stop = rows_of(block, m, size)
        _pack_queries(Q, start, stop, centre, traits, tiles, cuts, squares)
        count, listed, enough = start - start, 0, most * (stop - start)
        for p in range(n_panels * part // parts, n_panels * (part + 1) // parts):
            if atomic_load(team, STOPPED) != 0:
                return
            if listed > enough:
                break
            for t in range(count_blocks(stop - start, QUERIES)):
                if tile_hits(panels, p, tiles, t, cuts, hits) == 0:
                    continue
                before = count
                count = _list_hits(hits, p * width, n, start + t * QUERIES, pairs, count)
                listed += count - before
                if count >= AT_ONCE:
                    count = _settle(
                        X, Q, pairs, count, count < 0, start, traits, squares, cuts, out, distances, rows, part * m
                    )
        _settle(X, Q, pairs, count, count >= 0, start, traits, squares, cuts, out, distances, rows, part * m)
        given_up[task] = listed > enough
        for i in range(part * m + start, part * m + stop):
            ascend(distances[i], rows[i])
        task = take(team)


@kernel
def rows_within(panels, X, Q, limits, centre, traits, most, start, stop):
    """Rows, queries and squared distances of all pairs of queries ``start … stop − 1`` that are within their limits.

    And whether these are all: with more than ``most`` a query, and four times those found, left to measure, it ends.
    """
    n, width, tile_count = X.shape[0], panels.shape[2], count_blocks(stop - start, QUERIES)
    tiles = np.empty((tile_count, panels.shape[1], QUERIES), panels.dtype)
    cuts, squares = np.empty((tile_count, QUERIES), panels.dtype), np.empty(stop - start)
    hits, out = np.empty(QUERIES, np.int64), np.empty(AT_ONCE)
    found, pairs, distances = (
        start - start,
        np.zeros((2, QUERIES * width + AT_ONCE), np.int64),
        np.empty(QUERIES * width + AT_ONCE),
    )
    _pack_queries(Q, start, stop, centre, traits, tiles, cuts, squares)
    for i in range(stop - start):
        cuts[i // QUERIES, i % QUERIES] = _cut(limits[start + i], squares[i], X.shape[1], traits)
    listed = 0
    for p in range(panels.shape[0]):
        if listed > most * (stop - start) + 4 * found:
            return pairs[0, :0], pairs[1, :0], distances[:0], False
        for t in range(tile_count):
            if tile_hits(panels, p, tiles, t, cuts, hits) == 0:
                continue
            count = _list_hits(hits, p * width, n, start + t * QUERIES, pairs, found)
            listed += count - found
            at = found
            for first in range(found, count, AT_ONCE):
                measure_four(X, Q, pairs, first, out)
                for c in range(min(AT_ONCE, count - first)):
                    if out[c] <= limits[pairs[1, first + c]]:
                        pairs[0, at], pairs[1, at] = pairs[0, first + c], pairs[1, first + c]
                        distances[at] = out[c]
                        at += 1
            found = at
            if found + QUERIES * width + AT_ONCE > len(distances):
                more, longer = np.zeros((2, 2 * len(distances)), np.int64), np.empty(2 * len(distances))
                more[:, :found], longer[:found] = pairs[:, :found], distances[:found]
                pairs, distances = more, longer
    return pairs[0, :found], pairs[1, :found], distances[:found], True
