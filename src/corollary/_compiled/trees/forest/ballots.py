"""The best cut of a column for many classes, where every mass is a whole number and purity is a sum of squares.

Rows are sorted by bin, by counting. Then they pass one by one from the right side to the left: a row of mass m and of
class j, of which L is on the left and R on the right, changes Σ L² by m (2 L + m) and Σ R² by m (m − 2 R). So a row
costs the same whatever the number of classes and of bins. Sums of whole numbers leave no rounding behind.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lowest_bit
from corollary._compiled.trees.forest.layout import BEST, BINS, ENDS, FOUND, MIN_LEAF, MIN_MASS, NOW, TOTALS
from corollary._compiled.trees.forest.sums import write_cut

_MASS, _ONE = np.int64(0xFFFFFFFF), np.uint64(1)


@inner_kernel
def _sort(codes, rows, votes, start, stop, scratch):
    """Class << 32 | mass of the rows start … stop, bin by bin, and where each bin ends; returns how many bins occur.

    One bin is not sorted.
    """
    seen, places, ranked, whole = scratch.seen, scratch.narrow, scratch.ranked, scratch.whole
    label, mass = votes
    first, differ = np.uint64(codes[np.uintp(rows[start])]), np.uint64(0)
    for k in range(start, stop):
        c = np.uint64(codes[np.uintp(rows[k])])
        seen[c >> np.uint64(6)] |= _ONE << (c & np.uint64(63))
        places[np.uintp(c)] += 1
        differ |= c ^ first
    if differ == np.uint64(0):
        seen[first >> np.uint64(6)], places[np.uintp(first)] = np.uint64(0), 0
        return 1
    q, end = 0, np.int64(0)
    for word in range(seen.shape[0] - 1):
        bits = seen[word]
        seen[word] = np.uint64(0)
        while bits != np.uint64(0):
            at = np.uintp((word << 6) + lowest_bit(bits))
            bits &= bits - _ONE
            count = places[at]
            places[at] = end
            end += count
            whole[FOUND, q], whole[ENDS, q] = at, end
            q += 1
    for k in range(start, stop):
        r = np.uintp(rows[k])
        b = np.uintp(codes[r])
        ranked[np.uintp(places[b])] = (label[r, 0] << 32) | np.int64(mass[r])
        places[b] += 1
    for k in range(q):
        places[np.uintp(whole[FOUND, k])] = 0
    return q


@inner_kernel
def _scan(count, first, last, node, rules, best, scratch):
    """Best of the cuts after each of ``count`` bins; the rows first … last − 1 are on the left throughout.

    Returns (purity, the last bin on the left), the bin −1 unless ``best`` was beaten.
    """
    ranked, ends, left = scratch.ranked, scratch.whole[ENDS], scratch.real[NOW]
    c = node.shape[0] - TOTALS - 2
    min_leaf, min_mass = rules[MIN_LEAF], max(rules[MIN_MASS], 1e-300)
    total_w, total_n = node[TOTALS + c], node[TOTALS + c + 1]
    position, w, on_left, on_right = np.int64(-1), 0.0, 0.0, 0.0
    for j in range(c):
        left[j] = 0.0
        on_right += node[TOTALS + j] * node[TOTALS + j]
    at, end = np.int64(first), np.int64(last)
    for k in range(-1, count):
        if k >= 0:
            at, end = (np.int64(0) if k == 0 else end), np.int64(ends[k])
        for i in range(at, end):
            row = ranked[np.uintp(i)]
            j, m = np.uintp(row >> 32), float(row & _MASS)
            s = left[j]
            on_left += m * (2.0 * s + m)
            on_right += m * (m - 2.0 * (node[np.uintp(TOTALS) + j] - s))
            left[j] = s + m
            w += m
        if k < 0:
            continue
        n, v = float(end + last - first), total_w - w
        if n < min_leaf or w < min_mass:
            continue
        if total_n - n < min_leaf or v < min_mass:
            break
        score = (on_left * v + on_right * w) / (w * v)
        if score > best:
            best, position = score, np.int64(k)
            scratch.real[BEST, c] = w
    return best, position


@inner_kernel
def cut_ballots(f, data, votes, start, stop, columns, node, out, rules, best, scratch):
    """Cut a column of numbers, missing values on the right or on the left; (purity, whether the column varies)."""
    whole, n_bins = scratch.whole, np.int64(columns[BINS, f])
    q = _sort(data.codes[f], data.rows[0], votes, start, stop, scratch)
    if q < 2:
        return best, 0
    missing = whole[FOUND, q - 1] == n_bins
    known = q - 1 if missing else q
    for turn in range(2 if missing else 1):
        first = last = np.int64(0)
        if turn == 1:
            first, last = np.int64(whole[ENDS, q - 2]), np.int64(whole[ENDS, q - 1])
        count = known if missing and turn == 0 else known - 1
        best, k = _scan(count, first, last, node, rules, best, scratch)
        if k >= 0:
            write_cut(f, k, known, n_bins, turn if missing else -1, node, out, scratch)
    return best, 1
