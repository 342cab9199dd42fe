"""Columns of zeros and ones, each independent of the others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.core.by_class import linear_scores
from corollary.core.distribution.base import Distribution, Params
from corollary.core.distribution.shares import Shares
from corollary.core.distribution.totals import (
    PRIOR,
    Totals,
    added,
    check_logs,
    filled,
    log,
    prior_of,
    ratio,
    refuse,
    scaled,
    summed,
    weighed,
)  # fmt: skip
from corollary.core.limits import Limit
from corollary.core.types import Array


class Bernoulli(Distribution):
    """P(x = 1) = p in each column. ``alpha`` rows of a one and ``alpha`` of a zero are added (Lidstone): a prior.

    The parameters are log p (``log_one``) and log (1 − p) (``log_zero``), of shape (K, d): both ends keep digits.
    """

    name = "bernoulli"
    sparse = True
    nonnegative = True
    alpha: Any
    limits: ClassVar[dict[str, Limit]] = {"alpha": PRIOR}

    def __init__(self, alpha: Any = 0.0) -> None:
        super().__init__(alpha=alpha)

    def check(self, X: Any) -> None:
        refuse(X, lambda x: ~np.isnan(x) & (x != 0) & (x != 1), "Bernoulli", "zeros and ones")

    def summarize(self, X: Any, shares: Shares) -> Totals:
        return summed(X, shares)

    def finish(self, statistics: Totals) -> Params:
        alpha = prior_of("alpha", self.alpha, statistics.totals.shape[1])
        ones, zeros = statistics.totals + alpha, statistics.present - statistics.totals + alpha
        zeros = np.maximum(zeros, 0.0)  # less than nothing is rounding
        total = ones + zeros
        unknown = total == 0
        ones, zeros, total = np.where(unknown, 1.0, ones), np.where(unknown, 1.0, zeros), np.where(unknown, 2.0, total)
        return {"log_one": log(ones) - np.log(total), "log_zero": log(zeros) - np.log(total)}

    def log_prob(self, X: Any, params: Params) -> Array:
        (X, missing), zero = filled(X), params["log_zero"]
        always = np.isneginf(zero)  # a zero there is impossible
        zero = np.where(always, 0.0, zero)
        found = linear_scores(X, params["log_one"] - zero, zero.sum(axis=1))
        if missing is not None:
            found -= missing @ zero.T
        if always.any():
            certain = always.astype(np.float64)
            zeros = certain.sum(axis=1) - linear_scores(X, certain, np.zeros(len(certain)))
            found[(zeros if missing is None else zeros - missing @ certain.T) > 0] = -np.inf
        return found

    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        chances = np.exp(params["log_one"])[members]
        return (rng.uniform(size=chances.shape) < chances).astype(np.float64)

    def log_prior(self, params: Params) -> float:
        return weighed(self.alpha, params["log_one"]) + weighed(self.alpha, params["log_zero"])

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        return params["log_one"] - params["log_zero"], params["log_zero"].sum(axis=1)

    def softened(self, rows: float) -> Bernoulli:
        return Bernoulli(added(self.alpha, rows))

    def weighing(self, unit: float) -> Bernoulli:
        return Bernoulli(scaled(self.alpha, unit))

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        change = np.exp(after["log_one"]) - np.exp(params["log_one"])
        spread = np.exp(params["log_one"] + params["log_zero"])
        return float(np.sqrt((shares[:, None] * ratio(change, spread)).sum()))

    def n_free(self, params: Params) -> int:
        return int(params["log_one"].size)

    def check_params(self, params: Params, k: int, d: int) -> None:
        check_logs("Bernoulli", params, {"log_one": (k, d), "log_zero": (k, d)})
        if (np.abs(np.exp(params["log_one"]) + np.exp(params["log_zero"]) - 1) > 1e-9).any():
            raise ValueError("log_one and log_zero of Bernoulli must be of probabilities that add up to one")
