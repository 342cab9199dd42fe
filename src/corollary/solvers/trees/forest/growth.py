"""Grow the trees of a forest: what they share, what one of them draws, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.trees.forest.layout import NODES, TOTALS, Data, Setup, Tree
from corollary.core.binning import Binner
from corollary.core.types import Array
from corollary.solvers.trees.forest.limits import Limits
from corollary.solvers.trees.forest.rows import Rows

_GROWTH = 0x5DEECE66D  # tells the numbers that grow a tree from those that draw its rows
Targets = tuple[Any, Any, Any]  # packed, votes, sums: see ``forest_layout``
CRITERIA = {"gini": 0, "entropy": 1, "log_loss": 1, "squared_error": 0, "poisson": 2}  # codes of _compiled.forest


@dataclass(frozen=True, eq=False)
class Grown:
    """One tree level by level, and what its growth tells."""

    is_leaf: Array  # bool (nodes,)
    feature: Array  # of inner nodes
    cut: Array  # last bin that goes left, of inner nodes
    missing_left: Array  # of inner nodes
    bits: Array  # uint32 (categorical nodes, words)
    sums: Array  # (leaves, c): mass of each class (of the second, if there are two), or means
    mass: Array  # (leaves,)
    rows: Array  # (leaves,)
    spread: Array  # (leaves,): weighted impurity that is left, of regression
    depth: int
    imbalance: float  # of impurity: the root's, less what splits took away and what leaves keep, relative
    coverage: float  # share of the rows that it saw
    outside: Array  # rows that were not drawn
    outside_leaf: Array  # where they end, as numbers of leaves
    inside: Array  # rows that were drawn, leaf by leaf; empty unless asked for
    inside_mass: Array


def grow_tree(rows: Rows, limits: Limits, seed: int, *, outside: bool, inside: bool) -> Grown:
    """Draw rows, grow a tree and keep what matters of it. Cost: O(rows · columns tried · depth), in one thread."""
    from corollary._compiled.trees.forest import grow as forest

    counts = rows.drawn(seed) if rows.draws else None
    mass = rows.mass(counts)
    chosen = np.empty((2, int((mass > 0).sum())), dtype=np.int32)
    chosen[0] = np.flatnonzero(mass > 0)
    shifts, targets = _targets(rows, counts, mass)
    data = Data(rows.codes, chosen)
    n_sums = rows.n_classes if rows.n_classes > 2 else max(1, rows.y.shape[1])
    binner = rows.binner
    categories = int(binner.n_bins[binner.categorical].max(initial=0))
    tree = forest.make_tree(chosen.shape[1], n_sums)
    bits = np.empty((len(tree.whole), (categories + 31) // 32), dtype=np.uint32) if categories else None
    scratch = forest.make_scratch(len(rows.codes), binner.width, n_sums, np.uint64(seed ^ _GROWTH))
    setup = Setup(_column_facts(binner, limits.monotone), _rules(rows, limits, mass, shifts))
    general = None if n_sums == 1 and CRITERIA[limits.criterion] == 0 and limits.monotone is None else True
    forest.plant(tree, scratch, _totals(rows, mass), chosen.shape[1])
    if limits.max_leaves:
        waiting = np.empty(min(limits.max_leaves, chosen.shape[1]), dtype=np.int64)
        forest.grow_best_first(data, *targets, tree, setup, scratch, general, rows.edges, bits, waiting)
    else:
        close = forest.make_close(data, targets, min(forest.PACK_ROWS, chosen.shape[1]))
        before, postponed = (np.empty(each.rows.shape[1], dtype=np.int32) for each in (close[0], data))
        forest.grow(data, *targets, tree, setup, scratch, general, rows.edges, bits, *close, before, postponed)
    used = int(scratch.narrow[NODES])
    bits = np.empty((0, 1), dtype=np.uint32) if bits is None else bits
    return _finish(rows, limits, tree, bits, used, chosen[0], mass, counts, outside=outside, inside=inside)


def _column_facts(binner: Binner, monotone: Array | None) -> Array:
    directions = np.zeros(len(binner.n_bins)) if monotone is None else monotone
    return np.stack([binner.n_bins, binner.categorical, directions]).astype(np.int32)


def _rules(rows: Rows, limits: Limits, mass: Array, shifts: tuple[int, int]) -> Array:
    """The numbers that the kernel goes by, in the order that it names."""
    least = limits.min_gain * mass.sum() / max(_gain_unit(rows, limits.criterion), 1e-300) if limits.min_gain else 0.0
    return np.array([
        CRITERIA[limits.criterion], limits.max_depth, limits.min_split, limits.min_leaf,
        limits.min_mass_share * mass.sum(), least, limits.max_features,
        limits.monotone is not None, *shifts,
    ], dtype=np.float64)  # fmt: skip


def _totals(rows: Rows, mass: Array) -> Array:
    """Sums of all rows, and their mass."""
    if not rows.n_classes:
        return np.append(mass @ rows.sums, mass.sum())
    by_class = rows.class_totals(mass)
    return np.append(by_class if rows.n_classes > 2 else by_class[1:], by_class.sum() / rows.n_outputs)


def _targets(rows: Rows, counts: Array | None, mass: Array) -> tuple[tuple[int, int], Targets]:
    """The places of fields in packed targets; and targets packed, as votes or as sums."""
    if not rows.n_classes:
        return (0, 0), (None, None, np.column_stack([rows.sums * mass[:, None], mass, rows.y]))
    if rows.n_classes > 2:
        return (0, 0), (None, (rows.label.reshape(rows.n, -1).astype(np.int64), mass), None)
    row_bits, mass_bits = rows.n.bit_length(), int(rows.draws).bit_length()
    plain = rows.class_factors is None and not rows.balance_draws
    if counts is None or not plain or row_bits + 2 * mass_bits >= 63:
        return (0, 0), (None, None, np.column_stack([rows.label * mass, mass]))
    many = counts.astype(np.int64)
    packed = ((rows.label * many) << (row_bits + mass_bits)) | (many << row_bits) | 1
    return (row_bits, row_bits + mass_bits), (packed, None, None)


def _gain_unit(rows: Rows, criterion: str) -> float:
    """Weighted decrease of impurity for each unit of what the kernel maximises."""
    if criterion in ("entropy", "log_loss"):
        return float(1 / np.log(2)) / rows.n_outputs
    if not rows.n_classes:
        unit = np.float64(rows.scale) ** (1.0 if criterion == "poisson" else 2.0)
        return float(unit / rows.y.shape[1])
    return 2.0 if rows.n_classes == 2 else 1.0 / rows.n_outputs


def class_masses(sums: Array, mass: Array) -> Array:
    """Mass of every class, from sums that leave out the first of two."""
    return np.column_stack([mass - sums[:, 0], sums[:, 0]]) if sums.shape[1] == 1 else sums


def class_impurity(sums: Array, mass: Array, criterion: str, n_outputs: int = 1) -> Array:
    """Impurity of nodes with these class masses; the mean over outputs, where there are several."""
    shares = class_masses(sums, mass) / mass[:, None]
    if criterion == "gini":
        impurity: Array = 1.0 - (shares**2).sum(axis=1) / n_outputs
    else:
        impurity = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1) / n_outputs
    return impurity


def _root_impurity(rows: Rows, mass: Array, criterion: str) -> float:
    """Weighted impurity of all rows together, straight from the data."""
    if rows.n_classes:
        total = rows.class_totals(mass)[None, :]
        return float(class_impurity(total, mass.sum()[None], criterion, rows.n_outputs)[0] * mass.sum())
    mean = np.average(rows.y, axis=0, weights=mass)
    if criterion == "poisson":
        logs = np.log(np.where(rows.y > 0, rows.y, 1.0) / np.where(mean > 0, mean, 1.0))
        return float((mass[:, None] * rows.y * logs).sum() / rows.y.shape[1])
    spread = float((mass[:, None] * (rows.y - mean) ** 2).sum() / rows.y.shape[1])
    rounding = 1e-14 * np.abs(rows.y[mass > 0]).max(initial=0.0)
    return spread if spread > rounding**2 * mass.sum() else 0.0


def _finish(
    rows: Rows,
    limits: Limits,
    tree: Tree,
    bits: Array,
    used: int,
    chosen: Array,
    mass: Array,
    counts: Array | None,
    *,
    outside: bool,
    inside: bool,
) -> Grown:
    from corollary._compiled.trees.forest import nodes as forest_nodes

    nodes, binner = _Named(tree), rows.binner
    forest_nodes.centre_cuts(nodes.feature[:used], nodes.cut, nodes.following, binner.thresholds)
    unit = _gain_unit(rows, limits.criterion)
    whole = _root_impurity(rows, mass, limits.criterion)
    if limits.ccp_alpha > 0:
        risk = _risks(rows, limits, nodes, used, chosen, mass) / mass.sum()
        forest_nodes.prune(nodes.feature[:used], nodes.left, nodes.gain, risk, limits.ccp_alpha)
        used = _reachable(nodes, used)
    order = np.empty(used, dtype=np.int32)
    forest_nodes.breadth_first(nodes.feature, nodes.left, order)
    is_leaf = nodes.feature[order] < 0
    leaves, inner = order[is_leaf], order[~is_leaf]
    sums, leaf_mass, spread = _leaf_values(rows, limits, nodes, leaves, chosen, mass)
    taken = float(nodes.gain[inner].sum()) * unit
    left_over = float(spread.sum())
    if rows.n_classes:
        left_over = float((class_impurity(sums, leaf_mass, limits.criterion, rows.n_outputs) * leaf_mass).sum())
    categorical = binner.categorical[nodes.feature[inner]]
    kept_bits = bits[nodes.cut[inner][categorical]]
    missed, ends = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    if outside and counts is not None:
        missed = np.flatnonzero((counts == 0) & (rows.weights > 0)).astype(np.int32)
        ends = np.empty(len(missed), dtype=np.int32)
        forest_nodes.walk(
            rows.codes, missed, nodes.feature, nodes.cut, nodes.missing_left, nodes.left, bits, binner.n_bins,
            binner.categorical, ends,
        )  # fmt: skip
        number = np.empty(2 * max(len(chosen), 1), dtype=np.int32)
        number[leaves] = np.arange(len(leaves), dtype=np.int32)
        ends = number[ends]
    segments = [chosen[nodes.start[leaf] : nodes.stop[leaf]] for leaf in leaves] if inside else []
    members = np.concatenate(segments) if segments else np.empty(0, dtype=np.int32)
    return Grown(
        is_leaf=is_leaf,
        feature=nodes.feature[inner],
        cut=np.where(categorical, 0, nodes.cut[inner]),
        missing_left=nodes.missing_left[inner] == 1,
        bits=kept_bits,
        sums=sums,
        mass=leaf_mass,
        rows=(nodes.stop[leaves] - nodes.start[leaves]),
        spread=spread,
        depth=int(nodes.depth[order].max(initial=0)),
        imbalance=abs(whole - taken - left_over) / whole if 0 < whole < np.inf else 0.0,
        coverage=len(chosen) / max(1, int((rows.weights > 0).sum())),
        outside=missed,
        outside_leaf=ends,
        inside=members,
        inside_mass=mass[members],
    )


class _Named:
    """The columns of a grown tree by name."""

    def __init__(self, tree: Tree) -> None:
        (self.start, self.stop, self.depth, self.feature, self.cut, self.missing_left, self.left,
         self.following) = tree.whole.T  # fmt: skip
        self.gain, self.totals = tree.real[:, 0], tree.real[:, TOTALS:]


def _reachable(nodes: Any, used: int) -> int:
    """Number of nodes that can still be reached after pruning."""
    reached = np.zeros(used, dtype=bool)
    reached[0] = True
    level = np.array([0])
    while len(level):
        reached[level] = True
        inner = level[nodes.feature[level] >= 0]
        level = np.concatenate([nodes.left[inner], nodes.left[inner] + 1])
    return int(reached.sum())


def _risks(rows: Rows, limits: Limits, nodes: Any, used: int, chosen: Array, mass: Array) -> Array:
    """Weighted impurity of every node."""
    everyone = np.arange(used, dtype=np.int32)
    sums, node_mass, spread = _leaf_values(rows, limits, nodes, everyone, chosen, mass)
    if rows.n_classes:
        weighted: Array = class_impurity(sums, node_mass, limits.criterion, rows.n_outputs) * node_mass
        return weighted
    return spread


def _leaf_values(
    rows: Rows, limits: Limits, nodes: Any, leaves: Array, chosen: Array, mass: Array
) -> tuple[Array, Array, Array]:
    """Class masses or means, mass, and the impurity that is left (of regression), of the given nodes."""
    from corollary._compiled.trees.forest import nodes as forest_nodes

    totals = nodes.totals[leaves]
    if rows.n_classes:
        return totals[:, :-2], totals[:, -2], np.zeros(len(leaves))
    mean, spread = np.empty((len(leaves), rows.y.shape[1])), np.empty(len(leaves))
    forest_nodes.leaf_means(chosen, nodes.start, nodes.stop, leaves, rows.y, mass, mean, spread)
    if limits.criterion == "poisson":
        forest_nodes.leaf_deviances(chosen, nodes.start, nodes.stop, leaves, rows.y, mass, mean, spread)
    return mean, totals[:, -2], spread / rows.y.shape[1]
