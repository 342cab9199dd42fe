"""Score many rows with many small trees by bit masks instead of walks.

Leaves of a tree are numbered from the left, one bit each. A node that sends a row right rules out the leaves to its
left; the row's leaf is the lowest bit that no node rules out. What a column's code rules out in each of 32 trees is a
row of a table, so a row of X costs one vector AND per column for all 32 trees, and nothing in it is a branch.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import kernel

GROUP = 32  # trees scored together
_DE_BRUIJN = 0x077CB531  # times a power of two below 2³², its top five bits differ for each power


@kernel
def leaf_ranges(root, stop, feature, left, first, size):
    """Number the leaves of one tree from the left: node's leaves are first[node] … first[node] + size[node] − 1."""
    for node in range(stop - 1, root - 1, -1):
        size[node] = 1 if feature[node] < 0 else size[left[node]] + size[left[node] + 1]
    first[root] = 0
    for node in range(root, stop):
        if feature[node] >= 0:
            first[left[node]] = first[node]
            first[left[node] + 1] = first[node] + size[left[node]]


@kernel
def fill_tables(roots, stops, feature, position, left, missing_left, category, bitsets, offsets, n_bins, value, masks,
                leaves):  # fmt: skip
    """masks[group, offsets[f] + code, tree] and leaves[group, tree, scattered leaf number] of all trees."""
    first = np.zeros(feature.shape[0], dtype=np.int64)
    size = np.zeros(feature.shape[0], dtype=np.int64)
    for t in range(roots.shape[0]):
        g, lane = t // GROUP, t % GROUP
        leaf_ranges(roots[t], stops[t], feature, left, first, size)
        for node in range(roots[t], stops[t]):
            f = feature[node]
            if f < 0:
                bit = np.uint32(np.int64(1) << first[node])  # products of 32-bit numbers have 64 bits until cut
                leaves[g, lane, np.uint32(bit * np.uint32(_DE_BRUIJN)) >> np.uint32(27)] = value[node]
                continue
            count = size[left[node]]
            keep = ~np.uint32(((np.int64(1) << count) - 1) << first[node])
            row = offsets[f]
            for code in range(n_bins[f]):
                if category[node] >= 0:
                    word = code >> 5
                    goes_left = word < bitsets.shape[1] and (
                        (bitsets[category[node], word] >> np.uint32(code & 31)) & np.uint32(1) != 0
                    )
                else:
                    goes_left = code <= position[node]
                if not goes_left:
                    masks[g, row + code, lane] &= keep
            if not missing_left[node]:
                masks[g, row + n_bins[f], lane] &= keep


@kernel
def score_block(codes, columns, offsets, masks, leaves, raw):
    """raw[i] += Σ over trees, in order, of the value at row i's leaf; codes are (columns, rows)."""
    alive = np.empty(GROUP, dtype=np.uint32)
    multiplier, shift = np.uint32(_DE_BRUIJN), np.uint32(27)
    for g in range(masks.shape[0]):
        table, values = masks[g], leaves[g]
        for i in range(codes.shape[1]):
            for t in range(GROUP):
                alive[t] = np.uint32(0xFFFFFFFF)
            for j in range(columns.shape[0]):
                row = table[offsets[columns[j]] + np.int64(codes[j, i])]
                for t in range(GROUP):
                    alive[t] &= row[t]
            total = raw[i]
            for t in range(GROUP):
                bit = alive[t] & np.uint32(~alive[t] + np.uint32(1))
                total += values[t, np.uint32(bit * multiplier) >> shift]
            raw[i] = total
