"""One of each distribution with rows that it can have drawn, and what SciPy says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from corollary.core.distribution import (
    Bernoulli,
    Categorical,
    Columns,
    Distribution,
    Exponential,
    Gaussian,
    Multinomial,
    Poisson,
)

N, K = 40, 3
_rng = np.random.RandomState(0)
NUMBERS = _rng.normal(size=(N, 4)) @ _rng.normal(size=(4, 4)) + 3
BITS = (_rng.uniform(size=(N, 4)) < 0.4).astype(float)
STATES = np.column_stack([_rng.randint(3, size=N), _rng.randint(2, size=N), _rng.randint(4, size=N)]).astype(float)
COUNTS = _rng.poisson(3, size=(N, 4)).astype(float)
TIMES = _rng.exponential(2, size=(N, 4))
SHARES = _rng.dirichlet(np.ones(K), size=N) * _rng.uniform(0.5, 2, size=(N, 1))


@dataclass(frozen=True)
class Case:
    part: Distribution
    X: Any
    log_prob: Callable[[Any, Any, int], Any]  # of rows, parameters and which of the K, by SciPy

    @property
    def id(self) -> str:
        return getattr(self.part, "covariance", "") + self.part.name


def _full(X: Any, p: Any, k: int) -> Any:
    return stats.multivariate_normal(p["mean"][k], p["covariance"][min(k, len(p["covariance"]) - 1)]).logpdf(X)


def _diagonal(X: Any, p: Any, k: int) -> Any:
    return stats.norm(p["mean"][k], np.sqrt(p["variance"][k])).logpdf(X).sum(axis=1)


def _bernoulli(X: Any, p: Any, k: int) -> Any:
    return stats.bernoulli(np.exp(p["log_one"][k])).logpmf(X).sum(axis=1)


def _categorical(X: Any, p: Any, k: int) -> Any:
    each = np.split(np.exp(p["log"][k]), [3, 5])
    return sum(np.log(chances[column.astype(int)]) for chances, column in zip(each, X.T, strict=True))


def _multinomial(X: Any, p: Any, k: int) -> Any:
    return stats.multinomial.logpmf(X, X.sum(axis=1).astype(int), np.exp(p["log"][k]))


def _poisson(X: Any, p: Any, k: int) -> Any:
    return stats.poisson(p["rate"][k]).logpmf(X).sum(axis=1)


def _exponential(X: Any, p: Any, k: int) -> Any:
    return stats.expon(scale=1 / p["rate"][k]).logpdf(X).sum(axis=1)


def _columns(X: Any, p: Any, k: int) -> Any:
    found = _diagonal(X[:, [0, 2]], {"mean": p["0.mean"], "variance": p["0.variance"]}, k)
    return found + _poisson(X[:, [1, 3]], {"rate": p["1.rate"]}, k)


CASES = [
    Case(Gaussian("full", 0.1), NUMBERS, _full),
    Case(Gaussian("tied", 0.1), NUMBERS, _full),
    Case(Gaussian("diag", 0.1), NUMBERS, _diagonal),
    Case(Gaussian("spherical", [0.1, 0.2, 0.0, 0.3]), NUMBERS, _diagonal),
    Case(Bernoulli(0.5), BITS, _bernoulli),
    Case(Categorical([3, 2, 4], 0.7), STATES, _categorical),
    Case(Multinomial([0.5, 1.0, 0.0, 2.0]), COUNTS, _multinomial),
    Case(Poisson(0.5, 1.0), COUNTS, _poisson),
    Case(Exponential(1.0, 0.5), TIMES, _exponential),
    Case(Columns([([0, 2], Gaussian(regular=0.1)), ([1, 3], Poisson(0.3, 0.1))]), COUNTS, _columns),
]
BY_COLUMN = [case for case in CASES if case.part.by_column]


def missing_some(X: Any) -> Any:
    holes = X.copy()
    holes[np.random.RandomState(1).uniform(size=X.shape) < 0.2] = np.nan
    return holes
