"""Networks whose structure is learned: what they share beyond their tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.base import check_weights
from corollary.core.evidence import Evidence, Kind, Status, worst_of
from corollary.core.types import Array
from corollary.graphical.network import BayesianNetwork
from corollary.graphical.states import Column, States, find, shown, states_of
from corollary.referee.networks import step_of_em
from corollary.referee.structures import counted_tables
from corollary.referee.verdict import Verification
from corollary.solvers.graphical.counts import Coded
from corollary.solvers.graphical.hidden import TableModel
from corollary.solvers.graphical.learning import learn_parameters
from corollary.solvers.graphical.parameters import Prior, family_counts, tables_from

Parents = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Found:
    """A structure: parents of each variable, and what can be said for it."""

    parents: Parents
    evidence: Evidence


class LearnedNetwork(BayesianNetwork, ABC):
    """A network that learns which edges there are, and then its tables as :class:`BayesianNetwork` does."""

    edges = None  # known after the fit: see ``edges_``
    cpds = None  # all tables

    @property
    def edges_(self) -> list[tuple[str, str]]:
        """(parent, child) by name, by child."""
        self._require_tables()
        return [(self._names[p], self._names[v]) for v, above in enumerate(self.parents_) for p in above.tolist()]

    @classmethod
    def _made(cls, *parts: Any, **parameters: Any) -> BayesianNetwork:
        """Of given tables nothing is to be learned: a plain network."""
        return BayesianNetwork._made(*parts, **parameters)

    @abstractmethod
    def _structure(self, data: Coded, names: list[str], observe: Any) -> Found:
        """The parents of each variable from coded rows."""

    @property
    def _prior(self) -> Prior:
        unit, ess = self._weight_unit, self.equivalent_sample_size
        return Prior(cell=self.pseudo_counts * unit) if ess is None else Prior(ess=ess * unit)

    @property
    def _referee_prior(self) -> tuple[float, float]:
        """Pseudo-counts of a cell and of a table, for the referee."""
        ess = self.equivalent_sample_size
        return (self.pseudo_counts, 0.0) if ess is None else (0.0, ess)

    def _judged_rows(self, X: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Rows as states, with their weights; what rows without weight hold may be no state."""
        columns = self._columns(X, reset=False)
        weights = check_weights(sample_weight, np.broadcast_to(0.0, (len(columns[0].codes), 1)))
        there = weights > 0
        codes = [self._states_of(v).encode(column.seen(there)) for v, column in enumerate(columns)]
        return np.stack(codes, axis=1), weights

    def _judge_tables(self, codes: Array, weights: Array) -> Verification:
        """What the referee says of the tables: counted anew, or one more step of EM."""
        ess = self.equivalent_sample_size
        added = [self.pseudo_counts if ess is None else ess / table.size for table in self.tables_]
        if (codes[weights > 0] < 0).any():
            tolerance = TableModel(()).movement_tol(self.tol)
            return step_of_em(codes, weights, self.parents_, self.tables_, added, tolerance)
        live, above = weights > 0, [each.tolist() for each in self.parents_]
        prior = self._referee_prior
        return counted_tables(codes[live], weights[live], above, self.tables_, prior, range(len(above)))

    def _learn(self, columns: list[Column], weights: Array, X: Any, observe: Any = None) -> None:
        names = [column.name for column in columns]
        found, data = self._read(columns, weights)
        self.variables_, self.states_ = np.array(names), [states.labels for states in found]
        self.bins_ = {v: states.edges for v, states in enumerate(found) if states.edges is not None}
        watched = _Watched(self, data)
        observe = observe or self._observer(X, None, self.max_iter, watched)
        structure = self._structure(data, names, observe)
        watched.parents = structure.parents
        self._keep_network(data, structure, names, observe)

    def _keep_network(self, data: Coded, structure: Found, names: list[str], observe: Any) -> None:
        """The tables of the structure, by counting or by EM, and the evidence of both."""
        halted = structure.evidence.status.cut_short
        network, evidence = learn_parameters(
            data, structure.parents, prior=self._prior, tol=self.tol, max_iter=0 if halted else self.max_iter,
            n_init=self.n_init, random_state=self.random_state, names=names, observe=None if halted else observe,
        )  # fmt: skip
        self.parents_ = [np.array(above, dtype=np.int64) for above in structure.parents]
        self.tables_ = list(network.tables)
        self.n_iter_ = max(1, structure.evidence.n_iter, evidence.n_iter)
        self._keep_evidence(joined(structure.evidence, evidence))

    def _read(self, columns: list[Column], weights: Array) -> tuple[list[States], Coded]:
        """The states of each column, and the rows of positive weight as numbers."""
        names = [column.name for column in columns]
        if len(set(names)) < len(names):
            raise ValueError(f"The columns of X must have different names, but they are {shown(names)}.")
        given = {names[find(name, names, "column")]: states for name, states in (self.states or {}).items()}
        found = [self._states_for(column, given.get(column.name), weights) for column in columns]
        there = weights > 0
        codes = [states.encode(column.seen(there)) for states, column in zip(found, columns, strict=True)]
        return found, Coded.gather(codes, [states.size for states in found], weights, there)

    def _states_for(self, column: Column, given: Any, weights: Array) -> States:
        from corollary.graphical.network import _chosen

        return _chosen(given, column.name) or states_of(column, weights, self.max_states, self.n_bins)


class _Watched:
    """What makes a working copy of a network in the middle of a fit, for callbacks."""

    def __init__(self, network: LearnedNetwork, data: Coded) -> None:
        self.network, self.data = network, data
        self.parents: Parents | None = None

    def __call__(self, state: Any) -> dict[str, Any]:
        parents = self.parents if self.parents is not None else state.parents
        rows = self.data if self.parents is None else None
        tables = tables_from(family_counts(rows, parents), self.network._prior) if rows else state.tables
        kept = {name: getattr(self.network, name) for name in ("variables_", "states_", "bins_")}
        return {**kept, "parents_": [np.array(p, dtype=np.int64) for p in parents], "tables_": list(tables)}


def joined(structure: Evidence, tables: Evidence) -> Evidence:
    """The evidence of a structure and of its tables: of the structure where the tables are exact."""
    facts = {**tables.facts, **structure.facts, "objective": tables.facts["objective"]}
    notes = tuple(dict.fromkeys(structure.notes + tables.notes))
    if tables.certificate.kind is Kind.EXACT and tables.holds:
        solver = structure.solver
        return replace(structure, facts=facts, notes=notes, seconds=structure.seconds + tables.seconds, solver=solver)
    worst = worst_of([structure, tables])
    if structure.status.cut_short:
        worst = replace(worst, status=structure.status)
    solver = f"{structure.solver}, then {tables.solver}"
    return replace(worst, facts=facts, notes=notes, solver=solver)


def exact(certificate: Any, solver: str, facts: dict[str, float], notes: tuple[str, ...] = ()) -> Evidence:
    """The evidence of a structure that comes from no iterations."""
    return Evidence(Status.EXACT, certificate, solver, facts=facts, notes=notes)
