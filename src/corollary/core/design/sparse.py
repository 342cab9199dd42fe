"""SciPy CSR and CSC matrices or arrays, and views of them; never densified beyond what the method itself needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.design.base import Design, Pass, Pointwise, with_constants
from corollary.core.design.view import View
from corollary.core.parallel import block_rows, sum_blocks
from corollary.core.summary import Moments, weighted_mean
from corollary.core.types import Array


class _ByProducts(Design):
    """What is worked out from products with vectors and Gram matrices."""

    is_sparse = True

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

    def view(self, *, centre: Array | None = None, scale: Array | None = None, rows: Array | None = None) -> SparseView:
        return SparseView(self, centre=centre, scale=scale, rows=rows)


class SparseDesign(_ByProducts):
    """A CSR or CSC matrix or array."""

    def __init__(self, X: Any) -> None:
        self.X = X if X.format in ("csr", "csc") else X.tocsr()
        self.shape, self.dtype = (X.shape[0], X.shape[1]), X.dtype
        self._size = block_rows(X.shape[0], 8 * X.shape[1])

    def block(self, start: int, stop: int) -> Array:
        if self.X.format != "csr" and not hasattr(self, "_csr"):
            self._csr = self.X.tocsr()
        rows = self.X if self.X.format == "csr" else self._csr
        return np.asarray(rows[start:stop].toarray(), dtype=np.float64)

    def matrix(self) -> Any:
        return self.X

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
        divisor = total or 1.0  # a block of rows may be without any weight
        mean_x, mean_y = self.rmatvec(w) / divisor, weighted_mean(Y, w)
        # a column that has an entry in every row can be moved to its mean and stay as sparse as it is: a huge mean of
        # any other column comes with a variance as huge
        moved = np.where(self._full(w), with_constants(mean_x, self.block(0, 1)[0]), 0.0)
        near = SparseDesign(self._with_entries(lambda x, column: x - moved[column])) if moved.any() else self
        offset, centred = near.rmatvec(w) / divisor, Y - mean_y
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

    def column_squares(self, centre: Array, weights: Array | None = None) -> Array:
        w = np.ones(self.shape[0]) if weights is None else weights
        squares: Array = self._with_entries(lambda x, column: (x - centre[column]) ** 2).T @ w
        if not centre.any():
            return squares
        stored = self._with_entries(lambda x, column: np.ones_like(x)).T @ w
        absent = np.where(self._full(w), 0.0, np.maximum(w.sum() - stored, 0.0))  # weight of the rows without an entry
        return squares + centre**2 * absent

    def column_largest(self) -> Array:
        largest: Array = abs(self.X).max(axis=0).toarray().ravel().astype(np.float64)
        return largest


class SparseView(View, _ByProducts):
    """Centred by corrections of rank one; the matrix keeps its zeros."""

    def gram(self, weights: Array | None = None) -> Array:
        if self.factors is not None:
            weights = self.factors**2 if weights is None else weights * self.factors**2
        if self.centre is not None:  # by way of the mean, so that nothing cancels
            found = self.base.moments(np.zeros((self.shape[0], 0)), weights)
            away = found.mean_x - self.centre
            product = found.xx + found.weight * np.outer(away, away)
        else:
            product = self.base.gram(weights)
        if self.row_centre is not None:
            pulled = self.row_centre if weights is None else weights * self.row_centre
            cross = self.base.rmatvec(pulled)
            product = product - cross[:, None] - cross + self.row_centre @ pulled
        return product if self.scale is None else product * np.outer(self.scale, self.scale)

    def column_squares(self, centre: Array, weights: Array | None = None) -> Array:
        if self.factors is not None or self.row_centre is not None:
            return super().column_squares(centre, weights)
        scale = np.ones(self.shape[1]) if self.scale is None else np.where(self.scale == 0, 1.0, self.scale)
        return scale**2 * self.base.column_squares(
            centre / scale + (0.0 if self.centre is None else self.centre), weights
        )

    def take(self, columns: Array) -> SparseView:
        return self._of_columns(columns)
