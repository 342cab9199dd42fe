"""A whole tree in one call, by a team of threads that meet a few times at every split (see ``_compiled/team.py``).

The rows of a node lie side by side. To split it, threads part equal shares of them; then they count the smaller child,
each some groups of columns of some of its rows; then each takes some columns, adds up what was counted, takes it away
from the parent's histogram, which leaves the larger child's, and searches both children for a split. Between meetings,
thread 0 alone keeps the books: what follows from a search, which leaf is next. Sums are whole numbers and every column
is searched by itself, so the tree is that of one thread.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import bits_of, float_of, inner_kernel, prefetch
from corollary._compiled.team import SIZE, meet, share
from corollary._compiled.trees.boosting.books import (
    COLUMN_SHARE,
    COUNT_BOTH,
    DEPTH,
    FIRST,
    G_LEVELS,
    G_UNIT,
    H_LEVELS,
    H_UNIT,
    HIGH,
    L1,
    L2,
    LEFT,
    LOW,
    MIN_HESSIAN,
    MIN_ROWS,
    MORE,
    MOST_G,
    MOST_H,
    N_FREE,
    N_HEAP,
    N_NODES,
    NODE,
    SEARCH,
    SLOT,
    SMALL,
    SMOOTHING,
    START,
    STOP,
    G,
    H,
    draw_columns,
    judge,
    known_of,
    may_split,
    next_split,
    own_gain,
    pass_groups_on,
)
from corollary._compiled.trees.boosting.histogram import (
    AHEAD,
    BINS,
    CATEGORICAL_COLUMN,
    COUNT_BITS,
    GROUP,
    MONOTONE,
    PLACE,
    STEP,
    WIDTH,
    count_rows,
    pack_rows,
    settle,
)
from corollary._compiled.trees.boosting.split import FEATURE, GAIN, scan_categories, scan_numbers

_DIVIDED = 1024  # rows of a node that are worth another thread when it is divided
_COUNTED = 2048  # and when it is counted


@inner_kernel
def _largest(numbers, first, end):
    """The largest |number|: that of the largest bits, which compilers turn into vector instructions."""
    most = np.int64(0)
    for i in range(first, end):
        most = max(most, bits_of(abs(numbers[i])))
    return float_of(most)


@inner_kernel
def _pack(team, rank, gradient, hessian, coding, rules, seed, packed, given, rows, extremes, units):
    """Gradients and curvatures of all rows as whole numbers; the rows that are given, to be reordered."""
    first, end = share(team, rank, gradient.shape[0])
    extremes[rank, 0], extremes[rank, 1] = _largest(gradient, first, end), _largest(hessian, first, end)
    if not meet(team):
        return False
    g, h = 0.0, 0.0
    for u in range(team[SIZE]):
        g, h = max(g, extremes[u, 0]), max(h, extremes[u, 1])
    g_scale, h_scale = rules[G_LEVELS] / g if g > 0.0 else 1.0, rules[H_LEVELS] / h if h > 0.0 else 1.0
    pack_rows(first, gradient[first:end], hessian[first:end], g_scale, h_scale, coding, seed, packed[first:end])
    if rank == 0:
        units[G_UNIT], units[H_UNIT], units[MOST_G], units[MOST_H] = 1.0 / g_scale, 1.0 / h_scale, g, h
    first, end = share(team, rank, given.shape[0])
    for i in range(first, end):
        rows[i] = given[i]
    return True


@inner_kernel
def _divide_alone(words, place, mask, rows, buffer, flags):
    """As ``_divide``, by one thread: the left side in place, the right side by way of the buffer."""
    w, b, n = 0, 0, rows.shape[0]
    for k in range(n):
        prefetch(words, np.int64(rows[min(k + AHEAD, n - 1)]) * 8)
        r = rows[k]
        left = np.int64(flags[(words[np.uintp(r)] >> place) & mask])
        rows[w] = r
        buffer[b] = r
        w += left
        b += 1 - left
    for k in range(b):
        rows[w + k] = buffer[k]


@inner_kernel
def _divide(team, rank, words, place, mask, rows, buffer, lefts, flags):
    """Reorder the rows of a node, those whose code is flagged first, keeping order; ``words`` are those of the group.

    Each thread parts its share into the two ends of its part of the buffer, the right side from behind. When all know
    how many went left, each brings its two sides to where they belong.
    """
    n = rows.shape[0]
    crew = min(team[SIZE], max(1, n // _DIVIDED))
    if crew == 1:
        if rank == 0:
            _divide_alone(words, place, mask, rows, buffer, flags)
        return meet(team)
    t = min(rank, crew)  # the others have none
    first, end = n * t // crew, n * min(t + 1, crew) // crew
    w, v = first, end - 1
    for k in range(first, end):
        prefetch(words, np.int64(rows[min(k + AHEAD, end - 1)]) * 8)
        r = rows[k]
        left = np.int64(flags[(words[np.uintp(r)] >> place) & mask])
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
    to = before
    for k in range(first, w):
        rows[to + k - first] = buffer[k]
    to = total + first - before
    for k in range(end - w):
        rows[to + k] = buffer[end - 1 - k]
    return meet(team)


@inner_kernel
def lay_out(threads, n_groups):
    """How many of a team's threads share the groups of columns out, each having several or one; the rest share rows.

    Threads that share groups need not add up anything; those that share rows are never idle.
    """
    best, most = 1, -np.inf
    for across in range(1, min(threads, n_groups) + 1):
        down = threads // across
        busy = n_groups / (across * ((n_groups + across - 1) // across)) * (across * down) / threads
        if busy - 0.02 * down > most:
            best, most = across, busy - 0.02 * down
    return best, threads // best


@inner_kernel
def _count(team, rank, table, coding, used, rows, packed, own_memory, layers, counted):
    """Count rows into ``counted``, or into several layers that are yet to be added up; returns how many."""
    n_groups = table[2].shape[0] - 1
    across, down = lay_out(team[SIZE], n_groups)
    down = min(down, max(1, rows.shape[0] // _COUNTED))
    t = rank // across
    if t < down:
        first, end = rows.shape[0] * t // down, rows.shape[0] * (t + 1) // down
        a, b = n_groups * (rank % across) // across, n_groups * (rank % across + 1) // across
        target = counted if down == 1 else layers[t]
        count_rows(table, coding, used, rows[first:end], packed, a, b, own_memory[0], target)
    return down


@inner_kernel
def _search(team, rank, table, coding, rules, used, books, scratch, tree, layers, down, new, apart):
    """Settle the histograms of every column and try its splits for ``new`` = (first node, number, the one counted)."""
    layout, width, (node, count, small) = table[1], coding[WIDTH], new
    units, _, _, chosen = books
    histograms, tries, _, _, keys, order = scratch
    whole, sums, _, _ = tree
    counted = histograms[whole[small, SLOT]]
    rest = histograms[whole[2 * node + 1 - small, SLOT]] if apart else counted
    limits = rules[L1], rules[L2], np.int64(rules[MIN_ROWS]), rules[MIN_HESSIAN], rules[SMOOTHING]
    for f in range(rank, used.shape[0], team[SIZE]):
        bins = layout[f, BINS] + 1
        if used[f]:
            settle(layers, down, f, width, bins, counted, rest, apart)
        for c in range(count):
            i, best = node + c, tries[f, c]
            best[GAIN], best[FEATURE] = own_gain(sums, rules, i), -1.0
            if used[f] and chosen[c, f] and may_split(whole, i, rules):
                known = known_of(whole, sums, units, coding, i)
                gs = histograms[whole[i, SLOT], 0, f * width : f * width + bins]
                boths = histograms[whole[i, SLOT], 1, f * width : f * width + bins]
                low, high = sums[i, LOW], sums[i, HIGH]
                if layout[f, CATEGORICAL_COLUMN]:
                    scan_categories(gs, boths, f, known, limits, low, high, keys, order, best)
                else:
                    scan_numbers(gs, boths, f, known, limits, layout[f, MONOTONE], low, high, best)
    return meet(team)


@inner_kernel
def _lay_down(rules, given, tree, desk, free, groups_of):
    """A tree of one node, which has the first histogram; all others are free."""
    whole, sums = tree[0], tree[1]
    desk[N_NODES], desk[N_HEAP], desk[N_FREE], desk[SEARCH] = 1, 0, free.shape[0] - 1, 1
    for k in range(free.shape[0] - 1):
        free[k] = k + 1
    whole[0, START], whole[0, STOP], whole[0, DEPTH], whole[0, LEFT], whole[0, SLOT] = 0, given.shape[0], 0, -1, 0
    sums[0, LOW], sums[0, HIGH] = -np.inf, np.inf
    for j in range(groups_of.shape[1]):
        groups_of[0, j] = 1


@inner_kernel
def _add_up_root(table, coding, used, layers, down, counted, units, sums):
    """The sums of all rows, which are those of any column."""
    f, bits = 0, coding[COUNT_BITS]
    while not used[f]:
        f += 1
    g, h = np.int64(0), np.int64(0)
    for u in range(down):
        part = layers[u] if down > 1 else counted
        for j in range(f * coding[WIDTH], f * coding[WIDTH] + table[1][f, BINS] + 1):
            g += part[0, j]
            h += part[1, j] >> bits
    sums[0, G], sums[0, H] = g * units[G_UNIT], h * units[H_UNIT]


@inner_kernel
def _keep_books(table, coding, rules, members, seed, used, books, scratch, tree, desk):
    """Judge the new nodes and lay out the next split, if there is one."""
    units, flags, groups_of, chosen = books
    splits = tree[2]
    if desk[SEARCH]:
        first, count = (desk[FIRST], 2) if desk[N_NODES] > 1 else (0, 1)
        for c in range(count):
            judge(table, coding, rules, units, scratch, tree, desk, first + c, c)
    desk[MORE] = next_split(table, coding, rules, scratch, tree, flags, desk)
    if desk[MORE]:
        pass_groups_on(groups_of, members, desk[NODE], desk[FIRST], np.int64(splits[desk[NODE], FEATURE]))
        for c in range(2):
            draw_columns(used, desk[FIRST] + c, groups_of, members, rules[COLUMN_SHARE], seed, chosen[c])


@inner_kernel
def grow_tree(team, rank, table, members, coding, rules, used, given, seeds, target, memory, own_memory, tree):
    """Grow a tree on the rows given, which ``rows`` has in the end in the order of its leaves; False if stopped.

    ``table`` = (words, a row for each column, first column of each group), ``target`` = (gradient, curvature). All of
    ``memory``, ``own_memory`` of this thread and ``tree`` is written to. ``used`` flags the columns of this tree; the
    seeds are those of rounding and of columns drawn.
    """
    packed, rows, buffer, layers, histograms, lefts, extremes, tries, free, heap = memory[:10]
    units, flags, groups_of, chosen, desk = memory[10:]
    keys, order = own_memory[1], own_memory[2]
    whole, sums, splits, _ = tree
    words, layout, _ = table
    books, scratch = (units, flags, groups_of, chosen), (histograms, tries, free, heap, keys, order)
    node, count, small, searching, both = np.int64(0), np.int64(1), np.int64(0), True, False
    if not _pack(team, rank, target[0], target[1], coding, rules, seeds[0], packed, given, rows, extremes, units):
        return False
    if rank == 0:
        _lay_down(rules, given, tree, desk, free, groups_of)
        draw_columns(used, node, groups_of, members, rules[COLUMN_SHARE], seeds[1], chosen[0])
    if not meet(team):
        return False
    down = _count(team, rank, table, coding, used, rows[: given.shape[0]], packed, own_memory, layers, histograms[0])
    if not meet(team):
        return False
    if rank == 0:
        _add_up_root(table, coding, used, layers, down, histograms[0], units, sums)
    going = meet(team)
    while going:
        if searching:
            new, apart = (node, count, small), count > 1 and not both
            if not _search(team, rank, table, coding, rules, used, books, scratch, tree, layers, down, new, apart):
                return False
        if rank == 0:
            _keep_books(table, coding, rules, members, seeds[1], used, books, scratch, tree, desk)
        if not meet(team):
            return False
        if not desk[MORE]:
            return True
        # all of the desk is read here, before the meetings of a division, after which thread 0 may write the next
        parent, node, small, count = desk[NODE], desk[FIRST], desk[SMALL], np.int64(2)
        searching, both = desk[SEARCH] > 0, desk[COUNT_BOTH] > 0
        f, start, stop = np.int64(splits[parent, FEATURE]), whole[parent, START], whole[parent, STOP]
        place = np.uint64(layout[f, PLACE] * coding[STEP])
        own_words, mask = words[layout[f, GROUP]], (np.uint64(1) << np.uint64(coding[STEP])) - np.uint64(1)
        going = _divide(team, rank, own_words, place, mask, rows[start:stop], buffer[start:stop], lefts, flags)
        for again in range(2 if both else 1):  # a parent that has lost its histogram leaves none for the larger
            if going and searching:
                small = 2 * node + 1 - small if again else small
                counted, part = histograms[whole[small, SLOT]], rows[whole[small, START] : whole[small, STOP]]
                down = _count(team, rank, table, coding, used, part, packed, own_memory, layers, counted)
                going = meet(team)
                if both and going and not again:
                    for f in range(rank, used.shape[0], team[SIZE]):
                        settle(layers, down, f, coding[WIDTH], layout[f, BINS] + 1, counted, counted, again > 0)
                    going = meet(team)
    return False
