"""Find the best split of a node of a forest's tree over columns drawn at random."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel
from corollary._compiled.mixing import next_bits
from corollary._compiled.trees.forest.ballots import cut_ballots
from corollary._compiled.trees.forest.layout import (
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
    START,
    STOP,
    TOTALS,
)
from corollary._compiled.trees.forest.one_sum import cut_one_sum
from corollary._compiled.trees.forest.random_splits import random_categories, random_cut
from corollary._compiled.trees.forest.sums import allowed, gather, own_score, side_score, write_cut


@inner_kernel
def _scan_one_sum(which, count, first, node, rules, best, scratch):
    """``_scan`` by squares of one sum: where the time goes, so in registers and with one division a cut."""
    real, order = scratch.real, scratch.whole[which]
    width = scratch.narrow.shape[0] - 2
    min_leaf, min_mass = rules[MIN_LEAF], max(rules[MIN_MASS], 1e-300)
    position = np.int64(-1)
    s, w, n = 0.0, 0.0, 0.0
    if first >= 0:
        s, w, n = real[width + first, 0], real[width + first, 1], real[width + first, 2]
    total_s, total_w, total_n = node[TOTALS], node[TOTALS + 1], node[TOTALS + 2]
    for k in range(count):
        b = np.uintp(width + order[k])
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
            real[BEST, 0], real[BEST, 1], real[BEST, 2] = s, w, n
    return best, position


@inner_kernel
def _scan_sums(which, count, first, node, direction, rules, best, scratch):
    """``_scan`` by any criterion, with constraints."""
    real, order = scratch.real, scratch.whole[which]
    c, width = real.shape[1] - 3, scratch.narrow.shape[0] - 2
    criterion, min_leaf, min_mass = np.int64(rules[CRITERION]), rules[MIN_LEAF], max(rules[MIN_MASS], 1e-300)
    constrained = rules[CONSTRAINED] > 0.0
    left, kept = real[NOW], real[BEST]
    position = np.int64(-1)
    for j in range(c + 2):
        left[j] = real[width + first, j] if first >= 0 else 0.0
    for k in range(count):
        b = width + order[k]
        for j in range(c + 2):
            left[j] += real[b, j]
        if left[c + 1] < min_leaf or left[c] < min_mass:
            continue
        if node[TOTALS + c + 1] - left[c + 1] < min_leaf or node[TOTALS + c] - left[c] < min_mass:
            break
        score = side_score(left, node, False, criterion) + side_score(left, node, True, criterion)
        if score > best and not (constrained and not allowed(left, node, direction)):
            best, position = score, np.int64(k)
            for j in range(c + 2):
                kept[j] = left[j]
    return best, position


@inner_kernel
def _scan(which, count, first, node, direction, rules, best, scratch, general):
    """Best place to cut the bins whole[which, :count] in two; ``first`` is a bin that is left throughout, or −1.

    Returns (purity, position in the order of the last bin on the left), the position −1 unless ``best`` was beaten.
    """
    if general is None:
        return _scan_one_sum(which, count, first, node, rules, best, scratch)
    else:
        return _scan_sums(which, count, first, node, direction, rules, best, scratch)


@inner_kernel
def _cut_numbers(f, q, columns, node, out, rules, best, scratch, general):
    """Cut a column of numbers that has q bins here, missing values on the right and then on the left."""
    whole, n_bins = scratch.whole, np.int64(columns[BINS, f])
    missing = whole[FOUND, q - 1] == n_bins
    known = q - 1 if missing else q
    for turn in range(2 if missing else 1):
        count = known if missing and turn == 0 else known - 1
        first = np.int64(q - 1) if turn == 1 else np.int64(-1)
        best, k = _scan(NATURAL, count, first, node, columns[MONOTONE, f], rules, best, scratch, general)
        if k >= 0:
            write_cut(f, k, known, n_bins, turn if missing else -1, node, out, scratch)
    return best


@inner_kernel
def _sort_categories(by, q, scratch):
    """Order the q categories that occur by the mean of a sum, with a shell sort."""
    real, whole = scratch.real, scratch.whole
    c, width, key = real.shape[1] - 3, scratch.narrow.shape[0] - 2, real.shape[1] - 1
    for b in range(q):
        real[width + b, key] = real[width + b, by] / real[width + b, c]
        whole[ORDER, b] = b
    gap = q
    while gap > 1:
        gap = max(1, gap * 5 // 11)
        for b in range(gap, q):
            mean, place, at = real[width + b, key], whole[ORDER, b], b
            while at >= gap and real[width + at - gap, key] > mean:
                real[width + at, key] = real[width + at - gap, key]
                whole[ORDER, at] = whole[ORDER, at - gap]
                at -= gap
            real[width + at, key] = mean
            whole[ORDER, at] = place


@inner_kernel
def _cut_categories(f, q, columns, node, out, rules, best, scratch, general):
    """Order the categories by their mean response, of each class in turn, and cut the order in two."""
    real, whole, n_bins = scratch.real, scratch.whole, np.int64(columns[BINS, f])
    c = real.shape[1] - 3
    for j in range(c if c <= 16 else 1):
        by = j
        if c > 16:  # too many classes to try each: the most frequent one
            for i in range(c):
                by = i if node[TOTALS + i] > node[TOTALS + by] else by
        _sort_categories(by, q, scratch)
        best, k = _scan(ORDER, q - 1, np.int64(-1), node, np.int32(0), rules, best, scratch, general)
        if k < 0:
            continue
        heavy = 1 if 2.0 * real[BEST, c] > node[TOTALS + c] else 0
        for b in range(n_bins + 1):  # categories that do not occur here go to the heavier side
            whole[CHOSEN, b] = heavy
        for i in range(q):
            whole[CHOSEN, whole[FOUND, whole[ORDER, i]]] = 1 if i <= k else 0
        out[FEATURE], out[MISSING_LEFT], out[NEXT] = f, whole[CHOSEN, n_bins], 0
    return best


@inner_kernel
def _is_pure(rows, votes, sums, start, stop, node):
    """Whether all targets are the same."""
    c = node.shape[0] - TOTALS - 2
    if sums is not None and sums.shape[1] > c + 1:  # regression
        for k in range(start + 1, stop):
            for j in range(c + 1, sums.shape[1]):
                if sums[np.uintp(rows[k]), j] != sums[np.uintp(rows[start]), j]:
                    return False
        return True
    if votes is not None:
        present = 0
        for j in range(TOTALS, TOTALS + c):
            present += node[j] > 0.0
        return present == votes[0].shape[1]
    return node[TOTALS] >= node[TOTALS + c] or node[TOTALS] <= 0.0


@inner_kernel
def _write_bits(n_bins, out, bits, scratch):
    """Give the node a row of bits for the categories that go left."""
    row = scratch.narrow[ROWS_OF_BITS]
    scratch.narrow[ROWS_OF_BITS] += 1
    out[CUT] = row
    for word in range(bits.shape[1]):
        bits[row, word] = np.uint32(0)
    for b in range(n_bins):
        if scratch.whole[CHOSEN, b] == 1:
            bits[row, b >> 5] |= np.uint32(1) << np.uint32(b & 31)


@inner_kernel
def find_split(data, packed, votes, sums, offset, tree, at, setup, scratch, plain, general, edges, bits):
    """Write down the best split of a node over columns drawn at random; False if the node stays a leaf.

    A column that is constant here counts as tried, but at least one that is not is tried if there is any.
    """
    rules, columns, features, rows = setup.rules, setup.columns, scratch.whole[FEATURES], data.rows[0]
    node, out = tree.real[at], tree.whole[at]
    start, stop = np.int64(out[START]) - offset, np.int64(out[STOP]) - offset
    for k in range(FEATURE, NEXT + 1):
        out[k] = -1
    node[GAIN] = 0.0
    n = float(stop - start)
    if out[DEPTH] >= rules[MAX_DEPTH] or n < rules[MIN_SPLIT] or n < 2.0 * rules[MIN_LEAF]:
        return False
    if node[node.shape[0] - 2] < 2.0 * rules[MIN_MASS] or _is_pure(rows, votes, sums, start, stop, node):
        return False
    d = columns.shape[1]
    best, visited, varied = -np.inf, 0, 0
    while visited < d and (visited < rules[MAX_FEATURES] or varied == 0):
        drawn = next_bits(scratch.seen) >> np.uint64(32)
        j = visited + np.int64((drawn * np.uint64(d - visited)) >> np.uint64(32))
        f = np.int64(features[j])
        features[j] = features[visited]
        features[visited] = f
        visited += 1
        if edges is not None and columns[CATEGORICAL, f] == 0:
            best, varies = random_cut(
                f, data, packed, votes, sums, start, stop, setup, node, out, best, scratch, edges, general
            )
            varied += varies
            continue
        if general is None and (bits is None or columns[CATEGORICAL, f] == 0):
            varies = 0
            if plain is None or (packed is None and sums is None):  # what is None is known when this is compiled
                pass
            else:
                best, varies = cut_one_sum(f, data, packed, sums, start, stop, columns, node, out, rules, best, scratch)
            if plain is None or votes is None:
                pass
            else:
                best, varies = cut_ballots(f, data, votes, start, stop, columns, node, out, rules, best, scratch)
            varied += varies
            continue
        q = gather(data.codes[f], rows, packed, votes, sums, start, stop, rules, scratch)
        if q < 2:
            continue
        varied += 1
        if bits is not None and columns[CATEGORICAL, f] == 1:
            if edges is None:
                best = _cut_categories(f, q, columns, node, out, rules, best, scratch, general)
            else:
                best = random_categories(f, q, columns, node, out, rules, best, scratch)
        elif edges is None:
            best = _cut_numbers(f, q, columns, node, out, rules, best, scratch, general)
    if out[FEATURE] < 0:
        return False
    gain = max(best - own_score(node, votes, np.int64(rules[CRITERION]), general), 0.0)
    if gain < rules[MIN_GAIN]:
        out[FEATURE] = -1
        return False
    node[GAIN] = gain
    if bits is not None and columns[CATEGORICAL, out[FEATURE]] == 1:
        _write_bits(columns[BINS, out[FEATURE]], out, bits, scratch)
    return True
