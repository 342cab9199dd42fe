"""Scan a sorted list where weights differ by many decades: sums of each side are added up from its own end.

The ordinary scans (``scan.py``) take what is on the right as the rest of the node. If one row outweighs another 10¹⁶
times that rest has no digit left, though a light row far off may be most of the impurity. Here both sides are sums of
their own rows, and gains are differences of means (Gini, squares) or of impurities that are sums of positive numbers.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.trees.exact.scan import (
    ENTROPY,
    GINI,
    POISSON,
    _allowed,
    _part,
    class_impurity,
    sums_score,
)


@inner_kernel
def _add(sums, row, codes, w, v):
    """Add a row to the sums of a side: by class or output, and last its weight."""
    last = sums.shape[0] - 1
    sums[last] += w[row]
    if codes is None:
        pass
    else:
        sums[np.int64(codes[row, 0])] += w[row]
    if v is None:
        pass
    else:
        for o in range(last):
            sums[o] += v[row, o]


@inner_kernel
def _gain(criterion, left, right, totals, whole):
    """What a cut gains. Shares of classes add up to one, so the heaviest class differs by as much as all others do."""
    last = totals.shape[0]
    a, b = left[last], right[last]
    if criterion == ENTROPY:
        return whole - class_impurity(left[:last], criterion) - class_impurity(right[:last], criterion)
    if criterion == POISSON:
        score = 0.0
        for o in range(last):
            score += sums_score(criterion, left[o], right[o], a, b) / last
        return score
    heaviest, squares, others = -1, 0.0, 0.0
    if criterion == GINI:
        heaviest = 0
        for k in range(last):
            heaviest = k if totals[k] > totals[heaviest] else heaviest
    for k in range(last):
        apart = left[k] / a - right[k] / b if k != heaviest else 0.0
        squares += apart * apart
        others += apart
    if criterion == GINI:
        squares += others * others
    else:
        squares /= last
    return a / (a + b) * b * squares


@kernel
def scan_uneven(records, mask, node, valid, low, high, direction, criterion, codes, w, v, totals):
    """As the scans of ``scan.py``, for classes of one output and for all that is told by sums. Cost: two passes."""
    last = totals.shape[0]
    behind, left, run = np.empty((node.stop - node.start, last + 1)), np.empty(last + 1), np.empty(last + 1)
    whole = 0.0
    if criterion == ENTROPY:
        whole = class_impurity(totals, criterion)
    column = 1 if codes is not None else 0
    gain, position, missing_left, bar = -1.0, -1, 0, -math.inf
    for side in range(1 if valid == node.stop else 2):
        for k in range(last + 1):
            left[k], run[k] = 0.0, 0.0
        for i in range((node.stop if side == 0 else valid) - 1, node.start - 1, -1):
            for k in range(last + 1):
                behind[i - node.start, k] = run[k]
            _add(run, np.int64(records[i] & mask), codes, w, v)
        for part in range(3):
            first, end = _part(part, side, node, valid, low, high)
            for i in range(first, end):
                _add(left, np.int64(records[i] & mask), codes, w, v)
                if part < 2 or (records[i] ^ records[i + 1]) <= mask:
                    continue
                right = behind[i - node.start]
                own = _gain(criterion, left, right, totals, whole)
                if own > bar:
                    base = node.mean if v is not None and criterion != POISSON else 0.0
                    on_left, on_right = base + left[column] / left[last], base + right[column] / right[last]
                    if _allowed(on_left, on_right, left[last], right[last], direction, node):
                        gain, position, missing_left, bar = max(own, 0.0), i, side, own + node.slack
    return gain, position, missing_left
