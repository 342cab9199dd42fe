"""One tree of a forest on its own, without draws of rows: what a decision tree of bins is that leaves things to chance.

A tree of a forest and a decision tree with its parameters and seed, fitted to the rows that it drew, are the same tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.core.trees import Trees
from corollary.core.trees.binning import Binner
from corollary.core.types import Array
from corollary.solvers.trees.check.forest import GivenTree, search_one
from corollary.solvers.trees.check.search import Findings
from corollary.solvers.trees.exact.grow import UNEVEN, ExactRules
from corollary.solvers.trees.forest.beyond_sums import needs_more_than_sums
from corollary.solvers.trees.forest.growth import NO_LIMIT, ForestRules, grow_tree
from corollary.solvers.trees.forest.rows import BinnedRows, Target
from corollary.solvers.trees.forest.storage import expand, pack


def grown_as_in_a_forest(
    rules: ExactRules, weights: Array, n_columns: int, n_outputs: int, n_classes: list[int] | None
) -> bool:
    """Whether a tree of bins is grown here: if chance has a say, and the kernel of forests knows all of the rules."""
    chance = rules.random_thresholds or (rules.max_features is not None and rules.max_features < n_columns)
    known = rules.monotone is None and not needs_more_than_sums(rules.criterion, n_outputs)
    known &= n_classes is None or min(n_classes) > 1
    positive = weights[weights > 0]
    return chance and known and bool(positive.max() <= UNEVEN * positive.min())


@dataclass(frozen=True, eq=False)
class TreeAlone:
    """A grown tree with the rows and the rules that it was grown by."""

    trees: Trees
    rows: BinnedRows
    rules: ForestRules
    seed: int
    order: Array  # of the rows, as rows of X

    @staticmethod
    def grow(
        X: Any, y: Array, weights: Array, exact: ExactRules, n_classes: list[int] | None, binner: Binner
    ) -> TreeAlone:
        """As ``solvers.trees.exact.grow.grow``; y is (n, outputs)."""
        total = float(weights.sum())
        rules = ForestRules(
            criterion=exact.criterion,
            max_depth=NO_LIMIT if exact.max_depth is None else int(exact.max_depth),
            min_split=exact.min_samples_split,
            min_leaf=exact.min_samples_leaf,
            min_mass_share=exact.min_weight / total,
            min_gain=exact.min_gain / total,
            max_features=X.shape[1] if exact.max_features is None else exact.max_features,
            max_leaves=exact.max_leaf_nodes or 0,
            ccp_alpha=0.0,
            monotone=None,
        )
        options = {"random_cuts": exact.random_thresholds, "relative": exact.criterion == "poisson"}
        rows, order, _ = BinnedRows.of(X, _target(y, weights, n_classes), binner, 0, **options)
        grown = grow_tree(rows, rules, exact.seed, outside=False, inside=False).packed
        trees = expand(pack([grown], np.array([exact.seed]), binner, None), rules.criterion, classes=rows.n_classes > 0)
        return TreeAlone(trees, rows, rules, exact.seed, order)

    def search(self, trees: Trees, leaves: Array, ccp_alpha: float) -> Findings:
        """Search nodes again, of the tree as it is after pruning; ``leaves`` is where each row of X ends."""
        mass = self.rows.mass(None)
        inside = np.flatnonzero(mass > 0).astype(np.int32)
        given = GivenTree(trees, self.seed, mass, inside, leaves[self.order][inside])
        return search_one(self.rows, replace(self.rules, ccp_alpha=ccp_alpha), given)


def _target(y: Array, weights: Array, n_classes: list[int] | None) -> Target:
    if n_classes is None:
        return Target(weights, y=y)
    label = y.astype(np.intp) + np.cumsum([0, *n_classes[:-1]])
    if len(n_classes) == 1:
        return Target(weights, n_classes=n_classes[0], label=label[:, 0])
    return Target(weights, n_classes=sum(n_classes), label=label, blocks=tuple(n_classes))
