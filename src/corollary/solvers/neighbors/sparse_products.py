r"""Euclidean neighbours among sparse rows: blocks of pairs are screened by sparse products, and the rest is measured.

½‖q − x‖² − ½‖q‖² = ½‖x‖² − q·x. A product of d terms in a precision of unit u is off by at most (d + a few) u ‖q‖‖x‖ in
whatever order it is summed. Pairs that this bound cannot rule out are measured exactly.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.neighbors import nearest as compiled
from corollary.core.parallel import each_block, map_blocks
from corollary.core.types import Array
from corollary.solvers.neighbors.index import PAIRS, Index, Lists, empty_answers, join
from corollary.solvers.neighbors.screen import WIDTH, QueryBlock, Screen


@dataclass(frozen=True, eq=False)
class SparseProducts(Index):
    """Points as a CSR matrix of float64 with sorted columns; queries likewise."""

    X: Any
    name: str = "sparse matrix products"

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @functools.cached_property
    def _screen(self) -> Screen:
        return Screen.of(self.X)

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, rows = empty_answers(Q.shape[0], k)
        size = _queries(max(WIDTH, 2 * k))
        each_block(lambda a, b: self._search(Q[a:b], distances[a:b], rows[a:b]), Q.shape[0], size)
        return distances, rows

    def _search(self, Q: Any, distances: Array, rows: Array) -> None:
        """Fill in the nearest of a block of queries, given as empty heaps."""
        k = distances.shape[1]
        width = min(self.n_rows, WIDTH * -(-2 * k // WIDTH))
        block, measured = QueryBlock(self._screen, Q, width), np.empty((Q.shape[0], width))
        for first in range(0, self.n_rows, width):
            products = block.products(first)
            if first == 0:
                block.start(products, k)
            candidates, counts = block.candidates(products, first)
            self._measure(Q, first, candidates, counts, measured)
            compiled.settle_block(first, candidates, counts, measured, distances, rows)
            block.tighten(distances[:, 0])
        compiled.sort_heaps(distances, rows)

    def within(self, Q: Any, limits: Array) -> Lists:
        parts: list[tuple[Array, Array, Array]] = []
        for found in map_blocks(lambda a, b: self._collect(Q[a:b], limits[a:b], a), Q.shape[0], _queries(WIDTH)):
            parts.extend(found)
        return join(parts, Q.shape[0])

    def _collect(self, Q: Any, limits: Array, first_query: int) -> list[tuple[Array, Array, Array]]:
        """(query, distance, row) of all pairs of a block of queries that are within their limits."""
        width = min(self.n_rows, WIDTH)
        block, measured = QueryBlock(self._screen, Q, width), np.empty((Q.shape[0], width))
        block.tighten(limits)
        found = []
        for first in range(0, self.n_rows, width):
            candidates, counts = block.candidates(block.products(first), first)
            self._measure(Q, first, candidates, counts, measured)
            inside = (np.arange(width) < counts[:, None]) & (measured <= limits[:, None])
            query, place = inside.nonzero()
            found.append((first_query + query, measured[query, place], first + candidates[query, place]))
        return found

    def _measure(self, Q: Any, first: int, candidates: Array, counts: Array, out: Array) -> None:
        own = (Q.data, Q.indices, Q.indptr.astype(np.int64, copy=False))
        rows = (self.X.data, self.X.indices, self.X.indptr.astype(np.int64, copy=False))
        compiled.measure_sparse_block(*own, *rows, 0, first, candidates, counts, out)


def _queries(width: int) -> int:
    """Queries of a block whose pairs with so many rows are held at once."""
    return max(1, min(512, PAIRS // width))
