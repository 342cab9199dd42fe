"""The matrix X as the operations that solvers need.

X is never copied whole: dense work goes block by block through a buffer of a few megabytes, in float64 whatever the
input, and blocks are merged in a fixed order so that the number of threads does not change a single bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from corollary.core.parallel import map_blocks
from corollary.core.summary import Moments
from corollary.core.types import Array

T = TypeVar("T")

# pointwise(start, stop, raw) -> (sum of losses, first derivatives, second derivatives or None) for rows start:stop
Pointwise = Callable[[int, int, Array], tuple[Any, Array, Array | None]]
# task(start, stop, rows start:stop as a dense array that the next call may overwrite)
RowTask = Callable[[int, int, Array], T]


@dataclass(frozen=True)
class Pass:
    """What one pass over the rows gives: Σ loss, Xᵀg, Σ g, and, if asked, the weighted Gram matrix with its border."""

    value: Any
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
    """X (n × d). ``dtype`` is that of the data as given; every result is in float64."""

    shape: tuple[int, int]
    dtype: Any
    is_sparse: bool
    resident: ClassVar[bool] = True  # X lies in memory: a part of it costs no pass over the whole
    sample_every: int = 1  # the step between rows of a sample that is small enough to copy
    _size: int  # rows in a block

    @abstractmethod
    def block(self, start: int, stop: int) -> Array:
        """Rows start:stop as a dense float64 array (not a copy where that is possible)."""

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
    def rows(self, index: Array) -> Design:
        """A design of those rows only (a copy of that part)."""

    @abstractmethod
    def transposed(self) -> Design:
        """The design whose rows are the columns of this one (a view)."""

    @abstractmethod
    def view(self, *, centre: Array | None = None, scale: Array | None = None, rows: Array | None = None) -> Design:
        """diag(rows) (X − 1 centreᵀ) diag(scale), with every operation, without a copy of X."""

    def plain_rows(self) -> tuple[Array, Array] | None:
        """An array with a row of X after the other in memory, and what is taken from each; None if that is not X."""
        return None

    def map_rows(self, task: RowTask[T], size: int | None = None) -> Iterator[T]:
        """``task(start, stop, rows)`` for consecutive blocks of rows, in order, computed on threads, in one pass."""
        return map_blocks(lambda a, b: task(a, b, self.block(a, b)), self.shape[0], size or self._size)

    def sum_rows(self, task: RowTask[T], size: int | None = None) -> T:
        """The sum of ``map_rows``, in the order of the rows."""
        total: Any = None
        for part in self.map_rows(task, size):
            total = part if total is None else total + part
        result: T = total
        return result

    def in_memory(self) -> Design:
        """The same X where every operation is cheap: itself, unless it is read from blocks."""
        return self

    def matrix(self) -> Any:
        """X itself, as an array or a sparse matrix; a view is worked out."""
        return self.block(0, self.shape[0])

    def cross(self, other: Design, weights: Array) -> Array:
        """Xᵀ diag(weights) Z for another design Z of the same kind and rows."""
        return self.rmatvec(other.matrix() * weights[:, None])

    def column_means(self, weights: Array | None = None) -> Array:
        """Weighted mean of each column."""
        w = np.full(self.shape[0], 1.0 / self.shape[0]) if weights is None else weights / weights.sum()
        return self.rmatvec(w)

    def middle(self, weights: Array | None = None) -> Array:
        """Near the weighted mean of each column; of a column whose values are all equal, that value exactly.

        Less its centre, a constant column is exactly zero, and nothing but a constant column is.
        """
        return with_constants(self.column_means(weights), self.block(0, 1)[0])

    def column_squares(self, centre: Array, weights: Array | None = None) -> Array:
        """Σ w (x − centre)² of each column."""
        w = np.ones(self.shape[0]) if weights is None else weights

        def part(start: int, stop: int, rows: Array) -> Array:
            rows = rows - centre
            np.square(rows, out=rows)
            return w[start:stop] @ rows

        return self.sum_rows(part)

    def column_largest(self) -> Array:
        """max |x| of each column."""
        return np.max(list(self.map_rows(lambda a, b, rows: np.abs(rows).max(axis=0))), axis=0)


def with_constants(mean: Array, first: Array) -> Array:
    """The means of columns, but of one that may be constant, by its first entry, that entry."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.abs(first - mean) <= 1e-9 * np.abs(mean), first, mean)
