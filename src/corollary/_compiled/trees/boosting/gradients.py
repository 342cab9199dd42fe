"""Derivatives for boosting: softmax by class, and the exact best constant of a leaf for losses that are not curved."""

from __future__ import annotations

import math

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.losses import _point, check_loss


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


@inner_kernel
def _slope(code, parameter, rows, start, stop, y, raw, weights, v, l1, l2):
    """Derivative from the right of Σ weight · loss(y, raw + v) + ½ l2 v² + l1 |v|."""
    total = l2 * v + (l1 if v >= 0.0 else -l1)
    for k in range(start, stop):
        r = rows[k]
        total += weights[r] * _point(code, parameter, y[r], raw[r] + v)[1]
    return total


@lean_kernel
def best_constant(code, parameter, rows, start, stop, y, raw, weights, l1, l2, reach):
    """The v that minimises Σ weight · loss(y, raw + v) + ½ l2 v² + l1 |v| over rows[start:stop], by halving.

    The slope rises with v, so a bracket of its zero is widened from ``reach`` and then halved to rounding.
    """
    check_loss(code)
    low, high = -reach, reach
    for _ in range(60):
        if _slope(code, parameter, rows, start, stop, y, raw, weights, low, l1, l2) <= 0.0:
            break
        low *= 2.0
    for _ in range(60):
        if _slope(code, parameter, rows, start, stop, y, raw, weights, high, l1, l2) >= 0.0:
            break
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            break
        if _slope(code, parameter, rows, start, stop, y, raw, weights, middle, l1, l2) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
