"""Grow one tree of a forest on binned columns, in one call without Python.

A node owns a segment of ``rows``; a split reorders the segment in place and keeps the order within both sides. Only a
few columns are tried at a node, so columns are contiguous. A set of bits remembers which bins of a column occur, so
that a node of five rows costs five additions and not a walk through 255 bins. Once a node is small, its rows' codes are
copied side by side, and the rest of its subtree is grown in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.mixing import next_bits, unit
from corollary._compiled.trees.forest.layout import (
    BEST,
    BINS,
    CATEGORICAL,
    CONSTRAINED,
    CUT,
    DEPTH,
    FEATURE,
    FEATURES,
    GAIN,
    HIGH,
    LEFT,
    LOW,
    MISSING_LEFT,
    MONOTONE,
    NATURAL,
    NODES,
    ROWS_OF_BITS,
    START,
    STOP,
    TOTALS,
    Data,
    Scratch,
    Tree,
)
from corollary._compiled.trees.forest.splits import find_split
from corollary._compiled.trees.forest.sums import add_up

PACK_ROWS = 4096  # codes, sums and row numbers of this many rows stay in a core's own cache


def make_tree(n_rows: int, n_sums: int) -> Tree:
    """Room for the largest tree of so many rows; the system gives memory for what is written to only."""
    size = 2 * max(n_rows, 1)
    return Tree(
        whole=np.empty((size, 8), dtype=np.int32),
        real=np.empty((size, TOTALS + n_sums + 2)),
    )


def make_scratch(n_columns: int, width: int, n_sums: int, ranked: int) -> Scratch:
    """Room to grow one tree at a time; ``ranked`` is the largest number of rows that are sorted by bin."""
    return Scratch(
        narrow=np.zeros(width + 2, dtype=np.int64),
        real=np.zeros((2 * width + 2, n_sums + 3)),
        whole=np.zeros((6, max(width, n_columns)), dtype=np.int32),
        seen=np.zeros((width + 63) // 64 + 1, dtype=np.uint64),
        ranked=np.empty(ranked, dtype=np.int64),
    )


def plant(tree: Tree, scratch: Scratch, totals: Any, n_rows: int, seed: Any) -> None:
    """Make node 0 the root of all rows; ``totals`` are its sums and its mass."""
    scratch.narrow[NODES], scratch.narrow[ROWS_OF_BITS] = 1, 0
    scratch.seen[-1] = seed
    scratch.whole[NATURAL] = scratch.whole[FEATURES] = np.arange(scratch.whole.shape[1])
    tree.whole[0, [START, STOP, DEPTH]] = 0, n_rows, 0
    tree.real[0, [LOW, HIGH]] = -np.inf, np.inf
    tree.real[0, TOTALS:-1] = totals
    tree.real[0, -1] = n_rows


def make_close(data: Data, targets: tuple[Any, Any, Any], rows: int) -> tuple[Data, Any, Any, Any]:
    """Room for the codes and targets of ``rows`` rows side by side; of none, if nothing is to be copied."""

    def room(like: Any) -> Any:
        if like is None or isinstance(like, tuple):
            return None if like is None else tuple(room(each) for each in like)
        return np.empty((rows, *like.shape[1:]), dtype=like.dtype)

    codes = np.empty((len(data.codes), rows), dtype=data.codes.dtype)
    packed, votes, sums = (room(each) for each in targets)
    return Data(codes, np.empty((2, rows), dtype=np.int32)), packed, votes, sums


@lean_kernel
def draw(ends, size, state, counts):
    """Draw ``size`` points of a line on which row i ends at ends[i]; counts[i] grows by how many fall on row i.

    Without ``ends`` every row is one long, which is what equal weights come to.
    """
    n = counts.shape[0]
    for _ in range(size):
        point = unit(next_bits(state))
        if ends.shape[0] == 0:
            low = np.int64(point * n)
        else:
            point *= ends[n - 1]
            low, high = np.int64(0), np.int64(n - 1)  # the first row that ends beyond the point
            while low < high:
                middle = (low + high) >> 1
                if ends[middle] > point:
                    high = middle
                else:
                    low = middle + 1
        counts[low] += 1


@lean_kernel
def choose(counts, label, mass_shift, sum_shift, mass, chosen, packed):
    """List the rows that were drawn and pack what they count; returns how many they are, and their sum and mass."""
    m, total, heavy = 0, np.int64(0), np.int64(0)
    for i in range(counts.shape[0]):
        count = np.int64(counts[i])
        own = count * np.int64(label[i])
        mass[i] = float(count)
        packed[i] = (own << sum_shift) | (count << mass_shift) | 1
        chosen[m] = i
        m += count > 0
        total += own
        heavy += count
    return m, total, heavy


@lean_kernel
def list_rows(mass, chosen):
    """List the rows of positive mass; returns how many they are."""
    m = 0
    for i in range(mass.shape[0]):
        chosen[m] = i
        m += mass[i] > 0.0
    return m


@inner_kernel
def _partition(data, start, stop, tree, at, columns, bits):
    """Reorder the rows start … stop, those that go left first, keeping order; returns how many these are.

    Both sides are written at every row and only one position advances, so there is no branch to predict.
    """
    node = tree.whole[at]
    f, cut, missing_left = node[FEATURE], np.int64(node[CUT]), np.int64(node[MISSING_LEFT])
    n_bins = np.int64(columns[BINS, f])
    exception = n_bins if missing_left == 1 else np.int64(-1)
    rows, buffer, codes = data.rows[0], data.rows[1], data.codes[f]
    w, b = start, 0
    for k in range(start, stop):
        r = rows[k]
        c = np.int64(codes[np.uintp(r)])
        goes = np.int64((c <= cut) | (c == exception))
        if bits is not None and columns[CATEGORICAL, f] == 1:
            goes = missing_left
            if c != n_bins:
                goes = np.int64((bits[cut, c >> 5] >> np.uint32(c & 31)) & np.uint32(1))
        rows[w] = r
        buffer[b] = r
        w += goes
        b += 1 - goes
    for k in range(b):
        rows[w + k] = buffer[k]
    return w - start


@inner_kernel
def _split(data, packed, votes, sums, offset, tree, at, setup, scratch, known, general, bits):
    """Carry out the split that was found; ``known`` are the sums of its left side, if free of rounding."""
    whole, real, rules = tree.whole, tree.real, setup.rules
    start, stop = np.int64(whole[at, START]) - offset, np.int64(whole[at, STOP]) - offset
    middle = start + _partition(data, start, stop, tree, at, setup.columns, bits)
    left = scratch.narrow[NODES]
    scratch.narrow[NODES] += 2
    whole[at, LEFT] = left
    for side in range(2):
        child, first, last = left + side, middle if side == 1 else start, stop if side == 1 else middle
        whole[child, START], whole[child, STOP] = first + offset, last + offset
        whole[child, DEPTH] = whole[at, DEPTH] + 1
        if known is None:
            add_up(data.rows[0], packed, votes, sums, first, last, rules, real, child)
        else:
            for j in range(TOTALS, real.shape[1]):
                own = known[j - TOTALS]
                real[child, j] = real[at, j] - own if side == 1 else own
    if general is not None:
        _bound(left, real, at, setup.columns[MONOTONE, whole[at, FEATURE]], rules)


@inner_kernel
def _bound(left, real, at, direction, rules):
    """Limits of the means of two children: the parent's, and the middle between them if the split is constrained."""
    for child in (left, left + 1):
        real[child, LOW], real[child, HIGH] = real[at, LOW], real[at, HIGH]
    if rules[CONSTRAINED] > 0.0 and direction != 0:
        a, b = real[left], real[left + 1]
        limit = 0.5 * (a[TOTALS] / a[TOTALS + 1] + b[TOTALS] / b[TOTALS + 1])
        if direction > 0:
            a[HIGH], b[LOW] = limit, limit
        else:
            a[LOW], b[HIGH] = limit, limit


@inner_kernel
def _pack(data, packed, votes, sums, start, m, close, near_packed, near_votes, near_sums, before):
    """Copy the codes and targets of m rows from ``start`` on side by side and number them from 0."""
    for i in range(m):
        before[i] = data.rows[0, start + i]
        close.rows[0, i] = i
    for f in range(data.codes.shape[0]):
        for i in range(m):
            close.codes[f, i] = data.codes[f, np.uintp(before[i])]
    for i in range(m):
        r = np.uintp(before[i])
        if packed is not None:
            near_packed[i] = packed[r]
        if votes is not None:
            near_votes[1][i] = votes[1][r]
            for o in range(votes[0].shape[1]):
                near_votes[0][i, o] = votes[0][r, o]
        if sums is not None:
            for j in range(sums.shape[1]):
                near_sums[i, j] = sums[r, j]


@lean_kernel
def grow(
    data, packed, votes, sums, tree, setup, scratch, plain, general, edges, bits, close, near_packed, near_votes,
    near_sums, before, postponed,
):  # fmt: skip
    """Grow a tree; ``close`` and what follows is room for the rows of one small subtree, or for none.

    Nodes of more than ``PACK_ROWS`` rows are split first; the others are postponed and then grown one by one, side by
    side if there is room.
    """
    count, copies = 0, close.rows.shape[1] > 0
    for turn in range(-1, tree.whole.shape[0]):
        if turn >= count:
            break
        now, p, v, s = data, packed, votes, sums
        root, offset = np.int64(0), np.int64(0)
        if turn >= 0:
            root = np.int64(postponed[turn])
        if turn >= 0 and copies:
            offset = np.int64(tree.whole[root, START])
            size = np.int64(tree.whole[root, STOP]) - offset
            _pack(data, packed, votes, sums, offset, size, close, near_packed, near_votes, near_sums, before)
            now, p, v, s = close, near_packed, near_votes, near_sums
        node, following = root, scratch.narrow[NODES]
        while True:
            if turn < 0 and tree.whole[node, STOP] - tree.whole[node, START] <= PACK_ROWS:
                postponed[count] = node
                count += 1
            elif find_split(now, p, v, s, offset, tree, node, setup, scratch, plain, general, edges, bits):
                if packed is not None:  # whole numbers leave no rounding behind when they are subtracted
                    known = scratch.real[BEST]
                    _split(now, p, v, s, offset, tree, node, setup, scratch, known, general, bits)
                if votes is not None:
                    _split(now, p, v, s, offset, tree, node, setup, scratch, None, general, bits)
                if sums is not None:
                    _split(now, p, v, s, offset, tree, node, setup, scratch, None, general, bits)
            if following >= scratch.narrow[NODES]:
                break
            node = following
            following += 1
        if turn >= 0 and copies:
            for i in range(tree.whole[root, STOP] - offset):
                data.rows[0, offset + i] = before[close.rows[0, i]]


@lean_kernel
def grow_best_first(data, packed, votes, sums, tree, setup, scratch, plain, general, edges, bits, waiting):
    """Split the node that gains most, until there are as many leaves as ``waiting`` has places."""
    count, leaves, offset = 0, 1, np.int64(0)
    if find_split(data, packed, votes, sums, offset, tree, np.int64(0), setup, scratch, plain, general, edges, bits):
        waiting[0] = 0
        count = 1
    while count > 0 and leaves < waiting.shape[0]:
        best = 0
        for k in range(1, count):
            if tree.real[waiting[k], GAIN] > tree.real[waiting[best], GAIN]:
                best = k
        node = waiting[best]
        for k in range(best, count - 1):  # the first of equals stays the first
            waiting[k] = waiting[k + 1]
        count -= 1
        _split(data, packed, votes, sums, offset, tree, node, setup, scratch, None, general, bits)
        leaves += 1
        for side in range(2):
            child = np.int64(tree.whole[node, LEFT]) + side
            if find_split(data, packed, votes, sums, offset, tree, child, setup, scratch, plain, general, edges, bits):
                waiting[count] = child
                count += 1
    for k in range(count):
        tree.whole[waiting[k], FEATURE] = -1
        tree.real[waiting[k], GAIN] = 0.0
