"""Which rows pass each node of a tree, and whether its counts, weights and values are those of these rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.check.gains import Targets, means

_ROUNDING = 1e-9  # of weights, relative
_LAST_BITS = 8 * np.finfo(float).eps  # in which a mean may differ, whatever the spread around it


@dataclass(frozen=True, eq=False)
class Passage:
    """The rows in an order in which those of any node are neighbours, the left child's before the right child's."""

    order: Array
    start: Array  # (nodes,)
    count: Array  # (nodes,)
    weight: Array  # (nodes,)

    @staticmethod
    def of(tree: Trees, leaves: Array, weights: Array) -> Passage:
        """From the leaf that each row reaches. Cost: O(rows + nodes)."""
        from corollary._compiled.trees.second_search import passage

        m, n = tree.node_count, len(leaves)
        count, start, order, weight = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(n, np.int64), np.empty(m)
        passage(leaves, tree.feature, tree.left, weights, count, weight, start, order)
        return Passage(order, start, count, weight)

    def rows(self, node: int) -> Array:
        """The rows that pass a node."""
        return self.order[self.start[node] : self.start[node] + self.count[node]]

    def mixed(self, leaves: Array, y: Array) -> Array:
        """Of each leaf, whether its rows have different targets."""
        first = self.order[np.minimum(self.start, len(self.order) - 1)][leaves]
        return np.bincount(leaves, weights=(y != y[first]).any(axis=1), minlength=len(self.count)) > 0

    def mismatch(self, tree: Trees) -> float:
        """inf unless every node has the rows and the weight that the tree says it has; their relative error else."""
        if not np.array_equal(self.count, tree.count) or (self.count == 0).any():
            return np.inf
        error = float(np.max(np.abs(self.weight - tree.weight) / self.weight))
        return error if error <= _ROUNDING else np.inf


def value_error(tree: Trees, leaves: Array, targets: Targets) -> float:
    """The largest error of what a leaf predicts: of a share, or of a mean relative to the spread of all rows.

    Of a median it is the share of the weight by which one side outweighs half. Cost: one pass over the rows.
    """
    at = np.flatnonzero(np.bincount(leaves))
    number = np.zeros(tree.node_count, dtype=np.intp)
    number[at] = np.arange(len(at))
    group = number[leaves]
    w, value = targets.weights, tree.value[at]
    mass = np.bincount(group, weights=w)
    if targets.n_classes:
        return float(np.abs(_shares(group, targets) / mass[:, None] - value).max())
    worst = 0.0
    for o in range(targets.n_outputs):
        y, own = targets.y[:, o], value[:, o]
        if targets.criterion == "absolute_error":
            sides = (np.bincount(group, weights=w * side) for side in (y < own[group], y > own[group]))
            worst = max(worst, *(float((side / mass).max()) - 0.5 for side in sides))
            continue
        off = np.bincount(group, weights=w * (y - own[group])) / mass
        off = np.maximum(np.abs(off) - _LAST_BITS * np.abs(own), 0.0)
        spread = float(np.sqrt(w @ (y - means(y[:, None], w)[0]) ** 2 / w.sum()))
        worst = max(worst, float(off.max()) / (spread if spread > 0 else max(float(np.abs(y).max()), 1.0)))
    return worst


def _shares(group: Array, targets: Targets) -> Array:
    """Mass of each class of each output in each group."""
    tables = []
    for o, k in enumerate(targets.n_classes):
        cells = np.bincount(group * k + targets.y[:, o].astype(np.intp), weights=targets.weights,
                            minlength=k * (int(group.max()) + 1))  # fmt: skip
        tables.append(cells.reshape(-1, k))
    return np.concatenate(tables, axis=1)
