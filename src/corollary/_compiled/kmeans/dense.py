"""Kernels of exact k-means: screening in float32 with error bounds, bounds that skip rows, float64 where it matters.

Distances here are those of rows and centres that were moved by a common shift and scaled by a power of two. Centres
are taken in groups of ``size``: group g holds those from ``g * size`` on. For row i,
``upper[i] + grown[label]`` is at least the distance to its own centre and ``lower[i, g] - shrunk[g]`` at most the
distance to any other centre of group g, where ``grown`` and ``shrunk`` add up how far centres have moved since the
start: a row that is skipped is never written to.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel, kernel


@fast_kernel
def survey_rows(X, weights, sums, low, high):
    """Add Σ weight · x of each column, and widen low … high to its values."""
    for i in range(X.shape[0]):
        w = weights[i]
        for j in range(X.shape[1]):
            x = X[i, j]
            sums[j] += w * x
            low[j] = x if x < low[j] else low[j]
            high[j] = x if x > high[j] else high[j]


@fast_kernel
def prepare_rows(X, weights, shift, scale, single, norms, sums):
    """Write (x − shift) · scale in float32, and its norms; add its weighted sums; returns Σ weight · norm²."""
    total = 0.0
    for i in range(X.shape[0]):
        w, square = weights[i], 0.0
        for j in range(X.shape[1]):
            z = (X[i, j] - shift[j]) * scale
            single[i, j] = z
            square += z * z
            sums[j] += w * z
        norms[i] = np.sqrt(square)
        total += w * square
    return total


@kernel
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


@fast_kernel
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


@kernel
def gather(X, rows, out):
    """Copy the given rows of X."""
    for r in range(len(rows)):
        i = rows[r]
        for j in range(X.shape[1]):
            out[r, j] = X[i, j]


@kernel
def _two_least(products, half, first, last, m, least, second):
    """Least and second least score of each column over the centres of one group.

    A score is half the squared distance, less half the squared norm of the row. Four centres at a time, with nothing
    but minima and maxima, is what compilers turn into vector instructions.
    """
    for i in range(m):
        least[i] = np.float32(np.inf)
        second[i] = np.float32(np.inf)
    j = first
    while j + 4 <= last:
        h0, h1, h2, h3 = half[j], half[j + 1], half[j + 2], half[j + 3]
        for i in range(m):
            s0, s1 = h0 - products[j, i], h1 - products[j + 1, i]
            s2, s3 = h2 - products[j + 2, i], h3 - products[j + 3, i]
            low01, low23 = min(s0, s1), min(s2, s3)
            low = min(low01, low23)
            next_low = min(max(low01, low23), min(max(s0, s1), max(s2, s3)))
            before = least[i]
            least[i] = min(before, low)
            second[i] = min(min(second[i], next_low), max(before, low))
        j += 4
    while j < last:
        h = half[j]
        for i in range(m):
            s = h - products[j, i]
            before = least[i]
            least[i] = min(before, s)
            second[i] = min(second[i], max(before, s))
        j += 1


@kernel
def _where(products, half, best, rows, labels, place):
    """Which centre has the best score of each column: found afterwards, which is quicker than carrying it along."""
    k, m = len(half), len(rows)
    for i in range(m):
        place[i] = np.int32(0)
    j = 0
    while j + 4 <= k:
        h0, h1, h2, h3 = half[j], half[j + 1], half[j + 2], half[j + 3]
        j0, j1, j2, j3 = np.int32(j), np.int32(j + 1), np.int32(j + 2), np.int32(j + 3)
        for i in range(m):
            score, found = best[i], place[i]
            found = j0 if h0 - products[j, i] == score else found
            found = j1 if h1 - products[j + 1, i] == score else found
            found = j2 if h2 - products[j + 2, i] == score else found
            found = j3 if h3 - products[j + 3, i] == score else found
            place[i] = found
        j += 4
    while j < k:
        h, number = half[j], np.int32(j)
        for i in range(m):
            place[i] = number if h - products[j, i] == best[i] else place[i]
        j += 1
    for i in range(m):
        labels[rows[i]] = place[i]


@kernel
def nearest_in_tile(
    products, half, size, rows, norms, error_slope, error_base, labels, upper, lower, grown, shrunk, slack,
    doubtful, known, least, second, place,
):  # fmt: skip
    """Label the rows of a tile from the products of all centres with them, and renew their bounds.

    Column r belongs to row ``rows[r]``. Rows whose two best centres differ by less than the error of float32 are
    appended to the ``known`` first entries of ``doubtful``; the new length is returned. ``lower`` may have no
    columns: then no bounds are kept.
    """
    k, m = len(half), len(rows)
    groups = (k + size - 1) // size
    best, rival = least[groups], second[groups]
    for i in range(m):
        best[i] = np.float32(np.inf)
        rival[i] = np.float32(np.inf)
    for g in range(groups):
        _two_least(products, half, g * size, min(k, (g + 1) * size), m, least[g], second[g])
        for i in range(m):
            low, before = least[g, i], best[i]
            best[i] = min(before, low)
            rival[i] = min(min(rival[i], second[g, i]), max(before, low))
    _where(products, half, best, rows, labels, place)
    bounded = lower.shape[1] > 0
    two, zero = np.float32(2.0), np.float32(0.0)
    for r in range(m):
        i = rows[r]
        score, norm = best[r], norms[i]
        error = error_slope * norm + error_base
        label = labels[i]
        group = label // size
        sure = rival[r] - score > two * error  # false also if one of them is not a number
        doubtful[known] = i
        known += not sure
        if bounded:
            square = norm * norm
            # for a row in doubt it is not known yet which centre is its own
            least[group, r] = second[group, r] if sure else score
            own = np.sqrt(max(zero, square + two * (score + error))) + slack - grown[label]
            upper[i] = own if sure else np.float32(np.inf)
            best[r] = square - two * error
    if bounded:
        for g in range(groups):
            fallen = shrunk[g] - slack
            for r in range(m):
                least[g, r] = np.sqrt(max(zero, best[r] + two * least[g, r])) + fallen
        for r in range(m):
            i = rows[r]
            for g in range(groups):
                lower[i, g] = least[g, r]
    return known


@fast_kernel
def _squared_distance(x, c, scale):
    total = 0.0
    for j in range(len(c)):
        gap = (x[j] - c[j]) * scale
        total += gap * gap
    return total


@kernel
def nearest_exactly(X, centres, scale, labels):
    """The nearest centre of each row of X in float64; the first of those at equal distance."""
    for i in range(X.shape[0]):
        best, winner = np.inf, 0
        for j in range(centres.shape[0]):
            distance = _squared_distance(X[i], centres[j], scale)
            if distance < best:
                best, winner = distance, j
        labels[i] = winner


@kernel
def review_rows(X, centres, scale, weights, labels, distances, sums):
    """Squared distance of each row to the centre c of its label; its weight · (x − c) · scale is added to the sums.

    About their own centre nothing is lost, wherever the data lie. The last two columns are as in :func:`move_rows`.
    """
    d = X.shape[1]
    for i in range(X.shape[0]):
        w, own, total = weights[i], labels[i], 0.0
        for j in range(d):
            gap = (X[i, j] - centres[own, j]) * scale
            total += gap * gap
            sums[own, j] += w * gap
        distances[i] = total
        sums[own, d] += w
        sums[own, d + 1] += 1.0 if w > 0.0 else 0.0


@kernel
def move_rows(X, shift, scale, weights, old, new, sums):
    """Take the rows of X out of the sums of their old labels (none if negative) and add them to those of the new.

    Column d of ``sums`` holds the weight of each cluster, column d + 1 its number of rows of positive weight.
    """
    d = X.shape[1]
    for i in range(X.shape[0]):
        w, a, b = weights[i], old[i], new[i]
        if w == 0.0:
            continue
        if a >= 0:
            sums[a, d] -= w
            sums[a, d + 1] -= 1.0
            for j in range(d):
                sums[a, j] -= w * ((X[i, j] - shift[j]) * scale)
        sums[b, d] += w
        sums[b, d + 1] += 1.0
        for j in range(d):
            sums[b, j] += w * ((X[i, j] - shift[j]) * scale)
