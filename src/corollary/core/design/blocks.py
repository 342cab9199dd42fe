"""Rows that are read again, block by block, for every pass: X never lies in memory, vectors of length n do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from corollary.core.blocks import BlockSource, Executor, Source, serial
from corollary.core.design.base import Design, Pass, Pointwise, RowTask
from corollary.core.design.dense import DenseDesign
from corollary.core.design.sparse import SparseDesign
from corollary.core.door.reach import largest_seen
from corollary.core.memory import check_memory
from corollary.core.parallel import block_rows
from corollary.core.summary import Moments
from corollary.core.types import Array

T = TypeVar("T")
Part = tuple[int, Design]  # the number of its first row, and a block of rows

SAMPLE_BYTES = 1 << 28  # a part of the rows may be copied that takes so much memory


class BlockDesign(Design):
    """X as the rows of ``parts``, which are read from the first to the last in every pass.

    Each operation is one pass, unless it says otherwise; what it adds up is added in the order of the blocks. A part
    that is asked for (``take``, ``rows``, ``block``) is put together in memory.
    """

    resident = False
    largest: Array  # |x| of each column, as far as ``gather`` has seen

    def __init__(
        self,
        parts: Iterable[Part],
        shape: tuple[int, int],
        dtype: Any,
        *,
        nbytes: float,
        is_sparse: bool,
        executor: Executor = serial,
    ) -> None:
        self.parts, self.shape, self.dtype, self.is_sparse, self.executor = parts, shape, dtype, is_sparse, executor
        self.nbytes = nbytes  # of all rows together
        self._size = block_rows(shape[0], 8 * shape[1])
        self.sample_every = max(1, int(np.ceil(nbytes / SAMPLE_BYTES)))
        self._whole: Design | None = None

    def _read(self) -> Iterator[Part]:
        """The blocks of one pass; their rows must be as many as before."""
        count = 0
        for start, part in self.parts:
            count += part.shape[0]
            yield start, part
            del part  # before the next one is made
        if count != self.shape[0]:
            raise ValueError(
                f"The blocks had {self.shape[0]} rows when they were first read and {count} now. Blocks must give the "
                "same rows in every pass."
            )

    def _each(self, task: Callable[[int, Design], T]) -> Iterator[T]:
        return self.executor(lambda part: task(*part), self._read())

    def _sum(self, task: Callable[[int, Design], T]) -> T:
        total: Any = None
        for part in self._each(task):
            total = part if total is None else total + part
        result: T = total
        return result

    def map_rows(self, task: RowTask[T], size: int | None = None) -> Iterator[T]:
        def work(start: int, part: Design) -> list[T]:
            return list(part.map_rows(lambda a, b, rows: task(start + a, start + b, rows), size))

        for found in self._each(work):
            yield from found

    def matvec(self, coef: Array) -> Array:
        return np.concatenate(list(self._each(lambda start, part: part.matvec(coef))))

    def rmatvec(self, rows: Array) -> Array:
        return self._sum(lambda start, part: part.rmatvec(_of_part(rows, start, part)))

    def gram(self, weights: Array | None = None) -> Array:
        return self._sum(lambda start, part: part.gram(_of_part(weights, start, part)))

    def moments(self, Y: Array, weights: Array | None = None, shift: Array | None = None) -> Moments:
        def work(start: int, part: Design) -> Moments:
            return part.moments(_of_part(Y, start, part), _of_part(weights, start, part), shift)

        return self._sum(work)

    def sweep(self, coef: Array, intercept: Any, pointwise: Pointwise, *, gram: bool = False) -> Pass:
        def work(start: int, part: Design) -> Pass:
            return part.sweep(coef, intercept, lambda a, b, raw: pointwise(start + a, start + b, raw), gram=gram)

        return self._sum(work)

    def column_squares(self, centre: Array, weights: Array | None = None) -> Array:
        return self._sum(lambda start, part: part.column_squares(centre, _of_part(weights, start, part)))

    def column_largest(self) -> Array:
        return np.max(list(self._each(lambda start, part: part.column_largest())), axis=0)

    def view(
        self, *, centre: Array | None = None, scale: Array | None = None, rows: Array | None = None
    ) -> BlockDesign:
        def change(start: int, part: Design) -> Part:
            return start, part.view(centre=centre, scale=scale, rows=_of_part(rows, start, part))

        return self.changed(change)

    def rows(self, index: Array) -> Design:
        """A copy of a small part; of a large one, if it is in order, a view that skips the others in every pass."""
        index = np.asarray(index)
        large = self.nbytes * len(index) > SAMPLE_BYTES * self.shape[0]
        if large and (np.diff(index) > 0).all():
            return self.changed(partial(_chosen, index), (len(index), self.shape[1]))
        order = np.argsort(index, kind="stable")
        sought = self.changed(partial(_chosen, index[order]), (len(index), self.shape[1]))
        found = sought._joined(f"A copy of {len(index)} rows of X", "choose fewer")
        return found if (np.diff(order) > 0).all() else found.rows(np.argsort(order))

    def take(self, columns: Array) -> Design:
        def change(start: int, part: Design) -> Part:
            return start, part.take(columns)

        narrow = self.changed(change, (self.shape[0], len(columns)))
        narrow.dtype = np.dtype(np.float64)
        return narrow._joined(
            f"A copy of {len(columns)} columns of X", "let a stronger penalty choose fewer", order="F"
        )

    def block(self, start: int, stop: int) -> Array:
        """Reads up to the last of these rows."""
        found = []
        for first, part in self.parts:
            if first >= stop:
                break
            lo, hi = max(start - first, 0), min(stop - first, part.shape[0])
            if lo < hi:
                found.append(np.array(part.block(lo, hi)))
            del part
        return np.concatenate(found) if found else np.empty((0, self.shape[1]))

    def matrix(self) -> Any:
        return self.in_memory().matrix()

    def transposed(self) -> Design:
        """Of X in memory: methods that go by columns are for X with few rows."""
        return self.in_memory().transposed()

    def in_memory(self) -> Design:
        if self._whole is None:
            self._whole = self._joined("X, of which this method needs all rows at once,", "use fewer rows or columns")
        return self._whole

    def _joined(self, what: str, instead: str, order: Any = "C") -> Design:
        """All parts in one, in the order of memory that is asked for."""
        if self.is_sparse:
            parts = list(self._each(lambda start, part: part.matrix()))
            if not all(sparse.issparse(part) for part in parts):  # views that are centred
                return DenseDesign(np.concatenate(parts))
            return SparseDesign(sparse.vstack(parts, format="csr" if order == "C" else "csc"))
        check_memory(self.shape[0] * self.shape[1] * np.dtype(self.dtype).itemsize, what, instead)
        out = np.empty(self.shape, dtype=self.dtype, order=order)
        for start, X in self._each(lambda start, part: (start, part.matrix())):
            out[start : start + X.shape[0]] = X.toarray() if sparse.issparse(X) else X
        return DenseDesign(out)

    def changed(self, change: Callable[[int, Design], Part], shape: tuple[int, int] | None = None) -> BlockDesign:
        """The same blocks, each changed when it is read: ``change`` gets and gives its first row and its design."""
        (n, d), (rows, columns) = self.shape, shape or self.shape
        nbytes, parts = self.nbytes * (rows / n) * (columns / d), _Changed(self.parts, change)
        kind: dict[str, Any] = {"is_sparse": self.is_sparse, "executor": self.executor}
        return BlockDesign(parts, (rows, columns), self.dtype, nbytes=nbytes, **kind)


class _Changed:
    """The same blocks, each changed when it is read; those without rows are left out."""

    def __init__(self, parts: Iterable[Part], change: Callable[[int, Design], Part]) -> None:
        self.parts, self.change = parts, change

    def __iter__(self) -> Iterator[Part]:
        for start, part in self.parts:
            at, changed = self.change(start, part)
            del part
            if changed.shape[0]:
                yield at, changed
            del changed


class _Placed:
    """The blocks of a source, each with the number of its first row."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __iter__(self) -> Iterator[Part]:
        start = 0
        for X, *_ in self.source:
            part = as_design(X)
            del X, _
            yield start, part
            start += part.shape[0]
            del part


def gather(source: BlockSource) -> tuple[BlockDesign, Array, Array]:
    """The rows of checked blocks (X, y, weights) as a design, with y and the weights of all rows. One pass."""
    targets, weights, dtypes, sparse_blocks, columns, nbytes = [], [], [], [], 0, 0.0
    largest: Any = 0.0
    for X, y, w in source:
        largest = np.maximum(largest, largest_seen(X))
        targets.append(y)
        weights.append(w)
        dtypes.append(X.dtype)
        sparse_blocks.append(sparse.issparse(X))
        columns = X.shape[1]
        nbytes += X.data.nbytes + X.indices.nbytes if sparse_blocks[-1] else X.nbytes
        del X
    if not targets:
        raise ValueError("blocks is empty: there are no rows to learn from.")
    y, w = np.concatenate(targets), np.concatenate(weights)
    shape, dtype = (len(y), columns), np.result_type(*dtypes)
    kind: dict[str, Any] = {"is_sparse": all(sparse_blocks), "executor": source.executor}
    design = BlockDesign(_Placed(source), shape, dtype, nbytes=nbytes, **kind)
    design.largest = largest
    return design, y, w


def as_design(X: Any) -> Design:
    """Wrap a validated array or SciPy sparse matrix; a design is returned as it is."""
    if isinstance(X, Design):
        return X
    return SparseDesign(X) if sparse.issparse(X) else DenseDesign(np.asarray(X))


def _of_part(rows: Array | None, start: int, part: Design) -> Any:
    """What belongs to the rows of a block."""
    return None if rows is None else rows[start : start + part.shape[0]]


def _chosen(index: Array, start: int, part: Design) -> Part:
    """The rows of a block that are in ``index``, which is in order."""
    lo, hi = np.searchsorted(index, (start, start + part.shape[0]))
    return int(lo), part.rows(index[lo:hi] - start)
