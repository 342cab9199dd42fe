"""Networks with other distributions as networks of tables, where that is exact.

Numbers that are known say how likely each setting of a variable's free parents is, and nothing more: a state that was
observed, of a variable with two. Numbers that are neither known nor asked for, with nothing known below them, do not
matter. A noisy-or of many causes becomes a chain of variables of two states, one to a cause, whose tables stay small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corollary.core.graphical.cpd.base import DiscreteCPD, every_setting
from corollary.core.graphical.flat import relevant
from corollary.core.graphical.mixed import MixedNetwork
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array

LARGEST = 1 << 22  # entries of a table that a distribution is written out as
FEW_CAUSES = 8  # a noisy-or of more is a chain


@dataclass(frozen=True)
class AsTables:
    """The free variables of a question as a network of tables; ``place`` says under which number each of them is."""

    network: TableNetwork
    given: dict[int, int]
    place: dict[int, int]


def as_tables(network: MixedNetwork, variables: tuple[int, ...], given: Mapping[int, float]) -> AsTables:
    """What matters to ``variables``, as tables. Every free variable that matters must have states."""
    free = relevant(network, given, variables)
    numeric = [v for v in free if not network.cards[v]]
    if numeric:
        raise ValueError(f"variable {numeric[0]} is a number that is not known, and no table has rows for one.")
    building = _Building(network, given)
    for v in network.order:
        if v in set(free):
            building.place[v] = building.free(v)
        elif v in given and set(free).intersection(network.parents[v]):
            building.observed(v)
    cards = tuple(table.shape[-1] for table in building.tables)
    whole = TableNetwork(cards, tuple(building.parents), tuple(building.tables), tuple(range(len(cards))))
    return AsTables(whole, building.given, building.place)


class _Building:
    def __init__(self, network: MixedNetwork, known: Mapping[int, float]) -> None:
        self.network, self.known = network, known
        self.parents: list[tuple[int, ...]] = []
        self.tables: list[Array] = []
        self.given: dict[int, int] = {}
        self.place: dict[int, int] = {}

    def add(self, parents: tuple[int, ...], table: Array) -> int:
        self.parents.append(parents)
        self.tables.append(np.ascontiguousarray(table))
        return len(self.tables) - 1

    def free(self, v: int) -> int:
        cpd, parents = self.network.cpds[v], self._free_parents(v)
        assert isinstance(cpd, DiscreteCPD)
        if len(parents) > FEW_CAUSES and (chain := cpd.chain()):
            return self._chain(v, *chain)
        rows = self._rows(v, parents)
        table = cpd.probabilities(*self.network.parts(v, rows))
        return self.add(tuple(self.place[p] for p in parents), table.reshape(*self._cards(parents), -1))

    def observed(self, v: int) -> None:
        cpd, parents = self.network.cpds[v], self._free_parents(v)
        chain = cpd.chain() if isinstance(cpd, DiscreteCPD) and len(parents) > FEW_CAUSES else None
        if chain:
            self.given[self._chain(v, *chain)] = int(self.known[v])
            return
        rows = self._rows(v, parents)
        logs = cpd.log_prob(*self.network.parts(v, rows), rows[:, v])
        peak = float(logs.max())
        likely = np.exp(logs - peak) if peak > -np.inf else np.zeros(len(logs))
        table = np.stack([1.0 - likely, likely], axis=1).reshape(*self._cards(parents), 2)
        self.given[self.add(tuple(self.place[p] for p in parents), table)] = 1

    def _chain(self, v: int, share: float, tables: list[Array]) -> int:
        """Variables of two states that take in one parent after the other; known parents are taken in at once."""
        for table, p in zip(tables, self.network.parents[v], strict=True):
            if p in self.known and self.known[p] > 0:
                share = 1.0 - (1.0 - share) * table[0, 1, 0]
        last = self.add((), np.array([1.0 - share, share]))
        for table, p in zip(tables, self.network.parents[v], strict=True):
            if p not in self.known:
                last = self.add((last, self.place[p]), table)
        return last

    def _free_parents(self, v: int) -> list[int]:
        return [p for p in self.network.parents[v] if p not in self.known]

    def _cards(self, parents: list[int]) -> tuple[int, ...]:
        return tuple(self.network.cards[p] for p in parents)

    def _rows(self, v: int, parents: list[int]) -> Array:
        """All settings of the free parents of v, with what is known filled in."""
        cards = self._cards(parents)
        if float(np.prod(cards, dtype=float)) > LARGEST:
            raise ValueError(
                f"the table of variable {v} would have {np.prod(cards, dtype=float):.3g} rows for its {len(parents)} "
                f"parents, more than {LARGEST}: use method='likelihood_weighting', which needs no table."
            )
        settings = every_setting(cards)
        rows = np.zeros((len(settings), len(self.network.cards)))
        for p, value in self.known.items():
            rows[:, p] = value
        rows[:, parents] = settings
        return rows
