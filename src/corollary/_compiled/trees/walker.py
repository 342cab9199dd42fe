"""Walk many rows down trees of any size, on codes instead of numbers (see ``coding.py``).

A node is eight bytes: its left child, the slot of the codes that it looks into, and the rank of its threshold. A leaf
is its own left child and sends nobody right. Sixteen rows walk together, so that the memory of one is fetched while
others compare, and no branch depends on a comparison of numbers.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.team import count_blocks, rows_of, take
from corollary._compiled.trees.coding import LANES, any_infinite, code_rows

TOGETHER = 16  # rows


@inner_kernel
def _walk(codes, first, root, nodes, category, bits, first_set, node):
    """node[j] = leaf of row first + j, for the rows that walk together."""
    for j in range(TOGETHER):
        node[j] = root
    moved = np.int64(1)
    while moved != 0:
        moved = np.int64(0)
        for j in range(TOGETHER):
            at = node[j]
            word = nodes[np.uintp(at)]
            slot = (word >> np.uint64(32)) & np.uint64(0xFFFF)
            code = codes[np.uintp(first + j), np.uintp(slot)]
            right = np.int64(code > (word >> np.uint64(48)))
            if bits is not None and slot >= first_set and category[np.uintp(at)] >= 0:
                words = bits[np.uintp(category[np.uintp(at)])]
                right = np.int64(1) - np.int64((words[code >> 5] >> np.uint32(code & 31)) & np.uint32(1))
            child = np.int64(word & np.uint64(0xFFFFFFFF)) + right
            moved |= child ^ at
            node[j] = child


@kernel
def walk_rows(team, rank, source, others, coder, n_slots, size, roots, nodes, category, bits, first_set, value, start,
              out, seen):  # fmt: skip
    """As ``score_rows``, for trees of any size; threads take ``size`` rows at a time, a multiple of ``LANES``.

    ``category`` and ``bits`` are None where no node asks about categories.
    """
    n, n_outputs = out.shape
    groups = n_outputs // value.shape[1]
    lanes, x, code = np.empty((n_slots, LANES), np.uint16), np.empty(LANES), np.empty(LANES, np.int32)
    codes, node = np.empty((size, n_slots), np.uint16), np.empty(TOGETHER, np.int64)
    infinite, block = False, take(team)
    while block < count_blocks(n, size):
        begin, end = rows_of(block, n, size)
        for first in range(begin, end, LANES):
            infinite |= code_rows(source, coder, first, x, code, lanes) | any_infinite(source, others, first, x)
            for v in range(LANES):
                for s in range(n_slots):
                    codes[first - begin + v, s] = lanes[s, v]
        for i in range(begin, end):
            for k in range(n_outputs):
                out[i, k] = start[k]
        for t in range(roots.shape[0]):
            for first in range(begin, end, TOGETHER):
                _walk(codes, first - begin, np.int64(roots[t]), nodes, category, bits, first_set, node)
                for j in range(min(TOGETHER, end - first)):
                    for k in range(value.shape[1]):
                        out[first + j, t % groups + k] += value[node[j], k]
        block = take(team)
    if infinite:
        seen[0] = 1
