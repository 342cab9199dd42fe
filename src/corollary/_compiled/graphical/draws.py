"""Rows drawn from a network of tables, parents before children, and what they are worth."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import lean_kernel
from corollary._compiled.mixing import GOLDEN, mix, unit


@lean_kernel
def draw_rows(first, seed, scope_starts, scope, strides, table_starts, cumulative, columns, rows):
    """Fill rows with states, factor j those of columns[j]; ``scope`` has the columns of parents, then the own one.

    Row i is number first + i of all, and depends on that number and the seed alone.
    """
    m = columns.shape[0]
    for i in range(rows.shape[0]):
        z = mix(seed + GOLDEN * np.uint64(first + i + 1))
        for j in range(m):
            at = table_starts[j]
            for k in range(scope_starts[j], scope_starts[j + 1] - 1):
                at += rows[i, scope[k]] * strides[k]
            z += GOLDEN
            level = unit(mix(z))
            state = 0
            while level >= cumulative[at + state]:
                state += 1
            rows[i, columns[j]] = state


@lean_kernel
def add_logs(begin, end, scope_starts, scope, strides, table_starts, logs, rows, totals):
    """Add to totals (n,) the logarithms of the entries that factors begin … end − 1 have for each row."""
    for i in range(rows.shape[0]):
        total = totals[i]
        for f in range(begin, end):
            at = table_starts[f]
            for k in range(scope_starts[f], scope_starts[f + 1]):
                at += rows[i, scope[k]] * strides[k]
            total += logs[at]
        totals[i] = total


@lean_kernel
def tally(rows, weights, offsets, sums, squares):
    """Add each row's weight, and its square, to the entries of the states it has: offsets[j] + state of variable j."""
    n, m = rows.shape
    for i in range(n):
        weight = weights[i]
        square = weight * weight
        for j in range(m):
            at = offsets[j] + rows[i, j]
            sums[at] += weight
            squares[at] += square
