"""The columns of a design as kernels read them, and Xᵀu of those columns only that may matter.

For any two vectors |xᵀu| ≤ |xᵀv| + ‖x‖ ‖u − v‖. A column that is far below the strength at which it enters stays below
it while the slopes move little, and need not be read again. Near the end of a fit, and along a path, that is most of X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.design import DenseDesign, Design, SparseDesign
from corollary.core.parallel import run_team
from corollary.core.types import Array

ENTRIES = 1 << 14  # in a block of columns that one thread takes
SHARE = 1 << 17  # entries that are worth another thread
WIDER = 1 + 1e-9  # rounding of norms and distances
BLUR = 1e-10  # relative, of a sum of squares about a mean


@dataclass(frozen=True)
class Columns:
    """Column j is data[starts[j]:starts[j + 1]], of those ``rows``; of all rows in order where ``rows`` is empty."""

    data: Array
    rows: Array
    starts: Array

    @classmethod
    def of(cls, design: Design) -> Columns | None:
        """None if the design does not lie in memory by columns (CSR is converted once, and kept)."""
        if isinstance(design, SparseDesign):
            X = design.by_column()
            return cls(X.data, X.indices, X.indptr.astype(np.int64, copy=False))
        if isinstance(design, DenseDesign) and design.X.flags.f_contiguous:
            n, d = design.shape
            return cls(design.X.T.reshape(-1), np.empty(0, dtype=np.int32), np.arange(d + 1) * n)
        return None

    @classmethod
    def some(cls, design: Design, wanted: Array) -> tuple[Columns, Array]:
        """The wanted columns where they lie, and their numbers there; a copy of them if they do not lie by columns."""
        laid = cls.of(design)
        if laid is not None:
            return laid, wanted
        laid = cls.of(design.take(wanted))
        assert laid is not None
        return laid, np.arange(len(wanted))

    def entries(self, columns: Array) -> int:
        """How many numbers those columns have."""
        return int((self.starts[columns + 1] - self.starts[columns]).sum())

    def products(self, columns: Array, vector: Array, out: Array) -> None:
        """out[j] = xⱼᵀ vector for those columns."""
        from corollary._compiled.linear import columns as kernels

        size, most = _shares(self.entries(columns), len(columns))
        run_team(kernels.products, self.data, self.rows, self.starts, columns, size, vector, out, most=most)

    def move(self, columns: Array, step: Array, out: Array) -> None:
        """out += X[:, columns] · step."""
        from corollary._compiled.linear import columns as kernels

        kernels.add_columns(self.data, self.rows, self.starts, columns, step, out)

    def bowls(self, columns: Array, curve: Array, free: bool) -> tuple[Array, Array]:
        """The means of those columns by ``curve``, or zero unless ``free``, and Σ curve (x − mean)²."""
        from corollary._compiled.linear import columns as kernels

        centre, norms = np.empty(len(columns)), np.empty(len(columns))
        kernels.curvatures(self.data, self.rows, self.starts, columns, curve, free, centre, norms)
        return centre, norms


def _shares(entries: int, columns: int) -> tuple[int, int]:
    """Columns in a block, and threads that are worth their while."""
    return max(1, ENTRIES * columns // max(entries, 1)), max(1, entries // SHARE)


class Pulls:
    """Xᵀ slope for slopes that come one after another, exact where it may reach a strength."""

    def __init__(self, columns: Columns, shape: tuple[int, int], centred: bool) -> None:
        self.columns, self.shape, self.centred = columns, shape, centred
        self.slope: Array | None = None

    def at(self, slope: Array, strength: float, used: Array) -> Array:
        """Xᵀ slope of the columns in use and of all that may be as large as ``strength``.

        Of the others it is that of earlier slopes, and less than ``strength`` then as now. If ``centred``, Σ slope = 0.
        """
        if self.slope is None:
            self._look(slope)
        else:
            away = slope - self.slope
            self.drift += WIDER * np.sqrt(away @ away)
            below = np.abs(self.gradient) + self.norms * self.drift < strength
            below[used] = False
            asked = np.flatnonzero(~below)
            self.columns.products(asked, slope, self.gradient)
            self.drift[asked] = 0.0
        self.slope = slope
        return self.gradient.copy()

    def _look(self, slope: Array) -> None:
        """All columns, and their lengths; about their means where adding a constant to a column changes nothing."""
        from corollary._compiled.linear import columns as kernels

        n, d = self.shape
        self.gradient, self.drift, means, squares = np.empty(d), np.zeros(d), np.empty(d), np.empty(d)
        columns = self.columns
        size, most = _shares(len(columns.data), d)
        given = columns.data, columns.rows, columns.starts
        run_team(kernels.first_look, *given, size, slope, self.gradient, means, squares, most=most)
        means *= self.centred / n
        self.means, self.squares = means, np.maximum(squares - n * means**2, 0.0)
        self.norms = WIDER * np.sqrt(self.squares + BLUR * squares * self.centred)

    def bowls(self, columns: Array, weight: float) -> tuple[Array, Array]:
        """The means of those columns, and Σ weight (x − mean)²."""
        return self.means[columns], weight * self.squares[columns]
