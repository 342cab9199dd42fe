"""Many small nodes searched at once: side by side in one array, so that a small tree costs a few dozen NumPy calls.

Nodes are padded to the rows of the largest. What is padded weighs nothing, lies beyond every value and is never cut.
"""

from __future__ import annotations

import numpy as np

from corollary.core.types import Array
from corollary.solvers.trees.check.gains import NEAR, Targets, gains

CRITERIA = frozenset({"gini", "entropy", "log_loss", "squared_error"})


def excess_gains(
    targets: Targets, rows: list[Array], taken: Array, values: Array, min_leaf: int, min_weight: float
) -> tuple[Array, Array]:
    """(gain of the split taken, largest gain of any) of each node; −inf where no cut is allowed.

    ``rows`` of each node come with those of its left child first, ``taken`` says how many these are (0: it is a leaf).
    ``values`` (all rows one after the other, columns) has no gaps.
    """
    sizes = np.array([len(own) for own in rows])
    node, place = (
        np.repeat(np.arange(len(rows)), sizes),
        np.arange(len(values)) - np.repeat(sizes.cumsum() - sizes, sizes),
    )
    every = np.concatenate(rows)
    shape = len(rows), int(sizes.max())
    w, sums = np.zeros(shape), np.zeros((*shape, targets.width))
    w[node, place] = targets.weights[every]
    sums[node, place] = _sums(targets, every, node, len(rows))
    x = np.full((*shape, values.shape[1]), np.inf)
    x[node, place] = values
    with np.errstate(divide="ignore", invalid="ignore"):  # where nothing but padding is left
        own = _gain_of(targets, w, sums, np.arange(shape[1]) < taken[:, None])
        best = _best_of(targets, w, sums, x.transpose(0, 2, 1), sizes[:, None, None], min_leaf, min_weight)
    return np.where(taken > 0, own, 0.0), best


def _sums(targets: Targets, rows: Array, node: Array, n_nodes: int) -> Array:
    """What is added up for each row: weights by class, or weighted targets less the mean of their node."""
    y, w = targets.y[rows], targets.weights[rows]
    if targets.n_classes:
        found = np.zeros((len(rows), targets.width))
        for o, first in enumerate(np.cumsum((0, *targets.n_classes[:-1]))):
            found[np.arange(len(rows)), first + y[:, o].astype(np.intp)] = w
        return found
    mass = np.bincount(node, weights=w, minlength=n_nodes)
    for _ in range(2):  # the second time for what rounding left
        means = [np.bincount(node, weights=w * column, minlength=n_nodes) / mass for column in y.T]
        y = y - np.stack(means, axis=1)[node]
    weighted: Array = w[:, None] * y
    return weighted


def _gain_of(targets: Targets, w: Array, sums: Array, left: Array) -> Array:
    sides = [((sums * side[..., None]).sum(axis=1), (w * side).sum(axis=1)) for side in (left, ~left)]
    return gains(targets, *sides[0], *sides[1])


def _best_of(
    targets: Targets, w: Array, sums: Array, x: Array, sizes: Array, min_leaf: int, min_weight: float
) -> Array:
    order = np.argsort(x, axis=-1, kind="stable")
    ranked, nodes = np.take_along_axis(x, order, axis=-1), np.arange(len(x))[:, None, None]
    count = np.arange(1, x.shape[-1])
    allowed = (ranked[..., :-1] < ranked[..., 1:]) & (count >= min_leaf) & (sizes - count >= min_leaf)
    on_left, on_right = _both_sides(w[nodes, order][..., None])
    allowed &= np.minimum(on_left, on_right)[..., 0] >= min_weight * (1 + NEAR)
    left, right = _both_sides(sums[nodes, order])
    found = gains(targets, left, on_left[..., 0], right, on_right[..., 0])
    best: Array = np.where(allowed, found, -np.inf).reshape(len(x), -1).max(axis=1, initial=-np.inf)
    return best


def _both_sides(ranked: Array) -> tuple[Array, Array]:
    """Sums up to each place and after it, each added up from its own end; of every place but the last."""
    left, right = np.cumsum(ranked, axis=2), np.cumsum(ranked[:, :, ::-1], axis=2)[:, :, ::-1]
    return left[:, :, :-1], right[:, :, 1:]
