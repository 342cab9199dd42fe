"""Kernels of k-means on compressed sparse rows: the rows are never made dense."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import kernel

UNIT = 2.0**-52
CLOSE = 1e-4  # squared distances below this share of the squared norms are worked out from differences


@kernel
def _nearest_by_differences(row, columns, score, limit):
    """The nearest (the first of ties) of the centres with scores up to ``limit``, by differences of all columns."""
    best, winner = np.inf, 0
    for j in range(len(score)):
        if score[j] <= limit:
            total = 0.0
            for c in range(len(row)):
                gap = row[c] - columns[c, j]
                total += gap * gap
            if total < best:
                best, winner = total, j
    return winner


@kernel
def nearest_sparse(start, stop, data, indices, indptr, scale, columns, half, squares, labels):
    """Nearest centre of each row, whose squared norms are ``squares``; the first of those at equal distance.

    ``columns`` is the transposed centres (d × k), so that each entry of a row meets the k centres in one stretch.
    Scores are half the squared distance less half the squared norm of the row; where rounding leaves open which is the
    least, differences decide.
    """
    k = len(half)
    score, row, longest = np.empty(k), np.zeros(columns.shape[0]), 0.0
    for j in range(k):
        longest = max(longest, half[j])
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
        limit = score[winner] + UNIT * (indptr[i + 1] - indptr[i] + 8) * (squares[i] + 2.0 * longest)
        close = 0
        for j in range(k):
            close += score[j] <= limit
        if close > 1:
            for p in range(indptr[i], indptr[i + 1]):
                row[indices[p]] += data[p] * scale
            winner = _nearest_by_differences(row, columns, score, limit)
            for p in range(indptr[i], indptr[i + 1]):
                row[indices[p]] = 0.0
        labels[i] = winner


@kernel
def own_distances(start, stop, data, indices, indptr, scale, centres, half, squares, labels, distances):
    """Squared distance of each row, of squared norm ``squares``, to the centre of its label.

    ‖x‖² − 2 x·c + ‖c‖² loses all digits where a row is close to its centre and far from zero: there the differences of
    all columns are squared.
    """
    d = centres.shape[1]
    gap = np.empty(d)
    for i in range(start, stop):
        own = labels[i]
        score = half[own]
        for p in range(indptr[i], indptr[i + 1]):
            score -= data[p] * scale * centres[own, indices[p]]
        total = squares[i] + 2.0 * score
        if not total > CLOSE * (squares[i] + half[own]):
            for j in range(d):
                gap[j] = centres[own, j]
            for p in range(indptr[i], indptr[i + 1]):
                gap[indices[p]] -= data[p] * scale
            total = 0.0
            for j in range(d):
                total += gap[j] * gap[j]
        distances[i] = total


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
