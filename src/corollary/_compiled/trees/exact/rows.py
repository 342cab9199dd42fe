"""What an exact tree knows of the rows of a node: their records, their prediction and impurity, what scans read."""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.trees.deviance import deviance
from corollary._compiled.trees.exact.scan import ABSOLUTE, GINI, SQUARED, class_impurity, weight_of, xlogx


@inner_kernel
def argsort(x, order, spare):
    """Fill ``order`` with the stable ascending order of x, by merging runs of doubling length."""
    n = x.shape[0]
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for a in range(0, n, 2 * width):
            middle, b = min(a + width, n), min(a + 2 * width, n)
            i, j = a, middle
            for k in range(a, b):
                if i < middle and (j >= b or x[order[i]] <= x[order[j]]):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        for k in range(n):
            order[k] = spare[k]
        width *= 2


@inner_kernel
def _describe_classes(records, start, stop, mask, criterion, codes, w, value):
    n_outputs, weight = codes.shape[1], 0.0
    for k in range(value.shape[0]):
        value[k] = 0.0
    for i in range(start, stop):
        row = np.int64(records[i] & mask)
        own = weight_of(w, row)
        weight += own
        for o in range(n_outputs):
            value[codes[row, o]] += own
    impurity, present = 1.0 if criterion == GINI else 0.0, 0
    for k in range(value.shape[0]):
        present += value[k] > 0.0
        value[k] /= weight
        impurity -= (value[k] * value[k] if criterion == GINI else xlogx(value[k])) / n_outputs
    pure = present == n_outputs
    if n_outputs == 1:
        impurity = class_impurity(value, criterion)
    return weight, 0.0 if pure else max(impurity, 0.0), pure


@inner_kernel
def _median(y, w, order):
    """(weighted median, Σ w |y − median|) of the values y whose ascending order is ``order``."""
    total, below = 0.0, 0.0
    for j in range(w.shape[0]):
        total += w[j]
    lower, upper = math.nan, math.nan
    for j in range(order.shape[0]):
        below += w[order[j]]
        if lower != lower and below >= 0.5 * total:
            lower = y[order[j]]
        if upper != upper and below > 0.5 * total:
            upper = y[order[j]]
    median = 0.5 * lower + 0.5 * upper if upper == upper else lower
    cost = 0.0
    for j in range(y.shape[0]):
        cost += w[j] * abs(y[j] - median)
    return median, cost


@kernel
def _describe_output(records, start, stop, mask, criterion, y_all, w_all, o):
    """(weight, value, impurity, pure) of output ``o``."""
    n = stop - start
    y, w = np.empty(n), np.empty(n)
    weight, total, low, high = 0.0, 0.0, math.inf, -math.inf
    for i in range(n):
        row = np.int64(records[start + i] & mask)
        y[i], w[i] = y_all[row, o], weight_of(w_all, row)
        weight += w[i]
        total += w[i] * y[i]
        low, high = min(low, y[i]), max(high, y[i])
    if low == high:
        return weight, low, 0.0, True
    if criterion == ABSOLUTE:
        order, spare = np.empty(n, np.int32), np.empty(n, np.int32)
        argsort(y, order, spare)
        median, cost = _median(y, w, order)
        return weight, median, cost / weight, False
    mean, residual, spread = total / weight, 0.0, 0.0
    for i in range(n):
        residual += w[i] * (y[i] - mean)
    mean = min(max(mean + residual / weight, low), high)
    for i in range(n):
        if criterion == SQUARED:
            spread += w[i] * (y[i] - mean) * (y[i] - mean)
        else:
            spread += deviance(w[i] * (y[i] - mean), w[i], mean)
    return weight, mean, max(spread, 0.0) / weight, False


@inner_kernel
def describe(records, start, stop, mask, criterion, codes, y, w, value):
    """(weight, impurity, pure) of the rows in a segment; their prediction is written to ``value``."""
    if codes is None:
        pass
    else:
        return _describe_classes(records, start, stop, mask, criterion, codes, w, value)
    if y is None:
        return 0.0, 0.0, True
    else:
        weight, impurity, pure = 0.0, 0.0, True
        for o in range(value.shape[0]):
            weight, value[o], part, single = _describe_output(records, start, stop, mask, criterion, y, w, o)
            impurity += part / value.shape[0]
            pure = pure and single
        return weight, impurity, pure


@kernel
def _rank_targets(records, start, stop, mask, y, value, rank, sorted_y):
    n = stop - start
    here, order, spare = np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32)
    for o in range(y.shape[1]):
        for i in range(n):
            here[i] = y[np.int64(records[start + i] & mask), o]
        argsort(here, order, spare)
        for j in range(n):
            rank[np.int64(records[start + order[j]] & mask), o] = j
            sorted_y[o, j] = here[order[j]] - value[o]


@inner_kernel
def prepare(records, start, stop, mask, criterion, codes, y, w, value, totals, v, rank, sorted_y):
    """Fill what the scans of a node read.

    ``totals`` of classes or of v; v = w (y − value), or w y for Poisson; or the ``rank`` of y in ``sorted_y``, which is
    y less ``value``.
    """
    for k in range(totals.shape[0]):
        totals[k] = 0.0
    if codes is None:
        pass
    else:  # counted again rather than weight · value, so that counts are whole numbers
        for i in range(start, stop):
            row = np.int64(records[i] & mask)
            for o in range(codes.shape[1]):
                totals[codes[row, o]] += weight_of(w, row)
    if rank is None:
        pass
    else:
        _rank_targets(records, start, stop, mask, y, value, rank, sorted_y)
    if v is None:
        pass
    else:
        for o in range(y.shape[1]):
            for i in range(start, stop):
                row = np.int64(records[i] & mask)
                v[row, o] = y[row, o] - (value[o] if criterion == SQUARED else 0.0)
                if w is not None:
                    v[row, o] *= w[row]
                totals[o] += v[row, o]
