"""Rows of counts, such as those of the words of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from scipy.special import gammaln

from corollary.core.by_class import linear_scores
from corollary.core.distribution.base import Distribution, Params
from corollary.core.distribution.shares import Shares, counts_of, sums_of
from corollary.core.distribution.totals import (
    PRIOR,
    added,
    check_arrays,
    check_logs,
    log,
    prior_of,
    ratio,
    refuse,
    scaled,
    weighed,
)  # fmt: skip
from corollary.core.limits import Limit
from corollary.core.types import Array


@dataclass(frozen=True)
class WordCounts:
    """Σ share, and Σ share × counts of each column."""

    counts: Array
    totals: Array

    def __add__(self, other: WordCounts) -> WordCounts:
        return WordCounts(self.counts + other.counts, self.totals + other.totals)


class Multinomial(Distribution):
    """x_j of the Σ x things in a row are of kind j, each with probability p_j. ``alpha`` of each kind are added.

    The parameters are log p (``log``), (K, d), and how many things rows have on average (``size``), (K,): samples need
    that, the probability of a row does not. Counts may be fractions, as after tf-idf.
    """

    name = "multinomial"
    by_column = False
    sparse = True
    nonnegative = True
    alpha: Any
    limits: ClassVar[dict[str, Limit]] = {"alpha": PRIOR}

    def __init__(self, alpha: Any = 0.0) -> None:
        super().__init__(alpha=alpha)

    def check(self, X: Any) -> None:
        refuse(X, lambda x: ~(x >= 0) | np.isinf(x), "Multinomial", "counts ≥ 0")

    def summarize(self, X: Any, shares: Shares) -> WordCounts:
        return WordCounts(counts_of(shares), sums_of(shares, X))

    def finish(self, statistics: WordCounts) -> Params:
        totals = statistics.totals + prior_of("alpha", self.alpha, statistics.totals.shape[1])
        whole = totals.sum(axis=1, keepdims=True)
        each = np.where(whole == 0, 1.0, totals) / np.where(whole == 0, totals.shape[1], whole)
        counts = np.where(statistics.counts > 0, statistics.counts, 1.0)
        return {"log": log(each), "size": statistics.totals.sum(axis=1) / counts}

    def log_prob(self, X: Any, params: Params) -> Array:
        return linear_scores(X, params["log"], np.zeros(len(params["log"]))) + arrangements(X)[:, None]

    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        each, sizes = np.exp(params["log"]), np.rint(params["size"]).astype(np.int64)
        each /= each.sum(axis=1, keepdims=True)
        out = np.empty((len(members), each.shape[1]))
        for k in np.unique(members):
            own = members == k
            out[own] = rng.multinomial(sizes[k], each[k], size=int(own.sum()))
        return out

    def log_prior(self, params: Params) -> float:
        return weighed(self.alpha, params["log"])

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        return params["log"], np.zeros(len(params["log"]))

    def softened(self, rows: float) -> Multinomial:
        return Multinomial(added(self.alpha, rows))

    def weighing(self, unit: float) -> Multinomial:
        return Multinomial(scaled(self.alpha, unit))

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        before = np.exp(params["log"])
        squares = ratio(np.exp(after["log"]) - before, before).sum(axis=1)
        return float(np.sqrt((shares * params["size"]) @ squares))

    def n_free(self, params: Params) -> int:
        k, d = params["log"].shape
        return k * (d - 1)

    def check_params(self, params: Params, k: int, d: int) -> None:
        check_arrays("Multinomial", {"size": dict(params).get("size")}, {"size": (k,)}, low=0)
        check_logs("Multinomial", {name: value for name, value in params.items() if name != "size"}, {"log": (k, d)})
        if (np.abs(np.exp(params["log"]).sum(axis=1) - 1) > 1e-9).any():
            raise ValueError("log of Multinomial must be of probabilities that add up to one")


def arrangements(X: Any) -> Array:
    """The logarithm of the multinomial coefficient of each row: in how many orders its things can come."""
    if not issparse(X):
        return gammaln(np.sum(X, axis=1) + 1.0) - gammaln(np.asarray(X) + 1.0).sum(axis=1)
    each = X.copy()
    each.data = gammaln(X.data + 1.0)
    return np.asarray(gammaln(np.asarray(X.sum(axis=1)).ravel() + 1.0) - np.asarray(each.sum(axis=1)).ravel())
