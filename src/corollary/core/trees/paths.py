"""The nodes that rows pass on their way to the leaves of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.trees.arrays import Trees
from corollary.core.types import Array


def decision_paths(trees: Trees, leaves: Array) -> Any:
    """A CSR matrix (rows, nodes) with a one where a row passes, from the leaves (rows, trees) that it reaches.

    Cost: O(rows · trees · depth).
    """
    rows, ends = len(leaves), leaves.astype(np.intp).ravel()
    lengths = trees.node_depths()[ends].astype(np.int64) + 1
    stops = np.cumsum(lengths)
    indices = np.empty(int(stops[-1]) if len(stops) else 0, dtype=np.int64)
    parent, node, place = trees.parents(), ends.copy(), stops - 1
    while (on := np.flatnonzero(node >= 0)).size:  # up, a level at a time; a parent's number is below its children's
        indices[place[on]] = node[on]
        place[on] -= 1
        node[on] = parent[node[on]]
    indptr = np.concatenate([[0], stops[trees.n_trees - 1 :: trees.n_trees]])
    return scipy.sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(rows, trees.node_count))
