"""Linear Gaussian: a number whose mean is linear in numeric parents, in its own way for each setting of the others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.core.graphical.cpd.base import CPD, as_numbers
from corollary.core.limits import Limit, Real
from corollary.core.types import Array

LOG_TWO_PI = float(np.log(2.0 * np.pi))


class LinearGaussian(CPD):
    r"""x ~ N(intercept[q] + coef[q] · u, variance[q]), with u the numeric parents and q the states of the others.

    Parameters
    ----------
    intercept : array, an axis for each parent with states (a number, if there is none), or None
    coef : array, the same axes and one more for the numeric parents, or None
    variance : array > 0, the axes of ``intercept``, or None
        None: to be learned.
    alpha : float ≥ 0, default 0.0
        Learning: coefficients have a prior N(0, variance / alpha), so the answer is that of ridge regression (MAP).
        With 0 it is that of least squares (maximum likelihood).

    Examples
    --------
    >>> cpd = LinearGaussian(intercept=1.0, coef=[2.0], variance=0.25)
    >>> float(cpd.mean(np.empty((1, 0), dtype=int), np.array([[3.0]]))[0])
    7.0
    """

    name = "linear_gaussian"
    intercept: Any
    coef: Any
    variance: Any
    alpha: float
    numeric = True
    limits: ClassVar[dict[str, Limit]] = {"alpha": Real(0, finite=True)}

    def __init__(self, intercept: Any = None, coef: Any = None, variance: Any = None, alpha: float = 0.0) -> None:
        given = [part is not None for part in (intercept, coef, variance)]
        if any(given) and not all(given):
            raise self._refuse("intercept, coef and variance must all be given, or none of them (to be learned).")
        if all(given):
            intercept = as_numbers(intercept, "LinearGaussian", "intercept")
            coef = as_numbers(coef, "LinearGaussian", "coef", intercept.ndim + 1)
            variance = as_numbers(variance, "LinearGaussian", "variance", intercept.ndim)
            if coef.shape[:-1] != intercept.shape or variance.shape != intercept.shape:
                raise self._refuse(
                    f"shapes do not fit: intercept has {intercept.shape}, coef {coef.shape}, variance {variance.shape}."
                )
            if (variance <= 0).any():
                raise self._refuse(
                    f"variance must be above zero, but its lowest is {variance.min():.3g}. A number that others "
                    "determine is not a random one: leave it out of the network, or give it a small variance."
                )
        super().__init__(intercept=intercept, coef=coef, variance=variance, alpha=alpha)

    @property
    def known(self) -> bool:
        return self.coef is not None

    @property
    def n_states(self) -> int:
        return 1

    def check(self, cards: tuple[int, ...], n_numbers: int, card: int) -> None:
        if self.known and self.coef.shape != (*cards, n_numbers):
            raise self._refuse(f"coef must have the shape {(*cards, n_numbers)}, but it is {self.coef.shape}.")

    def linear(self, codes: Array) -> tuple[Array, Array, Array]:
        at, n = tuple(codes.T), len(codes)
        coef = np.broadcast_to(self.coef[at], (n, self.coef.shape[-1]))
        return np.broadcast_to(self.intercept[at], n), coef, np.broadcast_to(self.variance[at], n)

    def mean(self, codes: Array, numbers: Array) -> Array:
        """The mean for each row of parents."""
        at = tuple(codes.T)
        found: Array = self.intercept[at] + (self.coef[at] * numbers).sum(axis=1)
        return found

    def log_prob(self, codes: Array, numbers: Array, child: Array) -> Array:
        variance = self.variance[tuple(codes.T)]
        away = (child - self.mean(codes, numbers)) / np.sqrt(variance)  # squares of what may be large come last
        found: Array = -0.5 * (away * away + LOG_TWO_PI + np.log(variance))
        return found

    def sample(self, codes: Array, numbers: Array, rng: np.random.Generator) -> Array:
        noise = rng.standard_normal(len(codes))
        return np.asarray(self.mean(codes, numbers) + np.sqrt(self.variance[tuple(codes.T)]) * noise)
