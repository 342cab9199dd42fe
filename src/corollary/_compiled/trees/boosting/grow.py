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
    BUFFER,
    CHOSEN,
    COLUMN_SHARE,
    COUNT_BOTH,
    DEPTH,
    DESK,
    FIRST,
    FLAGS,
    FREE,
    G_LEVELS,
    G_SCALE,
    G_UNIT,
    H_LEVELS,
    H_SCALE,
    H_UNIT,
    HIGH,
    L1,
    L2,
    LARGEST_G,
    LARGEST_H,
    LEFT,
    LEFTS,
    LOW,
    MIN_HESSIAN,
    MIN_ROWS,
    MORE,
    N_FREE,
    N_HEAP,
    N_NODES,
    NODE,
    ROWS,
    SEARCH,
    SLOT,
    SMALL,
    SMOOTHING,
    START,
    STOP,
    UNITS,
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
from corollary._compiled.trees.boosting.leaves import scale_of
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
def _pack(team, rank, gradient, hessian, coding, rules, seed, packed, given, rows, reals):
    """Gradients and curvatures of all rows as whole numbers; the rows that are given, to be reordered."""
    n, units = gradient.shape[0], reals[UNITS]
    first, end = share(team, rank, n)
    reals[LARGEST_G, rank], reals[LARGEST_H, rank] = _largest(gradient, first, end), _largest(hessian, first, end)
    if not meet(team):
        return False
    g, h = 0.0, 0.0
    for u in range(team[SIZE]):
        g, h = max(g, reals[LARGEST_G, u]), max(h, reals[LARGEST_H, u])
    g_scale, h_scale = rules[G_LEVELS] / g if g > 0.0 else 1.0, rules[H_LEVELS] / h if h > 0.0 else 1.0
    pack_rows(first, gradient[first:end], hessian[first:end], g_scale, h_scale, coding, seed, packed[first:end])
    if rank == 0:
        units[G_UNIT], units[H_UNIT] = 1.0 / g_scale, 1.0 / h_scale
        units[G_SCALE], units[H_SCALE] = scale_of(g, n), scale_of(h, n)
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
def _count(team, rank, table, coding, used, rows, packed, narrow, layers, counted):
    """Count rows into ``counted``, or into several layers that are yet to be added up; returns how many."""
    n_groups = table[2].shape[0] - 1
    across, down = lay_out(team[SIZE], n_groups)
    down = min(down, max(1, rows.shape[0] // _COUNTED))
    t = rank // across
    if t < down:
        first, end = rows.shape[0] * t // down, rows.shape[0] * (t + 1) // down
        a, b = n_groups * (rank % across) // across, n_groups * (rank % across + 1) // across
        target = counted if down == 1 else layers[t]
        count_rows(table, coding, used, rows[first:end], packed, a, b, narrow, target)
    return down


@inner_kernel
def _search(
    team, rank, general, layout, coding, rules, used, units, marks, own, layers, histograms, tries, tree, down, node,
    count, small, apart,
):  # fmt: skip
    """Settle the histograms of every column and try its splits for ``count`` nodes, of which ``small`` was counted."""
    whole, sums, width = tree[0], tree[1], coding[WIDTH]
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
            if not used[f] or not may_split(whole, i, rules):
                continue
            known = known_of(whole, sums, units, coding, i)
            gs = histograms[whole[i, SLOT], 0, f * width : f * width + bins]
            boths = histograms[whole[i, SLOT], 1, f * width : f * width + bins]
            low, high = sums[i, LOW], sums[i, HIGH]
            if general is not None:
                if marks[CHOSEN + c, f] == 0:
                    continue
                if layout[f, CATEGORICAL_COLUMN]:
                    scan_categories(gs, boths, f, known, limits, low, high, own[1], own[2], best)
                    continue
            scan_numbers(general, gs, boths, f, known, limits, layout[f, MONOTONE], low, high, best)
    return meet(team)


@inner_kernel
def _lay_down(given, n_histograms, tree, lists, groups_of):
    """A tree of one node, which has the first histogram; all others are free."""
    root, desk, free = tree[0][0], lists[DESK], lists[FREE]
    desk[N_NODES] = desk[SEARCH] = 1
    desk[N_HEAP], desk[N_FREE] = 0, n_histograms - 1
    for k in range(n_histograms - 1):
        free[k] = k + 1
    root[START] = root[DEPTH] = root[SLOT] = 0
    root[STOP], root[LEFT] = given.shape[0], -1
    tree[1][0, LOW], tree[1][0, HIGH] = -np.inf, np.inf
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
def _keep_books(
    general, layout, members, coding, rules, seed, used, units, marks, own, histograms, tries, lists, groups_of, tree
):  # fmt: skip
    """Judge the new nodes and lay out the next split, if there is one."""
    desk = lists[DESK]
    if desk[SEARCH]:
        first, count = (desk[FIRST], 2) if desk[N_NODES] > 1 else (0, 1)
        for c in range(count):
            judge(general, layout, coding, rules, units, histograms, tries, own[1], own[2], lists, tree, first + c, c)
    desk[MORE] = next_split(general, layout, rules, lists, tree, marks[FLAGS])
    if general is not None and desk[MORE]:
        pass_groups_on(groups_of, members, desk[NODE], desk[FIRST], np.int64(tree[2][desk[NODE], FEATURE]))
        for c in range(2):
            draw_columns(used, desk[FIRST] + c, groups_of, members, rules[COLUMN_SHARE], seed, marks[CHOSEN + c])


@inner_kernel
def grow_tree(
    team, rank, general, table, members, coding, rules, used, given, seeds, gradient, hessian, memory, own, tree
):  # fmt: skip
    """Grow a tree on the rows given, which are in the order of its leaves in the end; False if stopped.

    ``table`` = (words, a row for each column, first column of each group). All of ``memory`` (see ``books.py``), what
    this thread has of its ``own`` and ``tree`` is written to. ``used`` flags the columns of this tree; the seeds are
    those of rounding and of columns drawn.
    """
    lines, packed, _, layers, histograms, lists, reals, tries, marks, groups_of = memory
    words, layout, _ = table
    whole, rows, desk, units = tree[0], lines[ROWS], lists[DESK], reals[UNITS]
    node, count, small, searching, both = np.int64(0), np.int64(1), np.int64(0), True, False
    if not _pack(team, rank, gradient, hessian, coding, rules, seeds[0], packed, given, rows, reals):
        return False
    if rank == 0:
        _lay_down(given, histograms.shape[0], tree, lists, groups_of)
        if general is not None:
            draw_columns(used, node, groups_of, members, rules[COLUMN_SHARE], seeds[1], marks[CHOSEN])
    going, down = meet(team), np.int64(1)
    while going:
        if searching:
            for again in range(2 if both else 1):  # a parent that has lost its histogram leaves none for the larger
                small = 2 * node + 1 - small if again else small
                counted, part = histograms[whole[small, SLOT]], rows[whole[small, START] : whole[small, STOP]]
                down = _count(team, rank, table, coding, used, part, packed, own[0], layers, counted)
                if not meet(team):
                    return False
                if both and not again:
                    for f in range(rank, used.shape[0], team[SIZE]):
                        settle(layers, down, f, coding[WIDTH], layout[f, BINS] + 1, counted, counted, not both)
                    if not meet(team):
                        return False
            if count == 1:
                if rank == 0:
                    _add_up_root(table, coding, used, layers, down, histograms[0], units, tree[1])
                if not meet(team):
                    return False
            if not _search(
                team, rank, general, layout, coding, rules, used, units, marks, own, layers, histograms, tries, tree,
                down, node, count, small, count > 1 and not both,
            ):  # fmt: skip
                return False
        if rank == 0:
            _keep_books(
                general, layout, members, coding, rules, seeds[1], used, units, marks, own, histograms, tries, lists,
                groups_of, tree,
            )  # fmt: skip
        if not meet(team):
            return False
        if not desk[MORE]:
            return True
        # all of the desk is read here, before the meetings of a division, after which thread 0 may write the next
        parent, node, small, count = desk[NODE], desk[FIRST], desk[SMALL], np.int64(2)
        searching, both = desk[SEARCH] > 0, desk[COUNT_BOTH] > 0
        f, start, stop = np.int64(tree[2][parent, FEATURE]), whole[parent, START], whole[parent, STOP]
        place = np.uint64(layout[f, PLACE] * coding[STEP])
        own_words, mask = words[layout[f, GROUP]], (np.uint64(1) << np.uint64(coding[STEP])) - np.uint64(1)
        room = lines[BUFFER, start:stop]
        going = _divide(team, rank, own_words, place, mask, rows[start:stop], room, lists[LEFTS], marks[FLAGS])
    return False
