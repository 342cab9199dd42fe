"""Search nodes of a forest's tree for a better split, over bins, and draw again which columns they tried.

As ``second_search.py`` this shares nothing with the kernels that grow trees but the random numbers themselves.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.mixing import next_bits
from corollary._compiled.trees.second_search import SQUARES, add, larger_gain, logs


@inner_kernel
def _describe(rows, on_left, criterion, classes, y, w, centre, totals, left, near):
    """Weight and sums (of squares the means) of a node, and what it gains by sending its first rows left."""
    width, weight = totals.shape[1], 0.0
    for k in range(width):
        centre[0, k] = 0.0
    for turn in range(2 if classes is not None else 0, 3):  # numbers are centred, as in ``second_search.describe``
        weight, left[0, width] = 0.0, 0.0
        for k in range(width):
            totals[0, k], left[0, k] = 0.0, 0.0
        for i in range(rows.shape[0]):
            row = np.int64(rows[i])
            weight += w[row]
            add(totals, 0, row, w[row], classes, y, centre, 0)
            if i < on_left:
                left[0, width] += w[row]
                add(left, 0, row, w[row], classes, y, centre, 0)
        if turn < 2 and classes is None and criterion == SQUARES:
            for k in range(width):
                centre[0, k] += totals[0, k] / weight
    for k in range(width if criterion == SQUARES else 0):
        totals[0, k] /= weight
    taken = 0.0
    if on_left > 0 and criterion == SQUARES:
        taken = larger_gain(criterion, left, totals, 0, weight, near, -math.inf)
    elif on_left > 0:
        taken = logs(criterion, left, totals, 0, left[0, width], weight, near)
    return weight, taken


@inner_kernel
def _cut(bins, n_bins, count, criterion, weight, totals, left, min_leaf, min_weight, near, best):
    """The largest gain of any cut of a column's bins (sums, weight, rows), missing values on either side."""
    width = totals.shape[1]
    for side in range(2 if bins[n_bins, width + 1] > 0.0 else 1):
        rows = 0.0
        for k in range(width + 1):
            left[0, k] = bins[n_bins, k] if side == 1 else 0.0
        rows = bins[n_bins, width + 1] if side == 1 else 0.0
        for b in range(n_bins + 1 - side):
            if bins[b, width + 1] == 0.0:
                continue
            enough = rows > 0.0 and rows >= min_leaf and count - rows >= min_leaf
            if enough and left[0, width] >= min_weight and weight - left[0, width] >= min_weight:
                best = larger_gain(criterion, left, totals, 0, weight, near, best)
            for k in range(width + 1):
                left[0, k] += bins[b, k]
            rows += bins[b, width + 1]
    return best


@lean_kernel
def search_nodes(
    codes, n_bins, inside, order, start, stop, on_left, first, columns, criterion, classes, y, w, min_leaf, min_weight,
    near, bins, centre, totals, left, taken, best,
):  # fmt: skip
    """taken[j], best[j]: what node j gains by its split, and the most that any cut of its columns gains (−inf if none).

    Its rows are order[start[j]], …, the first ``on_left[j]`` of which go left; those of ``codes`` are ``inside`` these.
    Its columns are columns[first[j]], …. ``bins``, which is zero, to ``left`` is scratch. Cost: rows and bins of each
    column of each node.
    """
    width = totals.shape[1]
    for j in range(start.shape[0]):
        rows = order[start[j] : stop[j]]
        weight, taken[j] = _describe(rows, on_left[j], criterion, classes, y, w, centre, totals, left, near)
        best[j] = -math.inf
        for c in range(first[j], first[j + 1]):
            f = columns[c]
            for i in range(rows.shape[0]):
                row = np.int64(rows[i])
                b = np.int64(codes[f, inside[row]])
                add(bins, b, row, w[row], classes, y, centre, 0)
                bins[b, width] += w[row]
                bins[b, width + 1] += 1.0
            n, last = float(rows.shape[0]), np.int64(n_bins[f])
            best[j] = _cut(bins, last, n, criterion, weight, totals, left, min_leaf, min_weight, near, best[j])
            for b in range(last + 1):
                for k in range(width + 2):
                    bins[b, k] = 0.0


@inner_kernel
def _differs(column, inside, rows):
    """Whether the rows of a node have two bins of a column."""
    differ = 0
    for i in range(rows.shape[0]):
        differ += column[inside[rows[i]]] != column[inside[rows[0]]]
    return differ > 0


@lean_kernel
def draw_again(
    feature, left, start, count, live, codes, inside, order, wanted, state, at_once, queue, features, nodes, first,
    columns,
):  # fmt: skip
    """Columns that nodes tried, in the order of growth, until there is no room for more; returns how many nodes.

    Nodes of more than ``at_once`` rows come level by level, then the others subtree by subtree. Each that is ``live``
    draws at least ``wanted`` columns, and more until one is not constant. Those of nodes[k] are columns[first[k]] to
    columns[first[k + 1]]. ``state`` counts random numbers; ``queue`` has two rows.
    """
    d, found, first[0] = features.shape[0], 0, 0
    waiting, turn = 0, -1
    for f in range(d):
        features[f] = f
    while turn < waiting:
        queue[0, 0] = 0 if turn < 0 else queue[1, turn]
        at, end = 0, 1
        while at < end:
            t = queue[0, at]
            at += 1
            if turn < 0 and count[t] <= at_once:
                queue[1, waiting] = t
                waiting += 1
                continue
            if live[t]:
                if found == nodes.shape[0]:
                    return found
                visited, varied = 0, False
                while visited < d and (visited < wanted or not varied):
                    drawn = next_bits(state) >> np.uint64(32)
                    j = visited + np.int64((drawn * np.uint64(d - visited)) >> np.uint64(32))
                    features[j], features[visited] = features[visited], features[j]
                    f = features[visited]
                    varied = varied or _differs(codes[f], inside, order[start[t] : start[t] + count[t]])
                    columns[first[found] + visited] = f
                    visited += 1
                nodes[found], first[found + 1] = t, first[found] + visited
                found += 1
            if feature[t] >= 0:
                queue[0, end], queue[0, end + 1] = left[t], left[t] + 1
                end += 2
        turn += 1
    return found
