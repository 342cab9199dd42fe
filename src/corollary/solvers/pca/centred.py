"""Rows in memory about their mean: dense, through a buffer, and sparse, by a correction of rank one."""

from __future__ import annotations

import threading
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from corollary.core.design import SparseDesign
from corollary.core.memory import check_memory
from corollary.core.parallel import block_rows, each_block, map_blocks, sum_blocks
from corollary.core.scaling import magnitude
from corollary.core.summary import Moments, Triangle
from corollary.core.types import Array
from corollary.solvers.pca.rows import CentredRows

SAMPLE = 64  # rows that give a first estimate of the mean
GRAM_BYTES = 1 << 20  # rows that are multiplied at once, unless they are fewer than the columns
GRAM_BLOCKS = 16  # so many of those at most are added up before threads' sums are merged
SHARES = 64  # fewer if that leaves less than this to share out


class StoredRows(CentredRows):
    """Rows in memory; ``weights`` None is one for each row."""

    def __init__(self, X: Any, weights: Array | None) -> None:
        self.X, self.weights, self.dtype = X, weights, X.dtype
        self.shape = (X.shape[0], X.shape[1])
        self.root = None if weights is None else np.sqrt(weights)
        self.total = float(X.shape[0]) if weights is None else float(weights.sum())
        self.count = X.shape[0] if weights is None else int(np.count_nonzero(weights))
        self._size = block_rows(X.shape[0], 8 * X.shape[1])

    @abstractmethod
    def block(self, start: int, stop: int) -> Array:
        """Rows of A, dense, in a buffer that the next call of this thread may overwrite."""

    def triangle(self) -> Array:
        self.passes += 1
        size = max(self._size, 2 * self.shape[1])
        return sum_blocks(lambda a, b: Triangle.of(self.block(a, b)), self.shape[0], size).R

    def distances(self, V: Array) -> tuple[Array, Array]:
        """A V (n × k) for orthonormal columns V, and the squared distance of each row from their span."""
        n = self.shape[0]
        along, away = np.empty((n, V.shape[1])), np.empty(n)

        def part(start: int, stop: int) -> None:
            rows = self.block(start, stop)
            np.matmul(rows, V, out=along[start:stop])
            rows -= along[start:stop] @ V.T  # not ‖x‖² − ‖Vᵀx‖²: near the span that would be rounding
            away[start:stop] = np.einsum("ij,ij->i", rows, rows)

        each_block(part, n, self._size)
        return along, away


class CentredArray(StoredRows):
    """A NumPy array in any order, float32 or float64."""

    def __init__(self, X: Array, weights: Array | None = None) -> None:
        super().__init__(X, weights)
        self._scratch = threading.local()
        self._by_column = X.flags.f_contiguous and not X.flags.c_contiguous
        self.centre = self._sample_mean()

    def _sample_mean(self) -> Array:
        n = self.shape[0]
        rows = np.arange(n) if self.weights is None else np.flatnonzero(self.weights > 0)
        chosen = rows[:: max(1, len(rows) // SAMPLE)]
        with np.errstate(over="ignore", invalid="ignore"):
            # halves, so that the sum of numbers near the end of the range is not infinite
            sample = np.ldexp(self.X[chosen].astype(np.float64), -8)
            mean = sample.sum(axis=0) / len(sample)
            # columns that lie about zero lose no digits there, and need not be moved: a copy saved where X is large
            large = self.X.dtype == np.float64 and self.X.nbytes > GRAM_BYTES
            self._about_zero = large and bool((np.abs(mean) <= 2 * sample.std(axis=0)).all())
            mean = np.ldexp(mean, 8)
        return np.where(np.isfinite(mean), mean, 0.0)

    def block(self, start: int, stop: int) -> Array:
        d, size = self.shape[1], stop - start
        held = getattr(self._scratch, "rows", None)
        if held is None or held.size < size * d:
            held = self._scratch.rows = np.empty(size * d)
        flat = held[: size * d]
        rows = flat.reshape(d, size).T if self._by_column else flat.reshape(size, d)
        if self.unit == 1.0:
            np.subtract(self.X[start:stop], self.centre, out=rows)
        else:
            np.multiply(self.X[start:stop], self.unit, out=rows)
            rows -= self.centre * self.unit
        if self.root is not None:
            rows *= self.root[start:stop, None]
        return rows

    def every(self, step: int) -> CentredRows:
        weights = None if self.weights is None else self.weights[::step]
        some = CentredArray(self.X[::step], weights)
        some.centre, some.unit = self.centre, self.unit
        return some

    def forth(self, V: Array) -> Array:
        self.passes += 1
        out = np.empty((self.shape[0], V.shape[1]))
        each_block(lambda a, b: np.matmul(self.block(a, b), V, out=out[a:b]), self.shape[0], self._size)
        return out

    def back(self, U: Array) -> Array:
        self.passes += 1
        return sum_blocks(lambda a, b: self.block(a, b).T @ U[a:b], self.shape[0], self._size)

    def normal(self, V: Array) -> Array:
        self.passes += 1

        def part(start: int, stop: int) -> Array:
            rows = self.block(start, stop)
            return rows.T @ (rows @ V)

        return sum_blocks(part, self.shape[0], self._size)

    def dense(self) -> Array:
        self.passes += 1
        n, d = self.shape
        check_memory(16 * n * d, "A centred copy of X and its factor", "ask for fewer components (svd_solver='auto')")
        out = np.empty((n, d))

        def copy(start: int, stop: int) -> None:
            out[start:stop] = self.block(start, stop)

        each_block(copy, n, self._size)
        return out

    def moments(self) -> Moments:
        self.passes += 1
        n, d = self.shape
        start_at, nothing = np.zeros(d), np.zeros(0)
        inner = max(64, GRAM_BYTES // (8 * d), d)
        as_they_are = self._about_zero and self.root is None and self.unit == 1.0
        if as_they_are:
            start_at = -self.centre

        def part(start: int, stop: int) -> Moments:
            weight = float(stop - start) if self.weights is None else float(self.weights[start:stop].sum())
            sums, xx, square = np.zeros(d), np.zeros((d, d)), np.empty((d, d))
            with np.errstate(over="ignore", invalid="ignore"):
                for first in range(start, stop, inner):
                    last = min(first + inner, stop)
                    rows = self.X[first:last] if as_they_are else self.block(first, last)
                    sums += (np.ones(last - first) if self.root is None else self.root[first:last]) @ rows
                    xx += np.matmul(rows.T, rows, out=square)
                offset = sums / (weight or 1.0)
                xx -= np.outer(sums, offset)
            return Moments(weight, start_at + offset, nothing, xx, np.zeros((d, 0)), nothing)

        several = min(GRAM_BLOCKS, -(-n // (SHARES * inner)))
        return sum_blocks(part, n, several * inner)

    def first_moments(self) -> tuple[Array, float]:
        self.passes += 1

        def part(start: int, stop: int) -> Array:
            rows = self.block(start, stop)
            with np.errstate(over="ignore", invalid="ignore"):
                sums = rows.sum(axis=0) if self.root is None else self.root[start:stop] @ rows
                flat = rows.T.reshape(-1) if self._by_column else rows.reshape(-1)
                return np.append(sums, flat @ flat)

        both = sum_blocks(part, self.shape[0], self._size)
        with np.errstate(over="ignore", invalid="ignore"):
            offset = both[:-1] / self.total
            # the sampled centre is near the mean, so nothing cancels here
            return self.centre * self.unit + offset, float(both[-1] - self.total * (offset @ offset))

    def reach(self) -> float:
        assert_all_finite(self.X, input_name="X")

        def part(start: int, stop: int) -> float:
            with np.errstate(over="ignore"):
                away = np.abs(self.X[start:stop] - self.centre)
            if self.weights is not None:
                away = away[self.weights[start:stop] > 0]
            return float(away.max(initial=0.0))

        return max(map_blocks(part, self.shape[0], self._size))


class CentredSparse(StoredRows):
    """A SciPy CSR or CSC matrix, never densified unless all components are asked for."""

    _rows: Any = None

    def __init__(self, X: Any, weights: Array | None = None) -> None:
        super().__init__(X, weights)
        self.centre = np.zeros(self.shape[1])  # a sparse matrix stays sparse about zero only

    def blur(self) -> Array:
        return np.asarray(self.total * (self.centre * self.unit) ** 2)

    def block(self, start: int, stop: int) -> Array:
        if self._rows is None:
            self._rows = self._scaled.tocsr()
        rows = np.asarray(self._rows[start:stop].toarray(), dtype=np.float64) - self.centre * self.unit
        return rows if self.root is None else rows * self.root[start:stop, None]

    @property
    def _scaled(self) -> Any:
        return self.X if self.unit == 1.0 else self.X * self.unit

    def forth(self, V: Array) -> Array:
        self.passes += 1
        out = np.asarray(self._scaled @ V, dtype=np.float64) - (self.centre * self.unit) @ V
        return out if self.root is None else out * self.root[:, None]

    def back(self, U: Array) -> Array:
        self.passes += 1
        U = U if self.root is None else U * self.root[:, None]
        return np.asarray(self._scaled.T @ U, dtype=np.float64) - np.outer(self.centre * self.unit, U.sum(axis=0))

    def normal(self, V: Array) -> Array:
        return self.back(self.forth(V))

    def dense(self) -> Array:
        n, d = self.shape
        check_memory(16 * n * d, "All components of this sparse X", "ask for fewer components (n_components)")
        out = np.asarray(self._scaled.toarray(), dtype=np.float64) - self.centre * self.unit
        return out if self.root is None else out * self.root[:, None]

    def moments(self) -> Moments:
        self.passes += 1
        with np.errstate(over="ignore", invalid="ignore"):
            found = SparseDesign(self._scaled).moments(np.zeros((self.shape[0], 0)), self.weights)
            return replace(found, mean_x=found.mean_x - self.centre * self.unit)

    def first_moments(self) -> tuple[Array, float]:
        self.passes += 1
        design = SparseDesign(self._scaled)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = design.column_means(self.weights)
            return mean, float(design.column_squares(mean, self.weights).sum())

    def reach(self) -> float:
        assert_all_finite(self.X.data, input_name="X")
        return magnitude(self.X)


def centred(X: Any, weights: Array | None = None) -> StoredRows:
    """Wrap a validated array or sparse matrix; ``weights`` None is one for each row."""
    return CentredSparse(X, weights) if sparse.issparse(X) else CentredArray(np.asarray(X), weights)
