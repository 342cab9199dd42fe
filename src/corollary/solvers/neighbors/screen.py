"""Lower bounds on distances from products of sparse matrices: which pairs of a block need to be measured.

Up to a constant of the query, a pair's ½d² is half − product, and the truth is within slack · norm of what comes out in
float64. ``half`` and ``norm`` belong to the row and carry the rounding of what is done with them here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.neighbors.nearest import screen_block
from corollary.core.scaling import magnitude, power_of_two
from corollary.core.types import Array

WIDTH = 4096  # a block of transposed sparse rows keeps a pointer for every column, so it should not be small
_UNIT = 2.0**-53
_SMALLEST = 1e-280  # more than all that underflow can take away from a sum of products


@dataclass(frozen=True, eq=False)
class Screen:
    """Rows in float64, scaled but not shifted, as transposed blocks of ``WIDTH`` rows."""

    blocks: list[Any]
    scale: float  # a power of two: the largest coordinate is about one
    low: Array  # ½‖x‖², rounded down and up
    high: Array
    norms: Array  # ‖x‖, rounded up

    @staticmethod
    def of(X: Any) -> Screen:
        """Prepare the rows of the CSR matrix X."""
        scale = power_of_two(magnitude(X))
        blocks = [(X[a : a + WIDTH] * scale).T.tocsr() for a in range(0, X.shape[0], WIDTH)]
        squares, margin = _squares(X * scale), 20 * _UNIT + (X.shape[1] + 8) * 2.0**-52
        low, high = 0.5 * squares * (1 - margin) - _SMALLEST, 0.5 * squares * (1 + margin) + _SMALLEST
        return Screen(blocks, scale, low, high, np.sqrt(squares) * (1 + margin))

    def multiply(self, Q: Any, first: int, out: Array) -> None:
        """out[i, c] = q_i · x_{first + c}."""
        at = 0
        while at < out.shape[1]:  # a search for very many neighbours takes several blocks at once
            part = self.blocks[(first + at) // WIDTH]
            out[:, at : at + part.shape[1]] = (Q @ part).toarray()
            at += part.shape[1]


class QueryBlock:
    """A block of queries on its way through all rows."""

    def __init__(self, screen: Screen, Q: Any, width: int) -> None:
        self.screen, self.Q = screen, Q * screen.scale
        self.squares = _squares(self.Q)
        m, d = Q.shape
        self.rounding = (d + 8) * 2.0**-52  # of squared distances in float64
        gamma = d * _UNIT / (1 - min(0.5, d * _UNIT))
        self.slack = (gamma + 20 * _UNIT) * np.sqrt(self.squares) * (1 + self.rounding) + _SMALLEST
        self.cut = np.full(m, np.inf)
        self._products = np.empty((m, width))
        self._candidates = np.empty((m, width), dtype=np.int32)
        self._counts = np.empty(m, dtype=np.int64)

    def products(self, first: int) -> Array:
        """Products with the rows from ``first`` on."""
        out = self._products[:, : len(self.screen.low) - first]
        self.screen.multiply(self.Q, first, out)
        return out

    def start(self, products: Array, k: int) -> None:
        """A first cut: k of the first rows are certainly nearer than the k-th smallest upper bound."""
        screen, width = self.screen, products.shape[1]
        upper = screen.high[:width] - products
        upper += self.slack[:, None] * screen.norms[:width]
        upper.partition(k - 1, axis=1)
        half = upper[:, k - 1] + 4 * _UNIT * np.abs(upper[:, k - 1])
        self._cut_at(np.maximum(2 * half + self.squares * (1 + self.rounding), 0.0))

    def tighten(self, worst: Array) -> None:
        """From now on nothing farther than ``worst`` (computed squared distances) is of interest."""
        self._cut_at(worst * self.screen.scale * self.screen.scale)  # the square itself may be 0 or ∞

    def _cut_at(self, worst: Array) -> None:
        half = 0.5 * (worst * (1 + self.rounding) - self.squares * (1 - self.rounding))
        half += 8 * _UNIT * np.abs(half) + _SMALLEST
        np.minimum(self.cut, half, out=self.cut)

    def candidates(self, products: Array, first: int) -> tuple[Array, Array]:
        """For each query the columns of ``products`` that are not ruled out, and how many these are."""
        screen, width = self.screen, products.shape[1]
        low, norms = screen.low[first : first + width], screen.norms[first : first + width]
        screen_block(products, low, norms, self.slack, self.cut, self._candidates, self._counts)
        return self._candidates, self._counts


def _squares(X: Any) -> Array:
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
