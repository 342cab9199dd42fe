"""Score many rows with many trees of at most 32 leaves, without a walk.

Leaves of a tree are numbered from the left, one bit each. A node that sends a row right rules out the leaves to its
left; the row's leaf is the lowest bit that no node rules out. All nodes of a tree are asked about 64 rows at once: a
compare and an AND of vectors each, which is less than the five or ten steps of a walk would cost.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel, lean_kernel
from corollary._compiled.team import count_blocks, rows_of, take
from corollary._compiled.trees.coding import LANES, any_infinite, code_rows

LEAVES = 32
WORDS = 8  # of a set of categories; larger ones are looked up faster than looked through
BLOCK = 512  # rows that a thread takes at a time
_ALL = 0xFFFFFFFF
_DE_BRUIJN = 0x077CB531  # times a power of two below 2³², its top five bits differ for each power


@inner_kernel
def _leaf_ranges(root, stop, feature, left, first, size):
    """Number the leaves of one tree from the left: node's leaves are first[node] … first[node] + size[node] − 1."""
    for node in range(stop - 1, root - 1, -1):
        size[node] = 1 if feature[node] < 0 else size[left[node]] + size[left[node] + 1]
    first[root] = 0
    for node in range(root, stop):
        if feature[node] >= 0:
            first[left[node]] = first[node]
            first[left[node] + 1] = first[node] + size[left[node]]


@inner_kernel
def _place(bit):
    """Where a table has the leaf of this bit."""
    return np.uint32(bit * np.uint32(_DE_BRUIJN)) >> np.uint32(27)  # a product has 64 bits until it is cut


@lean_kernel
def fill_tables(roots, stops, feature, left, category, codes, value, scratch, numbers, sets, leaves):
    """The questions of all trees in two lists, and the values of their leaves.

    ``codes`` = (slot, rank) of every node. ``numbers`` = (ends, slot, rank, keep): the questions about numbers of tree
    t end at ends[t] and are even in number. ``sets`` = (ends, slot, node, keep): those about categories, or None.
    """
    slot, rank = codes
    first, size = scratch
    a, b = 0, 0
    for t in range(roots.shape[0]):
        _leaf_ranges(roots[t], stops[t], feature, left, first, size)
        for node in range(roots[t], stops[t]):
            if feature[node] < 0:
                at = _place(np.uint32(np.int64(1) << first[node]))
                for k in range(value.shape[1]):
                    leaves[t, k, at] = value[node, k]
                continue
            keep = np.uint32(_ALL ^ (((np.int64(1) << size[left[node]]) - 1) << first[node]))
            if sets is not None and category[node] >= 0:
                sets[1][b], sets[2][b], sets[3][b] = slot[node], category[node], keep
                b += 1
                continue
            numbers[1][a], numbers[2][a], numbers[3][a] = slot[node], rank[node], keep
            a += 1
        if a % 2 == 1:  # a question that rules nothing out
            numbers[1][a], numbers[2][a], numbers[3][a] = numbers[1][a - 1], numbers[2][a - 1], np.uint32(_ALL)
            a += 1
        numbers[0][t] = a
        if sets is not None:
            sets[0][t] = b


@inner_kernel
def _ask_numbers(codes, first, stop, numbers, alive):
    """Rule out what questions about numbers rule out, two at a time."""
    _, slot, rank, keep = numbers
    every = np.uint32(_ALL)
    for q in range(first, stop, 2):
        one, two = codes[slot[q]], codes[slot[q + 1]]
        r, s, keep_one, keep_two = rank[q], rank[q + 1], keep[q], keep[q + 1]
        for v in range(LANES):
            alive[v] &= (keep_one if one[v] > r else every) & (keep_two if two[v] > s else every)


@inner_kernel
def _ask_sets(codes, first, stop, sets, bits, alive, found):
    """Rule out what questions about categories rule out; all words of a set are looked at, to look nothing up."""
    _, slot, row, keep = sets
    for q in range(first, stop):
        code, words, kept = codes[slot[q]], bits[row[q]], keep[q]
        for v in range(LANES):
            found[v] = np.uint32(0)
        for w in range(words.shape[0]):
            word, this = words[w], np.uint16(w)
            for v in range(LANES):
                bit = word >> np.uint32(code[v] & np.uint16(31))
                found[v] |= bit if code[v] >> np.uint16(5) == this else np.uint32(0)
        for v in range(LANES):
            alive[v] &= np.uint32(_ALL) if found[v] & np.uint32(1) != 0 else kept


@inner_kernel
def _score(codes, numbers, sets, bits, leaves, alive, place, total):
    """total[k, v] += Σ over trees, in order, of the value at the leaf of row v."""
    groups = total.shape[0] // leaves.shape[1]
    q, s = np.int64(0), np.int64(0)  # not 0, which Numba would compile versions of its own for
    for t in range(leaves.shape[0]):
        for v in range(LANES):
            alive[v] = np.uint32(_ALL)
        _ask_numbers(codes, q, numbers[0][t], numbers, alive)
        q = numbers[0][t]
        if sets is not None:
            _ask_sets(codes, s, sets[0][t], sets, bits, alive, place)
            s = sets[0][t]
        for v in range(LANES):
            place[v] = _place(alive[v] & np.uint32(~alive[v] + np.uint32(1)))
        for k in range(leaves.shape[1]):
            values, sums = leaves[t, k], total[t % groups + k]
            for v in range(LANES):
                sums[v] += values[place[v]]


@kernel
def score_rows(team, rank, source, others, coder, n_slots, numbers, sets, bits, leaves, start, out, seen):
    """out[i] = start + Σ over trees of the values at row i's leaf; seen[0] = 1 if a number is infinite.

    Tree t with fewer values than outputs belongs to output t mod outputs. Threads take blocks of rows. ``sets`` and
    their ``bits`` are None where no node asks about categories: what would ask is then not compiled.
    """
    n, n_outputs = out.shape
    codes, x, code = np.empty((n_slots, LANES), np.uint16), np.empty(LANES), np.empty(LANES, np.int32)
    alive, place, total = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32), np.empty((n_outputs, LANES))
    infinite, block = False, take(team)
    while block < count_blocks(n, BLOCK):
        begin, end = rows_of(block, n, BLOCK)
        for first in range(begin, end, LANES):
            infinite |= code_rows(source, coder, first, x, code, codes) | any_infinite(source, others, first, x)
            for k in range(n_outputs):
                for v in range(LANES):
                    total[k, v] = start[k]
            _score(codes, numbers, sets, bits, leaves, alive, place, total)
            for v in range(min(LANES, end - first)):
                for k in range(n_outputs):
                    out[first + v, k] = total[k, v]
        block = take(team)
    if infinite:
        seen[0] = 1
