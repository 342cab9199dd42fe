"""Columns of counts (Poisson) and of waiting times (exponential), each independent of the others."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from scipy.special import gammaln

from corollary.core.by_class import linear_scores
from corollary.core.distribution.base import Distribution, Params
from corollary.core.distribution.shares import Shares
from corollary.core.distribution.totals import (
    PRIOR,
    Totals,
    added,
    check_arrays,
    filled,
    log,
    not_counts,
    prior_of,
    ratio,
    refuse,
    scaled,
    summed,
    weighed,
)  # fmt: skip
from corollary.core.limits import Limit
from corollary.core.types import Array


class _Rates(Distribution):
    """What both share: the rate λ of each column, of shape (K, d), and a Gamma prior λ^alpha exp(−beta λ)."""

    nonnegative = True
    alpha: Any
    beta: Any
    limits: ClassVar[dict[str, Limit]] = {"alpha": PRIOR, "beta": PRIOR}

    def __init__(self, alpha: Any = 0.0, beta: Any = 0.0) -> None:
        super().__init__(alpha=alpha, beta=beta)

    def summarize(self, X: Any, shares: Shares) -> Totals:
        return summed(X, shares)

    def _prior(self, d: int) -> tuple[Array, Array]:
        return prior_of("alpha", self.alpha, d), prior_of("beta", self.beta, d)

    def log_prior(self, params: Params) -> float:
        rate = params["rate"]
        return weighed(self.alpha, log(rate)) - float((np.asarray(self.beta, dtype=np.float64) * rate).sum())

    def weighing(self, unit: float) -> Distribution:
        return type(self)(scaled(self.alpha, unit), scaled(self.beta, unit))

    def n_free(self, params: Params) -> int:
        return int(params["rate"].size)


class Poisson(_Rates):
    """Counts of rate λ. The prior is that of ``alpha`` more events in ``beta`` more rows."""

    name = "poisson"
    sparse = True

    def check(self, X: Any) -> None:
        refuse(X, not_counts, "Poisson", "whole numbers ≥ 0")

    def finish(self, statistics: Totals) -> Params:
        alpha, beta = self._prior(statistics.totals.shape[1])
        rows = statistics.present + beta
        return {"rate": np.where(rows > 0, statistics.totals + alpha, 1.0) / np.where(rows > 0, rows, 1.0)}

    def log_prob(self, X: Any, params: Params) -> Array:
        (X, missing), rate = filled(X), params["rate"]
        found = linear_scores(X, log(rate), -rate.sum(axis=1)) - _log_factorials(X)[:, None]
        return found if missing is None else found + missing @ rate.T

    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        return rng.poisson(params["rate"][members]).astype(np.float64)

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        return log(params["rate"]), -params["rate"].sum(axis=1)

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        rate = params["rate"]
        return float(np.sqrt((shares[:, None] * ratio(after["rate"] - rate, rate)).sum()))

    def check_params(self, params: Params, k: int, d: int) -> None:
        check_arrays("Poisson", params, {"rate": (k, d)}, low=0)

    def softened(self, rows: float) -> Poisson:
        return Poisson(added(self.alpha, rows), self.beta)


class Exponential(_Rates):
    """Waiting times x ≥ 0 of density λ exp(−λx). The prior is that of ``alpha`` more events after ``beta`` more time.

    Columns of zeros alone have no density: they ask for ``beta`` > 0.
    """

    name = "exponential"

    def check(self, X: Any) -> None:
        refuse(X, lambda x: (x < 0) | np.isinf(x), "Exponential", "times ≥ 0")

    def finish(self, statistics: Totals) -> Params:
        alpha, beta = self._prior(statistics.totals.shape[1])
        rows, time = statistics.present + alpha, statistics.totals + beta
        rows = np.broadcast_to(rows, time.shape)
        with np.errstate(divide="ignore", over="ignore"):
            rate = np.where(rows > 0, rows, 1.0) / np.where(rows > 0, time, 1.0)
        if not np.isfinite(rate).all():
            k, j = np.argwhere(~np.isfinite(rate))[0]
            raise ValueError(
                f"Exponential: column {j} is zero in all rows of one group (number {k}), where its density has no "
                "bound. Give beta > 0, or leave the column out."
            )
        return {"rate": rate}

    def log_prob(self, X: Any, params: Params) -> Array:
        (X, missing), rate = filled(X), params["rate"]
        logs = log(rate)
        found: Array = logs.sum(axis=1) - X @ rate.T
        return found if missing is None else found - missing @ logs.T

    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        drawn: Array = rng.standard_exponential((len(members), params["rate"].shape[1])) / params["rate"][members]
        return drawn

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        return -params["rate"], log(params["rate"]).sum(axis=1)

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        change = (after["rate"] - params["rate"]) / params["rate"]
        return float(np.sqrt((shares[:, None] * change**2).sum()))

    def check_params(self, params: Params, k: int, d: int) -> None:
        check_arrays("Exponential", params, {"rate": (k, d)}, low=np.finfo(np.float64).tiny)


def _log_factorials(X: Any) -> Array:
    """Σ log x! of each row."""
    if not issparse(X):
        return gammaln(X + 1.0).sum(axis=1)
    each = X.copy()
    each.data = gammaln(X.data + 1.0)
    return np.asarray(each.sum(axis=1)).ravel()
