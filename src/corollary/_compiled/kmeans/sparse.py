"""Kernels of k-means on compressed sparse rows: the rows are never made dense."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.team import count_blocks, meet, rows_of, share, take

UNIT = 2.0**-52
CLOSE = 1e-4  # squared distances below this share of the squared norms are worked out from differences


@inner_kernel
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


@inner_kernel
def nearest_sparse(start, stop, data, indices, indptr, scale, columns, half, squares, labels, score, row):
    """Nearest centre of each row, whose squared norms are ``squares``; the first of those at equal distance.

    ``columns`` is the transposed centres (d × k), so that each entry of a row meets the k centres in one stretch.
    Scores are half the squared distance less half the squared norm of the row; where rounding leaves open which is the
    least, differences decide. ``score`` and ``row`` are memory to work in, of k numbers and of d zeros.
    """
    k, longest = len(half), 0.0
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


@inner_kernel
def own_distances(start, stop, data, indices, indptr, scale, centres, half, squares, labels, distances, gap):
    """Squared distance of each row, of squared norm ``squares``, to the centre of its label.

    ‖x‖² − 2 x·c + ‖c‖² loses all digits where a row is close to its centre and far from zero: there the differences of
    all columns are squared, in ``gap``, memory for d numbers.
    """
    d = centres.shape[1]
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


@inner_kernel
def move_sparse(start, stop, data, indices, indptr, scale, weights, old, new, sums):
    """Take rows out of the sums of their old labels (none if negative) and add them to those of the new.

    Rows whose label stays are left alone. The last two columns of ``sums`` are as for dense rows.
    """
    d = sums.shape[1] - 2
    for i in range(start, stop):
        w, a, b = weights[i], old[i], new[i]
        if w == 0.0 or a == b:
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


@inner_kernel
def _add_moved(team, rank, entries, weights, old, new, few, parts, total):
    """Add what changed labels do to the sums: by parts, added up in their order, or at once if it is ``few``."""
    data, indices, indptr, scale = entries
    n, (k, width) = new.shape[0], total.shape
    if few:
        if rank == 0:
            move_sparse(0, n, data, indices, indptr, scale, weights, old, new, total)
        return
    size = count_blocks(n, parts.shape[0])
    part = take(team)
    while part < parts.shape[0]:
        a, b = rows_of(part, n, size)
        parts[part] = 0.0
        move_sparse(a, b, data, indices, indptr, scale, weights, old, new, parts[part])
        part = take(team)
    if not meet(team):
        return
    first, end = share(team, rank, width)
    for part in range(parts.shape[0]):
        for j in range(k):
            for c in range(first, end):
                total[j, c] += parts[part, j, c]


@lean_kernel
def assign_sparse(
    team, rank, size, entries, columns, half, squares, weights, labels, old, counts, scratch, parts, total
):
    """Give all rows the label of their nearest centre, and add what this changes to the sums, ``total``.

    ``counts`` has for each block of rows how many of them moved, and how many entries these have.
    """
    data, indices, indptr, scale = entries
    n, blocks = labels.shape[0], counts.shape[0]
    score, row = scratch[0][rank], scratch[1][rank]
    block = take(team)
    while block < blocks:
        a, b = rows_of(block, n, size)
        for i in range(a, b):
            old[i] = labels[i]
        nearest_sparse(a, b, data, indices, indptr, scale, columns, half, squares, labels, score, row)
        moved, heavy = 0, 0
        for i in range(a, b):
            if old[i] != labels[i]:
                moved += 1
                heavy += indptr[i + 1] - indptr[i]
        counts[block, 0], counts[block, 1] = moved, heavy
        block = take(team)
    if not meet(team):
        return
    entries_moved = 0
    for block in range(blocks):
        entries_moved += counts[block, 1]
    _add_moved(team, rank, entries, weights, old, labels, entries_moved < total.size, parts, total)


@lean_kernel
def review_sparse(
    team, rank, size, entries, centres, half, squares, weights, labels, none, distances, scratch, parts, total
):  # fmt: skip
    """Squared distances of all rows to the centres of their labels, and the sums of the clusters."""
    data, indices, indptr, scale = entries
    n, gap = labels.shape[0], scratch[rank]
    block = take(team)
    while block < count_blocks(n, size):
        a, b = rows_of(block, n, size)
        own_distances(a, b, data, indices, indptr, scale, centres, half, squares, labels, distances, gap)
        block = take(team)
    if meet(team):
        _add_moved(team, rank, entries, weights, none, labels, False, parts, total)
