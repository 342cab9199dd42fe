"""How nodes are numbered for others, and which of them rows pass on their way to the leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.trees.arrays import Trees
from corollary.core.types import Array


def depth_first(trees: Trees) -> Array:
    """The number of each node in its own tree: the root is 0, and all below a left child come before the right one.

    These are scikit-learn's numbers, unless trees grow best first. Cost: a few passes over the nodes.
    """
    depth, inner = trees.node_depths(), np.flatnonzero(trees.feature >= 0)
    inner = inner[np.argsort(depth[inner], kind="stable")]
    levels = np.split(inner, np.flatnonzero(np.diff(depth[inner])) + 1)
    size, place = np.ones(trees.node_count, dtype=np.intp), np.zeros(trees.node_count, dtype=np.intp)
    for level in reversed(levels):
        size[level] += size[trees.left[level]] + size[trees.left[level] + 1]
    for level in levels:
        left = trees.left[level]
        place[left], place[left + 1] = place[level] + 1, place[level] + 1 + size[left]
    return place


def decision_paths(trees: Trees, leaves: Array, places: Array) -> Any:
    """A CSR matrix (rows, nodes) with a one where a row passes, from the leaves (rows, trees) that it reaches.

    Nodes of a tree are columns in the order of their ``places``, trees one after the other. Cost: O(rows · trees ·
    depth).
    """
    rows, ends = len(leaves), leaves.astype(np.intp).ravel()
    lengths = trees.node_depths()[ends].astype(np.int64) + 1
    stops = np.cumsum(lengths)
    indices = np.empty(int(stops[-1]) if len(stops) else 0, dtype=np.int64)
    columns = places + np.repeat(trees.roots, np.diff(trees.roots, append=trees.node_count))
    parent, node, place = trees.parents(), ends.copy(), stops - 1
    while (on := np.flatnonzero(node >= 0)).size:  # up, a level at a time; a parent's number is below its children's
        indices[place[on]] = columns[node[on]]
        place[on] -= 1
        node[on] = parent[node[on]]
    indptr = np.concatenate([[0], stops[trees.n_trees - 1 :: trees.n_trees]])
    return scipy.sparse.csr_matrix(
        (np.ones(len(indices), dtype=np.int64), indices, indptr), shape=(rows, trees.node_count)
    )
