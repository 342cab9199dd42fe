"""Questions to a network whose tables are known: probabilities, most probable states, independence, interventions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from corollary.core.graphical.dag import DAG
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array
from corollary.graphical.answers import Answer, MostProbable, Probabilities
from corollary.graphical.compiled_network import COMPILED, CompiledNetwork
from corollary.graphical.mixed_queries import MixedQueries
from corollary.graphical.states import States, find, find_all
from corollary.solvers.graphical.approximate.methods import METHODS, approximate
from corollary.solvers.graphical.exact.cost import TOGETHER, Cost
from corollary.solvers.graphical.exact.elimination import eliminate, most_probable
from corollary.solvers.graphical.exact.junction_tree import tree_cost

MOST_AXES = 64  # of a NumPy array
EXACT = ("auto", "junction_tree", "elimination")


class NetworkQueries(MixedQueries):
    """What can be asked of a network with ``variables_``, ``states_``, ``bins_``, ``parents_`` and ``tables_``."""

    variables_: Array
    states_: list[Array]
    bins_: dict[int, Array]
    parents_: list[Array]
    tables_: list[Array]
    random_state: Any
    edges: Any

    # -- the network as numbers, and names --------------------------------------------------------------------------
    @property
    def _compiled(self) -> CompiledNetwork:
        self._require_tables()
        self._refuse_beyond_tables(self._names)
        return COMPILED.of(self, self.tables_, lambda: CompiledNetwork(_numbered(self.parents_, self.tables_)))

    def _require_tables(self) -> None:
        if not hasattr(self, "tables_"):
            raise NotFittedError(
                f"This {type(self).__name__} has no tables of probabilities yet: call fit(X), or make it with "
                "BayesianNetwork.from_tables or read_bif."
            )

    @property
    def table_network(self) -> TableNetwork:
        """The network on numbered variables and states, as algorithms see it."""
        return self._compiled.network

    @property
    def _names(self) -> list[str]:
        self._require_tables()
        names: list[str] = self.variables_.tolist()
        return names

    def _states_of(self, variable: int) -> States:
        return States(self._names[variable], self.states_[variable], self.bins_.get(variable))

    def _findings(self, given: Mapping[str, Any] | None) -> dict[int, Any]:
        """States by number, of variables by number; of variables that are numbers, the numbers."""
        names, found = self._names, dict[int, Any]()
        if given is None:
            return found
        if not hasattr(given, "items"):  # a row of a frame has them too
            raise ValueError(f"given must be a mapping {{variable: state}}, but it is {given!r}.")
        for name, value in given.items():
            variable = find(name, names)
            exact = self._number(variable, value, name)
            found[variable] = self._states_of(variable).code(value) if exact is None else exact
        return found

    def _named(self, findings: Mapping[int, Any]) -> dict[str, Any]:
        numeric = {v for v, cpd in self._cpds.items() if cpd.numeric}
        return {
            self._names[v]: state if v in numeric else self.states_[v].tolist()[state] for v, state in findings.items()
        }

    def _row(self, findings: Mapping[int, int]) -> Array:
        row = np.full((1, len(self.states_)), -1, dtype=np.int64)
        for variable, state in findings.items():
            row[0, variable] = state
        return row

    # -- probabilities ----------------------------------------------------------------------------------------------
    def query(
        self,
        variables: str | Sequence[str] | None = None,
        given: Mapping[str, Any] | None = None,
        *,
        joint: bool = False,
        method: str = "auto",
        n_samples: int = 100_000,
        random_state: Any = None,
    ) -> Answer:
        """P(variables | given).

        Parameters
        ----------
        variables : name, list of names, or None
            None: all that are not given.
        given : dict of name to state, or None
            What was found. A variable that was cut into intervals may be given as a number.
        joint : bool, default False
            Also give the joint table of the variables (``answer.joint``); exact methods only.
        method : {"auto", "junction_tree", "elimination", "likelihood_weighting", "gibbs", "rejection", "mean_field"}
            The first three are exact; "auto" is "junction_tree". They refuse before they start, with the numbers, if
            their tables would not fit into memory; the others need little of it and say how far off they may be.
        n_samples : int ≥ 1, default 100000
            Of methods that draw.
        random_state : int, RandomState or None

        Returns
        -------
        answer : Answer
            ``answer["rain"]["yes"]`` is a probability; ``answer.log_evidence`` is log P(given).
        """
        self._require_tables()
        findings = self._findings(given)
        names = self._names
        asked = [v for v in range(len(names)) if v not in findings] if variables is None else find_all(variables, names)
        if (mixed := self._mixed) is not None:
            if joint:
                raise ValueError("joint=True needs tables; of numbers, the answer has their mean and covariance.")
            seed = self.random_state if random_state is None else random_state
            return self._asked(mixed, names, asked, findings, method, n_samples, seed)
        if method in ("auto", "junction_tree"):
            if joint:
                return self._by_table(asked, findings, "junction_tree")
            return self._by_tree(asked, findings, everything=variables is None)
        if method == "elimination":
            return self._by_table(asked, findings, method, joint=joint)
        if joint and method in METHODS:
            raise ValueError(
                f"method={method!r} has no joint tables: with joint=True it must be one of {_said(EXACT)}."
            )
        return self._drawn(asked, findings, method, n_samples, random_state)

    def marginals(self, given: Mapping[str, Any] | None = None, **options: Any) -> Answer:
        """P(each variable | given), of all variables that are not given, in one calibration of the junction tree."""
        return self.query(None, given, **options)

    def _by_tree(self, asked: list[int], findings: dict[int, int], *, everything: bool) -> Answer:
        tree = self._compiled.tree(findings, None if everything else [v for v in asked if v not in findings])
        shares, log_evidence = tree.run(self._row(findings))
        if log_evidence[0] == -np.inf:
            raise self._impossible(findings)
        numbers = shares[0].tolist()
        found: dict[str, Probabilities] = {}
        for v in asked:
            states = self.states_[v].tolist()
            if v in findings:
                found[self._names[v]] = Probabilities(
                    (state, float(i == findings[v])) for i, state in enumerate(states)
                )
            else:
                found[self._names[v]] = Probabilities(zip(states, numbers[tree.answers[v]], strict=True))
        return Answer(found, self._named(findings), float(log_evidence[0]), names=self._names)

    def _by_table(self, asked: list[int], findings: dict[int, int], method: str, *, joint: bool = True) -> Answer:
        free = [v for v in asked if v not in findings]
        network = self.table_network
        if joint:
            Cost.of_table(network.cards[v] for v in asked).check(TOGETHER)
            if len(asked) > MOST_AXES:
                raise ValueError(
                    f"joint=True is for at most {MOST_AXES} variables, an axis each, not for {len(asked)}."
                )
        if method == "junction_tree" and free:
            tree = self._compiled.tree(findings, free, together=True)
            shares, logs = tree.run(self._row(findings))
            table = shares[0].reshape([network.cards[v] for v in sorted(free)])
            table, log_evidence = table.transpose(np.argsort(np.argsort(free))), float(logs[0])
        elif joint or not free:
            table, log_evidence = eliminate(network, free, findings)
        else:
            each = [eliminate(network, [v], findings) for v in free]
            log_evidence = each[0][1]
            alone = dict(zip(free, (share for share, _ in each), strict=True))
        if log_evidence == -np.inf:
            raise self._impossible(findings)
        if joint or not free:
            axes = range(len(free))
            alone = {v: table.sum(axis=tuple(a for a in axes if a != axis)) for axis, v in enumerate(free)}
        full = None
        if joint:
            spread = np.zeros([network.cards[v] for v in asked])
            spread[tuple(findings.get(v, slice(None)) for v in asked)] = table
            full = spread
        known = {v: np.eye(network.cards[v])[findings[v]] for v in asked if v in findings}
        shares_of = {v: alone[v] if v in alone else known[v] for v in asked}
        shown = self._distributions(shares_of)
        return Answer(shown, self._named(findings), log_evidence, full, method, names=self._names)

    def _drawn(self, asked: list[int], findings: dict[int, int], method: str, n_samples: int, seed: Any) -> Answer:
        if method not in METHODS:
            raise ValueError(f"method must be one of {_said((*EXACT, *METHODS))}, but it is {method!r}.")
        seed = self.random_state if seed is None else seed
        found = approximate(self.table_network, asked, findings, method, n_samples, seed)
        shares = {v: found.marginals[v] for v in asked}
        error = None if np.isnan(found.largest_error) else found.largest_error
        return Answer(
            self._distributions(shares), self._named(findings), method=method, standard_error=error,
            notes=(str(found),), facts=found.facts, names=self._names,
        )  # fmt: skip

    def _distributions(self, shares: Mapping[int, Array]) -> dict[str, Probabilities]:
        return {
            self._names[v]: Probabilities(zip(self.states_[v].tolist(), share.tolist(), strict=True))
            for v, share in shares.items()
        }

    def _impossible(self, findings: dict[int, int]) -> ValueError:
        """Which finding is the first that those before it rule out."""
        earlier: dict[int, int] = {}
        for variable, state in findings.items():
            if eliminate(self.table_network, [], {**earlier, variable: state})[1] == -np.inf:
                said = ", ".join(f"{name} = {value}" for name, value in self._named(earlier).items())
                name, value = next(iter(self._named({variable: state}).items()))
                after = f" when {said}" if said else ""
                return ValueError(
                    f"given has probability zero in this network: {name} = {value} cannot be{after}. Check the "
                    "findings, or learn the tables with pseudo-counts, which leave nothing impossible."
                )
            earlier[variable] = state
        return ValueError(
            "given is so improbable in this network that float64 cannot hold it (below 1e-308 in a part of it): use "
            "method='elimination', which computes with logarithms."
        )

    def query_cost(
        self, variables: str | Sequence[str] | None = None, given: Iterable[str] = (), *, joint: bool = False
    ) -> Cost:
        """What an exact answer would cost: treewidth, entries and bytes of tables. Nothing is computed.

        Of a joint table that no machine holds, the cost of that table alone is given.
        """
        names = self._names
        observed = find_all(given, names)
        wanted = None if variables is None else find_all(variables, names)
        return tree_cost(self.table_network, observed, wanted, together=joint)

    def map_query(
        self, variables: str | Sequence[str] | None = None, given: Mapping[str, Any] | None = None
    ) -> MostProbable:
        """The states of ``variables`` that are together most probable given what was found; all others are summed out.

        With None it is the most probable explanation: the states of everything that is not given.
        """
        findings, names = self._findings(given), self._names
        asked = [v for v in range(len(names)) if v not in findings] if variables is None else find_all(variables, names)
        free = [v for v in asked if v not in findings]
        chosen, best = most_probable(self.table_network, free, findings)
        log_evidence = eliminate(self.table_network, [], findings)[1] if findings else 0.0
        if log_evidence == -np.inf:
            raise self._impossible(findings)
        states = self._named({v: findings[v] if v in findings else chosen[v] for v in asked})
        return MostProbable(states, self._named(findings), best - log_evidence, log_evidence, self._names)

    # -- the graph --------------------------------------------------------------------------------------------------
    @property
    def dag(self) -> DAG:
        """The graph on numbered variables."""
        return self._graph[1]

    @property
    def edges_(self) -> list[tuple[str, str]]:
        """(parent, child) by name, by child."""
        names = self._names
        return [(names[p], names[v]) for v, above in enumerate(self.parents_) for p in above.tolist()]

    @property
    def _graph(self) -> tuple[list[str], DAG]:
        """(names, graph); before a fit, that of the parameter ``edges``."""
        if hasattr(self, "tables_") or getattr(self, "edges", None) is None:
            names = self._names
            return names, DAG.of([parents.tolist() for parents in self.parents_], names)
        pairs = [(str(parent), str(child)) for parent, child in self.edges]
        names = list(dict.fromkeys(name for pair in pairs for name in pair))
        return names, DAG.of([[names.index(p) for p, child in pairs if child == name] for name in names], names)

    def independent(self, x: str | Sequence[str], y: str | Sequence[str], given: str | Iterable[str] = ()) -> bool:
        """Whether the graph makes x and y independent given others: d-separation. States do not matter to it."""
        names, dag = self._graph
        first, second = find_all(x, names), find_all(y, names)
        known = find_all(given, names)
        twice = (set(first) & set(second)) | ((set(first) | set(second)) & set(known))
        if twice:
            raise ValueError(f"x, y and given must be different variables, but {names[min(twice)]!r} is named twice.")
        return dag.separated(first, second, known)

    def markov_blanket(self, variable: str) -> list[str]:
        """Parents, children and other parents of children: given these, nothing else tells about the variable."""
        names, dag = self._graph
        return [names[v] for v in dag.blanket(find(variable, names))]

    def independences(self) -> list[str]:
        """What the graph says by itself: each variable is independent of its non-descendants given its parents.

        Every other independence that ``independent`` finds follows from these.
        """
        (names, dag), found = self._graph, []
        for v in range(dag.size):
            near = {*dag.descendants([v]), *dag.parents[v]}
            others = [o for o in range(dag.size) if o not in near]
            if others:
                known = ", ".join(names[p] for p in dag.parents[v])
                found.append(f"{names[v]} ⊥ {', '.join(names[o] for o in others)}{' | ' + known if known else ''}")
        return found

    def independent_pairs(self, given: str | Iterable[str] = ()) -> list[tuple[str, str]]:
        """Pairs of variables that are independent given others."""
        names, dag = self._graph
        known = set(find_all(given, names))
        free = [v for v in range(dag.size) if v not in known]
        near = {v: dag.reachable([v], known) for v in free}
        return [(names[a], names[b]) for a, b in combinations(free, 2) if b not in near[a]]


def _said(methods: Iterable[str]) -> str:
    return ", ".join(map(repr, methods))


def _numbered(parents: list[Array], tables: list[Array]) -> TableNetwork:
    return TableNetwork.of([each.tolist() for each in parents], tables)
