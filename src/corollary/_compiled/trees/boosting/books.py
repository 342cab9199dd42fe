"""The books of a tree that grows: what is written down of its nodes, by one thread while the others wait.

A row for each node in four tables: ``whole`` and ``sums`` (columns below), ``splits`` (the best split, as in
``split.py``) and ``goes_left`` (a flag for each code). The ``desk`` says what all threads do next. ``free`` are the
histograms that no node has.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel
from corollary._compiled.trees.boosting.split import (
    BIN,
    FEATURE,
    GAIN,
    LEFT_COUNT,
    LEFT_G,
    LEFT_H,
    MISSING_LEFT,
    TIE,
    leaf_value,
)

START, STOP, DEPTH, LEFT, SLOT, OPEN = 0, 1, 2, 3, 4, 5  # whole numbers of a node: its rows, first child, histogram
WHOLE = 6
G, H, LOW, HIGH = 0, 1, 2, 3  # its sums of gradients and curvatures, and the limits of its value
NODE, FIRST, FOUND, SMALL, N_NODES, N_FREE = 0, 1, 2, 3, 4, 5  # the desk: what is split, which new nodes are searched
DESK = 6
G_UNIT, H_UNIT, MOST_G, MOST_H = 0, 1, 2, 3  # what 1 stands for in histograms; the largest of all rows
MAX_LEAVES, MAX_DEPTH, MIN_ROWS, MIN_HESSIAN, L1, L2, LEAF_COST, BEST_FIRST = 0, 1, 2, 3, 4, 5, 6, 7  # the rules


@inner_kernel
def may_split(whole, node, rules):
    """Whether the rules allow it, whatever the gain."""
    return whole[node, DEPTH] < rules[MAX_DEPTH] and whole[node, STOP] - whole[node, START] >= 2 * rules[MIN_ROWS]


@inner_kernel
def judge(rules, whole, splits, free, desk, node, found, tries, owns):
    """Open new nodes whose best split is worth its leaf; take back the histograms of the others."""
    for c in range(found):
        i = node + c
        if may_split(whole, i, rules):
            best, other, own = tries[2 * c], tries[2 * c + 1], owns[2 * c]
            second = other[FEATURE] >= 0 and other[GAIN] > best[GAIN] * TIE
            for k in range(splits.shape[1]):
                splits[i, k] = other[k] if second else best[k]
            splits[i, GAIN] -= own
            worth = splits[i, FEATURE] >= 0 and splits[i, GAIN] > max(rules[LEAF_COST], 1e-12 * abs(own))
            whole[i, OPEN] = worth
        if not whole[i, OPEN]:
            _take_back(whole, free, desk, i)


@inner_kernel
def _take_back(whole, free, desk, node):
    """The histogram of a node, if it has one, is free."""
    if whole[node, SLOT] >= 0:
        free[desk[N_FREE]] = whole[node, SLOT]
        desk[N_FREE] += 1
        whole[node, SLOT] = -1


@inner_kernel
def next_leaf(rules, whole, splits, desk):
    """The open leaf of the largest gain, or of the least depth; the first of equals; −1 if the tree is finished."""
    best, least = -1, np.inf
    if desk[N_NODES] >= 2 * rules[MAX_LEAVES] - 1:
        return best
    for i in range(desk[N_NODES]):
        if whole[i, OPEN]:
            order = -splits[i, GAIN] if rules[BEST_FIRST] else np.float64(whole[i, DEPTH])
            if best < 0 or order < least:
                best, least = i, order
    return best


@inner_kernel
def open_children(table, rules, whole, sums, splits, goes_left, histograms, free, desk, node):
    """Write down the children of a node that is to be split, and which codes go left."""
    _, n_bins, monotone, _, width = table
    split, flags = splits[node], goes_left[node]
    f, n_left, n = np.int64(split[FEATURE]), np.int64(split[LEFT_COUNT]), whole[node, STOP] - whole[node, START]
    if histograms[whole[node, SLOT], 2, f * width + n_bins[f]] == 0:
        split[MISSING_LEFT] = 1.0 if 2 * n_left >= n else 0.0  # none seen: with the majority
    for code in range(width):
        flags[code] = code <= split[BIN]
    flags[n_bins[f]] = split[MISSING_LEFT] > 0
    left, right = desk[N_NODES], desk[N_NODES] + 1
    desk[N_NODES] += 2
    whole[node, LEFT], whole[node, OPEN] = left, 0
    whole[left, START], whole[left, STOP] = whole[node, START], whole[node, START] + n_left
    whole[right, START], whole[right, STOP] = whole[left, STOP], whole[node, STOP]
    sums[left, G], sums[left, H] = split[LEFT_G], split[LEFT_H]
    sums[right, G], sums[right, H] = sums[node, G] - split[LEFT_G], sums[node, H] - split[LEFT_H]
    for child in (left, right):
        whole[child, DEPTH], whole[child, LEFT] = whole[node, DEPTH] + 1, -1
        whole[child, SLOT], whole[child, OPEN] = -1, 0
        sums[child, LOW], sums[child, HIGH] = sums[node, LOW], sums[node, HIGH]
    if monotone[f] != 0:
        low, high = sums[node, LOW], sums[node, HIGH]
        one = leaf_value(sums[left, G], sums[left, H], rules[L1], rules[L2], low, high)
        two = leaf_value(sums[right, G], sums[right, H], rules[L1], rules[L2], low, high)
        lower = left if monotone[f] > 0 else right
        sums[lower, HIGH], sums[left + right - lower, LOW] = min(high, 0.5 * (one + two)), max(low, 0.5 * (one + two))
    full = desk[N_NODES] >= 2 * rules[MAX_LEAVES] - 1
    small = left if 2 * n_left < n else right
    desk[FIRST], desk[FOUND], desk[SMALL] = left, 0, small
    if full or not (may_split(whole, left, rules) or may_split(whole, right, rules)):
        _take_back(whole, free, desk, node)
    else:  # the smaller child is counted; what is left in the parent's histogram is the larger's
        desk[FOUND] = 2
        desk[N_FREE] -= 1
        whole[small, SLOT] = free[desk[N_FREE]]
        whole[left + right - small, SLOT] = whole[node, SLOT]
        whole[node, SLOT] = -1


@inner_kernel
def add_root(table, units, sums, histogram):
    """The sums of all rows, which are those of any column."""
    _, _, _, columns, width = table
    g, h = np.int64(0), np.int64(0)
    for j in range(columns[0] * width, (columns[0] + 1) * width):
        g += histogram[0, j]
        h += histogram[1, j]
    sums[0, G], sums[0, H], sums[0, LOW], sums[0, HIGH] = g * units[G_UNIT], h * units[H_UNIT], -np.inf, np.inf
