"""Centroid linkage: the nearest pair of centres, found among nearest neighbours that are kept up to date.

A union can be nearer to others than its parts were, so that no chain of neighbours is safe. Here every cluster keeps
its nearest distance and a lower bound on the next; a union is compared with all others at once. Where the nearest has
gone and the union is beyond the bound, the bound stands in, and is made exact when it is the least of all.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.codes import EUCLIDEAN
from corollary._compiled.linkage.triangle import CHUNK, NOTHING, accumulate
from corollary._compiled.team import SIZE, count_blocks, meet, share

LEAST, NEXT_LEAST, WHERE, NEAREST, AT = range(5)  # what a thread's desk tells
DONE, OWN, ONE, OTHER = range(4)  # what the books tell
DESK = 16  # words, so that no thread writes next to another


@inner_kernel
def _announce(bits, start, union, one, other, best, near, second):
    """Tell places from ``start`` on, at these distances, of a new union; near is −1 where the nearest is not known.

    No cluster but ``near`` is nearer than ``second``: once the nearest is gone, that is all that is known.
    """
    m = bits.shape[0]
    known, who, after = best[start : start + m], near[start : start + m], second[start : start + m]
    for j in range(m):
        gone = (who[j] == one) | (who[j] == other)
        first = after[j] if gone else known[j]
        name = -1 if gone else who[j]
        closer = bits[j] <= first
        behind = first if closer else bits[j]
        after[j] = behind if behind < after[j] else after[j]
        known[j] = bits[j] if closer else first
        who[j] = union if closer else name


@inner_kernel
def _compare(columns, first, stop, own, name, one, other, best, near, second, point, values, bits, desk):
    """Find the nearest of places first … stop − 1 to place ``own``; where that is a new union of two, tell them.

    What follows goes to the desk: the least distance, the next, where the least is, and of all other places which one
    is first of those with something nearest.
    """
    least, next_least, where, nearest, at = NOTHING, NOTHING, np.int64(-1), NOTHING, np.int64(-1)
    for start in range(first, stop, CHUNK):
        end = min(stop, start + CHUNK)
        accumulate(columns, start, end, point, EUCLIDEAN, values)
        if start <= own < end:
            values[own - start] = np.inf
        here = NOTHING
        for j in range(end - start):
            here = bits[j] if bits[j] < here else here
        if here < next_least:
            for j in range(end - start):
                if bits[j] < least:
                    least, next_least, where = bits[j], least, start + j
                elif bits[j] < next_least:
                    next_least = bits[j]
        if one >= 0:
            _announce(bits[: end - start], start, name, one, other, best, near, second)
        if start <= own < end:
            best[own] = NOTHING
        known, here = best[start:end], nearest
        for j in range(end - start):
            here = known[j] if known[j] < here else here
        if here < nearest:
            nearest, at = here, start
            while best[at] != here:
                at += 1
    desk[LEAST], desk[NEXT_LEAST], desk[WHERE], desk[NEAREST], desk[AT] = least, next_least, where, nearest, at


@inner_kernel
def _conclude(own, names, best, near, second, desks, count):
    """What all threads have found, in the order of the places; returns the place with the least of ``best``."""
    least, next_least, where, nearest, at = NOTHING, NOTHING, np.int64(-1), NOTHING, np.int64(-1)
    for u in range(count):
        desk = desks[u]
        if desk[LEAST] < least:
            next_least = min(least, desk[NEXT_LEAST])
            least, where = desk[LEAST], desk[WHERE]
        else:
            next_least = min(next_least, desk[LEAST])
        if desk[NEAREST] < nearest:
            nearest, at = desk[NEAREST], desk[AT]
    best[own], near[own], second[own] = least, names[where] if where >= 0 else -1, next_least
    return own if at < 0 or least < nearest or (least == nearest and own < at) else at


@inner_kernel
def _unite(columns, weights, names, leaves, best, near, second, place, n, done, p, left, right, heights):
    """Merge place p with what is nearest to it; the last place moves to where that was. Returns the union's place."""
    q, last = place[near[p]], n - done - 1
    left[done], right[done], heights[done] = leaves[p], leaves[q], best[p]
    total, name = weights[p] + weights[q], n + done
    for c in range(columns.shape[0]):
        columns[c, p] += weights[q] / total * (columns[c, q] - columns[c, p])
        columns[c, q] = columns[c, last]
    weights[p], names[p], place[name] = total, name, p
    if q != last:
        weights[q], names[q], leaves[q] = weights[last], names[last], leaves[last]
        best[q], near[q], second[q] = best[last], near[last], second[last]
        if names[q] == name:  # p was the last one
            p = q
        place[names[q]] = q
    return p


@inner_kernel
def _go_on(p, own, columns, weights, names, leaves, best, near, second, place, left, right, heights, books):
    """Merge place p with what is nearest to it, or have p looked at where that is not known, unless it just was."""
    if near[p] < 0:
        books[ONE] = books[OTHER] = -1
        books[OWN] = -1 if p == own else p
        return
    books[ONE], books[OTHER] = names[p], near[p]
    n, done = columns.shape[1], books[DONE]
    books[OWN] = _unite(columns, weights, names, leaves, best, near, second, place, n, done, p, left, right, heights)
    books[DONE] = done + 1


@kernel
def merge_centres(team, rank, columns, weights, names, leaves, best, near, second, place, left, right, heights, desks):
    """Carry out all merges; place p has name names[p], and union t is called n + t.

    ``near`` is the name of the nearest, ``best`` its squared distance (bits of a float), ``second`` a bound for all
    others. ``place`` is where a name is, ``leaves[p]`` a row in the cluster at p. Threads compare a union with shares
    of the places, and the first thread keeps the books, on the last of the ``desks``: how many merges are done, and the
    place to look at, at first one with the least of ``best``, and −1 when some centre is at no finite distance
    from any other.
    """
    d, n = columns.shape
    books = desks[desks.shape[0] - 1]
    point, values = np.empty(d), np.empty(CHUNK)
    bits = values.view(np.int64)
    if rank == 0:
        p = books[OWN]
        _go_on(p, -1, columns, weights, names, leaves, best, near, second, place, left, right, heights, books)
    while meet(team) and books[DONE] < n - 1 and books[OWN] >= 0:
        own, one, other, m = books[OWN], books[ONE], books[OTHER], n - books[DONE]
        first, end = share(team, rank, count_blocks(m, CHUNK))
        for c in range(d):
            point[c] = columns[c, own]
        _compare(columns, first * CHUNK, min(end * CHUNK, m), own, names[own], one, other, best, near, second, point,
                 values, bits, desks[rank])  # fmt: skip
        if not meet(team):
            return
        if rank == 0:
            p = _conclude(own, names, best, near, second, desks, team[SIZE])
            _go_on(p, own, columns, weights, names, leaves, best, near, second, place, left, right, heights, books)
