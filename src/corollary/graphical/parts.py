"""Networks some of whose distributions are not tables: reading, learning, asking and checking them by name.

A variable with such a distribution has it in ``cpds_``. Where that can be written out as a table of moderate size,
``tables_`` has that table, and everything works as for tables. Where it cannot (the variable or a parent is a number,
or there are too many causes) ``tables_`` has the array [1.0] in its place, and questions go to ``solvers.graphical``'s
``mixed_query``. A variable that is a number has the one state "number".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.core.evidence import Evidence, worst_of
from corollary.core.fitted import Fitted
from corollary.core.fitted.base import Known, require
from corollary.core.graphical.cpd import CPD, CPDS, LinearGaussian, LogisticCPD, Table
from corollary.core.graphical.cpd.base import DiscreteCPD
from corollary.core.graphical.dag import DAG
from corollary.core.graphical.mixed import MixedNetwork
from corollary.core.types import Array
from corollary.graphical.conditional import Family, learned
from corollary.graphical.states import Column, States, find
from corollary.solvers.graphical.counts import Coded
from corollary.solvers.graphical.parameters import Prior, counted, family_of

WRITTEN_OUT = 1 << 16  # entries up to which a distribution is written out as a table
NUMBER = "number"  # the one state of a variable that is a number


class CPDPart(Fitted):
    """A distribution with its numbers."""

    def check(self, value: Any, known: Known) -> None:
        require(isinstance(value, CPD) and value.known, value)

    def __str__(self) -> str:
        return "a conditional distribution"


def stand_in() -> Array:
    """What ``tables_`` has for a distribution that is not written out."""
    return np.ones(1)


def read_parts(
    cpds: Mapping[Any, Any] | None, names: Sequence[str], parents: Sequence[Sequence[int]]
) -> dict[int, CPD]:
    """The distributions by the number of their variable; children of numbers without one get a logistic one."""
    found: dict[int, CPD] = {}
    for name, cpd in (cpds or {}).items():
        v = find(name, names, "variable of cpds")
        if isinstance(cpd, str) and cpd in CPDS:
            cpd = CPDS[cpd]()
        if not isinstance(cpd, CPD):
            raise ValueError(
                f"cpds must hold distributions ({', '.join(cls.__name__ for cls in CPDS.values())}) or their names "
                f"({', '.join(map(repr, CPDS))}), but that of {name!r} is {cpd!r}."
            )
        found[v] = cpd
    numeric = {v for v, cpd in found.items() if cpd.numeric}
    for v, above in enumerate(parents):
        if v not in found and numeric.intersection(above):
            found[v] = LogisticCPD()
    return {v: cpd for v, cpd in found.items() if not isinstance(cpd, Table) or cpd.known}


def numbers_of(column: Column) -> Array:
    """A column of a table as float64, NaN where it is missing; refused if it holds anything but numbers."""
    if column.values.dtype.kind not in "if":
        raise ValueError(
            f"cpds: the column {column.name!r} must hold numbers for a distribution of numbers, but it holds "
            f"{column.values[:3].tolist()}."
        )
    return np.append(column.values.astype(np.float64), np.nan)[column.codes]


def number_states(column: Column) -> States:
    """The one state of a number, whatever it is: an interval without edges."""
    numbers_of(column)
    return States(column.name, np.array([NUMBER]), np.empty(0))


@dataclass(frozen=True)
class Parts:
    """What was learned of distributions other than tables, what ``tables_`` has of them, and the evidence.

    ``rows`` are those it was learned from, states as their numbers, with their ``weights``.
    """

    cpds: dict[int, CPD]
    tables: dict[int, Array]
    evidence: dict[int, Evidence]
    names: Sequence[str]
    rows: Array
    weights: Array

    @staticmethod
    def learned(
        parts: Mapping[int, CPD], columns: Sequence[Column], codes: Array, there: Array, weights: Array,
        states: Sequence[States], parents: Sequence[Sequence[int]], unit: float,
    ) -> Parts:  # fmt: skip
        """From complete rows: ``codes`` of those ``there``, and numbers from the columns."""
        names = [each.name for each in states]
        if not parts:
            return Parts({}, {}, {}, names, codes, weights)
        rows = np.where(codes >= 0, codes, np.nan)
        for v in [v for v, cpd in parts.items() if cpd.numeric]:
            if v >= len(columns):
                raise ValueError(f"cpds: {names[v]!r} is hidden, and a number cannot be.")
            rows[:, v] = numbers_of(columns[v])[there]
        gone = np.isnan(rows).any(axis=0)
        if gone.any():
            raise ValueError(
                "cpds: distributions other than tables are learned from complete rows, but "
                f"{names[int(np.argmax(gone))]!r} has missing values or is hidden. Drop those rows or fill them in, or "
                "use tables only."
            )
        cards = [0 if v in parts and parts[v].numeric else each.size for v, each in enumerate(states)]
        made = Parts({}, {}, {}, names, rows, weights)
        for v, cpd in parts.items():
            made._add(v, cpd, cards, parents[v], unit)
        return made

    def _add(self, v: int, cpd: CPD, cards: list[int], above: Sequence[int], unit: float) -> None:
        discrete, numeric = [p for p in above if cards[p]], [p for p in above if not cards[p]]
        codes, known = self.rows[:, discrete].astype(np.int64), tuple(cards[p] for p in discrete)
        family = Family(codes, known, self.rows[:, numeric], self.rows[:, v], cards[v], self.weights, unit)
        try:
            self.cpds[v], evidence = learned(cpd, family)
        except ValueError as error:
            raise ValueError(f"cpds: of {self.names[v]!r}: {error}") from None
        if evidence is not None:
            self.evidence[v] = evidence
        self.tables[v] = written_out(self.cpds[v], [cards[p] for p in above], cards[v])

    def beside_tables(
        self, data: Coded, parents: Sequence[Sequence[int]], prior: Prior
    ) -> tuple[list[Array], Evidence | None]:
        """What ``tables_`` has of all variables, and what is said of those that were counted, if any were."""
        others = [v for v in range(data.n_variables) if v not in self.cpds]
        tables, evidence = counted(data, [family_of(parents, v) for v in others], prior)
        found = {**self.tables, **dict(zip(others, tables, strict=True))}
        return [found[v] for v in range(data.n_variables)], evidence if others or not self.evidence else None

    def evidence_of(self, network: MixedNetwork, counting: Evidence | None) -> Evidence:
        """The weakest claim of all parts of the network; its likelihood, and each distribution's own claim, beside."""
        own = {self.names[v]: each for v, each in self.evidence.items()}
        worst = worst_of([*([counting] if counting else []), *own.values()])
        value = float(self.weights @ network.log_prob(self.rows))
        facts = {"objective": -value / float(self.weights.sum()), "log-likelihood": value}
        facts |= {f"{each.certificate.name} of {name!r}": each.certificate.value for name, each in own.items()}
        notes = [f"Of {name!r} by itself: {each.claim}, {each.certificate}." for name, each in own.items()]
        if not own and len(self.cpds) == len(self.names):
            notes.append("All distributions were given: nothing was learned.")
        return replace(worst, facts=facts, notes=(*worst.notes, *notes))


def with_numbers(codes: Array, columns: Sequence[Column], names: Sequence[str], cpds: Mapping[int, CPD]) -> Array:
    """Rows as float64: states as codes (NaN for −1), and numbers of the columns that hold them."""
    rows = np.where(codes >= 0, codes, np.nan)
    place = {column.name: column for column in columns}
    for v, cpd in cpds.items():
        if cpd.numeric and names[v] in place:
            rows[:, v] = numbers_of(place[names[v]])
    return rows


def without_parts(tables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[list[str], CPD]]]:
    """What ``from_tables`` was given, with even shares in the place of distributions, and those with their parents."""
    plain, parts = dict[str, Any](), dict[str, tuple[list[str], CPD]]()
    for name, table in tables.items():
        above, cpd = table if isinstance(table, tuple) and len(table) == 2 else ((), table)
        if not isinstance(cpd, CPD):
            plain[name] = table
            continue
        if not cpd.known:
            raise ValueError(f"The distribution of {name!r} must have its numbers given, but it is {cpd!r}.")
        parts[str(name)] = [above] if isinstance(above, str) else [str(parent) for parent in above], cpd
        plain[name] = np.full(cpd.n_states, 1.0 / cpd.n_states)
    return plain, parts


def number_labels(parts: Mapping[str, tuple[list[str], CPD]]) -> dict[str, list[str]]:
    """The states of variables that are numbers."""
    return {name: [NUMBER] for name, (_, cpd) in parts.items() if cpd.numeric}


def put_in(
    parts: Mapping[str, tuple[list[str], CPD]], names: list[str], labels: list[Array], parents: list[list[int]],
    arrays: list[Array],
) -> None:  # fmt: skip
    """Let the distributions take their places in what was read of the tables."""
    cards = [0 if name in parts and parts[name][1].numeric else len(labels[v]) for v, name in enumerate(names)]
    for name, (above, cpd) in parts.items():
        v = names.index(name)
        parents[v] = [find(parent, names, "table for the parent") for parent in above]
        states = [cards[p] for p in parents[v]]
        try:
            cpd.check(tuple(card for card in states if card), states.count(0), cards[v])
        except ValueError as error:
            raise ValueError(f"The distribution of {name!r} does not fit: {error}") from None
        arrays[v] = written_out(cpd, states, cards[v])
    for v, name in enumerate(names):
        if name not in parts and not all(cards[p] for p in parents[v]):
            raise ValueError(f"{name!r} has a parent that is a number, so its distribution cannot be a table.")


def written_out(cpd: CPD, cards: Sequence[int], card: int) -> Array:
    """The distribution as a table, or what stands in for it."""
    if isinstance(cpd, DiscreteCPD) and all(cards) and np.prod([*cards, card], dtype=float) <= WRITTEN_OUT:
        return np.ascontiguousarray(cpd.table(tuple(cards)), dtype=np.float64)
    return stand_in()


def cards_of(states: Sequence[Array], cpds: Mapping[int, CPD]) -> list[int]:
    """How many states each variable has; 0 for a number."""
    return [0 if v in cpds and cpds[v].numeric else len(labels) for v, labels in enumerate(states)]


def beyond_tables(tables: Sequence[Array], cpds: Mapping[int, CPD]) -> list[int]:
    """The variables whose distribution is not written out."""
    return [v for v in cpds if tables[v].shape == (1,)]


def check_parts(
    names: Sequence[str], states: Sequence[Array], bins: Mapping[int, Array], parents: Sequence[Array],
    tables: Sequence[Array], cpds: Mapping[int, CPD],
) -> None:  # fmt: skip
    """Raise ValueError unless distributions fit their variables, and tables the distributions."""
    cards = cards_of(states, cpds)
    for v, cpd in cpds.items():
        above = [cards[p] for p in parents[v].tolist()]
        if cpd.numeric and (states[v].tolist() != [NUMBER] or v not in bins):
            raise ValueError(f"states_ of {names[v]!r}, which is a number, must be ['number'], without edges in bins_.")
        cpd.check(tuple(card for card in above if card), above.count(0), cards[v])
        expected = written_out(cpd, above, cards[v])
        if expected.shape != tables[v].shape or not np.allclose(expected, tables[v], rtol=0, atol=1e-9):
            raise ValueError(f"tables_ of {names[v]!r} is not what its distribution in cpds_ says.")
    for v, each in enumerate(parents):
        if v not in cpds and not all(cards[p] for p in each.tolist()):
            raise ValueError(f"{names[v]!r} has a parent that is a number, but no distribution in cpds_.")


def mixed_network(
    states: Sequence[Array], parents: Sequence[Array], tables: Sequence[Array], cpds: Mapping[int, CPD]
) -> MixedNetwork:
    """The network on numbered variables, with all of its distributions as parts."""
    dag = DAG.of([each.tolist() for each in parents])
    every = tuple(cpds[v] if v in cpds else Table(table) for v, table in enumerate(tables))
    return MixedNetwork(tuple(cards_of(states, cpds)), dag.parents, every, dag.order)


def number(value: Any, name: str) -> float:
    """A finding about a variable that is a number."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        raise ValueError(f"given: {name!r} is a number, but {value!r} came.")
    return found


def settled(value: float) -> LinearGaussian:
    """A number that is set from outside, to nine digits: densities need some width."""
    return LinearGaussian(value, np.empty(0), (1e-9 * max(1.0, abs(value))) ** 2)


def renamed(text: str, names: Sequence[str]) -> str:
    """What solvers say of variables by number, by name."""
    return re.sub(r"variable (\d+)", lambda match: repr(names[int(match[1])]), text)
