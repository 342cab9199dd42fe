"""Rows that come in blocks and can be read more than once: arrays in memory, memory maps, files, tables in a list.

A model that is ``finish(Σ summarize(block))`` needs nothing of its data but :meth:`Source.total`. Where the rows lie
and who does the work (this thread, several, later a cluster) is decided by the source alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from copy import copy
from functools import partial
from os import PathLike
from typing import Any, TypeVar

from scipy.sparse import issparse

from corollary.core.door.sparse_input import sound
from corollary.core.parallel import map_each, sum_blocks
from corollary.core.summary import Summary

S = TypeVar("S", bound=Summary)
Block = tuple[Any, ...]  # arrays of equal length, one entry a row
Executor = Callable[[Callable[[Block], Any], Iterable[Block]], Iterator[Any]]


def serial(summarize: Callable[[Block], S], blocks: Iterable[Block]) -> Iterator[S]:
    """One block after the other: never more than one in memory."""
    return map(summarize, blocks)


def threads(summarize: Callable[[Block], S], blocks: Iterable[Block]) -> Iterator[S]:
    """Several blocks at once, at most two a thread in memory; results come in the order of the blocks."""
    return map_each(summarize, blocks)


EXECUTORS: dict[str, Executor] = {"serial": serial, "threads": threads}


class Source(ABC):
    """Rows in blocks."""

    @abstractmethod
    def __iter__(self) -> Iterator[Block]:
        """All blocks, from the first; may be called again and again."""

    @abstractmethod
    def total(self, summarize: Callable[[Block], S]) -> S:
        """Σ summarize(block), added in the order of the rows whoever does the work."""

    @abstractmethod
    def map(self, change: Callable[[Block], Block], size: int | None = None) -> Source:
        """The same rows after ``change``, which looks at each row by itself; ``size`` is that of the blocks."""


class ArraySource(Source):
    """Arrays in memory (or mapped to it), in blocks of ``size`` rows that threads share out."""

    def __init__(self, *arrays: Any, size: int) -> None:
        self.arrays, self.size = arrays, size

    def _block(self, start: int, stop: int) -> Block:
        return tuple(part[start:stop] for part in self.arrays)

    def __iter__(self) -> Iterator[Block]:
        n = self.arrays[0].shape[0]
        return (self._block(start, min(start + self.size, n)) for start in range(0, n, self.size))

    def total(self, summarize: Callable[[Block], S]) -> S:
        return sum_blocks(lambda start, stop: summarize(self._block(start, stop)), self.arrays[0].shape[0], self.size)

    def map(self, change: Callable[[Block], Block], size: int | None = None) -> ArraySource:
        return ArraySource(*change(self.arrays), size=size or self.size)


class BlockSource(Source):
    """Blocks that are read anew for every pass; ``size`` divides each further, for threads to share out."""

    def __init__(self, blocks: Iterable[Block], size: int | None = None, executor: str = "serial") -> None:
        self.blocks, self.size, self.executor = repeatable(blocks), size, EXECUTORS[executor]

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def total(self, summarize: Callable[[Block], S]) -> S:
        whole = summarize if self.size is None else partial(_divided, summarize, self.size)
        total: S | None = None
        for part in self.executor(whole, self.blocks):
            total = part if total is None else total + part
        if total is None:
            raise ValueError("blocks is empty: there are no rows to learn from.")
        return total

    def map(self, change: Callable[[Block], Block], size: int | None = None) -> BlockSource:
        mapped = copy(self)
        mapped.blocks, mapped.size = _Changed(self.blocks, change), size or self.size
        return mapped


class _Changed:
    """Blocks that are changed whenever they are read."""

    def __init__(self, blocks: Iterable[Block], change: Callable[[Block], Block]) -> None:
        self.blocks, self.change = blocks, change

    def __iter__(self) -> Iterator[Block]:
        return map(self.change, self.blocks)


def _divided(summarize: Callable[[Block], S], size: int, block: Block) -> S:
    return ArraySource(*block, size=size).total(summarize)


class NotAnArrayError(TypeError):
    """Blocks were given where an array is needed."""


class Blocks:
    """Data that do not fit in memory, for the ``fit`` of any model that can learn from blocks of rows.

    Parameters
    ----------
    blocks : something that can be read more than once
        A list, an object whose ``__iter__`` starts again, or a function that returns a new iterator at each call, of
        tables X or of tuples (X, y) or (X, y, sample_weight); blocks without rows are skipped. Or one table (an array,
        a memory map, a sparse matrix, a frame) or one tuple of a table and its y, cut here into blocks of 64 MB.
    executor : {"serial", "threads"}, default="serial"
        "serial" holds one block at a time; "threads" works on several at once.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary import Blocks, LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = X @ [1.0, 2.0, 3.0]
    >>> whole = LinearRegression().fit(X, y)
    >>> parts = LinearRegression().fit(Blocks([(X[:40], y[:40]), (X[40:], y[40:])]))
    >>> bool(np.allclose(whole.coef_, parts.coef_))
    True
    """

    def __init__(self, blocks: Any, *, executor: str = "serial") -> None:
        if executor not in EXECUTORS:
            raise ValueError(f"Blocks: executor must be one of {', '.join(EXECUTORS)}, but it is {executor!r}.")
        self.blocks, self.executor = repeatable(_source(blocks)), executor

    def __iter__(self) -> Iterator[Block]:
        """Tuples (X, y, sample_weight), with None for what a block does not have."""
        number = -1  # enumerate would keep the block while the next one is made
        for block in self.blocks:
            number += 1
            parts = tuple(block) if isinstance(block, tuple) else (block,)
            if not 1 <= len(parts) <= 3:
                wanted = "a block is X, (X, y) or (X, y, sample_weight)"
                raise ValueError(f"Block {number}: {wanted}, but this one has {len(parts)} parts.")
            yield parts + (None,) * (3 - len(parts))
            del block, parts  # before the next one is made

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Whatever takes arrays alone comes here, also outside this library."""
        raise NotAnArrayError(f"Blocks are not an array, and what was called takes only arrays. {LEARNERS}")

    def __repr__(self) -> str:
        executor = "" if self.executor == "serial" else f", executor={self.executor!r}"
        return f"Blocks({_described(self.blocks)}{executor})"


LEARNERS = (
    "The fit of linear models, KMeans, MiniBatchKMeans, SoftKMeans, GaussianMixture, Mixture, PCA and naive Bayes "
    "takes Blocks; predict, transform, score and partial_fit take one block at a time."
)
TABLE_BYTES = 1 << 26  # of the blocks into which a table is cut


class _Cut:
    """The blocks of rows of one table, or of a tuple of a table, its y and perhaps its weights."""

    def __init__(self, *parts: Any) -> None:
        table, *others = parts
        self.parts = (sound(table).tocsr() if issparse(table) else table, *others)
        n, columns = self.shape = tuple(table.shape)
        nbytes = 12 * table.nnz if issparse(table) else 8 * n * columns
        self.size = max(1, int(TABLE_BYTES * n // max(nbytes, 1)))
        for part in others:
            if part is not None and len(part) != n:
                raise ValueError(f"Blocks: X has {n} rows, but its y or sample_weight has {len(part)}.")

    def __iter__(self) -> Iterator[Block]:
        for start in range(0, self.shape[0], self.size):
            yield tuple(None if part is None else _rows(part, start, start + self.size) for part in self.parts)


def _rows(table: Any, start: int, stop: int) -> Any:
    if hasattr(table, "slice"):  # polars, pyarrow
        return table.slice(start, stop - start)
    return getattr(table, "iloc", table)[start:stop]


class _Made:
    """Blocks from a function that returns a new iterator at each call."""

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        made = self.make()
        if not isinstance(made, Iterable):
            raise TypeError(f"Blocks: the function must return an iterator of blocks, but it gave {made!r}.")
        yield from made  # a generator, so that nothing is made before the first block is asked for


def _source(blocks: Any) -> Iterable[Any]:
    """What a user gives, as something to iterate over."""
    if _dimensions(blocks) == 2:
        return _Cut(blocks)
    if isinstance(blocks, tuple) and 2 <= len(blocks) <= 3 and [*map(_dimensions, blocks)][:2] == [2, 1]:
        return _Cut(*blocks)
    if callable(blocks) and (isinstance(blocks, type) or not isinstance(blocks, Iterable)):
        return _Made(blocks)
    if isinstance(blocks, (str, bytes, PathLike, Mapping)) or not isinstance(blocks, Iterable):
        raise TypeError(
            f"Blocks takes a table, a list of blocks, an object whose __iter__ starts again or a function that returns "
            f"a new iterator, but it was given {blocks!r:.60}, a {type(blocks).__name__}. A block is X, (X, y) or "
            "(X, y, sample_weight)."
        )
    return blocks


def _dimensions(table: Any) -> int:
    return len(getattr(table, "shape", ()))


def _described(blocks: Iterable[Any]) -> str:
    if isinstance(blocks, _Cut):
        return f"{type(blocks.parts[0]).__name__} of shape {blocks.shape}"
    if isinstance(blocks, _Made):
        return getattr(blocks.make, "__name__", type(blocks.make).__name__)
    name = type(blocks).__name__
    return f"{name} of {len(blocks)}" if isinstance(blocks, Sized) else name


def repeatable(blocks: Iterable[Any]) -> Iterable[Any]:
    """Refuse iterators that can be read only once: methods read their data again in every iteration."""
    if iter(blocks) is blocks:
        raise ValueError(
            "blocks must be something that can be read more than once, such as a list, an object whose __iter__ starts "
            f"again or a function that returns a new iterator, but it is a {type(blocks).__name__}, which is empty "
            "after one pass. Give the function that makes it: Blocks(lambda: …)."
        )
    return blocks


def as_blocks(X: Any, y: Any = None, sample_weight: Any = None) -> Blocks | None:
    """X as ``Blocks`` if it is that, or a list or other collection of two-dimensional tables; else None.

    Blocks bring their y and weights along, so these must then not be given beside them.
    """
    blocks = _as_blocks(X)
    if blocks is not None and not (y is None and sample_weight is None):
        raise ValueError("X comes in blocks, so y and sample_weight must come in them: each is (X, y, sample_weight).")
    return blocks


def _as_blocks(X: Any) -> Blocks | None:
    if isinstance(X, Blocks):
        return X
    if isinstance(X, (str, bytes, dict)) or any(hasattr(X, name) for name in ("shape", "__array__", "__dataframe__")):
        return None
    if not isinstance(X, (list, tuple)):
        return Blocks(X) if isinstance(X, Iterable) else None
    first = X[0] if len(X) else None
    table = first[0] if isinstance(first, tuple) and len(first) else first
    return Blocks(X) if len(getattr(table, "shape", ())) == 2 else None  # rows of numbers are an array like any other
