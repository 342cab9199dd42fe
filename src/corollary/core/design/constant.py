"""X with one more column, whose entries are all the same number: the intercept, where it is penalised like the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from corollary.core.design.base import Design
from corollary.core.design.blocks import BlockDesign
from corollary.core.design.dense import DenseDesign, _ByRows
from corollary.core.design.sparse import SparseDesign
from corollary.core.parallel import block_rows
from corollary.core.summary import Moments
from corollary.core.types import Array


def with_constant(design: Design, value: float) -> Design:
    """The design with a last column of that value. Dense X is not copied; of a sparse one, the entries are."""
    if isinstance(design, BlockDesign):
        n, d = design.shape
        return design.changed(lambda start, part: (start, with_constant(part, value)), (n, d + 1))
    if isinstance(design, SparseDesign):
        X = design.matrix()
        column = sparse.csr_array(np.full((X.shape[0], 1), value, dtype=X.dtype))
        return SparseDesign(sparse.hstack([X, column], format=X.format))
    return WithConstant(design, value)


class WithConstant(_ByRows):
    """Dense X with a last column that is worked out in every block."""

    def __init__(self, base: Design, value: float) -> None:
        self.base, self.value = base, value
        self.shape, self.dtype = (base.shape[0], base.shape[1] + 1), base.dtype
        self._size = block_rows(self.shape[0], 16 * self.shape[1])

    def block(self, start: int, stop: int) -> Array:
        rows = self.base.block(start, stop)
        out = np.empty((len(rows), self.shape[1]))
        out[:, :-1], out[:, -1] = rows, self.value
        return out

    def matvec(self, coef: Array) -> Array:
        return self.base.matvec(coef[:-1]) + self.value * coef[-1]

    def rmatvec(self, rows: Array) -> Array:
        last = self.value * rows.sum(axis=0)
        return np.concatenate([self.base.rmatvec(rows), np.asarray(last)[None]])

    def moments(self, Y: Array, weights: Array | None = None, shift: Array | None = None) -> Moments:
        found = self.base.moments(Y, weights, None if shift is None else shift[:-1])
        d = len(found.mean_x)
        xx, xy = np.zeros((d + 1, d + 1)), np.zeros((d + 1, found.xy.shape[1]))
        xx[:d, :d], xy[:d] = found.xx, found.xy
        return replace(found, mean_x=np.append(found.mean_x, self.value), xx=xx, xy=xy)

    def take(self, columns: Array) -> Design:
        columns = np.asarray(columns)
        last = columns == self.shape[1] - 1
        out = np.empty((self.shape[0], len(columns)), order="F")
        out[:, last] = self.value
        if not last.all():
            out[:, ~last] = self.base.take(columns[~last]).matrix()
        return DenseDesign(out)

    def rows(self, index: Array) -> Design:
        return WithConstant(self.base.rows(index), self.value)

    def transposed(self) -> Design:
        return DenseDesign(self.matrix().T)
