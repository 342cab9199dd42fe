"""Which search for which rows: a k-d tree or comparing everything, by the leaves that a few queries look into."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.neighbors.nearest import EUCLIDEAN
from corollary.core.types import Array
from corollary.solvers.neighbors.brute import plain_index
from corollary.solvers.neighbors.index import Index, empty_answers
from corollary.solvers.neighbors.metric import Metric, magnitude, points, scale_for
from corollary.solvers.neighbors.search import MetricSearch, PairwiseSearch, Search, TableSearch
from corollary.solvers.neighbors.tree import Tree

_PILOT = 32  # rows whose neighbours are looked for
_SAMPLE = 4096  # rows of the tree that is tried first when there are many columns
_FEW_COLUMNS = 16
# seconds, measured on one core: a leaf and each of its values; a row of a product and each of its values
_LEAF, _LEAF_VALUE, _ROW, _ROW_VALUE = 1e-7, 1.5e-10, 4e-10, 2.5e-11


def make_search(
    X: Any, metric: Any, p: float, parameters: dict[str, Any] | None, algorithm: str, leaf_size: int, k: int
) -> Search:
    """The search for rows X; every algorithm gives the same neighbours."""
    if isinstance(metric, str) and metric == "precomputed":
        return TableSearch(X.shape[1])
    known = Metric.of(metric, p, parameters)
    if known is None or (scipy.sparse.issparse(X) and known.code != EUCLIDEAN):
        if algorithm == "kd_tree":
            raise ValueError(
                f"algorithm='kd_tree' needs dense rows and the metric 'euclidean', 'manhattan', 'chebyshev', "
                f"'minkowski' or 'cosine', but the metric is {metric!r}"
                f"{' and X is sparse' if scipy.sparse.issparse(X) else ''}; use algorithm='brute'."
            )
        extra = dict(parameters or {})
        wanted = {"seuclidean": "V", "mahalanobis": "VI"}.get(metric) if isinstance(metric, str) else None
        if wanted is not None and wanted not in extra:
            raise ValueError(
                f"metric={metric!r} needs metric_params={{{wanted!r}: …}}: it must be the same for all rows."
            )
        if isinstance(metric, str) and metric == "minkowski":
            extra.setdefault("p", p)
        return PairwiseSearch(X, metric, extra)
    scale = scale_for(known, magnitude(X))
    return MetricSearch(X, known, scale, _index(points(known, X, scale, queries=False), known, algorithm, leaf_size, k))


def _index(P: Any, metric: Metric, algorithm: str, leaf_size: int, k: int) -> Index:
    if scipy.sparse.issparse(P):
        if algorithm == "kd_tree":
            raise ValueError("algorithm='kd_tree' needs dense rows, but X is sparse; use algorithm='brute'.")
        return plain_index(P, metric)
    if algorithm == "kd_tree":
        return Tree.of(P, metric, leaf_size)
    tree = _tree_if_it_pays(P, metric, leaf_size, k) if algorithm == "auto" else None
    return plain_index(P, metric) if tree is None else tree


def _tree_if_it_pays(P: Array, metric: Metric, leaf_size: int, k: int) -> Tree | None:
    n, d = P.shape
    if d > _FEW_COLUMNS and n > 2 * _SAMPLE:
        sample = np.ascontiguousarray(P[:: n // _SAMPLE])
        if _looked(Tree.of(sample, metric, leaf_size), sample, k) > 0.7:
            return None  # fewer rows lie farther apart, but not so much that this would change
    tree = Tree.of(P, metric, leaf_size)
    n_leaves, _, width = tree.leaves.shape
    cost = _looked(tree, P, k) * n_leaves * (_LEAF + _LEAF_VALUE * width * d)
    if metric.code == EUCLIDEAN:
        return tree if cost < n * (_ROW + _ROW_VALUE * d) else None
    return tree  # at worst it looks at everything, too


def _looked(tree: Tree, P: Array, k: int) -> float:
    """Share of the leaves that queries at some of the rows look into."""
    pilot = np.ascontiguousarray(P[:: -(-len(P) // _PILOT)], dtype=np.float64)
    answers = empty_answers(len(pilot), min(k + 1, len(P)))
    return tree.look(pilot, *answers) / (len(pilot) * len(tree.leaves))
