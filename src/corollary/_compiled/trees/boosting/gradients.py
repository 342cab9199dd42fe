"""Derivatives for boosting, by a team of threads over blocks of rows: the squared and logistic losses, and softmax.

They are part of the round's kernel, so that most fits compile no others; ``losses.loss_rows`` has the rest.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel
from corollary._compiled.codes import LOGISTIC, SOFTMAX, SQUARED
from corollary._compiled.losses import _softmax_row
from corollary._compiled.team import count_blocks, meet, rows_of, share

BLOCK = 4096  # rows; losses are added up block by block


@inner_kernel
def _squared(y, raw, weights, gradient, hessian):
    """Weighted derivatives of ½ (f − y)²; returns Σ weight · loss."""
    total = 0.0
    for i in range(raw.shape[0]):
        r, w = raw[i] - y[i], weights[i]
        gradient[i] = w * r
        hessian[i] = w
        total += w * (0.5 * r * r)
    return total


@inner_kernel
def _logistic(y, raw, weights, gradient, hessian):
    """Weighted derivatives of log(1 + exp(−y f)); returns Σ weight · loss.

    Logarithms are taken of products of 1 + exp(−|f|), many rows at a time where weights are one.
    """
    total, product = 0.0, 1.0
    for i in range(raw.shape[0]):
        m, w = y[i] * raw[i], weights[i]
        e = math.exp(-abs(m))
        s = 1.0 / (1.0 + e)
        away = e * s if m > 0.0 else s
        gradient[i] = -w * y[i] * away
        hessian[i] = w * e * s * s
        total += w * max(-m, 0.0)
        if w == 1.0:
            product *= 1.0 + e
            if product > 1e300:
                total += math.log(product)
                product = 1.0
        else:
            total += w * math.log1p(e)
    return total + math.log(product)


@inner_kernel
def _softmax(y, raw, weights, gradient, hessian):
    """Gradients and curvatures (row, class) of rows whose class numbers are y; returns Σ weight · log-loss.

    The curvature is w p (1 − p), the diagonal of the softmax Hessian. Of a row that is nearly certain, what is left of
    p or of 1 − p is the size of the gradient, which keeps its digits.
    """
    total = 0.0
    for i in range(raw.shape[0]):
        w = weights[i]
        total += _softmax_row(np.int64(y[i]), raw, i, w, gradient, i)
        for k in range(raw.shape[1]):
            size = abs(gradient[i, k])
            hessian[i, k] = size * (1.0 - size / w) if w > 0.0 else 0.0
    return total


@inner_kernel
def _unknown(gradient, hessian):
    """Of a loss that this kernel does not know: NaN, so that nothing comes of it in silence."""
    for i in range(gradient.shape[0]):
        gradient[i] = hessian[i] = np.nan
    return np.nan


@inner_kernel
def derivatives(team, rank, code, several, y, raw, weights, gradient, hessian, parts):
    """Fill gradients and curvatures (outputs, rows), and ``parts`` with the weighted loss of every block of rows.

    ``several`` is None unless the code is that of softmax; NaN for codes that are not of a loss of that kind.
    """
    n = raw.shape[1]
    first, end = share(team, rank, count_blocks(n, BLOCK))
    for block in range(first, end):
        a, b = rows_of(block, n, BLOCK)
        if several is not None and code == SOFTMAX:
            parts[block] = _softmax(y[a:b], raw.T[a:b], weights[a:b], gradient.T[a:b], hessian.T[a:b])
        elif several is None and code == LOGISTIC:
            parts[block] = _logistic(y[a:b], raw[0, a:b], weights[a:b], gradient[0, a:b], hessian[0, a:b])
        elif several is None and code == SQUARED:
            parts[block] = _squared(y[a:b], raw[0, a:b], weights[a:b], gradient[0, a:b], hessian[0, a:b])
        else:
            for k in range(raw.shape[0]):
                parts[block] = _unknown(gradient[k, a:b], hessian[k, a:b])
    return meet(team)
