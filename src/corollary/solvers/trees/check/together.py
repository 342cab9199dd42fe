"""Nodes of a tree searched at once, in one compiled pass over each column: for trees that try every cut of numbers."""

from __future__ import annotations

import numpy as np

from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.check.gains import NEAR, Targets
from corollary.solvers.trees.check.values import Passage

Coded = tuple[Array, Array, Array]  # codes (columns, rows), which of these rows a tree has, bins of each column

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
    codes, y = targets.codes, _numbers(targets)
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


def gains_among_bins(
    targets: Targets, tree: Trees, passage: Passage, nodes: list[int], columns: list[Array], coded: Coded,
    min_leaf: int, min_weight: float,
) -> tuple[Array, Array]:  # fmt: skip
    """As ``excess_gains`` by squares, for nodes that tried the given columns of bins. Cost: rows and bins of each."""
    from corollary._compiled.trees.node_search import search_nodes

    codes, inside, n_bins = coded
    m, width, at = len(nodes), targets.width, np.array(nodes)
    start = passage.start[at]
    on_left = np.where(tree.feature[at] >= 0, passage.count[tree.left[at]], 0)
    first = np.cumsum([0, *map(len, columns)])
    bins, sums = np.zeros((int(n_bins.max()) + 1, width + 2)), np.empty((3, width + 2))
    taken, best = np.empty(m), np.empty(m)
    search_nodes(
        codes, n_bins, inside, passage.order, start, start + passage.count[at], on_left, first,
        np.concatenate(columns, dtype=np.int64), targets.codes, _numbers(targets), targets.weights, int(min_leaf),
        float(min_weight * (1 + NEAR)), bins, sums, taken, best,
    )  # fmt: skip
    return taken / targets.n_outputs, best / targets.n_outputs


def _numbers(targets: Targets) -> Array | None:
    return None if targets.n_classes else np.ascontiguousarray(targets.y, dtype=np.float64)
