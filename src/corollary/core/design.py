"""How a solver touches X. Dense and sparse, C and Fortran order, float32 and float64 differ here and nowhere else.

X is never copied whole: dense work goes block by block through a buffer of a few megabytes, in float64 whatever the
input, and blocks are merged in a fixed order so that the number of threads does not change a single bit.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.parallel import block_rows, each_block, map_blocks, sum_blocks
from corollary.core.summary import Moments
from corollary.core.types import Array

# pointwise(start, stop, raw) -> (sum of losses, first derivatives, second derivatives or None) for rows start:stop
Pointwise = Callable[[int, int, Array], tuple[float, Array, Array | None]]


@dataclass(frozen=True)
class Pass:
    """What one pass over the rows gives: Σ loss, Xᵀg, Σ g, and, if asked, the weighted Gram matrix with its border."""

    value: float
    gradient: Array
    gradient_sum: Array
    gram: Array | None = None
    gram_border: Array | None = None
    gram_sum: float = 0.0

    def __add__(self, other: Pass) -> Pass:
        def plus(a: Array | None, b: Array | None) -> Array | None:
            return None if a is None or b is None else a + b

        return Pass(
            self.value + other.value,
            self.gradient + other.gradient,
            self.gradient_sum + other.gradient_sum,
            plus(self.gram, other.gram),
            plus(self.gram_border, other.gram_border),
            self.gram_sum + other.gram_sum,
        )


class Design(ABC):
    """The matrix X (n × d) as the operations that solvers need."""

    shape: tuple[int, int]
    is_sparse: bool

    @abstractmethod
    def block(self, start: int, stop: int) -> Array:
        """Rows start:stop as a dense float64 array (a view where that is possible)."""

    @abstractmethod
    def matvec(self, coef: Array) -> Array:
        """X coef, for coef of shape (d,) or (d, k)."""

    @abstractmethod
    def rmatvec(self, rows: Array) -> Array:
        """Xᵀ rows, for rows of shape (n,) or (n, k)."""

    @abstractmethod
    def gram(self, weights: Array | None = None) -> Array:
        """Xᵀ diag(weights) X (d × d); weights must not be negative."""

    @abstractmethod
    def moments(self, Y: Array, weights: Array | None = None, shift: Array | None = None) -> Moments:
        """The centred second moments of (X, Y), for Y of shape (n, k).

        ``shift`` is a point near the weighted mean of X. Give it when weights span many powers of ten: dense designs
        otherwise take the plain mean of a few rows.
        """

    @abstractmethod
    def sweep(self, coef: Array, intercept: Any, pointwise: Pointwise, *, gram: bool = False) -> Pass:
        """Evaluate Σ loss, Xᵀ loss′ and optionally Xᵀ loss″ X at raw predictions X coef + intercept, in one pass."""

    @abstractmethod
    def take(self, columns: Array) -> Design:
        """A design of those columns only, laid out for access by column (a copy of that part)."""

    @abstractmethod
    def cross(self, other: Design, weights: Array) -> Array:
        """Xᵀ diag(weights) Z for another design Z of the same kind and rows."""

    @abstractmethod
    def rows(self, index: Array) -> Design:
        """A design of those rows only (a copy of that part)."""

    @abstractmethod
    def transposed(self) -> Design:
        """The design whose rows are the columns of this one (a view)."""

    @abstractmethod
    def column_means(self, weights: Array | None = None) -> Array:
        """Weighted mean of each column."""

    @abstractmethod
    def column_squares(self, centre: Array, weights: Array | None = None) -> Array:
        """Σ w (x − centre)² of each column."""


def as_design(X: Any) -> Design:
    """Wrap a validated array or SciPy sparse matrix."""
    return SparseDesign(X) if sparse.issparse(X) else DenseDesign(np.asarray(X))


class DenseDesign(Design):
    """A NumPy array, C or Fortran order, float32 or float64."""

    is_sparse = False

    def __init__(self, X: Array) -> None:
        self.X = X
        self.shape = (X.shape[0], X.shape[1])
        # short and wide in Fortran order: rows are scattered, so split the columns instead
        self._by_column = X.flags.f_contiguous and not X.flags.c_contiguous
        self._size = block_rows(X.shape[0], 8 * X.shape[1])

    def block(self, start: int, stop: int) -> Array:
        return self.X[start:stop].astype(np.float64, copy=False)

    def _columns(self, start: int, stop: int) -> Array:
        return self.X[:, start:stop].astype(np.float64, copy=False)

    def matvec(self, coef: Array) -> Array:
        if self._by_column:
            return sum_blocks(lambda a, b: self._columns(a, b) @ coef[a:b], self.shape[1], self._column_size())
        out = np.empty((self.shape[0], *coef.shape[1:]))

        def work(start: int, stop: int) -> None:
            np.matmul(self.block(start, stop), coef, out=out[start:stop])

        each_block(work, self.shape[0], self._size)
        return out

    def rmatvec(self, rows: Array) -> Array:
        if self._by_column:
            parts = map_blocks(lambda a, b: self._columns(a, b).T @ rows, self.shape[1], self._column_size())
            return np.concatenate(list(parts))
        return sum_blocks(lambda a, b: self.block(a, b).T @ rows[a:b], self.shape[0], self._size)

    def _column_size(self) -> int:
        return block_rows(self.shape[1], 8 * self.shape[0])

    def gram(self, weights: Array | None = None) -> Array:
        def part(start: int, stop: int) -> Array:
            block = self.block(start, stop)
            if weights is not None:
                block = block * np.sqrt(weights[start:stop])[:, None]
            return block.T @ block

        return sum_blocks(part, self.shape[0], self._size)

    def moments(self, Y: Array, weights: Array | None = None, shift: Array | None = None) -> Moments:
        n, d = self.shape
        if shift is None:
            with np.errstate(over="ignore", invalid="ignore"):
                shift = self.X[:: max(1, n // 64)].mean(axis=0, dtype=np.float64)
        centre, size, scratch = shift, block_rows(n, 16 * d), threading.local()

        def part(start: int, stop: int) -> Moments:
            if not hasattr(scratch, "rows"):
                scratch.rows = np.empty((size, d + 1))
            w = None if weights is None else weights[start:stop]
            return Moments.of(self.X[start:stop], Y[start:stop], w, centre, scratch.rows)

        return sum_blocks(part, n, size)

    def sweep(self, coef: Array, intercept: Any, pointwise: Pointwise, *, gram: bool = False) -> Pass:
        def part(start: int, stop: int) -> Pass:
            block = self.block(start, stop)
            raw = block @ coef
            raw += intercept
            value, slope, curve = pointwise(start, stop, raw)
            base = Pass(value, block.T @ slope, slope.sum(axis=0))
            if not gram or curve is None:
                return base
            scaled = block * np.sqrt(curve)[:, None]
            return Pass(value, base.gradient, base.gradient_sum, scaled.T @ scaled, block.T @ curve, float(curve.sum()))

        return sum_blocks(part, self.shape[0], self._size)

    def take(self, columns: Array) -> DenseDesign:
        return DenseDesign(np.asfortranarray(self.X[:, columns], dtype=np.float64))

    def cross(self, other: Design, weights: Array) -> Array:
        assert isinstance(other, DenseDesign)
        return self.rmatvec(other.X * weights[:, None])

    def rows(self, index: Array) -> DenseDesign:
        return DenseDesign(self.X[index])

    def transposed(self) -> DenseDesign:
        return DenseDesign(self.X.T)

    def column_means(self, weights: Array | None = None) -> Array:
        w = np.full(self.shape[0], 1.0 / self.shape[0]) if weights is None else weights / weights.sum()
        return self.rmatvec(w)

    def column_squares(self, centre: Array, weights: Array | None = None) -> Array:
        w = np.ones(self.shape[0]) if weights is None else weights
        if self._by_column:

            def column_part(start: int, stop: int) -> Array:
                block = self._columns(start, stop) - centre[start:stop]
                return np.einsum("ij,ij,i->j", block, block, w)

            return np.concatenate(list(map_blocks(column_part, self.shape[1], self._column_size())))

        def part(start: int, stop: int) -> Array:
            block = self.block(start, stop) - centre
            np.square(block, out=block)
            return w[start:stop] @ block

        return sum_blocks(part, self.shape[0], self._size)


class SparseDesign(Design):
    """A SciPy CSR or CSC matrix or array; never densified beyond d × d results that the method itself needs."""

    is_sparse = True

    def __init__(self, X: Any) -> None:
        self.X = X if X.format in ("csr", "csc") else X.tocsr()
        self.shape = (X.shape[0], X.shape[1])

    def block(self, start: int, stop: int) -> Array:
        if self.X.format != "csr" and not hasattr(self, "_csr"):
            self._csr = self.X.tocsr()
        rows = self.X if self.X.format == "csr" else self._csr
        return np.asarray(rows[start:stop].toarray(), dtype=np.float64)

    def _product(self, matrix: Any, vector: Array) -> Array:
        result: Array = np.asarray(matrix @ vector, dtype=np.float64)
        return result

    def matvec(self, coef: Array) -> Array:
        return self._product(self.X, np.asarray(coef, dtype=np.float64))

    def rmatvec(self, rows: Array) -> Array:
        return self._product(self.X.T, np.asarray(rows, dtype=np.float64))

    def gram(self, weights: Array | None = None) -> Array:
        X = self.X.astype(np.float64, copy=False)
        scaled = X if weights is None else sparse.diags_array(weights) @ X
        return np.asarray((X.T @ scaled).toarray(), dtype=np.float64)

    def moments(self, Y: Array, weights: Array | None = None, shift: Array | None = None) -> Moments:
        w = np.ones(self.shape[0]) if weights is None else weights
        total = float(w.sum())
        mean_x, mean_y = self.rmatvec(w) / total, w @ Y / total
        # a column that has an entry in every row can be moved to its mean and stay as sparse as it is: a huge mean of
        # any other column comes with a variance as huge
        moved = np.where(self._full(w), mean_x, 0.0)
        near = SparseDesign(self._with_entries(lambda x, column: x - moved[column])) if moved.any() else self
        offset, centred = near.rmatvec(w) / total, Y - mean_y
        xx = near.gram(weights) - total * np.outer(offset, offset)
        # Σ w (y − ȳ) = 0, so what is left of the mean of x drops out of the cross moment
        xy, yy = near.rmatvec(w[:, None] * centred), np.einsum("i,ik,ik->k", w, centred, centred)
        return Moments(total, moved + offset, mean_y, xx, xy, yy)

    def _full(self, weights: Array) -> Array:
        """Which columns have an entry in every row of positive weight."""
        live = weights > 0
        if self.X.nnz < live.sum():
            return np.zeros(self.shape[1], dtype=bool)
        full: Array = self._with_entries(lambda x, column: np.ones_like(x)).T @ live.astype(float) == live.sum()
        return full

    def _with_entries(self, change: Callable[[Array, Array], Array]) -> Any:
        """A matrix of the same pattern whose entries are ``change`` of the entry and its column, in float64."""
        X = self.X
        if not X.has_canonical_format:  # an entry may be a sum of several
            X = X.copy()
            X.sum_duplicates()
        by_row = X.format == "csr"
        column = X.indices if by_row else np.repeat(np.arange(self.shape[1]), np.diff(X.indptr))
        return type(X)((change(X.data.astype(np.float64, copy=False), column), X.indices, X.indptr), shape=X.shape)

    def sweep(self, coef: Array, intercept: Any, pointwise: Pointwise, *, gram: bool = False) -> Pass:
        raw = self.matvec(coef)
        raw += intercept
        slope, curve = np.empty_like(raw), np.empty(len(raw))

        def part(start: int, stop: int) -> float:
            value, slope[start:stop], second = pointwise(start, stop, raw[start:stop])
            if second is not None:
                curve[start:stop] = second
            return value

        value = sum_blocks(part, self.shape[0], 1 << 15)
        base = Pass(value, self.rmatvec(slope), slope.sum(axis=0))
        if not gram:
            return base
        return Pass(value, base.gradient, base.gradient_sum, self.gram(curve), self.rmatvec(curve), float(curve.sum()))

    def take(self, columns: Array) -> SparseDesign:
        return SparseDesign(self.by_column()[:, columns].astype(np.float64, copy=False))

    def cross(self, other: Design, weights: Array) -> Array:
        assert isinstance(other, SparseDesign)
        return np.asarray((self.X.T @ (sparse.diags_array(weights) @ other.X)).toarray(), dtype=np.float64)

    def by_column(self) -> Any:
        """The CSC form, converted once and kept (a CSR input is copied for this)."""
        if self.X.format != "csc":
            if not hasattr(self, "_csc"):
                self._csc = self.X.tocsc()
            return self._csc
        return self.X

    def rows(self, index: Array) -> SparseDesign:
        return SparseDesign(self.X.tocsr()[index])

    def transposed(self) -> SparseDesign:
        return SparseDesign(self.X.T)

    def column_means(self, weights: Array | None = None) -> Array:
        w = np.full(self.shape[0], 1.0 / self.shape[0]) if weights is None else weights / weights.sum()
        return self.rmatvec(w)

    def column_squares(self, centre: Array, weights: Array | None = None) -> Array:
        w = np.ones(self.shape[0]) if weights is None else weights
        squares: Array = self._with_entries(lambda x, column: (x - centre[column]) ** 2).T @ w
        if not centre.any():
            return squares
        stored = self._with_entries(lambda x, column: np.ones_like(x)).T @ w
        absent = np.where(self._full(w), 0.0, np.maximum(w.sum() - stored, 0.0))  # weight of the rows without an entry
        return squares + centre**2 * absent
