"""Double-double arithmetic in NumPy: a number is an unevaluated sum of two, about 32 digits (Dekker; Knuth).

Of a pair (high, low), low is the rounding error of high. Products and sums are error free, so that a difference keeps
its digits however much cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.types import Array

SPLIT = 134217729.0  # 2²⁷ + 1


@dataclass(frozen=True)
class Pair:
    """An array of double-double numbers."""

    high: Array
    low: Array

    @classmethod
    def of(cls, values: Array) -> Pair:
        """Float64 numbers, exactly."""
        return cls(values, np.zeros_like(values))

    def __add__(self, other: Pair) -> Pair:
        total, error = two_sum(self.high, other.high)
        return renormalise(total, error + (self.low + other.low))

    def __neg__(self) -> Pair:
        return Pair(-self.high, -self.low)

    def times(self, factor: Array | float) -> Pair:
        """The product with float64 numbers."""
        product, error = two_product(self.high, np.asarray(factor))
        return renormalise(product, error + self.low * factor)

    def sum(self) -> Pair:
        """The sum along the first axis, in pairs, so that errors grow with the logarithm of the length."""
        high, low = self.high, self.low
        while len(high) > 1:
            half, odd = divmod(len(high), 2)
            total, error = two_sum(high[:half], high[half : 2 * half])
            error += low[:half] + low[half : 2 * half]
            if odd:
                total, error = np.concatenate([total, high[-1:]]), np.concatenate([error, low[-1:]])
            high, low = total, error
        return renormalise(high[0], low[0])

    @property
    def value(self) -> Array:
        """Rounded to float64."""
        return self.high + self.low


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """fl(a + b) and its error, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """fl(a·b) and its error, exactly, for magnitudes below 1e290 (Dekker)."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    product = a * b
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = SPLIT * a
    upper = scaled - (scaled - a)
    return upper, a - upper


def renormalise(high: Array, low: Array) -> Pair:
    """The same sum with low no larger than half a unit in the last place of high."""
    total = high + low
    return Pair(total, low - (total - high))
