"""A belief about a probability: Beta, updated by yes/no data or by counts of successes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import xlog1py, xlogy

from corollary.bayes.conjugate.belief import (
    BeliefInOneNumber,
    alike,
    counts,
    finite,
    refuse,
    refuse_nothing,
    repetitions,
)
from corollary.core.log_gamma import log_evidence, log_orders


class _Seen(NamedTuple):
    successes: float
    failures: float
    log_ways: float  # in how many orders the counts may have come


@dataclass(frozen=True)
class Beta(BeliefInOneNumber):
    r"""The belief that a probability p has, before or after data, a Beta density.

    .. math:: p(p) \propto p^{a-1} (1-p)^{b-1}, \qquad p \mid D \sim \mathrm{Beta}(a + s, b + f)

    for s successes and f failures, so that a and b count successes and failures as if seen before.

    Parameters
    ----------
    a, b : float > 0, default 1
        Beta(1, 1) is uniform.

    Notes
    -----
    Data are 0 and 1, or False and True; with ``trials`` they are counts of successes out of so many. ``weights`` say
    how often each datum counts.

    *Cost.* One pass over the data.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, chapter 2.

    Examples
    --------
    A coin shows heads, heads, tails:

    >>> from corollary.bayes.conjugate import Beta
    >>> prior, coin = Beta(1, 1), [1, 1, 0]
    >>> posterior = prior.update(coin)
    >>> posterior
    Beta(a=3.0, b=2.0)
    >>> round(prior.mle(coin), 3), round(posterior.map(), 3), posterior.mean()
    (0.667, 0.667, 0.6)
    >>> float(np.exp(prior.log_likelihood(0.5, coin)).round(6))
    0.125
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        self._keep_positive("a", "b")

    def distribution(self) -> Any:
        """The belief as ``scipy.stats.beta``, frozen."""
        return stats.beta(self.a, self.b)

    def update(self, data: Any, *, trials: Any = None, weights: Any = None) -> Beta:
        """The belief after the data."""
        seen = _count(data, trials, weights)
        return Beta(self.a + seen.successes, self.b + seen.failures)

    def mle(self, data: Any, *, trials: Any = None, weights: Any = None) -> float:
        """The probability under which the data are most likely: the share of successes."""
        seen = _count(data, trials, weights)
        refuse_nothing(seen.successes + seen.failures)
        return seen.successes / (seen.successes + seen.failures)

    def map(self) -> float:
        """The most probable value; ValueError where there is not one alone."""
        if max(self.a, self.b) <= 1 and not self.a < self.b == 1 and not self.b < self.a == 1:
            shape = "flat" if self.a == self.b == 1 else "highest at both 0 and 1"
            raise ValueError(f"{self!r} is {shape}: no value is the most probable. Ask for mean().")
        above, beyond = max(self.a - 1, 0.0), max(self.b - 1, 0.0)
        if above == beyond == 0:
            return float(self.a > self.b)
        return above / (above + beyond)

    def mean(self) -> float:
        """a / (a + b)."""
        return self.a / (self.a + self.b)

    def interval(self, level: float = 0.95, kind: str = "equal-tailed") -> tuple[float, float]:
        """The credible interval of probability ``level``; ``kind`` is "equal-tailed" or "highest-density"."""
        if kind == "highest-density" and max(self.a, self.b) < 1:
            raise ValueError(f"{self!r} is highest at both ends, so no one interval is: ask for equal-tailed.")
        return super().interval(level, kind)

    def predictive(self, trials: int = 1) -> Any:
        """How many of ``trials`` further ones succeed: ``scipy.stats.betabinom``, frozen."""
        return stats.betabinom(int(counts(trials, "trials")[0]), self.a, self.b)

    def log_likelihood(self, p: Any, data: Any, *, trials: Any = None, weights: Any = None) -> Any:
        """log P(data | p), for one p or many; with ``trials``, of the counts in any order."""
        seen = _count(data, trials, weights)
        return xlogy(seen.successes, p) + xlog1py(seen.failures, -np.asarray(p, dtype=np.float64)) + seen.log_ways

    def log_evidence(self, data: Any, *, trials: Any = None, weights: Any = None) -> float:
        """log P(data), whatever p may be: the likelihood averaged over this belief."""
        seen = _count(data, trials, weights)
        counted = np.array([[seen.successes, seen.failures]])
        return float(log_evidence(counted, (self.a, self.b))[0] + seen.log_ways)

    def plot(self, data: Any = None, *, trials: Any = None, weights: Any = None, ax: Any = None) -> Any:
        """Draw the density; with data also their likelihood and the posterior. Returns the axes."""
        from corollary.bayes.conjugate.plots import plot_density

        name, told = "probability", {"trials": trials, "weights": weights}
        return plot_density(self, name, data, told, ax)


def _count(data: Any, trials: Any, weights: Any) -> _Seen:
    if trials is None:
        values = finite(data)
        refuse("data", values, (values == 0) | (values == 1), "0 or 1 (or counts, with trials=)")
        w = repetitions(weights, len(values))
        return _Seen(float(w @ values), float(w @ (1 - values)), 0.0)
    values = counts(data)
    tried = alike(trials, values, "trials", counts)
    refuse("data", values, values <= tried, "at most trials")
    w = repetitions(weights, len(values))
    ways = log_orders(np.column_stack([values, tried - values]))
    return _Seen(float(w @ values), float(w @ (tried - values)), float(w @ ways))
