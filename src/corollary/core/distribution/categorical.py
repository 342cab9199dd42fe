"""Columns of states 0, 1, …, each independent of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from corollary.core.by_class import category_scores
from corollary.core.distribution.base import Distribution, Params
from corollary.core.distribution.shares import Hard, Shares, counts_of
from corollary.core.distribution.totals import check_logs, log, not_counts, ratio, refuse
from corollary.core.limits import ArrayLike, Choice, Limit, Real
from corollary.core.types import Array

MOST = 1 << 24  # states of all columns together


@dataclass(frozen=True)
class StateCounts:
    """Σ share, and Σ share of each state of each column, one column after the other: (K, Σ states)."""

    counts: Array
    states: Array

    def __add__(self, other: StateCounts) -> StateCounts:
        return StateCounts(self.counts + other.counts, self.states + other.states)


class Categorical(Distribution):
    """Column j is one of ``n_states[j]`` states, coded 0, 1, …. ``alpha`` rows of each state are added (Lidstone).

    The parameters are the logarithms of probabilities (``log``), one column after the other: of shape (K, Σ states);
    :meth:`by_columns` divides them. Without ``n_states`` there are as many as the largest code says
    (:meth:`spanning`).
    """

    name = "categorical"
    nonnegative = True
    n_states: Any
    alpha: float
    limits: ClassVar[dict[str, Limit]] = {"n_states": Choice(None) | ArrayLike(), "alpha": Real(0, finite=True)}

    def __init__(self, n_states: Any = None, alpha: float = 0.0) -> None:
        super().__init__(n_states=n_states, alpha=alpha)

    @property
    def sizes(self) -> Array:
        """The number of states of each column."""
        if self.n_states is None:
            raise ValueError("Categorical: n_states is not known; give the number of states of each column.")
        given = np.asarray(self.n_states)
        if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given) or (given < 1).any() or given.sum() > MOST:
            raise ValueError(
                f"Categorical: n_states must be a whole number ≥ 1 for each column, {MOST:,} at most in all, but it is "
                f"{self.n_states!r}."
            )
        return given.astype(np.int64)

    def spanning(self, low: Array, high: Array) -> Categorical:
        if self.n_states is not None:
            return self
        top = np.where(np.isnan(high), 0.0, high)
        if (top >= MOST).any():
            column = int(top.argmax())
            raise ValueError(f"Categorical needs states coded 0, 1, …, but column {column} has {top[column]:g}.")
        return Categorical([int(each) + 1 for each in np.maximum(top, 0)], self.alpha)

    def check(self, X: Any) -> None:
        refuse(X, not_counts, "Categorical", "states coded 0, 1, …")
        if self.n_states is None:
            return
        sizes = self.sizes
        if X.shape[1] != len(sizes):
            raise ValueError(f"Categorical: n_states has {len(sizes)} numbers, but X has {X.shape[1]} columns.")
        for j, size in enumerate(sizes):
            top = np.fmax.reduce(X[:, j], initial=-1.0)
            if top >= size:
                raise ValueError(f"Categorical: column {j} has states 0 to {size - 1}, but X has {top:g} in it.")

    def _places(self, X: Any) -> Array:
        """Where in ``log`` the state of each entry is; Σ states where it is missing."""
        sizes = self.sizes
        missing = np.isnan(X)
        places = np.where(missing, 0, X).astype(np.int64) + (np.cumsum(sizes) - sizes)
        places[missing] = sizes.sum()
        return places

    def summarize(self, X: Any, shares: Shares) -> StateCounts:
        if isinstance(shares, Hard):
            return StateCounts(shares.counts, shares.states(np.asarray(X, dtype=np.float64), self.sizes))
        places, size = self._places(np.asarray(X, dtype=np.float64)), int(self.sizes.sum()) + 1
        n, d = places.shape
        present = csr_array((np.ones(n * d), places.ravel(), np.arange(n + 1) * d), shape=(n, size))
        return StateCounts(counts_of(shares), np.ascontiguousarray((present.T @ shares).T[:, :-1]))

    def finish(self, statistics: StateCounts) -> Params:
        states, sizes = statistics.states + self.alpha, self.sizes
        starts = np.cumsum(sizes) - sizes
        total = np.repeat(np.add.reduceat(states, starts, axis=1), sizes, axis=1)
        unknown = total == 0
        each = np.where(unknown, 1.0, states) / np.where(unknown, np.repeat(sizes, sizes), total)
        return {"log": log(each)}

    def by_columns(self, params: Params) -> list[Array]:
        """The logarithms of probabilities of each column, of shape (K, states)."""
        return np.split(params["log"], np.cumsum(self.sizes)[:-1], axis=1)

    def log_prob(self, X: Any, params: Params) -> Array:
        return category_scores(np.asarray(X, dtype=np.float64), self.sizes, params["log"])

    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        out = np.empty((len(members), len(self.sizes)))
        for j, logs in enumerate(self.by_columns(params)):
            ends = np.cumsum(np.exp(logs), axis=1)
            ends /= ends[:, -1:]
            out[:, j] = (rng.uniform(size=len(members))[:, None] >= ends[members]).sum(axis=1)
        return out

    def log_prior(self, params: Params) -> float:
        return float(self.alpha * params["log"].sum()) if self.alpha else 0.0

    def softened(self, rows: float) -> Categorical:
        return Categorical(self.n_states, self.alpha + rows)

    def weighing(self, unit: float) -> Categorical:
        return Categorical(self.n_states, self.alpha * unit)

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        before = np.exp(params["log"])
        return float(np.sqrt((shares[:, None] * ratio(np.exp(after["log"]) - before, before)).sum()))

    def n_free(self, params: Params) -> int:
        return int((self.sizes - 1).sum() * len(params["log"]))

    def check_params(self, params: Params, k: int, d: int) -> None:
        sizes = self.sizes
        if len(sizes) != d:
            raise ValueError(f"Categorical has {len(sizes)} columns, and the model {d}")
        check_logs("Categorical", params, {"log": (k, int(sizes.sum()))})
        if any((np.abs(np.exp(logs).sum(axis=1) - 1) > 1e-9).any() for logs in self.by_columns(params)):
            raise ValueError("log of Categorical must be of probabilities that add up to one in each column")
