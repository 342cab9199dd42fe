"""Distances that are given: tables of all of them, or sparse graphs of those that count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.types import Array
from corollary.solvers.neighbors.blocks import BlockSearch
from corollary.solvers.neighbors.index import Lists


@dataclass(frozen=True, eq=False)
class GivenSearch(BlockSearch):
    """Queries are rows of distances to ``n_rows`` rows. Of a sparse row, what is stored counts, zeros too."""

    n_rows: int
    name: str = "a table of distances"

    def _n_rows(self) -> int:
        return self.n_rows

    def _block(self, Q: Any, first: int, stop: int) -> Array:
        return np.ascontiguousarray(Q[:, first:stop], dtype=np.float64)

    def table(self, Q: Any) -> Array:
        if not scipy.sparse.issparse(Q):
            return super().table(Q)
        table = np.full(Q.shape, np.inf)
        table[_queries(Q), Q.indices] = Q.data
        return table

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        if not scipy.sparse.issparse(Q):
            return super().nearest(Q, k)
        least = fewest(Q)
        if least < k:
            raise ValueError(
                f"{k} neighbors per samples are required, but some samples have only {least} neighbors in precomputed "
                "graph matrix X. Ask for fewer, or make the graph with more."
            )
        chosen = _order(Q)[Q.indptr[:-1, None] + np.arange(k)]
        return Q.data[chosen].astype(np.float64), Q.indices[chosen].astype(np.int64)

    def within(self, Q: Any, radius: Array) -> Lists:
        if not scipy.sparse.issparse(Q):
            return super().within(Q, radius)
        query, order = _queries(Q), _order(Q)
        inside = order[Q.data[order] <= radius[query]]  # an order within each row: queries stay where they are
        counts = np.bincount(query[inside], minlength=Q.shape[0])
        places = np.concatenate([[0], np.cumsum(counts)])
        return places, Q.data[inside].astype(np.float64), Q.indices[inside].astype(np.int64)


def check_square(X: Any) -> None:
    """Raise ValueError unless X has a column for each row. What is from a row need not be what is back to it."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"Precomputed matrix must be square, the distances of all rows to all rows, but X has shape {X.shape}."
        )


def check_distances(X: Any) -> None:
    """Raise ValueError if a number is negative."""
    values = X.data if scipy.sparse.issparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(
            f"Negative values in data passed to precomputed distance matrix. Distances must not be negative, but X has "
            f"{values.min():g}."
        )


def fewest(graph: Any) -> int:
    """How many neighbours the row has that has the fewest."""
    return int(np.diff(graph.indptr).min(initial=graph.shape[1]))


def _queries(graph: Any) -> Array:
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))


def _order(graph: Any) -> Array:
    """The entries of each row by distance, then by number."""
    return np.lexsort((graph.indices, graph.data, _queries(graph)))
