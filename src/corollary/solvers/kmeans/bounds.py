"""What lets k-means skip work without changing its answer: bounds on distances."""

from __future__ import annotations

import numpy as np

from corollary._compiled.kmeans import lloyd as kernels
from corollary.core.types import Array

GROUP = 8  # centres that share a lower bound


class Bounds:
    """Bounds on distances to the own centre and to groups of other centres; see the kernels for their meaning.

    ``exact`` has in float64 how far centres, and groups of them, have moved, and the farthest of these.
    """

    def __init__(self, n: int, k: int, size: int) -> None:
        self.size, groups = size, -(-k // size)
        self.upper = np.empty(n, dtype=np.float32)
        self.lower = np.empty((n, groups), dtype=np.float32)
        self.grown, self.shrunk = np.zeros(k, dtype=np.float32), np.zeros(groups, dtype=np.float32)
        self.exact = np.zeros(k + groups + 1)
        self.fresh = True

    def drift(self, lengths: Array) -> None:
        """Centres have moved by these (scaled) lengths."""
        kernels.drift_bounds(lengths, self.size, self.numbers)

    @property
    def numbers(self) -> tuple[Array, ...]:
        """What kernels take of them."""
        return self.upper, self.lower, self.grown, self.shrunk, self.exact

    def forget(self, rows: Array) -> None:
        """Other code has changed the labels of these rows."""
        self.upper[rows] = np.inf
