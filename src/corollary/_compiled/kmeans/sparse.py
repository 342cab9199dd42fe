"""Kernels of k-means on compressed sparse rows: the rows are never made dense."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import kernel


@kernel
def nearest_sparse(start, stop, data, indices, indptr, scale, columns, half, labels, scores):
    """Nearest centre of each row, and half its squared distance less half the squared norm of the row.

    ``columns`` is the transposed centres (d × k), so that each entry of a row meets the k centres in one stretch.
    """
    k = len(half)
    score = np.empty(k)
    for i in range(start, stop):
        for j in range(k):
            score[j] = half[j]
        for p in range(indptr[i], indptr[i + 1]):
            value, column = data[p] * scale, columns[indices[p]]
            for j in range(k):
                score[j] -= value * column[j]
        winner = 0
        for j in range(1, k):
            if score[j] < score[winner]:
                winner = j
        labels[i] = winner
        scores[i] = score[winner]


@kernel
def own_scores(start, stop, data, indices, indptr, scale, centres, half, labels, scores):
    """Half the squared distance to the centre of each row's label, less half the squared norm of the row."""
    for i in range(start, stop):
        own = labels[i]
        total = half[own]
        for p in range(indptr[i], indptr[i + 1]):
            total -= data[p] * scale * centres[own, indices[p]]
        scores[i] = total


@kernel
def move_sparse(rows, data, indices, indptr, scale, weights, old, new, sums):
    """Take rows out of the sums of their old labels (none if negative) and add them to those of the new.

    ``old`` belongs to ``rows`` and ``new`` to all of X. The last two columns of ``sums`` are as for dense rows.
    """
    d = sums.shape[1] - 2
    for r in range(len(rows)):
        i = rows[r]
        w, a, b = weights[i], old[r], new[i]
        if w == 0.0:
            continue
        if a >= 0:
            sums[a, d] -= w
            sums[a, d + 1] -= 1.0
        sums[b, d] += w
        sums[b, d + 1] += 1.0
        for p in range(indptr[i], indptr[i + 1]):
            value = w * data[p] * scale
            if a >= 0:
                sums[a, indices[p]] -= value
            sums[b, indices[p]] += value
