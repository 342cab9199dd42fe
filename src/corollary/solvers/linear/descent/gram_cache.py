"""The Gram matrix of the columns a coordinate solver has met so far.

For the squared loss it does not change during a fit, nor along a path of penalties, so each pair of columns is
multiplied once. Storage grows by doubling: n × s for the columns and s × s for their products.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from corollary.core.design import DenseDesign, Design, SparseDesign
from corollary.core.problem import Problem
from corollary.core.types import Array


class GramCache:
    """Columns of ``problem.design`` in order of arrival, with H = XᵀWX about their weighted means.

    ``H`` is a buffer that may be larger than the columns in use: entry (i, j) is valid for i, j < len(columns).
    """

    def __init__(self, problem: Problem) -> None:
        self.design, self.weights, self.centred = problem.design, problem.weights, problem.fit_intercept
        n, d = self.design.shape
        self.means = self.design.column_means(self.weights) if self.centred else np.zeros(d)
        self.columns = np.empty(0, dtype=np.intp)
        self.H = np.empty((0, 0))
        self._place = np.full(d, -1)  # of each column of X among the cached ones
        self._buffer = np.empty((n, 0), order="F")
        self._store: Design | None = None

    def gram(self, wanted: Array) -> tuple[Array, Array]:
        """A working set that contains the wanted columns, and a buffer with its Gram matrix.

        Cached columns that stay at zero cost little in coordinate descent, so all of them come along unless they are
        many; cutting a part out of the buffer costs a copy.
        """
        self._ensure(wanted)
        if len(self.columns) <= 1.3 * len(wanted):
            return self.columns, self.H
        places = self._place[wanted]
        return wanted, self.H[np.ix_(places, places)]

    def _ensure(self, wanted: Array) -> None:
        """Add the wanted columns that are missing."""
        missing = wanted[self._place[wanted] < 0]
        if missing.size == 0:
            return
        new = self.design.take(missing)
        old = len(self.columns)
        self._place[missing] = np.arange(old, old + len(missing))
        self.columns = np.concatenate([self.columns, missing])
        store = self._extend(new, old)
        strip = store.cross(new, self.weights)
        if self.centred:
            strip -= np.outer(self.means[self.columns], self.weights.sum() * self.means[missing])
        count = len(self.columns)
        if count > len(self.H):
            larger = np.empty((max(count, 2 * old, 128),) * 2)
            larger[:old, :old] = self.H[:old, :old]
            self.H = larger
        self.H[:count, old:count] = strip
        self.H[old:count, :old] = strip[:old].T

    def _extend(self, new: Design, old: int) -> Design:
        """All columns, the new ones included, as one design."""
        if isinstance(new, SparseDesign):
            before = [self._store.X] if isinstance(self._store, SparseDesign) else []
            self._store = SparseDesign(sparse.hstack([*before, new.X], format="csc"))
            return self._store
        assert isinstance(new, DenseDesign)
        count = old + new.shape[1]
        if count > self._buffer.shape[1]:
            larger = np.empty((self._buffer.shape[0], max(count, 2 * old, 64)), order="F")
            larger[:, :old] = self._buffer[:, :old]
            self._buffer = larger
        self._buffer[:, old:count] = new.X
        self._store = DenseDesign(self._buffer[:, :count])
        return self._store

    def product(self, columns: Array, step: Array) -> Array:
        """X[:, columns] · step for cached columns (not centred)."""
        if self._store is None:  # no column was ever asked for
            return np.zeros(self.design.shape[0])
        full = np.zeros(len(self.columns))
        full[self._place[columns]] = step
        return self._store.matvec(full)
