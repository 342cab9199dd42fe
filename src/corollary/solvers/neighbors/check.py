"""A search checked against a comparison with all rows, for rows drawn at random; all of them if they are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist

from corollary._compiled.codes import CHEBYSHEV, EUCLIDEAN, MANHATTAN
from corollary.core.evidence import Certificate, Kind, share_wrong_at_most
from corollary.core.parallel import block_rows, map_blocks, one_blas_thread
from corollary.core.types import Array
from corollary.solvers.neighbors.blocks import BlockSearch, Search
from corollary.solvers.neighbors.doubt import Doubt
from corollary.solvers.neighbors.gaps import GapSearch
from corollary.solvers.neighbors.metric import Metric, points
from corollary.solvers.neighbors.search import MetricSearch
from corollary.solvers.neighbors.wide import distances_of, shrink_for

_VALUES = 1_000_000  # that are compared, all rows and columns together: about a hundredth of a second
_CALLS = 5_000  # of a function of two rows, which takes much longer than that
_PAIRS = 1 << 16  # of a query and a row, that are not worth two threads
_FEW = 1 << 17  # differences of all pairs and columns that are taken at once
_LEAST_SURE, _MOST_SURE = 1e-90, 1e90  # distances between these are right to rounding however they are worked out
_NAMES = {EUCLIDEAN: "euclidean", MANHATTAN: "cityblock", CHEBYSHEV: "chebyshev"}
_LEAST, _FOR_THEM = 20, 20_000_000  # rows that are checked at least, unless they take more values than that
_MOST = 59  # rows without a fault show that, with 95 % confidence, fewer than 5 % of all have one
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Check:
    """What a comparison with all rows has shown for ``checked`` of ``total`` rows."""

    excess: float
    checked: int
    total: int

    @property
    def certificate(self) -> Certificate:
        return Certificate(Kind.CHECKED, "distance excess of checked rows", self.excess, TOLERANCE)

    @property
    def facts(self) -> dict[str, float]:
        share = share_wrong_at_most(self.checked, self.total)
        return {"rows": float(self.total), "checked rows": float(self.checked), "share of rows wrong at most": share}

    @property
    def notes(self) -> tuple[str, ...]:
        share = share_wrong_at_most(self.checked, self.total)
        if share == 0.0 or not self.certificate.holds:
            return ()
        wrong = f"the neighbours of fewer than {100 * share:.2g} % of all rows are wrong"
        return (f"With 95 % confidence {wrong}: {self.checked} rows were checked.",)


def check_search(search: Search, X: Any, k: int) -> Check:
    """By how much the k distances of some rows exceed those of a comparison with every row, relatively."""
    n = X.shape[0]
    if isinstance(search, GapSearch) and search.whole is not None:
        search = search.whole
    if isinstance(search, MetricSearch):
        size = max(1, n * X.shape[1])
        count = max(_VALUES // size, min(_LEAST, _FOR_THEM // size))
    else:
        count = (_CALLS if callable(getattr(search, "metric", None)) else _VALUES // max(1, X.shape[1])) // n
    count = min(max(count, 1), _MOST, n)
    queries = X[np.sort(np.random.default_rng(0).choice(n, count, replace=False))]
    found, rows = search.nearest(queries, k)
    if (np.diff(np.sort(rows, axis=1), axis=1) == 0).any():
        return Check(np.inf, count, n)  # a row that is named twice hides another
    if isinstance(search, MetricSearch):
        best, own = _truth(search, X, queries, rows)
    else:
        assert isinstance(search, BlockSearch)
        table = search.table(queries)
        best, own = np.sort(table, axis=1)[:, :k], np.take_along_axis(table, rows, axis=1)
    return Check(max(_excess(own, best), _excess(found, best)), count, n)


def _excess(distances: Array, best: Array) -> float:
    """The largest relative amount by which distances differ from the best; any amount is too much where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.abs(distances - best) / best
    return float(np.where(distances == best, 0.0, excess).max(initial=0.0))


def _truth(search: MetricSearch, X: Any, queries: Any, rows: Array) -> tuple[Array, Array]:
    """The k smallest distances of each query, and those of the rows that were found for it.

    Plain distances to all rows leave those that are not farther than the farthest of the rows found. As these are k,
    the k nearest are among them; these few are measured as they are.
    """
    metric, (m, k) = search.metric, rows.shape
    table = _table(metric, X, queries) if m * X.shape[0] * X.shape[1] <= _FEW else None
    if table is not None:
        return np.sort(table, axis=1)[:, :k], np.take_along_axis(table, rows, axis=1)
    shrink = shrink_for(metric, X)
    query, row = _near(search, X, queries, rows)
    keys = distances_of(metric, queries, X, query, row, shrink)
    order = np.lexsort((keys, query))
    first = np.flatnonzero(np.diff(query[order], prepend=-1))
    best = keys[order][first[:, None] + np.arange(k)]
    own = distances_of(metric, queries, X, np.repeat(np.arange(m), k), rows.ravel(), shrink).reshape(m, k)
    with np.errstate(over="ignore"):
        return best / shrink, own / shrink


def _table(metric: Metric, X: Any, queries: Any) -> Array | None:
    """Distances of the queries to all rows by differences; None where their rounding would have to be looked at."""
    if metric.unit or scipy.sparse.issparse(X) or metric.code not in _NAMES:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        table: Array = cdist(queries, X, _NAMES[metric.code])
    query, row = np.nonzero(~((table > _LEAST_SURE) & (table < _MOST_SURE)))
    return table if (queries[query] == X[row]).all() else None  # of equal rows there is nothing to round


def _near(search: MetricSearch, X: Any, queries: Any, rows: Array) -> tuple[Array, Array]:
    """(query, row) of all pairs that may be as near as the farthest of ``rows`` (m, k); X is never copied whole."""
    n, metric = X.shape[0], search.metric
    part = points(metric, queries, search.scale, queries=True)
    doubt = Doubt(metric, X, search.index, queries, part)
    with np.errstate(over="ignore", invalid="ignore"):
        found = points(metric, X[rows.ravel()], search.scale, queries=False)
        limits = doubt.wider(_reduced(metric, found, part, rows.shape[1]).max(axis=1))[:, None]

    def look(start: int, stop: int) -> tuple[Array, Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            low = _plain(metric, points(metric, X[start:stop], search.scale, queries=False), part)
            query, row = np.nonzero(~(low > limits))
        return query, row + start

    size = max(block_rows(n, 32 * (X.shape[1] + 4 * part.shape[0])), _PAIRS // part.shape[0])
    with one_blas_thread():
        query, row = (np.concatenate(column) for column in zip(*map_blocks(look, n, size), strict=True))
    return query, row


def _reduced(metric: Metric, P: Any, Q: Any, k: int) -> Array:
    """Reduced distances (m, k) of each query to k points of its own."""
    if scipy.sparse.issparse(P):
        return np.asarray((P - Q[np.repeat(np.arange(Q.shape[0]), k)]).power(2).sum(axis=1)).reshape(-1, k)
    gap = np.abs(P.reshape(len(Q), k, -1) - Q[:, None])
    return np.asarray(gap.max(axis=2) if metric.code == CHEBYSHEV else (gap**metric.p).sum(axis=2))


def _plain(metric: Metric, P: Any, Q: Any) -> Array:
    """Lower bounds of the reduced distances from each query to all points, by SciPy and NumPy."""
    if metric.code == MANHATTAN:
        return np.asarray(cdist(Q, P, "cityblock"))
    if metric.code == CHEBYSHEV:
        return np.asarray(cdist(Q, P, "chebyshev"))
    if metric.code != EUCLIDEAN:
        return np.asarray(cdist(Q, P, "minkowski", p=metric.p) ** metric.p) * (1 - 1e-9)
    if scipy.sparse.issparse(P):
        squares = [np.asarray(rows.multiply(rows).sum(axis=1)).ravel() for rows in (Q, P)]
        products = (Q @ P.T).toarray()
    else:
        middle = Q.mean(axis=0)
        Q, P = Q - middle, P - middle
        squares, products = [np.einsum("ij,ij->i", rows, rows) for rows in (Q, P)], Q @ P.T
    share = 1 - (P.shape[1] + 8) * 2.0**-50  # ‖q‖² + ‖p‖² − 2 q·p, less its rounding
    products *= -2
    products += (share * squares[0])[:, None]
    products += share * squares[1]
    return np.asarray(products)
