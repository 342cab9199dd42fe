"""A belief about the shares of K classes: Dirichlet, updated by classes or by rows of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import xlogy

from corollary.bayes.conjugate.belief import Belief, counts, finite, refuse_nothing, repetitions
from corollary.bayes.conjugate.beta import Beta
from corollary.core.log_gamma import log_evidence, log_orders
from corollary.core.types import Array


@dataclass(frozen=True)
class Dirichlet(Belief):
    r"""The belief that shares p₁ … p_K, which add up to one, have a Dirichlet density.

    .. math:: p(p) \propto \prod_k p_k^{\alpha_k - 1}, \qquad p \mid D \sim \mathrm{Dirichlet}(\alpha + n)

    where nₖ is how often class k was seen, so that αₖ counts as if seen before.

    Parameters
    ----------
    alpha : sequence of K ≥ 2 floats > 0
        All ones is uniform.
    categories : sequence of K names, or None
        What the classes are called in the data; None is 0 … K − 1.

    Notes
    -----
    Data are classes, or a table with a row of K counts for each observation (multinomial). ``weights`` say how often
    each class, or each row, counts. Arrays that come back have one entry for each class, in the order of ``alpha``.

    *Cost.* One pass over the data.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, section 3.4.

    Examples
    --------
    >>> from corollary.bayes.conjugate import Dirichlet
    >>> prior = Dirichlet([1, 1, 1], categories=["red", "green", "blue"])
    >>> posterior = prior.update(["red", "red", "blue"])
    >>> posterior.alpha, posterior.mean().round(3).tolist()
    ((3.0, 1.0, 2.0), [0.5, 0.167, 0.333])
    """

    alpha: tuple[float, ...]
    categories: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        alpha = finite(self.alpha, "alpha")
        if len(alpha) < 2 or not (alpha > 0).all():
            raise ValueError(f"Dirichlet: alpha must be at least two finite numbers > 0, but it is {self.alpha!r}.")
        object.__setattr__(self, "alpha", tuple(alpha.tolist()))
        if self.categories is None:
            return
        names = tuple(np.asarray(self.categories, dtype=object).ravel().tolist())
        if len(set(names)) != len(alpha) or len(names) != len(alpha):
            raise ValueError(
                f"Dirichlet: categories must be {len(alpha)} different names, one for each alpha, but are {names!r}."
            )
        object.__setattr__(self, "categories", names)

    @property
    def _counts(self) -> Array:
        return np.array(self.alpha)

    def update(self, data: Any, *, weights: Any = None) -> Dirichlet:
        """The belief after the data."""
        return Dirichlet(tuple(self._counts + self._count(data, weights)[0]), self.categories)

    def mle(self, data: Any, *, weights: Any = None) -> Array:
        """The shares under which the data are most likely: those in the data."""
        seen, _ = self._count(data, weights)
        refuse_nothing(seen.sum())
        return seen / seen.sum()

    def map(self) -> Array:
        """The most probable shares; ValueError where there are not some that are more probable than all others."""
        if len(self.alpha) == 2:
            share = Beta(*self.alpha).map()
            return np.array([share, 1 - share])
        above = self._counts - 1
        if (above < 0).any() or not above.any():
            shape = "flat" if not above.any() else "unbounded where a share with alpha < 1 is zero"
            raise ValueError(f"{self!r} is {shape}: no shares are the most probable. Ask for mean().")
        return above / above.sum()

    def mean(self) -> Array:
        """α / Σ α, which is also the probability that the next datum is of each class."""
        return self._counts / math.fsum(self.alpha)

    def variance(self) -> Array:
        """The variance of each share."""
        mean = self.mean()
        return mean * (1 - mean) / (math.fsum(self.alpha) + 1)

    def marginal(self, category: Any) -> Beta:
        """The belief about the share of one class alone."""
        k = int(self._codes([category])[0])
        return Beta(self.alpha[k], math.fsum(self.alpha[:k] + self.alpha[k + 1 :]))

    def interval(self, level: float = 0.95, kind: str = "equal-tailed") -> Array:
        """Credible intervals (K × 2): each holds the share of its class, by itself, with probability ``level``.

        ``kind`` is "equal-tailed" or "highest-density".
        """
        names = range(len(self.alpha)) if self.categories is None else self.categories
        return np.array([self.marginal(name).interval(level, kind) for name in names])

    def predictive(self, trials: int = 1) -> Any:
        """Counts of the classes among ``trials`` further data: ``scipy.stats.dirichlet_multinomial``, frozen."""
        return stats.dirichlet_multinomial(self._counts, int(counts(trials, "trials")[0]))

    def log_prob(self, shares: Any) -> Any:
        """The log density at shares (K,), or at each row of (m × K)."""
        return stats.dirichlet(self._counts).logpdf(np.asarray(shares, dtype=np.float64).T)

    def log_likelihood(self, shares: Any, data: Any, *, weights: Any = None) -> Any:
        """log P(data | shares), for shares (K,) or each row of (m × K); of rows of counts, in any order."""
        seen, log_ways = self._count(data, weights)
        return xlogy(seen, np.asarray(shares, dtype=np.float64)).sum(axis=-1) + log_ways

    def log_evidence(self, data: Any, *, weights: Any = None) -> float:
        """log P(data), whatever the shares may be: the likelihood averaged over this belief."""
        seen, log_ways = self._count(data, weights)
        return float(log_evidence(seen[None], self._counts)[0] + log_ways)

    def sample(self, size: Any = None, random_state: Any = None) -> Array:
        """Draws of the shares: (K,), or ``size`` × K."""
        drawn = np.asarray(stats.dirichlet(self._counts).rvs(1 if size is None else size, random_state=random_state))
        return drawn[0] if size is None else drawn

    def plot(self, data: Any = None, *, weights: Any = None, ax: Any = None) -> Any:
        """Draw mean and interval of each share; with data also their shares and the posterior. Returns the axes."""
        from corollary.bayes.conjugate.plots import plot_shares

        return plot_shares(self, data, weights, ax)

    def _count(self, data: Any, weights: Any) -> tuple[Array, float]:
        """How often each class was seen, and the log of the number of orders that rows of counts stand for."""
        k, array = len(self.alpha), np.asarray(data)
        if array.ndim < 2:
            codes = self._codes(np.atleast_1d(array) if array.dtype != object else np.atleast_1d(array).tolist())
            return np.bincount(codes, weights=repetitions(weights, len(codes)), minlength=k), 0.0
        if array.ndim > 2 or array.shape[1] != k:
            raise ValueError(f"data must be classes, or rows of {k} counts, but have the shape {array.shape}.")
        rows = counts(array.ravel()).reshape(array.shape)
        w = repetitions(weights, len(rows))
        return w @ rows, float(w @ log_orders(rows))

    def _codes(self, data: Any) -> Array:
        """The number of the class of each datum."""
        if self.categories is not None:
            places = {name: place for place, name in enumerate(self.categories)}
            values = data.tolist() if isinstance(data, np.ndarray) else list(data)
            unknown = [value for value in values if value not in places]
            if unknown:
                raise ValueError(f"data must be among {list(self.categories)!r}, but {unknown[0]!r} is not.")
            return np.array([places[value] for value in values], dtype=np.intp)
        k, found = len(self.alpha), finite(data)
        wrong = (found != np.floor(found)) | (found < 0) | (found >= k)
        if wrong.any():
            hint = "Give categories= if classes have names."
            raise ValueError(f"data must be classes 0 … {k - 1}, but {found[wrong][0]:g} is not. {hint}")
        return found.astype(np.intp)
