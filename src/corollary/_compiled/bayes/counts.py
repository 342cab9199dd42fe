"""Counts by class: sums of dense and of compressed sparse rows, which are never made dense.

A row of a negative class (not known) or without weight is left out. ``indptr`` may be that of some rows only, of all
the ``data`` and ``indices`` there are.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import lean_kernel


@lean_kernel
def class_sums(X, codes, weights, sums):
    """Add w x of all rows to the sums of their classes."""
    n, d = X.shape
    for i in range(n):
        c, w = codes[i], weights[i]
        if c < 0 or w == 0.0:
            continue
        for j in range(d):
            sums[c, j] += w * X[i, j]


@lean_kernel
def sparse_class_sums(data, indices, indptr, codes, weights, sums):
    """As ``class_sums`` for compressed sparse rows."""
    for i in range(codes.shape[0]):
        c, w = codes[i], weights[i]
        if c < 0 or w == 0.0:
            continue
        own = sums[c]
        for p in range(indptr[i], indptr[i + 1]):
            own[np.uintp(indices[p])] += w * data[p]


@lean_kernel
def sparse_row_totals(data, indptr, out):
    """Σ x of each row."""
    for i in range(out.shape[0]):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p]
        out[i] = total


@lean_kernel
def sparse_scores(data, indices, indptr, columns, offsets, out):
    """offset + x · coefficients of each row and class; ``columns`` has the coefficients of all classes by column.

    Nothing times minus infinity is nothing.
    """
    n, k_all = out.shape
    for i in range(n):
        for k in range(k_all):
            out[i, k] = offsets[k]
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            if value != 0.0:
                column = columns[np.uintp(indices[p])]
                for k in range(k_all):
                    out[i, k] += value * column[k]
