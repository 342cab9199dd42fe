"""Rows about their mean, times the square root of their weight: A = √W (X − 1 mᵀ), as the products that PCA needs.

A is never stored. Dense X goes block by block through a buffer in which it is shifted and scaled, in float64 whatever
the input; sparse X is centred by a correction of rank one. Where squares would overflow or vanish, all of A is
multiplied by one power of two, ``unit``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from corollary.core.parallel import block_rows, each_block, sum_blocks
from corollary.core.summary import Moments, Triangle
from corollary.core.types import Array

LEAST, MOST = 1e-140, 1e140  # beyond these, sums of squares lose digits when they are squared again


class Rows(ABC):
    """A (n × d). ``centre`` is near the mean until ``survey`` or ``scatter`` has made it the mean."""

    def __init__(self, X: Any, weights: Array | None) -> None:
        self.X = X
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])
        self.weights = weights
        self.root = None if weights is None else np.sqrt(weights)
        self.total = float(X.shape[0]) if weights is None else float(weights.sum())
        self.count = X.shape[0] if weights is None else int(np.count_nonzero(weights))
        self.unit = 1.0
        self.passes = 0
        self.centre = self._sample_mean()
        self._size = block_rows(X.shape[0], 8 * X.shape[1])
        self.squares = 0.0  # ‖A‖², known after survey or scatter

    @abstractmethod
    def forth(self, V: Array) -> Array:
        """A V (n × l)."""

    @abstractmethod
    def back(self, U: Array) -> Array:
        """Aᵀ U (d × l)."""

    @abstractmethod
    def normal(self, V: Array) -> Array:
        """AᵀA V (d × l), in one pass over dense rows."""

    @abstractmethod
    def block(self, start: int, stop: int) -> Array:
        """Rows of A, dense, in a buffer that the next call of this thread may overwrite."""

    def every(self, step: int) -> Rows | None:
        """Each step-th row, about the same centre; None where that takes a copy."""
        return None

    @abstractmethod
    def dense(self) -> Array:
        """A itself."""

    def triangle(self) -> Array:
        """R (d × d) of A = QR, without squaring A."""
        self.passes += 1
        size = max(self._size, 2 * self.shape[1])
        return sum_blocks(lambda a, b: Triangle.of(self.block(a, b)), self.shape[0], size).R

    def distances(self, V: Array) -> tuple[Array, Array]:
        """A V (n × k) for orthonormal columns V, and the squared distance of each row from their span."""
        self.passes += 1
        n = self.shape[0]
        along, away = np.empty((n, V.shape[1])), np.empty(n)

        def part(start: int, stop: int) -> None:
            rows = self.block(start, stop)
            np.matmul(rows, V, out=along[start:stop])
            rows -= along[start:stop] @ V.T  # not ‖x‖² − ‖Vᵀx‖²: near the span that would be rounding
            away[start:stop] = np.einsum("ij,ij->i", rows, rows)

        each_block(part, n, self._size)
        return along, away

    @abstractmethod
    def _moments(self) -> Moments:
        """Centred second moments, of X · unit."""

    @abstractmethod
    def _first(self) -> tuple[Array, float]:
        """The mean of X · unit, and ‖A‖²."""

    @abstractmethod
    def _reach(self) -> float:
        """The largest |x − centre|."""

    @abstractmethod
    def _sample_mean(self) -> Array: ...

    def outer(self, U: Array) -> Array:
        """A Aᵀ U (n × l)."""
        return self.forth(self.back(U))

    def survey(self) -> None:
        """Find the mean and ‖A‖² in one pass (one more if squares overflow or vanish)."""
        mean, squares = self._first()
        if self._out_of_range(squares):
            mean, squares = self._first()
        self.centre, self.squares = mean / self.unit, squares

    def scatter(self) -> Moments:
        """AᵀA as moments, of X · unit, in one pass (one more if squares overflow or vanish)."""
        moments = self._moments()
        if self._out_of_range(float(np.trace(moments.xx))):
            moments = self._moments()
        self.centre, self.squares = moments.mean_x / self.unit, float(np.trace(moments.xx))
        return moments

    def _out_of_range(self, squares: float) -> bool:
        """Whether ``unit`` had to be chosen for these data; values that are not finite are refused."""
        if LEAST < squares < MOST:
            return False
        assert_all_finite(self.X.data if sparse.issparse(self.X) else self.X, input_name="X")
        reach = self._reach()
        if reach == 0.0:
            return False
        exponent = int(np.frexp(reach)[1]) if np.isfinite(reach) else 1025
        self.unit = float(np.ldexp(1.0, int(np.clip(-exponent, -1020, 1020))))
        return True
