"""What every way of finding neighbours answers, and the blocks it works in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from corollary._compiled.neighbors import nearest as kernels
from corollary.core.memory import check_memory
from corollary.core.parallel import each_block
from corollary.core.types import Array

PAIRS = 1 << 18  # (query, row) pairs that a thread holds at once: the memory of a search does not grow with the data

Triples = tuple[Array, Array, Array]  # (query, distance, row) of pairs in any order
Lists = tuple[Array, Array, Array]  # places (m + 1,), then distances and rows of query i from places[i] to places[i+1]


class Index(ABC):
    """Points to search. Distances are *reduced* ones: see ``_compiled/nearest.py``.

    Every index orders neighbours by (reduced distance, row number), so all give the same answer.
    """

    name: str

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many points there are."""

    @abstractmethod
    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        """Reduced distances and rows (m, k) of the k ≤ n_rows nearest points of each query, the nearest first."""

    @abstractmethod
    def within(self, Q: Any, limits: Array) -> Lists:
        """All points at a reduced distance ≤ limits[i] of query i, the nearest first."""


def empty_answers(m: int, k: int) -> tuple[Array, Array]:
    """Room for k neighbours of m queries, as heaps in which everything is still infinitely far."""
    check_memory(16 * m * k, f"The {k} nearest neighbours of {m} rows", "ask for fewer, or for some rows at a time")
    return np.full((m, k), np.inf), np.full((m, k), -1, dtype=np.int64)


def places_of(counts: Array) -> Array:
    """Where the list of each query begins; refuses lists that would not fit."""
    places = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    check_memory(
        16 * int(places[-1]), f"The {places[-1]} neighbours within the radius", "use a smaller radius or fewer rows"
    )
    return places


def join(parts: list[Triples], m: int) -> Lists:
    """Lists from pieces of what was found, each sorted by (distance, row)."""
    counts = np.zeros(m, dtype=np.int64)
    pieces = [
        (query.astype(np.int64, copy=False), distance, row.astype(np.int64, copy=False))
        for query, distance, row in parts
    ]
    for query, _, _ in pieces:
        kernels.count_pairs(query, counts)
    places = places_of(counts)
    distances, rows, heads = np.empty(places[-1]), np.empty(places[-1], dtype=np.int64), places[:-1].copy()
    for piece in pieces:
        kernels.place_pairs(*piece, heads, distances, rows)
    each_block(lambda start, stop: kernels.sort_lists(distances, rows, places, start, stop), m, 256)
    return places, distances, rows
