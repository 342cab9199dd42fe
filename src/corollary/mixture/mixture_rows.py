"""What a mixture is fitted to: an array or blocks of rows, and what labels say about components."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.em.engine import Rows, Stream
from corollary.solvers.em.gaussian import Block


def check_labels(y: Any, n: int) -> Array:
    """One whole number for each row, −1 where the component is not known; None is all −1."""
    if y is None:
        return np.full(n, -1)
    labels = np.asarray(y)
    wanted = "y must have one whole number for each row, −1 where the component is not known"
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(f"{wanted}, but X has {n} rows and y has shape {labels.shape}.")
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, but it holds {labels[0]!r}. Leave y out to ignore it.") from None
    strange = ~np.isfinite(numbers) | (numbers != np.rint(numbers))
    if strange.any():
        raise ValueError(f"{wanted}, but it holds {numbers[strange][0]:g}. Leave y out to ignore it.")
    return numbers.astype(np.int64)


@dataclass(frozen=True)
class Labels:
    """Which component each label means. Labels 0 … k − 1 are the components of these numbers; others are counted."""

    known: Array
    asked: int

    @property
    def n_components(self) -> int:
        """Enough for all labels."""
        return max(self.asked, len(self.known))

    @property
    def components(self) -> Array:
        """The component of each known label."""
        numbered = len(self.known) == 0 or (self.known[0] >= 0 and self.known[-1] < self.n_components)
        return self.known if numbered else np.arange(len(self.known))

    @property
    def names(self) -> Array:
        """The label of each component, −1 where it has none."""
        names = np.full(self.n_components, -1)
        names[self.components] = self.known
        return names

    @property
    def notes(self) -> tuple[str, ...]:
        if len(self.known) <= self.asked:
            return ()
        return (f"y has {len(self.known)} labels, so there are {len(self.known)} components instead of {self.asked}.",)

    def codes(self, y: Array) -> Array:
        """The component of each row, −1 where it is not known."""
        if not len(self.known):
            return np.full(len(y), -1, dtype=np.int32)
        places = np.minimum(np.searchsorted(self.known, y), len(self.known) - 1)
        return np.where(y == -1, -1, self.components[places]).astype(np.int32)


class ArraySource:
    """Rows in memory; those without weight are absent."""

    def __init__(self, X: Array, weights: Array, labels: Array) -> None:
        kept = weights > 0
        self.block: Block = (X, weights, labels) if kept.all() else (X[kept], weights[kept], labels[kept])

    def blocks(self) -> Iterator[Block]:
        yield self.block

    def data(self, labels: Labels, size: int) -> Rows:
        X, weights, y = self.block
        return Rows(X, weights, labels.codes(y), size=size)


class BlockSource:
    """Blocks X, or (X, y, sample_weight) with None where something is left out; ``check`` makes arrays of them."""

    def __init__(self, blocks: Iterable[Any], check: Callable[..., Block]) -> None:
        Stream(blocks)  # refuses what can be read only once
        self.given, self.check = blocks, check

    def blocks(self) -> Iterator[Block]:
        for given in self.given:
            parts = given if isinstance(given, tuple) else (given,)
            yield from ArraySource(*self.check(*parts)).blocks()

    def data(self, labels: Labels, size: int) -> Stream:
        return Stream(_Coded(self, labels), size)


class _Coded:
    """Blocks with the components of labelled rows, read anew for every pass."""

    def __init__(self, source: BlockSource, labels: Labels) -> None:
        self.source, self.labels = source, labels

    def __iter__(self) -> Iterator[Block]:
        for X, weights, y in self.source.blocks():
            if len(X):
                yield X, weights, self.labels.codes(y)
