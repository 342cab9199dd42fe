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

_PILOT = 16  # queries that show whether float32 tells the rows apart
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

    def _panels(self, Q: Array, k: int) -> Panels:
        """float32, unless a few of the queries show that too many pairs would have to be measured."""
        if not self._single.takes(Q):
            return self._double
        if len(Q) <= _PILOT:
            return self._single
        pilot = np.ascontiguousarray(Q[:: -(-len(Q) // _PILOT)])
        measured = self._single.nearest(pilot, k)[2]
        needed = k * (2 + np.log(max(1.0, self.n_rows / k)))
        return self._single if measured <= _MANY * len(pilot) * (needed + 10) else self._double

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, rows, _ = self._panels(Q, k).nearest(Q, k)
        return distances, rows

    def within(self, Q: Any, limits: Array) -> Lists:
        return join(self._panels(Q, 1).within(Q, limits), len(Q))
