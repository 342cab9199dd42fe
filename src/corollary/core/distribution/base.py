"""What a distribution is, and all that the rest of the library asks of one.

Naive Bayes and mixtures need the same four things of a distribution: how likely rows are, what rows
contribute to its parameters, the best parameters for such contributions, and rows drawn from it. They need them for K
distributions of one kind at once (classes, components), so parameters are named arrays whose first axis is K (or one,
where all K share), and what rows contribute is weighted by shares: one number for each row and each of the K, or, where
every row belongs to one of the K, that one and the weight of the row (``Hard``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from corollary.core.by_class import probe
from corollary.core.distribution.shares import Hard, Shares
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
    by_column: bool = True  # columns are independent: a missing one (NaN) is skipped, kinds can be mixed
    sparse: ClassVar[bool] = False  # CSR rows are taken as they are
    nonnegative: bool = False  # no number below zero can be drawn

    @abstractmethod
    def check(self, X: Any) -> None:
        """Raise ValueError, naming the column, where a row lies outside of what can be drawn."""

    @abstractmethod
    def summarize(self, X: Any, shares: Shares) -> Any:
        """Statistics: Σ shares × what rows X (n, d) contribute, for shares (n, K) or ``Hard``, weights included."""

    @abstractmethod
    def finish(self, statistics: Any) -> Params:
        """The parameters that maximise Σ shares × ``log_fit`` plus ``log_prior``."""

    @abstractmethod
    def log_prob(self, X: Any, params: Params) -> Array:
        """The logarithm of the density or probability of each row under each of the K, of shape (n, K)."""

    @abstractmethod
    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        """A row from the distribution number members[i], for each i."""

    @abstractmethod
    def distance(self, params: Params, after: Params, shares: Array) -> float:
        """How far ``after`` is from ``params`` in the metric of Fisher's information, the K weighted by shares (K,)."""

    @abstractmethod
    def n_free(self, params: Params) -> int:
        """The number of free parameters, all K together."""

    @abstractmethod
    def check_params(self, params: Params, k: int, d: int) -> None:
        """Raise ValueError unless these can be the parameters of k distributions of d columns: files are hostile."""

    def again(self, X: Any, shares: Hard, statistics: Any) -> Any:
        """The sums that ``statistics``, of these and other rows, rest on, of rows X on another way. They merge by +.

        Unless a distribution has something better, what ``summarize`` makes of sums by other code in another order.
        """
        return self.summarize(X, shares.again())

    def error(self, statistics: Any, again: Any) -> float:
        """The largest relative error of ``statistics``, of all rows, as ``again`` shows it: number by number, but for
        sums of sparse rows, which are compared after a multiplication by ``probe``.

        Where numbers of both signs are added up, a distribution needs a yardstick of its own.
        """
        worst = 0.0
        for field in fields(statistics):
            first, second = getattr(statistics, field.name), getattr(again, field.name)
            if second.ndim < first.ndim:
                first = first @ probe(first.shape[1])
            worst = max(worst, relative_error(second - first, first))
        return worst

    def log_fit(self, X: Any, params: Params) -> Array:
        """What ``finish`` maximises: ``log_prob`` less what a regularisation takes from each row."""
        return self.log_prob(X, params)

    def log_prior(self, params: Params) -> float:
        """What smoothing adds to the log-likelihood, up to a constant: with it EM never falls."""
        return 0.0

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        """(coef (K, d), offset (K,)) where log_prob(x) is x · coef + offset + h(x) with one h for all K; else None."""
        return None

    def spanning(self, low: Array, high: Array) -> Distribution:
        """The same for columns whose numbers go from ``low`` to ``high``: what was left open is settled by them."""
        return self

    def near(self, X: Any, weights: Array, rows: Any, own: Hard) -> Params:
        """K distributions with the spread of weighted rows X, each in the place of some rows of its own: a start.

        Unless a distribution has places and spreads, each of the K learns from X and, just as much, from its own rows.
        """
        whole = np.repeat((weights / weights.sum())[:, None], own.n, axis=1)
        return self.finish(self.summarize(X, whole) + self.summarize(rows, own))

    def softened(self, rows: float) -> Distribution:
        """The same with so much more of a prior, counted in rows, that nothing that can be drawn is impossible."""
        return self

    def weighing(self, unit: float) -> Distribution:
        """The same where a weight of one has become ``unit``: what a prior counts in rows is multiplied by it."""
        return self


def relative_error(difference: Array, size: Array) -> float:
    """The largest |difference| / |size|, where no difference is none whatever the size."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(difference == 0, 0.0, np.abs(difference) / np.abs(size))
    return float(found.max(initial=0.0))
