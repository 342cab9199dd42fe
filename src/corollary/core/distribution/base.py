"""What a distribution is, and all that the rest of the library asks of one.

Naive Bayes, mixtures and discriminants need the same four things of a distribution: how likely rows are, what rows
contribute to its parameters, the best parameters for such contributions, and rows drawn from it. They need them for K
distributions of one kind at once (classes, components), so parameters are named arrays whose first axis is K, and what
rows contribute is weighted by shares: one number for each row and each of the K.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from corollary.core.part import Part
from corollary.core.types import Array

Params = Mapping[str, Array]  # by name; the first axis is that of the K distributions


class Statistics(Protocol):
    """What a block of rows contributes to K distributions. Immutable, picklable, and ``a + b`` merges two blocks."""

    def __add__(self, other: Self, /) -> Self: ...


class Distribution(Part, ABC):
    """One kind of distribution of rows of d columns. Its own parameters are priors and floors, not what is learned.

    Capabilities are attributes, so that one asks for what one needs instead of testing types.
    """

    kind = "distribution"
    by_column: ClassVar[bool] = True  # columns are independent: a missing one (NaN) is skipped, kinds can be mixed
    sparse: ClassVar[bool] = False  # CSR rows are taken as they are
    discrete: ClassVar[bool] = False  # log_prob is of probabilities, not of densities

    @abstractmethod
    def check(self, X: Any) -> None:
        """Raise ValueError, naming the column, where a row lies outside of what can be drawn."""

    @abstractmethod
    def summarize(self, X: Any, shares: Array) -> Statistics:
        """Σ shares × sufficient statistics of rows X (n, d), for shares (n, K) that hold the weights of rows."""

    @abstractmethod
    def finish(self, statistics: Any) -> Params:
        """The parameters that maximise Σ shares × log_prob plus ``log_prior``."""

    @abstractmethod
    def log_prob(self, X: Any, params: Params) -> Array:
        """The logarithm of the density or probability of each row under each of the K, of shape (n, K)."""

    @abstractmethod
    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        """A row from the distribution number members[i], for each i."""

    def log_prior(self, params: Params) -> float:
        """What smoothing adds to the log-likelihood, up to a constant: with it EM never falls."""
        return 0.0

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        """(coef (K, d), offset (K,)) where log_prob(x) is x · coef + offset + h(x) with one h for all K; else None."""
        return None

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        """How far ``after`` is from ``params`` in the metric of Fisher's information, the K weighted by shares (K,)."""
        raise NotImplementedError
