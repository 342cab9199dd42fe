"""The memory of rounds of boosting: what threads write to while they grow trees, kept from round to round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.team import WORDS
from corollary._compiled.trees.boosting.books import DESK_WORDS, WHOLE
from corollary._compiled.trees.boosting.split import RECORD
from corollary.core.types import Array

_HISTOGRAM_BYTES = 256 << 20  # histograms kept for subtraction; beyond, the least promising are counted again
_WORTH = 1 << 17  # cells of a round that are worth another thread
_PER_ROW = 16  # what a row costs beyond its cells, in cells
_MEETINGS = 1 << 21  # cells that could be counted while threads that share a tree wait for each other


@dataclass(frozen=True)
class Shape:
    """How much there is of everything: what decides how threads share the work, and what memory they need."""

    n: int
    d: int
    outputs: int
    leaves: int
    width: int  # codes of any column are below this
    lanes: int  # columns of a group, at most
    set_words: int
    interactions: int

    def workers(self, threads: int) -> int:
        """Threads that a round is worth."""
        return max(1, min(threads, self.n * (self.d + _PER_ROW) * self.outputs // _WORTH))

    def sides(self, workers: int) -> int:
        """How many trees are grown at once: as many as keep the threads busiest."""
        work = 3.0 * self.n * (self.d + _PER_ROW)

        def busy(sides: int) -> float:
            size = workers // sides
            even = self.outputs / (sides * -(-self.outputs // sides)) * sides * size / workers
            return even / (1.0 + (_MEETINGS * size / work if size > 1 else 0.0))

        return max(range(1, min(workers, self.outputs) + 1), key=busy)


@dataclass(frozen=True)
class RoundMemory:
    """Arrays of every side (a team of threads that grows one tree at a time), every thread and every output."""

    sides: Array
    of_sides: tuple[Array, ...]
    of_threads: tuple[Array, ...]
    trees: tuple[Array, ...]

    @classmethod
    def of(cls, shape: Shape, workers: int) -> RoundMemory:
        sides = shape.sides(workers)
        n, d, leaves, nodes = shape.n, shape.d, shape.leaves, 2 * shape.leaves + 1
        cells, crew = d * shape.width, -(-workers // sides)
        slots = min(leaves + 1, max(4, _HISTOGRAM_BYTES // max(1, 16 * cells * sides)))
        longest = max(crew, slots, leaves + 1, DESK_WORDS)
        of_sides = (  # in the order of ``_compiled/trees/boosting/books.py``
            np.zeros((sides, 3, n), dtype=np.int32),
            np.empty((sides, n), dtype=np.int64),
            np.empty((sides, crew, 2, nodes), dtype=np.int64),
            np.empty((sides, crew, 2, cells if crew > 1 else 0), dtype=np.int64),
            np.empty((sides, slots, 2, cells), dtype=np.int64),
            np.empty((sides, 4, longest), dtype=np.int64),
            np.empty((sides, 3, max(4, crew))),
            np.empty((sides, d, 2, RECORD)),
            np.empty((sides, 3, max(shape.width, d)), dtype=np.uint8),
            np.empty((sides, nodes, shape.interactions), dtype=np.uint8),
        )
        of_threads = (
            np.zeros((workers, shape.lanes * shape.width), dtype=np.int64),
            np.empty((workers, shape.width)),
            np.empty((workers, shape.width), dtype=np.int64),
        )
        trees = (
            np.empty((shape.outputs, nodes, WHOLE), dtype=np.int64),
            np.empty((shape.outputs, nodes, 4)),
            np.empty((shape.outputs, nodes, RECORD)),
            np.zeros((shape.outputs, nodes, shape.set_words), dtype=np.uint32),
            np.empty((shape.outputs, nodes)),
            np.empty(shape.outputs, dtype=np.int64),
        )
        return cls(np.zeros((sides, WORDS), dtype=np.int64), of_sides, of_threads, trees)
