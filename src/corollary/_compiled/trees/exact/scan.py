"""Scan one sorted list of rows for the best place to cut it, for every criterion of a tree.

A list holds one whole number per row: the rank of its value in the high bits, the row in the low bits (``mask``). Equal
values have equal ranks, and missing values have the highest rank, so they stand last. A cut sends the records up to a
position left; missing values are tried on both sides. Every scan returns (gain, position, missing go left), with gain
−1 if no cut is allowed. A later cut replaces an earlier one only if it is better by more than ``slack``, so that equal
cuts are decided by their order and not by rounding.

Arguments that a kind of tree does not have are None (``w`` when all weights are one, ``codes`` in regression …): Numba
then leaves out the code that reads them, which keeps the time to compile short.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.trees.deviance import deviance

GINI, ENTROPY, SQUARED, POISSON, ABSOLUTE = 0, 1, 2, 3, 4


class Node(NamedTuple):
    """The node to split: its segment, its statistics, the bounds of its predictions, the least size of a child."""

    start: int
    stop: int
    weight: float
    slack: float
    mean: float
    impurity: float
    lower: float
    upper: float
    min_leaf: int
    min_weight: float


@inner_kernel
def weight_of(w, row):
    """A row's weight; 1 if there are no weights."""
    if w is None:
        return 1.0
    else:
        return w[row]


@inner_kernel
def xlogx(x):
    """x log₂ x, 0 at 0."""
    return x * math.log2(x) if x > 0.0 else 0.0


@inner_kernel
def _part(part, side, node, valid, low, high):
    """Records that part 0, 1, 2 of a scan covers: missing ones that go left, too few for a cut, possible cuts."""
    base = (node.stop - valid) * side
    first = max(low, node.start, node.start + node.min_leaf - 1 - base)
    last = min(high, valid - 1, node.stop - 1 - node.min_leaf - base)
    if first > last:
        return 0, 0
    if part == 0:
        return valid, valid + base
    if part == 1:
        return node.start, first
    return first, last + 1


@inner_kernel
def _allowed(left, right, w_left, w_right, direction, node):
    """Whether children are heavy enough and, if there is a ``direction``, in that order and within the node's bounds.

    Without a direction predictions beyond the bounds are clipped to them, in the end.
    """
    if w_left < node.min_weight or w_right < node.min_weight:
        return False
    if direction == 0:
        return True
    return direction * (left - right) <= 0.0 and min(left, right) >= node.lower and max(left, right) <= node.upper


@inner_kernel
def scan_binary(records, mask, node, valid, low, high, direction, codes, totals):
    """Two classes, Gini, no weights: whole numbers only. q = n·(ones left) − ones·(rows left)."""
    n = node.stop - node.start
    ones = np.int64(totals[1])
    unit = 2.0 / n
    gain, position, missing_left, bar = -1.0, -1, 0, -1.0
    for side in range(1 if valid == node.stop else 2):
        q, n_left = 0, 0
        for part in range(3):
            a, b = _part(part, side, node, valid, low, high)
            for i in range(a, b):
                q += n - ones if codes[np.int64(records[i] & mask), 0] else -ones
                n_left += 1
                if part < 2 or (records[i] ^ records[i + 1]) <= mask:
                    continue
                size, product = float(q) * float(q), float(n_left) * float(n - n_left)
                if size > bar * product:
                    left, right = node.mean + q / float(n) / n_left, node.mean - q / float(n) / (n - n_left)
                    if _allowed(left, right, float(n_left), float(n - n_left), direction, node):
                        gain, position, missing_left = unit * size / product, i, side
                        bar = size / product + node.slack / unit
    return gain, position, missing_left


@inner_kernel
def scan_squared(records, mask, node, valid, low, high, direction, v, w):
    """Squared error of one output; v = w (y − mean) sums to zero over the node, so gain = W q² / (W_left W_right)."""
    gain, position, missing_left, bar = -1.0, -1, 0, -1.0
    for side in range(1 if valid == node.stop else 2):
        q, w_left = 0.0, 0.0
        for part in range(3):
            a, b = _part(part, side, node, valid, low, high)
            for i in range(a, b):
                row = np.int64(records[i] & mask)
                q += v[row, 0]
                w_left += weight_of(w, row)
                if part < 2 or (records[i] ^ records[i + 1]) <= mask:
                    continue
                w_right = node.weight - w_left
                product = w_left * w_right
                if q * q > bar * product and product > 0.0:
                    left, right = node.mean + q / w_left, node.mean - q / w_right
                    if _allowed(left, right, w_left, w_right, direction, node):
                        gain, position, missing_left = node.weight * q * q / product, i, side
                        bar = q * q / product + node.slack / node.weight
    return gain, position, missing_left


@inner_kernel
def _phi(criterion, x, table):
    """x² for Gini, x log₂ x for entropy (from a table, if there is one, where x is a whole number)."""
    if criterion == GINI:
        return x * x
    return table[np.int64(x)] if table.shape[0] > 0 else xlogx(x)


@inner_kernel
def class_impurity(masses, criterion):
    """Weight times impurity of one output, with small relative error even if one class outweighs the others by far."""
    total, largest, rest = 0.0, 0, 0.0
    for k in range(masses.shape[0]):
        total += masses[k]
        if masses[k] > masses[largest]:
            largest = k
    for k in range(masses.shape[0]):
        rest += masses[k] if k != largest else 0.0
    out = 0.0
    for k in range(masses.shape[0]):
        others = rest if k == largest else total - masses[k]
        if masses[k] > 0.0:
            out += masses[k] * (others / total if criterion == GINI else math.log1p(others / masses[k]) / math.log(2.0))
    return out


@kernel
def scan_classes(records, mask, node, valid, low, high, direction, criterion, codes, w, table, totals):
    """Any number of classes and outputs: φ of both sides is kept up to date, so a step costs O(outputs).

    W · impurity is W − Σφ/W for Gini and φ(W) − Σφ for entropy, averaged over outputs.
    """
    n_outputs = codes.shape[1]
    on_left, on_right = np.empty(totals.shape[0]), np.empty(totals.shape[0])
    whole, phi = class_impurity(totals, criterion), 0.0
    for k in range(totals.shape[0]):
        phi += _phi(criterion, totals[k], table)
    base = phi / node.weight / n_outputs if criterion == GINI else phi / n_outputs - xlogx(node.weight)
    gain, position, missing_left, bar = -1.0, -1, 0, -math.inf
    for side in range(1 if valid == node.stop else 2):
        for k in range(totals.shape[0]):
            on_left[k] = 0.0
        phi_left, phi_right, w_left = 0.0, phi, 0.0
        for part in range(3):
            a, b = _part(part, side, node, valid, low, high)
            for i in range(a, b):
                row = np.int64(records[i] & mask)
                weight = weight_of(w, row)
                w_left += weight
                for o in range(n_outputs):
                    k = codes[row, o]
                    before, after = on_left[k], on_left[k] + weight
                    rest = max(totals[k] - after, 0.0)
                    phi_left += _phi(criterion, after, table) - _phi(criterion, before, table)
                    phi_right += _phi(criterion, rest, table) - _phi(criterion, totals[k] - before, table)
                    on_left[k] = after
                w_right = node.weight - w_left
                if part < 2 or (records[i] ^ records[i + 1]) <= mask or w_right <= 0.0:
                    continue
                if criterion == GINI:
                    score = (phi_left / w_left + phi_right / w_right) / n_outputs
                else:
                    score = (phi_left + phi_right) / n_outputs
                    score -= _phi(criterion, w_left, table) + _phi(criterion, w_right, table)
                if score > bar:
                    left, right = on_left[1] / w_left, (totals[1] - on_left[1]) / w_right
                    if _allowed(left, right, w_left, w_right, direction, node):
                        gain, position, missing_left = score - base, i, side
                        bar = score + node.slack
                        if n_outputs == 1:
                            for k in range(totals.shape[0]):
                                on_right[k] = totals[k] - on_left[k]
                            gain = whole - class_impurity(on_left, criterion) - class_impurity(on_right, criterion)
                        gain = max(gain, 0.0)
    return gain, position, missing_left


@inner_kernel
def sums_score(criterion, left, right, w_left, w_right):
    """Gain of a cut of one output up to a constant of the node, from sums of v; −inf if a child would predict zero."""
    if criterion == SQUARED:
        return left * left / w_left + right * right / w_right
    if min(left, right) <= 1e-13 * (left + right):  # zero but for rounding
        return -math.inf
    mean = (left + right) / (w_left + w_right)
    apart = w_left / (w_left + w_right) * w_right * (left / w_left - right / w_right)
    return deviance(apart, w_left, mean) + deviance(-apart, w_right, mean)


@kernel
def scan_sums(records, mask, node, valid, low, high, direction, criterion, v, w, totals):
    """Squared error of several outputs, and Poisson deviance."""
    n_outputs = v.shape[1]
    sums, apart, mean, whole = np.empty(n_outputs), np.empty(n_outputs), np.zeros(n_outputs), np.zeros(n_outputs)
    base = 0.0
    if criterion == POISSON:  # what v is apart from the mean is added up besides, as small as it is
        for o in range(n_outputs):
            mean[o] = totals[o] / node.weight
            for i in range(node.start, node.stop):
                row = np.int64(records[i] & mask)
                whole[o] += v[row, o] - weight_of(w, row) * mean[o]
            base += deviance(whole[o], node.weight, mean[o]) / n_outputs
    gain, position, missing_left, bar = -1.0, -1, 0, -math.inf
    for side in range(1 if valid == node.stop else 2):
        for o in range(n_outputs):
            sums[o], apart[o] = 0.0, 0.0
        w_left = 0.0
        for part in range(3):
            a, b = _part(part, side, node, valid, low, high)
            for i in range(a, b):
                row = np.int64(records[i] & mask)
                for o in range(n_outputs):
                    sums[o] += v[row, o]
                    if criterion == POISSON:
                        apart[o] += v[row, o] - weight_of(w, row) * mean[o]
                w_left += weight_of(w, row)
                w_right = node.weight - w_left
                if part < 2 or (records[i] ^ records[i + 1]) <= mask or w_right <= 0.0:
                    continue
                score = 0.0
                for o in range(n_outputs):
                    if criterion == SQUARED:
                        score += sums_score(criterion, sums[o], totals[o] - sums[o], w_left, w_right) / n_outputs
                    elif min(sums[o], totals[o] - sums[o]) <= 1e-13 * totals[o]:  # zero but for rounding
                        score = -math.inf
                    else:
                        both = deviance(apart[o], w_left, mean[o]) + deviance(whole[o] - apart[o], w_right, mean[o])
                        score += both / n_outputs
                if score > bar:
                    left, right = sums[0] / w_left, (totals[0] - sums[0]) / w_right
                    if _allowed(left, right, w_left, w_right, direction, node):
                        gain, position, missing_left = max(0.0, score - base), i, side
                        bar = score + node.slack
    return gain, position, missing_left


@inner_kernel
def _put(tree, total, c, row, o, w, rank, y):
    """Put a row on side c."""
    place, weight = rank[row, o], weight_of(w, row)
    moment = weight * y[o, place]
    total[c, 0] += weight
    total[c, 1] += moment
    i = place + 1
    while i < tree.shape[1]:
        tree[c, i, 0] += weight
        tree[c, i, 1] += moment
        i += i & -i


@inner_kernel
def _fenwick_median(tree, c, y, half, strict):
    """(first place with at least — if strict, more than — half of the weight up to it, weight and sum before it)."""
    at, below, below_sum, step = 0, 0.0, 0.0, 1
    while 2 * step < tree.shape[1]:
        step *= 2
    while step > 0:
        if at + step < tree.shape[1]:
            reach = below + tree[c, at + step, 0]
            if reach < half or (strict and reach == half):
                at += step
                below, below_sum = reach, below_sum + tree[c, at, 1]
        step //= 2
    return min(at, y.shape[1] - 1), below, below_sum


@inner_kernel
def _price(tree, total, c, o, y, costs, medians, j):
    """Add Σ w |y − median| of what is on side c to the cost of cut j, and keep the median."""
    at, below, below_sum = _fenwick_median(tree, c, y, 0.5 * total[c, 0], False)
    costs[j] += max(y[o, at] * (2.0 * below - total[c, 0]) + total[c, 1] - 2.0 * below_sum, 0.0)
    medians[c, j] = 0.5 * y[o, at] + 0.5 * y[o, _fenwick_median(tree, c, y, 0.5 * total[c, 0], True)[0]]


@kernel
def _absolute_costs(records, mask, node, valid, side, low, high, w, rank, y, o, costs, medians):
    """Add the costs of output ``o`` on both sides of every cut to ``costs``; keep medians and the right side's weight.

    Rows are put on each side from its own end and never taken away: weights may differ by any number of decades.
    """
    first, end = _part(2, side, node, valid, low, high)
    tree, total = np.zeros((2, node.stop - node.start + 1, 2)), np.zeros((2, 2))
    for part in range(3):
        a, b = _part(part, side, node, valid, low, high)
        for i in range(a, b):
            _put(tree, total, 0, np.int64(records[i] & mask), o, w, rank, y)
            if part == 2 and (records[i] ^ records[i + 1]) > mask:
                _price(tree, total, 0, o, y, costs, medians, i - node.start)
    stop = node.stop if side == 0 else valid
    for i in range(stop - 1, (first if first < end else stop) - 1, -1):
        if i < end and (records[i] ^ records[i + 1]) > mask:
            _price(tree, total, 1, o, y, costs, medians, i - node.start)
            medians[2, i - node.start] = total[1, 0]
        _put(tree, total, 1, np.int64(records[i] & mask), o, w, rank, y)


@kernel
def scan_absolute(records, mask, node, valid, low, high, direction, w, rank, y):
    """Absolute error in O(n log n): a Fenwick tree over the ranks of y on each side.

    ``y`` is the node's, ascending, less its median: a row that outweighs all others is then no part of any sum.
    """
    n = node.stop - node.start
    n_outputs = rank.shape[1]
    medians, costs = np.empty((3, n)), np.empty(n)
    gain, position, missing_left, bar = -1.0, -1, 0, math.inf
    for side in range(1 if valid == node.stop else 2):
        for j in range(n):
            costs[j] = 0.0
        for o in range(n_outputs):
            _absolute_costs(records, mask, node, valid, side, low, high, w, rank, y[:, :n], o, costs, medians)
        w_left = 0.0
        for part in range(3):
            a, b = _part(part, side, node, valid, low, high)
            for i in range(a, b):
                w_left += weight_of(w, np.int64(records[i] & mask))
                if part < 2 or (records[i] ^ records[i + 1]) <= mask:
                    continue
                j, w_right = i - node.start, medians[2, i - node.start]
                left, right = node.mean + medians[0, j], node.mean + medians[1, j]
                if costs[j] < bar and _allowed(left, right, w_left, w_right, direction, node):
                    gain = max(0.0, node.impurity * node.weight - costs[j] / n_outputs)
                    position, missing_left = i, side
                    bar = costs[j] - node.slack * n_outputs
    return gain, position, missing_left
