"""NumPy arrays, C or Fortran order, float32 or float64, and views of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from corollary.core.design.base import Design, Pass, Pointwise, RowTask, T, with_constants
from corollary.core.design.view import View
from corollary.core.parallel import add_blocks, block_rows, each_block, map_blocks, sum_blocks
from corollary.core.summary import Moments, products_about, weighted_mean
from corollary.core.types import Array

MOMENT_BYTES = 1 << 20  # rows that are multiplied at once: they stay in a core's second cache
SUMMED, SHARES = 16, 64  # so many of those at most are a task; fewer, if that leaves fewer tasks than threads may want


class Scratch(threading.local):
    """Space for one block of rows, one for each thread: fresh memory for every block would cost as much as the work."""

    def __init__(self, rows: int, columns: int, order: Literal["C", "F"] = "C") -> None:
        self.rows = np.empty((rows, columns), order=order)


class _ByRows(Design):
    """What is worked out from dense blocks of rows."""

    is_sparse = False

    def gram(self, weights: Array | None = None) -> Array:
        def part(start: int, stop: int, rows: Array) -> Array:
            if weights is not None:
                rows = rows * np.sqrt(weights[start:stop])[:, None]
            return rows.T @ rows

        return self.sum_rows(part)

    def sweep(self, coef: Array, intercept: Any, pointwise: Pointwise, *, gram: bool = False) -> Pass:
        def part(start: int, stop: int, rows: Array) -> Pass:
            raw = rows @ coef
            raw += intercept
            value, slope, curve = pointwise(start, stop, raw)
            base = Pass(value, rows.T @ slope, slope.sum(axis=0))
            if not gram or curve is None:
                return base
            scaled = rows * np.sqrt(curve)[:, None]
            return Pass(value, base.gradient, base.gradient_sum, scaled.T @ scaled, rows.T @ curve, float(curve.sum()))

        return self.sum_rows(part)

    def view(self, *, centre: Array | None = None, scale: Array | None = None, rows: Array | None = None) -> DenseView:
        return DenseView(self, centre=centre, scale=scale, rows=rows)


class DenseDesign(_ByRows):
    """An array, never copied whole."""

    def __init__(self, X: Array) -> None:
        self.X = X
        self.shape, self.dtype = (X.shape[0], X.shape[1]), X.dtype
        # short and wide in Fortran order: rows are scattered, so split the columns instead
        self._by_column = X.flags.f_contiguous and not X.flags.c_contiguous
        self._size = block_rows(X.shape[0], 8 * X.shape[1])

    def block(self, start: int, stop: int) -> Array:
        return self.X[start:stop].astype(np.float64, copy=False)

    def matrix(self) -> Array:
        return self.X

    def plain_rows(self) -> tuple[Array, Array] | None:
        return (self.X, np.zeros(self.shape[1])) if self.X.flags.c_contiguous else None

    def _columns(self, start: int, stop: int) -> Array:
        return self.X[:, start:stop].astype(np.float64, copy=False)

    def _column_size(self) -> int:
        return block_rows(self.shape[1], 8 * self.shape[0])

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

    def moments(self, Y: Array, weights: Array | None = None, shift: Array | None = None) -> Moments:
        (n, d), centre = self.shape, shift
        if centre is None and not self._about_zero(weights):
            with np.errstate(over="ignore", invalid="ignore"):
                centre = with_constants(self._about(weights), self.X[0].astype(np.float64))
        at_once = max(64, MOMENT_BYTES // (8 * (d + 1)))
        size = at_once * min(SUMMED, -(-n // (SHARES * at_once)))
        scratch = Scratch(0 if centre is None else min(at_once, n), d + 1, "F" if self._by_column else "C")
        mean_y = weighted_mean(Y, weights)
        centred = Y - mean_y

        def part(start: int, stop: int) -> Array:
            if centre is None and weights is None:  # rows are read where they lie, however many
                return products_about(self.X[start:stop], centred[start:stop], None, None)
            total = np.zeros((d + 2, d + 1 + Y.shape[1]))
            for first in range(start, stop, at_once):
                own = slice(first, min(first + at_once, stop))
                w = None if weights is None else weights[own]
                total += products_about(self.X[own], centred[own], w, centre, scratch.rows)
            return total

        return Moments.from_products(add_blocks(part, n, size), d, 0.0 if centre is None else centre, mean_y)

    def _about_zero(self, weights: Array | None) -> bool:
        """Whether columns lie about zero, as a few rows show: their products lose no digits, and no copy is needed."""
        if weights is not None or self.X.dtype != np.float64 or self.X.nbytes < MOMENT_BYTES:
            return False
        few = self.X[:: max(1, self.shape[0] // 64)]
        with np.errstate(over="ignore", invalid="ignore"):
            return bool((np.abs(few.mean(axis=0)) <= 2 * few.std(axis=0)).all())

    def _about(self, weights: Array | None) -> Array:
        """The mean of a few rows, by their weights: a row of weight zero, however far away, must not lead there."""
        few = np.arange(0, self.shape[0], max(1, self.shape[0] // 64))
        if weights is None:
            return np.asarray(self.X[few].mean(axis=0, dtype=np.float64))
        few = np.union1d(few, np.argmax(weights))
        return np.asarray(weights[few] @ self.X[few].astype(np.float64) / (weights[few].sum() or 1.0))

    def take(self, columns: Array) -> DenseDesign:
        out = np.empty((self.shape[0], len(columns)), order="F")

        def work(start: int, stop: int) -> None:  # block by block: a part of X in its own type would be a second copy
            out[start:stop] = self.X[start:stop, columns]

        each_block(work, self.shape[0], self._size)
        return DenseDesign(out)

    def rows(self, index: Array) -> DenseDesign:
        index = np.asarray(index)
        out = np.empty((len(index), self.shape[1]), dtype=self.X.dtype)

        def work(start: int, stop: int) -> None:
            np.take(self.X, index[start:stop], axis=0, out=out[start:stop], mode="clip")

        each_block(work, len(index), block_rows(len(index), 64 * self.shape[1]))
        return DenseDesign(out)

    def transposed(self) -> DenseDesign:
        return DenseDesign(self.X.T)

    def column_squares(self, centre: Array, weights: Array | None = None) -> Array:
        if not self._by_column:
            return super().column_squares(centre, weights)
        w = np.ones(self.shape[0]) if weights is None else weights

        def part(start: int, stop: int) -> Array:
            block = self._columns(start, stop) - centre[start:stop]
            return np.einsum("ij,ij,i->j", block, block, w)

        return np.concatenate(list(map_blocks(part, self.shape[1], self._column_size())))


class DenseView(View, _ByRows):
    """Rows are shifted and scaled in a buffer; products with vectors are corrected instead."""

    def map_rows(self, task: RowTask[T], size: int | None = None) -> Iterator[T]:
        size = min(size or self._size, self.shape[0])
        scratch = Scratch(size, self.shape[1])

        def work(start: int, stop: int) -> T:
            rows = self._worked_out(self.base.block(start, stop), start, stop, scratch.rows[: stop - start])
            return task(start, stop, rows)

        return map_blocks(work, self.shape[0], size)

    def plain_rows(self) -> tuple[Array, Array] | None:
        found = self.base.plain_rows()
        moved = found is not None and self.centre is not None and not found[1].any()
        only = self.scale is None and self.factors is None and self.row_centre is None
        return (found[0], self.centre) if found is not None and self.centre is not None and moved and only else None

    def take(self, columns: Array) -> DenseDesign:
        return DenseDesign(np.asfortranarray(self._of_columns(columns).block(0, self.shape[0])))
