"""The books of a tree that grows: what is written down of its nodes, by one thread while the others wait.

A row for each node in four tables: ``whole`` and ``sums`` (columns below), ``splits`` (the best split, as in
``split.py``) and ``sets`` (of a split of categories, a bit for each code that goes left). Among ``lists`` of whole
numbers are the leaves that are worth splitting, the histograms that no node has, and the desk, which says what all
threads do next.

``general`` is None where nothing binds: no column is of categories, no direction, no l1 and no groups are asked for,
and a tree has all rows and columns. Numba then leaves out what only others need, which is half of the time to compile.
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

# What threads that grow a tree share, in this order: lines of the rows; packed derivatives; sums of leaves; layers of
# histograms, that threads count apart, and histograms; lists of whole numbers; real numbers; the best split of every
# column and child; marks; flags of the groups of every node
LINES, PACKED, PARTS, LAYERS, HISTOGRAMS, LISTS, REALS, TRIES, MARKS, GROUPS = range(10)
LEAF_OF, ROWS, BUFFER = 0, 1, 2  # lines: where rows end; rows in the order of nodes; room to move them
LEFTS, FREE, HEAP, DESK = 0, 1, 2, 3  # lists: rows that each thread sends left, free histograms, leaves to split, desk
LARGEST_G, LARGEST_H, UNITS = 0, 1, 2  # real numbers: the largest that each thread saw; what numbers stand for
FLAGS, CHOSEN = 0, 1  # marks: of codes that go left; of columns that one child may be split by, and the other

START, STOP, DEPTH, LEFT, SLOT = 0, 1, 2, 3, 4  # whole numbers of a node: its rows, first child, histogram
WHOLE = 5
G, H, LOW, HIGH = 0, 1, 2, 3  # its sums of gradients and curvatures, and the limits of its value
# the desk: the node that is split, its first child, the child whose rows are counted, whether the other's are too
NODE, FIRST, SMALL, COUNT_BOTH, SEARCH, MORE, N_NODES, N_FREE, N_HEAP, OUTPUT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
DESK_WORDS = 10
G_UNIT, H_UNIT, G_SCALE, H_SCALE = 0, 1, 2, 3  # what 1 stands for in histograms, and becomes in sums of leaves
MAX_LEAVES, MAX_DEPTH, MIN_ROWS, MIN_HESSIAN, L1, L2, LEAF_COST, BEST_FIRST, SMOOTHING = 0, 1, 2, 3, 4, 5, 6, 7, 8
COLUMN_SHARE, RATE, CAP, G_LEVELS, H_LEVELS, MIN_SPLIT = 9, 10, 11, 12, 13, 14  # the rules, further


@inner_kernel
def may_split(whole, node, rules):
    """Whether the rules allow it, whatever the gain."""
    return whole[node, DEPTH] < rules[MAX_DEPTH] and whole[node, STOP] - whole[node, START] >= rules[MIN_SPLIT]


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
def _push(rules, whole, splits, lists, node):
    heap, desk = lists[HEAP], lists[DESK]
    k = desk[N_HEAP]
    desk[N_HEAP] += 1
    while k > 0 and _comes_first(rules, whole, splits, node, heap[(k - 1) // 2]):
        heap[k] = heap[(k - 1) // 2]
        k = (k - 1) // 2
    heap[k] = node


@inner_kernel
def _pop(rules, whole, splits, lists):
    heap, desk = lists[HEAP], lists[DESK]
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
def judge(general, layout, coding, rules, units, histograms, tries, keys, order, lists, tree, node, c):
    """Queue a new node, child c of its parent, if its best split is worth its leaf; else take its histogram back."""
    whole, sums, splits, sets = tree
    if may_split(whole, node, rules):
        split, own, best = splits[node], own_gain(sums, rules, node), 0
        for f in range(1, tries.shape[0]):
            if tries[f, c, FEATURE] >= 0 and tries[f, c, GAIN] > tries[best, c, GAIN] * TIE:
                best = f
        for k in range(split.shape[0]):
            split[k] = tries[best, c, k]
        split[GAIN] -= own
        if split[FEATURE] >= 0 and split[GAIN] > max(rules[LEAF_COST], 1e-12 * abs(own)):
            f = np.int64(split[FEATURE])
            base, missing = f * coding[WIDTH], layout[f, BINS]
            boths = histograms[whole[node, SLOT], 1, base : base + missing + 1]
            if boths[missing] & ((np.int64(1) << coding[COUNT_BITS]) - 1) == 0:  # none seen: with the majority
                split[MISSING_LEFT] = 1.0 if 2 * split[LEFT_COUNT] >= whole[node, STOP] - whole[node, START] else 0.0
            if general is not None and split[CATEGORICAL] > 0:
                gs = histograms[whole[node, SLOT], 0, base : base + missing + 1]
                known = known_of(whole, sums, units, coding, node)
                _keep_set(gs, boths, known, rules[SMOOTHING], keys, order, split, sets[node])
            _push(rules, whole, splits, lists, node)
            return
    take_back(whole, lists, node)


@inner_kernel
def _keep_set(gs, boths, known, smoothing, keys, order, split, bits):
    """The codes that go left, as bits."""
    missing = gs.shape[0] - 1
    sort_categories(gs, boths, known, smoothing, keys, order)
    split[MISSING_LEFT] = 0.0
    for k in range(bits.shape[0]):
        bits[k] = np.uint32(0)
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
def take_back(whole, lists, node):
    """The histogram of a node, if it has one, is free."""
    if whole[node, SLOT] >= 0:
        desk = lists[DESK]
        lists[FREE, desk[N_FREE]] = whole[node, SLOT]
        desk[N_FREE] += 1
        whole[node, SLOT] = -1


@inner_kernel
def _take_from_the_last(rules, whole, splits, lists):
    """No histogram is free: the leaf that is split last, of those that have one, gives its own."""
    heap, last = lists[HEAP], np.int64(-1)
    for k in range(lists[DESK, N_HEAP]):
        if whole[heap[k], SLOT] >= 0 and (last < 0 or _comes_first(rules, whole, splits, last, heap[k])):
            last = heap[k]
    take_back(whole, lists, last)


@inner_kernel
def next_split(general, layout, rules, lists, tree, flags):
    """Write down the children of the next node to be split, and what is to be counted; False if there is none."""
    whole, sums, splits, sets = tree
    desk = lists[DESK]
    if desk[N_HEAP] == 0 or desk[N_NODES] >= 2 * rules[MAX_LEAVES] - 1:
        return False
    node = _pop(rules, whole, splits, lists)
    split, parent, above = splits[node], whole[node], sums[node]
    f, n_left, missing = np.int64(split[FEATURE]), np.int64(split[LEFT_COUNT]), layout[np.int64(split[FEATURE]), BINS]
    if general is None:
        for code in range(missing):
            flags[code] = code <= split[BIN]
        flags[missing] = split[MISSING_LEFT] > 0.0
    else:
        for code in range(missing + 1):
            flags[code] = goes_left(split, sets[node], missing, code)
    left = desk[N_NODES]
    desk[N_NODES] += 2
    parent[LEFT] = left
    for child in range(left, left + 2):
        own, below = whole[child], sums[child]
        own[START] = parent[START] if child == left else parent[START] + n_left
        own[STOP] = parent[START] + n_left if child == left else parent[STOP]
        own[DEPTH] = parent[DEPTH] + 1
        own[LEFT] = own[SLOT] = -1
        below[G] = split[LEFT_G] if child == left else above[G] - split[LEFT_G]
        below[H] = split[LEFT_H] if child == left else above[H] - split[LEFT_H]
        below[LOW], below[HIGH] = above[LOW], above[HIGH]
    if general is not None and layout[f, MONOTONE] != 0:
        _bound_children(rules, sums, node, left, layout[f, MONOTONE])
    small = left if 2 * n_left < parent[STOP] - parent[START] else left + 1
    desk[NODE], desk[FIRST], desk[SMALL] = node, left, small
    desk[COUNT_BOTH] = desk[SEARCH] = 0
    full = desk[N_NODES] >= 2 * rules[MAX_LEAVES] - 1
    if full or not (may_split(whole, left, rules) or may_split(whole, left + 1, rules)):
        take_back(whole, lists, node)
        return True
    desk[SEARCH] = 1
    _give_histograms(rules, whole, splits, lists, node, small)
    return True


@inner_kernel
def _give_histograms(rules, whole, splits, lists, node, small):
    """Both children of a node get a histogram; the larger the parent's, if there is one, of which it is the rest."""
    desk, large = lists[DESK], 2 * lists[DESK, FIRST] + 1 - small
    whole[large, SLOT] = whole[node, SLOT]
    for turn in range(2):
        child = large if turn == 0 else small
        if whole[child, SLOT] < 0:
            if desk[N_FREE] == 0:
                _take_from_the_last(rules, whole, splits, lists)
            desk[N_FREE] -= 1
            whole[child, SLOT] = lists[FREE, desk[N_FREE]]
    desk[COUNT_BOTH] = whole[node, SLOT] < 0
    whole[node, SLOT] = -1


@inner_kernel
def _bound_children(rules, sums, node, left, direction):
    """The values of all leaves below one child stay on its side of the middle between the two."""
    low, high = sums[node, LOW], sums[node, HIGH]
    one = leaf_value(sums[left, G], sums[left, H], rules[L1], rules[L2], low, high)
    two = leaf_value(sums[left + 1, G], sums[left + 1, H], rules[L1], rules[L2], low, high)
    lower = left if direction > 0 else left + 1
    sums[lower, HIGH], sums[2 * left + 1 - lower, LOW] = min(high, 0.5 * (one + two)), max(low, 0.5 * (one + two))
