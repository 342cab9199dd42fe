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
def sparse_products(data, indices, indptr, numbers, out):
    """x · numbers of each row."""
    for i in range(out.shape[0]):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * numbers[np.uintp(indices[p])]
        out[i] = total


@lean_kernel
def sparse_scores(data, indices, indptr, columns, offsets, out):
    """offset + x · coefficients of each row and class; ``columns`` has the coefficients of all classes by column.

    Four entries at a time: a quarter of the traffic to ``out``.
    """
    n, k_all = out.shape
    for i in range(n):
        row, first, end = out[i], indptr[i], indptr[i + 1]
        for k in range(k_all):
            row[k] = offsets[k]
        fours = first + (end - first) // 4 * 4
        for p in range(first, fours, 4):
            s, t, u, v = data[p], data[p + 1], data[p + 2], data[p + 3]
            one, two = columns[np.uintp(indices[p])], columns[np.uintp(indices[p + 1])]
            three, four = columns[np.uintp(indices[p + 2])], columns[np.uintp(indices[p + 3])]
            for k in range(k_all):
                row[k] += (s * one[k] + t * two[k]) + (u * three[k] + v * four[k])
        for p in range(fours, end):
            value, one = data[p], columns[np.uintp(indices[p])]
            for k in range(k_all):
                row[k] += value * one[k]


@lean_kernel
def sparse_scores_with_never(data, indices, indptr, columns, offsets, out):
    """As ``sparse_scores`` with coefficients of minus infinity: nothing times these is nothing."""
    n, k_all = out.shape
    for i in range(n):
        for k in range(k_all):
            out[i, k] = offsets[k]
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            if value != 0.0:
                for k in range(k_all):
                    out[i, k] += value * columns[indices[p], k]
