"""Where batches of rows come from: drawn from an array, or in the order in which blocks bring them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.blocks import BlockSource
from corollary.core.scaling import check_squares
from corollary.core.types import Array
from corollary.solvers.draws import Reservoir, joined
from corollary.solvers.kmeans.nearest import ClusterSums, judge
from corollary.solvers.kmeans.seeding import Lottery
from corollary.solvers.kmeans.sources import as_rows

Batch = tuple[Any, Array]  # rows and their weights


class Batches(ABC):
    """Batches of ``size`` of ``n`` rows, ``present`` of which have a positive weight, ``mass`` in all."""

    n: int
    present: int
    mass: float
    dtype: Any

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def sample(self, count: int) -> Batch:
        """About ``count`` rows that stand for all."""

    @abstractmethod
    def draw(self) -> Batch:
        """The next batch."""

    @abstractmethod
    def mean_variance(self) -> float:
        """Mean variance of the columns, from some of the rows."""

    @abstractmethod
    def judge(self, centres: Array) -> tuple[Array, float, ClusterSums]:
        """The label of every row, the cost, and the sums of the clusters: one pass over all rows."""

    @abstractmethod
    def within(self, passes: int) -> int:
        """How many batches so many passes over the rows take."""

    @abstractmethod
    def passes(self, batches: int) -> int:
        """How many passes, begun or done, so many batches are."""


def _variance(X: Any, weights: Array) -> float:
    rows = as_rows(X, weights)
    if rows.total > 0:
        check_squares(1.0 / rows.scale)  # costs are in the units of X here
    return rows.spread / rows.scale / rows.scale


class DrawnBatches(Batches):
    """Rows drawn with replacement, with probability ∝ weight: a row of weight w comes as often as w rows would."""

    def __init__(self, X: Any, weights: Array, size: int, rng: np.random.RandomState) -> None:
        super().__init__(size)
        self.X, self.weights, self.rng, self.dtype = X, weights, rng, X.dtype
        self.n, self.present, self.mass = X.shape[0], int((weights > 0).sum()), float(weights.sum())
        self.lottery = Lottery(X, weights)

    def sample(self, count: int) -> Batch:
        """All rows if there are no more than that, else ``count`` draws, each of weight one."""
        return (self.X, self.weights) if self.n <= count else self._drawn(count)

    def draw(self) -> Batch:
        return self._drawn(self.size)

    def within(self, passes: int) -> int:
        return passes * self.n // min(self.size, self.n)

    def passes(self, batches: int) -> int:
        return -(-batches * min(self.size, self.n) // self.n)

    def _drawn(self, count: int) -> Batch:
        return self.X[self.lottery.draw(self.rng.uniform(size=count))], np.ones(count)

    def mean_variance(self) -> float:
        return _variance(*self.draw())

    def judge(self, centres: Array) -> tuple[Array, float, ClusterSums]:
        labels, distances, sums = judge(self.X, self.weights, centres)
        return labels, float(self.weights @ distances), sums


class StreamedBatches(Batches):
    """Rows in the order in which blocks bring them, however they are cut into blocks, again and again."""

    def __init__(self, source: BlockSource, size: int, sample: Reservoir) -> None:
        super().__init__(size)
        self.source, self.kept, dtypes = source, sample, set()
        self.present, self.mass = 0, 0.0
        for X, _, weights in source:
            sample.add(X, weights)
            dtypes.add(X.dtype)
            self.present += int((weights > 0).sum())
            self.mass += float(weights.sum())
        if not dtypes:
            raise ValueError("blocks is empty: there are no rows to learn from.")
        self.n, self.dtype = sample.seen, np.result_type(*dtypes)
        self._batches = self._again()

    def sample(self, count: int) -> Batch:
        """The rows that the first pass kept."""
        return self.kept.rows()

    def draw(self) -> Batch:
        return next(self._batches)

    def within(self, passes: int) -> int:
        return passes * -(-self.n // self.size)  # a pass ends with a batch that may be smaller

    def passes(self, batches: int) -> int:
        return -(-batches // -(-self.n // self.size))

    def _again(self) -> Iterator[Batch]:
        while True:
            waiting, held = list[Batch](), 0
            for X, _, weights in self.source:
                rows, start = X.tocsr() if sparse.issparse(X) else X, 0
                while start < len(weights):
                    stop = min(len(weights), start + self.size - held)
                    waiting.append((rows[start:stop], weights[start:stop]))
                    held, start = held + stop - start, stop
                    if held == self.size:
                        yield waiting[0] if len(waiting) == 1 else joined(waiting)
                        waiting, held = [], 0
                waiting = [joined(waiting)] if waiting else []  # a copy: whoever reads may use the block again
            if waiting:
                yield waiting[0]

    def mean_variance(self) -> float:
        return _variance(*self.kept.rows())

    def judge(self, centres: Array) -> tuple[Array, float, ClusterSums]:
        labels, costs, sums = [], 0.0, []
        for X, _, weights in self.source:
            found, distances, part = judge(X, weights, centres)
            labels.append(found)
            sums.append(part)
            costs += float(weights @ distances)
        return np.concatenate(labels), costs, reduce(add, sums)
