"""Searches: from rows and a metric's name to neighbours and distances, by whichever index suits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.codes import EUCLIDEAN
from corollary.core.types import Array
from corollary.solvers.distances import variances_of
from corollary.solvers.neighbors.blocks import PairwiseSearch, Search
from corollary.solvers.neighbors.doubt import Doubt
from corollary.solvers.neighbors.effective import effective_metric
from corollary.solvers.neighbors.gaps import GapSearch
from corollary.solvers.neighbors.given import GivenSearch
from corollary.solvers.neighbors.index import Index, Lists
from corollary.solvers.neighbors.metric import Metric, points, scale_for
from corollary.solvers.neighbors.products import Products
from corollary.solvers.neighbors.sparse_products import SparseProducts
from corollary.solvers.neighbors.tree import Tree, tree_if_it_pays

_DENSE_QUERIES = 1 << 22  # values of sparse queries that are made dense at a time, for dense rows
_LEAF = 256  # points that are compared with a query at once, where a metric other than the Euclidean skips nothing


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


def make_search(
    X: Any, metric: Any, p: float | None, parameters: dict[str, Any] | None, algorithm: str, leaf_size: int, k: int
) -> Search:
    """The search for rows X; every algorithm gives the same neighbours, and sparse rows are searched without a tree."""
    if isinstance(metric, str) and metric == "precomputed":
        return GivenSearch(X.shape[1], "a graph of distances" if scipy.sparse.issparse(X) else "a table of distances")
    metric, options = effective_metric(metric, p, parameters)
    if isinstance(metric, str) and metric == "haversine" and X.shape[1] != 2:
        raise ValueError(
            "Haversine distance only valid in 2 dimensions, latitude and longitude in radians, but X has "
            f"{X.shape[1]} columns."
        )
    gaps = isinstance(metric, str) and metric == "nan_euclidean" and not scipy.sparse.issparse(X) and not options
    if gaps and np.isnan(X).any():
        _refuse_tree(algorithm, metric, X)
        return GapSearch(X, None)
    options = {name: value for name, value in options.items() if name != "w" or value is not None}
    known = Metric.of(metric, 2.0, options)
    if known is None or (scipy.sparse.issparse(X) and (known.code != EUCLIDEAN or known.dense)):
        _refuse_tree(algorithm, metric, X)
        return PairwiseSearch(X, metric, _complete(metric, options))
    if known.sphere:
        _refuse_tree(algorithm, metric, X)  # of angles; points in space have one, which "auto" and "ball_tree" take
    scale = scale_for(known, X)
    index = _index(points(known, X, scale, queries=False), known, algorithm, leaf_size, k)
    search = MetricSearch(X, known, scale, index)
    return GapSearch(X, search) if gaps else search


def _refuse_tree(algorithm: str, metric: Any, X: Any) -> None:
    """A ball tree is a wish that any search fulfils; a k-d tree that cannot be is an error, as in scikit-learn."""
    if algorithm == "kd_tree" and not scipy.sparse.issparse(X) and not hasattr(metric, "pairwise"):
        what = "callable metric" if callable(metric) else "metric"
        raise ValueError(
            f"kd_tree does not support {what} {metric!r}: algorithm='kd_tree' needs 'euclidean', 'manhattan', "
            "'chebyshev', 'minkowski' or 'cosine'. Use algorithm='auto'."
        )


def _complete(metric: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options as SciPy calls them, and such that they do not depend on the block of rows."""
    wanted = variances_of(metric)
    if wanted == "VI" and "VI" not in options and options.get("V") is not None:
        options = {name: value for name, value in options.items() if name != "V"} | {"VI": np.linalg.inv(options["V"])}
    if wanted is not None and options.get(wanted) is None:
        raise ValueError(
            f"The {wanted!r} parameter is required: metric={metric!r} needs metric_params={{{wanted!r}: …}}, since it "
            "must be the same for all rows."
        )
    return options


def _index(P: Any, metric: Metric, algorithm: str, leaf_size: int, k: int) -> Index:
    if scipy.sparse.issparse(P):
        return SparseProducts(P)
    if algorithm in ("kd_tree", "ball_tree"):
        return Tree.of(P, metric, leaf_size)
    tree = tree_if_it_pays(P, metric, leaf_size, k) if algorithm == "auto" else None
    if tree is not None:
        return tree
    # every query is compared with every row
    return Products(P) if metric.code == EUCLIDEAN else Tree.of(P, metric, _LEAF, prune=False)
