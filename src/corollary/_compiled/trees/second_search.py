"""Search nodes of a finished tree for a better split, all of them in one pass over each sorted column.

This is the check of trees, so it shares nothing with the kernels that grow them. An order that was kept from the
growth is not trusted: that it holds every row once, and that values ascend in it, is seen to on the way.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel

SQUARES, ENTROPY, POISSON = 0, 1, 2  # Gini's index is a sum of squares as well


@inner_kernel
def _log(mass, of):
    """m log(of / m), 0 at 0."""
    return mass * math.log(of / mass) if mass > 0.0 else 0.0


@inner_kernel
def _bregman(t):
    """(1 + t) log(1 + t) − t; near 0 by its series Σ (−t)ᵏ / (k (k − 1)), where the two would cancel."""
    if abs(t) > 0.05:
        return (1.0 + t) * math.log1p(t) - t
    found = 0.0
    for k in range(12, 1, -1):
        found = 1.0 / (k * (k - 1)) - t * found
    return t * t * found


@inner_kernel
def _poisson(left, totals, centre, j, a, whole, near):
    """What a cut of node j gains of Poisson deviance, times the outputs; −inf if a side would predict zero."""
    found = 0.0
    for k in range(totals.shape[1]):
        mean = centre[j, k] + totals[j, k] / whole
        q = left[j, k] - a * (totals[j, k] / whole)
        if min(a * mean + q, (whole - a) * mean - q) <= near * whole * mean:
            return -math.inf
        found += a * mean * _bregman(q / (a * mean)) + (whole - a) * mean * _bregman(-q / ((whole - a) * mean))
    return found


@inner_kernel
def logs(criterion, left, totals, centre, j, a, whole, near):
    """What a cut of node j gains by logarithms, times the outputs; −inf if a side would predict zero."""
    if criterion == POISSON:
        return _poisson(left, totals, centre, j, a, whole, near)
    found = 0.0
    for k in range(totals.shape[1]):
        mass, right = left[j, k], totals[j, k] - left[j, k]
        found += _log(totals[j, k], whole) - _log(mass, a) - _log(right, whole - a)
    return found / math.log(2.0)


@inner_kernel
def larger_gain(criterion, left, totals, centre, j, whole, near, best):
    """The gain of the cut of node j with the sums ``left``, or ``best`` if that is larger.

    Of squares it is W Σ q² / (a b) with q = left − a · mean; divided only where more is gained.
    """
    width = totals.shape[1]
    a, gained = left[j, width], 0.0
    b = whole - a
    if criterion != SQUARES:
        return max(best, logs(criterion, left, totals, centre, j, a, whole, near))
    for k in range(width):
        q = left[j, k] - a * totals[j, k]
        gained += q * q
    return gained * whole / (a * b) if gained * whole > best * (a * b) else best


@inner_kernel
def add(sums, at, row, weight, codes, y, centre, j):
    """Add a row to sums[at]: weights by class, or weighted targets less the ``centre`` of node j."""
    if codes is None:
        pass
    else:
        for o in range(codes.shape[1]):
            sums[at, codes[row, o]] += weight
    if y is None:
        pass
    else:
        for o in range(y.shape[1]):
            sums[at, o] += weight * (y[row, o] - centre[j, o])


@lean_kernel
def passage(leaf, feature, left, w, count, weight, start, order):
    """Rows and weight of each node, and the rows in an order in which those of a node are neighbours, left ones first.

    Children come after their parents. Rows of node t are order[start[t]], …, count[t] of them.
    """
    for t in range(count.shape[0]):
        count[t], weight[t] = 0, 0.0
    for i in range(leaf.shape[0]):
        count[leaf[i]] += 1
        weight[leaf[i]] += w[i]
    for t in range(count.shape[0] - 1, -1, -1):
        if feature[t] >= 0:
            count[t], weight[t] = count[left[t]] + count[left[t] + 1], weight[left[t]] + weight[left[t] + 1]
    start[0] = 0
    for t in range(count.shape[0]):
        if feature[t] >= 0:
            start[left[t]], start[left[t] + 1] = start[t], start[t] + count[left[t]]
    for i in range(leaf.shape[0]):
        order[start[leaf[i]]] = i
        start[leaf[i]] += 1
    for t in range(count.shape[0]):
        start[t] -= count[t] if feature[t] < 0 else 0


@lean_kernel
def paths(leaf, parent, left, number, first, node, side):
    """Of each row the nodes to search that it passes, from its leaf up, and whether it goes left there.

    Those of row i are first[i] … first[i + 1] − 1. ``number`` of a node is −1 if it is not searched.
    """
    at = 0
    for i in range(leaf.shape[0]):
        first[i] = at
        t, below = np.int64(leaf[i]), -1
        while t >= 0:
            if number[t] >= 0:
                node[at], side[at] = number[t], below >= 0 and below == left[t]
                at += 1
            t, below = np.int64(parent[t]), t
    first[leaf.shape[0]] = at


@lean_kernel
def describe(first, node, side, criterion, codes, y, w, weight, centre, totals, on_left, taken, near):
    """Weights and sums of the nodes (of squares the means), and what their own split gains (0 of a leaf)."""
    n, m = first.shape[0] - 1, weight.shape[0]
    for turn in range(2 if codes is not None else 0, 3):  # numbers are centred, the second time for what rounding left
        for j in range(m):
            weight[j], on_left[j, totals.shape[1]] = 0.0, 0.0
            for k in range(totals.shape[1]):
                totals[j, k], on_left[j, k] = 0.0, 0.0
        for i in range(n):
            for p in range(first[i], first[i + 1]):
                j = node[p]
                weight[j] += w[i]
                add(totals, j, i, w[i], codes, y, centre, j)
                if turn == 2 and side[p]:
                    on_left[j, totals.shape[1]] += w[i]
                    add(on_left, j, i, w[i], codes, y, centre, j)
        if turn < 2 and codes is None:
            for j in range(m):
                for k in range(totals.shape[1]):
                    centre[j, k] += totals[j, k] / weight[j]
    for j in range(m):
        for k in range(totals.shape[1] if criterion == SQUARES else 0):
            totals[j, k] /= weight[j]
        a, whole, taken[j] = on_left[j, totals.shape[1]], weight[j], 0.0
        if a > 0.0 and criterion == SQUARES:
            for k in range(totals.shape[1]):
                taken[j] += (on_left[j, k] - a * totals[j, k]) ** 2 * whole / (a * (whole - a))
        elif a > 0.0:
            taken[j] = logs(criterion, on_left, totals, centre, j, a, whole, near)


@lean_kernel
def search_columns(
    x, order, first, node, size, criterion, codes, y, w, weight, centre, totals, left, min_leaf, min_weight, near, seen,
    last, count, best,
):  # fmt: skip
    """best[j]: the largest gain of any cut of node j, −inf if none is allowed. False if an ``order`` is none.

    ``x`` and ``order`` are (columns, rows). What comes after ``near`` but ``best`` is scratch. Cost: the rows of all
    nodes, once a column.
    """
    n, m, width = x.shape[1], weight.shape[0], totals.shape[1]
    for j in range(m):
        best[j] = -math.inf
    for f in range(x.shape[0]):
        for j in range(m):
            count[j], left[j, width], last[j] = 0, 0.0, math.inf
            for k in range(width):
                left[j, k] = 0.0
        before = -math.inf
        for i in range(n):
            row = np.int64(order[f, i])
            if not 0 <= row < n or seen[row] == f + 1 or not x[f, row] >= before:
                return False
            seen[row], before = f + 1, x[f, row]
            for p in range(first[row], first[row + 1]):
                j = node[p]
                if before > last[j] and count[j] >= min_leaf and size[j] - count[j] >= min_leaf:
                    a, b = left[j, width], weight[j] - left[j, width]
                    if a >= min_weight and b >= min_weight:
                        best[j] = larger_gain(criterion, left, totals, centre, j, weight[j], near, best[j])
                last[j] = before
                count[j] += 1
                left[j, width] += w[row]
                add(left, j, row, w[row], codes, y, centre, j)
    return True
