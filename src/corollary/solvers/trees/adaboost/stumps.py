"""AdaBoost's weak learner on binned columns: stumps and small trees, grown from class histograms."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.core.parallel import each_block, n_threads, sum_blocks
from corollary.core.trees import Trees
from corollary.core.trees.binning import Binner
from corollary.core.types import Array
from corollary.solvers.trees.adaboost.ledger import ROWS, Heavier

DEEPEST = 6  # a row's leaf is one byte
_SMALL = 1 << 16  # cells up to which handing work to threads costs more than it saves


@dataclass(frozen=True)
class Split:
    """``goes_left`` says it of every code of the column, the last of which is for missing values."""

    feature: int
    threshold: float  # NaN for categories
    goes_left: Array

    def bitset(self, words: int) -> Array:
        """The categories that go left, as bits."""
        bits = np.zeros(32 * words, dtype=np.uint8)
        bits[: len(self.goes_left) - 1] = self.goes_left[:-1]
        return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)


@dataclass
class BinnedLearner:
    """Grows a tree of at most ``depth`` levels to given row weights, in O(n d) at most per level.

    The histograms of all rows are never recomputed: a round adds the growth of the rows that became heavier.
    """

    X: Any
    labels: Array
    n_classes: int
    weights: Array
    depth: int
    criterion: int
    max_bins: int
    categorical: Array
    models: list[Trees] = field(default_factory=list)
    name = "SAMME on binned columns"
    foreign = False

    def __post_init__(self) -> None:
        self.binner = Binner.fit(self.X, self.max_bins, self.categorical, self.weights)
        self.codes = np.ascontiguousarray(self.binner.transform(self.X, order="F").T)
        self.X = None
        self.n_bins = self.binner.n_bins.astype(np.int64)
        ends = np.cumsum(self.n_bins + 1)
        self.offsets, self._bins = np.concatenate([[0], ends[:-1]]), int(ends[-1])
        n = self.codes.shape[1]
        self.leaf, self._rows = np.empty(n, dtype=np.uint8), np.arange(n, dtype=np.int32)
        self.histogram = self._sums(self._rows, self.weights)

    def _each_column(self, task: Any, rows: int) -> None:
        d = len(self.codes)
        each_block(task, d, d if rows * d < _SMALL else max(1, math.ceil(d / n_threads())))

    def _add(self, histogram: Array, heavier: Heavier) -> Array:
        from corollary._compiled.trees.stump import add_rows

        size = int((heavier.stops - heavier.starts).sum())
        work = heavier.rows, heavier.labels, heavier.amounts, heavier.starts, heavier.stops
        self._each_column(lambda a, b: add_rows(self.codes, self.offsets, *work, a, b, histogram), size)
        return histogram

    def _sums(self, rows: Array, weights: Array) -> Array:
        """Histograms of these rows alone."""
        heavier = Heavier(rows, self.labels[rows], weights[rows], np.array([0]), np.array([len(rows)]))
        return self._add(np.zeros((self._bins, self.n_classes)), heavier)

    def follow(self, heavier: Heavier, factor: float) -> None:
        """Bring the histograms of all rows up to date with weights that grew and were then multiplied by ``factor``."""
        self._add(self.histogram, heavier)
        if factor != 1.0:
            self.histogram *= factor

    def learn(self, weights: Array) -> Array:
        """Grow a tree to these weights, keep it, and return the class number that it says of each row."""
        self.leaf[:] = 0
        splits: list[Split | None] = [None]
        children: dict[int, int] = {}
        waiting = [(0, self.histogram, 0)]
        while waiting:
            node, histogram, level = waiting.pop(0)
            split = self._best(histogram)
            if split is None:
                continue
            splits[node], children[node] = split, len(splits)
            splits += [None, None]
            self._route(node, split, children[node])
            if level + 1 < self.depth:
                waiting += self._child_histograms(histogram, children[node], weights, level + 1)
        sums = self._leaf_sums(len(splits), weights)
        for node in sorted(children, reverse=True):
            sums[node] = sums[children[node]] + sums[children[node] + 1]
        self.models.append(self._as_trees(splits, children, sums))
        said: Array = sums[:, :-1].argmax(axis=1).astype(np.int32)[self.leaf]
        return said

    def _best(self, histogram: Array) -> Split | None:
        from corollary._compiled.trees.stump import best_splits, first_best

        total = histogram[: self.n_bins[0] + 1].sum(axis=0)
        weight = float(total.sum())
        if total.max() >= weight * (1 - 1e-14):
            return None  # one class only
        d = len(self.codes)
        gains, sides = np.empty(d), np.empty(d, dtype=np.bool_)
        counts, labels = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
        work = histogram, self.offsets, self.n_bins, self.categorical, total, self.criterion
        out = gains, counts, labels, sides
        self._each_column(lambda a, b: best_splits(*work, a, b, *out), self._bins // max(1, d))
        f = int(first_best(gains, weight))
        return None if f < 0 else self._split(histogram, f, int(counts[f]), int(labels[f]), bool(sides[f]))

    def _split(self, histogram: Array, f: int, count: int, label: int, missing_left: bool) -> Split:
        from corollary._compiled.trees.stump import category_order

        n_bins, order = int(self.n_bins[f]), np.arange(self.n_bins[f])
        if self.categorical[f]:
            category_order(histogram, self.offsets[f], n_bins, label, np.empty(n_bins), order)
        goes_left = np.zeros(n_bins + 1, dtype=np.bool_)
        goes_left[order[:count]], goes_left[-1] = True, missing_left
        threshold = np.nan if self.categorical[f] else float(self.binner.thresholds[f, count - 1])
        return Split(f, threshold, goes_left)

    def _route(self, node: int, split: Split, left: int) -> None:
        from corollary._compiled.trees.stump import route

        column = self.codes[split.feature]

        def run(start: int, stop: int) -> None:
            route(column[start:stop], node, split.goes_left, left, self.leaf[start:stop])

        each_block(run, len(column), ROWS)

    def _child_histograms(self, parent: Array, left: int, weights: Array, level: int) -> list[tuple[int, Array, int]]:
        """The child with fewer rows is summed, the other is what remains of the parent."""
        rows = [self._rows[self.leaf == left + side] for side in (0, 1)]
        small = int(len(rows[1]) < len(rows[0]))
        sums = self._sums(rows[small], weights)
        parts = {small: sums, 1 - small: np.maximum(parent - sums, 0.0)}
        return [(left + side, parts[side], level) for side in (0, 1)]

    def _leaf_sums(self, n_nodes: int, weights: Array) -> Array:
        from corollary._compiled.trees.stump import leaf_sums

        def part(start: int, stop: int) -> Array:
            out = np.zeros((n_nodes, self.n_classes + 1))
            leaf_sums(self.leaf[start:stop], self.labels[start:stop], weights[start:stop], out)
            return out

        return sum_blocks(part, len(self.leaf), ROWS)

    def _as_trees(self, splits: list[Split | None], children: dict[int, int], sums: Array) -> Trees:
        n, inner = len(splits), np.array([split is not None for split in splits])
        weight, share = sums[:, :-1].sum(axis=1), sums[:, :-1] / sums[:, :-1].sum(axis=1, keepdims=True)
        weight = weight / weight[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(share > 0, share * np.log2(share), 0.0)
        impurity = 1 - np.square(share).sum(axis=1) if self.criterion == 0 else -logs.sum(axis=1)
        left = np.array([children.get(node, -1) for node in range(n)], dtype=np.int32)
        lost = impurity * weight
        sets = [node for node, split in enumerate(splits) if split is not None and self.categorical[split.feature]]
        category = np.full(n, -1, dtype=np.int32)
        category[sets] = np.arange(len(sets))
        words = max(1, math.ceil(int(self.n_bins[self.categorical].max(initial=0)) / 32))
        return Trees(
            roots=np.zeros(1, dtype=np.int32),
            feature=np.array([split.feature if split else -1 for split in splits], dtype=np.int32),
            threshold=np.array([split.threshold if split else np.nan for split in splits]),
            left=left,
            missing_left=np.array([split is not None and bool(split.goes_left[-1]) for split in splits]),
            category=category,
            bitsets=np.array([s.bitset(words) for s in splits if s and np.isnan(s.threshold)], dtype=np.uint32).reshape(
                len(sets), words
            ),
            value=share,
            weight=weight,
            count=sums[:, -1].astype(np.int32),
            impurity=impurity,
            gain=np.where(inner, np.maximum(lost - lost[left] - lost[left + 1 - (left < 0)], 0.0), 0.0),
        )
