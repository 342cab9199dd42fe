"""How a decision tree comes to be and is searched again: on sorted columns or bins, or as a tree of a forest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.core.evidence import Certificate
from corollary.core.membership import is_member
from corollary.core.trees import Trees
from corollary.core.trees.binning import Binner
from corollary.core.types import Array

if TYPE_CHECKING:
    from corollary.solvers.trees.check.search import Findings
    from corollary.solvers.trees.exact.grow import ExactRules
    from corollary.solvers.trees.forest.alone import TreeAlone


class Growth:
    """A tree grown by ``rules``; y is (n, outputs) of class numbers or numbers."""

    def __init__(self, X: Any, y: Array, weights: Array, rules: ExactRules, n_classes: list[int] | None) -> None:
        from corollary.solvers.trees.check.search import CELLS
        from corollary.solvers.trees.exact.grow import grow

        self.X, self.y, self.weights, self.rules, self.n_classes = X, y, weights, rules, n_classes
        bins = rules.max_bins
        self.binner = None if bins is None else Binner.fit(X, bins, rules.categorical, weights)
        n, d = int((weights > 0).sum()), X.shape[1]
        self.order = None if is_member() or n * d > CELLS else np.empty((d, n), dtype=np.int32)
        self.alone = self._as_in_a_forest()
        self.trees: Trees
        if self.alone is None:
            self.trees = grow(X, y, weights, rules, n_classes, self.binner, self.order)
        else:
            self.trees = self.alone.trees

    def _as_in_a_forest(self) -> TreeAlone | None:
        """A tree of bins that leaves things to chance, as forests grow it; None for other trees."""
        if self.binner is None:
            return None
        from corollary.solvers.trees.forest.alone import TreeAlone, grown_as_in_a_forest

        if not grown_as_in_a_forest(self.rules, self.weights, self.X.shape[1], self.y.shape[1], self.n_classes):
            return None
        return TreeAlone.grow(self.X, self.y, self.weights, self.rules, self.n_classes, self.binner)

    @property
    def solver(self) -> str:
        """What was tried at each node, for the evidence."""
        rules, d = self.rules, self.X.shape[1]
        place = "" if rules.max_bins is None else f" on at most {rules.max_bins} bins a column"
        cuts = "one random cut a column tried" if rules.random_thresholds else "every threshold tried"
        drawn = rules.max_features is not None and rules.max_features < d
        chance = f", {rules.max_features} of {d} columns drawn at each node" if drawn else ""
        return f"greedy splits{place}, {cuts}{chance}"

    def judge(self, kept: Trees, leaves: Array, ccp_alpha: float) -> tuple[Certificate, Findings | None, float]:
        """(certificate, what a second search of some nodes found, if there was one, W·I that is left in the leaves).

        ``kept`` is the tree after pruning by ``ccp_alpha``, ``leaves`` where each row of X ends in it.
        """
        from corollary.solvers.trees.check.exact import books, certificate, search_tree
        from corollary.solvers.trees.exact.impurity_balance import impurity_balance

        X, y, weights, rules, n_classes = self.X, self.y, self.weights, self.rules, self.n_classes
        gap, below, root = impurity_balance(kept, leaves, y, weights, rules.criterion, n_classes)
        if is_member():
            return books(gap), None, below
        if self.alone is not None:
            found = self.alone.search(kept, leaves, ccp_alpha)
            return certificate(found, gap, greedy=False, tolerance=1e-8), found, below
        pruned = ccp_alpha > 0
        found = search_tree(
            X, y, weights, rules, n_classes, kept, leaves, root, self.binner, self.order, pruned=pruned
        )  # fmt: skip
        greedy = not pruned and rules.max_leaf_nodes is None and rules.monotone is None
        return certificate(found, gap, greedy=greedy), found, below
