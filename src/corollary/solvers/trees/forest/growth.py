"""Grow one tree of a forest: draw its rows, lay out its targets, call the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary._compiled.trees.forest.layout import NODES, Data, Setup
from corollary.core.types import Array
from corollary.solvers.trees.forest.nodes import GrownTree, KernelNodes, gain_unit
from corollary.solvers.trees.forest.rows import BinnedRows

if TYPE_CHECKING:
    from corollary.solvers.trees.forest.room import Room

NO_LIMIT = 2**31 - 1
# A tree draws its rows by its seed and grows by its seed XOR this, so that columns and cuts have nothing to do with
# rows. Any odd number beyond 2³², where no seed lies, serves; another one gives other trees for the same seed.
GROWTH = 0x2545F4914F6CDD1D
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


def grow_tree(
    rows: BinnedRows, rules: ForestRules, seed: int, *, outside: bool, inside: bool, room: Room | None = None
) -> GrownTree:  # fmt: skip
    """Draw rows, grow a tree and keep what matters of it. Cost: O(rows · columns tried · depth), in one thread.

    ``outside`` asks for the leaves of rows that were not drawn, ``inside`` for the rows of each leaf. ``room`` is
    memory that an earlier tree of the same rows was grown in.
    """
    from corollary._compiled.trees.forest import grow as kernels
    from corollary.solvers.trees.forest.room import Room

    room = Room(rows) if room is None else room
    counts, m, totals = room.sow(seed)
    columns, tree, scratch = room.columns, room.tree, room.scratch
    if rules.monotone is not None:
        columns = np.stack([*columns[:2], rules.monotone]).astype(np.int32)
    data = Data(rows.codes, room.chosen)
    setup = Setup(columns, _numbers(rows, rules, float(totals[-1]), room.shifts))
    kernels.plant(tree, scratch, totals, m, np.uint64(seed ^ GROWTH))
    general = _general(rows, rules, room)
    plain = True if general is None and rows.edges is None else None
    task = data, room.packed, room.votes, room.sums, tree, setup, scratch, plain, general, rows.edges
    if rules.max_leaves:
        kernels.grow_best_first(*task, room.bits, np.empty(min(rules.max_leaves, m), dtype=np.int64))
    else:
        whole: Any = (*task, room.bits, *room.close(data, m, rules.max_features), room.postponed)
        kernels.grow(*whole)
    bits = np.empty((0, 1), dtype=np.uint32) if room.bits is None else room.bits
    drawn = room.chosen[0, :m], room.mass, totals
    nodes = KernelNodes(rows, rules.criterion, tree, bits, int(scratch.narrow[NODES]), *drawn)
    if rules.ccp_alpha > 0:
        nodes.prune(rules.ccp_alpha)
    return nodes.kept(rows.not_in(counts) if outside and counts is not None else None, inside=inside)


def _general(rows: BinnedRows, rules: ForestRules, room: Room) -> Any:
    """None where the kernel may go by squares alone: see ``_compiled/trees/forest/layout.py``."""
    if CRITERIA[rules.criterion] != 0 or rules.monotone is not None:
        return True
    several = len(rows.blocks) > 1 or rows.edges is not None or room.bits is not None or not room.whole
    return True if room.n_sums > 1 and (room.votes is None or several) else None


def _numbers(rows: BinnedRows, rules: ForestRules, mass: float, shifts: tuple[int, int]) -> Array:
    """The numbers that the kernel goes by, in the order that it names."""
    least = rules.min_gain * mass / max(gain_unit(rows, rules.criterion), 1e-300) if rules.min_gain else 0.0
    return np.array([
        CRITERIA[rules.criterion], rules.max_depth, rules.min_split, rules.min_leaf,
        rules.min_mass_share * mass, least, rules.max_features,
        rules.monotone is not None, *shifts,
    ], dtype=np.float64)  # fmt: skip
