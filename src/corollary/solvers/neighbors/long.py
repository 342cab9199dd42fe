"""Numbers of twice the length of float64, about 31 digits, as unevaluated sums of two (T. J. Dekker, 1971)."""

from __future__ import annotations

import numpy as np

from corollary.core.double_double import two_product, two_sum
from corollary.core.types import Array

Long = tuple[Array, Array]  # the second is below the last digit of the first


def unit_peak(rows: Array, centred: bool) -> Long:
    """Rows times a power of two that brings the largest value near 1, about their own means if asked for."""
    high = rows.astype(np.float64)
    high = np.ldexp(high, -np.frexp(np.abs(high).max(axis=1, initial=0.0))[1][:, None])
    if not centred:
        return high, np.zeros_like(high)
    mean = ratio(_total((high, np.zeros_like(high))), (np.full(len(high), float(high.shape[1])), np.zeros(len(high))))
    high, low = add((high, np.zeros_like(high)), (-mean[0][:, None], -mean[1][:, None]))
    same = rows.min(axis=1) == rows.max(axis=1)
    high[same], low[same] = 0.0, 0.0
    scale = -np.frexp(np.abs(high).max(axis=1, initial=0.0))[1][:, None]
    return np.ldexp(high, scale), np.ldexp(low, scale)


def centred_rows(X: Array) -> Array:
    """Rows about their own means, correctly rounded, each times a power of two."""
    return unit_peak(X, True)[0]


def add(a: Long, b: Long) -> Long:
    high, low = two_sum(a[0], b[0])
    other, rest = two_sum(a[1], b[1])
    high, low = two_sum(high, low + other)
    return two_sum(high, low + rest)


def times(a: Long, b: Long) -> Long:
    high, low = two_product(a[0], b[0])
    return two_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


def ratio(a: Long, b: Long) -> Long:
    first = a[0] / b[0]
    left = add(a, times((-first, np.zeros_like(first)), b))
    second = left[0] / b[0]
    left = add(left, times((-second, np.zeros_like(second)), b))
    return add(two_sum(first, second), (left[0] / b[0], np.zeros_like(first)))


def dot(a: Long, b: Long) -> Long:
    return _total(times(a, b))


def _total(terms: Long) -> Long:
    """Sums of rows, halving the number of columns each time."""
    high, low = terms
    while high.shape[1] > 1:
        half = high.shape[1] // 2
        odd = high[:, 2 * half :], low[:, 2 * half :]
        both = add((high[:, :half], low[:, :half]), (high[:, half : 2 * half], low[:, half : 2 * half]))
        high, low = (np.concatenate([part, rest], axis=1) for part, rest in zip(both, odd, strict=True))
    return high[:, 0], low[:, 0]
