"""Mixtures of Gaussians, ``ROWS`` rows at a time: from squared distances to shares of the components.

Rows run along the last axis, so that sums over columns or components need no horizontal additions. All arrays have room
for ``ROWS`` rows, a number that the compiler knows; what is beyond the last row gets no share.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import bits_of, float_of, inner_fast_kernel, inner_kernel

# 32 columns of so many rows fit into a core's first cache; unsigned, so that no index is asked for its sign
ROWS, ROWS_2, ROWS_3 = np.uintp(128), np.uintp(256), np.uintp(384)
CHUNK = int(ROWS)


@inner_kernel
def turn(X, start, stop, centre, inverse, turned):
    """turned[j · ROWS + i] = (X[start + i, j] − centre[j]) · inverse[j]; zero from the last row on.

    Four rows at a time, which are written as one vector.
    """
    n, d = stop - start, X.shape[1]
    if n < CHUNK:
        for i in range(turned.shape[0]):
            turned[i] = 0.0
    fours = n - n % 4
    for i in range(0, fours, 4):
        for j in range(d):
            c, s, to = centre[j], inverse[j], j * CHUNK + i
            turned[to], turned[to + 1] = (X[start + i, j] - c) * s, (X[start + i + 1, j] - c) * s
            turned[to + 2], turned[to + 3] = (X[start + i + 2, j] - c) * s, (X[start + i + 3, j] - c) * s
    for i in range(fours, n):
        for j in range(d):
            turned[j * CHUNK + i] = (X[start + i, j] - centre[j]) * inverse[j]


@inner_kernel
def relative(squares, offsets, cut, half, labels, top, logs):
    """squares become joint densities over the largest of their row, ``top`` its logarithm.

    A log joint density is offset − half · square; that of a labelled row in its component goes to ``logs``. Densities
    are zero where their logarithm over the largest is not above cut[k].

    exp of several rows at a time, which the mathematical library cannot: x = n log 2 + r with whole n, then a
    polynomial in r, then n added to the exponent. Adding 1.5 · 2⁵² rounds x / log 2 to n, in the lowest bits of the
    sum. The polynomial is Taylor's to the 12th power: |r| ≤ 0.35, so it is exact to the last bit or two. Strict
    arithmetic: these are sums that must not be reordered.
    """
    for i in range(ROWS):
        top[i] = -math.inf
    for k in range(squares.shape[0]):
        offset = offsets[k]
        for i in range(ROWS):
            value = offset - half * squares[k, i]
            squares[k, i] = value
            top[i] = max(top[i], value)
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            logs[i] = squares[labels[i], i]
    for k in range(squares.shape[0]):
        least = max(cut[k], -700.0)  # beyond, no sum of shares notices
        for i in range(ROWS):
            below = squares[k, i] - top[i]
            x = max(below, -700.0)
            t = x * 1.4426950408889634 + 6755399441055744.0
            whole = t - 6755399441055744.0
            r = (x - whole * 0.693147180369123816490) - whole * 1.90821492927058770002e-10
            p = 1 / 479001600 * r + 1 / 39916800
            p = p * r + 1 / 3628800
            p = p * r + 1 / 362880
            p = p * r + 1 / 40320
            p = p * r + 1 / 5040
            p = p * r + 1 / 720
            p = p * r + 1 / 120
            p = p * r + 1 / 24
            p = p * r + 1 / 6
            p = p * r + 0.5
            p = p * r * r + r + 1.0
            share = float_of(bits_of(p) + (bits_of(t) << 52))
            squares[k, i] = share if below > least else 0.0


@inner_fast_kernel
def settle(shares, top, weights, labels, logs, factors, counts):
    """Shares become posteriors times weights, counts[k, 0] grows by their sums; returns Σ weight · log density.

    ``shares`` are joint densities over the largest of their row, whose logarithm is ``top``. A labelled row belongs to
    its component for certain.
    """
    k_all, n, sum_logs = shares.shape[0], weights.shape[0], 0.0
    for i in range(ROWS):
        factors[i] = 0.0
    for k in range(k_all):
        for i in range(ROWS):
            factors[i] += shares[k, i]
    for i in range(n, CHUNK):
        factors[i] = 0.0
    for i in range(n):
        weight, label = weights[i], labels[i]
        if label >= 0 or top[i] == -math.inf:
            for k in range(k_all):
                shares[k, i] = 0.0 if label >= 0 else 1.0 / k_all
            if label >= 0:
                shares[label, i] = 1.0
            else:  # so far away that no component has any density
                logs[i] = top[i]
            factors[i] = weight
        else:
            logs[i] = top[i] + math.log(factors[i])
            factors[i] = weight / factors[i]
        sum_logs += weight * logs[i]
    for k in range(k_all):
        count = 0.0
        for i in range(ROWS):
            share = shares[k, i] * factors[i]
            shares[k, i] = share
            count += share
        counts[k, 0] += count
    return sum_logs


@inner_kernel
def hand_over(shares, logs, start, stop, to_shares, to_logs):
    """Posteriors (k, ROWS) and log densities of these rows, to where those of all rows are (n, k)."""
    for i in range(stop - start):
        to_logs[start + i] = logs[i]
        for k in range(shares.shape[0]):
            to_shares[start + i, k] = shares[k, i]
