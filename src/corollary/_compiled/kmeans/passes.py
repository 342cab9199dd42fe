"""Passes of k-means over dense rows by a team of threads.

Rows are cut into parts, a grid fixed by the shape of the data. Each part has sums of its own, which are added up in the
order of the parts: so no answer depends on the number of threads.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel, inner_kernel, lean_kernel
from corollary._compiled.team import count_blocks, meet, rows_of, share, take


@fast_kernel
def survey(team, rank, size, X, weights, sums, low, high):
    """Add Σ weight · x of each column, and widen low … high to its values, in a row for each part."""
    n = X.shape[0]
    part = take(team)
    while part < count_blocks(n, size):
        a, b = rows_of(part, n, size)
        total, least, most = sums[part], low[part], high[part]
        for i in range(a, b):
            w = weights[i]
            for j in range(X.shape[1]):
                x = X[i, j]
                total[j] += w * x
                least[j] = x if x < least[j] else least[j]
                most[j] = x if x > most[j] else most[j]
        part = take(team)


@fast_kernel
def prepare(team, rank, size, X, weights, shift, scale, factors, single, norms, keys, sums, totals):
    """Write (x − shift) · scale in float32, its norms and products with the factors.

    For each part its weighted sums, and Σ weight · norm².
    """
    n = X.shape[0]
    part = take(team)
    while part < count_blocks(n, size):
        a, b = rows_of(part, n, size)
        own = sums[part]
        for i in range(a, b):
            w, square, key = weights[i], 0.0, 0.0
            for j in range(X.shape[1]):
                z = (X[i, j] - shift[j]) * scale
                single[i, j] = z
                square += z * z
                key += z * factors[j]
                own[j] += w * z
            norms[i], keys[i] = np.sqrt(square), key
            totals[part] += w * square
        part = take(team)


@inner_kernel
def add_touched(first, end, parts, touched, total):
    """Add up the sums of some clusters that parts have touched, in the order of the parts."""
    for part in range(parts.shape[0]):
        for j in range(first, end):
            if touched[part, j]:
                for c in range(total.shape[1]):
                    total[j, c] += parts[part, j, c]


@lean_kernel
def review(team, rank, size, X, centres, scale, weights, labels, distances, parts, touched, total):
    """Squared distance of each row to the centre c of its label; its weight · (x − c) · scale is added to the sums.

    About their own centre nothing is lost, wherever the data lie. The last two columns are as in ``move_rows``.
    """
    n, d = X.shape
    part = take(team)
    while part < parts.shape[0]:
        a, b = rows_of(part, n, size)
        for own in range(total.shape[0]):
            touched[part, own] = True
            for j in range(d + 2):
                parts[part, own, j] = 0.0
        for i in range(a, b):
            w, own, square = weights[i], labels[i], 0.0
            target = parts[part, own]
            for j in range(d):
                gap = (X[i, j] - centres[own, j]) * scale
                square += gap * gap
                target[j] += w * gap
            distances[i] = square
            target[d] += w
            target[d + 1] += 1.0 if w > 0.0 else 0.0
        part = take(team)
    if meet(team):
        first, end = share(team, rank, total.shape[0])
        add_touched(first, end, parts, touched, total)
