"""The check of a forest: a few of its trees, with the rows that they drew, searched again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from corollary.core.scaling import magnitude, power_of_two
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.check.draws import columns_drawn
from corollary.solvers.trees.check.exact import Tried, scaled
from corollary.solvers.trees.check.gains import Targets
from corollary.solvers.trees.check.search import CELLS, NODES, Findings, Growth, Search
from corollary.solvers.trees.check.values import Passage
from corollary.solvers.trees.forest.beyond_sums import exact_rules, needs_more_than_sums
from corollary.solvers.trees.forest.growth import GROWTH, ForestRules
from corollary.solvers.trees.forest.rows import BinnedRows

_TREES = 2  # that are searched
_REPLAYED = 48  # nodes of a tree whose draws of columns are repeated, from the root on


@dataclass(frozen=True, eq=False)
class GivenTree:
    """A tree as it predicts, with what it drew: ``mass`` of all rows, and where those that have any end."""

    tree: Trees
    seed: int
    mass: Array
    inside: Array  # rows of mass > 0
    leaves: Array  # of these


def search_forest(
    rows: BinnedRows, rules: ForestRules, n_trees: int, given: Callable[[list[int]], list[GivenTree]]
) -> Findings:
    """Search nodes of trees drawn at random from ``n_trees``; ``given`` those of some numbers.

    Cost: at most ``CELLS`` numbers sorted; a few passes over the rows of each of two trees.
    """
    chosen = np.random.default_rng(n_trees).permutation(n_trees)[:_TREES].tolist()
    return reduce(add, (_search_tree(rows, rules, tree, len(chosen)) for tree in given(chosen)))


def search_one(rows: BinnedRows, rules: ForestRules, given: GivenTree) -> Findings:
    """The same of one tree alone."""
    return _search_tree(rows, rules, given, 1)


def _search_tree(rows: BinnedRows, rules: ForestRules, given: GivenTree, share: int) -> Findings:
    mass, inside, leaves, seed = given.mass, given.inside, given.leaves, given.seed
    unit = 1.0 if rows.n_classes else power_of_two(magnitude(rows.y))
    heavy = power_of_two(magnitude(mass))
    targets = _targets(rows, rules.criterion, inside, mass[inside] * heavy, unit)
    tree = scaled(given.tree, unit, heavy)
    growth = _growth(rows, rules, targets, tree, leaves, inside, seed, unit)
    search = Search(growth, tree, leaves, seed & 0xFFFF)
    return search.run(targets.impurity(), CELLS // share, NODES // share)


def _targets(rows: BinnedRows, criterion: str, inside: Array, weights: Array, unit: float) -> Targets:
    if not rows.n_classes:
        return Targets(criterion, rows.y[inside] * unit, weights)
    blocks = rows.blocks or (rows.n_classes,)
    label = rows.label.reshape(rows.n, -1)[inside] - np.cumsum((0, *blocks[:-1]))
    return Targets(criterion, label, weights, tuple(blocks))


def _growth(
    rows: BinnedRows, rules: ForestRules, targets: Targets, tree: Trees, leaves: Array, inside: Array, seed: int,
    unit: float,
) -> Growth:  # fmt: skip
    n_bins, total, d = rows.binner.n_bins, float(targets.weights.sum()), len(rows.codes)

    def values(at: Array, columns: Array) -> Array:  # of rows, for there is no order of all
        codes = rows.codes[np.ix_(columns, inside[at])].T.astype(np.float64)
        codes[codes == n_bins[columns]] = np.nan
        return codes

    every = rules.monotone is None and rules.max_features >= d
    exactly = not rows.n_classes and needs_more_than_sums(rules.criterion, rows.y.shape[1])
    tried: dict[int, Array] = {}
    if not every and not exactly and draws_repeat(rows, rules):
        tried = _draws(rows, rules, targets, tree, leaves, inside, seed)

    def columns(node: int, at: Array) -> tuple[Array, bool]:
        if every or node in tried:
            return (np.arange(d) if every else tried[node]), True
        # that of its split; none within bounds that depend on the path, and none of a leaf
        none = rules.monotone is not None or tree.feature[node] < 0
        return tree.feature[[node]][: 0 if none else 1], False

    known = None if every else np.isin(np.arange(tree.node_count), list(tried))
    by_path = None
    if exactly and not every:
        by_path = Tried(tree, exact_rules(rows, rules, seed, total), d, values).columns
        known = None if rules.monotone is None else np.zeros(tree.node_count, dtype=bool)
    return Growth(
        targets=targets,
        values=values,
        columns=columns if by_path is None else by_path,
        categorical=rows.binner.categorical,
        max_depth=rules.max_depth,
        min_split=rules.min_split,
        min_leaf=rules.min_leaf,
        min_weight=rules.min_mass_share * total,
        min_gain=targets.gain_unit(unit, rules.min_gain * total),
        leaves_may_stop=rules.max_leaves > 0 or rules.ccp_alpha > 0,
        random_cuts=rows.edges is not None,
        categories_with_missing=not exactly,
        clipped=exactly and rules.monotone is not None,
        every_column=every,
        known=known,
        tries=min(rules.max_features, d),
        coded=(rows.codes, inside, n_bins),
    )


def _draws(
    rows: BinnedRows, rules: ForestRules, targets: Targets, tree: Trees, leaves: Array, inside: Array, seed: int,
    most: int = _REPLAYED,
) -> dict[int, Array]:  # fmt: skip
    """The columns that nodes near the root tried, ``most`` nodes."""
    from corollary._compiled.trees.forest.grow import PACK_ROWS

    passage = Passage.of(tree, leaves, targets.weights)
    live = passage.count >= max(rules.min_split, 2 * rules.min_leaf)
    live &= tree.node_depths() < rules.max_depth
    live &= passage.weight >= 2 * rules.min_mass_share * targets.weights.sum()
    live &= ~tree.is_leaf | passage.mixed(leaves, targets.y)
    return columns_drawn(
        tree, passage, live, rows.codes, inside, wanted=rules.max_features, seed=seed ^ GROWTH, at_once=PACK_ROWS,
        most=most,
    )  # fmt: skip


def draws_repeat(rows: BinnedRows, rules: ForestRules) -> bool:
    """Whether the columns that nodes tried can be told from the tree: it grew node after node, and is whole."""
    return not (rules.max_leaves > 0 or rules.ccp_alpha > 0 or rules.monotone is not None or rows.edges is not None)


def columns_tried(rows: BinnedRows, rules: ForestRules, given: GivenTree) -> dict[int, Array]:
    """The columns that every node of a tree tried, where draws repeat, for others to search."""
    if not rows.n_classes and needs_more_than_sums(rules.criterion, rows.y.shape[1]):
        return _tried_exactly(rows, rules, given)
    weights = given.mass[given.inside] * power_of_two(magnitude(given.mass))
    targets = _targets(rows, rules.criterion, given.inside, weights, 1.0)
    return _draws(rows, rules, targets, given.tree, given.leaves, given.inside, given.seed, given.tree.node_count)


def _tried_exactly(rows: BinnedRows, rules: ForestRules, given: GivenTree) -> dict[int, Array]:
    """The same of trees that the exact search grew, whose nodes draw by their path from the root."""
    passage = Passage.of(given.tree, given.leaves, given.mass[given.inside])
    exact = exact_rules(rows, rules, given.seed, float(given.mass.sum()))
    numbers = rows.numbers[given.inside]
    tried = Tried(given.tree, exact, len(rows.codes), lambda at, columns: numbers[np.ix_(at, columns)])
    return {node: tried.columns(node, passage.rows(node))[0] for node in range(given.tree.node_count)}
