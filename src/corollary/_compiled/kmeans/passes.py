"""Passes of k-means over dense rows by a team of threads; see ``dense.py`` for what is done with a row.

Rows are cut into parts, a grid fixed by the shape of the data. Each part has sums of its own, which are added up in the
order of the parts: so no answer depends on the number of threads.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.kmeans.dense import (
    gather,
    move_rows,
    nearest_exactly,
    nearest_in_tile,
    prepare_rows,
    review_rows,
    survey_rows,
    tighten,
    unsettled_rows,
)
from corollary._compiled.team import count_blocks, meet, rows_of, share, take

CROWD = 0.7  # share of unsettled rows at which all rows of a part are looked at


@kernel
def survey(team, rank, size, X, weights, sums, low, high):
    """:func:`survey_rows` of each part, into a row of its own."""
    n = X.shape[0]
    part = take(team)
    while part < count_blocks(n, size):
        a, b = rows_of(part, n, size)
        survey_rows(X[a:b], weights[a:b], sums[part], low[part], high[part])
        part = take(team)


@kernel
def prepare(team, rank, size, X, weights, shift, scale, single, norms, sums, totals):
    """:func:`prepare_rows` of each part."""
    n = X.shape[0]
    part = take(team)
    while part < count_blocks(n, size):
        a, b = rows_of(part, n, size)
        totals[part] = prepare_rows(X[a:b], weights[a:b], shift, scale, single[a:b], norms[a:b], sums[part])
        part = take(team)


@inner_kernel
def _add_touched(team, rank, parts, touched, total):
    """Add up the sums that parts have touched, in the order of the parts; threads share the clusters out."""
    first, end = share(team, rank, total.shape[0])
    for part in range(parts.shape[0]):
        for j in range(first, end):
            if touched[part, j]:
                for c in range(total.shape[1]):
                    total[j, c] += parts[part, j, c]


@inner_kernel
def _touch(sums, touched, label):
    """Clear the sums of a cluster the first time that a part comes to them."""
    if not touched[label]:
        touched[label] = True
        for c in range(sums.shape[1]):
            sums[label, c] = 0.0


@kernel
def review(team, rank, size, X, centres, scale, weights, labels, distances, parts, touched, total):
    """:func:`review_rows` of all parts, added to ``total``."""
    n = X.shape[0]
    part = take(team)
    while part < parts.shape[0]:
        a, b = rows_of(part, n, size)
        parts[part] = 0.0
        touched[part] = True
        review_rows(X[a:b], centres, scale, weights[a:b], labels[a:b], distances[a:b], parts[part])
        part = take(team)
    if meet(team):
        _add_touched(team, rank, parts, touched, total)


@inner_kernel
def _candidates(start, stop, fresh, single, table, labels, bounds, slack, loss, rows):
    """Write the rows of a part that may have to change to ``rows``, all of them if most may; returns their number."""
    upper, lower, grown, shrunk = bounds
    m = stop - start
    if not fresh:
        count = unsettled_rows(start, stop, labels, upper, lower, grown, shrunk, slack, rows)
        if count <= CROWD * m:  # else skipping the few others would cost more than it saves
            return tighten(rows[:count], single, table, labels, upper, lower, grown, shrunk, slack, loss)
    for r in range(m):
        rows[r] = start + r
    return m


@kernel
def _label(start, stop, fresh, rows, sieve, bounds, labels, doubtful, scratch):
    """Label the rows of a part by float32; those that it cannot decide go to ``doubtful``, their number is returned."""
    single, norms = rows
    table, half, group, slope, base, slack, loss = sieve
    upper, lower, grown, shrunk = bounds
    chosen, buffer, products, least, second, place = scratch
    k, tile, known = half.shape[0], buffer.shape[0], 0
    count = _candidates(start, stop, fresh, single, table, labels, bounds, slack, loss, chosen)
    for first in range(0, count, tile):
        m = min(tile, count - first)
        block = buffer[:m]
        if count == stop - start:
            block = single[start + first : start + first + m]
        else:
            gather(single, chosen[first : first + m], block)
        scores = products[: k * m].reshape(k, m)
        np.dot(table, block.T, scores)
        known = nearest_in_tile(
            scores, half, group, chosen[first : first + m], norms, slope, base, labels, upper, lower, grown, shrunk,
            slack, doubtful, known, least, second, place,
        )  # fmt: skip
    return known


@kernel
def assign(team, rank, size, fresh, rows, data, sieve, bounds, labels, old, doubtful, scratch, parts, touched, counts):
    """Give all rows the label of their nearest centre, and add what this changes to the sums.

    Labels are decided in float32 and, where that leaves doubts, in float64 from X. ``counts[part, 0]`` is how many rows
    were in doubt and ``counts[part, 1]`` how many have a new label; ``old`` keeps the labels before. ``data`` may have
    an X without rows: then doubts and sums are left to the caller, who finds the former at
    ``doubtful[start + part:]`` of each part.
    """
    X, weights, centres, shift, scale, total = data
    n = labels.shape[0]
    part = take(team)
    while part < parts.shape[0]:
        a, b = rows_of(part, n, size)
        for i in range(a, b):
            old[i] = labels[i]
        asked = doubtful[a + part :]
        own = scratch[0][rank], scratch[1][rank], scratch[2][rank], scratch[3][rank], scratch[4][rank], scratch[5][rank]
        known = _label(a, b, fresh, rows, sieve, bounds, labels, asked, own)
        counts[part, 0] = known
        if X.shape[0] > 0:
            for r in range(known):
                i = asked[r]
                nearest_exactly(X[i : i + 1], centres, scale, labels[i : i + 1])
            touched[part] = False
            counts[part, 1] = _move(a, b, X, weights, shift, scale, old, labels, parts[part], touched[part])
        part = take(team)
    if meet(team) and X.shape[0] > 0:
        _add_touched(team, rank, parts, touched, total)


@kernel
def _move(start, stop, X, weights, shift, scale, old, labels, sums, touched):
    """:func:`move_rows` of the rows of a part whose label has changed; returns their number."""
    moved = 0
    for i in range(start, stop):
        if labels[i] != old[i]:
            moved += 1
            if weights[i] != 0.0:
                if old[i] >= 0:
                    _touch(sums, touched, old[i])
                _touch(sums, touched, labels[i])
                move_rows(X[i : i + 1], shift, scale, weights[i : i + 1], old[i : i + 1], labels[i : i + 1], sums)
    return moved
