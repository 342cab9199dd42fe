"""Searches: from rows and a metric's name to neighbours and distances, by whichever index suits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.codes import EUCLIDEAN
from corollary._compiled.neighbors import nearest as compiled
from corollary.core.types import Array
from corollary.solvers.distances import between, variances_of
from corollary.solvers.neighbors.doubt import Doubt
from corollary.solvers.neighbors.index import PAIRS, Index, Lists, empty_answers, join
from corollary.solvers.neighbors.metric import Metric, points, scale_for
from corollary.solvers.neighbors.products import Products
from corollary.solvers.neighbors.sparse_products import SparseProducts
from corollary.solvers.neighbors.tree import Tree, tree_if_it_pays

_DENSE_QUERIES = 1 << 22  # values of sparse queries that are made dense at a time, for dense rows
_LEAF = 256  # points that are compared with a query at once, where a metric other than the Euclidean skips nothing


class Search(ABC):
    """Neighbours of queries, ordered by (distance, row number)."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How neighbours are found."""

    @abstractmethod
    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        """Distances and rows (m, k)."""

    @abstractmethod
    def within(self, Q: Any, radius: Array) -> Lists:
        """Places, distances and rows of all neighbours within radius[i] of query i."""


@dataclass(frozen=True, eq=False)
class MetricSearch(Search):
    """A compiled metric: rows become points, points are searched by an index, reduced distances become distances."""

    X: Any
    metric: Metric
    scale: float
    index: Index

    @property
    def name(self) -> str:
        return self.index.name

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        answers = [self._k_nearest(own, part, k) for own, part in self._points(Q)]
        if len(answers) == 1:
            return answers[0]
        distances, rows = (np.concatenate(column) for column in zip(*answers, strict=True))
        return distances, rows

    def _k_nearest(self, Q: Any, part: Any, k: int) -> tuple[Array, Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # queries out of all proportion are answered again
            reduced, rows = self.index.nearest(part, k)
        distances, doubt = self.metric.distance(reduced, self.scale), Doubt(self.metric, self.X, self.index, Q, part)
        unsure = doubt.queries(np.repeat(np.arange(len(rows)), k), rows.ravel(), reduced.ravel())
        if len(unsure):
            distances[unsure], rows[unsure] = doubt.nearest(unsure, reduced[unsure, -1], k)
        return distances, rows

    def within(self, Q: Any, radius: Array) -> Lists:
        found, at = [], 0
        for own, part in self._points(Q):
            found.append(self._all_within(own, part, radius[at : at + part.shape[0]]))
            at += part.shape[0]
        counts, distances, rows = (np.concatenate(column) for column in zip(*found, strict=True))
        return np.concatenate([[0], np.cumsum(counts)]), distances, rows

    def _all_within(self, Q: Any, part: Any, radius: Array) -> Lists:
        """How many rows are within the radius of each query, with their distances and numbers."""
        with np.errstate(over="ignore", invalid="ignore"):
            limits = self.metric.reduced(radius, self.scale)
            places, reduced, rows = self.index.within(part, np.minimum(limits, np.finfo(np.float64).max))
        distances, doubt = self.metric.distance(reduced, self.scale), Doubt(self.metric, self.X, self.index, Q, part)
        query, counts = np.repeat(np.arange(len(radius)), np.diff(places)), np.diff(places)
        unclear = np.flatnonzero((limits < doubt.least) | (limits == np.inf))
        unsure = np.union1d(doubt.queries(query, rows, reduced), unclear)
        if len(unsure) == 0:
            return counts, distances, rows
        again, measured, numbers = doubt.within(unsure, limits[unsure], radius[unsure])
        sure = ~np.isin(query, unsure)
        counts[unsure] = np.diff(again)
        query = np.concatenate([query[sure], np.repeat(unsure, np.diff(again))])
        order = np.argsort(query, kind="stable")
        return counts, np.concatenate([distances[sure], measured])[order], np.concatenate([rows[sure], numbers])[order]

    def _points(self, Q: Any) -> Iterator[tuple[Any, Any]]:
        """Queries, stored like X, and as points; in parts where they are made dense."""
        sparse = scipy.sparse.issparse(self.X)
        if sparse or not scipy.sparse.issparse(Q):
            Q = scipy.sparse.csr_array(Q) if sparse else Q
            yield Q, points(self.metric, Q, self.scale, queries=True)
            return
        step = max(1, _DENSE_QUERIES // Q.shape[1])
        Q = scipy.sparse.csr_array(Q)
        for a in range(0, Q.shape[0], step):
            own = Q[a : a + step].toarray()
            yield own, points(self.metric, own, self.scale, queries=True)


class BlockSearch(Search):
    """Distances computed in blocks of pairs, and the smallest kept."""

    @abstractmethod
    def _n_rows(self) -> int: ...

    @abstractmethod
    def _block(self, Q: Any, first: int, stop: int) -> Array:
        """Distances (queries, rows first … stop − 1) as float64 in C order."""

    def _sizes(self) -> tuple[int, int]:
        width = min(self._n_rows(), 4096)
        return max(1, PAIRS // max(1, width)), width

    def table(self, Q: Any) -> Array:
        """Distances of a few queries to all rows."""
        return self._block(scipy.sparse.csr_array(Q) if scipy.sparse.issparse(Q) else Q, 0, self._n_rows())

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, rows = empty_answers(Q.shape[0], k)
        Q = scipy.sparse.csr_array(Q) if scipy.sparse.issparse(Q) else Q
        size, width = self._sizes()

        def search(a: int, b: int) -> None:
            for first in range(0, self._n_rows(), width):
                block = self._block(Q[a:b], first, min(first + width, self._n_rows()))
                compiled.offer_block(block, first, distances[a:b], rows[a:b])
            compiled.sort_heaps(distances[a:b], rows[a:b])

        for a in range(0, Q.shape[0], size):  # a user's metric need not be safe in threads
            search(a, min(a + size, Q.shape[0]))
        return distances, rows

    def within(self, Q: Any, radius: Array) -> Lists:
        Q = scipy.sparse.csr_array(Q) if scipy.sparse.issparse(Q) else Q
        size, width = self._sizes()
        found = []
        for a in range(0, Q.shape[0], size):
            for first in range(0, self._n_rows(), width):
                block = self._block(Q[a : a + size], first, min(first + width, self._n_rows()))
                query, row = (block <= radius[a : a + size, None]).nonzero()
                found.append((a + query, block[query, row], first + row))
        return join(found, Q.shape[0])


@dataclass(frozen=True, eq=False)
class PairwiseSearch(BlockSearch):
    """Any metric that ``sklearn.metrics.pairwise_distances`` takes, or a function of two rows."""

    X: Any
    metric: Any
    parameters: dict[str, Any]
    name: str = "pairwise distances in blocks"

    def _n_rows(self) -> int:
        return int(self.X.shape[0])

    def _block(self, Q: Any, first: int, stop: int) -> Array:
        from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

        rows = self.X[first:stop]
        if isinstance(self.metric, str) and self.metric in PAIRWISE_BOOLEAN_FUNCTIONS:
            Q, rows = Q != 0, rows != 0
        block = between(Q, rows, self.metric, self.parameters)
        if not (block >= 0).all():
            raise ValueError(
                f"metric {self.metric!r} gave {'NaN' if np.isnan(block).any() else 'a negative number'}; "
                "a distance must be a number ≥ 0."
            )
        if isinstance(self.metric, str) and not np.isfinite(block.max(initial=0.0)):
            raise ValueError(
                f"Distances by metric {self.metric!r} overflow float64. Rescale the columns of X to magnitudes below "
                "1e100 (StandardScaler does)."
            )
        return np.ascontiguousarray(block, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class TableSearch(BlockSearch):
    """Queries are rows of a table of distances to ``n_rows`` rows."""

    n_rows: int
    name: str = "a table of distances"

    def _n_rows(self) -> int:
        return self.n_rows

    def _block(self, Q: Any, first: int, stop: int) -> Array:
        return np.ascontiguousarray(Q[:, first:stop], dtype=np.float64)


def make_search(
    X: Any, metric: Any, p: float, parameters: dict[str, Any] | None, algorithm: str, leaf_size: int, k: int
) -> Search:
    """The search for rows X; every algorithm gives the same neighbours."""
    if isinstance(metric, str) and metric == "precomputed":
        return TableSearch(X.shape[1])
    known = Metric.of(metric, p, parameters)
    if known is None or (scipy.sparse.issparse(X) and (known.code != EUCLIDEAN or known.centred)):
        if algorithm == "kd_tree":
            raise ValueError(
                f"algorithm='kd_tree' needs dense rows and the metric 'euclidean', 'manhattan', 'chebyshev', "
                f"'minkowski' or 'cosine', but the metric is {metric!r}"
                f"{' and X is sparse' if scipy.sparse.issparse(X) else ''}; use algorithm='brute'."
            )
        extra = dict(parameters or {})
        wanted = variances_of(metric)
        if wanted is not None and wanted not in extra:
            raise ValueError(
                f"metric={metric!r} needs metric_params={{{wanted!r}: …}}: it must be the same for all rows."
            )
        if isinstance(metric, str) and metric == "minkowski":
            extra.setdefault("p", p)
        return PairwiseSearch(X, metric, extra)
    scale = scale_for(known, X)
    return MetricSearch(X, known, scale, _index(points(known, X, scale, queries=False), known, algorithm, leaf_size, k))


def _index(P: Any, metric: Metric, algorithm: str, leaf_size: int, k: int) -> Index:
    if scipy.sparse.issparse(P):
        if algorithm == "kd_tree":
            raise ValueError("algorithm='kd_tree' needs dense rows, but X is sparse; use algorithm='brute'.")
        return SparseProducts(P)
    if algorithm == "kd_tree":
        return Tree.of(P, metric, leaf_size)
    tree = tree_if_it_pays(P, metric, leaf_size, k) if algorithm == "auto" else None
    if tree is not None:
        return tree
    # every query is compared with every row
    return Products(P) if metric.code == EUCLIDEAN else Tree.of(P, metric, _LEAF, prune=False)
