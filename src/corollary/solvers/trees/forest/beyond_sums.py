"""Trees of a forest whose criterion needs more than sums of bins: medians, and deviances of several targets.

They are grown by the search that tries every threshold, on bins in place of numbers, so that everything else of a
forest (draws, storage, votes, the second search) is as for other trees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.exact.grow import ExactRules, far_centre, grow
from corollary.solvers.trees.exact.impurity_balance import impurity_balance
from corollary.solvers.trees.exact.pruning import prune
from corollary.solvers.trees.forest.growth import GROWTH, NO_LIMIT, ForestRules
from corollary.solvers.trees.forest.nodes import GrownTree
from corollary.solvers.trees.forest.rows import BinnedRows


def needs_more_than_sums(criterion: str, n_outputs: int) -> bool:
    """Whether trees of that criterion are grown here."""
    return criterion == "absolute_error" or (criterion == "poisson" and n_outputs > 1)


def exact_rules(rows: BinnedRows, rules: ForestRules, seed: int, mass: float) -> ExactRules:
    """The rules of a forest as the exact search takes them, for a tree of that seed and mass."""
    return ExactRules(
        criterion=rules.criterion,
        max_depth=None if rules.max_depth == NO_LIMIT else rules.max_depth,
        min_samples_split=max(2, rules.min_split, 2 * rules.min_leaf),
        min_samples_leaf=rules.min_leaf,
        min_weight=rules.min_mass_share * mass,
        min_gain=rules.min_gain * mass,
        max_features=min(rules.max_features, len(rows.codes)),
        max_leaf_nodes=rules.max_leaves or None,
        random_thresholds=rows.edges is not None,
        categorical=rows.binner.categorical,
        monotone=rules.monotone,
        seed=seed ^ GROWTH,
    )


def grow_exactly(rows: BinnedRows, rules: ForestRules, seed: int, *, outside: bool, inside: bool) -> GrownTree:
    """As ``grow_tree``. Cost: O(rows · columns · log rows) for each level; 16 bytes a cell of the rows drawn."""
    counts = rows.drawn(seed) if rows.draws else None
    mass = rows.mass(counts)
    drawn = np.flatnonzero(mass > 0).astype(np.int32)
    X, y, weights = rows.numbers[drawn], rows.y[drawn], mass[drawn]
    far = np.zeros(y.shape[1]) if rules.criterion == "poisson" else far_centre(y)
    trees = grow(X, y - far, weights, exact_rules(rows, rules, seed, float(weights.sum())))
    trees = prune(trees, rules.ccp_alpha) if rules.ccp_alpha > 0 else trees
    leaves = trees.apply(X)[:, 0]
    balance, left_over, _ = impurity_balance(trees, leaves, y - far, weights, rules.criterion, None)
    order = _by_level(trees)
    is_leaf = trees.is_leaf[order]
    at, inner = order[is_leaf], order[~is_leaf]
    place = np.zeros(trees.node_count, dtype=np.int32)
    place[at] = np.arange(len(at))
    others = rows.not_in(counts) if outside and counts is not None else np.empty(0, dtype=np.int32)
    members = drawn[np.argsort(place[leaves], kind="stable")] if inside else np.empty(0, dtype=np.int32)
    value, spread = trees.value + far, trees.impurity * trees.weight
    return GrownTree(
        is_leaf=is_leaf,
        feature=trees.feature[inner],
        cut=_cuts(rows, trees, inner),
        missing_left=trees.missing_left[inner],
        bits=trees.bitsets[trees.category[inner][trees.category[inner] >= 0]],
        sums=value[at],
        mass=trees.weight[at],
        rows=trees.count[at],
        spread=spread[at],
        depth=trees.depth(),
        impurity=left_over / float(weights.sum()),
        imbalance=balance,
        coverage=len(drawn) / max(1, int((rows.weights > 0).sum())),
        outside=others,
        outside_leaf=place[trees.apply(rows.numbers[others])[:, 0]] if len(others) else others,
        inside=members,
        inside_mass=mass[members],
        inner_sums=value[inner],
        inner_spread=spread[inner],
    )


def _by_level(trees: Trees) -> Array:
    """The nodes level by level, children in the order of their parents."""
    levels, level = [], np.array([0])
    while len(level):
        levels.append(level)
        left = trees.left[level[trees.feature[level] >= 0]]
        level = np.column_stack([left, left + 1]).ravel()
    return np.concatenate(levels)


def _cuts(rows: BinnedRows, trees: Trees, inner: Array) -> Array:
    """The last bin on the left of each split of numbers; 0 for those of categories."""
    cuts, feature, threshold = np.zeros(len(inner), dtype=np.int64), trees.feature[inner], trees.threshold[inner]
    for f in np.unique(feature[trees.category[inner] < 0]):
        here, last = feature == f, int(rows.binner.n_bins[f]) - 1
        scale: Any = np.arange(last + 1.0) if rows.edges is None else rows.edges[1, f, : last + 1]
        cuts[here] = np.minimum(np.searchsorted(scale, threshold[here], side="right") - 1, last)
    return cuts
