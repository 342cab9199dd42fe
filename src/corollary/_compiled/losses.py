"""Losses point by point: value, first and second derivative, conjugate. A loss is an integer code and one parameter.

The codes are those of ``codes.py``; each branch has a plain NumPy twin in ``corollary.core.loss``, and tests compare
them.
Margin losses take y in {−1, +1}; softmax takes class numbers and a row of raw predictions.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.codes import (
    ABSOLUTE,
    EPSILON_INSENSITIVE,
    EXPONENTIAL,
    HINGE,
    HUBER,
    LOGISTIC,
    N_LOSSES,
    POISSON,
    QUANTILE,
    SQUARED,
    SQUARED_HINGE,
    TWEEDIE,
)
from corollary._compiled.team import meet, rows_of, take


@inner_kernel
def _sign(x):
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


@inner_kernel
def _xlogx(x):
    return x * math.log(x) if x > 0.0 else 0.0


@inner_kernel
def _tweedie(power, y, f):
    """Half the deviance of y from the mean exp(f), and its derivatives."""
    a, b = 2.0 - power, power - 1.0
    if y <= 0.0:
        e = math.exp(a * f)
        return e / a, e, a * e
    log_y = math.log(y)
    d, size = f - log_y, math.exp(a * log_y)
    rise, fall = math.expm1(a * d), math.expm1(-b * d)
    above, below = rise / a if a > 0.0 else d, fall / b if b > 0.0 else -d
    return size * (above + below), size * (rise - fall), size * (a * (1.0 + rise) + b * (1.0 + fall))


@inner_kernel
def check_loss(code):
    """Called once by every kernel that takes a loss from Python, before its loop."""
    if code < 0 or code >= N_LOSSES:
        raise ValueError("Unknown loss code: the kernels know those of corollary._compiled.codes.LOSSES.")


@inner_kernel
def _point(code, parameter, y, f):
    """(value, first derivative, second derivative) of one loss with respect to the raw prediction f."""
    if code == SQUARED:
        r = f - y
        return 0.5 * r * r, r, 1.0
    if code == LOGISTIC:
        m = y * f
        e = math.exp(-abs(m))
        s = 1.0 / (1.0 + e)
        value = math.log1p(e) + (0.0 if m > 0.0 else -m)
        away = e * s if m > 0.0 else s  # σ(−m)
        return value, -y * away, e * s * s
    if code == HUBER:
        r = f - y
        if abs(r) <= parameter:
            return 0.5 * r * r, r, 1.0
        return parameter * (abs(r) - 0.5 * parameter), parameter * _sign(r), 0.0
    if code == ABSOLUTE:
        r = f - y
        return abs(r), _sign(r), 0.0
    if code == QUANTILE:
        r = y - f
        slope = -parameter if r > 0.0 else (1.0 - parameter if r < 0.0 else 0.0)
        return -slope * r, slope, 0.0
    if code == EPSILON_INSENSITIVE:
        r = f - y
        if abs(r) <= parameter:
            return 0.0, 0.0, 0.0
        return abs(r) - parameter, _sign(r), 0.0
    if code == HINGE:
        m = 1.0 - y * f
        return (m, -y, 0.0) if m > 0.0 else (0.0, 0.0 * y, 0.0)
    if code == SQUARED_HINGE:
        m = 1.0 - y * f
        return (m * m, -2.0 * y * m, 2.0) if m > 0.0 else (0.0, 0.0 * y, 0.0)
    if code == TWEEDIE:
        return _tweedie(parameter, y, f)
    if code == EXPONENTIAL:
        e = math.exp(-y * f)
        return e, -y * e, e
    if code == POISSON:
        e = math.exp(f)
        return e - y * f, e - y, e
    return np.nan, np.nan, np.nan


@inner_kernel
def _tweedie_conjugate(power, y, u):
    """The supremum is where the slope y²⁻ᵖ (eᵃᵈ − e⁻ᵇᵈ) is u, with d = f − log y, a = 2 − power and b = power − 1.

    The slope rises with d, and (log of one end of it) brackets the place: Newton's steps that leave the bracket become
    halvings of it. Exponents stay of size one however close the power is to an end.
    """
    a, b, slack = 2.0 - power, power - 1.0, 1e-12
    if y == 0.0:  # the loss is eᵃᶠ/a
        return (u * math.log(u) - u) / a if u > 0.0 else (0.0 if u >= -slack else np.inf)
    logs = math.log(y)
    if power == 2.0:  # the slope is 1 − e⁻ᵈ
        if u > 1.0 + slack:
            return np.inf
        v = max(1.0 - u, 0.0)
        return (v * math.log(v) if v > 0.0 else 0.0) - v + 1.0 + u * logs
    if power == 1.0:  # the slope is y (eᵈ − 1)
        v = u + y
        if v < -slack * (1.0 + y):
            return np.inf
        return (v * math.log(v / y) if v > 0.0 else 0.0) + u * logs - u
    size = math.exp(a * logs)
    wanted = u / size
    low = -math.log1p(-wanted) / b if wanted < 0.0 else 0.0
    high = math.log1p(wanted) / a if wanted > 0.0 else 0.0
    if not (low > -np.inf and high < np.inf):
        return np.inf
    d = low if wanted < 0.0 else high
    for _ in range(200):
        up, down = math.exp(a * d), math.exp(-b * d)
        excess = up - down - wanted
        if excess > 0.0:
            high = d
        else:
            low = d
        steep = a * up + b * down
        after = d - excess / steep
        if not low <= after <= high:
            after = 0.5 * (low + high)
        if abs(after - d) <= 1e-15 * (1.0 + abs(d) + (up + down + abs(wanted)) / steep):  # the rest is rounding
            return u * (d + logs) - size * (math.expm1(a * d) / a + math.expm1(-b * d) / b)
        d = after
    return np.inf  # no bound is better than a wrong one


@inner_kernel
def _conjugate(code, parameter, y, u):
    """sup over f of u f − loss(y, f); inf outside its domain (a relative slack of 1e-12 is forgiven)."""
    slack = 1e-12
    if code == SQUARED:
        return u * (0.5 * u + y)
    if code == LOGISTIC:
        v = -u * y
        if v < -slack or v > 1.0 + slack:
            return np.inf
        v = min(max(v, 0.0), 1.0)
        return _xlogx(v) + ((1.0 - v) * math.log1p(-v) if v < 1.0 else 0.0)
    if code == HUBER:
        return u * (0.5 * u + y) if abs(u) <= parameter * (1.0 + slack) else np.inf
    if code == ABSOLUTE:
        return u * y if abs(u) <= 1.0 + slack else np.inf
    if code == QUANTILE:
        return u * y if -parameter - slack <= u <= 1.0 - parameter + slack else np.inf
    if code == EPSILON_INSENSITIVE:
        return u * y + parameter * abs(u) if abs(u) <= 1.0 + slack else np.inf
    if code == TWEEDIE:
        return _tweedie_conjugate(parameter, y, u)
    v = -u * y
    if code == HINGE:
        return -v if -slack <= v <= 1.0 + slack else np.inf
    if code == SQUARED_HINGE:
        return v * (0.25 * v - 1.0) if v >= -slack else np.inf
    if code == EXPONENTIAL:
        return _xlogx(max(v, 0.0)) - v if v >= -slack else np.inf
    if code == POISSON:
        v = u + y
        return _xlogx(max(v, 0.0)) - v if v >= -slack * (1.0 + y) else np.inf
    return np.nan


@inner_kernel
def weighted_point(code, parameter, majorant, y, f, w):
    """weight · (value, first, second derivative) at f; of a row without weight, whatever f has become, zeros.

    ``majorant`` asks for the curvature of the parabola through the point that lies above a loss with flat parts,
    ℓ′(r)/r with r = f − y, and 1 at r = 0.
    """
    if w == 0.0:
        return 0.0, 0.0, 0.0
    value, first, second = _point(code, parameter, y, f)
    if majorant:
        second = 1.0 if f == y else first / (f - y)
    return w * value, w * first, w * second


@lean_kernel
def loss_block(code, parameter, y, f, weights, slope, curve):
    """Fill slope and curve with the weighted derivatives and return Σ weight · loss over a block of rows."""
    check_loss(code)
    total = 0.0
    for i in range(f.shape[0]):
        value, slope[i], curve[i] = weighted_point(code, parameter, False, y[i], f[i], weights[i])
        total += value
    return total


@lean_kernel
def loss_rows(team, rank, code, parameter, majorant, y, f, weights, size, slope, curve, sums):
    """The same for all rows, shared out by a team: ``sums`` receives Σ weight · loss of each block of ``size`` rows."""
    check_loss(code)
    block = take(team)
    while block < sums.shape[0]:
        start, stop = rows_of(block, f.shape[0], size)
        total = 0.0
        for i in range(start, stop):
            value, slope[i], curve[i] = weighted_point(code, parameter, majorant, y[i], f[i], weights[i])
            total += value
        sums[block] = total
        block = take(team)
    meet(team)


@inner_kernel
def _conjugates(code, parameter, y, dual, weights, strict, start, stop):
    total = 0.0
    for i in range(start, stop):
        w, u = weights[i], dual[i]
        if strict and u * y[i] > 0.0:
            return np.inf
        if w > 0.0:
            total += w * _conjugate(code, parameter, y[i], u / w)
        elif u != 0.0:
            return np.inf
    return total


@lean_kernel
def conjugate_rows(team, rank, code, parameter, y, dual, weights, strict, size, sums):
    """Σ weight · conjugate(dual / weight), shared out by a team: ``sums`` receives that of each block of ``size`` rows.

    Rows of weight zero must have dual zero. With ``strict`` a dual that no prediction of the row's class has as its
    slope makes it infinite.
    """
    check_loss(code)
    block = take(team)
    while block < sums.shape[0]:
        start, stop = rows_of(block, dual.shape[0], size)
        sums[block] = _conjugates(code, parameter, y, dual, weights, strict, start, stop)
        block = take(team)
    meet(team)


@inner_kernel
def _softmax_row(label, f, i, w, slope, at):
    """One row of the softmax: weight · loss; slope[at] receives weight · (probabilities − indicator)."""
    n_classes = f.shape[1]
    if w == 0.0:
        for k in range(n_classes):
            slope[at, k] = 0.0
        return 0.0
    top = f[i, 0]
    for k in range(1, n_classes):
        top = max(top, f[i, k])
    others = 0.0
    for k in range(n_classes):
        e = math.exp(f[i, k] - top)
        slope[at, k] = e
        if k != label:
            others += e
    norm = others + slope[at, label]
    loss = math.log1p(others) if f[i, label] == top else math.log(norm) + (top - f[i, label])
    scale = w / norm
    for k in range(n_classes):
        slope[at, k] *= scale
    slope[at, label] = -scale * others
    return w * loss


@lean_kernel
def softmax_block(labels, f, weights, slope):
    """Σ weight · (log Σ exp f − f[label]); slope receives weight · (probabilities − indicator).

    What the other classes have is summed on its own, so that rows which are nearly certain keep their digits.
    """
    total = 0.0
    for i in range(f.shape[0]):
        total += _softmax_row(labels[i], f, i, weights[i], slope, i)
    return total


@lean_kernel
def softmax_rows(team, rank, labels, f, weights, size, slope, sums):
    """The same for all rows, shared out by a team: ``sums`` receives those of each block of ``size`` rows."""
    block = take(team)
    while block < sums.shape[0]:
        start, stop = rows_of(block, f.shape[0], size)
        total = 0.0
        for i in range(start, stop):
            total += _softmax_row(labels[i], f, i, weights[i], slope, i)
        sums[block] = total
        block = take(team)
    meet(team)


@inner_kernel
def _entropies(labels, dual, weights, strict, start, stop):
    total, slack = 0.0, 1e-12
    for i in range(start, stop):
        w = weights[i]
        if w <= 0.0:
            for k in range(dual.shape[1]):
                if dual[i, k] != 0.0:
                    return np.inf
            continue
        excess = 0.0  # of Σ p over one
        entropy = 0.0
        for k in range(dual.shape[1]):
            u = dual[i, k] / w
            excess += u
            if k == labels[i]:
                if u < -1.0 - slack or (strict and u > 0.0):
                    return np.inf
                if u > -1.0:
                    entropy += (1.0 + u) * math.log1p(u)
            else:
                if u < (0.0 if strict else -slack):
                    return np.inf
                entropy += _xlogx(max(u, 0.0))
        if abs(excess) > 1e-9:
            return np.inf
        total += w * entropy
    return total


@lean_kernel
def softmax_conjugate_rows(team, rank, labels, dual, weights, strict, size, sums):
    """Σ weight · Σ_k p log p with p = dual / weight + indicator, shared out by a team as in ``conjugate_rows``.

    Infinite if p leaves the simplex, or where a row without weight has a dual.
    """
    block = take(team)
    while block < sums.shape[0]:
        start, stop = rows_of(block, dual.shape[0], size)
        sums[block] = _entropies(labels, dual, weights, strict, start, stop)
        block = take(team)
    meet(team)


@inner_kernel
def _slope(code, parameter, y, raw, weights, v, l1, l2):
    """Derivative from the right of Σ weight · loss(y, raw + v) + ½ l2 v² + l1 |v|."""
    total = l2 * v + (l1 if v >= 0.0 else -l1)
    for i in range(raw.shape[0]):
        total += weights[i] * _point(code, parameter, y[i], raw[i] + v)[1]
    return total


@lean_kernel
def best_shift(code, parameter, y, raw, weights, l1, l2, reach):
    """The v that minimises Σ weight · loss(y, raw + v) + ½ l2 v² + l1 |v|, by halving.

    The slope rises with v, so a bracket of its zero is widened from ``reach`` and then halved to rounding.
    """
    check_loss(code)
    low, high = -reach, reach
    for _ in range(60):
        if _slope(code, parameter, y, raw, weights, low, l1, l2) <= 0.0:
            break
        low *= 2.0
    for _ in range(60):
        if _slope(code, parameter, y, raw, weights, high, l1, l2) >= 0.0:
            break
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            break
        if _slope(code, parameter, y, raw, weights, middle, l1, l2) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
