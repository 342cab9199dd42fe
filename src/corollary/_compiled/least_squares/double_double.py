"""Residuals and gradients of least squares in double-double arithmetic: twice the digits of float64, from float64.

A number is a pair (high, low) with low the rounding error of high. The sums and products below are error free, so the
compiler must not reorder them: strict ``@kernel`` only. Its NumPy twin: ``solvers/least_squares/double_double.py``.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import kernel

SPLIT = 134217729.0  # 2²⁷ + 1 cuts a float64 into two halves of 26 bits (Dekker)
ROWS = 8  # rows whose residuals are summed side by side, so that the sums do not wait for one another


@kernel
def _halves(x):
    c = x * SPLIT
    upper = c - (c - x)
    return upper, x - upper


@kernel
def _product(x, b, b1, b2):
    """fl(x·b) and its error, given the halves of b."""
    x1, x2 = _halves(x)
    p = x * b
    return p, ((x1 * b1 - p) + x1 * b2 + x2 * b1) + x2 * b2


@kernel
def _sum(a, b):
    """fl(a + b) and its error."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@kernel
def residual_block(X, y, weights, coef, coef_low, start, start_low, gradient, gradient_low):
    """Add Xᵀ W r to gradient and Σ W r to its last entry, for r = y − X coef − start; returns Σ W r²."""
    n, d = X.shape
    high, low = np.zeros(ROWS), np.zeros(ROWS)
    squares = 0.0
    for first in range(0, n, ROWS):
        m = min(ROWS, n - first)
        for i in range(m):
            high[i], error = _sum(y[first + i], -start)
            low[i] = error - start_low
        for j in range(d):
            b, b_low = coef[j], coef_low[j]
            b1, b2 = _halves(b)
            for i in range(m):
                x = X[first + i, j]
                p, rest = _product(x, b, b1, b2)
                high[i], error = _sum(high[i], -p)
                low[i] += error - (rest + x * b_low)
        for i in range(m):
            r = high[i] + low[i]
            r_low = low[i] - (r - high[i])
            w = weights[first + i]
            squares += w * r * r
            if w != 1.0:
                r1, r2 = _halves(r)
                p, rest = _product(w, r, r1, r2)
                r, r_low = p, rest + w * r_low
            r1, r2 = _halves(r)
            for j in range(d):
                x = X[first + i, j]
                p, rest = _product(x, r, r1, r2)
                gradient[j], error = _sum(gradient[j], p)
                gradient_low[j] += error + (rest + x * r_low)
            gradient[d], error = _sum(gradient[d], r)
            gradient_low[d] += error + r_low
    return squares
