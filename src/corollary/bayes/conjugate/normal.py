"""A belief about mean and variance of a normal distribution: Normal–inverse-gamma."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from corollary.bayes.conjugate.belief import Belief, finite, refuse_nothing, repetitions
from corollary.bayes.conjugate.intervals import interval_of
from corollary.core.log_gamma import log_rising
from corollary.core.types import Array


class MeanVariance(NamedTuple):
    """Something about the mean and about the variance: two numbers, two intervals, two arrays of draws."""

    mean: Any
    variance: Any


class _Seen(NamedTuple):
    total: float  # Σ w
    mean: float
    scatter: float  # Σ w (x − mean)²


@dataclass(frozen=True)
class NormalInverseGamma(Belief):
    r"""The belief about mean μ and variance σ² of numbers that are normally distributed.

    .. math:: \sigma^2 \sim \mathrm{InvGamma}(a, b), \qquad \mu \mid \sigma^2 \sim N(m, \sigma^2 / \kappa)

    n numbers with mean x̄ and scatter S = Σ (xᵢ − x̄)² turn it into κ' = κ + n, m' = (κ m + n x̄) / κ', a' = a + n/2,
    b' = b + S/2 + κ n (x̄ − m)² / (2 κ').

    Parameters
    ----------
    location : float, default 0
        m, where the mean is expected.
    strength : float > 0, default 1
        κ, as if so many numbers had told it.
    shape, scale : float > 0, default 1
        a and b: the variance is expected around b / a, as if 2a numbers had told it.

    Notes
    -----
    ``weights`` say how often each number counts. Answers about both parameters come as a pair with the fields ``mean``
    and ``variance``; each interval is of its parameter alone, whatever the other may be.

    *Cost.* Two passes over the data.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, section 3.3.

    Examples
    --------
    >>> from corollary.bayes.conjugate import NormalInverseGamma
    >>> posterior = NormalInverseGamma(0, 2, 2, 2).update([4.0, 6.0])
    >>> posterior
    NormalInverseGamma(location=2.5, strength=4.0, shape=3.0, scale=15.5)
    >>> posterior.mean()
    MeanVariance(mean=2.5, variance=7.75)
    """

    location: float = 0.0
    strength: float = 1.0
    shape: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", self._real("location", above_zero=False))
        self._keep_positive("strength", "shape", "scale")

    def marginals(self) -> MeanVariance:
        """Each parameter alone: Student's t for the mean, inverse gamma for the variance, as frozen distributions."""
        spread = math.sqrt(self.scale / self.shape / self.strength)
        return MeanVariance(
            stats.t(2 * self.shape, self.location, spread), stats.invgamma(self.shape, scale=self.scale)
        )

    def update(self, data: Any, *, weights: Any = None) -> NormalInverseGamma:
        """The belief after the data."""
        seen = _count(data, weights)
        if seen.total == 0:
            return self
        strength = self.strength + seen.total
        return NormalInverseGamma(
            self.location + seen.total / strength * (seen.mean - self.location),
            strength,
            self.shape + seen.total / 2,
            self.scale + self._added_scale(seen),
        )

    def _added_scale(self, seen: _Seen) -> float:
        """By how much the data raise the scale."""
        off, share = seen.mean - self.location, seen.total / (self.strength + seen.total)
        return seen.scatter / 2 + self.strength * share * off * off / 2

    def mle(self, data: Any, *, weights: Any = None) -> MeanVariance:
        """Mean and variance (by n) under which the data are most likely."""
        seen = _count(data, weights)
        refuse_nothing(seen.total)
        return MeanVariance(seen.mean, seen.scatter / seen.total)

    def map(self) -> MeanVariance:
        """The most probable pair."""
        return MeanVariance(self.location, self.scale / (self.shape + 1.5))

    def mean(self) -> MeanVariance:
        """Expected values; infinite for the variance, or not a number for the mean, where there is none."""
        mean = self.location if self.shape > 0.5 else math.nan
        return MeanVariance(mean, self.scale / (self.shape - 1) if self.shape > 1 else math.inf)

    def variance(self) -> MeanVariance:
        """Variances of the two parameters under this belief; infinite where there are none."""
        a, expected = self.shape, self.mean().variance
        return MeanVariance(expected / self.strength, expected**2 / (a - 2) if a > 2 else math.inf)

    def interval(self, level: float = 0.95, kind: str = "equal-tailed") -> MeanVariance:
        """Credible intervals of probability ``level`` for each; ``kind`` is "equal-tailed" or "highest-density"."""
        about = self.marginals()
        # a symmetric density with one peak: both kinds are the same interval
        return MeanVariance(interval_of(about.mean, level, "equal-tailed"), interval_of(about.variance, level, kind))

    def predictive(self) -> Any:
        """The next number: ``scipy.stats.t``, frozen."""
        spread = math.sqrt(self.scale / self.shape * (1 + 1 / self.strength))
        return stats.t(2 * self.shape, self.location, spread)

    def log_prob(self, mean: Any, variance: Any) -> Any:
        """The log density of the belief at mean and variance together."""
        deviation = np.sqrt(np.asarray(variance, dtype=np.float64) / self.strength)
        return self.marginals().variance.logpdf(variance) + stats.norm(self.location, deviation).logpdf(mean)

    def log_likelihood(self, mean: Any, variance: Any, data: Any, *, weights: Any = None) -> Any:
        """log p(data | mean, variance)."""
        seen = _count(data, weights)
        variance = np.asarray(variance, dtype=np.float64)
        off = seen.mean - np.asarray(mean, dtype=np.float64)
        return -seen.total / 2 * np.log(2 * np.pi * variance) - (seen.scatter + seen.total * off**2) / (2 * variance)

    def log_evidence(self, data: Any, *, weights: Any = None) -> float:
        """log p(data), whatever mean and variance may be: the likelihood averaged over this belief."""
        seen = _count(data, weights)
        half, more = seen.total / 2, self._added_scale(seen)
        powers = self.shape * math.log1p(more / self.scale) + half * math.log(2 * math.pi * (self.scale + more))
        return float(log_rising(self.shape, half) - powers - math.log1p(seen.total / self.strength) / 2)

    def sample(self, size: Any = None, random_state: Any = None) -> MeanVariance:
        """Draws of mean and variance together: two numbers, or two arrays of the shape ``size``."""
        rng = random_state if isinstance(random_state, np.random.RandomState) else np.random.default_rng(random_state)
        variance = self.scale / rng.gamma(self.shape, size=size)
        mean = self.location + np.sqrt(variance / self.strength) * rng.standard_normal(size=size)
        return MeanVariance(mean, variance)

    def plot(self, data: Any = None, *, weights: Any = None, axes: Any = None) -> Array:
        """Draw both densities; with data also their likelihood and the posterior. Returns the two axes."""
        from corollary.bayes.conjugate.plots import plot_mean_and_variance

        return plot_mean_and_variance(self, data, weights, axes)


def _count(data: Any, weights: Any) -> _Seen:
    values = finite(data)
    w = repetitions(weights, len(values))
    total = float(w.sum())
    if total == 0:
        return _Seen(0.0, 0.0, 0.0)
    middle = float(w @ values) / total
    middle += float(w @ (values - middle)) / total  # again: a large mean leaves no rounding in the scatter
    with np.errstate(over="ignore"):
        scatter = float(w @ (values - middle) ** 2)
    if not math.isfinite(total) or not math.isfinite(middle) or not math.isfinite(scatter):
        raise ValueError("data or weights are too large for float64: divide them by a constant.")
    return _Seen(total, middle, scatter)
