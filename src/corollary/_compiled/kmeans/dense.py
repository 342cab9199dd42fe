"""Kernels of exact k-means: screening in float32 with error bounds, bounds that skip rows, float64 where it matters.

Distances here are those of rows and centres that were moved by a common shift and scaled by a power of two. Centres
are taken in groups of ``size``: group g holds those from ``g * size`` on. For row i,
``upper[i] + grown[label]`` is at least the distance to its own centre and ``lower[i, g] - shrunk[g]`` at most the
distance to any other centre of group g, where ``grown`` and ``shrunk`` add up how far centres have moved since the
start: a row that is skipped is never written to.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_fast_kernel, inner_kernel, lean_kernel


@inner_kernel
def unsettled_rows(start, stop, labels, upper, lower, grown, shrunk, slack, rows):
    """Rows of the range whose bounds leave open whether they stay; their number is returned."""
    found = 0
    for i in range(start, stop):
        limit = upper[i] + grown[labels[i]] + slack
        stays = True
        for g in range(lower.shape[1]):
            stays &= limit < lower[i, g] - shrunk[g]
        rows[found] = i  # written always, kept if it counts: no branch to mispredict
        found += not stays
    return found


@inner_fast_kernel
def tighten(rows, X, centres, labels, upper, lower, grown, shrunk, slack, loss):
    """Measure the distance to the own centre; keep the rows that are still unsettled and return their number."""
    kept = 0
    for r in range(len(rows)):
        i = rows[r]
        own = labels[i]
        total = np.float32(0.0)
        for j in range(X.shape[1]):
            gap = X[i, j] - centres[own, j]
            total += gap * gap
        distance = np.sqrt(total) * loss + slack
        upper[i] = distance - grown[own]
        stays = True
        for g in range(lower.shape[1]):
            stays &= distance + slack < lower[i, g] - shrunk[g]
        rows[kept] = i
        kept += not stays
    return kept


@inner_kernel
def _two_least(products, half, first, last, m, least, second, place):
    """Least and second least score of each column over the centres of one group, and which centre has the least.

    A score is half the squared distance, less half the squared norm of the row.
    """
    for i in range(m):
        least[i], second[i], place[i] = np.float32(np.inf), np.float32(np.inf), np.int32(0)
    for j in range(first, last):
        h, number = half[j], np.int32(j)
        scores = products[j]
        for i in range(m):
            score, before, next_best = h - scores[i], least[i], second[i]
            worse = before if score < before else score
            place[i] = number if score < before else place[i]
            least[i] = score if score < before else before
            second[i] = worse if worse < next_best else next_best


@inner_kernel
def label_tile(products, half, start, m, norms, slope, base, labels, doubtful, known, best, rival, place):
    """Label the m rows from ``start`` on from the products of all centres with them, a row in each column.

    Rows whose two best centres differ by less than the error of float32, slope · norm + base, are appended to the
    ``known`` first entries of ``doubtful``; the new length is returned.
    """
    _two_least(products, half, 0, len(half), m, best, rival, place)
    two = np.float32(2.0)
    for r in range(m):
        labels[start + r] = place[r]
        doubtful[known] = start + r
        known += not rival[r] - best[r] > two * (slope * norms[start + r] + base)  # also if one is not a number
    return known


@inner_kernel
def nearest_in_tile(
    products, half, size, rows, norms, errors, labels, bounds, doubtful, known, least, second, places,
):  # fmt: skip
    """As ``label_tile`` for rows whose bounds are kept and renewed; column r belongs to row ``rows[r]``.

    ``errors`` are slope, base and the slack of bounds.
    """
    error_slope, error_base, slack, _ = errors
    upper, lower, grown, shrunk, _ = bounds
    k, m = len(half), len(rows)
    groups = (k + size - 1) // size
    best, rival, place = least[groups], second[groups], places[1]
    for i in range(m):
        best[i], rival[i], place[i] = np.float32(np.inf), np.float32(np.inf), np.int32(0)
    for g in range(groups):
        low, high, there = least[g], second[g], places[0]
        _two_least(products, half, g * size, min(k, (g + 1) * size), m, low, high, there)
        for i in range(m):
            score, before, second_best = low[i], best[i], rival[i]
            worse = before if score < before else score
            worse = high[i] if high[i] < worse else worse
            place[i] = there[i] if score < before else place[i]
            best[i] = score if score < before else before
            rival[i] = worse if worse < second_best else second_best
    two, zero = np.float32(2.0), np.float32(0.0)
    for r in range(m):
        i = rows[r]
        score, norm = best[r], norms[i]
        error = error_slope * norm + error_base
        label = place[r]
        labels[i] = label
        group = label // size
        sure = rival[r] - score > two * error  # false also if one of them is not a number
        doubtful[known] = i
        known += not sure
        square = norm * norm
        # for a row in doubt it is not known yet which centre is its own
        least[group, r] = second[group, r] if sure else score
        own = np.sqrt(max(zero, square + two * (score + error))) + slack - grown[label]
        upper[i] = own if sure else np.float32(np.inf)
        best[r] = square - two * error
    for g in range(groups):
        fallen = shrunk[g] - slack
        for r in range(m):
            least[g, r] = np.sqrt(max(zero, best[r] + two * least[g, r])) + fallen
    for r in range(m):
        i = rows[r]
        for g in range(groups):
            lower[i, g] = least[g, r]
    return known


@inner_fast_kernel
def _squared_distance(x, c, scale):
    total = 0.0
    for j in range(len(c)):
        gap = (x[j] - c[j]) * scale
        total += gap * gap
    return total


@inner_kernel
def label_exactly(rows, X, centres, scale, labels):
    """The nearest centre of some rows of X in float64; the first of those at equal distance."""
    for i in rows:
        best, winner = np.inf, 0
        for j in range(centres.shape[0]):
            distance = _squared_distance(X[i], centres[j], scale)
            if distance < best:
                best, winner = distance, j
        labels[i] = winner


@lean_kernel
def nearest_exactly(rows, X, centres, scale, labels):
    """``label_exactly``, for Python."""
    label_exactly(rows, X, centres, scale, labels)


@inner_kernel
def move(start, stop, X, shift, scale, weights, old, new, sums, touched):
    """Take rows out of the sums of their old labels (none if negative) and add them to those of the new.

    Rows whose label stays are left alone; the number of others is returned. Column d of ``sums`` holds the weight of
    each cluster, column d + 1 its number of rows of positive weight. The sums of a cluster that is not ``touched`` yet
    hold nothing of use, and are cleared first.
    """
    d, moved = X.shape[1], 0
    for i in range(start, stop):
        if old[i] == new[i]:
            continue
        moved += 1
        w = weights[i]
        for side in range(2):
            label, sign = (old[i], -1.0) if side == 0 else (new[i], 1.0)
            if w == 0.0 or label < 0:
                continue
            target = sums[label]
            if not touched[label]:
                touched[label] = True
                for j in range(d + 2):
                    target[j] = 0.0
            target[d] += sign * w
            target[d + 1] += sign
            for j in range(d):
                target[j] += sign * (w * ((X[i, j] - shift[j]) * scale))
    return moved


@lean_kernel
def move_rows(start, stop, X, shift, scale, weights, old, new, sums, touched):
    """``move``, for Python."""
    return move(start, stop, X, shift, scale, weights, old, new, sums, touched)
