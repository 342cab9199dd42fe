"""Summaries: what one block of rows contributes to a fit. Immutable, picklable, and ``a + b`` merges two.

A model that can be written as ``finish(sum of summarize(block))`` fits an array, a file larger than memory or a
cluster with the same two functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from corollary.core.types import Array


class Summary(Protocol):
    """Anything that merges: associative up to rounding, with no reference to the rows it came from."""

    def __add__(self, other: Self, /) -> Self: ...


def weighted_mean(Y: Array, weights: Array | None = None) -> Array:
    """Σ w y / Σ w of each column; where all rows that weigh anything are equal, their value exactly.

    The mean is taken of the differences from one of the rows, so far from zero it loses no digits either.
    """
    total = float(len(Y)) if weights is None else float(weights.sum())
    first = Y[0 if weights is None else int(np.argmax(weights))]
    with np.errstate(over="ignore", invalid="ignore"):
        apart = Y - first
        return np.asarray(first + (apart.sum(axis=0) if weights is None else weights @ apart) / (total or 1.0))


def products_about(
    X: Array, Y: Array, weights: Array | None, shift: Array | float | None, buffer: Array | None = None
) -> Array:
    """Products of the columns of (X − shift, 1) with each other and with Y, weighted; below, Σ w y² of each output.

    Without shift and weights no row is copied. ``buffer`` is scratch space of at least m rows and d + 1 columns; one
    per thread saves the page faults of a fresh array per block. An overflow shows as inf or NaN in the result, not as
    a warning from a worker thread.
    """
    m, d = X.shape
    found = np.zeros((d + 2, d + 1 + Y.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        if shift is None and weights is None:
            np.matmul(X.T, X, out=found[:d, :d])
            # one column at a time: sums of a product with both would be longer chains, which lose more digits
            found[:d, d], found[:d, d + 1 :] = np.ones(m) @ X, X.T @ Y
            found[d, d], found[d, d + 1 :] = m, Y.sum(axis=0)
            found[d + 1, d + 1 :] = np.einsum("ik,ik->k", Y, Y)
            return found
        rows = (np.empty((m, d + 1)) if buffer is None else buffer)[:m]
        np.subtract(X, 0.0 if shift is None else shift, out=rows[:, :d])
        rows[:, d] = 1.0
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            rows *= root
            Y = Y * root
        # the column of ones makes one matrix product give second moments and sums at once
        found[: d + 1, : d + 1], found[: d + 1, d + 1 :] = rows.T @ rows, rows.T @ Y
        found[d + 1, d + 1 :] = np.einsum("ik,ik->k", Y, Y)
        found[d, d] = m if weights is None else weights.sum()
    return found


@dataclass(frozen=True)
class Moments:
    """Weighted count, means and centred second moments of a block of rows (X, Y).

    ``xx`` is Σ w (x − x̄)(x − x̄)ᵀ, ``xy`` is Σ w (x − x̄)(y − ȳ)ᵀ (d × k), ``yy`` is Σ w (y − ȳ)² per output.
    Second moments are about the mean, and the merge adds the outer product of the difference of means, so a column
    with a huge mean loses no digits.
    """

    weight: float
    mean_x: Array
    mean_y: Array
    xx: Array
    xy: Array
    yy: Array

    @classmethod
    def of(
        cls, X: Array, Y: Array, weights: Array | None, shift: Array | float, buffer: Array | None = None
    ) -> Moments:
        """Summarize the rows of X (m × d) and Y (m × k). ``shift`` is any point near the mean of X.

        ``buffer`` is as in ``products_about``.
        """
        mean_y = weighted_mean(Y, weights)
        return cls.from_products(products_about(X, Y - mean_y, weights, shift, buffer), X.shape[1], shift, mean_y)

    @classmethod
    def from_products(cls, products: Array, d: int, shift: Array | float, mean_y: Array) -> Moments:
        """From what ``products_about`` gives, or a sum of that over blocks of rows about the same points."""
        with np.errstate(over="ignore", invalid="ignore"):
            xx, offset, cross, total = products[:d, :d], products[:d, d], products[:d, d + 1 :], float(products[d, d])
            offset = offset / (total or 1.0)
            xx = xx - np.outer(total * offset, offset)
            off = products[d, d + 1 :]  # Σ w (y − ȳ): rounding, since the mean is not exact
            return cls(total, shift + offset, mean_y, xx, cross - np.outer(offset, off), products[d + 1, d + 1 :])

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        if weight == 0.0:
            return self
        share = other.weight / weight
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        scale = self.weight * share
        xx = self.xx + other.xx
        xx += np.outer(scale * dx, dx)
        return Moments(
            weight,
            self.mean_x + share * dx,
            self.mean_y + share * dy,
            xx,
            self.xy + other.xy + np.outer(scale * dx, dy),
            self.yy + other.yy + scale * dy**2,
        )

    def about_zero(self) -> tuple[Array, Array, Array]:
        """Second moments about the origin (xx, xy, yy), for models without an intercept."""
        w, x, y = self.weight, self.mean_x, self.mean_y
        return self.xx + w * np.outer(x, x), self.xy + w * np.outer(x, y), self.yy + w * y**2


def centre_gram(H: Array, border: Array, total: float) -> None:
    """Turn XᵀWX into its value about the weighted means, in place; constant columns become exactly zero."""
    raw = np.diag(H).copy()
    H -= np.outer(border, border / total)
    constant = np.diag(H) <= 1e-12 * raw  # what is left of such a column is rounding
    H[constant] = 0.0
    H[:, constant] = 0.0


@dataclass(frozen=True)
class Triangle:
    """The triangular factor R of a block of rows A = Q R: all that least squares needs of A, without squaring it.

    RᵀR = AᵀA, but the singular values of R have the digits of A itself. Two merge by factorising one above the other.
    """

    R: Array

    @classmethod
    def of(cls, rows: Array) -> Triangle:
        """Factorise a block; cost 2 m p² for m rows of p columns."""
        return cls(np.asarray(np.linalg.qr(rows, mode="r")))

    def __add__(self, other: Triangle) -> Triangle:
        return Triangle.of(np.concatenate([self.R, other.R]))
