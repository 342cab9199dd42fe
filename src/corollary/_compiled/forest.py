"""Grow one tree of a forest on binned columns, in one call without Python.

A node owns a segment of ``rows``; a split reorders the segment in place and keeps the order within both sides. Only a
few columns are tried at a node, so columns are contiguous. A set of bits remembers which bins of a column occur, so
that a node of five rows costs five additions and not a walk through 255 bins. Once a node is small, its rows' codes are
copied side by side, and the rest of its subtree is grown in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled._jit import kernel
from corollary._compiled.forest_layout import (
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
    KIND,
    LABELS,
    LEFT,
    LOW,
    MASS_SHIFT,
    MISSING_LEFT,
    MONOTONE,
    NATURAL,
    NODES,
    PACKED,
    ROWS_OF_BITS,
    START,
    STOP,
    SUM_SHIFT,
    TOTALS,
    Data,
    Scratch,
    Tree,
)
from corollary._compiled.forest_splits import find_split
from corollary._compiled.forest_sums import next_bits

PACK_ROWS = 4096  # codes, sums and row numbers of this many rows stay in a core's own cache


def make_tree(n_rows: int, n_sums: int) -> Tree:
    """Room for the largest tree of so many rows; the system gives memory for what is written to only."""
    size = 2 * max(n_rows, 1)
    return Tree(
        whole=np.empty((size, 8), dtype=np.int32),
        real=np.empty((size, TOTALS + n_sums + 2)),
    )


def make_scratch(n_columns: int, width: int, n_sums: int, seed: Any) -> Scratch:
    """Room to grow one tree at a time."""
    scratch = Scratch(
        narrow=np.zeros(width + 2, dtype=np.int64),
        real=np.zeros((2 * width + 2, n_sums + 3)),
        whole=np.zeros((5, max(width, n_columns)), dtype=np.int32),
        seen=np.zeros((width + 63) // 64 + 1, dtype=np.uint64),
    )
    scratch.seen[-1] = seed
    scratch.whole[NATURAL] = scratch.whole[FEATURES] = np.arange(scratch.whole.shape[1])
    return scratch


def make_close(data: Data, rows: int) -> Data:
    """Room for the codes and targets of ``rows`` rows side by side."""

    def room(like: Any) -> Any:
        return np.empty((rows if len(like) else 0, *like.shape[1:]), dtype=like.dtype)

    return Data(
        codes=np.empty((len(data.codes), rows), dtype=data.codes.dtype),
        rows=np.empty((2, rows), dtype=np.int32),
        packed=room(data.packed),
        values=room(data.values),
    )


@kernel
def draw(ends, size, state, counts):
    """Draw ``size`` points of a line on which row i ends at ends[i]; counts[i] grows by how many fall on row i.

    Without ``ends`` every row is one long, which is what equal weights come to.
    """
    n = counts.shape[0]
    for _ in range(size):
        point = float(next_bits(state) >> np.uint64(11)) * 2.0**-53
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


@kernel
def _add_up(data, start, stop, rules, node):
    """Sums, mass and number of the rows start … stop into the node; returns whether y is the same for all."""
    out, rows, values, packed = node[TOTALS:], data.rows[0], data.values, data.packed
    c = out.shape[0] - 2
    kind, mass_shift, sum_shift = np.int64(rules[KIND]), np.int64(rules[MASS_SHIFT]), np.int64(rules[SUM_SHIFT])
    mass_mask = (np.int64(1) << (sum_shift - mass_shift)) - 1
    for j in range(c + 2):
        out[j] = 0.0
    for k in range(start, stop):
        r = np.uintp(rows[k])
        if kind == PACKED:
            out[0] += float(packed[r] >> sum_shift)
            out[1] += float((packed[r] >> mass_shift) & mass_mask)
        elif kind == LABELS:
            out[np.uintp(packed[r])] += values[r, 0]
        else:
            for j in range(c + 1):
                out[j] += values[r, j]
    if kind == LABELS:  # so that the mass of a pure node equals its only sum to the last bit
        for j in range(c):
            out[c] += out[j]
    out[c + 1] = float(stop - start)


@kernel
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


@kernel
def _split(data, offset, tree, at, setup, scratch, fresh, bits):
    """Carry out the split that was found; ``fresh`` if the sums of its left side are still at hand."""
    whole, real, rules = tree.whole, tree.real, setup.rules
    start, stop = np.int64(whole[at, START]) - offset, np.int64(whole[at, STOP]) - offset
    middle = start + _partition(data, start, stop, tree, at, setup.columns, bits)
    left = scratch.narrow[NODES]
    scratch.narrow[NODES] += 2
    whole[at, LEFT] = left
    for side in range(2):
        first, last = (start, middle) if side == 0 else (middle, stop)
        child = real[left + side]
        whole[left + side, START], whole[left + side, STOP] = first + offset, last + offset
        whole[left + side, DEPTH] = whole[at, DEPTH] + 1
        child[LOW], child[HIGH] = real[at, LOW], real[at, HIGH]
        if fresh:
            for j in range(real.shape[1] - TOTALS):
                sums = scratch.real[BEST, j]
                child[TOTALS + j] = sums if side == 0 else real[at, TOTALS + j] - sums
        else:
            _add_up(data, first, last, rules, child)
    direction = setup.columns[MONOTONE, whole[at, FEATURE]]
    if rules[CONSTRAINED] > 0.0 and direction != 0:
        a, b = real[left], real[left + 1]
        limit = 0.5 * (a[TOTALS] / a[TOTALS + 1] + b[TOTALS] / b[TOTALS + 1])
        if direction > 0:
            a[HIGH], b[LOW] = limit, limit
        else:
            a[LOW], b[HIGH] = limit, limit


@kernel
def plant(data, tree, rules, scratch):
    """Make node 0 the root of all rows."""
    n = np.int64(data.rows.shape[1])
    scratch.narrow[NODES], scratch.narrow[ROWS_OF_BITS] = 1, 0
    tree.whole[0, START], tree.whole[0, STOP], tree.whole[0, DEPTH] = 0, n, 0
    tree.real[0, LOW], tree.real[0, HIGH] = -np.inf, np.inf
    _add_up(data, np.int64(0), n, rules, tree.real[0])


@kernel
def _pack(data, start, stop, close, before):
    """Copy the codes and targets of the rows start … stop side by side and number them from 0."""
    m = stop - start
    for i in range(m):
        before[i] = data.rows[0, start + i]
        close.rows[0, i] = i
    for f in range(data.codes.shape[0]):
        for i in range(m):
            close.codes[f, i] = data.codes[f, np.uintp(before[i])]
    for i in range(m):
        r = np.uintp(before[i])
        if close.packed.shape[0] > 0:
            close.packed[i] = data.packed[r]
        for j in range(close.values.shape[1] if close.values.shape[0] > 0 else 0):
            close.values[i, j] = data.values[r, j]


@kernel
def grow(data, tree, setup, scratch, edges, bits, close, before, postponed):
    """Grow a tree; ``close`` and ``before`` are room for the rows of one small subtree.

    Nodes of more rows than ``close`` holds are split first; the others are postponed and then grown one by one.
    """
    fresh = setup.rules[KIND] == PACKED  # whole numbers leave no rounding behind when they are subtracted
    pack, count = close.rows.shape[1], 0
    for turn in range(-1, tree.whole.shape[0]):
        if turn >= count:
            break
        now, root, offset = data, np.int64(0), np.int64(0)
        if turn >= 0:
            root = np.int64(postponed[turn])
            offset, stop = np.int64(tree.whole[root, START]), np.int64(tree.whole[root, STOP])
            _pack(data, offset, stop, close, before)
            now = close
        node, following = root, scratch.narrow[NODES]
        while True:
            if turn < 0 and tree.whole[node, STOP] - tree.whole[node, START] <= pack:
                postponed[count] = node
                count += 1
            elif find_split(now, offset, tree, node, setup, scratch, edges, bits):
                _split(now, offset, tree, node, setup, scratch, fresh, bits)
            if following >= scratch.narrow[NODES]:
                break
            node = following
            following += 1
        if turn >= 0:
            for i in range(tree.whole[root, STOP] - offset):
                data.rows[0, offset + i] = before[close.rows[0, i]]


@kernel
def grow_best_first(data, tree, setup, scratch, edges, bits, waiting):
    """Split the node that gains most, until there are as many leaves as ``waiting`` has places."""
    count, leaves, offset = 0, 1, np.int64(0)
    if find_split(data, offset, tree, np.int64(0), setup, scratch, edges, bits):
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
        _split(data, offset, tree, node, setup, scratch, False, bits)
        leaves += 1
        for side in range(2):
            child = np.int64(tree.whole[node, LEFT]) + side
            if find_split(data, offset, tree, child, setup, scratch, edges, bits):
                waiting[count] = child
                count += 1
    for k in range(count):
        tree.whole[waiting[k], FEATURE] = -1
        tree.real[waiting[k], GAIN] = 0.0
