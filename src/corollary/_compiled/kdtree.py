"""The order of rows in a k-d tree, level by level: a node's rows are parted by the column in which they reach furthest.

Nodes of many rows are parted by all threads together, one node after another: the median is found among the values of
the column, and rows move to their side in the order in which they were. A node of few rows, with all below it, is one
thread's own: its rows are copied side by side, so that they stay in its cache. Which nodes are which depends on the
number of rows alone, so the order does not depend on the threads.

Node v of level l has the rows order[ends[l, v] : ends[l, v + 1]], where ``ends`` are the levels' ends one after another
(:func:`ends_of`), and the children 2v and 2v + 1.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.team import count_blocks, meet, rows_of, share, take

MANY = 4096  # rows of a node that all threads part together
BLOCK = 1024  # of these rows
BUCKETS = 128  # in which the median of many values is looked for


@inner_kernel
def ends_of(level):
    """Where the ends of a level begin."""
    return (1 << level) - 1 + level


@inner_kernel
def _box(X, order, a, b, low, high):
    """The smallest box around the rows order[a:b]; empty if there are none."""
    for j in range(X.shape[1]):
        low[j], high[j] = np.inf, -np.inf
    for i in range(a, b):
        row = order[i]
        for j in range(X.shape[1]):
            value = X[row, j]
            low[j] = value if value < low[j] else low[j]
            high[j] = value if value > high[j] else high[j]


@inner_kernel
def _widest(low, high):
    widest = 0
    for j in range(1, len(low)):
        if high[j] - low[j] > high[widest] - low[widest]:
            widest = j
    return widest


@inner_kernel
def _gather_left(values, rows, first, end, pivot, equal):
    """Move what is less than the pivot, or equal to it, to the front; returns where the rest begins.

    There is no branch: which side a value belongs to cannot be foreseen.
    """
    left = first
    for i in range(first, end):
        value, row = values[i], rows[i]
        values[i], rows[i] = values[left], rows[left]
        values[left], rows[left] = value, row
        left += (value <= pivot) if equal else (value < pivot)
    return left


@inner_kernel
def part(values, rows, first, end, middle):
    """Reorder values[first:end], and rows with them, so that sorting would not move any across ``middle``."""
    while end - first > 1:
        a, b, c = values[first], values[(first + end) // 2], values[end - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        left = _gather_left(values, rows, first, end, pivot, False)
        if middle < left:
            end = left
            continue
        right = _gather_left(values, rows, left, end, pivot, True)
        if middle < right:
            break
        first = right


@inner_kernel
def _box_together(team, rank, X, order, a, b, boxes, box):
    """The box of order[a:b], by blocks; all threads have it when they leave. False if the team was stopped."""
    blocks = count_blocks(b - a, BLOCK)
    first, end = share(team, rank, blocks)
    for block in range(first, end):
        start, stop = rows_of(block, b - a, BLOCK)
        _box(X, order, a + start, a + stop, boxes[block, 0], boxes[block, 1])
    if not meet(team):
        return False
    for j in range(X.shape[1]):
        box[0, j], box[1, j] = np.inf, -np.inf
        for block in range(blocks):
            box[0, j] = min(box[0, j], boxes[block, 0, j])
            box[1, j] = max(box[1, j], boxes[block, 1, j])
    return True


@inner_kernel
def _bucket(value, low, scale):
    """The number of a value's bucket, among buckets of equal width; larger values are never in a lower one."""
    return min(BUCKETS - 1, int((value - low) * scale)) if scale > 0.0 else 0


@inner_kernel
def _median(team, rank, X, order, a, b, middle, column, box, keys, spare, values, counts):
    """The value at ``middle`` if ``keys`` (the column's) of order[a:b] were sorted; every thread has it in values[a].

    Threads count how many keys are in each of some buckets; only those of the median's bucket are put into values and
    parted. False if the team was stopped.
    """
    blocks, low, reach = count_blocks(b - a, BLOCK), box[0, column], box[1, column] - box[0, column]
    scale = BUCKETS / reach if 0.0 < reach < np.inf and BUCKETS / reach < np.inf else 0.0
    first, end = share(team, rank, blocks)
    for block in range(first, end):
        start, stop = rows_of(block, b - a, BLOCK)
        for bucket in range(BUCKETS):
            counts[block, bucket] = 0
        for i in range(a + start, a + stop):
            keys[i] = X[order[i], column]
            counts[block, _bucket(keys[i], low, scale)] += 1
    if not meet(team):
        return False
    before, wanted, own = 0, 0, 0
    for bucket in range(BUCKETS):
        own = 0
        for block in range(blocks):
            own += counts[block, bucket]
        wanted = bucket
        if before + own > middle - a:
            break
        before += own
    at = a
    for block in range(end):
        if block >= first:
            start, stop = rows_of(block, b - a, BLOCK)
            for i in range(a + start, a + stop):
                if _bucket(keys[i], low, scale) == wanted:
                    values[at] = keys[i]
                    at += 1
        else:
            at += counts[block, wanted]
    if not meet(team):
        return False
    if rank == 0:
        part(values, spare, a, a + own, middle - before)
        values[a] = values[middle - before]
    return meet(team)


@inner_kernel
def _part_together(team, rank, X, order, a, b, middle, column, box, keys, spare, values, counts):
    """Part order[a:b] at ``middle`` by a column, in the order in which rows are. False if the team was stopped."""
    if not _median(team, rank, X, order, a, b, middle, column, box, keys, spare, values, counts):
        return False
    blocks, pivot = count_blocks(b - a, BLOCK), values[a]
    first, end = share(team, rank, blocks)
    for block in range(first, end):
        start, stop = rows_of(block, b - a, BLOCK)
        counts[block, 0], counts[block, 1] = 0, 0
        for i in range(a + start, a + stop):
            counts[block, 0] += keys[i] < pivot
            counts[block, 1] += keys[i] == pivot
    if not meet(team):
        return False
    less, equal = 0, 0
    for block in range(blocks):
        less += counts[block, 0]
    wanted = middle - a - less  # of the rows at the median, the first go to the left
    less = 0
    for block in range(end):
        if block >= first:
            start, stop = rows_of(block, b - a, BLOCK)
            left = a + less + min(equal, wanted)
            _move(order, keys, a + start, a + stop, pivot, wanted - equal, left, middle + a + start - left, spare)
        less += counts[block, 0]
        equal += counts[block, 1]
    if not meet(team):
        return False
    for i in range(a + first * BLOCK, a + min(end * BLOCK, b - a)):
        order[i] = spare[i]
    return meet(team)


@inner_kernel
def _move(order, keys, start, stop, pivot, wanted, left, right, spare):
    """Rows of a block to their sides: from ``left`` on what is less than the pivot and ``wanted`` of what equals it."""
    for i in range(start, stop):
        goes = keys[i] < pivot
        if keys[i] == pivot and wanted > 0:
            goes = True
            wanted -= 1
        if goes:
            spare[left] = order[i]
            left += 1
        else:
            spare[right] = order[i]
            right += 1


@inner_kernel
def _grow_alone(X, order, ends, top, node, levels, boxes, rows, own, keys, spare):
    """Box and part the rows of a node of level ``top`` and of all nodes below it.

    ``rows``, ``own`` (row numbers) and ``keys`` (values of a column) are room for them.
    """
    a, b = ends[ends_of(top) + node], ends[ends_of(top) + node + 1]
    for i in range(a, b):
        own[i - a], spare[i] = i - a, order[i]
        for j in range(X.shape[1]):
            rows[i - a, j] = X[order[i], j]
    for level in range(top, levels):
        for v in range(node << (level - top), (node + 1) << (level - top)):
            at, box = ends_of(level) + v, boxes[(1 << level) - 1 + v]
            first, end = ends[at] - a, ends[at + 1] - a
            _box(rows, own, first, end, box[0], box[1])
            if level + 1 < levels:
                middle = ends[ends_of(level + 1) + 2 * v + 1] - a
                if first < middle < end:
                    column = _widest(box[0], box[1])
                    for i in range(first, end):
                        keys[i] = rows[own[i], column]
                    part(keys, own, first, end, middle)
    for i in range(a, b):
        order[i] = spare[a + own[i - a]]


@lean_kernel
def grow_together(team, rank, X, ends, top, order, spare, keys, values, counts, parts, room, boxes):
    """Order the rows and box the nodes of the levels before ``top``, one node after another."""
    box = room[rank]
    for level in range(top):
        for v in range(1 << level):
            at = ends_of(level) + v
            a, b, middle = ends[at], ends[at + 1], ends[ends_of(level + 1) + 2 * v + 1]
            if not _box_together(team, rank, X, order, a, b, parts, box):
                return
            if rank == 0:
                for j in range(X.shape[1]):  # copying whole arrays takes a second longer to compile
                    boxes[(1 << level) - 1 + v, 0, j], boxes[(1 << level) - 1 + v, 1, j] = box[0, j], box[1, j]
            if a < middle < b:
                column = _widest(box[0], box[1])
                if not _part_together(team, rank, X, order, a, b, middle, column, box, keys, spare, values, counts):
                    return
            elif not meet(team):  # blocks of boxes are written again
                return


@lean_kernel
def grow_alone(team, rank, X, ends, top, levels, order, spare, rows, own, keys, boxes):
    """The same for the nodes of level ``top`` and all below, each by one thread; rows, own and keys are its room."""
    node = take(team)
    while node < (1 << top):
        _grow_alone(X, order, ends, top, node, levels, boxes, rows[rank], own[rank], keys[rank], spare)
        node = take(team)
