"""What every way of finding neighbours answers, and the blocks it works in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from corollary._compiled.neighbors.nearest import sort_lists
from corollary.core.memory import check_memory
from corollary.core.parallel import each_block
from corollary.core.types import Array

PAIRS = 1 << 18  # (query, row) pairs that a thread holds at once: the memory of a search does not grow with the data

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


def sort_all(places: Array, distances: Array, rows: Array) -> Lists:
    """Sort the list of every query by (distance, row)."""
    each_block(lambda start, stop: sort_lists(distances, rows, places, start, stop), len(places) - 1, 256)
    return places, distances, rows


def join(parts: list[tuple[Array, Array, Array]], m: int) -> Lists:
    """Lists from (query, distance, row) triples that were found in any order."""
    empty: tuple[Array, Array, Array] = (np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.int64))
    query, distance, row = (np.concatenate(column) for column in zip(empty, *parts, strict=True))
    order = np.argsort(query, kind="stable")
    places = places_of(np.bincount(query, minlength=m))
    return sort_all(places, distance[order], row[order].astype(np.int64, copy=False))
