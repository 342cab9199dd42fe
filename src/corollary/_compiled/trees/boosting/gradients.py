"""Derivatives for boosting, by a team of threads over blocks of rows: the squared and logistic losses, and softmax.

They are those of the first rounds' kernel, so that most fits compile no others; see ``coded.py`` for the rest.
"""

from __future__ import annotations

import math

from corollary._compiled._jit import inner_kernel
from corollary._compiled.codes import LOGISTIC, SOFTMAX, SQUARED
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
    """Gradients and curvatures (class, row) of rows whose class numbers are y; returns Σ weight · log-loss.

    The curvature is p (1−p), the diagonal of the softmax Hessian.
    """
    n_classes = raw.shape[0]
    total = 0.0
    for i in range(raw.shape[1]):
        label = int(y[i])
        top = raw[0, i]
        for k in range(1, n_classes):
            top = max(top, raw[k, i])
        z = 0.0
        for k in range(n_classes):
            e = math.exp(raw[k, i] - top)
            gradient[k, i] = e
            z += e
        w = weights[i]
        total += w * (math.log(z) + top - raw[label, i])
        for k in range(n_classes):
            p = gradient[k, i] / z
            gradient[k, i] = w * (p - (1.0 if k == label else 0.0))
            hessian[k, i] = w * p * (1.0 - p)
    return total


@inner_kernel
def derivatives(team, rank, code, y, raw, weights, gradient, hessian, parts):
    """Fill gradients and curvatures (outputs, rows), and ``parts`` with the weighted loss of every block of rows."""
    n = raw.shape[1]
    first, end = share(team, rank, count_blocks(n, BLOCK))
    for block in range(first, end):
        a, b = rows_of(block, n, BLOCK)
        if code == SOFTMAX:
            parts[block] = _softmax(y[a:b], raw[:, a:b], weights[a:b], gradient[:, a:b], hessian[:, a:b])
        elif code == LOGISTIC:
            parts[block] = _logistic(y[a:b], raw[0, a:b], weights[a:b], gradient[0, a:b], hessian[0, a:b])
        elif code == SQUARED:
            parts[block] = _squared(y[a:b], raw[0, a:b], weights[a:b], gradient[0, a:b], hessian[0, a:b])
    return meet(team)
