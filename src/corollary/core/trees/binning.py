"""Binner: the one place where columns become small whole numbers, for every tree model that works on bins.

The rules. A number's bin is found by comparing it with the column's thresholds: ``code <= b`` exactly when
``x <= thresholds[b]``, so a split on bins is a split on numbers. A column with at most ``max_bins`` distinct values
loses nothing: each value has its own bin. A missing value has a bin of its own, after the others. A category's bin is
its code; a category that was not seen in training is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.parallel import each_block
from corollary.core.types import Array

MOST_BINS = 65_535  # uint16, one code being kept for missing values
_BLOCK_BYTES = 1 << 18  # a block of rows as float64 stays in a core's cache while its columns are searched


@dataclass(frozen=True, eq=False)
class Binner:
    """Bins learnt from data. ``thresholds`` holds one ascending row per column, padded with +inf to a power of two."""

    thresholds: Array  # float64 (columns, power of two)
    n_bins: Array  # int32 (columns,), bins of values that are not missing; the missing bin is number n_bins
    categorical: Array  # bool (columns,)
    dtype: Any  # uint8 or uint16

    @property
    def width(self) -> int:
        """Codes of any column are below this."""
        return int(self.n_bins.max(initial=0)) + 1

    @property
    def step(self) -> int:
        """Bits of a code."""
        return 8 * int(np.dtype(self.dtype).itemsize)

    @property
    def groups(self) -> Array:
        """The first column of every group, and the end: columns whose codes share words of 64 bits, evenly many."""
        d = len(self.n_bins)
        count = -(-d * self.step // 64)
        return d * np.arange(count + 1) // max(1, count)

    def check(self) -> None:
        """Raise ValueError unless every code is below ``width`` and every cut has a threshold; for bins from a file."""
        length = self.thresholds.shape[1]
        edges = np.where(self.categorical, 0, self.n_bins.astype(np.int64) - 1)
        if length & (length - 1) or np.any(edges < 0) or np.any(edges > length):
            raise ValueError("bins: thresholds must be padded to a power of two that holds those of every column.")
        inside = np.arange(length) < edges[:, None]
        ascending = self.thresholds[:, 1:] > self.thresholds[:, :-1]
        if not (np.isfinite(self.thresholds[inside]).all() and np.isposinf(self.thresholds[~inside]).all()):
            raise ValueError("bins: there must be a finite threshold between two bins, and infinite ones after them.")
        if not np.all(ascending | ~inside[:, 1:]):
            raise ValueError("bins: thresholds must ascend.")

    @staticmethod
    def fit(
        X: Any,
        max_bins: int = 255,
        categorical: Array | None = None,
        weights: Array | None = None,
        sample: int = 200_000,
    ) -> Binner:
        """Learn bins of about equal weight from at most ``sample`` rows; rows of weight zero are not looked at.

        The rows are drawn with a fixed seed, so the same data always give the same bins.

        Cost: O(sample log sample) per column, threads over columns; one column of the sample at a time per thread.
        """
        n, d = X.shape
        categorical = np.zeros(d, dtype=bool) if categorical is None else np.asarray(categorical, dtype=bool)
        part_weights: Array | None = None
        rows = None if weights is None or np.all(weights > 0) else np.flatnonzero(weights > 0)
        if (n if rows is None else len(rows)) > sample:
            chosen = np.sort(np.random.RandomState(0).choice(n if rows is None else len(rows), sample, replace=False))
            rows = chosen if rows is None else rows[chosen]
        if weights is not None and np.ptp(weights if rows is None else weights[rows]) > 0:
            part_weights = weights if rows is None else weights[rows]
        part = X  # of dense data one column of the sample is taken at a time, of sparse data its rows at once
        if scipy.sparse.issparse(X):
            part, rows = (X if rows is None else X[rows]).tocsc(), None
        found: list[Array] = [np.empty(0)] * d
        n_bins = np.empty(d, dtype=np.int32)

        def learn(start: int, stop: int) -> None:
            for f in range(start, stop):
                if categorical[f]:  # of all rows: a code may be missing from the sample
                    n_bins[f] = _count_categories(_column(X, f), f)
                else:
                    found[f] = _edges(_column(part, f, rows), part_weights, max_bins)
                    n_bins[f] = len(found[f]) + 1

        each_block(learn, d, 1)
        thresholds = np.full((d, 1 << max(1, max(map(len, found), default=0).bit_length())), np.inf)
        for f, edges in enumerate(found):
            thresholds[f, : len(edges)] = edges
        dtype = np.uint8 if int(n_bins.max(initial=0)) < 256 else np.uint16
        return Binner(thresholds, n_bins, categorical, dtype)

    def transform(self, X: Any, order: str = "C") -> Array:
        """Codes of X: one byte a cell (two with more than 255 bins). Threads over blocks of rows."""
        from corollary._compiled.trees.binning import bin_block

        codes = np.empty(X.shape, dtype=self.dtype, order="F" if order == "F" else "C")

        def run(block: Array, start: int, stop: int) -> None:
            bin_block(block, self.thresholds, self.n_bins, self.categorical, codes[start:stop].T)

        _each_block_of_columns(X, run)
        return codes

    def words(self, X: Any) -> Array:
        """Codes of X, those of the columns of a group side by side in words of 64 bits, uint64 (groups, rows).

        The first column of a group has the lowest bits. Eight bytes a group and row. Threads over blocks of rows.
        """
        from corollary._compiled.trees.binning import bin_words

        groups, step = self.groups, np.uint64(self.step)
        words = np.zeros((len(groups) - 1, X.shape[0]), dtype=np.uint64)

        def run(block: Array, start: int, stop: int) -> None:
            bin_words(block, self.thresholds, self.n_bins, self.categorical, groups, step, words[:, start:stop])

        _each_block_of_columns(X, run)
        return words


def _each_block_of_columns(X: Any, task: Callable[[Array, int, int], None]) -> None:
    """Run ``task(block, start, stop)`` on blocks of rows, as float64 with the rows of a column side by side."""
    n, d = X.shape
    X = X.tocsr() if scipy.sparse.issparse(X) else X

    def run(start: int, stop: int) -> None:
        rows = X[start:stop]
        rows = rows.toarray() if scipy.sparse.issparse(rows) else rows
        task(np.array(rows.T, dtype=np.float64, order="C"), start, stop)

    each_block(run, n, max(16, _BLOCK_BYTES // (8 * max(1, d))))


def _column(X: Any, f: int, rows: Array | None = None) -> Array:
    """Column f as float64, of some rows of dense data: a copy of one column at most."""
    if scipy.sparse.issparse(X):
        return np.asarray(X[:, [f]].toarray()[:, 0], dtype=np.float64)
    return np.asarray(X[:, f] if rows is None else X[:, f][rows], dtype=np.float64)


def _edges(column: Array, weights: Array | None, max_bins: int) -> Array:
    from corollary._compiled.trees.binning import bin_edges

    present = ~np.isnan(column)
    if weights is None:
        values = np.sort(column[present] if not present.all() else column)
        counts = np.ones(len(values))
    else:
        order = np.argsort(column[present], kind="stable")
        values, counts = column[present][order], weights[present][order]
    edges = np.empty(max_bins)
    return edges[: bin_edges(values, counts, max_bins, edges)].copy()


def _count_categories(column: Array, f: int) -> int:
    """How many category codes 0, 1, … there are."""
    present = column[~np.isnan(column)]
    count = int(present.max(initial=-1.0)) + 1
    if count > MOST_BINS:
        raise ValueError(
            f"Column {f} has {count} categories; at most {MOST_BINS} can be told apart. "
            "Group the rare ones, or give the column as numbers."
        )
    if np.any(present < 0) or np.any(present != np.floor(present)):
        raise ValueError(f"Column {f} is categorical, so its codes must be whole numbers 0, 1, 2, …")
    return count
