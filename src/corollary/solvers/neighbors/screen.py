"""Lower bounds on distances from matrix products: which pairs of a block need to be measured.

Up to a constant of the query, a pair's ½d² is half − product, and the truth is within slack · norm of what comes out in
working precision. ``half`` and ``norm`` belong to the row and carry the rounding of what is done with them here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.neighbors.nearest import screen_block
from corollary.core.parallel import block_rows, each_block
from corollary.core.scaling import magnitude, power_of_two, scale_about
from corollary.core.types import Array

SPARSE_WIDTH = 4096  # a block of transposed sparse rows keeps a pointer for every column, so it should not be small
_FAR = 1e6  # queries farther out than this many times the rows' extent are left to float64


@dataclass(frozen=True, eq=False)
class Screen(ABC):
    """The rows in screening precision."""

    points: Any  # (n, d), shifted and scaled
    scale: float  # a power of two: the largest coordinate is about one
    low: Array  # ½‖x‖², rounded down and up
    high: Array
    norms: Array  # ‖x‖, rounded up

    @property
    def unit(self) -> float:
        return float(np.finfo(self.low.dtype).eps) / 2

    @property
    def smallest(self) -> float:
        """More than all that underflow can take away from a sum of products."""
        return 1e-26 if self.low.dtype == np.float32 else 1e-280

    @abstractmethod
    def shift(self, Q: Any) -> tuple[Any, Array]:
        """Queries in screening precision, and their squared norms in float64."""

    @abstractmethod
    def multiply(self, Q: Any, first: int, out: Array) -> None:
        """out[i, c] = q_i · x_{first + c}."""

    def block(self, Q: Any, width: int) -> QueryBlock:
        return QueryBlock(self, Q, width)


class QueryBlock:
    """A block of queries on its way through all rows."""

    def __init__(self, screen: Screen, Q: Any, width: int) -> None:
        self.screen = screen
        self.Q, self.squares = screen.shift(Q)
        m, d, dtype, unit = Q.shape[0], Q.shape[1], screen.low.dtype, screen.unit
        self.rounding = (d + 8) * 2.0**-52  # of squared distances in float64
        gamma = d * unit / (1 - min(0.5, d * unit))
        norms = np.sqrt(self.squares) * (1 + self.rounding)
        self.slack = ((gamma + 20 * unit) * norms + screen.smallest).astype(dtype)
        self.cut = np.full(m, np.inf, dtype=dtype)
        self._products = np.empty((m, width), dtype=dtype)
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
        half = upper[:, k - 1].astype(np.float64)
        half += 4 * screen.unit * np.abs(half)
        self._cut_at(np.maximum(2 * half + self.squares * (1 + self.rounding), 0.0))

    def tighten(self, worst: Array) -> None:
        """From now on nothing farther than ``worst`` (computed squared distances) is of interest."""
        self._cut_at(worst * self.screen.scale * self.screen.scale)  # the square itself may be 0 or ∞

    def _cut_at(self, worst: Array) -> None:
        half = 0.5 * (worst * (1 + self.rounding) - self.squares * (1 - self.rounding))
        half += 8 * self.screen.unit * np.abs(half) + self.screen.smallest
        np.minimum(self.cut, half, out=self.cut, casting="same_kind")

    def candidates(self, products: Array, first: int) -> tuple[Array, Array]:
        """For each query the columns of ``products`` that are not ruled out, and how many these are."""
        screen, width = self.screen, products.shape[1]
        low, norms = screen.low[first : first + width], screen.norms[first : first + width]
        screen_block(products, low, norms, self.slack, self.cut, self._candidates, self._counts)
        return self._candidates, self._counts


def halves(squares: Array, d: int, dtype: Any) -> tuple[Array, Array, Array]:
    """``low``, ``high`` and ``norms`` of a screen, from squared norms in float64."""
    unit = float(np.finfo(dtype).eps) / 2
    margin = 20 * unit + (d + 8) * 2.0**-52
    smallest = 1e-26 if dtype == np.float32 else 1e-280
    low, high = 0.5 * squares * (1 - margin) - smallest, 0.5 * squares * (1 + margin) + smallest
    return low.astype(dtype), high.astype(dtype), (np.sqrt(squares) * (1 + margin)).astype(dtype)


@dataclass(frozen=True, eq=False)
class DenseScreen(Screen):
    """Rows shifted to their mean, where products cancel least."""

    centre: Array

    @staticmethod
    def of(X: Array, dtype: Any) -> DenseScreen:
        """Prepare the rows X."""
        n, d = X.shape
        centre = X.mean(axis=0, dtype=np.float64)
        scale = scale_about(centre, X.min(axis=0), X.max(axis=0))
        points, squares = np.empty((n, d), dtype=dtype), np.empty(n)

        def shift(start: int, stop: int) -> None:
            exact = (X[start:stop] - centre) * scale
            points[start:stop] = exact
            squares[start:stop] = np.einsum("ij,ij->i", exact, exact)

        each_block(shift, n, block_rows(n, 8 * d))
        return DenseScreen(points, scale, *halves(squares, d, dtype), centre)

    def takes(self, Q: Array) -> bool:
        """Whether the queries are near enough for this precision."""
        return bool(np.abs(Q - self.centre).max(initial=0.0) * self.scale * math.sqrt(Q.shape[1]) < _FAR)

    def shift(self, Q: Any) -> tuple[Any, Array]:
        exact = (Q - self.centre) * self.scale
        return exact.astype(self.points.dtype), np.einsum("ij,ij->i", exact, exact)

    def multiply(self, Q: Any, first: int, out: Array) -> None:
        np.matmul(Q, self.points[first : first + out.shape[1]].T, out=out)


class SparseScreen(Screen):
    """Rows in float64, scaled but not shifted: ``points`` are transposed blocks of ``SPARSE_WIDTH`` rows."""

    @staticmethod
    def of(X: Any) -> SparseScreen:
        """Prepare the rows of the CSR matrix X."""
        scale = power_of_two(magnitude(X))
        blocks = [(X[a : a + SPARSE_WIDTH] * scale).T.tocsr() for a in range(0, X.shape[0], SPARSE_WIDTH)]
        return SparseScreen(blocks, scale, *halves(_squares(X * scale), X.shape[1], np.float64))

    def shift(self, Q: Any) -> tuple[Any, Array]:
        Q = Q * self.scale
        return Q, _squares(Q)

    def multiply(self, Q: Any, first: int, out: Array) -> None:
        at = 0
        while at < out.shape[1]:  # a search for very many neighbours takes several blocks at once
            part = self.points[(first + at) // SPARSE_WIDTH]
            out[:, at : at + part.shape[1]] = (Q @ part).toarray()
            at += part.shape[1]


def _squares(X: Any) -> Array:
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
