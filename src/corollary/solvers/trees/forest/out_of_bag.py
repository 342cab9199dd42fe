"""Out-of-bag evidence: every tree judges the rows that it did not see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from corollary.core.parallel import each_block, map_blocks
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.forest.nodes import GrownTree, class_masses
from corollary.solvers.trees.forest.rows import BinnedRows

_BLOCK = 1 << 13  # rows that walk down a tree at a time


class OutOfBag:
    """Sums of the votes of trees on rows outside their sample, tree by tree."""

    def __init__(self, rows: BinnedRows) -> None:
        self.rows = rows
        self.votes = np.zeros((rows.n, rows.n_classes or rows.y.shape[1]))
        self.counts = np.zeros(rows.n, dtype=np.int64)

    def add(self, outside: Array, votes: Array) -> None:
        """Add a tree's votes on the rows outside its sample."""
        self.votes[outside] += votes
        self.counts[outside] += 1

    def add_grown(self, grown: GrownTree) -> None:
        """Add the class probabilities or means of a tree's leaves."""
        votes = grown.sums
        if self.rows.n_classes:
            votes = class_masses(grown.sums, grown.mass) / grown.mass[:, None]
        self.add(grown.outside, votes[grown.outside_leaf])

    def add_stored(self, kept: dict[str, Array], trees: Trees, first: int) -> None:
        """Add the trees of an earlier fit from ``first`` on, whose draws their seeds repeat; ``trees`` are expanded."""
        facts = self.rows.binner.n_bins, self.rows.binner.categorical
        for tree, seed in list(zip(coded_trees(trees, kept), kept["seeds"], strict=True))[first:]:
            outside = self.rows.not_in(self.rows.drawn(int(seed)))
            self.add(outside, tree.value[tree.walk(self.rows.codes, outside, *facts)])

    @property
    def judged(self) -> Array:
        """Whether each row has a vote."""
        return self.counts > 0

    def mean_votes(self) -> Array:
        """Mean vote of each row, NaN where there is none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Array = self.votes / self.counts[:, None]
        return means

    def error(self) -> tuple[float, float]:
        """Weighted mean error of the rows that have votes, and its standard error."""
        kept = self.judged & (self.rows.weights > 0)
        if not kept.any():
            return float("nan"), float("nan")
        errors = row_errors(self.rows, np.flatnonzero(kept), self.votes[kept] / self.counts[kept, None])
        weights = self.rows.weights[kept]
        mean = float(np.average(errors, weights=weights))
        variance = float((weights**2 * (errors - mean) ** 2).sum() / weights.sum() ** 2)
        return mean, float(np.sqrt(variance))


def row_errors(rows: BinnedRows, which: Array, predicted: Array) -> Array:
    """1 for a wrong class, or squared errors, of predictions for some rows; means over outputs."""
    if rows.n_classes:
        label, first, wrong = rows.label[which].reshape(len(which), -1), 0, np.zeros(len(which))
        for o, k in enumerate(rows.blocks or (rows.n_classes,)):
            wrong += first + predicted[:, first : first + k].argmax(axis=1) != label[:, o]
            first += k
        return wrong / rows.n_outputs
    errors: Array = ((predicted - rows.y[which]) ** 2).mean(axis=1)
    return errors


@dataclass(frozen=True, eq=False)
class CodedTree:
    """One stored tree in terms of bins."""

    feature: Array
    cut: Array
    missing_left: Array
    left: Array
    bits: Array
    value: Array

    def walk(self, codes: Array, rows: Array, n_bins: Array, categorical: Array) -> Array:
        """Node that each of the rows reaches; codes are (columns, rows)."""
        from corollary._compiled.trees.forest.nodes import walk

        out = np.empty(len(rows), dtype=np.int32)
        tree = self.feature, self.cut, self.missing_left, self.left, self.bits, n_bins, categorical
        each_block(lambda a, b: walk(codes, rows[a:b], *tree, out[a:b]), len(rows), _BLOCK)
        return out


def permutation_importance(rows: BinnedRows, trees: list[CodedTree], seeds: Array, n_repeats: int, seed: int) -> Bunch:
    """By how much a tree's error on the rows outside its sample grows when a column of theirs is shuffled.

    Cost: O(trees · columns used · rows · depth), threads over trees; a copy of one column of codes per thread.
    """

    def one(start: int, stop: int) -> Array:
        return _increases(rows, trees[start], int(seeds[start]), n_repeats, np.random.default_rng([seed, start]))

    increases = np.array(list(map_blocks(one, len(trees), 1)))  # (trees, columns)
    n = len(increases)
    mean = increases.mean(axis=0)
    error = increases.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(mean), np.nan)
    return Bunch(importances_mean=mean, importances_standard_error=error, importances=increases.T)


def _increases(rows: BinnedRows, tree: CodedTree, seed: int, n_repeats: int, random: np.random.Generator) -> Array:
    out = np.zeros(len(rows.codes))
    outside = rows.not_in(rows.drawn(seed))
    if len(outside) < 2:
        return out
    weights = rows.weights[outside]
    codes = np.ascontiguousarray(rows.codes[:, outside])
    here = np.arange(len(outside), dtype=np.int32)
    facts = rows.binner.n_bins, rows.binner.categorical

    def error() -> float:
        reached = tree.walk(codes, here, *facts)
        return float(np.average(row_errors(rows, outside, tree.value[reached]), weights=weights))

    plain = error()
    for f in np.unique(tree.feature[tree.feature >= 0]):
        kept = codes[f].copy()
        for _ in range(n_repeats):
            codes[f] = random.permutation(kept)
            out[f] += (error() - plain) / n_repeats
        codes[f] = kept
    return out


def coded_trees(trees: Trees, kept: dict[str, Array]) -> list[CodedTree]:
    """The trees of a forest with bins in place of thresholds; ``trees`` are its expanded ones."""
    cut = np.full(trees.node_count, -1, dtype=np.int32)
    cut[~trees.is_leaf] = kept["cut"]
    cut = np.where(trees.category >= 0, trees.category, cut)
    out = []
    ends = [*trees.roots[1:], trees.node_count]
    for root, end in zip(trees.roots, ends, strict=True):
        part = slice(int(root), int(end))
        left = np.where(trees.left[part] >= 0, trees.left[part] - root, -1).astype(np.int32)
        out.append(
            CodedTree(
                trees.feature[part], cut[part], trees.missing_left[part].astype(np.int32), left, trees.bitsets,
                trees.value[part],
            )
        )  # fmt: skip
    return out
