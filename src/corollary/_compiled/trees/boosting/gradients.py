"""Derivatives for boosting: the logistic loss many rows at a time, and softmax by class."""

from __future__ import annotations

import math

from corollary._compiled._jit import lean_kernel


@lean_kernel
def logistic_gradients(y, raw, weights, gradient, hessian):
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


@lean_kernel
def softmax_gradients(labels, raw, weights, start, stop, gradient, hessian):
    """Gradients and curvatures (class, row) for rows start:stop; returns Σ weight · log-loss.

    The curvature is p (1−p), the diagonal of the softmax Hessian.
    """
    n_classes = raw.shape[0]
    total = 0.0
    for i in range(start, stop):
        top = raw[0, i]
        for k in range(1, n_classes):
            top = max(top, raw[k, i])
        z = 0.0
        for k in range(n_classes):
            e = math.exp(raw[k, i] - top)
            gradient[k, i] = e
            z += e
        w = weights[i]
        total += w * (math.log(z) + top - raw[labels[i], i])
        for k in range(n_classes):
            p = gradient[k, i] / z
            gradient[k, i] = w * (p - (1.0 if k == labels[i] else 0.0))
            hessian[k, i] = w * p * (1.0 - p)
    return total
