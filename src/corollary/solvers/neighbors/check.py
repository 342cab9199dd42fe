"""A search checked against a comparison with all rows, for rows drawn at random; all of them if they are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist

from corollary._compiled.codes import CHEBYSHEV, EUCLIDEAN, MANHATTAN
from corollary.core.evidence import Certificate, Kind, share_wrong_at_most
from corollary.core.parallel import block_rows, map_blocks
from corollary.core.types import Array
from corollary.solvers.neighbors.doubt import Doubt
from corollary.solvers.neighbors.metric import Metric, points
from corollary.solvers.neighbors.search import BlockSearch, MetricSearch, Search
from corollary.solvers.neighbors.wide import distances_of, shrink_for

_VALUES = 1_000_000  # that are compared, all rows and columns together: about a hundredth of a second
_CALLS = 5_000  # of a function of two rows, which takes much longer than that
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
    if isinstance(search, MetricSearch):
        size = max(1, n * X.shape[1])
        count = max(_VALUES // size, min(_LEAST, _FOR_THEM // size))
    else:
        count = (_CALLS if callable(getattr(search, "metric", None)) else _VALUES // max(1, X.shape[1])) // n
    count = min(max(count, 1), _MOST, n)
    chosen = np.sort(np.random.RandomState(0).permutation(n)[:count])
    queries = X[chosen]
    found, rows = search.nearest(queries, k)
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

    Plain distances to all rows leave a few candidates, which are measured as they are.
    """
    metric, k = search.metric, rows.shape[1]
    query, row = _candidates(search, X, queries, k)
    shrink = shrink_for(metric, X)
    keys = distances_of(metric, queries, X, query, row, shrink)
    order = np.lexsort((keys, query))
    first = np.flatnonzero(np.diff(query[order], prepend=-1))
    best = keys[order][first[:, None] + np.arange(k)]
    own = distances_of(metric, queries, X, np.repeat(np.arange(len(rows)), k), rows.ravel(), shrink)
    with np.errstate(over="ignore"):
        return best / shrink, own.reshape(rows.shape) / shrink


def _candidates(search: MetricSearch, X: Any, queries: Any, k: int) -> tuple[Array, Array]:
    """(query, row) of all pairs that may be among the k nearest, by bounds on their reduced distances.

    X is never copied whole: a block of rows leaves what is not beyond its own k-th least upper bound.
    """
    n, metric = X.shape[0], search.metric
    part = points(metric, queries, search.scale, queries=True)
    doubt = Doubt(metric, X, search.index, queries, part)

    def look(start: int, stop: int) -> tuple[Array, ...]:
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = _plain(metric, points(metric, X[start:stop], search.scale, queries=False), part)
            least = _least(high, k)
            query, row = np.nonzero(~(low > doubt.wider(least[:, -1])[:, None]))
        return query, start + row, low[query, row], least

    found = map_blocks(look, n, block_rows(n, 32 * (X.shape[1] + 4 * part.shape[0])))
    queried, numbers, bounds, least = zip(*found, strict=True)
    query, row, low = np.concatenate(queried), np.concatenate(numbers), np.concatenate(bounds)
    with np.errstate(over="ignore", invalid="ignore"):
        near = ~(low > doubt.wider(_least(np.hstack(least), k)[:, -1])[query])
    return query[near], row[near]


def _least(bounds: Array, k: int) -> Array:
    """The k least of each row in any order, the largest of them last; without numbers they are infinite."""
    bounds = np.where(np.isnan(bounds), np.inf, bounds)
    if bounds.shape[1] < k:
        return np.hstack([bounds, np.full((len(bounds), k - bounds.shape[1]), np.inf)])
    return np.partition(bounds, k - 1, axis=1)[:, :k]


def _plain(metric: Metric, P: Any, Q: Any) -> tuple[Array, Array]:
    """Lower and upper bounds of the reduced distances from each query to all points, by SciPy."""
    if scipy.sparse.issparse(P):
        norms = np.asarray(Q.multiply(Q).sum(axis=1)).reshape(-1, 1) + np.asarray(P.multiply(P).sum(axis=1)).ravel()
        squares = norms - 2 * (Q @ P.T).toarray()
        return squares - 1e-12 * norms, squares + 1e-12 * norms
    if metric.code == MANHATTAN:
        plain = cdist(Q, P, "cityblock")
    elif metric.code == CHEBYSHEV:
        plain = cdist(Q, P, "chebyshev")
    elif metric.code == EUCLIDEAN:
        plain = cdist(Q, P, "sqeuclidean")
    else:
        plain = cdist(Q, P, "minkowski", p=metric.p) ** metric.p
        return plain * (1 - 1e-9), plain * (1 + 1e-9)
    return plain, plain
