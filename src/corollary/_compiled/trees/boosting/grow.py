"""A whole tree in one call, by a team of threads that meet a few times at every split (see ``_compiled/team.py``).

The rows of a node lie side by side. To split it, threads part equal shares of them, count equal shares of the smaller
child, add their histograms up by columns (the larger child is the parent less the smaller) and search the two halves of
the columns of either child. Between meetings, thread 0 alone keeps the books: what follows from a search, which leaf is
next. Sums are whole numbers and searches take columns in a fixed order, so the tree is that of one thread.

Only columns of numbers, all of them at every node; other trees are grown by ``solvers/trees/boosting/tree.py``.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import bits_of, float_of, inner_kernel, lean_kernel, prefetch
from corollary._compiled.team import SIZE, meet, share
from corollary._compiled.trees.boosting.histogram import _AHEAD, add_histogram, add_histogram_of, pack_rows, partition
from corollary._compiled.trees.boosting.split import (
    BIN,
    FEATURE,
    GAIN,
    LEFT_COUNT,
    LEFT_G,
    LEFT_H,
    MISSING_LEFT,
    TIE,
    best_split,
    leaf_value,
)

START, STOP, DEPTH, LEFT, SLOT, OPEN = 0, 1, 2, 3, 4, 5  # whole numbers of a node: its rows, first child, histogram
WHOLE = 6
G, H, LOW, HIGH = 0, 1, 2, 3  # its sums of gradients and curvatures, and the limits of its value
NODE, FIRST, FOUND, SMALL, N_NODES, N_FREE = 0, 1, 2, 3, 4, 5  # the desk: what is split, which new nodes are searched
DESK = 6
G_UNIT, H_UNIT, MOST_G, MOST_H = 0, 1, 2, 3  # what 1 stands for in histograms; the largest of all rows
MAX_LEAVES, MAX_DEPTH, MIN_ROWS, MIN_HESSIAN, L1, L2, LEAF_COST, BEST_FIRST = 0, 1, 2, 3, 4, 5, 6, 7  # the rules
RULES = 8

_SHARE = 512  # rows of a node that are worth another thread


@inner_kernel
def _own_rows(team, rank, start, stop):
    """This thread's share of the rows of a node, and how many threads have one."""
    crew = min(team[SIZE], max(1, (stop - start) // _SHARE))
    t = min(rank, crew)  # the others have none
    return start + (stop - start) * t // crew, start + (stop - start) * min(t + 1, crew) // crew, crew


@inner_kernel
def _largest(numbers, first, end):
    """The largest |number|: that of the largest bits, which compilers turn into vector instructions."""
    most = np.int64(0)
    for i in range(first, end):
        most = max(most, bits_of(abs(numbers[i])))
    return float_of(most)


@inner_kernel
def _pack(team, rank, target, coding, seed, packed, given, rows, extremes, units):
    """Gradients and curvatures of all rows as whole numbers; the rows that are given, to be reordered."""
    gradient, hessian = target
    shifts, levels, dither, _ = coding
    first, end = share(team, rank, gradient.shape[0])
    extremes[rank, 0], extremes[rank, 1] = _largest(gradient, first, end), _largest(hessian, first, end)
    if not meet(team):
        return False
    g, h = 0.0, 0.0
    for u in range(team[SIZE]):
        g, h = max(g, extremes[u, 0]), max(h, extremes[u, 1])
    scales = levels[0] / g if g > 0.0 else 1.0, levels[1] / h if h > 0.0 else 1.0
    own = gradient[first:end], hessian[first:end]
    pack_rows(first, own[0], own[1], scales, shifts, dither, seed, packed[first:end])
    if rank == 0:
        units[G_UNIT], units[H_UNIT], units[MOST_G], units[MOST_H] = 1.0 / scales[0], 1.0 / scales[1], g, h
    first, end = share(team, rank, given.shape[0])
    for i in range(first, end):
        rows[i] = given[i]
    return meet(team)


@inner_kernel
def _divide(team, rank, codes, rows, buffer, lefts, start, stop, feature, goes_left):
    """Reorder rows[start:stop], those whose code ``goes_left`` first, keeping order.

    Each thread parts its share into the two ends of its part of the buffer, the right side from behind. When all know
    how many went left, each brings its two sides to where they belong.
    """
    first, end, crew = _own_rows(team, rank, start, stop)
    if crew == 1:
        if rank == 0:
            partition(codes, rows, buffer, start, stop, feature, goes_left)
        return meet(team)
    column = np.uintp(feature)
    row_bytes, offset = codes.shape[1] * codes.itemsize, feature * codes.itemsize
    w, v = first, end - 1
    for k in range(first, end):
        prefetch(codes, np.int64(rows[min(k + _AHEAD, end - 1)]) * row_bytes + offset)
        r = rows[k]
        left = np.int64(goes_left[np.uintp(codes[np.uintp(r), column])])
        buffer[w] = r  # written at both ends, kept at one: no branch to predict
        buffer[v] = r
        w += left
        v -= 1 - left
    lefts[rank] = w - first
    if not meet(team):
        return False
    before, total = 0, 0
    for u in range(crew):
        before += lefts[u] if u < rank else 0
        total += lefts[u]
    to = start + before
    for k in range(first, w):
        rows[to + k - first] = buffer[k]
    to = start + total + (first - start) - before
    for k in range(end - w):
        rows[to + k] = buffer[end - 1 - k]
    return meet(team)


@inner_kernel
def _add_parts(partial, k, first, end, counted):
    """Add up some cells of the histograms of several threads, and clear them for the next."""
    for j in range(first, end):
        counted[k, j] = partial[0, k, j]
        partial[0, k, j] = 0
    for u in range(1, partial.shape[0]):
        for j in range(first, end):
            counted[k, j] += partial[u, k, j]
            partial[u, k, j] = 0


@inner_kernel
def _count(team, rank, table, coding, rows, packed, narrow, partial, start, stop, counted, rest, apart):
    """The histogram of rows[start:stop] into ``counted``, and out of the ``rest`` if ``apart``."""
    codes, _, _, columns, width = table
    shifts, _, _, chunk = coding
    first, end, crew = _own_rows(team, rank, start, stop)
    target = counted if crew == 1 else partial[rank]
    if crew == 1 and rank == 0:
        counted[:] = 0
    if end > first and columns.shape[0] == codes.shape[1]:
        add_histogram(codes, rows, first, end, packed, width, chunk, shifts, narrow[rank], target)
    elif end > first:
        add_histogram_of(columns, codes, rows, first, end, packed, width, chunk, shifts, narrow[rank], target)
    if not meet(team):
        return False
    first, end = share(team, rank, counted.shape[1])
    for k in range(3):
        if crew > 1:
            _add_parts(partial[:crew], k, first, end, counted)
        if apart:
            for j in range(first, end):
                rest[k, j] -= counted[k, j]
    return meet(team)


@inner_kernel
def _may_split(whole, node, rules):
    return whole[node, DEPTH] < rules[MAX_DEPTH] and whole[node, STOP] - whole[node, START] >= 2 * rules[MIN_ROWS]


@inner_kernel
def _search(team, rank, table, rules, units, whole, sums, histograms, node, found, tries, owns):
    """The best split of ``found`` new nodes from ``node`` on, each over two halves of the columns."""
    _, n_bins, monotone, columns, width = table
    middle, d = columns.shape[0] // 2, columns.shape[0]
    limits = rules[L1], rules[L2], rules[MIN_ROWS], rules[MIN_HESSIAN], 0.0
    for part in range(rank, 2 * found, team[SIZE]):
        i = node + part // 2
        if _may_split(whole, i, rules):
            half = columns[:middle] if part % 2 == 0 else columns[middle:d]
            known = units[G_UNIT], units[H_UNIT], sums[i, G], sums[i, H], whole[i, STOP] - whole[i, START]
            histogram = histograms[whole[i, SLOT]]
            low, high = sums[i, LOW], sums[i, HIGH]
            owns[part] = best_split(histogram, width, n_bins, monotone, half, known, limits, low, high, tries[part])
    return meet(team)


@inner_kernel
def _judge(rules, whole, splits, free, desk, node, found, tries, owns):
    """Open new nodes whose best split is worth its leaf; take back the histograms of the others."""
    for c in range(found):
        i = node + c
        if _may_split(whole, i, rules):
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
    if whole[node, SLOT] >= 0:
        free[desk[N_FREE]] = whole[node, SLOT]
        desk[N_FREE] += 1
        whole[node, SLOT] = -1


@inner_kernel
def _next(rules, whole, splits, desk):
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
def _open_children(table, rules, whole, sums, splits, goes_left, histograms, free, desk, node):
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
    if full or not (_may_split(whole, left, rules) or _may_split(whole, right, rules)):
        _take_back(whole, free, desk, node)
    else:  # the smaller child is counted; what is left in the parent's histogram is the larger's
        desk[FOUND] = 2
        desk[N_FREE] -= 1
        whole[small, SLOT] = free[desk[N_FREE]]
        whole[left + right - small, SLOT] = whole[node, SLOT]
        whole[node, SLOT] = -1


@inner_kernel
def _root(table, units, sums, histogram):
    """The sums of all rows, which are those of any column."""
    _, _, _, columns, width = table
    g, h = np.int64(0), np.int64(0)
    for j in range(columns[0] * width, (columns[0] + 1) * width):
        g += histogram[0, j]
        h += histogram[1, j]
    sums[0, G], sums[0, H], sums[0, LOW], sums[0, HIGH] = g * units[G_UNIT], h * units[H_UNIT], -np.inf, np.inf


@lean_kernel
def grow_tree(team, rank, table, target, coding, seed, rules, given, rows, scratch, tree, units):
    """Grow a tree on the rows given, which ``rows`` has in the end in the order of its leaves.

    ``table`` = (codes, bins of each column, monotone directions, columns, width), ``target`` = (gradient, curvature),
    ``coding`` = (shifts, levels, dither, chunk) as in ``histogram.py``. ``scratch``, ``tree`` and ``units`` are written
    to. The first node and the desk are laid out: one new node, which is searched; ``desk[N_NODES]`` counts them.
    """
    packed, buffer, narrow, partial, histograms, lefts, extremes, tries, owns, free = scratch
    whole, sums, splits, goes_left, desk = tree
    going = _pack(team, rank, target, coding, seed, packed, given, rows, extremes, units)
    node, found, small = desk[FIRST], desk[FOUND], desk[SMALL]
    while going:
        if found > 0:
            start, stop, apart = whole[small, START], whole[small, STOP], found > 1
            counted = histograms[whole[small, SLOT]]
            rest = histograms[whole[2 * node + 1 - small, SLOT]] if apart else counted
            if not _count(team, rank, table, coding, rows, packed, narrow, partial, start, stop, counted, rest, apart):
                return
            if not apart:  # the first node
                if rank == 0:
                    _root(table, units, sums, counted)
                if not meet(team):
                    return
            if not _search(team, rank, table, rules, units, whole, sums, histograms, node, found, tries, owns):
                return
        if rank == 0:
            _judge(rules, whole, splits, free, desk, node, found, tries, owns)
            desk[NODE] = _next(rules, whole, splits, desk)
            if desk[NODE] >= 0:
                _open_children(table, rules, whole, sums, splits, goes_left, histograms, free, desk, desk[NODE])
        if not meet(team) or desk[NODE] < 0:
            return
        # all of the desk is read here, before the meetings of a division, after which thread 0 may write the next
        parent, node, found, small = desk[NODE], desk[FIRST], desk[FOUND], desk[SMALL]
        start, stop, f = whole[parent, START], whole[parent, STOP], np.int64(splits[parent, FEATURE])
        going = _divide(team, rank, table[0], rows, buffer, lefts, start, stop, f, goes_left[parent])
