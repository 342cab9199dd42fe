"""Cuts of columns drawn at random, for extra trees."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import kernel
from corollary._compiled.forest_layout import (
    BEST,
    BINS,
    CONSTRAINED,
    CRITERION,
    KIND,
    LABELS,
    MASS_SHIFT,
    MIN_LEAF,
    MIN_MASS,
    NOW,
    ORDER,
    PACKED,
    SUM_SHIFT,
    SUMS,
    TOTALS,
)
from corollary._compiled.forest_sums import allowed, next_bits, side_score


@kernel
def draw_cut(data, f, start, stop, setup, scratch, edges):
    """Draw a cut uniform between the lowest and the highest number of the node, and add up what goes left.

    Returns (last bin on the left, side of missing values or −1 without any), the bin −2 if the column is constant.
    """
    rows, codes, packed, values = data.rows[0], data.codes[f], data.packed, data.values
    left, rules, state = scratch.real[NOW], setup.rules, scratch.seen
    n_bins, low, high, side = np.int64(setup.columns[BINS, f]), np.int64(1 << 30), np.int64(-1), np.int64(-1)
    for k in range(start, stop):
        c = np.int64(codes[np.uintp(rows[k])])
        if c == n_bins:
            side = np.int64(0)
        else:
            low, high = min(low, c), max(high, c)
    if high < 0 or (low == high and side < 0):
        return np.int64(-2), side
    if side == 0:
        side = np.int64(next_bits(state) >> np.uint64(63))
    if low < high:
        share = float(next_bits(state) >> np.uint64(11)) * 2.0**-53
        at = edges[1, f, low] + share * (edges[1, f, high] - edges[1, f, low])
        cut, last = low, high - 1
        while cut < last:  # the first bin of low … high − 1 that ends at the number drawn or above, else the last
            middle = (cut + last) >> 1
            if edges[0, f, middle] < at:
                cut = middle + 1
            else:
                last = middle
    else:  # numbers against missing values
        cut = low - 1 if side == 1 else n_bins - 1
    exception = n_bins if side == 1 else np.int64(-1)
    kind, c = np.int64(rules[KIND]), left.shape[0] - 3
    total, s, w, n = np.int64(0), 0.0, 0.0, 0.0
    for j in range(c + 2):
        left[j] = 0.0
    for k in range(start, stop):  # no branch depends on the side, which is as good as random
        r = np.uintp(rows[k])
        code = np.int64(codes[r])
        goes = np.int64((code <= cut) | (code == exception))
        if kind == PACKED:
            total += packed[r] & -goes
            continue
        share = float(goes)
        n += share
        if kind == LABELS:
            left[np.uintp(packed[r])] += share * values[r, 0]
            w += share * values[r, 0]
        elif c == 1:
            s += share * values[r, 0]
            w += share * values[r, 1]
        else:
            w += share * values[r, c]
            for j in range(c):
                left[j] += share * values[r, j]
    left[c], left[c + 1] = w, n
    if kind == SUMS and c == 1:
        left[0] = s
    if kind == PACKED:
        mass_shift, sum_shift = np.int64(rules[MASS_SHIFT]), np.int64(rules[SUM_SHIFT])
        left[0] = float(total >> sum_shift)
        left[1] = float((total >> mass_shift) & ((np.int64(1) << (sum_shift - mass_shift)) - 1))
        left[2] = float(total & ((np.int64(1) << mass_shift) - 1))
    return cut, side


@kernel
def draw_categories(q, missing, scratch):
    """Draw a side for each category that occurs, and add up what goes left; returns the side of missing values."""
    real, whole = scratch.real, scratch.whole
    left, width = real[NOW], scratch.narrow.shape[0] - 2
    for j in range(left.shape[0]):
        left[j] = 0.0
    goes = np.int64(0)
    for i in range(q):
        goes = np.int64(next_bits(scratch.seen) >> np.uint64(63))
        whole[ORDER, i] = goes
        for j in range(left.shape[0] - 1 if goes == 1 else 0):
            left[j] += real[width + i, j]
    return goes if missing else np.int64(-1)


@kernel
def is_better(node, direction, rules, best, scratch):
    """Whether the cut whose left side was added up is allowed and better; its purity, and the side of most mass."""
    left, kept, total = scratch.real[NOW], scratch.real[BEST], node[TOTALS:]
    c = total.shape[0] - 2
    min_leaf, min_mass = max(rules[MIN_LEAF], 1.0), max(rules[MIN_MASS], 1e-300)
    heavy = np.int64(2.0 * left[c] > total[c])
    if min(left[c + 1], total[c + 1] - left[c + 1]) < min_leaf or min(left[c], total[c] - left[c]) < min_mass:
        return False, best, heavy
    if rules[CONSTRAINED] > 0.0 and not allowed(left, node, direction):
        return False, best, heavy
    criterion = np.int64(rules[CRITERION])
    score = side_score(left, total, False, criterion) + side_score(left, total, True, criterion)
    if score <= best:
        return False, best, heavy
    for j in range(c + 2):
        kept[j] = left[j]
    return True, score, heavy
