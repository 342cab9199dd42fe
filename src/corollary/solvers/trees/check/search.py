"""Nodes of a grown tree searched again: is there a split that gains more than the one that was taken?

Rows are sent down the finished tree, as predictions send them. Of its nodes some are drawn, and of each every split
that the rules allow is tried by brute force; leaves that could have been split are among them. Only nodes of which it
is known which columns they tried, and that are not too large, are drawn; of some others a part is searched. What
every leaf predicts, and how many rows and how much weight pass every node, is worked out again from the rows for the
whole tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.core.evidence import share_wrong_at_most
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.check.gains import Node, Targets
from corollary.solvers.trees.check.together import Coded, apt, excess_gains, gains_among_bins
from corollary.solvers.trees.check.values import Passage, value_error

CELLS = 1 << 15  # numbers that all searches of a fit together sort (the last one may begin below this): a millisecond
FEWEST = 1 << 14  # as many may be looked at however small the table is
NODES = 24  # nodes drawn from a tree
_LAST_BITS = 64 * float(np.finfo(float).eps)  # of the root's impurity: gains that differ by less are equal
_PART = 8  # as many nodes besides those drawn are searched, each over as many columns as this part of the cells holds


@dataclass(frozen=True, eq=False)
class Growth:
    """By what rules a tree was grown, as far as a search needs them. ``min_weight`` and ``min_gain`` are sums."""

    targets: Targets
    values: Callable[[Any, Array], Array]  # (rows or None for all, columns) → float64, NaN for missing
    columns: Callable[[int, Array], tuple[Array, bool]]  # (node, rows) → columns that may be searched, and if all tried
    categorical: Array  # bool (d,)
    max_depth: float = np.inf
    min_split: int = 2
    min_leaf: int = 1
    min_weight: float = 0.0
    min_gain: float = 0.0
    leaves_may_stop: bool = False  # leaves are there for other reasons too: pruning, a largest number of leaves
    random_cuts: bool = False  # cuts are drawn, so there is no other to search for
    clipped: bool = False  # values are kept within bounds, so they need not be means
    categories_with_missing: bool = False  # whether missing values are one more category
    every_column: bool = False  # whether every node tried all columns, and none within bounds
    known: Array | None = None  # bool (nodes,): whether all columns that a node tried can be searched; None is yes
    tries: int | None = None  # columns that a node tries, as a rule; None is all
    order: Array | None = None  # (columns, rows): the ascending order of the values of all rows, if it is known
    coded: Coded | None = None  # of a tree of bins


@dataclass
class Findings:
    """What searches found. ``excess`` and ``error`` are relative to the impurity and the spread at the root."""

    excess: float = 0.0
    error: float = 0.0
    nodes: int = 0  # inner nodes, and leaves that the rules would let be split
    small: int = 0  # those of them that can be searched over all columns that they tried
    drawn: int = 0  # those of these that were drawn at random, and searched over all these columns
    partly: int = 0  # others that were searched: over some of the columns, as a rule
    cells: int = 0  # numbers sorted
    random_cuts: bool = False
    clipped: bool = False  # by bounds, so that values were not looked at
    noise: float = 0.0  # what the last bits of sums over all rows are, as a part of the root's impurity
    trees: int = 1

    def __add__(self, other: Findings) -> Findings:
        return Findings(
            excess=max(self.excess, other.excess),
            error=max(self.error, other.error),
            nodes=self.nodes + other.nodes,
            small=self.small + other.small,
            drawn=self.drawn + other.drawn,
            partly=self.partly + other.partly,
            cells=self.cells + other.cells,
            random_cuts=self.random_cuts or other.random_cuts,
            clipped=self.clipped or other.clipped,
            noise=max(self.noise, other.noise),
            trees=self.trees + other.trees,
        )

    @property
    def searched(self) -> bool:
        """Whether other splits were searched for; so too if there is nothing to split."""
        return not self.random_cuts and (self.drawn > 0 or self.nodes == 0)

    @property
    def everything(self) -> bool:
        """Whether every node was searched over all its columns."""
        return self.drawn == self.nodes

    @property
    def share(self) -> float:
        """With 95 % confidence, the largest share of nodes with a better split, among those that could be drawn."""
        return share_wrong_at_most(self.drawn, self.small)

    @property
    def brief(self) -> str:
        """How much was searched, in a few words."""
        if self.random_cuts:
            return "Cuts were drawn: no other was sought."
        part = f" ({self.partly}{' more' * (self.drawn > 0)} in part)" if self.partly else ""
        return f"{self.drawn} of {self.nodes} nodes of {self.trees} tree{'s' * (self.trees != 1)}{part}."

    @property
    def sentence(self) -> str:
        """How much was searched, and what that says of the rest."""
        if self.random_cuts:
            return "Cuts were drawn at random, so no other was searched for."
        of = "" if self.trees == 1 else f" of {self.trees} trees"
        if self.nodes == 0:
            return "There was nothing to split."
        over = f" ({self.partly}{' more' * (self.drawn > 0)} over some of the columns)" if self.partly else ""
        if not self.drawn:
            if self.clipped:
                return f"Under monotone constraints no node{of} was searched again over all columns{over}."
            return f"No node{of} was small enough to be searched again over all columns{over}."
        which = f"nodes{of}" if self.small == self.nodes else f"smaller nodes{of}"
        if self.drawn == self.small:
            these = (
                f"All {self.small} {which} were" if self.small > 1 else f"The one {which.replace('nodes', 'node')} was"
            )
            return f"{these} searched again{over}."
        share = 100 * self.share
        return (
            f"{self.drawn} of {self.small} {which} were searched again{over}: with 95 % confidence fewer than "
            f"{share:.3g} % of them have a better split."
        )


@dataclass(frozen=True, eq=False)
class Search:
    """One tree (``tree``, its root first), the rows that it was grown on and where they end."""

    growth: Growth
    tree: Trees
    leaves: Array
    seed: int = 0

    def run(self, root: float, cells: int = CELLS, nodes: int = NODES) -> Findings:
        """Search until ``cells`` numbers were sorted or ``nodes`` nodes were drawn; ``root`` is W·I of the root."""
        growth, tree, targets = self.growth, self.tree, self.growth.targets
        passage = Passage.of(tree, self.leaves, targets.weights)
        found = Findings(error=passage.mismatch(tree), random_cuts=growth.random_cuts, clipped=growth.clipped)
        found.noise = _LAST_BITS * targets.size() / root if root > 0 else 0.0
        if targets.criterion == "gini" and root > 0:  # sums of squares of all rows, less those of all but the lightest
            found.noise = max(found.noise, self._lost_digits() / root)
        if not growth.clipped:
            found.error = max(found.error, value_error(tree, self.leaves, targets))
        if found.error == np.inf or growth.random_cuts:  # rows do not go where the tree says: no more can be told
            return found
        which = self._worth_searching(passage)
        cost = self._cost(passage.count[which], self._tries)
        if len(which) == 1 and growth.order is not None:  # a stump, whose columns are sorted: all of it is cheap
            cells = max(cells, int(cost[0]))
        known = np.ones(len(which), dtype=bool) if growth.known is None else growth.known[which]
        small = (cost <= cells) & known
        found.nodes, found.small = len(which), int(small.sum())
        drawn, cost = which[small], cost[small]
        if len(drawn) > nodes or cost.sum() > cells:
            drawn = self._shuffled(drawn)[:nodes]
            cost = self._cost(passage.count[drawn], self._tries)
            drawn = drawn[cost.cumsum() - cost < cells]
        found.drawn, whole = self._search(drawn, passage, cells, found, root)
        found.partly = whole - found.drawn
        large, unknown = which[known & ~small], self._shuffled(which[~known])[:_PART]
        large = np.concatenate([large[:1], self._shuffled(large[1:])[:2]])  # the root, if it is large, and two others
        for beside in (large, unknown):
            if found.cells < cells:
                found.partly += self._search(beside, passage, cells // _PART, found, root)[1]
        return found

    @property
    def _tries(self) -> int:
        growth = self.growth
        return len(growth.categorical) if growth.tries is None else growth.tries

    def _search(self, drawn: Array, passage: Passage, room: int, found: Findings, root: float) -> tuple[int, int]:
        """Search nodes, each over as many columns as there is room for: at once if that can be, else one by one.

        Returns how many were searched over all columns that they tried, and over any.
        """
        together = self._together(drawn, passage, room, found, root)
        if together is not None:
            return together
        whole = some = 0
        for t in drawn:
            excess, all_columns, cells = self._excess(int(t), passage.rows(int(t)), passage, room)
            found.excess = max(found.excess, _relative(excess, root))
            found.cells += cells
            whole, some = whole + all_columns, some + (cells > 0)
        return whole, some

    def _shuffled(self, items: Array) -> Array:
        """The items in an order drawn by the seed."""
        return np.random.default_rng(self.seed).permutation(items) if len(items) > 1 else items

    def _lost_digits(self) -> float:
        """What the last bit of a sum of squared class weights is, over the lightest row; whole numbers lose none."""
        w = self.growth.targets.weights
        total, lightest = float(w.sum()), float(w.min())
        return float(np.finfo(float).eps) * total * (total / lightest) if (w != lightest).any() else 0.0

    def _together(
        self, drawn: Array, passage: Passage, room: int, found: Findings, root: float
    ) -> tuple[int, int] | None:
        """Search nodes at once, if these tried columns of numbers: of bins, or all columns; None if that cannot be.

        Returns how many were searched over all columns that they tried, and over any.
        """
        growth, d = self.growth, len(self.growth.categorical)
        if not len(drawn) or not apt(growth.targets):
            return None
        if growth.coded is not None and growth.targets.criterion in ("gini", "squared_error"):
            return self._among_bins(drawn, passage, room, found, root)
        if not growth.every_column or growth.categorical.any():
            return None
        targets, leaves, order, size = growth.targets, self.leaves, growth.order, passage.count[drawn]
        columns, each = np.arange(d), self._cost(size, 1)
        if each.max() * d > room:  # these are large: some columns will do
            columns = np.sort(self._shuffled(columns)[: max(1, int(room // each.sum()))])
        rows = None
        if order is None:
            rows = np.unique(np.concatenate([passage.rows(int(t)) for t in drawn]))
            leaves, targets = leaves[rows], replace(targets, y=targets.y[rows], weights=targets.weights[rows])
        x = np.ascontiguousarray(growth.values(rows, columns).T)
        if np.isnan(x).any():
            return None
        order = np.argsort(x, axis=1) if order is None else order[columns] if len(columns) < d else order
        limits = growth.min_leaf, growth.min_weight
        taken, best = excess_gains(targets, self.tree, drawn, leaves, size, x, order, *limits)
        found.excess = max(found.excess, self._largest_excess(drawn, taken, best, root))
        found.cells += int(each.sum()) * len(columns)
        return (len(drawn) if len(columns) == d else 0), len(drawn)

    def _among_bins(
        self, drawn: Array, passage: Passage, room: int, found: Findings, root: float
    ) -> tuple[int, int] | None:
        """``_together`` for trees of bins: every node over the columns that it tried."""
        growth = self.growth
        nodes, columns, whole, total = [], [], 0, 0
        for t in map(int, drawn):
            own, all_of_them, cells = self._columns(t, passage.rows(t), room)
            if growth.categorical[own].any():
                return None
            if cells:
                nodes.append(t)
                columns.append(own)
                whole, total = whole + all_of_them, total + cells
        if nodes:
            limits = growth.min_leaf, growth.min_weight
            assert growth.coded is not None
            gains = gains_among_bins(growth.targets, self.tree, passage, nodes, columns, growth.coded, *limits)
            found.excess = max(found.excess, self._largest_excess(np.array(nodes), *gains, root))
        found.cells += total
        return whole, len(nodes)

    def _largest_excess(self, nodes: Array, taken: Array, best: Array, root: float) -> float:
        """From what nodes gain and the most that they could; leaves need not be split for less than asked for."""
        best[(self.tree.feature[nodes] < 0) & (best < self.growth.min_gain * (1 + 1e-9))] = 0.0
        excess = np.where(best == -np.inf, 0.0, best - taken)
        return _relative(float(excess.max(initial=0.0)), root)

    def _cost(self, rows: Any, columns: int) -> Array:
        """Numbers that a search of all columns sorts or adds up; a logarithm counts as some."""
        targets = self.growth.targets
        each: Any = max(1.0, targets.width / 4) * (1 if targets.criterion in ("gini", "squared_error") else 4)
        if targets.criterion == "absolute_error":  # a table of rows by rows, whose numbers are only added up
            each = np.maximum(rows / 16, 1) * targets.width
        return np.asarray(rows, dtype=np.float64) * each * columns

    def _worth_searching(self, passage: Passage) -> Array:
        """Inner nodes, and leaves that no rule forbids to split."""
        growth, tree = self.growth, self.tree
        live = ~tree.is_leaf
        if not growth.leaves_may_stop:
            enough = (passage.count >= max(growth.min_split, 2 * growth.min_leaf)) & (
                passage.weight >= 2 * growth.min_weight * (1 + 1e-9)
            )
            may = tree.is_leaf & enough & (tree.node_depths() < growth.max_depth)
            live |= may & passage.mixed(self.leaves, growth.targets.y)
        return np.flatnonzero(live)

    def _columns(self, t: int, rows: Array, limit: int) -> tuple[Array, bool, int]:
        """(columns to search a node over, whether these are all that it tried, cells, 0 if there are too many)."""
        columns, whole = self.growth.columns(t, rows)
        each = float(self._cost(len(rows), 1))
        room = max(int(limit // max(1.0, each)), 1)
        if len(columns) > room:
            columns, whole = self._shuffled(columns)[:room], False
        cells = int(each * len(columns))
        return (columns, whole, cells) if cells <= _PART * limit else (columns, False, 0)

    def _excess(self, t: int, rows: Array, passage: Passage, limit: int) -> tuple[float, bool, int]:
        """(gain of the best split beyond that of the one taken, whether all columns were tried, cells)."""
        growth, tree = self.growth, self.tree
        columns, whole, cells = self._columns(t, rows, limit)
        if not cells:
            return 0.0, False, 0
        node, taken = growth.targets.node(rows), 0.0
        best = self._best(node, growth.values(rows, columns), growth.categorical[columns])
        if tree.feature[t] >= 0:
            left = np.arange(len(rows)) < passage.count[tree.left[t]]  # rows come in the order of the leaves
            taken = node.gain(left)
        elif best < growth.min_gain * (1 + 1e-9):
            best = 0.0
        return (max(0.0, best - taken) if np.isfinite(best) else 0.0), whole, cells

    def _best(self, node: Node, values: Array, categorical: Array) -> float:
        limits = (self.growth.min_leaf, self.growth.min_weight)
        best = node.best_gain(values[:, ~categorical], *limits) if not categorical.all() else -np.inf
        for f in np.flatnonzero(categorical):
            for response in node.response():
                best = max(best, node.best_gain(self._ordered(values[:, f], response, node.weights)[:, None], *limits))
        return best

    def _ordered(self, codes: Array, response: Array, weights: Array) -> Array:
        """The place of each row's category in the order of mean response; categories of equal means share a place."""
        known = ~np.isnan(codes)
        if self.growth.categories_with_missing:
            codes, known = np.where(known, codes, np.inf), np.ones(len(codes), dtype=bool)
        place = np.full(len(codes), np.nan)
        names, which = np.unique(codes[known], return_inverse=True)
        if len(names):
            mass = np.bincount(which, weights=weights[known])
            mean = np.bincount(which, weights=response[known]) / mass
            order = np.argsort(mean, kind="stable")
            apart = np.diff(mean[order]) > 1e-12 * np.abs(mean).max()
            rank = np.empty(len(names))
            rank[order] = np.concatenate([[0], np.cumsum(apart)])
            place[known] = rank[which]
        return place


def _relative(excess: float, root: float) -> float:
    """An excess as a part of the root's impurity, but for its last bits."""
    excess = excess / root if root > 0 else excess
    return excess if excess > _LAST_BITS else 0.0
