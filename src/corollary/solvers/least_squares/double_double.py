"""Double-double arithmetic in NumPy, and the pass over the data that refines least squares to the last digit.

A number is a pair of arrays (high, low), low being the rounding error of high, which gives about 32 digits. Products
and sums are error free (Dekker; Knuth), so a residual y − Xβ − b keeps its digits however much of y cancels.
Small data stay in NumPy; large ones go through ``corollary._compiled.least_squares.double_double``, on threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.design import Design
from corollary.core.types import Array

SPLIT = 134217729.0  # 2²⁷ + 1
SMALL = 1 << 18  # up to this many products NumPy is quick enough, and Numba need not be loaded
BLOCK = 1 << 15  # numbers of X per block: the temporaries stay in cache


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


@dataclass(frozen=True)
class Gradient:
    """Xᵀ W r with Σ W r as its last row ((d + 1) × k), and Σ W r² of each output."""

    slope: Pair
    squares: Array

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(self.slope + other.slope, self.squares + other.squares)


def gradient(design: Design, Y: Array, weights: Array | None, coef: Pair, start: Pair) -> Gradient:
    """For r = Y − X coef − start: its gradient and squares. Cost: one pass over X for each of the k outputs."""
    n, d = design.shape
    compiled = n * d * Y.shape[1] > SMALL

    def part(first: int, last: int, X: Array) -> Gradient:
        w = np.ones(last - first) if weights is None else weights[first:last]
        return (_compiled_block if compiled else numpy_block)(X, Y[first:last], w, coef, start)

    return design.sum_rows(part, max(64, BLOCK // d))


def _compiled_block(X: Array, Y: Array, weights: Array, coef: Pair, start: Pair) -> Gradient:
    from corollary._compiled.least_squares.double_double import residual_block

    X = np.ascontiguousarray(X)
    d, k = coef.high.shape
    slope, low, squares = np.zeros((k, d + 1)), np.zeros((k, d + 1)), np.empty(k)
    for c in range(k):
        y, beta, beta_low = (np.ascontiguousarray(a[:, c]) for a in (Y, coef.high, coef.low))
        squares[c] = residual_block(X, y, weights, beta, beta_low, start.high[c], start.low[c], slope[c], low[c])
    return Gradient(renormalise(slope.T, low.T), squares)


def numpy_block(X: Array, Y: Array, weights: Array, coef: Pair, start: Pair) -> Gradient:
    """The plain twin of the compiled kernel."""
    slopes, squares = [], []
    ones = np.ones((len(X), 1))
    for c in range(Y.shape[1]):
        terms = [Pair.of(Y[:, c]), -Pair(start.high[c : c + 1], start.low[c : c + 1]).times(ones[:, 0])]
        product = Pair(coef.high[:, c], coef.low[:, c]).times(X)
        terms.append(-Pair(product.high.T, product.low.T).sum())
        residual = terms[0] + terms[1] + terms[2]
        squares.append(weights @ residual.value**2)
        weighted = residual.times(weights)
        by_row = Pair(weighted.high[:, None], weighted.low[:, None])
        slopes.append(by_row.times(np.hstack([X, ones])).sum())
    slope = Pair(np.stack([s.high for s in slopes], axis=1), np.stack([s.low for s in slopes], axis=1))
    return Gradient(slope, np.array(squares))


def product(design: Design, coef: Array, start: Pair) -> Pair:
    """X coef + start, for coef of shape (d,) or (d, k). Cost: some thirty operations for each product."""
    columns = coef.reshape(len(coef), -1)

    def part(first: int, last: int, X: Array) -> tuple[Array, Array]:
        found = []
        for c in range(columns.shape[1]):
            terms = Pair(*two_product(X.T, columns[:, c, None])).sum()
            found.append(terms + Pair(start.high[c : c + 1], start.low[c : c + 1]))
        return np.stack([f.high for f in found], axis=1), np.stack([f.low for f in found], axis=1)

    parts = list(design.map_rows(part, max(64, BLOCK // len(coef))))
    high, low = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    return Pair(high, low) if coef.ndim > 1 else Pair(high[:, 0], low[:, 0])
