"""Brute force: every query is compared with every row, as the metric and the storage allow."""

from __future__ import annotations

from typing import Any

import scipy.sparse

from corollary._compiled.codes import EUCLIDEAN
from corollary.solvers.neighbors.index import Index
from corollary.solvers.neighbors.metric import Metric
from corollary.solvers.neighbors.products import Products
from corollary.solvers.neighbors.sparse_products import SparseProducts
from corollary.solvers.neighbors.tree import Tree

_LEAF = 256  # points that are compared with a query at once, for other metrics


def plain_index(P: Any, metric: Metric) -> Index:
    """An index that compares all pairs; nothing is skipped because of its position."""
    if scipy.sparse.issparse(P):
        return SparseProducts(P)
    if metric.code == EUCLIDEAN:
        return Products(P)
    return Tree.of(P, metric, _LEAF, prune=False)
