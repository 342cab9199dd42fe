"""What is known of a number: a mixture of normal densities, or samples with weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from corollary.core.types import Array


class Density(ABC):
    """The distribution of a number. ``standard_error`` is that of its mean; zero where the answer is exact."""

    standard_error: float

    @property
    @abstractmethod
    def mean(self) -> float: ...

    @property
    @abstractmethod
    def variance(self) -> float: ...

    @abstractmethod
    def cdf(self, value: Any) -> Any:
        """P(number ≤ value), for a value or for each of an array."""

    @abstractmethod
    def quantile(self, share: float) -> float:
        """The value below which this share of the probability lies."""

    @property
    def std(self) -> float:
        return float(np.sqrt(self.variance))

    def interval(self, share: float = 0.95) -> tuple[float, float]:
        """The middle of the distribution that has this share of it."""
        if not 0.0 < share < 1.0:
            raise ValueError(f"share must lie between 0 and 1, but it is {share!r}.")
        return self.quantile(0.5 - share / 2.0), self.quantile(0.5 + share / 2.0)

    def __repr__(self) -> str:
        off = f", standard error of the mean {self.standard_error:.2g}" if self.standard_error else ""
        return f"mean {self.mean:.6g}, std {self.std:.4g}{off}"


@dataclass(frozen=True, repr=False)
class NormalMixture(Density):
    """Σ weights × N(means, variances); a single one is a normal density.

    >>> NormalMixture(np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.array([1.0, 1.0]))
    mean 0, std 1.414
    """

    weights: Array
    means: Array
    variances: Array
    standard_error: float = 0.0

    @property
    def mean(self) -> float:
        return float(self.weights @ self.means)

    @property
    def variance(self) -> float:
        return float(self.weights @ (self.variances + (self.means - self.mean) ** 2))

    def cdf(self, value: Any) -> Any:
        value = np.asarray(value, dtype=float)[..., None]
        return ndtr((value - self.means) / np.sqrt(self.variances)) @ self.weights

    def quantile(self, share: float) -> float:
        used = self.weights > 0
        spread = 40.0 * np.sqrt(self.variances[used])
        low, high = float((self.means[used] - spread).min()), float((self.means[used] + spread).max())
        for _ in range(200):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if self.cdf(middle) < share else (low, middle)
        return 0.5 * (low + high)


@dataclass(frozen=True, repr=False)
class WeightedSample(Density):
    """Values with weights that sum to one, as sampling leaves them."""

    values: Array
    weights: Array
    standard_error: float

    @property
    def mean(self) -> float:
        return float(self.weights @ self.values)

    @property
    def variance(self) -> float:
        return float(self.weights @ (self.values - self.mean) ** 2)

    def cdf(self, value: Any) -> Any:
        order = np.argsort(self.values)
        sums = np.concatenate([[0.0], np.cumsum(self.weights[order])])
        return sums[np.searchsorted(self.values[order], value, side="right")]

    def quantile(self, share: float) -> float:
        order = np.argsort(self.values)
        sums = np.cumsum(self.weights[order])
        return float(self.values[order][min(int(np.searchsorted(sums, share * sums[-1])), len(order) - 1)])
