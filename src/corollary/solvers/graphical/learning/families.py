"""Scores of families and of all families that differ from them by one parent, worked out once and kept."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from corollary.core.types import Array
from corollary.solvers.graphical.learning.counts import CELLS, Coded, joint_index, pair_tables, tables_beside
from corollary.solvers.graphical.learning.scores import Score

Parents = tuple[int, ...]  # in increasing order
LARGEST = 1 << 20  # cells of a table: no parent is added that makes it larger


@dataclass(frozen=True)
class Row:
    """The score of a family, and what is gained with one parent more or one fewer; −inf where that cannot be."""

    score: float
    added: Array
    removed: Array


class FamilyScores:
    """Scores of the families of some data.

    The tables of a variable with its parents and each other variable are counted in one pass; those with a parent fewer
    follow from the table that is there.
    """

    def __init__(self, data: Coded, score: Score, max_parents: int) -> None:
        self.data, self.score, self.max_parents = data, score, max_parents
        self.rows: dict[tuple[int, Parents], Row] = {}
        self.known: dict[tuple[int, Parents], float] = {}  # scores of families met on the way

    def survey(self) -> None:
        """The families of no or one parent, from the tables of all pairs."""
        d, cards = self.data.n_variables, self.data.cards
        for i in range(d):
            self.known[i, ()] = self.score.family(self.data.states(i)[None, :], 1)
        left, right = np.triu_indices(d, 1)
        for part, tables in pair_tables(self.data, left, right):
            for i, j, table in zip(left[part].tolist(), right[part].tolist(), tables, strict=True):
                self.known[j, (i,)] = self.score.family(table, cards[i])
                self.known[i, (j,)] = self.score.family(table.T, cards[j])
        for i in range(d):
            added = np.full(d, -np.inf)
            if self.max_parents > 0:
                for j in range(d):
                    if j != i and cards[i] * cards[j] <= LARGEST:
                        added[j] = self.known[i, (j,)] - self.known[i, ()]
            self.rows[i, ()] = Row(self.known[i, ()], added, np.full(d, -np.inf))

    def row(self, variable: int, parents: Parents) -> Row:
        """The family of a variable and its neighbours."""
        found = self.rows.get((variable, parents))
        if found is None:
            found = self.rows[variable, parents] = self._row(variable, parents)
        return found

    def _row(self, i: int, parents: Parents) -> Row:
        data, q, r = self.data, float(prod(self.data.cards[p] for p in parents)), self.data.cards[i]
        index, size = joint_index(data, parents)
        code = data.codes[i]
        base = np.where((index < 0) | (code < 0), -1, index * r + code)
        table = _bincount(base, size * r, data.weights).reshape(size, r)
        own = self.known[i, parents] = self.score.family(table, q)
        added, removed = np.full(data.n_variables, -np.inf), np.full(data.n_variables, -np.inf)
        if len(parents) < self.max_parents:
            room = LARGEST / (q * r)
            others = [j for j in range(data.n_variables) if j != i and j not in parents and data.cards[j] <= room]
            for j, value in zip(others, self._with_one_more(base, size, r, q, others), strict=True):
                added[j] = value - own
                self.known[i, _joined(parents, j)] = value
        whole = table.reshape([data.cards[p] for p in parents] + [r]) if size == q else None
        for axis, p in enumerate(parents):
            removed[p] = self._without(i, parents, axis, whole) - own
        return Row(own, added, removed)

    def _with_one_more(self, base: Array, size: int, r: int, q: float, others: list[int]) -> list[float]:
        cards, found = self.data.cards, list[float]()
        step = max(1, CELLS // (size * r * max((cards[j] for j in others), default=1)))
        for begin in range(0, len(others), step):
            part = others[begin : begin + step]
            tables = tables_beside(self.data, base, size * r, part)
            shaped = [table.reshape(size, r, -1) for table in tables]
            found += self.score.families(shaped, [q * cards[j] for j in part])
        return found

    def _without(self, i: int, parents: Parents, axis: int, whole: Array | None) -> float:
        """The score without one of the parents."""
        rest = parents[:axis] + parents[axis + 1 :]
        if (i, rest) in self.known:
            return self.known[i, rest]
        data, r = self.data, self.data.cards[i]
        if whole is not None:
            table = whole.sum(axis=axis).reshape(-1, r)
        else:
            index, size = joint_index(data, rest)
            base = np.where((index < 0) | (data.codes[i] < 0), -1, index * r + data.codes[i])
            table = _bincount(base, size * r, data.weights).reshape(size, r)
        value = self.known[i, rest] = self.score.family(table, float(prod(data.cards[p] for p in rest)))
        return value


def _joined(parents: Parents, new: int) -> Parents:
    return tuple(sorted((*parents, new)))


def _bincount(base: Array, size: int, weights: Array) -> Array:
    present = base >= 0
    if present.all():
        return np.bincount(base, weights=weights if weights.size else None, minlength=size).astype(np.float64)
    return np.bincount(base[present], weights=weights[present] if weights.size else None, minlength=size).astype(float)
