"""Merging along the edges of a graph: the shortest goes first, and edges that come to join the same pair become one."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.linkage.triangle import COMPLETE, SINGLE, WARD


@inner_kernel
def _before(lengths, e, f):
    return lengths[e] < lengths[f] or (lengths[e] == lengths[f] and e < f)


@inner_kernel
def _settle(heap, where, lengths, size, p):
    """Move the edge at place p of the heap up or down to where it belongs."""
    e = heap[p]
    while p > 0 and _before(lengths, e, heap[(p - 1) // 2]):
        heap[p] = heap[(p - 1) // 2]
        where[heap[p]] = p
        p = (p - 1) // 2
    while 2 * p + 1 < size:
        child = 2 * p + 1
        if child + 1 < size and _before(lengths, heap[child + 1], heap[child]):
            child += 1
        if not _before(lengths, heap[child], e):
            break
        heap[p] = heap[child]
        where[heap[p]] = p
        p = child
    heap[p], where[e] = e, p


@inner_kernel
def _remove(heap, where, lengths, size, e):
    """Take an edge out of the heap; returns how many are left."""
    p, last = where[e], heap[size - 1]
    where[e] = -1
    if last != e:
        heap[p], where[last] = last, p
        _settle(heap, where, lengths, size - 1, p)
    return size - 1


@inner_kernel
def _measure(linkage, points, weights, a, c):
    """The distance of two centres, as their linkage measures it (squared)."""
    total = 0.0
    for k in range(points.shape[1]):
        gap = points[a, k] - points[c, k]
        total += gap * gap
    return total * (weights[a] * weights[c] / (weights[a] + weights[c])) if linkage == WARD else total


@inner_kernel
def _joined(linkage, x, y, share):
    """The length of an edge to a union whose parts had edges of lengths x and y."""
    if linkage == COMPLETE:
        return max(x, y)
    if linkage == SINGLE:
        return min(x, y)
    return y + share * (x - y)


@kernel
def merge_edges(n, ends, lengths, heap, linkage, points, weights, most, left, right, heights):
    """Merge up to ``most`` times along edges ends[e] = (u, v); returns how many merges there were.

    Each edge is in the lists of both its ends (entries 2 e and 2 e + 1) and once in the heap. The lists may also hold
    edges that have gone, which are those outside the heap. ``heap`` comes as all edges, shortest first.
    """
    m = ends.shape[0]
    where = np.empty(m, dtype=np.int64)
    head, follow = np.full(n, -1), np.empty(2 * m, dtype=np.int64)
    for e in range(m):
        where[heap[e]] = e
        for side in range(2):
            follow[2 * e + side] = head[ends[e, side]]
            head[ends[e, side]] = 2 * e + side
    mark, size, done = np.full(n, -1), m, 0
    central = linkage >= WARD
    while done < most and size > 0:
        e = heap[0]
        a, b = ends[e, 0], ends[e, 1]
        left[done], right[done], heights[done] = a, b, lengths[e]
        done += 1
        size = _remove(heap, where, lengths, size, e)
        share = weights[a] / (weights[a] + weights[b])
        for k in range(points.shape[1]):
            points[a, k] = points[b, k] + share * (points[a, k] - points[b, k])
        weights[a] += weights[b]
        kept = np.int64(-1)
        for source in (a, b):
            entry = head[source]
            while entry >= 0:
                after, f = follow[entry], entry // 2
                if where[f] >= 0:
                    c = ends[f, 0] + ends[f, 1] - source
                    if mark[c] >= 0:  # both parts had an edge to c
                        g = mark[c]
                        if not central:
                            lengths[g] = _joined(linkage, lengths[g], lengths[f], share)
                            _settle(heap, where, lengths, size, where[g])
                        size = _remove(heap, where, lengths, size, f)
                    else:
                        mark[c] = f
                        ends[f, entry % 2] = a
                        follow[entry], kept = kept, entry
                        if central:
                            lengths[f] = _measure(linkage, points, weights, a, c)
                            _settle(heap, where, lengths, size, where[f])
                entry = after
        head[a], entry = kept, kept
        while entry >= 0:
            mark[ends[entry // 2, 1 - entry % 2]] = -1
            entry = follow[entry]
    return done
