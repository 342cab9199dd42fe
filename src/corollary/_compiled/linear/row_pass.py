"""One pass over the rows of X for a loss: raw predictions, Σ w ℓ, slopes, Xᵀ slope and what Newton's method needs more.

A block of rows is used for all of these while it lies in the cache, so X is read from memory once. Threads of a team
take chunks of rows, a grid fixed by the shape of the data; each chunk has a row of ``parts``, which are added up in its
order. ``origin`` is taken from every row of X.

The numbers of a pass lie side by side: Σ w ℓ, Σ w f², Σ slope, Σ curve, then Xᵀ slope, Xᵀ curve and, if wanted, the
upper triangle of Xᵀ diag(curve) X, row by row in a square.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import fast_kernel, kernel
from corollary._compiled.losses import check_loss, softmax_block, weighted_point
from corollary._compiled.team import add_up, rows_of, take

HEAD = 4  # numbers before the vectors


@fast_kernel
def _scores(X, start, stop, origin, coef, intercept, out):
    for i in range(start, stop):
        f = 0.0
        for j in range(coef.shape[0]):
            f += (X[i, j] - origin[j]) * coef[j]
        out[i] = f + intercept


@fast_kernel
def _add_rows(X, start, stop, origin, slope, curve, out, at):
    """out[at:] += Σ slope · row and, after these, Σ curve · row; four rows for each time that ``out`` is stored."""
    d = origin.shape[0]
    whole = start + (stop - start) // 4 * 4
    for i in range(start, whole, 4):
        s0, s1, s2, s3 = slope[i], slope[i + 1], slope[i + 2], slope[i + 3]
        c0, c1, c2, c3 = curve[i], curve[i + 1], curve[i + 2], curve[i + 3]
        for j in range(d):
            m = origin[j]
            x0, x1, x2, x3 = X[i, j] - m, X[i + 1, j] - m, X[i + 2, j] - m, X[i + 3, j] - m
            out[at + j] += s0 * x0 + s1 * x1 + s2 * x2 + s3 * x3
            out[at + d + j] += c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
    for i in range(whole, stop):
        for j in range(d):
            x = X[i, j] - origin[j]
            out[at + j] += slope[i] * x
            out[at + d + j] += curve[i] * x


@kernel
def _add_gram(X, start, stop, origin, curve, scaled, product, out, at):
    """Add the upper triangle of Σ curve · row rowᵀ: the product of √curve · row with itself."""
    d, count = origin.shape[0], stop - start
    for i in range(count):
        root = math.sqrt(curve[start + i])
        for j in range(d):
            scaled[i, j] = root * (X[start + i, j] - origin[j])
    np.dot(scaled[:count].T, scaled[:count], product)
    for k in range(d):
        for j in range(k, d):
            out[at + k * d + j] += product[k, j]


@kernel
def loss_pass(team, rank, rows, model, loss, y, weights, grid, slope, curve, parts, total):
    """``rows`` is (X, origin), ``model`` (coefficients, intercept), ``loss`` (code, parameter, whether its majorant).

    ``grid`` is (rows of a chunk, rows of a block); ``slope`` and ``curve`` receive w ℓ′ and w ℓ″.
    """
    (X, origin), (coef, intercept), (code, parameter, majorant), (size, lines) = rows, model, loss, grid
    check_loss(code)
    n, d = X.shape
    square = parts.shape[1] > HEAD + 2 * d
    scaled, product = np.empty((lines if square else 0, d)), np.empty((d, d) if square else (0, 0))
    chunk = take(team)
    while chunk < parts.shape[0]:
        part = parts[chunk]
        part[:] = 0.0
        first, end = rows_of(chunk, n, size)
        for start in range(first, end, lines):
            stop = min(start + lines, end)
            _scores(X, start, stop, origin, coef, intercept, slope)
            for i in range(start, stop):
                w, f = weights[i], slope[i]
                value, slope[i], curve[i] = weighted_point(code, parameter, majorant, y[i], f, w)
                part[0] += value
                part[1] += w * f * f if w > 0.0 else 0.0
                part[2] += slope[i]
                part[3] += curve[i]
            _add_rows(X, start, stop, origin, slope, curve, part, HEAD)
            if square:
                _add_gram(X, start, stop, origin, curve, scaled, product, part, HEAD + 2 * d)
        chunk = take(team)
    add_up(team, rank, parts, total)


@kernel
def softmax_pass(team, rank, rows, model, labels, weights, grid, slope, parts, total):
    """The same for one raw prediction per class: Σ w ℓ, then Xᵀ slope (d × k) and Σ slope (k), row by row."""
    (X, origin), (coef, intercept), (size, lines) = rows, model, grid
    (n, d), k = X.shape, coef.shape[1]
    block, raw, product = np.empty((lines, d)), np.empty((lines, k)), np.empty((d, k))
    chunk = take(team)
    while chunk < parts.shape[0]:
        part = parts[chunk]
        part[:] = 0.0
        first, end = rows_of(chunk, n, size)
        for start in range(first, end, lines):
            stop = min(start + lines, end)
            count = stop - start
            for i in range(count):
                for j in range(d):
                    block[i, j] = X[start + i, j] - origin[j]
            np.dot(block[:count], coef, raw[:count])
            for i in range(count):
                for c in range(k):
                    raw[i, c] += intercept[c]
            own = slope[start:stop]
            part[0] += softmax_block(labels[start:stop], raw[:count], weights[start:stop], own)
            np.dot(block[:count].T, own, product)
            for j in range(d):
                for c in range(k):
                    part[1 + j * k + c] += product[j, c]
            for i in range(count):
                for c in range(k):
                    part[1 + d * k + c] += own[i, c]
        chunk = take(team)
    add_up(team, rank, parts, total)
