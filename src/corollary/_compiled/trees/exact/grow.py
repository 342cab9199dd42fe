"""Grow a whole subtree in one call, on rows numbered from zero and records of 32 bits that stay in the cache."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.trees.exact.rows import describe, prepare
from corollary._compiled.trees.exact.scan import Node
from corollary._compiled.trees.exact.tree import (
    GAIN,
    THRESHOLD,
    best_feature,
    child_seed,
    choose_features,
    mark,
    partition,
    search,
)

SLACK = 1e-12  # gains that differ by less than this part of the node's impurity count as equal

# columns of the arrays of nodes: whole numbers and real numbers
FEATURE, LEFT, MISSING, LOW_ROW, HIGH_ROW, CATEGORY, START, STOP, DEPTH = 0, 1, 2, 3, 4, 5, 6, 7, 8
CUT, WEIGHT, IMPURITY, GAINED, LOWER, UPPER = 0, 1, 2, 3, 4, 5
N_WHOLE, N_REAL = 9, 6


class Limits(NamedTuple):
    """When to stop."""

    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    min_gain: float
    max_features: int


@lean_kernel
def localise(records, start, stop, categorical, values, place, rows, out, out_values):
    """Copy a segment of 64-bit records to 32-bit records whose rows count from zero and whose ranks are dense.

    ``rows`` gets the old number of each row; of ``place``, which is scratch, only the entries of these rows are used.
    """
    for j in range(stop - start):
        row = np.int64(records[0, start + j] & np.uint64(0xFFFFFFFF))
        place[row] = j
        rows[j] = row
    for f in range(records.shape[0]):
        rank, before = -1, -1
        is_category = False
        if categorical is not None:
            is_category = categorical[f]
        for j in range(stop - start):
            old = np.int64(records[f, start + j] >> np.uint64(32))
            row = place[np.int64(records[f, start + j] & np.uint64(0xFFFFFFFF))]
            if old == 0xFFFFFFFF:
                out[f, j] = (0xFFFF << 16) | row
                continue
            if is_category:
                rank = old
            elif old != before:
                rank, before = rank + 1, old
                if values is not None:
                    out_values[f, rank] = values[f, old]
            out[f, j] = (rank << 16) | row


@inner_kernel
def child_bounds(lower, upper, left, right, direction, side):
    """Bounds of a child's predictions: below or above the middle of the two if the split is constrained."""
    middle = min(max(0.5 * left + 0.5 * right, lower), upper)
    if direction == 0:
        return lower, upper
    if (direction > 0) == (side == 0):
        return lower, middle
    return middle, upper


@inner_kernel
def is_live(count, weight, pure, depth, limits):
    """Whether a node may be split."""
    return (
        not pure
        and depth < limits.max_depth
        and count >= limits.min_split
        and count >= 2 * limits.min_leaf
        and weight >= 2.0 * limits.min_weight
    )


@lean_kernel
def grow_subtree(
    records, limits, fresh, criterion, codes, y, w, uneven, table, totals, v, rank, sorted_y, categorical, direction,
    values, seeds, whole, real, value, bitsets, goes_left, use, order, found, bits, stack, buffer, moved,
):  # fmt: skip
    """Split depth first until no node may be split further; returns the numbers of nodes and of bitsets.

    ``records`` (d, n) of uint32 are consumed. Node 0 is given; its statistics are not if it is ``fresh``. There must be
    room for 2 n nodes and n bitsets. What comes after the bitsets is scratch.
    """
    d, n = records.shape
    mask, shift, last_value = np.uint32(0xFFFF), np.uint32(16), value.shape[1] - 1
    top, count, n_sets = 1, 1, 0
    stack[0] = 0
    if fresh:
        weight, impurity, pure = describe(records[0], np.int64(0), n, mask, criterion, codes, y, w, value[0])
        real[0, WEIGHT], real[0, IMPURITY] = weight, impurity
        top = 1 if is_live(n, weight, pure, np.int64(whole[0, DEPTH]), limits) else 0
    while top > 0:
        top -= 1
        t = stack[top]
        a, b = np.int64(whole[t, START]), np.int64(whole[t, STOP])
        node = Node(
            a, b, real[t, WEIGHT], SLACK * real[t, IMPURITY] * real[t, WEIGHT], value[t, last_value], real[t, IMPURITY],
            real[t, LOWER], real[t, UPPER], limits.min_leaf, limits.min_weight,
        )  # fmt: skip
        prepare(records[0], a, b, mask, criterion, codes, y, w, value[t], totals, v, rank, sorted_y)
        choose_features(records, a, b, mask, limits.max_features, seeds[t], order, use)
        search(
            0, d, records, mask, shift, node, criterion, codes, y, w, uneven, table, totals, v, rank, sorted_y,
            categorical, direction, values, use, seeds[t], found, moved,
        )  # fmt: skip
        f = best_feature(found, node.slack)
        if f < 0 or found[f, GAIN] < limits.min_gain:
            continue
        middle, whole[t, LOW_ROW], whole[t, HIGH_ROW], whole[t, MISSING] = mark(
            f, records, mask, shift, node, codes, y, w, categorical, found[f], goes_left, bits
        )
        whole[t, FEATURE], whole[t, LEFT] = f, count
        real[t, GAINED], real[t, CUT] = found[f, GAIN], found[f, THRESHOLD]
        if categorical is not None and categorical[f]:
            whole[t, CATEGORY] = n_sets
            for k in range(bits.shape[0]):
                bitsets[n_sets, k] = bits[k]
            n_sets += 1
        keep_left, keep_right = a < b, a < b  # not True, which Numba would compile a version of its own for
        for step in range(2):  # the list of f first: from it the children are described
            first, last = (f, f + 1) if step == 0 else (0, d)
            partition(first, last, records, a, middle, b, mask, goes_left, keep_right, f if step == 1 else -1, buffer)
            if step == 1:
                break
            for side in range(2):
                c, begin, end = count + side, a if side == 0 else middle, middle if side == 0 else b
                weight, impurity, pure = describe(records[f], begin, end, mask, criterion, codes, y, w, value[c])
                live = is_live(end - begin, weight, pure, whole[t, DEPTH] + 1, limits)
                keep_left, keep_right = live if side == 0 else keep_left, live if side == 1 else keep_right
                for k in range(CATEGORY + 1):
                    whole[c, k] = -1
                whole[c, START], whole[c, STOP], whole[c, DEPTH] = begin, end, whole[t, DEPTH] + 1
                real[c, CUT], real[c, GAINED] = np.nan, 0.0
                real[c, WEIGHT], real[c, IMPURITY] = weight, impurity
                seeds[c] = child_seed(seeds[t], side)
            if not (keep_left or keep_right):
                break
        left_value, right_value = value[count, last_value], value[count + 1, last_value]
        for side in range(2):
            c = count + side
            real[c, LOWER], real[c, UPPER] = child_bounds(
                node.lower, node.upper, left_value, right_value, direction[f], side
            )
            if keep_right if side == 0 else keep_left:
                stack[top] = count + 1 - side
                top += 1
        count += 2
    return count, n_sets
