"""Neighbours that vote, and rows that count more than once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning
from corollary.core.fitted import Fitted, Floats, Integers
from corollary.core.limits import Choice, Instance, Limit, Real
from corollary.core.types import Array
from corollary.neighbors.neighbors_base import SEARCH_LIMITS, NeighborsModel, _count
from corollary.neighbors.weights import NAMES, vote_weights

_QUERIES = 1 << 14  # predicted at a time
VOTE_LIMITS: dict[str, Limit] = SEARCH_LIMITS | {
    "weights": Choice(*NAMES, None) | Instance("a function of distances", methods=("__call__",)),
    "offset": Real(0),
    "power": Real(0, above=True),
    "bandwidth": Choice(None) | Real(0, above=True),
}


class VotingNeighbors(NeighborsModel):
    """Neighbours that vote. A row of weight w stands for w equal rows, which fill up k places one by one."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "rows_": Integers("n", low=0, increasing=True),
        "multiplicity_": Floats("n", low=0, above=True),
    }
    weights: Any
    offset: float
    power: float
    bandwidth: float | None

    multiplicity_: Array

    @assigning
    def __init__(
        self,
        n_neighbors: int | None = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float | None = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        offset: float = 1.0,
        power: float = 1.0,
        bandwidth: float | None = None,
        n_jobs: int | None = None,
    ) -> None: ...

    rows_: Array
    _y: Array

    def _keep_votes(self, X: Any, y: Array, weights: Array) -> None:
        """Keep the rows of positive weight with their targets y (class numbers or numbers)."""
        if weights.sum() < (self.n_neighbors or 1) and not (weights == 1).all():
            total = weights.sum() / self._weight_unit
            raise ValueError(
                f"The weights of all rows add up to {total:.4g}, but n_neighbors = {self.n_neighbors}. A row of weight "
                "w counts as w neighbours: multiply sample_weight by a constant, or ask for fewer."
            )
        self.rows_ = np.flatnonzero(weights)
        if len(self.rows_) < len(weights):
            if self._precomputed:
                raise ValueError("sample_weight has zeros; with metric='precomputed' leave out those rows and columns.")
            X, y, weights = X[self.rows_], y[self.rows_], weights[self.rows_]
        self._y, self.multiplicity_ = y, weights
        self._keep_rows(X, y)

    def _asked(self, X: Any) -> Any:
        """Checked queries, or the training rows if X is None."""
        return self._fit_X if X is None else self._queries(X)

    def _neighbours(self, X: Any, *, others: bool = False) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of queries, with the rows (m, k or more) that vote and the weights of their votes.

        The queries may be the training rows, each of which asks the ``others``.
        """
        options = (self.offset, self.power, self.bandwidth)
        for a in range(0, X.shape[0], _QUERIES):
            block = slice(a, min(a + _QUERIES, X.shape[0]))
            own = np.arange(block.start, block.stop) if others else None
            distances, rows, copies = self._with_copies(X[block], own)
            if self._with_gaps and isinstance(self.weights, str) and self.weights != "uniform":
                copies = _with_a_distance(distances, copies, a)
            yield block, rows, vote_weights(self.weights, distances, copies, *options)

    def _with_copies(self, Q: Any, own: Array | None) -> tuple[Array, Array, Array]:
        """Neighbours until k places are filled, and how many places each of them takes."""
        k, weights = _count(self.n_neighbors), self.multiplicity_
        if (weights == 1).all():
            distances, rows = self._nearest(Q, k, own)
            return distances, rows, np.ones(distances.shape)
        distances, rows = self._nearest(Q, min(k, self.n_samples_fit_))
        filled = self._places(rows, own).sum(axis=1)
        count = rows.shape[1]
        while count < self.n_samples_fit_ and filled.min() < k:
            short = np.flatnonzero(filled < k)
            count = min(2 * count, self.n_samples_fit_)
            more, more_rows = self._nearest(Q[short], count)
            distances, rows = _widened(distances, count, np.inf), _widened(rows, count, 0)
            distances[short], rows[short] = more, more_rows
            filled[short] = self._places(more_rows, None if own is None else own[short]).sum(axis=1)
        if own is not None and filled.min() < k:
            raise ValueError(
                f"Expected n_neighbors < n_samples_fit, but n_neighbors = {k}, and the weights of all rows but the one "
                f"that asks add up to {filled.min() / self._weight_unit:.4g}."
            )
        places = np.where(np.isfinite(distances), self._places(rows, own), 0.0)
        before = np.cumsum(places, axis=1) - places
        return distances, rows, np.clip(k - before, 0.0, places)

    def _places(self, rows: Array, own: Array | None) -> Array:
        """How many equal rows each of ``rows`` (m, k) stands for; of a row that asks, one is itself."""
        places = self.multiplicity_[rows]
        return places if own is None else np.where(rows == own[:, None], np.maximum(places - 1.0, 0.0), places)


def _with_a_distance(distances: Array, copies: Array, first: int) -> Array:
    """The copies that vote by their distance: rows that share no column with the query have none, and count nothing."""
    voting = np.where(np.isfinite(distances), copies, 0.0)
    alone = np.flatnonzero(~voting.any(axis=1))
    if alone.size:
        raise ValueError(
            f"Row {first + alone[0]} of X has no column in common with any row that was fitted, so none of them has a "
            "distance to weigh its vote by. Fill in some of its gaps, leave it out, or use weights='uniform'."
        )
    return voting


def _widened(values: Array, count: int, filler: float) -> Array:
    out = np.full((len(values), count), filler, dtype=values.dtype)
    out[:, : values.shape[1]] = values
    return out
