r"""Brute force: every query is compared with every row, as the metric and the storage allow.

Euclidean neighbours, of many columns or sparse rows, are found by blocked matrix products. With rows shifted to the
mean, ½‖q − x‖² − ½‖q‖² = ½‖x‖² − q·x: one matrix product screens a block of pairs, in float32 if that tells the rows
apart. A product of d terms in a precision of unit u is off by at most (d + a few) u ‖q‖‖x‖ in whatever order it is
summed. Pairs that this bound cannot rule out are measured exactly, so the neighbours, ties included, are those of
measuring all pairs.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.codes import EUCLIDEAN
from corollary._compiled.neighbors import nearest as compiled
from corollary.core.parallel import map_blocks, sum_blocks
from corollary.core.types import Array
from corollary.solvers.neighbors.index import PAIRS, Index, Lists, empty_answers, join
from corollary.solvers.neighbors.metric import Metric
from corollary.solvers.neighbors.screen import SPARSE_WIDTH, DenseScreen, Screen, SparseScreen
from corollary.solvers.neighbors.tree import Tree

_PILOT = 16  # queries that show whether float32 tells the rows apart
_MANY = 4  # float64 takes twice the time; float32 is slower still if it leaves this many times more pairs than needed
_LEAF = 256  # points that are compared with a query at once, for other metrics


def plain_index(P: Any, metric: Metric) -> Index:
    """An index that compares all pairs; nothing is skipped because of its position."""
    if scipy.sparse.issparse(P):
        return SparseProducts(P)
    if metric.code == EUCLIDEAN:
        return Products(P)
    return Tree.of(P, metric, _LEAF, prune=False)


class Screened(Index):
    """Screen blocks of pairs by products, measure what is left."""

    rows_at_once: int

    @abstractmethod
    def _screen(self, Q: Any, k: int) -> Screen: ...

    @abstractmethod
    def _measure(self, Q: Any, first: int, candidates: Array, counts: Array, out: Array) -> None: ...

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, rows = empty_answers(Q.shape[0], k)
        screen, size = self._screen(Q, k), self._queries(k)
        sum_blocks(lambda a, b: self._search(screen, Q[a:b], distances[a:b], rows[a:b]), Q.shape[0], size)
        return distances, rows

    def _queries(self, k: int) -> int:
        return max(1, min(512, PAIRS // max(self.rows_at_once, 2 * k)))

    def _search(self, screen: Screen, Q: Any, distances: Array, rows: Array) -> int:
        """Fill in the nearest of a block of queries, given as empty heaps; returns how many pairs were measured."""
        k, total = distances.shape[1], 0
        width = min(self.n_rows, self.rows_at_once * -(-2 * k // self.rows_at_once))
        block, measured = screen.block(Q, width), np.empty((Q.shape[0], width))
        for first in range(0, self.n_rows, width):
            products = block.products(first)
            if first == 0:
                block.start(products, k)
            candidates, counts = block.candidates(products, first)
            self._measure(Q, first, candidates, counts, measured)
            compiled.settle_block(first, candidates, counts, measured, distances, rows)
            block.tighten(distances[:, 0])
            total += int(counts.sum())
        compiled.sort_heaps(distances, rows)
        return total

    def within(self, Q: Any, limits: Array) -> Lists:
        screen = self._screen(Q, 1)
        parts: list[tuple[Array, Array, Array]] = []
        blocks = map_blocks(
            lambda a, b: self._collect(screen, Q[a:b], limits[a:b], a), Q.shape[0], self._queries(1)
        )  # fmt: skip
        for found in blocks:
            parts.extend(found)
        return join(parts, Q.shape[0])

    def _collect(self, screen: Screen, Q: Any, limits: Array, first_query: int) -> list[tuple[Array, Array, Array]]:
        """(query, distance, row) of all pairs of a block of queries that are within their limits."""
        width = min(self.n_rows, self.rows_at_once)
        block, measured = screen.block(Q, width), np.empty((Q.shape[0], width))
        block.tighten(limits)
        found = []
        for first in range(0, self.n_rows, width):
            candidates, counts = block.candidates(block.products(first), first)
            self._measure(Q, first, candidates, counts, measured)
            inside = (np.arange(width) < counts[:, None]) & (measured <= limits[:, None])
            query, place = inside.nonzero()
            found.append((first_query + query, measured[query, place], first + candidates[query, place]))
        return found


@dataclass(frozen=True, eq=False)
class Products(Screened):
    """Dense points, float32 or float64."""

    X: Array
    name: str = "blocked matrix products"
    rows_at_once = 512

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @functools.cached_property
    def _single(self) -> DenseScreen:
        return DenseScreen.of(self.X, np.float32)

    @functools.cached_property
    def _double(self) -> DenseScreen:
        return DenseScreen.of(self.X, np.float64)

    def _screen(self, Q: Any, k: int) -> Screen:
        """float32, unless a few of the queries show that too many pairs would have to be measured."""
        if not self._single.takes(Q):
            return self._double
        if len(Q) <= _PILOT:
            return self._single
        pilot = np.ascontiguousarray(Q[:: -(-len(Q) // _PILOT)])
        measured = self._search(self._single, pilot, *empty_answers(len(pilot), k))
        needed = k * (2 + np.log(max(1.0, self.n_rows / max(self.rows_at_once, 2 * k))))
        return self._single if measured <= _MANY * len(pilot) * (needed + 10) else self._double

    def _measure(self, Q: Any, first: int, candidates: Array, counts: Array, out: Array) -> None:
        compiled.measure_block(Q, self.X, 0, first, candidates, counts, out)


@dataclass(frozen=True, eq=False)
class SparseProducts(Screened):
    """Points as a CSR matrix of float64 with sorted columns; queries likewise."""

    X: Any
    name: str = "sparse matrix products"
    rows_at_once = SPARSE_WIDTH

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @functools.cached_property
    def _double(self) -> SparseScreen:
        return SparseScreen.of(self.X)

    def _screen(self, Q: Any, k: int) -> Screen:
        return self._double

    def _measure(self, Q: Any, first: int, candidates: Array, counts: Array, out: Array) -> None:
        own = (Q.data, Q.indices, Q.indptr.astype(np.int64, copy=False))
        rows = (self.X.data, self.X.indices, self.X.indptr.astype(np.int64, copy=False))
        compiled.measure_sparse_block(*own, *rows, 0, first, candidates, counts, out)
