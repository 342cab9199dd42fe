r"""Euclidean neighbours among dense rows: every pair is screened by a product, and what is left is measured.

With rows shifted to the mean, ½‖q − x‖² − ½‖q‖² = ½‖x‖² − q·x: products screen the pairs, in float32 if that tells the
rows apart. Pairs that the bound on their rounding cannot rule out are measured exactly, so the neighbours, ties
included, are those of measuring all pairs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.neighbors.index import Index, Lists, join
from corollary.solvers.neighbors.panels import Panels

_FEW = 100  # pairs a query that may be measured though they are beyond a radius
_MANY = 4  # float64 takes twice the time; float32 is slower still if it leaves this many times more pairs than needed


@dataclass(frozen=True, eq=False)
class Products(Index):
    """Dense points, float32 or float64."""

    X: Array
    name: str = "blocked matrix products"

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @functools.cached_property
    def _single(self) -> Panels:
        return Panels.of(self.X, np.float32)

    @functools.cached_property
    def _double(self) -> Panels:
        return Panels.of(self.X, np.float64)

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        """In float32, but for queries for which too many pairs would have to be measured."""
        if not self._single.takes(Q):
            return self._double.nearest(Q, k)[:2]
        needed = 10 + k * (2 + np.log(self.n_rows / k))
        distances, rows, unclear = self._single.nearest(Q, k, _MANY * needed)
        if len(unclear):
            distances[unclear], rows[unclear], _ = self._double.nearest(Q[unclear], k)
        return distances, rows

    def within(self, Q: Any, limits: Array) -> Lists:
        if not self._single.takes(Q):
            return join(self._double.within(Q, limits)[0], len(Q))
        found, unclear = self._single.within(Q, limits, _FEW)
        if len(unclear):
            again, _ = self._double.within(Q[unclear], limits[unclear])
            found += [(unclear[query], distances, rows) for query, distances, rows in again]
        return join(found, len(Q))
