"""Coder: the thresholds of an ensemble, column by column, by which kernels turn numbers into ranks.

``_compiled/trees/coding.py`` says what codes are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corollary._compiled.trees.coding import LEFT, MISSING, PARTS, RIGHT
from corollary.core.types import Array

if TYPE_CHECKING:
    from corollary.core.trees.arrays import Trees


class Ranks(NamedTuple):
    """What is known of thresholds that come from bins."""

    ranks: Array  # int64, of the threshold of each node among those of its column
    thresholds: Array  # float64 (all columns, ·), ascending
    counts: Array  # how many of these each column has


@dataclass(frozen=True, eq=False)
class Coder:
    """How the columns in use are coded. A column that some nodes take for numbers and others for categories is two."""

    columns: Array  # int64 (columns in use,), those of numbers first
    slots: Array  # int64 (columns in use, 2): where codes go whose missing values are sent right, and left; −1: nowhere
    lows: Array  # float64: the lowest threshold, or the number of categories
    scales: Array
    starts: Array  # uint16 (columns in use, PARTS)
    steps: Array  # int64: halvings after the start; −1 for categories
    offsets: Array  # int64: where the thresholds of a column begin
    edges: Array  # float64, with +inf after each column
    n_slots: int
    first_set: int  # slots from this one on are of categories

    @property
    def tables(self) -> tuple[Array, ...]:
        """What kernels need."""
        return (self.columns, self.slots, self.lows, self.scales, self.starts, self.steps, self.offsets, self.edges)

    @staticmethod
    def of(trees: Trees, known: Ranks | None = None) -> tuple[Coder, Array, Array] | None:
        """(coder, slot of every node, rank of its threshold), or None if 16 bits cannot hold them.

        Cost: the thresholds of all nodes are sorted, unless their ranks are known.
        """
        inner = np.flatnonzero(trees.feature >= 0)
        feature, by_set = trees.feature[inner], trees.category[inner] >= 0
        width, limit = int(feature.max(initial=-1)) + 1, 32 * trees.bitsets.shape[1]
        names, own = _number(feature + width * by_set)
        numeric = int(np.searchsorted(names, width))
        columns = np.where(names < width, names, names - width)
        if known is None:
            ranks, owner, edges = _rank(own[~by_set], trees.threshold[inner[~by_set]])
        else:
            ranks = known.ranks[inner[~by_set]]
            owner = np.repeat(np.arange(numeric), known.counts[columns[:numeric]])
            inside = np.arange(known.thresholds.shape[1]) < known.counts[columns[:numeric], None]
            edges = known.thresholds[columns[:numeric]][inside]
        counts = np.bincount(owner, minlength=numeric)
        sides = np.where(by_set | ~trees.missing_left[inner], RIGHT, LEFT)
        found, slot = _number(2 * own + sides)
        if counts.max(initial=0) >= MISSING or len(found) > MISSING or (by_set.any() and limit > MISSING):
            return None
        slots = np.full((len(names), 2), -1, dtype=np.int64)
        slots[found // 2, found % 2] = np.arange(len(found))
        first_set = int(np.searchsorted(found, 2 * numeric))
        coder = _with_parts(columns, slots, owner, edges, counts, limit, first_set)
        slot_of, rank_of = np.zeros(trees.node_count, dtype=np.int64), np.full(trees.node_count, MISSING)
        slot_of[inner] = slot
        rank_of[inner[~by_set]] = ranks
        return coder, slot_of, rank_of


def _number(names: Array) -> tuple[Array, Array]:
    """(the distinct names, ascending; the number of each name among them), for whole numbers that are not large."""
    found = np.flatnonzero(np.bincount(names))
    number = np.zeros(int(found.max(initial=0)) + 1, dtype=np.int64)
    number[found] = np.arange(len(found))
    return found, number[names]


def _rank(own: Array, thresholds: Array) -> tuple[Array, Array, Array]:
    """(rank of each threshold among the distinct ones of its column; column of each distinct one, ascending; these)."""
    order = np.lexsort((thresholds, own))
    columns, values = own[order], thresholds[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (columns[1:] != columns[:-1]) | (values[1:] != values[:-1])
    number, owner = np.cumsum(fresh) - 1, columns[fresh]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = number - np.searchsorted(owner, columns)
    return ranks, owner, values[fresh]


def _with_parts(
    columns: Array, slots: Array, owner: Array, edges: Array, counts: Array, limit: int, first_set: int
) -> Coder:
    """The tables of a coder: where each part of a column's range begins among its thresholds."""
    numeric, n = len(counts), len(columns)
    first = np.cumsum(counts) - counts
    lows, scales = np.full(n, float(limit)), np.zeros(n)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        some = counts > 0
        low, high = np.zeros(numeric), np.zeros(numeric)
        low[some] = np.clip(edges[first[some]], -np.finfo(float).max, None)
        high[some] = np.maximum.reduceat(np.where(np.isinf(edges), low[owner], edges), first[some])
        scale = PARTS / (high - low)
        lows[:numeric], scales[:numeric] = low, np.where(np.isfinite(scale), scale, 0.0)
        part = (edges - lows[owner]) * scales[owner]
        part = np.where(part > 0.0, np.minimum(part, PARTS - 1.0), 0.0).astype(np.int64)
    inside = np.bincount(owner * PARTS + part, minlength=n * PARTS).reshape(n, PARTS)
    starts = (np.cumsum(inside, axis=1) - inside).astype(np.uint16)
    steps = np.frexp(inside.max(axis=1))[1].astype(np.int64)
    steps[numeric:] = -1
    room = counts + (1 << steps[:numeric])
    offsets = np.zeros(n, dtype=np.int64)
    offsets[:numeric] = np.cumsum(room) - room
    padded = np.full(int(room.sum()), np.inf)
    padded[offsets[owner] + np.arange(len(owner)) - first[owner]] = edges
    n_slots = int(slots.max(initial=-1)) + 1
    return Coder(columns, slots, lows, scales, starts, steps, offsets, padded, n_slots, first_set)
