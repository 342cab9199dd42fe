"""Counts of discrete columns: tables of families of columns, and of one column beside each of others.

Codes come as a (d, n) array with a column of the data in each row: small state numbers, −1 where a value is missing.
Rows of the data with a missing value among the columns of a table are left out of that table. Without weights (an empty
array) each row counts one. Threads share out tables, never rows: every sum is of the same numbers in the same order
whoever adds them up.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.team import take

CHUNK = 1024  # rows whose places in a table are worked out before they are counted
LANES = 4  # tables that rows take turns with, so that none waits for the sum of the row before


@inner_kernel
def _find(codes, first, count, members, strides, begin, end, places):
    """The place of each row in a table, −1 where a value is missing; whether any is."""
    least = np.int16(0)
    for m in range(begin, end):
        column, stride = codes[members[m], first : first + count], np.int32(strides[m])
        low = np.int32(0)
        for r in range(count):
            state = np.int32(column[r])
            low = min(low, state)
            places[r] = state * stride if m == begin else places[r] + state * stride
        least = min(least, np.int16(low))
    if least >= 0:
        return False
    for m in range(begin, end):
        column = codes[members[m], first : first + count]
        for r in range(count):
            places[r] = np.int32(-1) if column[r] < 0 else places[r]
    return True


@inner_kernel
def _tally(places, count, lanes):
    """Count rows without gaps, in turn in each of the tables."""
    whole = count - count % LANES
    for r in range(0, whole, LANES):
        lanes[0, places[r]] += 1
        lanes[1, places[r + 1]] += 1
        lanes[2, places[r + 2]] += 1
        lanes[3, places[r + 3]] += 1
    for r in range(whole, count):
        lanes[0, places[r]] += 1


@inner_kernel
def _scatter(places, first, count, weights, table):
    """Add the weights of the rows ``first`` … to the table; a negative place is none."""
    weighted = weights.shape[0] > 0
    for r in range(count):
        if places[r] >= 0:
            table[places[r]] += weights[first + r] if weighted else 1.0


@lean_kernel
def count_families(team, rank, codes, weights, members, starts, strides, offsets, desks, lanes, out):
    """Table f of the columns ``members[starts[f]:starts[f + 1]]``, at ``offsets[f]`` of ``out``, which must be zero.

    A cell's place is Σ stride · state. ``desks`` has a row of ``CHUNK`` numbers for each family, and ``lanes``, which
    must be zero, ``LANES`` rows as long as ``out``, or none.
    """
    n = codes.shape[1]
    f = take(team)
    while f < offsets.shape[0] - 1:
        places, table = desks[f], out[offsets[f] : offsets[f + 1]]
        quick = lanes.shape[1] > 0 and weights.shape[0] == 0
        for first in range(0, n, CHUNK):
            count = min(CHUNK, n - first)
            gaps = _find(codes, first, count, members, strides, starts[f], starts[f + 1], places)
            if quick and not gaps:
                _tally(places, count, lanes[:, offsets[f] : offsets[f + 1]])
            else:
                _scatter(places, first, count, weights, table)
        if quick:
            for lane in range(LANES):
                for place in range(table.shape[0]):
                    table[place] += lanes[lane, offsets[f] + place]
        f = take(team)


@lean_kernel
def count_beside(team, rank, base, codes, weights, columns, cards, offsets, out):
    """For each of ``columns`` the table of (base, column), at ``offsets`` of ``out``, which must be zero.

    ``base`` is a number for each row, from 0 on; −1 leaves the row out.
    """
    n = codes.shape[1]
    t = take(team)
    while t < columns.shape[0]:
        column, card, start = codes[columns[t]], np.int64(cards[t]), offsets[t]
        weighted = weights.shape[0] > 0
        for i in range(n):
            state = np.int64(column[i])
            if state >= 0 and base[i] >= 0:
                out[start + base[i] * card + state] += weights[i] if weighted else 1.0
        t = take(team)
