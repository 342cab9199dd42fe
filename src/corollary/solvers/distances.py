"""Tables of distances: given, computed once, or computed in blocks of rows where the whole would not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from corollary._compiled.medoids.swaps import square_faults
from corollary.core.memory import check_memory
from corollary.core.parallel import block_rows, each_block, map_blocks
from corollary.core.types import Array
from corollary.solvers.metrics import between, distances_to

_SQUARE = 64  # rows that are looked at together


class Distances(ABC):
    """Rows of an n × n table of distances."""

    n: int
    stored: bool

    @abstractmethod
    def rows(self, points: Any) -> Array:
        """The distances of the chosen points (numbers or a slice) to all points."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[int, int, Array]]:
        """All rows in order, as (start, stop, rows)."""

    @abstractmethod
    def among(self, points: Array) -> Array:
        """The distances among the chosen points."""

    def table(self, points: Any) -> Array:
        """The distances of all points to the chosen ones, as float64 (n × chosen)."""
        return np.ascontiguousarray(self.rows(points).T, dtype=np.float64)

    def row(self, i: int) -> Array:
        """The distances of point i to all, as float64 without negative zeros."""
        return np.asarray(self.rows([i])[0], dtype=np.float64) + 0.0

    def pairs(self, u: Array, v: Array) -> Array:
        """The distances of points u[e] and v[e], a row at a time."""
        lengths, order = np.empty(len(u)), np.argsort(u, kind="stable")
        for asked in np.split(order, np.flatnonzero(np.diff(u[order])) + 1):
            if len(asked):
                lengths[asked] = self.row(int(u[asked[0]]))[v[asked]]
        return lengths


class StoredDistances(Distances):
    """A distance matrix in memory."""

    stored = True

    def __init__(self, matrix: Array) -> None:
        self.matrix, self.n = matrix, len(matrix)

    def rows(self, points: Any) -> Array:
        return self.matrix[points]

    def among(self, points: Array) -> Array:
        return self.matrix[np.ix_(points, points)]

    def blocks(self) -> Iterator[tuple[int, int, Array]]:
        yield 0, self.n, self.matrix


class ComputedDistances(Distances):
    """Distances between the rows of X, computed each time that they are asked for."""

    stored = False

    def __init__(self, X: Any, metric: Any, options: Mapping[str, Any]) -> None:
        self.X, self.metric, self.options, self.n = X, metric, options, X.shape[0]
        self.measure = distances_to(X, metric, options)

    def rows(self, points: Any) -> Array:
        asked = self.X[points]
        found = np.empty((asked.shape[0], self.n))

        def fill(start: int, stop: int) -> None:
            found[start:stop] = checked(self.measure(asked[start:stop]))

        each_block(fill, len(found), max(1, len(found) // 8))
        return found

    def among(self, points: Array) -> Array:
        check_memory(8 * len(points) ** 2, "The distances within a cluster", "use method='clara'")
        return checked(between(self.X[points], self.X[points], self.metric, self.options))

    def blocks(self) -> Iterator[tuple[int, int, Array]]:
        size = block_rows(self.n, 8 * self.n)
        for start in range(0, self.n, size):
            stop = min(start + size, self.n)
            yield start, stop, self.rows(slice(start, stop))


def read_matrix(matrix: Array) -> StoredDistances:
    """A table that the user calls distances: refused unless square, finite, not negative and symmetric."""
    return StoredDistances(distance_table(matrix))


def stored_distances(X: Any, metric: Any, options: Mapping[str, Any]) -> StoredDistances:
    """The matrix of all distances, computed on threads; MemoryError before anything is allocated if it does not fit."""
    n = X.shape[0]
    dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    check_memory(2 * n * n * dtype.itemsize, f"The {n:,} × {n:,} distances with room to work", "use method='clara'")
    matrix, measure = np.empty((n, n), dtype=dtype), distances_to(X, metric, options)

    def fill(start: int, stop: int) -> None:
        matrix[start:stop] = checked(measure(X[start:stop]))

    each_block(fill, n, block_rows(n, 8 * n))
    if callable(metric):
        check_square(matrix, "the metric")
    return StoredDistances(matrix)


def distance_table(matrix: Array) -> Array:
    """The matrix in C order, if it is square and all its entries are distances."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"metric='precomputed' expects the distances of all rows to all rows, a square matrix; X has shape "
            f"{matrix.shape}."
        )
    if not matrix.flags.c_contiguous:
        # a symmetric matrix in Fortran order is its own transpose in C order, without a copy
        matrix = matrix.T if matrix.T.flags.c_contiguous else np.ascontiguousarray(matrix)
    check_square(matrix, "X")
    return matrix


def check_square(matrix: Array, name: str) -> None:
    """Raise ValueError, naming an entry, unless all distances are finite, not negative and symmetric."""
    closeness = 1e-4 if matrix.dtype == np.float32 else 1e-8
    parts = map_blocks(lambda a, b: square_faults(matrix, a, b, closeness), len(matrix), 4 * _SQUARE)
    bad, unlike = (sum(found) for found in zip(*parts, strict=True))
    if bad:
        checked(matrix, name)
    if unlike:
        i, j = next(
            (i, int(np.flatnonzero(wrong)[0]))
            for i in range(len(matrix))
            if (wrong := np.abs(matrix[i] - matrix[:, i]) > closeness * np.maximum(matrix[i], matrix[:, i])).any()
        )
        raise ValueError(
            f"Distances must be symmetric, but {name} has {matrix[i, j]:g} from row {i} to row {j} and "
            f"{matrix[j, i]:g} back. Use a symmetric metric, for instance the mean of both directions."
        )


def checked(block: Array, name: str = "the metric") -> Array:
    """The block, if every distance in it is finite and not negative."""
    if np.isfinite(block.sum(dtype=np.float64)) and (block.size == 0 or block.min() >= 0):
        return block
    if np.isnan(block).any():
        raise ValueError(f"Distances must be numbers, but {name} contains NaN.")
    if not np.isfinite(block).all():
        raise ValueError(f"Distances must be finite, but {name} contains infinity.")
    if block.min() < 0:
        raise ValueError(f"Distances must not be negative, but {name} has {block.min():g}.")
    raise ValueError("The sum of the distances overflows float64. Rescale the distances to magnitudes below 1e100.")
