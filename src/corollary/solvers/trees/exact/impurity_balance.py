"""The impurity of groups of rows, computed afresh from the rows, to check that a tree's gains are real.

What the splits of a tree gained and what is left in its leaves must add up to the impurity of the root:
W·I(root) = Σ gains + Σ W·I(leaves). The gains come from the kernels, the rest from here.
"""

from __future__ import annotations

import numpy as np

from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.deviance import deviances


def impurity_balance(
    trees: Trees, leaves: Array, y: Array, weights: Array, criterion: str, n_classes: list[int] | None
) -> tuple[float, float, float]:
    """(relative gap, Σ W·I over the leaves, W·I of the root) from the leaf that each row reaches; y is (n, outputs).

    Cost: O(n) for one pass, O(n log n) for absolute error.
    """
    kept = weights > 0
    if not kept.all():
        leaves, y, weights = leaves[kept], y[kept], weights[kept]
    group = np.cumsum(trees.is_leaf)[leaves] - 1
    root = weighted_impurity(np.zeros(len(group), dtype=np.intp), y, weights, criterion, n_classes)
    below = weighted_impurity(group, y, weights, criterion, n_classes)
    gap = abs(root - float(trees.gain.sum()) - below)
    return gap / root if root > 0 else gap, below, root


def weighted_impurity(
    group: Array, y: Array, weights: Array, criterion: str, n_classes: list[int] | None = None
) -> float:
    """Σ over groups of weight times impurity, averaged over the columns of y."""
    parts = []
    for o in range(y.shape[1]):
        if n_classes is None:
            parts.append(_NUMBERS[criterion](group, y[:, o], weights))
        else:
            parts.append(_classes(group, y[:, o].astype(np.intp), weights, criterion, n_classes[o]))
    return float(np.mean(parts))


def _classes(group: Array, codes: Array, weights: Array, criterion: str, n_classes: int) -> float:
    """Gini or entropy from the table of groups and classes; what is beside the heaviest class is added up afresh."""
    n_groups = int(group.max()) + 1
    mass = np.bincount(group * n_classes + codes, weights=weights, minlength=n_groups * n_classes)
    mass = mass.reshape(n_groups, n_classes)
    total, heaviest = mass.sum(axis=1, keepdims=True), (np.arange(n_groups), mass.argmax(axis=1))
    light, others = mass.copy(), total - mass
    light[heaviest] = 0.0
    others[heaviest] = light.sum(axis=1)
    if criterion == "gini":
        return float((mass * others / np.where(total > 0, total, 1.0)).sum())
    return float((mass * np.log1p(others / np.where(mass > 0, mass, 1.0))).sum() / np.log(2))


def _means(group: Array, y: Array, weights: Array) -> Array:
    """The mean of each row's group, in two passes."""
    total = np.bincount(group, weights=weights)
    rough = (np.bincount(group, weights=weights * y) / total)[group]
    return rough + (np.bincount(group, weights=weights * (y - rough)) / total)[group]


def _squared(group: Array, y: Array, weights: Array) -> float:
    return float((weights * (y - _means(group, y, weights)) ** 2).sum())


def _poisson(group: Array, y: Array, weights: Array) -> float:
    mean = _means(group, y, weights)
    return float((weights * deviances(y - mean, mean)).sum())


def _absolute(group: Array, y: Array, weights: Array) -> float:
    order = np.lexsort((y, group))
    group, y, weights = group[order], y[order], weights[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    sums = np.add.reduceat(weights, first)
    reach = np.cumsum(weights)
    before = reach[first] - weights[first]
    middle = np.searchsorted(reach, before + 0.5 * sums)
    middle = np.clip(middle, first, np.append(first[1:], len(y)) - 1)
    sizes = np.diff(np.append(first, len(y)))
    return float((weights * np.abs(y - np.repeat(y[middle], sizes))).sum())


_NUMBERS = {"squared_error": _squared, "poisson": _poisson, "absolute_error": _absolute}
