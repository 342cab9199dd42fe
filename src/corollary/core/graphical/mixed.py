"""Networks whose variables may be numbers, and whose distributions may be other than tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corollary.core.graphical.cpd import CPD
from corollary.core.types import Array


@dataclass(frozen=True)
class MixedNetwork:
    """p(x) = Π p(xᵢ | parents of i). Rows are float64; states are whole numbers in them.

    ``cards[i]`` is the number of states of variable i, and 0 for a number. ``order`` lists all variables, parents
    before children. Parents of a variable come apart as its distribution wants them: those with states in their order,
    then those that are numbers in theirs.
    """

    cards: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    cpds: tuple[CPD, ...]
    order: tuple[int, ...]

    @cached_property
    def split(self) -> tuple[tuple[list[int], list[int]], ...]:
        """For each variable, its parents with states and those that are numbers."""
        return tuple(
            ([p for p in parents if self.cards[p]], [p for p in parents if not self.cards[p]])
            for parents in self.parents
        )

    def parts(self, v: int, rows: Array) -> tuple[Array, Array]:
        """(codes, numbers) of the parents of v in rows of all variables."""
        discrete, numeric = self.split[v]
        return rows[:, discrete].astype(np.int64), rows[:, numeric]

    def log_prob(self, rows: Array) -> Array:
        """The logarithm of the probability, or density, of each row."""
        total = np.zeros(len(rows))
        for v, cpd in enumerate(self.cpds):
            total += cpd.log_prob(*self.parts(v, rows), rows[:, v])
        return total

    def draw(self, v: int, rows: Array, rng: np.random.Generator) -> Array:
        """Values of v for rows in which its parents are filled in."""
        return self.cpds[v].sample(*self.parts(v, rows), rng)


def n_settings(network: MixedNetwork, variables: Iterable[int]) -> float:
    """How many joint states there are."""
    return float(np.prod([network.cards[v] for v in variables], dtype=float))
