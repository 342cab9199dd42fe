"""The best split of a node of a forest's tree: sums over the bins that occur, and where to cut them.

A row counts with its mass (how often it was drawn, times its weight). Its sums are mass · y for regression, y being
centred and scaled, and its mass for the second of two classes; for more classes its label says which sum its mass is
added to. How pure a node is depends on those sums S and on the mass W alone: ΣS²/W for Gini and squares, Σ S ln S −
W ln W for entropy, (S + W) ln(1 + S/W) for Poisson, where y is in units of its mean. For two classes drawn with whole
counts, S, W and the number of rows are fields of one integer.

Numba compiles a function again within each of its callers, and pays for every array that it is given: so there are few
arrays, few functions, and they are not nested deeply. What only some forests need is None in others, and Numba leaves
out what would use it: ``edges``, float64 (2, columns, ·), the upper ends and the means of bins, for cuts drawn at
random; ``bits``, uint32 (categorical nodes, words), the categories that go left.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import kernel
from corollary._compiled.forest_layout import (
    BEST,
    BINS,
    CATEGORICAL,
    CHOSEN,
    CONSTRAINED,
    CRITERION,
    CUT,
    DEPTH,
    FEATURE,
    FEATURES,
    FOUND,
    GAIN,
    KIND,
    LABELS,
    LEFT,
    MASS_SHIFT,
    MAX_DEPTH,
    MAX_FEATURES,
    MIN_GAIN,
    MIN_LEAF,
    MIN_MASS,
    MIN_SPLIT,
    MISSING_LEFT,
    MONOTONE,
    NATURAL,
    NEXT,
    NOW,
    ORDER,
    ROWS_OF_BITS,
    SQUARES,
    START,
    STOP,
    SUM_SHIFT,
    TOTALS,
)
from corollary._compiled.forest_random import draw_categories, draw_cut, is_better
from corollary._compiled.forest_sums import allowed, gather, next_bits, side_score


@kernel
def _scan(which, count, first, node, direction, rules, best, scratch):
    """Best place to cut the bins whole[which, :count] in two; ``first`` is a bin that is left throughout, or −1.

    Returns (purity, position in the order of the last bin on the left), the position −1 unless ``best`` was beaten.
    """
    real, order, total = scratch.real, scratch.whole[which], node[TOTALS:]
    c, width = real.shape[1] - 3, scratch.narrow.shape[0] - 2
    criterion, min_leaf, min_mass = np.int64(rules[CRITERION]), rules[MIN_LEAF], max(rules[MIN_MASS], 1e-300)
    constrained = rules[CONSTRAINED] > 0.0
    left, kept = real[NOW], real[BEST]
    position = np.int64(-1)
    for j in range(c + 2):
        left[j] = real[width + first, j] if first >= 0 else 0.0
    if c == 1 and criterion == SQUARES and not constrained:  # where the time goes: in registers, one division a cut
        s, w, n = left[0], left[1], left[2]
        total_s, total_w, total_n = total[0], total[1], total[2]
        for k in range(count):
            b = width + order[k]
            s += real[b, 0]
            w += real[b, 1]
            n += real[b, 2]
            r, v = total_s - s, total_w - w
            if n < min_leaf or w < min_mass:
                continue
            if total_n - n < min_leaf or v < min_mass:
                break
            score = (s * s * v + r * r * w) / (w * v)
            if score > best:
                best, position = score, np.int64(k)
                kept[0], kept[1], kept[2] = s, w, n
        return best, position
    for k in range(count):
        b = width + order[k]
        for j in range(c + 2):
            left[j] += real[b, j]
        if left[c + 1] < min_leaf or left[c] < min_mass:
            continue
        if total[c + 1] - left[c + 1] < min_leaf or total[c] - left[c] < min_mass:
            break
        score = side_score(left, total, False, criterion) + side_score(left, total, True, criterion)
        if score > best and not (constrained and not allowed(left, node, direction)):
            best, position = score, np.int64(k)
            for j in range(c + 2):
                kept[j] = left[j]
    return best, position


@kernel
def _category_cut(node, q, n_bins, rules, best, scratch):
    """Order the categories by their mean response, of each class in turn, and cut the order in two.

    Returns the purity, and 1 or 0 for the side of missing values if ``best`` was beaten, else −1.
    """
    real, whole = scratch.real, scratch.whole
    c, width, key = real.shape[1] - 3, scratch.narrow.shape[0] - 2, real.shape[1] - 1
    side = np.int64(-1)
    for j in range(c if c <= 16 else 1):
        by = j
        if c > 16:  # too many classes to try each: the most frequent one
            for i in range(c):
                by = i if node[TOTALS + i] > node[TOTALS + by] else by
        for b in range(q):
            real[width + b, key] = real[width + b, by] / real[width + b, c]
            whole[ORDER, b] = b
        gap = q
        while gap > 1:  # a shell sort
            gap = max(1, gap * 5 // 11)
            for b in range(gap, q):
                mean, place, at = real[width + b, key], whole[ORDER, b], b
                while at >= gap and real[width + at - gap, key] > mean:
                    real[width + at, key] = real[width + at - gap, key]
                    whole[ORDER, at] = whole[ORDER, at - gap]
                    at -= gap
                real[width + at, key] = mean
                whole[ORDER, at] = place
        score, k = _scan(np.int64(ORDER), q - 1, np.int64(-1), node, np.int64(0), rules, best, scratch)
        if k < 0:
            continue
        best = score
        heavy = 1 if 2.0 * real[BEST, c] > node[TOTALS + c] else 0
        for b in range(n_bins + 1):  # categories that do not occur here follow the many
            whole[CHOSEN, b] = heavy
        for i in range(q):
            whole[CHOSEN, whole[FOUND, whole[ORDER, i]]] = 1 if i <= k else 0
        side = np.int64(whole[CHOSEN, n_bins])
    return best, side


@kernel
def _is_pure(data, start, stop, rules, node):
    """Whether all targets are the same."""
    total, rows, values = node[TOTALS:], data.rows[0], data.values
    c = total.shape[0] - 2
    if np.int64(rules[KIND]) == LABELS or values.shape[1] <= c + 1:  # classes
        first = 0
        while first < c - 1 and total[first] <= 0.0:
            first += 1
        return total[first] >= total[c] or (c == 1 and total[0] <= 0.0)
    for k in range(start + 1, stop):
        for j in range(c + 1, values.shape[1]):
            if values[np.uintp(rows[k]), j] != values[np.uintp(rows[start]), j]:
                return False
    return True


@kernel
def find_split(data, offset, tree, at, setup, scratch, edges, bits):
    """Write down the best split of a node over columns drawn at random; False if the node stays a leaf.

    A column that is constant here counts as tried, but at least one that is not is tried if there is any.
    """
    rules, columns, whole = setup.rules, setup.columns, scratch.whole
    node, out = tree.real[at], tree.whole[at]
    start, stop = np.int64(out[START]) - offset, np.int64(out[STOP]) - offset
    out[FEATURE], out[LEFT], out[CUT], out[MISSING_LEFT], out[NEXT] = -1, -1, -1, 0, 0
    node[GAIN] = 0.0
    n, mass = float(stop - start), node[node.shape[0] - 2]
    if out[DEPTH] >= rules[MAX_DEPTH] or n < rules[MIN_SPLIT] or n < 2.0 * rules[MIN_LEAF]:
        return False
    if mass < 2.0 * rules[MIN_MASS] or _is_pure(data, start, stop, rules, node):
        return False
    kind, mass_shift, sum_shift = np.int64(rules[KIND]), np.int64(rules[MASS_SHIFT]), np.int64(rules[SUM_SHIFT])
    d, c = columns.shape[1], scratch.real.shape[1] - 3
    best, visited, varied = -np.inf, 0, 0
    while visited < d and (visited < rules[MAX_FEATURES] or varied == 0):
        drawn = next_bits(scratch.seen) >> np.uint64(32)
        j = visited + np.int64((drawn * np.uint64(d - visited)) >> np.uint64(32))
        f = np.int64(whole[FEATURES, j])
        whole[FEATURES, j] = whole[FEATURES, visited]
        whole[FEATURES, visited] = f
        visited += 1
        n_bins, direction = np.int64(columns[BINS, f]), np.int64(columns[MONOTONE, f])
        if edges is not None and columns[CATEGORICAL, f] == 0:
            cut, side = draw_cut(data, f, start, stop, setup, scratch, edges)
            if cut == -2:
                continue
            varied += 1
            better, best, heavy = is_better(node, direction, rules, best, scratch)
            if better:
                out[FEATURE], out[CUT], out[MISSING_LEFT] = f, cut, side if side >= 0 else heavy
            continue
        q = gather(data, f, start, stop, kind, mass_shift, sum_shift, scratch)
        if q < 2:
            continue
        varied += 1
        missing = whole[FOUND, q - 1] == n_bins
        if bits is not None and columns[CATEGORICAL, f] == 1:
            if edges is not None:
                side = draw_categories(q, missing, scratch)
                better, best, heavy = is_better(node, np.int64(0), rules, best, scratch)
                if better:
                    side = side if missing else heavy
                    out[FEATURE], out[MISSING_LEFT], out[NEXT] = f, side, 0
                    for b in range(n_bins + 1):
                        whole[CHOSEN, b] = side
                    for i in range(q):
                        whole[CHOSEN, whole[FOUND, i]] = whole[ORDER, i]
            else:
                best, side = _category_cut(node, q, n_bins, rules, best, scratch)
                if side >= 0:
                    out[FEATURE], out[MISSING_LEFT], out[NEXT] = f, side, 0
            continue
        if edges is None:
            known = q - 1 if missing else q
            for turn in range(2 if missing else 1):  # missing values on the right, then on the left
                count = known if missing and turn == 0 else known - 1
                first = np.int64(q - 1) if turn == 1 else np.int64(-1)
                best, k = _scan(np.int64(NATURAL), np.int64(count), first, node, direction, rules, best, scratch)
                if k < 0:
                    continue
                out[FEATURE], out[CUT], out[NEXT] = f, n_bins - 1, 0
                if k + 1 < known:
                    out[CUT], out[NEXT] = whole[FOUND, k], whole[FOUND, k + 1]
                heavy = np.int64(2.0 * scratch.real[BEST, c] > node[TOTALS + c])
                out[MISSING_LEFT] = turn if missing else heavy
    f = out[FEATURE]
    if f < 0:
        return False
    total, own = node[TOTALS:], scratch.real[NOW]
    for j in range(c + 2):
        own[j] = total[j]
    gain = max(best - side_score(own, total, False, np.int64(rules[CRITERION])), 0.0)
    if gain < rules[MIN_GAIN]:
        out[FEATURE] = -1
        return False
    node[GAIN] = gain
    if bits is not None and columns[CATEGORICAL, f] == 1:
        row = scratch.narrow[ROWS_OF_BITS]
        scratch.narrow[ROWS_OF_BITS] += 1
        out[CUT] = row
        for word in range(bits.shape[1]):
            bits[row, word] = np.uint32(0)
        for b in range(columns[BINS, f]):
            if whole[CHOSEN, b] == 1:
                bits[row, b >> 5] |= np.uint32(1) << np.uint32(b & 31)
    return True
