"""Memory in which a thread grows one tree of a forest after another."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled.trees.forest import grow as kernels
from corollary._compiled.trees.forest.layout import Data
from corollary.core.types import Array
from corollary.solvers.trees.forest.rows import MOST_ROWS, BinnedRows

_SIDE_BY_SIDE = 16  # columns for each that a node tries, up to which copying a subtree's codes pays


class Room:
    """The arrays that kernels write to while a tree grows, and what of its rows is the same for every tree.

    They are kept from tree to tree, since a large tree touches tens of megabytes: memory that is given back after each
    is handed out again page by page, which takes a good part of the time of the growth.

    The targets have one of three forms, see ``_compiled/trees/forest/layout.py``.
    """

    packed: Any
    votes: Any
    sums: Any

    def __init__(self, rows: BinnedRows) -> None:
        self.rows, n, binner = rows, rows.n, rows.binner
        most = min(n, rows.draws) if rows.draws and self._plain else n
        self.counts, self.mass = np.empty(n, dtype=np.int32), np.empty(n)
        self.chosen = np.empty((2, most + 1), dtype=np.int32)
        self.n_sums = rows.n_classes if rows.n_classes > 2 else max(1, rows.y.shape[1])
        self.columns = np.stack([binner.n_bins, binner.categorical, np.zeros(len(binner.n_bins))]).astype(np.int32)
        categories = int(binner.n_bins[binner.categorical].max(initial=0))
        self.tree = kernels.make_tree(most, self.n_sums)
        self.bits = np.empty((len(self.tree.whole), (categories + 31) // 32), dtype=np.uint32) if categories else None
        self.packed = self.votes = self.sums = None
        self.shifts = self._layout()
        self.whole = self._has_whole_masses()
        ranked = most if self.votes is not None and self.whole else 0
        self.scratch = kernels.make_scratch(len(rows.codes), binner.width, self.n_sums, ranked)
        self.postponed, self._close = np.empty(most, dtype=np.int32), None  # type: Any, Any

    def _layout(self) -> tuple[int, int]:
        """Make room for the targets; returns the places of fields in packed ones."""
        rows, plain = self.rows, self._plain
        if rows.n_classes > 2:
            self.votes = rows.label.reshape(rows.n, -1).astype(np.int64), self.mass
            return 0, 0
        row_bits, mass_bits = rows.n.bit_length(), int(rows.draws).bit_length()
        if rows.n_classes and plain and rows.draws and row_bits + 2 * mass_bits < 63:
            self.packed = np.empty(rows.n, dtype=np.int64)
            return row_bits, row_bits + mass_bits
        self.sums = np.empty((rows.n, self.n_sums + 1 + (0 if rows.n_classes else self.n_sums)))
        if not rows.n_classes:
            self.sums[:, self.n_sums + 1 :] = rows.y
        return 0, 0

    @property
    def _plain(self) -> bool:
        return self.rows.class_factors is None and not self.rows.balance_draws

    def _has_whole_masses(self) -> bool:
        """Whether masses are whole numbers and sums of their squares free of rounding."""
        rows = self.rows
        if rows.draws:
            return self._plain and rows.draws <= MOST_ROWS
        return self._plain and rows.weights.sum() <= MOST_ROWS and bool((rows.weights == np.rint(rows.weights)).all())

    def sow(self, seed: int) -> tuple[Array | None, int, Array]:
        """Draw rows for a tree and lay out its targets: (draws of each row, how many were drawn, sums and mass)."""
        rows, counts = self.rows, None
        if rows.draws:
            counts = rows.drawn(seed, self.counts)
        if self.packed is not None:
            into = self.mass, self.chosen[0], self.packed
            m, total, mass = kernels.choose(counts, rows.label, *self.shifts, *into)
            return counts, m, np.array([total, mass], dtype=np.float64)
        mass = self.mass
        mass[:] = rows.mass(counts)
        m, c = kernels.list_rows(mass, self.chosen[0]), self.n_sums
        if self.sums is not None:
            np.multiply(rows.sums if not rows.n_classes else rows.label[:, None], mass[:, None], out=self.sums[:, :c])
            self.sums[:, c] = mass
        if not rows.n_classes:
            return counts, m, np.append(mass @ rows.sums, mass.sum())
        by_class = rows.class_totals(mass)
        return counts, m, np.append(by_class if rows.n_classes > 2 else by_class[1:], by_class.sum() / rows.n_outputs)

    def close(self, data: Data, n_rows: int, tries: int) -> Any:
        """Room for a small subtree's rows side by side, and for their numbers; none if copying would not pay."""
        if self._close is None:
            copies = n_rows > kernels.PACK_ROWS and len(data.codes) <= _SIDE_BY_SIDE * tries
            size = kernels.PACK_ROWS if copies else 0
            targets = self.packed, self.votes, self.sums
            self._close = *kernels.make_close(data, targets, size), np.empty(size, dtype=np.int32)
        return self._close
