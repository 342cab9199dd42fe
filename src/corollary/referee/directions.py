"""The referee's angles: rows of length one as sums of two long doubles, enough for the least angle that there is.

Two rows of float64 that are not parallel are at an angle of 1e-32 or more. A long double has 19 digits, too few to tell
which of two such angles is the smaller; a sum of two has 38.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.rows import EPS, LONG, Array

SPLIT = LONG(2) ** ((np.finfo(LONG).nmant + 2) // 2) + 1
ROUNDING = 64 * LONG(np.finfo(LONG).eps) ** 2  # of the entries of such rows, and of the differences of two


def cosine_distances(X: Array, Q: Array) -> Array:
    """1 − cos of the angles between rows of Q and of X, as half the squared distance of the rows of length one.

    A row of zeros has no direction: it is at distance one from every other.
    """
    (high, low), (upper, lower) = _of_length_one(X), _of_length_one(Q)
    found = np.empty((len(Q), len(X)), LONG)
    for i in range(len(Q)):
        away, rest = _sum(high, -upper[i])
        away = away + (rest + (low - lower[i]))
        found[i] = (away * away).sum(axis=1) / 2
    return np.where(Q.any(axis=1)[:, None] & X.any(axis=1)[None, :], found, LONG(1))


def cosine_rounding(distances: Array) -> Array:
    """By how much such distances may be off."""
    size = np.sqrt(2 * distances)
    return ROUNDING * size + ROUNDING**2 + 64 * np.finfo(LONG).eps * distances


def rounded_rows(distances: Array) -> Array:
    """By how much such distances may move where the rows of length one are rounded to float64.

    That is the rounding of the data: rows that are multiples of one another are parallel only up to it.
    """
    return 16 * EPS * np.sqrt(2 * distances) + LONG(16 * EPS) ** 2


def _of_length_one(X: Array) -> tuple[Array, Array]:
    """x / ‖x‖ of each row, in two parts; zeros stay."""
    square, more = np.zeros(len(X), LONG), np.zeros(len(X), LONG)
    for column in X.T:
        product, rest = _product(column, column)
        square, lost = _sum(square, product)
        more = more + (rest + lost)
    square, more = _sum(square, more)
    root = np.sqrt(np.where(square > 0, square, 1))
    product, rest = _product(root, root)
    correction = ((square - product) - rest + more) / (2 * root)
    correction = np.where(square > 0, correction, 0)[:, None]
    root = root[:, None]
    high = X / root
    product, rest = _product(high, np.broadcast_to(root, high.shape))
    low = ((X - product) - rest - high * correction) / root
    return _sum(high, low)


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b, and what rounding took from it (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """a · b, and what rounding took from it (Dekker)."""
    product = a * b
    (x, y), (u, v) = _halves(a), _halves(b)
    return product, ((x * u - product) + x * v + y * u) + y * v


def _halves(a: Array) -> tuple[Array, Array]:
    spread: Any = SPLIT * a
    high = spread - (spread - a)
    return high, a - high
