"""What rounds of boosting leave behind: records of nodes, which become trees with thresholds in place of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from corollary._compiled.trees.boosting.books import LEFT, START, STOP, H
from corollary._compiled.trees.boosting.split import BIN, CATEGORICAL, FEATURE, GAIN, MISSING_LEFT
from corollary.core.trees import Trees
from corollary.core.trees.binning import Binner
from corollary.core.types import Array


@dataclass(frozen=True)
class Grown:
    """The nodes of the trees of one round or several, as ``_compiled/trees/boosting/books.py`` writes them down."""

    whole: Array
    sums: Array
    splits: Array
    sets: Array
    values: Array
    counts: Array  # nodes of each tree

    @classmethod
    def of_round(cls, whole: Array, sums: Array, splits: Array, sets: Array, values: Array, counts: Array) -> Grown:
        """A copy of the nodes in use, from tables (trees, nodes, …)."""
        if len(counts) == 1:
            n = int(counts[0])
            own: list[Any] = [*(table[0, :n].copy() for table in (whole, sums, splits, sets, values)), counts.copy()]
            return cls(*own)
        inside = np.arange(whole.shape[1]) < counts[:, None]
        return cls(whole[inside], sums[inside], splits[inside], sets[inside], values[inside], counts.copy())

    @classmethod
    def join(cls, rounds: Sequence[Grown]) -> Grown:
        """All of them, in order."""
        return cls(*(np.concatenate([getattr(part, f.name) for part in rounds]) for f in fields(cls)))

    def as_trees(self, binner: Binner) -> Trees:
        """All trees in one."""
        n = len(self.whole)
        roots = np.cumsum(self.counts) - self.counts
        inner = np.flatnonzero(self.whole[:, LEFT] >= 0)
        splits = self.splits[inner]
        feature, left = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
        feature[inner] = splits[:, FEATURE]
        left[inner] = self.whole[inner, LEFT] + np.repeat(roots, self.counts)[inner]
        missing_left, gain = np.zeros(n, dtype=bool), np.zeros(n)
        missing_left[inner], gain[inner] = splits[:, MISSING_LEFT] > 0, splits[:, GAIN]
        sorted_apart = splits[:, CATEGORICAL] > 0
        numbers, categories = inner[~sorted_apart], inner[sorted_apart]
        threshold, category = np.full(n, np.nan), np.full(n, -1, dtype=np.int32)
        threshold[numbers] = binner.thresholds[feature[numbers], splits[~sorted_apart, BIN].astype(np.int64)]
        category[categories] = np.arange(len(categories))
        words = -(-int(binner.n_bins[feature[categories]].max(initial=1)) // 32)
        return Trees(
            roots=roots.astype(np.int32),
            feature=feature,
            threshold=threshold,
            left=left,
            missing_left=missing_left,
            category=category,
            bitsets=self.sets[categories, :words].astype(np.uint32),
            value=self.values[:, None].copy(),
            weight=self.sums[:, H].copy(),
            count=(self.whole[:, STOP] - self.whole[:, START]).astype(np.int32),
            impurity=np.zeros(n),
            gain=gain,
        )
