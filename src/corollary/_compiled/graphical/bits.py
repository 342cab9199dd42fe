"""All pairwise tables of discrete columns at once, by counting bits.

Every state of every column has a row of bits, one for each row of the data: 64 rows are compared at a time. A cell of a
table is the number of bits that two states share; the last row and the last column of a table follow from the counts of
single states where nothing is missing.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import count_bits, inner_kernel, lean_kernel
from corollary._compiled.team import share, take

WORDS = 2048  # 16 KiB of bits: those of two states stay in the fastest cache


@lean_kernel
def pack_states(team, rank, codes, first, bits, counts):
    """Set the bits of the states of each column, and count them; the states of column j are rows ``first[j]`` … ."""
    n = codes.shape[1]
    j = take(team)
    while j < codes.shape[0]:
        column = codes[j]
        for i in range(n):
            state = np.int64(column[i])
            if state >= 0:
                bits[first[j] + state, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
        for s in range(first[j], first[j + 1]):
            total = np.int64(0)
            for w in range(bits.shape[1]):
                total += count_bits(bits[s, w])
            counts[s] = total
        j = take(team)


@inner_kernel
def _shared(one, two, begin, end):
    total = np.int64(0)
    for w in range(begin, end):
        total += count_bits(one[w] & two[w])
    return total


@inner_kernel
def _complete(table, start, rows, columns, counts, i, j):
    """The last column and row of a table whose margins are known."""
    for a in range(rows - 1):
        rest = counts[i + a]
        for b in range(columns - 1):
            rest -= table[start + a * columns + b]
        table[start + a * columns + columns - 1] = rest
    for b in range(columns):
        rest = counts[j + b]
        for a in range(rows - 1):
            rest -= table[start + a * columns + b]
        table[start + (rows - 1) * columns + b] = rest


@lean_kernel
def count_pairs(team, rank, bits, first, counts, left, right, offsets, complete, out):
    """Table p of the columns ``left[p]`` and ``right[p]`` at ``offsets[p]`` of ``out``, which must be zero.

    ``complete`` is 1 where no value of any column is missing.
    """
    begin, end = share(team, rank, left.shape[0])
    words = bits.shape[1]
    for low in range(0, words, WORDS):
        high = min(words, low + WORDS)
        for p in range(begin, end):
            i, j = first[left[p]], first[right[p]]
            rows, columns = first[left[p] + 1] - i, first[right[p] + 1] - j
            for a in range(rows - complete):
                for b in range(columns - complete):
                    out[offsets[p] + a * columns + b] += _shared(bits[i + a], bits[j + b], low, high)
    if complete:
        for p in range(begin, end):
            i, j = first[left[p]], first[right[p]]
            _complete(out, offsets[p], first[left[p] + 1] - i, first[right[p] + 1] - j, counts, i, j)
