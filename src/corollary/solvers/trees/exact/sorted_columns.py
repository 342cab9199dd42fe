"""Columns of X sorted once: lists of records (rank of the value, row) that an exact tree never sorts again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.parallel import each_block, n_threads
from corollary.core.types import Array

MOST_CATEGORIES = 65_535
_BLOCK = 8  # features per thread and step: a cache line of a C-ordered X
_INLINE = 1 << 15  # cells below which a thread costs more than it saves


class ColumnSource(ABC):
    """Where a tree reads X from."""

    X: Any
    shape: tuple[int, int]

    @abstractmethod
    def block(self, first: int, last: int) -> Array:
        """Columns first … last − 1 as contiguous rows of an array."""

    @abstractmethod
    def fill(self, first: int, out: Array) -> None:
        """Write the columns from ``first`` on to the rows of ``out``."""

    @abstractmethod
    def at(self, rows: Array, features: Array) -> Array:
        """X[rows, features] as float64."""

    def most_categories(self, categorical: Array) -> int:
        """One more than the largest category code; refuses columns that do not hold codes, or too many."""
        most = 0
        for f in map(int, np.flatnonzero(categorical)):
            column = self.block(f, f + 1)[0]
            present = column[~np.isnan(column)]
            if np.any(present < 0) or np.any(present != np.floor(present)):
                raise ValueError(f"Column {f} is categorical, so its codes must be whole numbers 0, 1, 2, …")
            count = int(present.max(initial=-1.0)) + 1
            if count > MOST_CATEGORIES:
                raise ValueError(
                    f"Column {f} has {count} categories; at most {MOST_CATEGORIES} can be told apart. "
                    "Group the rare ones, or give the column as numbers."
                )
            most = max(most, count)
        return most


class DenseColumns(ColumnSource):
    """A dense X of any order."""

    def __init__(self, X: Array) -> None:
        self.X, self.shape = X, X.shape

    def block(self, first: int, last: int) -> Array:
        return np.ascontiguousarray(self.X[:, first:last].T)

    def fill(self, first: int, out: Array) -> None:
        out[:] = self.X[:, first : first + len(out)].T

    def at(self, rows: Array, features: Array) -> Array:
        return self.X[rows, features].astype(np.float64)


class SparseColumns(ColumnSource):
    """A sparse X; what is not stored is zero."""

    def __init__(self, X: Any) -> None:
        self.X, self.shape = scipy.sparse.csc_array(X), X.shape

    def block(self, first: int, last: int) -> Array:
        return np.ascontiguousarray(self.X[:, first:last].toarray().T)

    def fill(self, first: int, out: Array) -> None:
        out[:] = self.block(first, first + len(out))

    def at(self, rows: Array, features: Array) -> Array:
        out = np.empty(len(rows))
        for f in np.unique(features):
            here = features == f
            out[here] = self.block(f, f + 1)[0][rows[here]]
        return out


def column_source(X: Any) -> ColumnSource:
    """The source for X of either kind."""
    return SparseColumns(X) if scipy.sparse.issparse(X) else DenseColumns(X)


def sort_columns(
    source: ColumnSource, categorical: Array | None, dtype: Any, with_values: bool
) -> tuple[Array, Array | None]:
    """(records (d, n) of ``dtype``, value of each rank (d, n) if asked for). Threads over blocks of features."""
    from corollary._compiled.trees.exact.sort import sort_column

    n, d = source.shape
    records = np.empty((d, n), dtype=dtype)
    values = np.empty((d, n)) if with_values else None
    shift, roomy = 8 * records.itemsize // 2, records.itemsize == 8

    def run(first: int, last: int) -> None:
        # numbers lie where their records will, if these have room for them
        columns = records[first:last].view(np.float64) if roomy else np.empty((last - first, n))
        source.fill(first, columns)
        scratch = np.empty(n, dtype=np.uint64), np.empty((2, n), dtype=np.int32), np.empty((8, 256), dtype=np.int64)
        for f, column in enumerate(columns, first):
            own = column.copy() if values is not None else None
            if categorical is not None and categorical[f]:
                _sort_categories(column, shift, records[f])
            else:
                sort_column(column.view(np.uint64), *scratch, shift, records[f])
            if values is not None and own is not None:
                known = records[f][~np.isnan(own[_rows(records[f], shift)])]
                values[f, known >> shift] = own[_rows(known, shift)]

    block = min(_BLOCK, math.ceil(d / n_threads()))
    each_block(run, d, block if n * d > _INLINE else d)
    return records, values


def _rows(records: Array, shift: int) -> Array:
    return records & ((1 << shift) - 1)


def _sort_categories(column: Array, shift: int, out: Array) -> None:
    """Records of categories, whose rank is their code."""
    codes = np.where(np.isnan(column), (1 << shift) - 1, column).astype(np.uint64)
    order = np.argsort(codes, kind="stable")
    out[:] = (codes[order] << np.uint64(shift)) | order.astype(np.uint64)
