"""Coordinate descent on the quadratic model of a loss along columns of X, which are read where they lie.

Around raw predictions with slopes s and curvatures c the loss changes by sᵀz + ½ Σ c z² with z = X (w − w₀); ``slope``
holds the slopes of now, s + c z. Columns lie as in ``columns.py``. With an intercept that follows every step they are
meant about their means in the metric of c; the part of that in the slopes touches every row, so it is kept as one
number: the true slope is slope − offset · c.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel
from corollary._compiled.linear.cd import _check_penalty, _minimiser
from corollary._compiled.linear.columns import _add, _dot, _spread

HIDDEN = 1e-4  # of Σ c x²: less about the mean than this is a difference that has lost digits


@fast_kernel
def _measure(data, rows, start, stop, slope, curve):
    """Σ x s, Σ x² c and Σ x c of a column."""
    pull, square, total = 0.0, 0.0, 0.0
    if rows.shape[0] == 0:
        for p in range(stop - start):
            x = data[start + p]
            v = x * curve[p]
            pull += x * slope[p]
            square += v * x
            total += v
    else:
        for p in range(start, stop):
            u = np.uintp(p)
            i, x = np.uintp(rows[u]), data[u]
            v = x * curve[i]
            pull += x * slope[i]
            square += v * x
            total += v
    return pull, square, total


@fast_kernel
def model_epoch(matrix, columns, chosen, first, curve, slope, total, w, norms, sums, penalty, offset):
    """An epoch over columns[chosen]; the first of a model works out the curvatures (``norms``) and Σ x c (``sums``).

    ``total`` is Σ c, or zero without an intercept. Returns the violations that were met, in all, and the offset.
    """
    (data, rows, starts), (code, l1, l2) = matrix, penalty
    _check_penalty(code)
    mass = 0.0
    for a in range(chosen.shape[0]):
        k = chosen[a]
        start, stop = starts[columns[k]], starts[columns[k] + 1]
        if first:
            g, h, m = _measure(data, rows, start, stop, slope, curve)
            if total > 0.0:
                centred = h - m * (m / total)
                far = centred < HIDDEN * h
                h = _spread(data, rows, start, stop, curve, m / total, total) if far else centred
            norms[k], sums[k] = h, m
        else:
            g, h = _dot(data, rows, start, stop, slope), norms[k]
        if h + l2 <= 0.0:
            continue
        old = w[k]
        new = _minimiser(code, h * old - (g - offset * sums[k]), h, l1, l2)
        change = new - old
        if change != 0.0:
            w[k] = new
            mass += abs(change) * (h + l2)
            _add(data, rows, start, stop, change, curve, 0.0, slope)
            if total > 0.0:
                offset += change * (sums[k] / total)
    return mass, offset
