"""The check of an exact tree: which columns its nodes tried, and the certificate of what a search found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from corollary.core.evidence import Certificate, Kind
from corollary.core.scaling import magnitude, power_of_two
from corollary.core.trees import Trees
from corollary.core.trees.binning import Binner
from corollary.core.types import Array
from corollary.solvers.trees.check.draws import GOLDEN, WORD, mix
from corollary.solvers.trees.check.gains import Targets
from corollary.solvers.trees.check.search import CELLS, FEWEST, Findings, Growth, Search

if TYPE_CHECKING:
    from corollary.solvers.trees.exact.grow import ExactRules

NAME = "excess gain of other splits, re-searched nodes"
EVERY = "excess gain of other splits, every node re-searched"
DRAWN = "error of gains and leaf values"  # where no node is searched: cuts are drawn, or all nodes are too large
GAINS = "error of gains"  # where none is, and values are kept within bounds
BOOKS = "imbalance of the impurities"  # of members of ensembles, of which no node is searched again
TOLERANCE = 1e-9
_COARSEST = 1e-6


def search_tree(
    X: Any, y: Array, weights: Array, rules: ExactRules, n_classes: list[int] | None, tree: Trees, leaves: Array,
    root: float, binner: Binner | None, order: Array | None, *, pruned: bool,
) -> Findings:  # fmt: skip
    """Search nodes of a tree again; ``leaves`` is where each row of X ends, ``root`` the impurity of all, weighted.

    Cost: as many numbers as a quarter of X has are looked at, within ``FEWEST`` and ``CELLS``, and sorted unless the
    ``order`` of the columns is known; and a few passes over y.
    """
    if not (weights > 0).all():
        kept = np.flatnonzero(weights > 0)
        X, y, weights, leaves = X[kept], y[kept], weights[kept], leaves[kept]
    unit = 1.0 if n_classes is not None else power_of_two(magnitude(y))
    heavy = 1.0 if (weights == 1.0).all() else power_of_two(magnitude(weights))
    n, d = X.shape
    targets = Targets(rules.criterion, y if unit == 1.0 else y * unit, weights * heavy, tuple(n_classes or ()))
    categorical = np.zeros(d, dtype=bool) if rules.categorical is None else np.asarray(rules.categorical, dtype=bool)

    def values(rows: Array | None, columns: Array) -> Array:
        part = X if rows is None else X[rows]
        part = part if len(columns) == d and (columns == np.arange(d)).all() else part[:, columns]
        part = part.toarray() if scipy.sparse.issparse(part) else part
        part = np.asarray(part, dtype=np.float64)
        return part if binner is None else binned(binner, part, columns)

    tries = d if rules.max_features is None else min(rules.max_features, d)
    bounded = rules.monotone is not None and bool(np.any(rules.monotone))
    every = rules.monotone is None and tries == d
    growth = Growth(
        targets=targets,
        values=values,
        columns=(lambda node, rows: (np.arange(d), True)) if every else Tried(tree, rules, d, values).columns,
        categorical=categorical,
        max_depth=np.inf if rules.max_depth is None else rules.max_depth,
        min_split=rules.min_samples_split,
        min_leaf=rules.min_samples_leaf,
        min_weight=rules.min_weight * heavy,
        min_gain=targets.gain_unit(unit, rules.min_gain * heavy),
        leaves_may_stop=pruned or rules.max_leaf_nodes is not None,
        random_cuts=rules.random_thresholds,
        clipped=bounded,
        every_column=every,
        known=np.zeros(tree.node_count, dtype=bool) if bounded else None,
        tries=tries,
        order=order,
    )
    cells = FEWEST if order is not None else max(FEWEST, min(CELLS, n * d // 4))
    search = Search(growth, scaled(tree, unit, heavy), leaves, tree.node_count)
    return search.run(targets.gain_unit(unit, root * heavy), cells)


def books(balance: float) -> Certificate:
    """That what splits gained and what is left in the leaves add up to the impurity of the root, and no more."""
    return Certificate(Kind.CHECKED, BOOKS, balance, TOLERANCE)


def certificate(found: Findings, balance: float, *, greedy: bool, tolerance: float = TOLERANCE) -> Certificate:
    """That no node that was searched has a better split, that the values are those of the rows, that gains add up.

    ``greedy``: the rules leave nothing to chance or to other reasons, so that a search of every node shows all. Where
    nearly all weight is of one class, gains are small beside the sums that they are differences of, and the tolerance
    is what those can tell apart; up to a millionth of the root's impurity, beyond which nothing is claimed.
    """
    tolerance = max(tolerance, min(found.noise, _COARSEST))
    value = max(found.excess, found.error, balance)
    if not found.searched and found.excess <= tolerance:
        name = GAINS if found.clipped else DRAWN
        return Certificate(Kind.CHECKED, name, max(found.error, balance), tolerance)
    if greedy and found.everything:
        return Certificate(Kind.EXACT, EVERY, value, tolerance)
    return Certificate(Kind.CHECKED, NAME, value, tolerance)


def binned(binner: Binner, part: Array, columns: Array) -> Array:
    """Numbers as the bins that they fall into; categories and missing values as they are."""
    out = part.copy()
    for j, f in enumerate(columns):
        if not binner.categorical[f]:
            codes = np.searchsorted(binner.thresholds[f, : binner.n_bins[f] - 1], part[:, j], side="left")
            out[:, j] = np.where(np.isnan(part[:, j]), np.nan, codes)
    return out


def scaled(tree: Trees, unit: float, heavy: float) -> Trees:
    """The tree in other units of targets and weights."""
    if unit == heavy == 1.0:
        return tree
    return replace(tree, value=tree.value * unit, weight=tree.weight * heavy)


class Tried:
    """Which columns each node of an exact tree tried: all, or those that its seed draws."""

    def __init__(self, tree: Trees, rules: ExactRules, d: int, values: Any) -> None:
        self.tree, self.rules, self.values = tree, rules, values
        # a constrained column is tried within bounds that depend on the path, so only the others are searched
        self.free = np.ones(d, dtype=bool) if rules.monotone is None else np.asarray(rules.monotone) == 0
        self.parent = tree.parents()

    def columns(self, node: int, rows: Array) -> tuple[Array, bool]:
        """Those that may be searched, of the columns that a node tried; and whether these are all."""
        d, wanted = len(self.free), self.rules.max_features
        drawn = np.arange(d) if wanted is None or wanted >= d else self._drawn(node, rows, int(wanted))
        return drawn[self.free[drawn]], bool(self.free[drawn].all())

    def _drawn(self, node: int, rows: Array, wanted: int) -> Array:
        seed, d, useful = self._seed(node), len(self.free), 0
        order = list(range(d))
        for j in range(d):
            if j >= wanted and useful:
                return np.array(order[:j])
            seed = mix(seed + GOLDEN)
            k = j + seed % (d - j)
            order[j], order[k] = order[k], order[j]
            useful += bool(varies(self.values(rows, np.array([order[j]]))[:, 0]))
        return np.array(order)

    def _seed(self, node: int) -> int:
        """Seeds follow the path from the root."""
        path = []
        while self.parent[node] >= 0:
            path.append(node - int(self.tree.left[self.parent[node]]))
            node = int(self.parent[node])
        seed = self.rules.seed & WORD
        for side in reversed(path):
            seed = mix((seed ^ mix(side + 1 + GOLDEN)) + GOLDEN)
        return seed


def varies(x: Array) -> bool:
    """Whether a column has two different values, a missing one being a value."""
    gaps = np.isnan(x)
    return bool(gaps.any() and not gaps.all()) or bool((x != x[0]).any() and not gaps.all())
