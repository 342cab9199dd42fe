"""Questions to a network whose distributions are not all tables, by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from corollary.base import Estimator
from corollary.core.graphical.cpd import CPD
from corollary.core.graphical.mixed import MixedNetwork
from corollary.core.types import Array
from corollary.graphical.answers import Answer, Probabilities
from corollary.graphical.parts import beyond_tables, cards_of, mixed_network, number, renamed
from corollary.solvers.graphical.mixed.conditional_gaussian import exact, why_not_exact
from corollary.solvers.graphical.mixed.query import ask
from corollary.solvers.graphical.mixed.weighting import mixed_samples


class NeedsTables(ValueError, AttributeError):
    """Something was asked that needs tables; an AttributeError too, since properties raise it."""


class MixedQueries(Estimator):
    """What a network needs whose ``cpds_`` hold distributions that no table of moderate size does."""

    states_: list[Array]
    parents_: list[Array]
    tables_: list[Array]
    cpds_: dict[int, CPD]

    @abstractmethod
    def _named(self, findings: Mapping[int, Any]) -> dict[str, Any]:
        """Findings by name."""

    @property
    def _cpds(self) -> dict[int, CPD]:
        """Distributions other than tables, by the number of their variable."""
        found: dict[int, CPD] = self.__dict__.get("cpds_", {})
        return found

    @property
    def _mixed(self) -> MixedNetwork | None:
        """The network with all of its distributions as they are, if tables cannot hold them."""
        return self._mixed_network if self._cpds and beyond_tables(self.tables_, self._cpds) else None

    @property
    def _mixed_network(self) -> MixedNetwork:
        """The network on numbered variables, with all of its distributions as parts."""
        return mixed_network(self.states_, self.parents_, self.tables_, self._cpds)

    def _refuse_beyond_tables(self, names: list[str]) -> None:
        """ValueError where a method needs tables and there are none for a variable."""
        beyond = beyond_tables(self.tables_, self._cpds)
        if beyond:
            raise NeedsTables(
                f"{names[beyond[0]]!r} has the distribution {type(self._cpds[beyond[0]]).__name__}, which no table of "
                "moderate size holds, and this needs tables. What works without: query, sample, score_samples, "
                "posterior, do, and what is asked of the graph."
            )

    def _number(self, variable: int, value: Any, name: str) -> float | None:
        """A finding about a number; None for a variable with states."""
        cpd = self._cpds.get(variable)
        return number(value, name) if cpd is not None and cpd.numeric else None

    def _asked(
        self, network: MixedNetwork, names: list[str], asked: list[int], findings: Mapping[int, float], method: str,
        n_samples: int, seed: Any,
    ) -> Answer:  # fmt: skip
        """An answer by name."""
        try:
            found = ask(network, tuple(asked), findings, method, n_samples, seed)
        except ValueError as error:
            raise ValueError(renamed(str(error), names)) from None
        shares: dict[str, Probabilities] = {
            names[v]: Probabilities(zip(self.states_[v].tolist(), share.tolist(), strict=True))
            for v, share in found.marginals.items()
        }
        together = found.method == "exact"
        return Answer(
            shares,
            self._named(findings),
            found.log_evidence,
            method=found.method,
            standard_error=found.largest_error or None,
            notes=tuple(renamed(note, names) for note in found.notes),
            densities={names[v]: density for v, density in found.densities.items()},
            mean=found.mean if together else None,
            covariance=found.covariance if together else None,
            facts=found.facts,
            names=names,
        )

    def _likelihoods_mixed(self, network: MixedNetwork, rows: Array, names: list[str]) -> Array:
        """log p of each row; what a row lacks is summed or integrated out, exactly."""
        found = np.empty(len(rows))
        whole = ~np.isnan(rows).any(axis=1)
        found[whole] = network.log_prob(rows[whole])
        for i in np.flatnonzero(~whole):
            given = {v: float(value) for v, value in enumerate(rows[i]) if not np.isnan(value)}
            if why := why_not_exact(network, (), given, whole=True):
                raise ValueError(renamed(f"row {i} lacks values, and log p has no closed form: {why}.", names))
            found[i] = exact(network, (), given, whole=True).log_evidence
        return found

    def _posteriors_mixed(self, network: MixedNetwork, rows: Array, target: int, seed: Any) -> Array:
        """P(each state of a variable | the rest of the row): exact for rows that lack nothing else."""
        if not network.cards[target]:
            raise ValueError("posterior is of a variable with states; of a number, ask query for its density.")
        others = np.arange(rows.shape[1]) != target
        whole = ~np.isnan(rows[:, others]).any(axis=1)
        shares = np.empty((len(rows), network.cards[target]))
        logs = np.empty((int(whole.sum()), network.cards[target]))
        tried = rows[whole].copy()
        for state in range(network.cards[target]):
            tried[:, target] = state
            logs[:, state] = network.log_prob(tried)
        peak = logs.max(axis=1, keepdims=True)
        weights = np.where(peak > -np.inf, np.exp(logs - np.where(peak > -np.inf, peak, 0.0)), 1.0)
        shares[whole] = weights / weights.sum(axis=1, keepdims=True)
        for i in np.flatnonzero(~whole):
            given = {v: float(x) for v, x in enumerate(rows[i]) if v != target and not np.isnan(x)}
            shares[i] = ask(network, (target,), given, random_state=seed).marginals[target]
        return shares

    def _drawn_mixed(self, network: MixedNetwork, n_samples: int, seed: Any, names: list[str]) -> dict[str, Array]:
        """Columns of rows drawn: states by their labels, numbers as they are."""
        rows = mixed_samples(network, n_samples, seed)
        cards = cards_of(self.states_, self._cpds)
        return {
            name: self.states_[v][rows[:, v].astype(np.int64)] if cards[v] else rows[:, v]
            for v, name in enumerate(names)
        }
