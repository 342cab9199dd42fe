"""How predictions depend on a few columns, in the mean over the others, from the trees alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corollary.core.trees.arrays import Trees
from corollary.core.types import Array


def partial_dependence(trees: Trees, X: Array, columns: Sequence[int]) -> Array:
    """(rows, outputs): mean over trees of what a row of X predicts, which has values for ``columns`` only.

    At a split by another column it goes both ways, in proportion to the training weight that did. Cost: O(rows of X ·
    nodes), level by level.
    """
    X, out = np.asarray(X, dtype=np.float64), np.zeros((len(X), trees.value.shape[1]))
    for root in trees.roots:
        nodes, share = np.array([root]), np.ones((len(X), 1))
        while nodes.size:
            leaf = trees.feature[nodes] < 0
            out += share[:, leaf] @ trees.value[nodes[leaf]]
            nodes, share = nodes[~leaf], share[:, ~leaf]
            left = trees.left[nodes]
            goes = np.repeat((trees.weight[left] / trees.weight[nodes])[None, :], len(X), axis=0)
            for j, f in enumerate(columns):
                at = np.flatnonzero(trees.feature[nodes] == f)
                goes[:, at] = _goes_left(trees, X[:, j], nodes[at])
            nodes, share = np.concatenate([left, left + 1]), np.hstack([share * goes, share * (1 - goes)])
    return out / trees.n_trees


def _goes_left(trees: Trees, x: Array, nodes: Array) -> Array:
    """(values, nodes): whether each value goes left."""
    value, category = x[:, None], trees.category[nodes]
    goes = np.where(np.isnan(value), trees.missing_left[nodes], value <= trees.threshold[nodes])
    for k in np.flatnonzero(category >= 0):
        bits = trees.bitsets[category[k]]
        known = (x >= 0) & (x < 32 * len(bits))
        code = np.where(known, x, 0).astype(np.int64)
        goes[:, k] = np.where(known, bits[code >> 5] >> (code & 31) & 1, trees.missing_left[nodes[k]])
    return goes
