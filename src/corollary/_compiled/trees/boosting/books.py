"""The books of a tree that grows: what is written down of its nodes, by one thread while the others wait.

A row for each node in four tables: ``whole`` and ``sums`` (columns below), ``splits`` (the best split, as in
``split.py``) and ``sets`` (of a split of categories, a bit for each code that goes left). The ``desk`` says what all
threads do next. ``heap`` has the leaves that are worth splitting, ``free`` the histograms that no node has.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel
from corollary._compiled.mixing import GOLDEN, mix, unit
from corollary._compiled.trees.boosting.histogram import BINS, COUNT_BITS, MONOTONE, WIDTH
from corollary._compiled.trees.boosting.split import (
    BIN,
    CATEGORICAL,
    FEATURE,
    GAIN,
    LEFT_COUNT,
    LEFT_G,
    LEFT_H,
    MISSING_LEFT,
    TIE,
    gain_at,
    leaf_value,
    sort_categories,
)

START, STOP, DEPTH, LEFT, SLOT = 0, 1, 2, 3, 4  # whole numbers of a node: its rows, first child, histogram
WHOLE = 5
G, H, LOW, HIGH = 0, 1, 2, 3  # its sums of gradients and curvatures, and the limits of its value
# the desk: the node that is split, its first child, the child whose rows are counted, whether the other's are too
NODE, FIRST, SMALL, COUNT_BOTH, SEARCH, MORE, N_NODES, N_FREE, N_HEAP, OUTPUT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
DESK = 10
G_UNIT, H_UNIT, MOST_G, MOST_H = 0, 1, 2, 3  # what 1 stands for in histograms; the largest of all rows
MAX_LEAVES, MAX_DEPTH, MIN_ROWS, MIN_HESSIAN, L1, L2, LEAF_COST, BEST_FIRST, SMOOTHING = 0, 1, 2, 3, 4, 5, 6, 7, 8
COLUMN_SHARE, RATE, CAP, G_LEVELS, H_LEVELS = 9, 10, 11, 12, 13  # the rules, further
RULES = 14


@inner_kernel
def may_split(whole, node, rules):
    """Whether the rules allow it, whatever the gain."""
    return whole[node, DEPTH] < rules[MAX_DEPTH] and whole[node, STOP] - whole[node, START] >= 2 * rules[MIN_ROWS]


@inner_kernel
def known_of(whole, sums, units, coding, node):
    """What a search must know of a node."""
    count = whole[node, STOP] - whole[node, START]
    return units[G_UNIT], units[H_UNIT], sums[node, G], sums[node, H], count, coding[COUNT_BITS]


@inner_kernel
def own_gain(sums, rules, node):
    """What a node gains as a leaf."""
    g, h, l1, l2 = sums[node, G], sums[node, H], rules[L1], rules[L2]
    return gain_at(g, h, l1, l2, leaf_value(g, h, l1, l2, sums[node, LOW], sums[node, HIGH]))


@inner_kernel
def _comes_first(rules, whole, splits, a, b):
    """Whether leaf a is split before leaf b: by gain, or by depth; of equals the first made."""
    if rules[BEST_FIRST]:
        one, two = -splits[a, GAIN], -splits[b, GAIN]
    else:
        one, two = np.float64(whole[a, DEPTH]), np.float64(whole[b, DEPTH])
    return one < two or (one == two and a < b)


@inner_kernel
def _push(rules, whole, splits, heap, desk, node):
    k = desk[N_HEAP]
    desk[N_HEAP] += 1
    while k > 0 and _comes_first(rules, whole, splits, node, heap[(k - 1) // 2]):
        heap[k] = heap[(k - 1) // 2]
        k = (k - 1) // 2
    heap[k] = node


@inner_kernel
def _pop(rules, whole, splits, heap, desk):
    first = heap[0]
    desk[N_HEAP] -= 1
    n, k = desk[N_HEAP], 0
    last = heap[n]
    while 2 * k + 1 < n:
        child = 2 * k + 1
        if child + 1 < n and _comes_first(rules, whole, splits, heap[child + 1], heap[child]):
            child += 1
        if _comes_first(rules, whole, splits, last, heap[child]):
            break
        heap[k] = heap[child]
        k = child
    heap[k] = last
    return first


@inner_kernel
def draw_columns(used, node, groups_of, members, share, seed, chosen):
    """chosen[f] = 1 for the columns that a node may be split by: those of its groups, or a share of them, drawn.

    ``members`` lists the columns of every group that may meet on a path; ``groups_of[node]`` flags the node's groups.
    """
    starts, columns = members
    free = starts.shape[0] < 2
    left = 0
    for f in range(used.shape[0]):
        chosen[f] = used[f] if free else 0
    for j in range(starts.shape[0] - 1):
        if groups_of[node, j]:
            for k in range(starts[j], starts[j + 1]):
                chosen[columns[k]] = used[columns[k]]
    for f in range(used.shape[0]):
        left += chosen[f]
    wanted = max(1, np.int64(np.rint(share * left)))
    if wanted < left:
        for f in range(used.shape[0]):  # each of those left is as likely as the others to be among those wanted
            if chosen[f]:
                draw = unit(mix(seed + np.uint64(node * used.shape[0] + f + 1) * GOLDEN))
                if draw * left < wanted:
                    wanted -= 1
                else:
                    chosen[f] = 0
                left -= 1


@inner_kernel
def pass_groups_on(groups_of, members, node, left, f):
    """The groups of both children are those of their parent that have the column of its split."""
    starts, columns = members
    for j in range(starts.shape[0] - 1):
        among = 0
        for k in range(starts[j], starts[j + 1]):
            among |= np.int64(columns[k] == f)
        groups_of[left, j] = groups_of[left + 1, j] = groups_of[node, j] & among


@inner_kernel
def judge(table, coding, rules, units, scratch, tree, desk, node, c):
    """Queue a new node, child c of its parent, if its best split is worth its leaf; else take its histogram back."""
    layout = table[1]
    histograms, tries, free, heap, keys, order = scratch
    whole, sums, splits, sets = tree
    if may_split(whole, node, rules):
        own, best = own_gain(sums, rules, node), 0
        for f in range(1, tries.shape[0]):
            if tries[f, c, FEATURE] >= 0 and tries[f, c, GAIN] > tries[best, c, GAIN] * TIE:
                best = f
        for k in range(splits.shape[1]):
            splits[node, k] = tries[best, c, k]
        splits[node, GAIN] -= own
        if splits[node, FEATURE] >= 0 and splits[node, GAIN] > max(rules[LEAF_COST], 1e-12 * abs(own)):
            f = np.int64(splits[node, FEATURE])
            base, bins = f * coding[WIDTH], layout[f, BINS] + 1
            gs = histograms[whole[node, SLOT], 0, base : base + bins]
            boths = histograms[whole[node, SLOT], 1, base : base + bins]
            known = known_of(whole, sums, units, coding, node)
            if splits[node, CATEGORICAL] > 0:
                _keep_set(gs, boths, known, rules[SMOOTHING], keys, order, splits[node], sets[node])
            elif boths[bins - 1] & ((np.int64(1) << coding[COUNT_BITS]) - 1) == 0:  # none seen: with the majority
                splits[node, MISSING_LEFT] = 1.0 if 2 * splits[node, LEFT_COUNT] >= known[4] else 0.0
            _push(rules, whole, splits, heap, desk, node)
            return
    take_back(whole, free, desk, node)


@inner_kernel
def _keep_set(gs, boths, known, smoothing, keys, order, split, bits):
    """The codes that go left, as bits."""
    missing = gs.shape[0] - 1
    sort_categories(gs, boths, known, smoothing, keys, order)
    bits[:], split[MISSING_LEFT] = 0, 0.0
    for k in range(np.int64(split[BIN]) + 1):
        if order[k] == missing:
            split[MISSING_LEFT] = 1.0
        else:
            bits[order[k] // 32] |= np.uint32(1) << np.uint32(order[k] % 32)


@inner_kernel
def goes_left(split, bits, missing, code):
    """1 if a code goes left by this split, else 0."""
    if code == missing:
        return np.int64(split[MISSING_LEFT])
    if split[CATEGORICAL] > 0:
        return np.int64(bits[code // 32] >> np.uint32(code % 32)) & 1
    return np.int64(code <= split[BIN])


@inner_kernel
def take_back(whole, free, desk, node):
    """The histogram of a node, if it has one, is free."""
    if whole[node, SLOT] >= 0:
        free[desk[N_FREE]] = whole[node, SLOT]
        desk[N_FREE] += 1
        whole[node, SLOT] = -1


@inner_kernel
def _take_from_the_last(rules, whole, splits, free, heap, desk):
    """No histogram is free: the leaf that is split last, of those that have one, gives its own."""
    last = np.int64(-1)
    for k in range(desk[N_HEAP]):
        if whole[heap[k], SLOT] >= 0 and (last < 0 or _comes_first(rules, whole, splits, last, heap[k])):
            last = heap[k]
    take_back(whole, free, desk, last)


@inner_kernel
def next_split(table, coding, rules, scratch, tree, flags, desk):
    """Write down the children of the next node to be split, and what is to be counted; False if there is none."""
    layout = table[1]
    _, _, free, heap, _, _ = scratch
    whole, sums, splits, sets = tree
    if desk[N_HEAP] == 0 or desk[N_NODES] >= 2 * rules[MAX_LEAVES] - 1:
        return False
    node = _pop(rules, whole, splits, heap, desk)
    split = splits[node]
    f, n_left, n = np.int64(split[FEATURE]), np.int64(split[LEFT_COUNT]), whole[node, STOP] - whole[node, START]
    for code in range(layout[f, BINS] + 1):
        flags[code] = goes_left(split, sets[node], layout[f, BINS], code)
    left, right = desk[N_NODES], desk[N_NODES] + 1
    desk[N_NODES] += 2
    whole[node, LEFT] = left
    whole[left, START], whole[left, STOP] = whole[node, START], whole[node, START] + n_left
    whole[right, START], whole[right, STOP] = whole[left, STOP], whole[node, STOP]
    sums[left, G], sums[left, H] = split[LEFT_G], split[LEFT_H]
    sums[right, G], sums[right, H] = sums[node, G] - split[LEFT_G], sums[node, H] - split[LEFT_H]
    for child in (left, right):
        whole[child, DEPTH], whole[child, LEFT], whole[child, SLOT] = whole[node, DEPTH] + 1, -1, -1
        sums[child, LOW], sums[child, HIGH] = sums[node, LOW], sums[node, HIGH]
    if layout[f, MONOTONE] != 0:
        _bound_children(rules, sums, node, left, layout[f, MONOTONE])
    small = left if 2 * n_left < n else right
    desk[NODE], desk[FIRST], desk[SMALL], desk[COUNT_BOTH], desk[SEARCH] = node, left, small, 0, 0
    full = desk[N_NODES] >= 2 * rules[MAX_LEAVES] - 1
    if full or not (may_split(whole, left, rules) or may_split(whole, right, rules)):
        take_back(whole, free, desk, node)
        return True
    desk[SEARCH] = 1
    large = left + right - small
    for child in (large, small):
        if child == large and whole[node, SLOT] >= 0:  # what is left in the parent's histogram is the larger's
            whole[large, SLOT] = whole[node, SLOT]
            continue
        if desk[N_FREE] == 0:
            _take_from_the_last(rules, whole, splits, free, heap, desk)
        desk[N_FREE] -= 1
        whole[child, SLOT] = free[desk[N_FREE]]
    desk[COUNT_BOTH] = whole[node, SLOT] < 0
    whole[node, SLOT] = -1
    return True


@inner_kernel
def _bound_children(rules, sums, node, left, direction):
    """The values of all leaves below one child stay on its side of the middle between the two."""
    low, high = sums[node, LOW], sums[node, HIGH]
    one = leaf_value(sums[left, G], sums[left, H], rules[L1], rules[L2], low, high)
    two = leaf_value(sums[left + 1, G], sums[left + 1, H], rules[L1], rules[L2], low, high)
    lower = left if direction > 0 else left + 1
    sums[lower, HIGH], sums[2 * left + 1 - lower, LOW] = min(high, 0.5 * (one + two)), max(low, 0.5 * (one + two))
