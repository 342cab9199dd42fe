"""Grow one tree of a forest: draw its rows, lay out its targets, call the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.trees.forest.layout import NODES, Data, Setup
from corollary.core.binning import Binner
from corollary.core.types import Array
from corollary.solvers.trees.forest.nodes import GrownTree, KernelNodes, gain_unit
from corollary.solvers.trees.forest.rows import BinnedRows

NO_LIMIT = 2**31 - 1
GROWTH = 0x5DEECE66D  # tells the numbers that grow a tree from those that draw its rows
Targets = tuple[Any, Any, Any]  # packed, votes, sums: see ``_compiled/trees/forest/layout.py``
CRITERIA = {"gini": 0, "entropy": 1, "log_loss": 1, "squared_error": 0, "poisson": 2}  # codes of the kernel


@dataclass(frozen=True)
class ForestRules:
    """When a tree stops growing, in rows and shares of the whole."""

    criterion: str
    max_depth: int
    min_split: int
    min_leaf: int
    min_mass_share: float
    min_gain: float
    max_features: int
    max_leaves: int
    ccp_alpha: float
    monotone: Array | None


def grow_tree(rows: BinnedRows, rules: ForestRules, seed: int, *, outside: bool, inside: bool) -> GrownTree:
    """Draw rows, grow a tree and keep what matters of it. Cost: O(rows · columns tried · depth), in one thread.

    ``outside`` asks for the leaves of rows that were not drawn, ``inside`` for the rows of each leaf.
    """
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
    scratch = forest.make_scratch(len(rows.codes), binner.width, n_sums, np.uint64(seed ^ GROWTH))
    setup = Setup(_column_facts(binner, rules.monotone), _numbers(rows, rules, mass, shifts))
    general = None if n_sums == 1 and CRITERIA[rules.criterion] == 0 and rules.monotone is None else True
    forest.plant(tree, scratch, _totals(rows, mass), chosen.shape[1])
    if rules.max_leaves:
        waiting = np.empty(min(rules.max_leaves, chosen.shape[1]), dtype=np.int64)
        forest.grow_best_first(data, *targets, tree, setup, scratch, general, rows.edges, bits, waiting)
    else:
        close = forest.make_close(data, targets, min(forest.PACK_ROWS, chosen.shape[1]))
        before, postponed = (np.empty(each.rows.shape[1], dtype=np.int32) for each in (close[0], data))
        forest.grow(data, *targets, tree, setup, scratch, general, rows.edges, bits, *close, before, postponed)
    bits = np.empty((0, 1), dtype=np.uint32) if bits is None else bits
    nodes = KernelNodes(rows, rules.criterion, tree, bits, int(scratch.narrow[NODES]), chosen[0], mass)
    nodes.centre_cuts()
    if rules.ccp_alpha > 0:
        nodes.prune(rules.ccp_alpha)
    return nodes.kept(rows.not_in(counts) if outside and counts is not None else None, inside=inside)


def _column_facts(binner: Binner, monotone: Array | None) -> Array:
    directions = np.zeros(len(binner.n_bins)) if monotone is None else monotone
    return np.stack([binner.n_bins, binner.categorical, directions]).astype(np.int32)


def _numbers(rows: BinnedRows, rules: ForestRules, mass: Array, shifts: tuple[int, int]) -> Array:
    """The numbers that the kernel goes by, in the order that it names."""
    least = rules.min_gain * mass.sum() / max(gain_unit(rows, rules.criterion), 1e-300) if rules.min_gain else 0.0
    return np.array([
        CRITERIA[rules.criterion], rules.max_depth, rules.min_split, rules.min_leaf,
        rules.min_mass_share * mass.sum(), least, rules.max_features,
        rules.monotone is not None, *shifts,
    ], dtype=np.float64)  # fmt: skip


def _totals(rows: BinnedRows, mass: Array) -> Array:
    """Sums of all rows, and their mass."""
    if not rows.n_classes:
        return np.append(mass @ rows.sums, mass.sum())
    by_class = rows.class_totals(mass)
    return np.append(by_class if rows.n_classes > 2 else by_class[1:], by_class.sum() / rows.n_outputs)


def _targets(rows: BinnedRows, counts: Array | None, mass: Array) -> tuple[tuple[int, int], Targets]:
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
