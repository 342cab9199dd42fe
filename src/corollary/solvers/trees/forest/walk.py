"""Predictions of a forest of numeric splits, a few times faster than those of trees in general."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.parallel import each_block
from corollary.core.trees import Trees
from corollary.core.types import Array

_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Walker:
    """Trees, and their nodes laid out so that a step of a walk touches one place of memory."""

    trees: Trees
    real: Array  # float64 (nodes, 2): the threshold, and four bytes each of what is in ``whole``
    whole: Array  # int32 (nodes, 4), the same memory: left child, and 2 · feature + 1 if missing values go right

    @staticmethod
    def of(trees: Trees) -> Walker:
        """Cost: 16 bytes a node, unless a split is categorical."""
        n = 0 if np.any(trees.category >= 0) else trees.node_count
        real = np.empty((n, 2))
        whole = real.view(np.int32)
        if n:
            inner = ~trees.is_leaf
            real[:, 0] = np.where(inner, trees.threshold, np.inf)
            whole[:, 2] = np.where(inner, trees.left, np.arange(n))
            whole[:, 3] = np.where(inner, 2 * trees.feature + ~trees.missing_left, 0)
        return Walker(trees, real, whole)

    def predict_sum(self, X: Any) -> Array:
        """Sum over trees of the value at each row's leaf, float64 (rows, outputs)."""
        from corollary._compiled.trees.forest.nodes import sum_values

        if not len(self.real) or scipy.sparse.issparse(X):
            return self.trees.predict_sum(X)
        out = np.zeros((X.shape[0], self.trees.value.shape[1]))

        def run(start: int, stop: int) -> None:
            block = np.array(X[start:stop], dtype=np.float64, order="C")
            sum_values(block, self.trees.roots, self.real, self.whole, self.trees.value, out[start:stop])

        each_block(run, X.shape[0], _BLOCK)
        return out
