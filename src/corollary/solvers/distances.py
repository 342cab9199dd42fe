"""Distances between rows by any metric; and given tables of distances, refused if they are not valid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from corollary._compiled.codes import EUCLIDEAN
from corollary._compiled.medoids.swaps import square_faults
from corollary.core.parallel import map_blocks
from corollary.core.scaling import check_squares, magnitude, power_of_two
from corollary.core.types import Array
from corollary.solvers.neighbors.metric import Metric, points
from corollary.solvers.neighbors.wide import differ, distances_of

_SQUARE = 64  # rows that are looked at together
_FEW_COLUMNS = 24  # up to here differences, coordinate by coordinate, are as quick as products of matrices
_VANISHED = 2.0**-400  # differences below this share of the largest value: their squares have lost digits, or all
_CLOSE = 1e-6  # squared distances below this share of the squared norms have lost too many digits in a product
_LENGTH = Metric(EUCLIDEAN, 2.0)


def is_euclidean(metric: Any) -> bool:
    """Whether this is a name of the Euclidean distance."""
    return isinstance(metric, str) and metric in ("euclidean", "l2")


def variances_of(metric: Any) -> str | None:
    """The name of the option by which a metric is told the variances of the columns, for the metrics that have one."""
    return {"seuclidean": "V", "mahalanobis": "VI"}.get(metric) if isinstance(metric, str) else None


def complete_options(metric: Any, options: Mapping[str, Any], X: Any, weights: Array) -> dict[str, Any]:
    """The metric's options with the variances that it would else take from each block of rows."""
    missing = variances_of(metric)
    if missing is None or missing in options or "V" in options or scipy.sparse.issparse(X):
        return dict(options)
    centred = X.astype(np.float64) - np.average(X, axis=0, weights=weights)
    for reach in np.abs(centred).max(axis=0):
        check_squares(float(reach))
    covariance = (centred * weights[:, None]).T @ centred / max(weights.sum() - 1.0, 1.0)
    found = np.diag(covariance).copy() if metric == "seuclidean" else np.linalg.pinv(covariance)
    return dict(options) | {missing: found}


def distances_to(B: Any, metric: Any, options: Mapping[str, Any]) -> Callable[[Any], Array]:
    """A function that gives the distances of rows to those of B; what depends on B alone is worked out once."""
    if is_euclidean(metric) and not options and not scipy.sparse.issparse(B):
        return _Euclidean(B, _scale(B))
    angle = _angle(metric, options, B)
    if angle is not None:
        return _Angles(B, angle)
    return lambda rows: between(rows, B, metric, options)


def between(A: Any, B: Any, metric: Any, options: Mapping[str, Any]) -> Array:
    """Distances between the rows of A and those of B."""
    if scipy.sparse.issparse(A) or scipy.sparse.issparse(B):
        A, B = _short_indices(A), _short_indices(B)
    if is_euclidean(metric) and not options:
        return _sparse_euclidean(A, B) if scipy.sparse.issparse(A) else _Euclidean(B, _scale(A, B))(A)
    angle = _angle(metric, options, A)
    if angle is not None:
        return _Angles(B, angle)(A)
    plain = isinstance(metric, str) and metric == "minkowski" and not options.keys() - {"p"}
    powers = Metric.of(metric, float(options.get("p", 2.0)), None) if plain else None
    if powers is not None and 0 < powers.p < np.inf and not scipy.sparse.issparse(A):
        return _powers(A, B, powers)
    try:
        found: Array = pairwise_distances(A, B, metric=metric, n_jobs=1, **options)
    except TypeError as error:
        if scipy.sparse.issparse(A):
            raise ValueError(f"metric={metric!r} cannot be used with sparse X ({error}); X.toarray() can.") from None
        if isinstance(metric, str) and options:
            raise ValueError(f"metric={metric!r} cannot be used with metric_params={options!r}: {error}") from None
        raise
    return found


class _Euclidean:
    """Distances to the rows of B, exact to rounding also where points nearly coincide; ``scale`` avoids overflow."""

    def __init__(self, B: Array, scale: float) -> None:
        self.scale, self.few, self.raw = scale, B.shape[1] <= _FEW_COLUMNS, B
        self.vanishing = _vanishing(B, scale)
        self.B = np.asarray(B, dtype=np.float64) * scale
        if not self.few:
            self.middle = self.B.mean(axis=0)
            self.B -= self.middle
            self.norms = np.einsum("ij,ij->i", self.B, self.B)

    def __call__(self, A: Array) -> Array:
        found = self._distances(np.asarray(A, dtype=np.float64) * self.scale)
        np.divide(found, self.scale, out=found)
        if self.vanishing or _vanishing(A, self.scale):  # one huge row must not make all others equal
            _measure_again(found, np.nonzero(found * self.scale < _VANISHED), A, self.raw, _LENGTH)
        return found

    def _distances(self, a: Array) -> Array:
        """Times the scale. What is close is measured without the middle taken away: far from it, that has rounded."""
        if self.few:
            return np.asarray(cdist(a, self.B))
        shifted = a - self.middle
        squares, (i, j) = _squares(shifted @ self.B.T, np.einsum("ij,ij->i", shifted, shifted), self.norms)
        if len(i) > squares.size // 8:
            return np.asarray(cdist(a, np.asarray(self.raw, dtype=np.float64) * self.scale))
        squares[i, j] = ((a[i] - np.asarray(self.raw[j], dtype=np.float64) * self.scale) ** 2).sum(axis=1)
        return np.sqrt(squares, out=squares)


def _angle(metric: Any, options: Mapping[str, Any], X: Any) -> Metric | None:
    """The metric, if it is about the directions of rows; correlation fills the rows, so they must not be sparse."""
    names = ("cosine",) if scipy.sparse.issparse(X) else ("cosine", "correlation")
    return Metric.of(metric, 2.0, None) if isinstance(metric, str) and metric in names and not options else None


class _Angles:
    """1 − cos of the angles to the rows of B, however long rows are: each is brought to length one by itself.

    A row of zeros has no direction, and is at distance one from all.
    """

    def __init__(self, B: Any, metric: Metric) -> None:
        self.raw, self.metric, self.unit = B, metric, points(metric, B, 1.0, queries=False)

    def __call__(self, A: Any) -> Array:
        cosines = points(self.metric, A, 1.0, queries=True) @ self.unit.T
        found = cosines.toarray() if scipy.sparse.issparse(cosines) else cosines
        np.minimum(np.subtract(1.0, found, out=found), 2.0, out=found)
        # 1 − cos loses the digits of small angles
        _measure_again(found, np.nonzero(found < _CLOSE), A, self.raw, self.metric)
        return np.asarray(found)


def _powers(A: Array, B: Array, metric: Metric) -> Array:
    """Minkowski's distances, of numbers of any size: powers of small differences vanish, and are taken again."""
    scale = _scale(A, B)
    a, b = (np.asarray(rows, dtype=np.float64) * scale for rows in (A, B))
    found: Array = cdist(a, b, "minkowski", p=metric.p)
    pairs = np.nonzero(found < 2.0 ** (-800 / metric.p))
    np.divide(found, scale, out=found)
    _measure_again(found, pairs, A, B, metric)
    return found


def _vanishing(X: Array, scale: float) -> bool:
    """Whether some values are so much smaller than the largest that squares of their differences may vanish."""
    return bool(((np.abs(X) < _VANISHED / scale) & (X != 0)).any())


def _measure_again(found: Array, pairs: tuple[Array, ...], A: Any, B: Any, metric: Metric) -> None:
    """Put the distances of these pairs as they are in the place of what was found."""
    unlike = differ(A, B, *pairs)
    found[pairs] = 0.0
    i, j = (index[unlike] for index in pairs)
    found[i, j] = distances_of(metric, A, B, i, j, 1.0)


def _scale(*parts: Array) -> float:
    return power_of_two(max(map(magnitude, parts)))


def _sparse_euclidean(A: Any, B: Any) -> Array:
    scale = _scale(A, B)
    a, b = A.astype(np.float64) * scale, B.astype(np.float64) * scale
    squares, (i, j) = _squares((a @ b.T).toarray(), a.power(2).sum(axis=1), b.power(2).sum(axis=1))
    for start in range(0, len(i), 65_536):
        rows, columns = i[start : start + 65_536], j[start : start + 65_536]
        squares[rows, columns] = (a[rows] - b[columns]).power(2).sum(axis=1)
    found = np.divide(np.sqrt(squares, out=squares), scale, out=squares)
    if _vanishing(A.data, scale) or _vanishing(B.data, scale):
        _measure_again(found, np.nonzero(found * scale < _VANISHED), A, B, _LENGTH)
    return found


def _squares(products: Array, left: Array, right: Array) -> tuple[Array, tuple[Array, ...]]:
    """Squared distances, in the place of the products, and which of them are too small to be trusted."""
    norms = np.asarray(left).ravel()[:, None] + np.asarray(right).ravel()
    products *= -2.0
    products += norms
    norms *= _CLOSE
    return products, np.nonzero(products <= norms)


def distance_table(matrix: Array) -> Array:
    """The matrix in C order, if it is square and all its entries are distances."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"Distance matrix should be square, got matrix of shape {matrix.shape}: metric='precomputed' expects the "
            "distances of all rows to all rows as X."
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


def _short_indices(X: Any) -> Any:
    """Rows in CSR with the 32-bit column numbers that some of scikit-learn's metrics ask for."""
    X = scipy.sparse.csr_array(X)
    if X.indices.dtype == np.int32:
        return X
    index = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return scipy.sparse.csr_array((X.data, *index), shape=X.shape)
