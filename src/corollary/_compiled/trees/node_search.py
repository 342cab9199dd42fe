"""Search nodes of a forest's tree for a better split, over bins, and draw again which columns they tried.

As ``second_search.py`` this shares nothing with the kernels that grow trees but the random numbers themselves.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.mixing import next_bits

TOTALS, LEFT, CENTRE = 0, 1, 2  # rows of the sums of a node


@inner_kernel
def _add(table, at, row, classes, y, w, sums):
    """Add a row to table[at]: its weight by class, or weighted y less its centre; then weight, and number of rows."""
    last = table.shape[1] - 1
    if classes is None:
        pass
    else:
        for o in range(classes.shape[1]):
            table[at, classes[row, o]] += w[row]
    if y is None:
        pass
    else:
        for o in range(y.shape[1]):
            table[at, o] += w[row] * (y[row, o] - sums[CENTRE, o])
    table[at, last - 1] += w[row]
    table[at, last] += 1.0


@inner_kernel
def _gain(sums, width):
    """W Σ q² / (a b) with q = left − a · mean: what a cut gains by squares, or by Gini's index; times the outputs."""
    a, weight, gained = sums[LEFT, width], sums[TOTALS, width], 0.0
    for k in range(width):
        q = sums[LEFT, k] - a * (sums[TOTALS, k] / weight)
        gained += q * q
    return gained * weight / (a * (weight - a))


@lean_kernel
def search_nodes(
    codes, n_bins, inside, order, start, stop, on_left, first, columns, classes, y, w, min_leaf, min_weight, bins, sums,
    taken, best,
):  # fmt: skip
    """taken[j], best[j]: what node j gains by its split, and the most that any cut of its columns gains (−inf if none).

    Its rows are order[start[j]], …, the first ``on_left[j]`` of which go left; those of ``codes`` are ``inside`` these.
    Its columns are columns[first[j]], …. ``bins``, which is zero, and ``sums`` (3, ·) are scratch. Cost: rows and bins
    of each column of each node.
    """
    width = bins.shape[1] - 2
    for j in range(start.shape[0]):
        rows = order[start[j] : stop[j]]
        for turn in range(2):  # numbers are centred first: at zero, then at their mean
            for k in range(width + 2):
                sums[CENTRE, k] = sums[TOTALS, k] / sums[TOTALS, width] if turn == 1 and classes is None else 0.0
                sums[TOTALS, k], sums[LEFT, k] = 0.0, 0.0
            for i in range(rows.shape[0]):
                for at in range(TOTALS, LEFT + 1 if i < on_left[j] else LEFT):
                    _add(sums, at, rows[i], classes, y, w, sums)
        taken[j] = _gain(sums, width) if on_left[j] > 0 else 0.0
        best[j] = -math.inf
        for c in range(first[j], first[j + 1]):
            f, last = columns[c], np.int64(n_bins[columns[c]])
            for i in range(rows.shape[0]):
                _add(bins, np.int64(codes[f, inside[rows[i]]]), rows[i], classes, y, w, sums)
            for side in range(2 if bins[last, width + 1] > 0.0 else 1):  # missing values, on the right or on the left
                for k in range(width + 2):
                    sums[LEFT, k] = bins[last, k] if side == 1 else 0.0
                for b in range(last + 1 - side):
                    if bins[b, width + 1] == 0.0:
                        continue
                    n, a = sums[LEFT, width + 1], sums[LEFT, width]
                    enough = n > 0.0 and n >= min_leaf and rows.shape[0] - n >= min_leaf
                    if enough and a >= min_weight and sums[TOTALS, width] - a >= min_weight:
                        best[j] = max(best[j], _gain(sums, width))
                    for k in range(width + 2):
                        sums[LEFT, k] += bins[b, k]
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
