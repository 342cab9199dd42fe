"""Cuts of columns drawn at random, for extra trees."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel
from corollary._compiled.mixing import next_bits, unit
from corollary._compiled.trees.forest.layout import (
    BEST,
    BINS,
    CHOSEN,
    CONSTRAINED,
    CRITERION,
    CUT,
    FEATURE,
    FOUND,
    MIN_LEAF,
    MIN_MASS,
    MISSING_LEFT,
    MONOTONE,
    NEXT,
    NOW,
    ORDER,
    TOTALS,
)
from corollary._compiled.trees.forest.one_sum import one_sum_purity
from corollary._compiled.trees.forest.sums import allowed, side_score, unpack, unpacked


@inner_kernel
def _draw_cut(low, high, state, edges, f):
    """The last bin on the left of a cut uniform between the lowest and the highest number of the node."""
    share = unit(next_bits(state))
    at = edges[1, f, low] + share * (edges[1, f, high] - edges[1, f, low])
    cut, last = low, high - 1
    while cut < last:  # the last bin of low … high − 1 whose numbers, in the mean, are at most the one drawn
        middle = (cut + last + 1) >> 1
        if edges[1, f, middle] <= at:
            cut = middle
        else:
            last = middle - 1
    return cut


@inner_kernel
def _left_sums(codes, rows, packed, sums, start, stop, cut, exception, rules):
    """Sum, mass and number of the rows whose bin is at most ``cut``, or the ``exception``."""
    total, s, w, n = np.int64(0), 0.0, 0.0, 0.0
    for k in range(start, stop):  # no branch depends on the side, which is as good as random
        r = np.uintp(rows[k])
        code = np.int64(codes[r])
        goes = np.int64((code <= cut) | (code == exception))
        if packed is not None:
            total += packed[r] & -goes
        if sums is not None:
            share = float(goes)
            s += share * sums[r, 0]
            w += share * sums[r, 1]
            n += share
    if packed is not None:
        return unpacked(total, rules)
    else:
        return s, w, n


@inner_kernel
def _add_left(codes, rows, packed, votes, sums, start, stop, cut, exception, rules, real):
    """Sums of the rows whose bin is at most ``cut``, or the ``exception``, to the row of the cut being tried."""
    left, c = real[NOW], real.shape[1] - 3
    for j in range(c + 2):
        left[j] = 0.0
    total, s, w, n = np.int64(0), 0.0, 0.0, 0.0
    for k in range(start, stop):  # no branch depends on the side, which is as good as random
        r = np.uintp(rows[k])
        code = np.int64(codes[r])
        goes = np.int64((code <= cut) | (code == exception))
        share = float(goes)
        n += share
        if packed is not None:
            total += packed[r] & -goes
        if votes is not None:
            for o in range(votes[0].shape[1]):
                left[np.uintp(votes[0][r, o])] += share * votes[1][r]
            w += share * votes[1][r]
        if sums is not None:
            s += share * sums[r, 0]
            w += share * sums[r, c]
            for j in range(1, c):
                left[j] += share * sums[r, j]
    left[c], left[c + 1] = w, n
    if sums is not None:
        left[0] = s
    if packed is not None:
        unpack(total, rules, real, real.shape[0] + NOW)


@inner_kernel
def random_cut(f, data, packed, votes, sums, start, stop, setup, node, out, best, scratch, edges, general):
    """Try one cut drawn at random; returns the best purity so far and whether the column varies here."""
    rows, codes, rules = data.rows[0], data.codes[f], setup.rules
    n_bins, low, high, side = np.int64(setup.columns[BINS, f]), np.int64(1 << 30), np.int64(-1), np.int64(-1)
    for k in range(start, stop):
        c = np.int64(codes[np.uintp(rows[k])])
        if c == n_bins:
            side = np.int64(0)
        else:
            low, high = min(low, c), max(high, c)
    if high < 0 or (low == high and side < 0):
        return best, 0
    if side == 0:
        side = np.int64(next_bits(scratch.seen) >> np.uint64(63))
    if low < high:
        cut = _draw_cut(low, high, scratch.seen, edges, f)
    else:  # numbers against missing values
        cut = low - 1 if side == 1 else n_bins - 1
    exception = n_bins if side == 1 else np.int64(-1)
    if general is None:
        s, w, n = _left_sums(codes, rows, packed, sums, start, stop, cut, exception, rules)
        score = one_sum_purity(s, w, n, node, max(rules[MIN_LEAF], 1.0), max(rules[MIN_MASS], 1e-300))
        better, heavy = score > best, np.int64(2.0 * w > node[TOTALS + 1])
        if better:
            best = score
            scratch.real[BEST, 0], scratch.real[BEST, 1], scratch.real[BEST, 2] = s, w, n
    else:
        _add_left(codes, rows, packed, votes, sums, start, stop, cut, exception, rules, scratch.real)
        better, best, heavy = _is_better(node, np.int64(setup.columns[MONOTONE, f]), rules, best, scratch)
    if better:
        out[FEATURE], out[CUT], out[NEXT] = f, cut, 0
        out[MISSING_LEFT] = side if side >= 0 else heavy
    return best, 1


@inner_kernel
def random_categories(f, q, columns, node, out, rules, best, scratch):
    """Try a side drawn for each category that occurs; returns the best purity so far."""
    real, whole, n_bins = scratch.real, scratch.whole, np.int64(columns[BINS, f])
    left, width = real[NOW], scratch.narrow.shape[0] - 2
    for j in range(left.shape[0]):
        left[j] = 0.0
    goes = np.int64(0)
    for i in range(q):
        goes = np.int64(next_bits(scratch.seen) >> np.uint64(63))
        whole[ORDER, i] = goes
        for j in range(left.shape[0] - 1 if goes == 1 else 0):
            left[j] += real[width + i, j]
    better, best, heavy = _is_better(node, np.int64(0), rules, best, scratch)
    if better:
        side = goes if whole[FOUND, q - 1] == n_bins else heavy
        out[FEATURE], out[MISSING_LEFT], out[NEXT] = f, side, 0
        for b in range(n_bins + 1):
            whole[CHOSEN, b] = side
        for i in range(q):
            whole[CHOSEN, whole[FOUND, i]] = whole[ORDER, i]
    return best


@inner_kernel
def _is_better(node, direction, rules, best, scratch):
    """Whether the cut whose left side was added up is allowed and better; its purity, and the side of most mass."""
    left, kept = scratch.real[NOW], scratch.real[BEST]
    c = node.shape[0] - TOTALS - 2
    min_leaf, min_mass = max(rules[MIN_LEAF], 1.0), max(rules[MIN_MASS], 1e-300)
    mass, count = node[TOTALS + c], node[TOTALS + c + 1]
    heavy = np.int64(2.0 * left[c] > mass)
    if min(left[c + 1], count - left[c + 1]) < min_leaf or min(left[c], mass - left[c]) < min_mass:
        return False, best, heavy
    if rules[CONSTRAINED] > 0.0 and not allowed(left, node, direction):
        return False, best, heavy
    criterion = np.int64(rules[CRITERION])
    score = side_score(left, node, False, criterion) + side_score(left, node, True, criterion)
    if score <= best:
        return False, best, heavy
    for j in range(c + 2):
        kept[j] = left[j]
    return True, score, heavy
