"""Rows that come in blocks and can be read more than once: arrays in memory, memory maps, files, tables in a list.

A model that is ``finish(Σ summarize(block))`` needs nothing of its data but :meth:`Source.total`. Where the rows lie
and who does the work (this thread, several, later a cluster) is decided by the source alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any, TypeVar

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


class Blocks:
    """Data that do not fit in memory, for the ``fit`` of any model that can learn from blocks of rows.

    Parameters
    ----------
    blocks : iterable that can be read more than once
        A list, or an object whose ``__iter__`` starts again, of tables X or of tuples (X, y) or (X, y, sample_weight).
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

    def __init__(self, blocks: Iterable[Any], *, executor: str = "serial") -> None:
        if executor not in EXECUTORS:
            raise ValueError(f"Blocks: executor must be one of {', '.join(EXECUTORS)}, but it is {executor!r}.")
        self.blocks, self.executor = repeatable(blocks), executor

    def __iter__(self) -> Iterator[Block]:
        """Tuples (X, y, sample_weight), with None for what a block does not have."""
        for block in self.blocks:
            parts = tuple(block) if isinstance(block, tuple) else (block,)
            if len(parts) > 3:
                raise ValueError(f"A block is X, (X, y) or (X, y, sample_weight), but one has {len(parts)} parts.")
            yield parts + (None,) * (3 - len(parts))
            del block, parts  # before the next one is made


def repeatable(blocks: Iterable[Any]) -> Iterable[Any]:
    """Refuse what is empty after one pass: methods read their data again in every iteration."""
    if iter(blocks) is blocks:
        raise ValueError(
            "blocks must be something that can be read more than once, such as a list or an object whose __iter__ "
            f"starts again, but it is a {type(blocks).__name__}, which is empty after one pass."
        )
    return blocks


def as_blocks(X: Any, y: Any = None, sample_weight: Any = None) -> Blocks | None:
    """X as blocks if that is what it is: ``Blocks``, or a list or other collection of two-dimensional tables.

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
