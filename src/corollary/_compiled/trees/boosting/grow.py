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
from corollary._compiled.trees.boosting.books import (
    FIRST,
    FOUND,
    G_UNIT,
    H_UNIT,
    HIGH,
    L1,
    L2,
    LOW,
    MIN_HESSIAN,
    MIN_ROWS,
    MOST_G,
    MOST_H,
    NODE,
    SLOT,
    SMALL,
    START,
    STOP,
    G,
    H,
    add_root,
    judge,
    may_split,
    next_leaf,
    open_children,
)
from corollary._compiled.trees.boosting.histogram import _AHEAD, add_histogram, add_histogram_of, pack_rows, partition
from corollary._compiled.trees.boosting.split import FEATURE, best_split

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
def _search(team, rank, table, rules, units, whole, sums, histograms, node, found, tries, owns):
    """The best split of ``found`` new nodes from ``node`` on, each over two halves of the columns."""
    _, n_bins, monotone, columns, width = table
    middle, d = columns.shape[0] // 2, columns.shape[0]
    limits = rules[L1], rules[L2], rules[MIN_ROWS], rules[MIN_HESSIAN], 0.0
    for part in range(rank, 2 * found, team[SIZE]):
        i = node + part // 2
        if may_split(whole, i, rules):
            half = columns[:middle] if part % 2 == 0 else columns[middle:d]
            known = units[G_UNIT], units[H_UNIT], sums[i, G], sums[i, H], whole[i, STOP] - whole[i, START]
            histogram = histograms[whole[i, SLOT]]
            low, high = sums[i, LOW], sums[i, HIGH]
            owns[part] = best_split(histogram, width, n_bins, monotone, half, known, limits, low, high, tries[part])
    return meet(team)


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
                    add_root(table, units, sums, counted)
                if not meet(team):
                    return
            if not _search(team, rank, table, rules, units, whole, sums, histograms, node, found, tries, owns):
                return
        if rank == 0:
            judge(rules, whole, splits, free, desk, node, found, tries, owns)
            desk[NODE] = next_leaf(rules, whole, splits, desk)
            if desk[NODE] >= 0:
                open_children(table, rules, whole, sums, splits, goes_left, histograms, free, desk, desk[NODE])
        if not meet(team) or desk[NODE] < 0:
            return
        # all of the desk is read here, before the meetings of a division, after which thread 0 may write the next
        parent, node, found, small = desk[NODE], desk[FIRST], desk[FOUND], desk[SMALL]
        start, stop, f = whole[parent, START], whole[parent, STOP], np.int64(splits[parent, FEATURE])
        going = _divide(team, rank, table[0], rows, buffer, lefts, start, stop, f, goes_left[parent])
