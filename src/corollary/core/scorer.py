"""Scorer: an ensemble of small trees prepared for predicting many rows at once (see ``_compiled/trees/scorer.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.trees import scorer as compiled
from corollary._compiled.trees.binning import bin_block
from corollary.core.parallel import each_block
from corollary.core.trees import Trees
from corollary.core.types import Array

MOST_LEAVES = 32
WORTH_ROWS = 4096  # for fewer rows the trees are walked: preparing the tables would take longer
_BLOCK_BYTES, _TABLE_BYTES = 1 << 17, 64 << 20


@dataclass(frozen=True, eq=False)
class Scorer:
    """Tables of one output's trees. Codes of a column count the thresholds used in the ensemble below the value."""

    columns: Array  # the columns in use
    thresholds: Array  # float64 (columns in use, power of two), padded with +inf
    n_bins: Array
    categorical: Array
    offsets: Array
    masks: Array  # uint32 (groups, codes of all columns, 32)
    leaves: Array  # float64 (groups, 32, 32)

    @staticmethod
    def of(trees: Trees, output: int, n_outputs: int) -> Scorer | None:
        """Tables for the trees ``output``, ``output + n_outputs``, …; None when a tree has too many leaves."""
        stops = np.append(trees.roots[1:], trees.node_count).astype(np.int64)[output::n_outputs]
        roots = trees.roots[output::n_outputs].astype(np.int64)
        if np.any(stops - roots > 2 * MOST_LEAVES - 1):
            return None
        inner = np.concatenate([np.arange(a, b) for a, b in zip(roots, stops, strict=True)])
        inner = inner[trees.feature[inner] >= 0]
        columns, own = np.unique(trees.feature[inner], return_inverse=True)
        position = np.zeros(trees.node_count, dtype=np.int64)
        feature = trees.feature.astype(np.int64)
        feature[inner] = own
        n_bins, edges, categorical = [], [], []
        for j in range(len(columns)):
            nodes = inner[own == j]
            is_category = bool(trees.category[nodes[0]] >= 0)
            values = np.unique(trees.threshold[nodes]) if not is_category else np.empty(0)
            position[nodes] = np.searchsorted(values, trees.threshold[nodes])
            edges.append(values)
            categorical.append(is_category)
            n_bins.append(32 * trees.bitsets.shape[1] if is_category else len(values) + 1)
        offsets = np.concatenate([[0], np.cumsum(np.array(n_bins, dtype=np.int64) + 1)])
        groups = -(-len(roots) // compiled.GROUP)
        if groups * int(offsets[-1]) * compiled.GROUP * 4 > _TABLE_BYTES:
            return None
        thresholds = np.full((len(columns), 1 << max(1, max(map(len, edges), default=1)).bit_length()), np.inf)
        for j, values in enumerate(edges):
            thresholds[j, : len(values)] = values
        masks = np.full((groups, int(offsets[-1]), compiled.GROUP), 0xFFFFFFFF, dtype=np.uint32)
        leaves = np.zeros((groups, compiled.GROUP, 32))
        bins = np.array(n_bins, dtype=np.int32)
        compiled.fill_tables(
            roots, stops, feature, position, trees.left, trees.missing_left, trees.category, trees.bitsets, offsets,
            bins, trees.value[:, 0].copy(), masks, leaves,
        )  # fmt: skip
        return Scorer(columns, thresholds, bins, np.array(categorical, dtype=bool), offsets, masks, leaves)

    def add(self, X: Any, raw: Array) -> None:
        """raw[i, 0] += the trees' sum for row i of a dense X."""
        every = np.arange(len(self.columns))
        together = np.array_equal(self.columns, np.arange(X.shape[1]))

        def run(start: int, stop: int) -> None:
            rows = X[start:stop] if together else X[start:stop][:, self.columns]
            block = np.array(rows.T, dtype=np.float64, order="C")
            codes = np.empty(block.shape, dtype=np.uint16)
            bin_block(block, self.thresholds, self.n_bins, self.categorical, codes)
            total = raw[start:stop, 0].copy()
            compiled.score_block(codes, every, self.offsets, self.masks, self.leaves, total)
            raw[start:stop, 0] = total

        each_block(run, X.shape[0], max(64, _BLOCK_BYTES // (8 * max(1, len(self.columns)))))
