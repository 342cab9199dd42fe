"""Centroid linkage: the nearest pair of centres, found among nearest neighbours that are kept up to date.

A union can be nearer to others than its parts were, so that no chain of neighbours is safe. Here every cluster keeps
its nearest distance and a lower bound on the next; a union is compared with all others at once. Where the nearest has
gone and the union is beyond the bound, the bound stands in, and is made exact when it is the least of all.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import kernel
from corollary._compiled.codes import EUCLIDEAN
from corollary._compiled.linkage.triangle import CHUNK, NOTHING, accumulate


@kernel
def _least(best, m):
    """The first place of the least of best[:m]."""
    least = NOTHING
    for p in range(m):
        least = best[p] if best[p] < least else least
    for p in range(m):
        if best[p] == least:
            return p
    return 0


@kernel
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


@kernel
def _compare(columns, m, own, names, one, other, best, near, second, point, values, bits):
    """Find the nearest of places 0 … m − 1 to place ``own``; where that is a new union of two, tell the others."""
    least, next_least, where = NOTHING, NOTHING, np.int64(-1)
    for start in range(0, m, CHUNK):
        stop = min(m, start + CHUNK)
        accumulate(columns, start, stop, point, EUCLIDEAN, values)
        if start <= own < stop:
            values[own - start] = np.inf
        here = NOTHING
        for j in range(stop - start):
            here = bits[j] if bits[j] < here else here
        if here < next_least:
            for j in range(stop - start):
                if bits[j] < least:
                    least, next_least, where = bits[j], least, start + j
                elif bits[j] < next_least:
                    next_least = bits[j]
        if one >= 0:
            _announce(bits[: stop - start], start, names[own], one, other, best, near, second)
    best[own], near[own], second[own] = least, names[where] if where >= 0 else -1, next_least


@kernel
def merge_centres(columns, weights, names, leaves, best, near, second, place, done, until, left, right, heights):
    """Carry out merges done … until − 1; place p has name names[p], and union t is called n + t.

    ``near`` is the name of the nearest, ``best`` its squared distance (bits of a float), ``second`` a bound for all
    others. ``place`` is where a name is, ``leaves[p]`` a row in the cluster at p. Returns how many merges are done in
    all: fewer than ``until`` if some centre is at no finite distance from any other.
    """
    d, n = columns.shape
    point, values = np.empty(d), np.empty(CHUNK)
    bits = values.view(np.int64)
    while done < until:
        m = n - done
        p = _least(best, m)
        if near[p] < 0:
            for c in range(d):
                point[c] = columns[c, p]
            _compare(columns, m, p, names, near[p], near[p], best, near, second, point, values, bits)
            if near[p] < 0:
                return done
            continue
        q = place[near[p]]
        left[done], right[done], heights[done] = leaves[p], leaves[q], best[p]
        total, name, last = weights[p] + weights[q], n + done, m - 1
        for c in range(d):
            columns[c, p] += weights[q] / total * (columns[c, q] - columns[c, p])
            columns[c, q] = columns[c, last]
        one, other = names[p], names[q]
        weights[p], names[p], place[name] = total, name, p
        if q != last:
            weights[q], names[q], leaves[q] = weights[last], names[last], leaves[last]
            best[q], near[q], second[q] = best[last], near[last], second[last]
            if names[q] == name:  # p was the last one
                p = q
            place[names[q]] = q
        for c in range(d):
            point[c] = columns[c, p]
        _compare(columns, last, p, names, one, other, best, near, second, point, values, bits)
        done += 1
    return done
