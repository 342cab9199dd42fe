"""The best cut of a column where purity is the square of one sum: two classes, or one number to predict.

This is where the time of most forests goes, so the bins of a column are added up and cut in one pass each, in registers
and with one division a cut.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lowest_bit
from corollary._compiled.trees.forest.layout import (
    BEST,
    BINS,
    CUT,
    FEATURE,
    MIN_LEAF,
    MIN_MASS,
    MISSING_LEFT,
    NEXT,
    TOTALS,
)
from corollary._compiled.trees.forest.sums import unpacked

_ONE = np.uint64(1)


@inner_kernel
def _fill(codes, rows, packed, sums, start, stop, scratch):
    """Sums of bins, and the bits of those that occur; returns whether there are two.

    Among many rows bits would be set again and again. There they are told from the sums, each of which counts rows.
    """
    seen, narrow, real = scratch.seen, scratch.narrow, scratch.real
    width = narrow.shape[0] - 2
    many = stop - start > 2 * width
    first, differ = np.uint64(codes[np.uintp(rows[start])]), np.uint64(0)
    for k in range(start, stop):
        r = np.uintp(rows[k])
        c = np.uint64(codes[r])
        if packed is not None:
            narrow[np.uintp(c)] += packed[r]
        if sums is not None:
            real[np.uintp(c), 0] += sums[r, 0]
            real[np.uintp(c), 1] += sums[r, 1]
            real[np.uintp(c), 2] += 1.0
        if not many:
            seen[c >> np.uint64(6)] |= _ONE << (c & np.uint64(63))
        differ |= c ^ first
    for b in range(width if many else 0):
        filled = False
        if packed is not None:
            filled = narrow[b] != 0
        if sums is not None:
            filled = real[b, 2] > 0.0
        if filled:
            seen[np.uint64(b) >> np.uint64(6)] |= _ONE << (np.uint64(b) & np.uint64(63))
    return differ != np.uint64(0)


@inner_kernel
def _take(at, packed, rules, scratch):
    """Sum, mass and number of rows of a bin, which is cleared."""
    if packed is not None:
        value = scratch.narrow[at]
        scratch.narrow[at] = 0
        return unpacked(value, rules)
    else:
        real = scratch.real
        s, w, n = real[at, 0], real[at, 1], real[at, 2]
        real[at, 0], real[at, 1], real[at, 2] = 0.0, 0.0, 0.0
        return s, w, n


@inner_kernel
def one_sum_purity(s, w, n, node, min_leaf, min_mass):
    """Purity of both sides together, of a cut with these sums on the left; −inf if it is not allowed."""
    r, v = node[TOTALS] - s, node[TOTALS + 1] - w
    if n < min_leaf or w < min_mass or node[TOTALS + 2] - n < min_leaf or v < min_mass:
        return -np.inf
    return (s * s * v + r * r * w) / (w * v)


@inner_kernel
def cut_one_sum(f, data, packed, sums, start, stop, columns, node, out, rules, best, scratch):
    """Cut a column of numbers, missing values on the right or on the left; (purity, whether the column varies)."""
    seen, kept, n_bins = scratch.seen, scratch.real[BEST], np.int64(columns[BINS, f])
    min_leaf, min_mass = rules[MIN_LEAF], max(rules[MIN_MASS], 1e-300)
    if not _fill(data.codes[f], data.rows[0], packed, sums, start, stop, scratch):
        first = np.uintp(data.codes[f, np.uintp(data.rows[0, start])])
        seen[np.uint64(first) >> np.uint64(6)] = np.uint64(0)
        _take(first, packed, rules, scratch)
        return best, 0
    gap_s, gap_w, gap_n = _take(np.uintp(n_bins), packed, rules, scratch)
    s, w, n, before = 0.0, 0.0, 0.0, np.int64(-1)
    cut, following, side, other = np.int64(-1), np.int64(0), 0, -np.inf
    other_cut, other_following, other_s, other_w, other_n = np.int64(-1), np.int64(0), 0.0, 0.0, 0.0
    for word in range(seen.shape[0] - 1):
        bits = seen[word]
        seen[word] = np.uint64(0)
        while bits != np.uint64(0):
            at = np.int64(word << 6) + lowest_bit(bits)
            bits &= bits - _ONE
            if at == n_bins:
                continue
            if before >= 0:
                score = one_sum_purity(s, w, n, node, min_leaf, min_mass)
                if score > best:
                    best, cut, following = score, before, at
                    kept[0], kept[1], kept[2] = s, w, n
                if gap_n > 0.0:
                    score = one_sum_purity(s + gap_s, w + gap_w, n + gap_n, node, min_leaf, min_mass)
                    if score > other:
                        other, other_cut, other_following = score, before, at
                        other_s, other_w, other_n = s + gap_s, w + gap_w, n + gap_n
            own_s, own_w, own_n = _take(np.uintp(at), packed, rules, scratch)
            s += own_s
            w += own_w
            n += own_n
            before = at
    if gap_n > 0.0:
        score = one_sum_purity(s, w, n, node, min_leaf, min_mass)
        if score > best:
            best, cut, following = score, n_bins - 1, np.int64(0)
            kept[0], kept[1], kept[2] = s, w, n
        if other > best:
            best, cut, following, side = other, other_cut, other_following, 1
            kept[0], kept[1], kept[2] = other_s, other_w, other_n
    if cut >= 0:
        out[FEATURE], out[CUT], out[NEXT] = f, cut, following
        out[MISSING_LEFT] = side if gap_n > 0.0 else 2.0 * kept[1] > node[TOTALS + 1]
    return best, 1
