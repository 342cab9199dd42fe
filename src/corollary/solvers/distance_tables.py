"""Tables of the distances of all rows: given, computed once, or computed in blocks where the whole would not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from corollary.core.memory import check_memory
from corollary.core.parallel import block_rows, each_block
from corollary.core.types import Array
from corollary.solvers.distances import between, check_square, checked, distance_table, distances_to


class Distances(ABC):
    """Rows of an n × n table of distances.

    ``rounding`` is what storing them in float32 can change in the difference of two sums of them, relative to a sum.
    """

    n: int
    stored: bool
    rounding: float = 0.0

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

    def __init__(self, matrix: Array, rounding: float = 0.0) -> None:
        self.matrix, self.n, self.rounding = matrix, len(matrix), rounding

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
    """A table of distances given by the user; refused unless square, finite, not negative and symmetric."""
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
    return StoredDistances(matrix, float(np.finfo(np.float32).eps) if dtype == np.float32 else 0.0)
