"""Euclidean neighbours among sparse rows, by products of sparse matrices."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.neighbors import nearest as compiled
from corollary.core.types import Array
from corollary.solvers.neighbors.metric import magnitude, unit_scale
from corollary.solvers.neighbors.product import Screened
from corollary.solvers.neighbors.screen import Screen, halves

_WIDTH = 4096  # a block of transposed rows keeps a pointer for every column, so it should not be small


class SparseScreen(Screen):
    """Rows in float64, scaled but not shifted: ``points`` are transposed blocks of ``_WIDTH`` rows."""

    @staticmethod
    def of(X: Any) -> SparseScreen:
        """Prepare the rows of the CSR matrix X."""
        scale = unit_scale(magnitude(X))
        blocks = [(X[a : a + _WIDTH] * scale).T.tocsr() for a in range(0, X.shape[0], _WIDTH)]
        return SparseScreen(blocks, scale, *halves(_squares(X * scale), X.shape[1], np.float64))

    def shift(self, Q: Any) -> tuple[Any, Array]:
        Q = Q * self.scale
        return Q, _squares(Q)

    def multiply(self, Q: Any, first: int, out: Array) -> None:
        at = 0
        while at < out.shape[1]:  # a search for very many neighbours takes several blocks at once
            part = self.points[(first + at) // _WIDTH]
            out[:, at : at + part.shape[1]] = (Q @ part).toarray()
            at += part.shape[1]


def _squares(X: Any) -> Array:
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()


@dataclass(frozen=True, eq=False)
class SparseProducts(Screened):
    """Points as a CSR matrix of float64 with sorted columns; queries likewise."""

    X: Any
    name: str = "sparse matrix products"
    rows_at_once = _WIDTH

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @functools.cached_property
    def _double(self) -> SparseScreen:
        return SparseScreen.of(self.X)

    def _screen(self, Q: Any, k: int) -> Screen:
        return self._double

    def _measure(self, Q: Any, first: int, candidates: Array, counts: Array, out: Array) -> None:
        own = (Q.data, Q.indices, Q.indptr.astype(np.int64, copy=False))
        rows = (self.X.data, self.X.indices, self.X.indptr.astype(np.int64, copy=False))
        compiled.measure_sparse_block(*own, *rows, 0, first, candidates, counts, out)
