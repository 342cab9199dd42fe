"""Distributions: ``log_prob, summarize, finish, sample``, for K of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corollary.core.distribution.base import Distribution, Params, Statistics
from corollary.core.distribution.bernoulli import Bernoulli
from corollary.core.distribution.categorical import Categorical
from corollary.core.distribution.columns import Columns
from corollary.core.distribution.gaussian import Gaussian
from corollary.core.distribution.multinomial import Multinomial
from corollary.core.distribution.rates import Exponential, Poisson
from corollary.core.distribution.shares import Hard, Shares
from corollary.core.limits import Limit

__all__ = [
    "DISTRIBUTIONS",
    "Bernoulli",
    "Categorical",
    "Columns",
    "Distribution",
    "DistributionOf",
    "Exponential",
    "Gaussian",
    "Hard",
    "Multinomial",
    "Params",
    "Poisson",
    "Shares",
    "Statistics",
    "as_distribution",
]

DISTRIBUTIONS: dict[str, type[Distribution]] = {
    cls.name: cls for cls in (Gaussian, Bernoulli, Categorical, Multinomial, Poisson, Exponential)
}


def as_distribution(given: Any, offered: Mapping[str, Any] | None = None) -> Distribution:
    """The given distribution; the one with that name; or, of a list with one for each column, their product.

    One that is named is made with those of the ``offered`` parameters that it has.
    """
    if isinstance(given, Distribution):
        return given
    if isinstance(given, str):
        return DISTRIBUTIONS[given].made_from(offered or {})
    return Columns.each([as_distribution(each, offered) for each in given])


class DistributionOf(Limit):
    """The name of a distribution, a Distribution, or a list of them with one for each column."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return len(value) > 0 and all(not isinstance(each, (list, tuple)) and self.accepts(each) for each in value)
        return isinstance(value, Distribution) or (isinstance(value, str) and value in DISTRIBUTIONS)

    def __str__(self) -> str:
        return " or ".join([*map(repr, DISTRIBUTIONS), "a Distribution, or a list with one for each column"])
