"""Networks whose variables may be numbers, and whose distributions may be other than tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corollary.core.graphical.cpd import CPD
from corollary.core.graphical.cpd.base import DiscreteCPD, every_setting
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array

LARGEST = 1 << 22  # entries of a table that a distribution is written out as


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

    def check(self) -> None:
        """Raise ValueError, with the number of the variable, where a distribution does not fit its variable."""
        for v, cpd in enumerate(self.cpds):
            discrete, numeric = self.split[v]
            if cpd.numeric != (self.cards[v] == 0):
                kind = "a number" if self.cards[v] == 0 else f"one of {self.cards[v]} states"
                raise ValueError(f"variable {v} is {kind}, which is not what {type(cpd).__name__} is of.")
            cpd.check(tuple(self.cards[p] for p in discrete), len(numeric), self.cards[v])

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

    def tables(self) -> TableNetwork:
        """The same distribution as tables, if no variable is a number; refused where one would be too large."""
        if not all(self.cards):
            raise ValueError(f"variable {self.cards.index(0)} is a number, and no table has rows for one.")
        found = []
        for v, cpd in enumerate(self.cpds):
            cards = tuple(self.cards[p] for p in self.parents[v])
            size = float(np.prod([*cards, self.cards[v]], dtype=float))
            if size > LARGEST:
                raise ValueError(
                    f"the table of variable {v} would have {size:.3g} entries for its {len(cards)} parents, more than "
                    f"{LARGEST}: use method='likelihood_weighting', which needs no table."
                )
            assert isinstance(cpd, DiscreteCPD)
            found.append(np.ascontiguousarray(cpd.table(cards)))
        return TableNetwork(self.cards, self.parents, tuple(found), self.order)


def settings(cards: Mapping[int, int] | MixedNetwork, variables: Iterable[int]) -> Array:
    """All joint states of some variables, as float64 rows; refuse nothing: ask ``n_settings`` first."""
    of = cards.cards if isinstance(cards, MixedNetwork) else cards
    return every_setting(tuple(of[v] for v in variables)).astype(np.float64)


def n_settings(network: MixedNetwork, variables: Iterable[int]) -> float:
    """How many joint states there are."""
    return float(np.prod([network.cards[v] for v in variables], dtype=float))
