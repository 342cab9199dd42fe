"""Nodes of a tree searched at once, in one compiled pass over each column: for trees that try every cut of numbers."""

from __future__ import annotations

import numpy as np

from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.check.gains import NEAR, Targets

CODES = {"gini": 0, "squared_error": 0, "entropy": 1, "log_loss": 1, "poisson": 2}
_EVEN = 1024.0  # weights that differ by more are added up from both ends, which plain NumPy does


def apt(targets: Targets) -> bool:
    """Whether the kernel searches by this criterion, and sums of these weights lose no digit that matters."""
    w = targets.weights
    return targets.criterion in CODES and bool(w.max() <= _EVEN * w.min())


def excess_gains(
    targets: Targets, tree: Trees, drawn: Array, leaves: Array, size: Array, x: Array, order: Array, min_leaf: int,
    min_weight: float,
) -> tuple[Array, Array]:  # fmt: skip
    """(gain of the split taken, largest gain of any) of the nodes ``drawn``; −inf where no cut is allowed.

    All rows of these nodes are given: ``leaves`` where they end, ``x`` and its ascending ``order`` (columns, rows).
    Gains are infinite if that order is none. Cost: one pass over each column, and the rows of all nodes.
    """
    from corollary._compiled.trees import second_search as kernels

    n, m, width = len(leaves), len(drawn), targets.width
    codes = y = None
    if targets.n_classes:
        codes = targets.y.astype(np.int64) + np.cumsum((0, *targets.n_classes[:-1]))
    else:
        y = np.ascontiguousarray(targets.y, dtype=np.float64)
    number, parent = np.full(tree.node_count, -1), tree.parents()
    number[drawn] = np.arange(m)
    first, node, side = np.empty(n + 1, np.int64), np.empty(size.sum(), np.int64), np.empty(size.sum(), np.uint8)
    kernels.paths(leaves, parent, tree.left, number, first, node, side)
    (weight, taken, last, best), (centre, totals), left = (
        np.empty((4, m)),
        np.zeros((2, m, width)),
        np.empty((m, width + 1)),
    )
    told = CODES[targets.criterion], codes, y, targets.weights, weight, centre, totals, left
    kernels.describe(first, node, side, *told, taken, NEAR)
    scratch = np.zeros(n, np.int64), last, np.empty(m, np.int64)
    limits = int(min_leaf), float(min_weight * (1 + NEAR)), NEAR
    ordered = kernels.search_columns(x, order, first, node, size, *told, *limits, *scratch, best)
    if not ordered:
        best[:] = np.inf
    return taken / targets.n_outputs, best / targets.n_outputs
