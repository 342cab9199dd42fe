"""A belief about the rate of counts: Gamma, updated by Poisson data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln, xlogy

from corollary.bayes.conjugate.belief import (
    BeliefInOneNumber,
    alike,
    counts,
    finite,
    refuse,
    refuse_nothing,
    repetitions,
)
from corollary.core.log_gamma import log_rising
from corollary.core.types import Array


class _Seen(NamedTuple):
    events: float
    exposure: float
    log_base: float  # Σ w (x log t − log x!), which does not depend on the rate


@dataclass(frozen=True)
class Gamma(BeliefInOneNumber):
    r"""The belief that a rate λ of events has a Gamma density.

    .. math:: p(\lambda) \propto \lambda^{a-1} e^{-b\lambda}, \qquad
              \lambda \mid D \sim \mathrm{Gamma}\big(a + \textstyle\sum x_i,\; b + \sum t_i\big)

    where xᵢ events were seen in the time (or area, or effort) tᵢ: the shape a counts events, the rate b the time in
    which they were seen.

    Parameters
    ----------
    shape, rate : float > 0, default 1

    Notes
    -----
    Data are whole numbers ≥ 0; ``exposure`` is the time in which each was counted, 1 unless told. ``weights`` say how
    often each datum counts.

    *Cost.* One pass over the data.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, chapter 2.

    Examples
    --------
    >>> from corollary.bayes.conjugate import Gamma
    >>> posterior = Gamma(shape=2, rate=1).update([3, 5, 4])
    >>> posterior
    Gamma(shape=14.0, rate=4.0)
    >>> posterior.mean(), posterior.map(), round(float(posterior.predictive().mean()), 6)
    (3.5, 3.25, 3.5)
    """

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        self._keep_positive("shape", "rate")

    def distribution(self) -> Any:
        """The belief as ``scipy.stats.gamma``, frozen."""
        return stats.gamma(self.shape, scale=1 / self.rate)

    def update(self, data: Any, *, exposure: Any = None, weights: Any = None) -> Gamma:
        """The belief after the data."""
        seen = _count(data, exposure, weights)
        return Gamma(self.shape + seen.events, self.rate + seen.exposure)

    def mle(self, data: Any, *, exposure: Any = None, weights: Any = None) -> float:
        """The rate under which the data are most likely: events for each unit of exposure."""
        seen = _count(data, exposure, weights)
        refuse_nothing(seen.exposure)
        return seen.events / seen.exposure

    def map(self) -> float:
        """The most probable rate."""
        return max(self.shape - 1, 0.0) / self.rate

    def mean(self) -> float:
        """shape / rate."""
        return self.shape / self.rate

    def predictive(self, exposure: float = 1.0) -> Any:
        """How many events a further ``exposure`` will bring: ``scipy.stats.nbinom``, frozen."""
        time = float(_exposures(exposure, "exposure")[0])
        return stats.nbinom(self.shape, self.rate / (self.rate + time))

    def log_likelihood(self, rate: Any, data: Any, *, exposure: Any = None, weights: Any = None) -> Any:
        """log P(data | rate), for one rate or many."""
        seen = _count(data, exposure, weights)
        return xlogy(seen.events, rate) - seen.exposure * np.asarray(rate, dtype=np.float64) + seen.log_base

    def log_evidence(self, data: Any, *, exposure: Any = None, weights: Any = None) -> float:
        """log P(data), whatever the rate may be: the likelihood averaged over this belief."""
        seen = _count(data, exposure, weights)
        ways = log_rising(self.shape, seen.events)
        share = -np.log1p(seen.exposure / self.rate)  # log of b / (b + t)
        later = xlogy(seen.events, self.rate + seen.exposure)
        return float(ways + self.shape * share - later + seen.log_base)

    def plot(self, data: Any = None, *, exposure: Any = None, weights: Any = None, ax: Any = None) -> Any:
        """Draw the density; with data also their likelihood and the posterior. Returns the axes."""
        from corollary.bayes.conjugate.plots import plot_density

        return plot_density(self, "rate", data, {"exposure": exposure, "weights": weights}, ax)


def _exposures(value: Any, name: str) -> Array:
    values = finite(value, name)
    refuse(name, values, values > 0, "> 0")
    return values


def _count(data: Any, exposure: Any, weights: Any) -> _Seen:
    values = counts(data)
    times = np.ones(len(values)) if exposure is None else alike(exposure, values, "exposure", _exposures)
    w = repetitions(weights, len(values))
    return _Seen(float(w @ values), float(w @ times), float(w @ (xlogy(values, times) - gammaln(values + 1))))
