"""Rows about their mean, times the square root of their weight: A = √W (X − 1 mᵀ), as the products that PCA needs.

A is never stored. Dense X goes block by block through a buffer in which it is shifted and scaled, in float64 whatever
the input; sparse X is centred by a correction of rank one; blocks are read anew for every product. Where squares would
overflow or vanish, all of A is multiplied by one power of two, ``unit``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from corollary.core.scaling import power_of_two
from corollary.core.summary import Moments
from corollary.core.types import Array

FAR = 1e6  # times the squares that are left: what was taken away has then cost more digits than there is need for
CENTRES = 8  # at most so many are tried beyond the first
LEAST, MOST = 1e-140, 1e140  # beyond these, sums of squares lose digits when they are squared again


class CentredRows(ABC):
    """A (n × d). ``centre`` is near the mean until ``survey`` or ``scatter`` has made it the mean.

    ``total`` is the sum of the weights, ``count`` how many are positive, ``squares`` ‖A‖² once the mean is known, and
    ``passes`` how often X was read.
    """

    shape: tuple[int, int]
    dtype: Any
    total: float
    count: int
    centre: Array
    unit: float = 1.0
    squares: float = 0.0
    passes: int = 0
    taken: Array | None = None

    @property
    def wobble(self) -> float:
        """The square that the rounding of the mean can add to AᵀA."""
        away = float(np.linalg.norm(self.centre)) * self.unit * float(np.finfo(np.float64).eps)
        return self.total * away * away

    def blur(self) -> Array:
        """Squares, column by column, that are taken away again when products are formed: their rounding stays."""
        return np.zeros(self.shape[1]) if self.taken is None else self.taken

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
    def triangle(self) -> Array:
        """R (d × d) of A = QR, without squaring A."""

    @abstractmethod
    def dense(self) -> Array:
        """A itself."""

    def every(self, step: int) -> CentredRows | None:
        """Each step-th row, about the same centre; None where that takes a copy."""
        return None

    def outer(self, U: Array) -> Array:
        """A Aᵀ U (n × l)."""
        return self.forth(self.back(U))

    @abstractmethod
    def moments(self) -> Moments:
        """Centred second moments, of X · unit; means count from the centre, so that huge ones do not round."""

    @abstractmethod
    def first_moments(self) -> tuple[Array, float]:
        """The mean of X · unit, and ‖A‖²."""

    @abstractmethod
    def reach(self) -> float:
        """The largest |x − centre|; values that are not finite are refused."""

    def survey(self) -> None:
        """Find the mean and ‖A‖² in one pass (more if squares overflow or vanish, or centres were far)."""
        mean, squares = self.first_moments()
        if self._out_of_range(squares):
            mean, squares = self.first_moments()
        for _ in range(CENTRES):
            with np.errstate(over="ignore", invalid="ignore"):
                step = mean - self.centre * self.unit
                far = self.total * float(step @ step) > FAR * squares
            if not far:  # from where the weight is: what was taken away has cost no digits
                break
            self.centre = mean / self.unit
            mean, squares = self.first_moments()
        self.centre, self.squares = mean / self.unit, squares

    def scatter(self) -> Moments:
        """AᵀA as :meth:`moments`, in one pass; the centre becomes the mean.

        It takes one more if squares overflow or vanish, or while they are small beside those of the mean: where nearly
        all weight is in one row, each brings sixteen digits of it.
        """
        moments = self.moments()
        if self._out_of_range(float(np.trace(moments.xx))):
            moments = self.moments()
        moments = self._about_mean(moments)
        for _ in range(CENTRES):
            before = self.centre
            if not float(self.blur().sum()) > FAR * self.squares:  # the centre was not far from where the weight is
                break
            moments = self._about_mean(self.moments())
            if np.array_equal(before, self.centre):
                break
        return moments

    def _about_mean(self, moments: Moments) -> Moments:
        self.taken = self.total * moments.mean_x**2
        self.centre, self.squares = self.centre + moments.mean_x / self.unit, float(np.trace(moments.xx))
        return moments

    def _out_of_range(self, squares: float) -> bool:
        """Whether ``unit`` had to be chosen for these data."""
        if LEAST < squares < MOST:
            return False
        reach = self.reach()
        if reach == 0.0:
            return False
        self.unit = power_of_two(min(reach, float(np.finfo(np.float64).max)))
        return True
