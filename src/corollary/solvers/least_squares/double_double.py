"""The pass over the data that refines least squares to the last digit, in double-double arithmetic.

A residual y − Xβ − b then keeps its digits however much of y cancels. Small data stay in NumPy; large ones go through
``corollary._compiled.least_squares.double_double``, on threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.design import Design
from corollary.core.double_double import Pair, renormalise, two_product
from corollary.core.types import Array

SMALL = 1 << 18  # up to this many products NumPy is quick enough, and Numba need not be loaded
BLOCK = 1 << 15  # numbers of X per block: the temporaries stay in cache


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
