"""Kernels of AdaBoost on binned columns: class histograms, the best split of a node, routing, and reweighting of rows.

Codes are stored column by column, so a histogram reads one contiguous column. The histograms of all columns lie end to
end in one array (bins, classes); column f has ``n_bins[f]`` bins and one more for missing values, from ``offsets[f]``.

Weights are not normalised: a row's weight only grows, when it was classified wrongly. So the histogram of all rows is
kept up to date by adding the growth of those rows alone, and no sum ever cancels.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel, lean_kernel

GINI, ENTROPY = 0, 1
# Splits whose gains differ by less than this share of the node's weight are equal but for rounding; the first is kept.
TIE = 1e-10
EMPTY = 1e-14  # a child with less than this share of the weight has none but for rounding


@lean_kernel
def add_rows(codes, offsets, rows, labels, amounts, starts, stops, first, last, histogram):
    """histogram[bin, label] += amount for the listed rows, columns first … last − 1.

    ``rows``, ``labels`` and ``amounts`` are filled in the segments starts[s] : stops[s] only.
    """
    flat, n_classes = histogram.reshape(histogram.size), np.uintp(histogram.shape[1])
    f = first
    while f + 4 <= last:  # four columns at once: a row's number, label and amount are read once for all of them
        one, two, three, four = codes[f], codes[f + 1], codes[f + 2], codes[f + 3]
        a, b, c, d = (
            np.uintp(offsets[f]),
            np.uintp(offsets[f + 1]),
            np.uintp(offsets[f + 2]),
            np.uintp(offsets[f + 3]),
        )
        for s in range(starts.shape[0]):
            for j in range(starts[s], stops[s]):
                row, label, amount = np.uintp(rows[j]), np.uintp(labels[j]), amounts[j]
                flat[(a + np.uintp(one[row])) * n_classes + label] += amount
                flat[(b + np.uintp(two[row])) * n_classes + label] += amount
                flat[(c + np.uintp(three[row])) * n_classes + label] += amount
                flat[(d + np.uintp(four[row])) * n_classes + label] += amount
        f += 4
    for g in range(f, last):
        column, base = codes[g], np.uintp(offsets[g])
        for s in range(starts.shape[0]):
            for j in range(starts[s], stops[s]):
                flat[(base + np.uintp(column[np.uintp(rows[j])])) * n_classes + np.uintp(labels[j])] += amounts[j]


@inner_kernel
def _gain(low, total, low_weight, weight, criterion):
    """Purity of the children with class weights ``low`` and ``total − low``, added up; −1e300 if one of them is empty.

    Larger is better: weight · (1 − impurity) for Gini, −weight · impurity for entropy.
    """
    high_weight = weight - low_weight
    if low_weight <= EMPTY * weight or high_weight <= EMPTY * weight:
        return -1e300
    left, right = 0.0, 0.0
    for k in range(low.shape[0]):
        a, b = low[k], max(total[k] - low[k], 0.0)
        if criterion == GINI:
            left, right = left + a * a, right + b * b
        else:
            left += a * np.log2(a / low_weight) if a > 0.0 else 0.0
            right += b * np.log2(b / high_weight) if b > 0.0 else 0.0
    return left / low_weight + right / high_weight if criterion == GINI else left + right


@lean_kernel
def category_order(histogram, base, n_bins, label, shares, out):
    """out = bins that have weight, by the share of class ``label`` in them; equal shares by number. Returns how many.

    For two classes some split of this order is the best of all splits into two sets (Breiman and others, 1984).
    """
    count = 0
    for b in range(n_bins):
        weight = 0.0
        for k in range(histogram.shape[1]):
            weight += histogram[base + b, k]
        if weight > 0.0:
            shares[count] = np.rint(histogram[base + b, label] / weight / TIE)  # equal but for rounding is equal
            out[count] = b
            count += 1
    step = 1
    while step < count // 3:
        step = 3 * step + 1
    while step > 0:  # Shell's sort: short to compile, and quick for any number of categories
        for i in range(step, count):
            share, b, place = shares[i], out[i], i
            while place >= step and (
                shares[place - step] > share or (shares[place - step] == share and out[place - step] > b)
            ):
                shares[place], out[place] = shares[place - step], out[place - step]
                place -= step
            shares[place], out[place] = share, b
        step //= 3
    return count


@inner_kernel
def _scan(histogram, base, order, count, missing_bin, total, weight, criterion, low, trial):
    """(best gain, how many bins of ``order`` go left, whether missing values do)."""
    n_classes = total.shape[0]
    low_weight, missing_weight = 0.0, 0.0
    for k in range(n_classes):
        low[k] = 0.0
        missing_weight += histogram[base + missing_bin, k]
    any_missing = missing_weight > 0.0
    best, where, side = -1e300, 0, False
    for place in range(count if any_missing else count - 1):
        bin_weight, b = 0.0, base + order[place]
        for k in range(n_classes):
            low[k] += histogram[b, k]
            bin_weight += histogram[b, k]
        low_weight += bin_weight
        if bin_weight == 0.0:
            continue  # the same split as the one before
        for with_missing in range(2 if any_missing else 1):
            for k in range(n_classes):
                trial[k] = low[k] + with_missing * histogram[base + missing_bin, k]
            gain = _gain(trial, total, low_weight + with_missing * missing_weight, weight, criterion)
            if gain > best + TIE * weight:
                best, where = gain, place + 1
                # where none is missing in training, a missing value goes with the many
                side = with_missing == 1 if any_missing else low_weight >= weight - low_weight
    return best, where, side


@kernel
def best_splits(histogram, offsets, n_bins, categorical, total, criterion, first, last, gains, counts, labels, sides):
    """For each column: the best gain, how many bins go left, in the order of which class's share, and missing values.

    Bins of numbers are in their own order, which is written as class −1.
    """
    n_classes, weight, longest = total.shape[0], 0.0, 1
    for k in range(n_classes):
        weight += total[k]
    for f in range(first, last):
        longest = max(longest, n_bins[f])
    low, trial = np.empty(n_classes), np.empty(n_classes)
    order, shares = np.empty(longest, dtype=np.int64), np.empty(longest)
    for f in range(first, last):
        base, count = offsets[f], n_bins[f]
        gains[f], counts[f], labels[f], sides[f] = -1e300, 0, -1, False
        # two classes: the order by one is the reverse of the order by the other
        for label in range((1 if n_classes == 2 else n_classes) if categorical[f] else 1):
            used = count
            if categorical[f]:
                used = category_order(histogram, base, count, label, shares, order)
            else:
                for b in range(count):
                    order[b] = b
            gain, where, side = _scan(histogram, base, order, used, count, total, weight, criterion, low, trial)
            if gain > gains[f] + (TIE * weight if counts[f] > 0 else 0.0):
                gains[f], counts[f], sides[f] = gain, where, side
                labels[f] = label if categorical[f] else -1


@lean_kernel
def first_best(gains, weight):
    """The column of the best gain, the first of those that are equal but for rounding; −1 if none can split."""
    best, column = -1e299, -1
    for f in range(gains.shape[0]):
        if gains[f] > best + (TIE * weight if column >= 0 else 0.0):
            best, column = gains[f], f
    return column


@lean_kernel
def route(column, node, goes_left, left, leaf):
    """Rows at ``node`` move to its children, ``left`` and ``left + 1``, as the table of codes ``goes_left`` says."""
    for i in range(leaf.shape[0]):
        if leaf[i] == node:
            leaf[i] = left if goes_left[column[i]] else left + 1


@lean_kernel
def leaf_sums(leaf, labels, weights, out):
    """out[node, class] += weight, and rows of each node counted in the last column."""
    n_classes = out.shape[1] - 1
    for i in range(leaf.shape[0]):
        out[leaf[i], labels[i]] += weights[i]
        out[leaf[i], n_classes] += 1.0


@lean_kernel
def wrong_weight(said, labels, weights):
    """(weight of wrongly classified rows, weight of all rows)."""
    wrong, total = 0.0, 0.0
    for i in range(said.shape[0]):
        total += weights[i]
        if said[i] != labels[i]:
            wrong += weights[i]
    return wrong, total


@lean_kernel
def reweigh(start, stop, said, labels, alpha, weights, base, votes, leader, rows, row_labels, growth):
    """One round's verdict on rows start … stop − 1: votes are added up and wrong rows gain weight.

    Wrong rows are listed in ``rows``, ``row_labels`` and ``growth`` from ``start`` on. Returns how many there are and
    the share ``base`` of rows that the vote so far gets wrong. ``leader`` is the class with most votes: since votes
    only grow, it can only change to the class that was said.
    """
    factor = np.exp(alpha)
    position, error = start, 0.0
    for i in range(start, stop):
        k, y = said[i], labels[i]
        votes[i, k] += alpha
        lead = leader[i]
        if votes[i, k] > votes[i, lead] or (votes[i, k] == votes[i, lead] and k < lead):
            leader[i] = lead = k
        if lead != y:
            error += base[i]
        if k != y:
            heavier = weights[i] * factor
            rows[position], row_labels[position], growth[position] = i, y, heavier - weights[i]
            weights[i] = heavier
            position += 1
    return position - start, error
