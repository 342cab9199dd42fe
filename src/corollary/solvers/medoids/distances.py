"""Distances for k-medoids: from a matrix, or computed in blocks of rows when the matrix would not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from corollary.core.memory import check_memory
from corollary.core.parallel import block_rows, each_block
from corollary.core.types import Array
from corollary.solvers.distances import check_square, checked, distance_table

_FEW_COLUMNS = 24  # up to here differences, coordinate by coordinate, are as quick as products of matrices
_CLOSE = 1e-6  # squared distances below this share of the squared norms have lost too many digits in a product


class Distances(ABC):
    """Rows of an n × n table of distances."""

    n: int
    stored: bool

    @abstractmethod
    def rows(self, start: int, stop: int) -> Array:
        """The distances of points ``start`` to ``stop`` to all points."""

    @abstractmethod
    def pick(self, points: Any) -> Array:
        """The distances of the chosen points to all points."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[int, int, Array]]:
        """All rows in order, as (start, stop, rows)."""

    @abstractmethod
    def among(self, points: Array) -> Array:
        """The distances among the chosen points."""

    def table(self, points: Any) -> Array:
        """The distances of all points to the chosen ones, as float64 (n × chosen)."""
        return np.ascontiguousarray(self.pick(points).T, dtype=np.float64)


class StoredDistances(Distances):
    """A distance matrix in memory."""

    stored = True

    def __init__(self, matrix: Array) -> None:
        self.matrix, self.n = matrix, len(matrix)

    def rows(self, start: int, stop: int) -> Array:
        return self.matrix[start:stop]

    def pick(self, points: Any) -> Array:
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

    def rows(self, start: int, stop: int) -> Array:
        found = np.empty((stop - start, self.n))

        def fill(low: int, high: int) -> None:
            found[low:high] = checked(self.measure(self.X[start + low : start + high]))

        each_block(fill, stop - start, max(1, (stop - start) // 8))
        return found

    def pick(self, points: Any) -> Array:
        return checked(self.measure(self.X[points]))

    def among(self, points: Array) -> Array:
        check_memory(8 * len(points) ** 2, "The distances within a cluster", "use method='clara'")
        return checked(between(self.X[points], self.X[points], self.metric, self.options))

    def blocks(self) -> Iterator[tuple[int, int, Array]]:
        size = block_rows(self.n, 8 * self.n)
        for start in range(0, self.n, size):
            stop = min(start + size, self.n)
            yield start, stop, self.rows(start, stop)


def read_matrix(matrix: Array) -> StoredDistances:
    """A matrix that the user calls distances: refused unless square, finite, not negative and symmetric."""
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


def complete_options(metric: Any, options: Mapping[str, Any], X: Any, weights: Array) -> dict[str, Any]:
    """The metric's options with the variances that it would else take from each block of rows."""
    missing = {"seuclidean": "V", "mahalanobis": "VI"}.get(metric) if isinstance(metric, str) else None
    if missing is None or missing in options or "V" in options or sp.issparse(X):
        return dict(options)
    centred = X.astype(np.float64) - np.average(X, axis=0, weights=weights)
    covariance = (centred * weights[:, None]).T @ centred / max(weights.sum() - 1.0, 1.0)
    found = np.diag(covariance).copy() if metric == "seuclidean" else np.linalg.pinv(covariance)
    return dict(options) | {missing: found}


def distances_to(B: Any, metric: Any, options: Mapping[str, Any]) -> Callable[[Any], Array]:
    """A function that gives the distances of rows to those of B; what depends on B alone is worked out once."""
    if metric in ("euclidean", "l2") and not options and not sp.issparse(B):
        return _Euclidean(B, _unit(B))
    return lambda rows: between(rows, B, metric, options)


def between(A: Any, B: Any, metric: Any, options: Mapping[str, Any]) -> Array:
    """Distances between the rows of A and those of B."""
    if sp.issparse(A) or sp.issparse(B):
        A, B = _short_indices(A), _short_indices(B)
    if metric in ("euclidean", "l2") and not options:
        return _sparse_euclidean(A, B) if sp.issparse(A) else _Euclidean(B, _unit(A, B))(A)
    try:
        found: Array = pairwise_distances(A, B, metric=metric, **options)
    except TypeError as error:
        if sp.issparse(A):
            raise ValueError(f"metric={metric!r} cannot be used with sparse X ({error}); X.toarray() can.") from None
        raise
    return found


def _short_indices(rows: Any) -> Any:
    """Sparse rows with the 32-bit indices that scikit-learn's metrics ask for."""
    short = sp.csr_array(rows)
    if short.indices.dtype != np.int32:
        index = short.indices.astype(np.int32), short.indptr.astype(np.int32)
        short = sp.csr_array((short.data, *index), shape=short.shape)
    return short


class _Euclidean:
    """Distances to the rows of B, exact to rounding also where points nearly coincide; ``unit`` avoids overflow."""

    def __init__(self, B: Array, unit: float) -> None:
        self.unit, self.few = unit, B.shape[1] <= _FEW_COLUMNS
        self.B = np.asarray(B, dtype=np.float64) / unit
        self.middle = np.zeros(B.shape[1]) if self.few else self.B.mean(axis=0)
        self.B -= self.middle
        self.norms = np.einsum("ij,ij->i", self.B, self.B)

    def __call__(self, A: Array) -> Array:
        a = np.asarray(A, dtype=np.float64) / self.unit - self.middle
        if not self.few:
            squares, (i, j) = _squares(a @ self.B.T, np.einsum("ij,ij->i", a, a), self.norms)
            if len(i) <= squares.size // 8:
                squares[i, j] = ((a[i] - self.B[j]) ** 2).sum(axis=1)
                return np.multiply(np.sqrt(squares, out=squares), self.unit, out=squares)
        found: Array = cdist(a, self.B)
        return np.multiply(found, self.unit, out=found)


def _unit(*parts: Array) -> float:
    """A power of two by which the rows are divided if their squares would leave the range of float64."""
    largest = max(float(np.abs(part).max(initial=0.0)) for part in parts)
    return 1.0 if 1e-140 < largest < 1e140 or largest == 0 else float(2.0 ** np.floor(np.log2(largest)))


def _sparse_euclidean(A: Any, B: Any) -> Array:
    a, b = A.astype(np.float64), B.astype(np.float64)
    squares, (i, j) = _squares((a @ b.T).toarray(), a.power(2).sum(axis=1), b.power(2).sum(axis=1))
    for start in range(0, len(i), 65_536):
        rows, columns = i[start : start + 65_536], j[start : start + 65_536]
        squares[rows, columns] = (a[rows] - b[columns]).power(2).sum(axis=1)
    return np.sqrt(squares, out=squares)


def _squares(products: Array, left: Array, right: Array) -> tuple[Array, tuple[Array, ...]]:
    """Squared distances, in the place of the products, and which of them are too small to be trusted."""
    norms = np.asarray(left).ravel()[:, None] + np.asarray(right).ravel()
    products *= -2.0
    products += norms
    norms *= _CLOSE
    return products, np.nonzero(products <= norms)
