"""Mixtures of Gaussians, a chunk of rows at a time: distances to means, posteriors, and weighted moments.

Rows run along the last axis where something is summed over columns, so that sums need no horizontal additions. Moments
are about fixed points (the present means), so that those of chunks simply add up.
"""

from __future__ import annotations

import math

from corollary._compiled._jit import bits_of, fast_kernel, float_of, kernel


@kernel
def enter(X, centre, inverse, Z):
    """Z = (X − centre) · inverse."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            Z[i, j] = (X[i, j] - centre[j]) * inverse[j]


@fast_kernel
def whitened_squares(Y, centres, stride, squares):
    """Squared distances (k, rows) of whitened rows, one in each column of Y from line k · stride, to the centres."""
    n, (k_all, d) = Y.shape[1], centres.shape
    squares[:] = 0.0
    for k in range(k_all):
        fours = d - d % 4
        for j in range(0, fours, 4):  # four columns at a time: a quarter of the traffic to ``squares``
            line = k * stride + j
            e, f, g, h = centres[k, j], centres[k, j + 1], centres[k, j + 2], centres[k, j + 3]
            for i in range(n):
                p, q, r, s = Y[line, i] - e, Y[line + 1, i] - f, Y[line + 2, i] - g, Y[line + 3, i] - h
                squares[k, i] += (p * p + q * q) + (r * r + s * s)
        for j in range(fours, d):
            e = centres[k, j]
            for i in range(n):
                p = Y[k * stride + j, i] - e
                squares[k, i] += p * p


@kernel
def _turn(Z, turned):
    """The transpose of Z; four rows at a time, which are written as one vector."""
    n, d = Z.shape
    fours = n - n % 4
    for i in range(0, fours, 4):
        for j in range(d):
            turned[j, i], turned[j, i + 1] = Z[i, j], Z[i + 1, j]
            turned[j, i + 2], turned[j, i + 3] = Z[i + 2, j], Z[i + 3, j]
    for i in range(fours, n):
        for j in range(d):
            turned[j, i] = Z[i, j]


@fast_kernel
def diagonal_squares(Z, turned, centres, roots, squares):
    """Squares of z · root − centre summed over columns, (k, rows); ``turned`` receives the transpose of Z."""
    n, (k_all, d) = Z.shape[0], centres.shape
    _turn(Z, turned)
    squares[:] = 0.0
    fours = d - d % 4
    for k in range(k_all):
        for j in range(0, fours, 4):  # four columns at a time: a quarter of the traffic to ``squares``
            e, f, g, h = centres[k, j], centres[k, j + 1], centres[k, j + 2], centres[k, j + 3]
            s, t, u, v = roots[k, j], roots[k, j + 1], roots[k, j + 2], roots[k, j + 3]
            for i in range(n):
                one, two = turned[j, i] * s - e, turned[j + 1, i] * t - f
                three, four = turned[j + 2, i] * u - g, turned[j + 3, i] * v - h
                squares[k, i] += (one * one + two * two) + (three * three + four * four)
        for j in range(fours, d):
            here, root = centres[k, j], roots[k, j]
            for i in range(n):
                one = turned[j, i] * root - here
                squares[k, i] += one * one


@fast_kernel
def joint(squares, offsets, labels, top, logs):
    """squares becomes the log joint densities, offsets − squares / 2; ``top`` is the largest of each row.

    ``logs`` of a labelled row is that of its component.
    """
    k_all, n = squares.shape
    top[:n] = -math.inf
    for k in range(k_all):
        offset = offsets[k]
        for i in range(n):
            value = offset - 0.5 * squares[k, i]
            squares[k, i] = value
            top[i] = max(top[i], value)
    for i in range(n):
        if labels[i] >= 0:
            logs[i] = squares[labels[i], i]


@kernel
def exponentials(logs, top, cut):
    """logs[k, i] becomes exp(logs[k, i] − top[i]), zero where that difference is not above cut[k].

    Several rows at a time, which the mathematical library cannot: x = n log 2 + r with whole n, then a polynomial in r,
    then n added to the exponent. Adding 1.5 · 2⁵² rounds x / log 2 to n, in the lowest bits of the sum. The polynomial
    is Taylor's to the 12th power: |r| ≤ 0.35, so it is exact to the last bit or two. Strict arithmetic: these are
    sums that must not be reordered.
    """
    k_all, n = logs.shape
    for k in range(k_all):
        least = max(cut[k], -700.0)  # beyond, no sum of shares notices
        for i in range(n):
            below = logs[k, i] - top[i]
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
            logs[k, i] = share if below > least else 0.0


@fast_kernel
def settle(shares, top, weights, labels, posterior, logs, counts):
    """Posteriors times weights, log densities, and weights of components; returns Σ weight · log density.

    ``shares`` are joint densities over the largest of their row, whose logarithm is ``top``. A labelled row belongs to
    its component for certain.
    """
    k_all, n = shares.shape
    sum_logs = 0.0
    for i in range(n):
        weight, label = weights[i], labels[i]
        if label >= 0:
            for k in range(k_all):
                posterior[i, k] = 0.0
            posterior[i, label] = weight
        elif top[i] == -math.inf:  # so far away that no component has any density
            for k in range(k_all):
                posterior[i, k] = weight / k_all
            logs[i] = top[i]
        else:
            total = 0.0
            for k in range(k_all):
                total += shares[k, i]
            factor = weight / total
            for k in range(k_all):
                posterior[i, k] = factor * shares[k, i]
            logs[i] = top[i] + math.log(total)
        for k in range(k_all):
            counts[k] += posterior[i, k]
        sum_logs += weight * logs[i]
    return sum_logs


@fast_kernel
def pack(Z, posterior, k, mean, packed):
    """Rows of component k about ``mean``, times the root of their share; returns how many have a share."""
    n, d = Z.shape
    kept = 0
    for i in range(n):
        share = posterior[i, k]
        if share > 0.0:
            root = math.sqrt(share)
            for j in range(d):
                packed[kept, j] = root * (Z[i, j] - mean[j])
            kept += 1
    return kept


@fast_kernel
def diagonal_moments(Z, posterior, means, first, second):
    """Add Σ share · (z − mean) and Σ share · (z − mean)², by component and column."""
    n, (k_all, d) = Z.shape[0], means.shape
    fours = n - n % 4
    for i in range(0, fours, 4):  # four rows at a time: the sums are read and written once
        for k in range(k_all):
            a, b, c, e = posterior[i, k], posterior[i + 1, k], posterior[i + 2, k], posterior[i + 3, k]
            if a + b + c + e > 0.0:
                for j in range(d):
                    mean = means[k, j]
                    p, q, r, s = Z[i, j] - mean, Z[i + 1, j] - mean, Z[i + 2, j] - mean, Z[i + 3, j] - mean
                    ap, bq, cr, es = a * p, b * q, c * r, e * s
                    first[k, j] += (ap + bq) + (cr + es)
                    second[k, j] += (ap * p + bq * q) + (cr * r + es * s)
    for i in range(fours, n):
        for k in range(k_all):
            a = posterior[i, k]
            for j in range(d):
                p = Z[i, j] - means[k, j]
                first[k, j] += a * p
                second[k, j] += a * p * p


@kernel
def diagonal_pass(
    X, weights, labels, units, params, size, rows, turned, squares, posterior, top, logs, counts, first, second
):
    """One E step of diagonal components, ``size`` rows at a time; returns Σ weight · log density.

    ``units`` are (centre, 1 / scale); ``params`` are (means, means · roots, roots, offsets, cut).
    """
    means, centres, roots, offsets, cut = params
    (k, d), n, total = means.shape, X.shape[0], 0.0
    for start in range(0, n, size):
        stop = min(start + size, n)
        m = stop - start
        Z, here, shares = rows[:m], labels[start:stop], posterior[:m]
        table, transposed = squares[: k * m].reshape((k, m)), turned[: d * m].reshape((d, m))
        enter(X[start:stop], units[0], units[1], Z)
        diagonal_squares(Z, transposed, centres, roots, table)
        joint(table, offsets, here, top[:m], logs[:m])
        exponentials(table, top[:m], cut)
        total += settle(table, top[:m], weights[start:stop], here, shares, logs[:m], counts)
        diagonal_moments(Z, shares, means, first, second)
    return total
