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


@inner_kernel
def _scatter(places, first, count, weights, base, out):
    """Add the rows ``first`` … to the cells ``base + place``; a negative place is none."""
    if weights.shape[0]:
        for r in range(count):
            if places[r] >= 0:
                out[base + places[r]] += weights[first + r]
    else:
        for r in range(count):
            if places[r] >= 0:
                out[base + places[r]] += 1.0


@lean_kernel
def count_families(team, rank, codes, weights, members, starts, strides, offsets, desks, out):
    """Table f of the columns ``members[starts[f]:starts[f + 1]]``, at ``offsets[f]`` of ``out``, which must be zero.

    A cell's place is Σ stride · state. ``desks`` has a row of ``CHUNK`` numbers for each family.
    """
    n = codes.shape[1]
    f = take(team)
    while f < offsets.shape[0]:
        places = desks[f]
        for first in range(0, n, CHUNK):
            count = min(CHUNK, n - first)
            for r in range(count):
                places[r] = 0
            for m in range(starts[f], starts[f + 1]):
                column, stride = codes[members[m]], strides[m]
                for r in range(count):
                    state = np.int64(column[first + r])
                    # a place below zero stays there: no stride is as long as what is taken off
                    places[r] += state * stride if state >= 0 else -(np.int64(1) << 56)
            _scatter(places, first, count, weights, offsets[f], out)
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
