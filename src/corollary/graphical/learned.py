"""Networks whose structure is learned: what they share beyond their tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.core.evidence import Evidence, Kind, worst_of
from corollary.core.types import Array
from corollary.graphical.network import BayesianNetwork
from corollary.graphical.states import Column, States, column_names, find
from corollary.referee.networks import step_of_em
from corollary.referee.structures import counted_tables
from corollary.referee.verdict import Verification
from corollary.solvers.graphical.learning.counts import Coded
from corollary.solvers.graphical.learning.hidden import TableModel
from corollary.solvers.graphical.learning.parameters import family_counts, tables_from
from corollary.solvers.graphical.learning.tables import learn_parameters

Parents = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Found:
    """A structure: parents of each variable, and what can be said for it."""

    parents: Parents
    evidence: Evidence


class LearnedNetwork(BayesianNetwork, ABC):
    """A network that learns which edges there are."""

    edges = None  # known after the fit: see ``edges_``
    cpds = None  # all tables

    @classmethod
    def _made(cls, *parts: Any, **parameters: Any) -> BayesianNetwork:
        """Of given tables nothing is to be learned: a plain network."""
        return BayesianNetwork._made(*parts, **parameters)

    @property
    def _referee_prior(self) -> tuple[float, float]:
        """Pseudo-counts of a cell and of a table, for the referee."""
        ess = self.equivalent_sample_size
        return (self.pseudo_counts, 0.0) if ess is None else (0.0, ess)

    def _read(self, columns: list[Column], weights: Array, *more: Any) -> tuple[list[States], Coded]:
        names = column_names(columns)
        for name in self.states or {}:
            find(name, names, "column")
        return super()._read(columns, weights, *more)


class SearchedNetwork(LearnedNetwork):
    """A network that learns its edges from X alone, and then its tables as :class:`BayesianNetwork` does."""

    @abstractmethod
    def _structure(self, data: Coded, names: list[str], observe: Any) -> Found:
        """The parents of each variable from coded rows."""

    def _judge_tables(self, codes: Array, weights: Array) -> Verification:
        """What the referee says of the tables: counted anew, or one more step of EM."""
        if (codes[weights > 0] < 0).any():
            tolerance = TableModel(()).movement_tol(self.tol)
            return step_of_em(codes, weights, self.parents_, self.tables_, self._added, tolerance)
        live, above = weights > 0, [each.tolist() for each in self.parents_]
        prior = self._referee_prior
        return counted_tables(codes[live], weights[live], above, self.tables_, prior, range(len(above)))

    def _learn(self, columns: list[Column], weights: Array, X: Any, observe: Any = None) -> None:
        names = [column.name for column in columns]
        found, data = self._read(columns, weights)
        self._keep_states(found)
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
