"""Comparing everything with everything, by the means that the metric and the storage allow."""

from __future__ import annotations

from typing import Any

import scipy.sparse

from corollary._compiled.neighbors.nearest import EUCLIDEAN
from corollary.solvers.neighbors.index import Index
from corollary.solvers.neighbors.metric import Metric
from corollary.solvers.neighbors.product import Products
from corollary.solvers.neighbors.sparse import SparseProducts
from corollary.solvers.neighbors.tree import Tree

_LEAF = 256  # points that are compared with a query at once


def plain_index(P: Any, metric: Metric) -> Index:
    """An index that rules nothing out by where it lies."""
    if scipy.sparse.issparse(P):
        return SparseProducts(P)
    if metric.code == EUCLIDEAN:
        return Products(P)
    return Tree.of(P, metric, _LEAF, prune=False)
