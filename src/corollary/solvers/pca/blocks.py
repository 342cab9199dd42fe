"""Blocks of rows about the mean of all, read anew for every product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.blocks import Block, BlockSource
from corollary.core.memory import check_memory
from corollary.core.summary import Moments, Triangle
from corollary.core.types import Array
from corollary.solvers.pca.centred import StoredRows, centred
from corollary.solvers.pca.rows import CentredRows


@dataclass(frozen=True)
class FirstMoments:
    """Rows, rows of positive weight, their weight, their mean and the sum of squares about it; and their type."""

    n: int
    count: int
    weight: float
    mean: Array
    squares: float
    dtype: Any

    def __add__(self, other: FirstMoments) -> FirstMoments:
        weight = self.weight + other.weight
        share, step = other.weight / weight, other.mean - self.mean
        return FirstMoments(
            self.n + other.n,
            self.count + other.count,
            weight,
            self.mean + share * step,
            self.squares + other.squares + self.weight * share * float(step @ step),
            np.result_type(self.dtype, other.dtype),
        )


class CentredBlocks(CentredRows):
    """Blocks (X, y, weights) of dense or sparse rows, without regard to y; counted, in one pass, when this is made."""

    def __init__(self, source: BlockSource) -> None:
        self.source = source
        found = self._survey()
        self.shape, self.dtype = (found.n, len(found.mean)), found.dtype
        self.total, self.count = found.weight, found.count
        self.centre = np.where(np.isfinite(found.mean), found.mean, 0.0)
        self._known: FirstMoments | None = found

    def _own(self, block: Block) -> StoredRows:
        """A block about a point of its own."""
        X, _, weights = block
        part = centred(X, None if (weights == 1.0).all() else weights)
        part.unit = self.unit
        return part

    def _part(self, block: Block) -> StoredRows:
        part = self._own(block)
        part.centre = self.centre
        return part

    def _parts(self) -> Iterator[StoredRows]:
        self.passes += 1
        return map(self._part, self.source)

    def _survey(self) -> FirstMoments:
        def summarize(block: Block) -> FirstMoments:
            part = self._own(block)
            return FirstMoments(part.shape[0], part.count, part.total, *part.first_moments(), part.dtype)

        self.passes += 1
        with np.errstate(over="ignore", invalid="ignore"):
            return self.source.total(summarize)

    def forth(self, V: Array) -> Array:
        return np.concatenate([part.forth(V) for part in self._parts()])

    def back(self, U: Array) -> Array:
        total, at = np.zeros((self.shape[1], U.shape[1])), 0
        for part in self._parts():
            total += part.back(U[at : at + part.shape[0]])
            at += part.shape[0]
        return total

    def normal(self, V: Array) -> Array:
        self.passes += 1
        return self.source.total(lambda block: self._part(block).normal(V))

    def triangle(self) -> Array:
        self.passes += 1
        return self.source.total(lambda block: Triangle(self._part(block).triangle())).R

    def dense(self) -> Array:
        n, d = self.shape
        check_memory(24 * n * d, "A centred copy of X and its factor", "ask for fewer components (n_components)")
        return np.concatenate([part.dense() for part in self._parts()])

    def moments(self) -> Moments:
        self.passes += 1
        return self.source.total(lambda block: self._part(block).moments())

    def first_moments(self) -> tuple[Array, float]:
        known, self._known = self._known or self._survey(), None
        return known.mean, known.squares

    def reach(self) -> float:
        return max(part.reach() for part in self._parts())
