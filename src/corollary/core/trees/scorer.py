"""Scorer: an ensemble prepared for predicting many rows at once.

Trees of at most 32 leaves are scored by masks (``_compiled/trees/scorer.py``), larger ones are walked
(``_compiled/trees/walker.py``); both on codes (``_compiled/trees/coding.py``), in one compiled call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary._compiled.trees import scorer as by_masks
from corollary._compiled.trees import walker as by_walks
from corollary._compiled.trees.coding import LANES
from corollary.core.parallel import n_threads, run_team
from corollary.core.trees.coder import Coder, Ranks
from corollary.core.trees.flat import flatten
from corollary.core.types import Array

if TYPE_CHECKING:
    from corollary.core.trees.arrays import Trees

_SHARE = 1 << 14  # values of leaves that are worth another thread
_MOST_ROWS = 2048  # that walk down a tree while it stays in a core's cache


@dataclass(frozen=True, eq=False)
class Scorer:
    """Trees as tables. Answers are those of walks, to the last bit."""

    coder: Coder
    masks: tuple[Any, ...] | None  # (questions about numbers; about categories and sets, or None; values of leaves)
    walks: tuple[Any, ...] | None  # (roots, nodes, categories and sets, or None, first slot of categories, values)
    n_trees: int
    n_values: int

    @staticmethod
    def of(trees: Trees, known: Ranks | None = None) -> Scorer | None:
        """None when 16 bits cannot tell a column's thresholds apart."""
        coded = Coder.of(trees, known)
        if coded is None:
            return None
        coder, slot, rank = coded
        by_set = np.flatnonzero(trees.category >= 0)
        category = np.full(trees.node_count, -1, dtype=np.int32)
        category[by_set] = np.arange(len(by_set))
        # one more bit: where what no set knows goes
        sets, missing = trees.bitsets[trees.category[by_set]], trees.missing_left[by_set, None]
        bits = np.ascontiguousarray(np.hstack([sets, missing.astype(np.uint32)]))
        stops = np.append(trees.roots[1:], trees.node_count)
        masks = walks = None
        few_words = not len(by_set) or bits.shape[1] <= by_masks.WORDS
        if few_words and np.all(stops - trees.roots < 2 * by_masks.LEAVES):
            masks = _masks(trees, stops.astype(np.int32), slot, rank, category, bits)
        else:
            nodes = np.where(trees.feature >= 0, trees.left, np.arange(trees.node_count)).astype(np.uint64)
            nodes |= (slot.astype(np.uint64) << np.uint64(32)) | (rank.astype(np.uint64) << np.uint64(48))
            of_sets = (category, bits) if len(by_set) else (None, None)
            walks = trees.roots, nodes, *of_sets, coder.first_set, trees.value
        return Scorer(coder, masks, walks, trees.n_trees, trees.value.shape[1])

    def sums(self, X: Any, start: Array) -> Array:
        """start + Σ over trees of the values at the leaves of the rows of a dense X, (rows, outputs)."""
        return self._sums(X, start, np.empty(0, dtype=np.int64))[0]

    def sums_unread(self, X: Any, start: Array) -> Array | None:
        """The same for an X that nobody has looked at; None if a number of it is infinite, in whatever column."""
        unused = np.setdiff1d(np.arange(X.shape[1]), self.coder.columns)
        found, infinite = self._sums(X, start, unused)
        return None if infinite else found

    def _sums(self, X: Any, start: Array, others: Array) -> tuple[Array, bool]:
        """(the sums, whether a number in the columns of trees and others is infinite)."""
        source, n = flatten(X), X.shape[0]
        out, seen = np.empty((n, len(start))), np.zeros(1, dtype=np.int64)
        most = max(1, n * self.n_trees * self.n_values // _SHARE)
        given = tuple(source), others, self.coder.tables, self.coder.n_slots
        if self.masks is not None:
            run_team(by_masks.score_rows, *given, *self.masks, start, out, seen, most=most)
        else:
            assert self.walks is not None
            size = -(-n // (4 * min(n_threads(), most))) // LANES * LANES
            size = min(_MOST_ROWS, max(LANES, size))
            run_team(by_walks.walk_rows, *given, size, *self.walks, start, out, seen, most=most)
        return out, bool(seen[0])


def _masks(trees: Trees, stops: Array, slot: Array, rank: Array, category: Array, bits: Array) -> tuple[Any, ...]:
    """The tables of ``score_rows``."""
    by_set = int((category >= 0).sum())
    most = int((trees.feature >= 0).sum()) - by_set + trees.n_trees  # a tree of an odd number of questions has one more

    def questions(size: int, kind: Any) -> tuple[Array, ...]:
        ends, slots = np.empty(trees.n_trees, np.int64), np.empty(size, np.int64)
        return ends, slots, np.empty(size, kind), np.empty(size, np.uint32)

    numbers, sets = questions(most, np.uint16), questions(by_set, np.int64) if by_set else None
    leaves = np.zeros((trees.n_trees, trees.value.shape[1], by_masks.LEAVES))
    scratch = np.empty(trees.node_count, np.int64), np.empty(trees.node_count, np.int64)
    by_masks.fill_tables(
        trees.roots, stops, trees.feature, trees.left, category, (slot, rank), trees.value, scratch, numbers, sets,
        leaves,
    )  # fmt: skip
    return numbers, sets, bits if by_set else None, leaves
