"""What is left of a network once some variables are known, as flat arrays: what samplers work on.

Free variables are numbered anew, 0 … m − 1, parents before children. Factor j < m is the conditional distribution of
free variable j, whose own axis is the last one; the factors from m on are the likelihoods of known variables, given
their free parents. Entries of all tables lie end to end in ``values``; ``strides`` say how far an entry moves when a
variable of the factor's scope goes to its next state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array


class Graph(Protocol):
    """Variables with their parents, in an order in which parents come first."""

    @property
    def parents(self) -> tuple[tuple[int, ...], ...]: ...

    @property
    def order(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Flat:
    """The free variables of a network and the factors that speak of them."""

    variables: tuple[int, ...]  # their numbers in the network
    cards: Array  # int64 (m,)
    scopes: tuple[tuple[int, ...], ...]  # of each factor, in the new numbers
    tables: tuple[Array, ...]
    constant: float  # the logarithm of what known variables contribute that depend on no free one

    @property
    def size(self) -> int:
        """m, the number of free variables."""
        return len(self.variables)

    @cached_property
    def offsets(self) -> Array:
        """Where the states of each variable begin if all are laid end to end (m + 1,)."""
        return np.concatenate([[0], np.cumsum(self.cards)]).astype(np.int64)

    @cached_property
    def scope_starts(self) -> Array:
        return _ends(len(scope) for scope in self.scopes)

    @cached_property
    def scope(self) -> Array:
        return np.array([variable for scope in self.scopes for variable in scope], dtype=np.int64)

    @cached_property
    def strides(self) -> Array:
        found = [np.array(table.strides, dtype=np.int64) // table.itemsize for table in self.tables]
        return np.concatenate([*found, np.empty(0, dtype=np.int64)])

    @cached_property
    def table_starts(self) -> Array:
        return _ends(table.size for table in self.tables)

    @cached_property
    def logs(self) -> Array:
        """The logarithm of every entry."""
        with np.errstate(divide="ignore"):
            return np.concatenate([np.log(table).ravel() for table in self.tables] or [np.empty(0)])

    @cached_property
    def cumulative(self) -> Array:
        """Of the first m tables, sums over the states of the variable, up to one; +inf from its last possible state on.

        So a number in [0, 1) finds a state of positive probability, whatever rounding does.
        """
        return np.concatenate([_steps(table).ravel() for table in self.tables[: self.size]] or [np.empty(0)])

    @cached_property
    def has_zeros(self) -> bool:
        return any(not table.all() for table in self.tables)

    def log_joint(self, rows: Array) -> Array:
        """The logarithm of the product of all factors for each row of states (n, m)."""
        total = np.full(len(rows), self.constant)
        for f, scope in enumerate(self.scopes):
            at = np.full(len(rows), self.table_starts[f])
            for k, variable in enumerate(scope):
                at += rows[:, variable] * self.strides[self.scope_starts[f] + k]
            total += self.logs[at]
        return total


def flatten(
    network: TableNetwork, given: Mapping[int, int], variables: Iterable[int] = (), *, whole: bool = False
) -> Flat:
    """The part of a network that matters to the distribution of ``variables`` given what is known.

    With ``whole``, all that matters to the probability of what is known as well, whether it is shielded or not.
    Variables that are known have no place among the free ones.
    """
    free = relevant(network, given, variables, whole=whole)
    place = {variable: j for j, variable in enumerate(free)}
    scopes: list[tuple[int, ...]] = []
    tables: list[Array] = []
    for variable in free:
        _, scope, table = _known_fixed(network, variable, given, place)
        scopes.append(scope)
        tables.append(table)
    constant = 0.0
    for variable in given:
        complete, scope, table = _known_fixed(network, variable, given, place)
        if not complete:
            continue  # of another part of the network, which the known ones shield
        if scope:
            scopes.append(scope)
            tables.append(table)
        else:
            with np.errstate(divide="ignore"):
                constant += float(np.log(table[()]))
    cards = np.array([network.cards[variable] for variable in free], dtype=np.int64)
    return Flat(free, cards, tuple(scopes), tuple(tables), constant)


def _known_fixed(
    network: TableNetwork, variable: int, given: Mapping[int, int], place: Mapping[int, int]
) -> tuple[bool, tuple[int, ...], Array]:
    """The table of a variable at what is known: whether its other axes are all free, which they are, and entries."""
    axes = (*network.parents[variable], variable)
    index = tuple(given[axis] if axis in given else slice(None) for axis in axes)
    left = [axis for axis in axes if axis not in given]
    if not all(axis in place for axis in left):
        return False, (), np.empty(0)
    table = np.ascontiguousarray(np.asarray(network.tables[variable], dtype=np.float64)[index])
    return True, tuple(place[axis] for axis in left), table.reshape([network.cards[axis] for axis in left])


def relevant(
    network: Graph, given: Mapping[int, Any], variables: Iterable[int], *, whole: bool = False
) -> tuple[int, ...]:
    """The free variables that matter, parents before children: what is barren or shielded by known ones is left out."""
    asked = [variable for variable in variables if variable not in given]
    upward = _ancestors(network, [*given, *asked])
    if not whole:
        upward = _reached(network, given, upward, asked)
    return tuple(variable for variable in network.order if variable in upward and variable not in given)


def _ancestors(network: Graph, start: Iterable[int]) -> set[int]:
    found, waiting = set[int](), list(start)
    while waiting:
        variable = waiting.pop()
        if variable not in found:
            found.add(variable)
            waiting.extend(network.parents[variable])
    return found


def _reached(network: Graph, given: Mapping[int, Any], within: set[int], start: Iterable[int]) -> set[int]:
    """What is reached from ``start`` in the moral graph of ``within``, on ways that pass no known variable."""
    families: dict[int, list[tuple[int, ...]]] = {variable: [] for variable in within}
    for variable in within:
        family = (*network.parents[variable], variable)
        for member in family:
            families[member].append(family)
    found, waiting = set[int](), list(start)
    while waiting:
        variable = waiting.pop()
        if variable in found or variable in given:
            continue
        found.add(variable)
        waiting.extend(member for family in families[variable] for member in family)
    return found


def _ends(sizes: Iterable[int]) -> Array:
    return np.concatenate([[0], np.cumsum(list(sizes))]).astype(np.int64)


def _steps(table: Array) -> Array:
    sums = np.cumsum(table, axis=-1)
    sums /= sums[..., -1:]
    last = table.shape[-1] - 1 - np.argmax(table[..., ::-1] > 0, axis=-1)
    sums[np.arange(table.shape[-1]) >= last[..., None]] = np.inf
    return sums
