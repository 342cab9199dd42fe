"""Views of a design: diag(rows) (X − correction) diag(scale), where X stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from corollary.core.design.base import Design
from corollary.core.parallel import block_rows
from corollary.core.summary import Moments, weighted_mean
from corollary.core.types import Array


class View(Design):
    """``centre`` is taken from every row; in a transposed view ``row_centre`` has a number for each row instead."""

    def __init__(
        self,
        base: Design,
        *,
        centre: Array | None = None,
        scale: Array | None = None,
        rows: Array | None = None,
        row_centre: Array | None = None,
    ) -> None:
        self.base, self.centre, self.scale, self.factors, self.row_centre = base, centre, scale, rows, row_centre
        self.shape, self.dtype = base.shape, base.dtype
        self._size = block_rows(self.shape[0], 16 * self.shape[1])  # rows, and the buffer that they go through

    def _of(self, base: Design, **parts: Any) -> Self:
        """A view of the same kind."""
        return type(self)(base, **parts)

    def _worked_out(self, rows: Array, start: int, stop: int, out: Array) -> Array:
        """Rows start:stop of the base as those of the view, written to ``out``."""
        if self.row_centre is not None:
            np.subtract(rows, self.row_centre[start:stop, None], out=out)
        else:
            np.subtract(rows, 0.0 if self.centre is None else self.centre, out=out)
        if self.scale is not None:
            out *= self.scale
        if self.factors is not None:
            out *= self.factors[start:stop, None]
        return out

    def block(self, start: int, stop: int) -> Array:
        return self._worked_out(self.base.block(start, stop), start, stop, np.empty((stop - start, self.shape[1])))

    def matvec(self, coef: Array) -> Array:
        coef = coef if self.scale is None else (coef.T * self.scale).T
        out = self.base.matvec(coef)
        if self.centre is not None:
            out -= self.centre @ coef
        if self.row_centre is not None:
            out -= np.multiply.outer(self.row_centre, coef.sum(axis=0))
        return out if self.factors is None else (out.T * self.factors).T

    def rmatvec(self, rows: Array) -> Array:
        rows = rows if self.factors is None else (rows.T * self.factors).T
        out = self.base.rmatvec(rows)
        if self.centre is not None:
            out -= np.multiply.outer(self.centre, rows.sum(axis=0))
        if self.row_centre is not None:
            out -= self.row_centre @ rows
        return out if self.scale is None else (out.T * self.scale).T

    def moments(self, Y: Array, weights: Array | None = None, shift: Array | None = None) -> Moments:
        if self.factors is None and self.row_centre is None:  # the moments of X, moved and scaled
            centre = 0.0 if self.centre is None else self.centre
            scale = np.ones(self.shape[1]) if self.scale is None else self.scale
            found = self.base.moments(Y, weights, None if shift is None else shift / scale + centre)
            xx, xy = found.xx * np.outer(scale, scale), found.xy * scale[:, None]
            return replace(found, mean_x=(found.mean_x - centre) * scale, xx=xx, xy=xy)
        w = np.ones(self.shape[0]) if weights is None else weights
        total = float(w.sum())
        mean, mean_y = self.rmatvec(w) / (total or 1.0), weighted_mean(Y, w)
        xx, centred = self.gram(weights) - total * np.outer(mean, mean), Y - mean_y
        xy = self.rmatvec(w[:, None] * centred)
        return Moments(total, mean, mean_y, xx, xy, np.einsum("i,ik,ik->k", w, centred, centred))

    def rows(self, index: Array) -> Self:
        at = {"rows": self.factors, "row_centre": self.row_centre}
        chosen = {name: None if values is None else values[index] for name, values in at.items()}
        return self._of(self.base.rows(index), centre=self.centre, scale=self.scale, **chosen)

    def transposed(self) -> Self:
        return self._of(
            self.base.transposed(),
            centre=self.row_centre,
            scale=self.factors,
            rows=self.scale,
            row_centre=self.centre,
        )

    def view(self, *, centre: Array | None = None, scale: Array | None = None, rows: Array | None = None) -> Self:
        return self._of(self, centre=centre, scale=scale, rows=rows)

    def _of_columns(self, columns: Array) -> Self:
        def chosen(values: Array | None) -> Array | None:
            return None if values is None else values[columns]

        parts = {"rows": self.factors, "row_centre": self.row_centre}
        return self._of(self.base.take(columns), centre=chosen(self.centre), scale=chosen(self.scale), **parts)
