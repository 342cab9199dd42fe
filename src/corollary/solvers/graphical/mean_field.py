"""Mean field: the closest distribution in which all free variables are independent, by coordinate ascent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy

from corollary.core.evidence import Kind
from corollary.core.graphical.flat import Flat, flatten
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array
from corollary.solvers.graphical.answers import Approximation, certain
from corollary.solvers.graphical.forward import drawn, likelihoods, seed_of
from corollary.solvers.graphical.support import check_query, possible_state
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, best_of


def mean_field(
    network: TableNetwork,
    variables: tuple[int, ...],
    given: Mapping[int, int],
    random_state: Any = None,
    *,
    n_init: int = 4,
    tol: float = 1e-8,
    max_iter: int = 1000,
    observe: Observer | None = None,
) -> Approximation:
    r"""Marginals under the best fully factored q, which maximises a lower bound of the evidence.

    .. math:: \max_{q = \prod_v q_v} \; \mathbb{E}_q[\log P(x, e)] + \sum_v H(q_v) \;\le\; \log P(e)

    Parameters
    ----------
    network, variables, given
    random_state : None, int or RandomState
        For the starts.
    n_init : int ≥ 1
        Starts: one where each variable has its distribution given uniform parents (if no table has zeros), the others
        in states that agree with what is known. The best bound is kept.
    tol : float ≥ 0
        The largest change of a probability in a sweep at which the climb ends.
    max_iter : int ≥ 1
        Sweeps from each start.

    Notes
    -----
    *Cost.* A sweep: every table once for each of its variables.

    *Evidence.* Stationary: no change of one q_v raises the bound. It never falls from one sweep to the next. How far
    marginals are from the true ones is not known; they tend to be too sure.
    """
    check_query(network, variables, given, 1)
    flat = flatten(network, given, variables, whole=True)
    random = np.random.RandomState(int(seed_of(random_state) >> np.uint64(32)))
    climbs = (_Ascent(flat, start) for start in _starts(flat, n_init, random))
    found = best_of(climbs, Rules(max_iter, tol, observe))
    place = {variable: j for j, variable in enumerate(flat.variables)}
    bound = flat.constant - found.measure.objective
    return Approximation(
        method="mean field",
        marginals={v: found.state.q[place[v]] for v in variables if v in place} | certain(network, given, variables),
        errors={},
        n_samples=0,
        effective=np.nan,
        facts={"log evidence, at least": float(bound)},
        evidence=found.evidence(facts={"log evidence, at least": float(bound)}),
    )


def _starts(flat: Flat, n_init: int, random: np.random.RandomState) -> Iterator[list[Array]]:
    """Independent distributions under which nothing impossible has any weight."""
    made = 0
    if not flat.has_zeros:
        yield [table.reshape(-1, table.shape[-1]).mean(axis=0) for table in flat.tables[: flat.size]]
        made = 1
    rows = drawn(flat, seed_of(random), 0, 256)
    agreeing = rows[likelihoods(flat, rows) > -np.inf]
    for k in range(n_init - made):
        state = agreeing[k] if k < len(agreeing) else possible_state(flat, random)
        if state is None:
            break
        yield [np.eye(card)[s] for card, s in zip(flat.cards, state, strict=True)]


@dataclass(frozen=True)
class _State:
    q: list[Array]
    bound: float
    change: float


class _Ascent(Algorithm[_State]):
    """Coordinate ascent on the bound, one variable after the other."""

    name = "coordinate ascent"
    kind = Kind.STATIONARY
    certificate_name = "largest change of a probability in a sweep"

    def __init__(self, flat: Flat, start: list[Array]) -> None:
        self.flat, self.start = flat, start
        self.factors = [_Factor.of(table, scope) for table, scope in zip(flat.tables, flat.scopes, strict=True)]
        self.of_variable: list[list[tuple[int, int]]] = [[] for _ in range(flat.size)]
        for f, scope in enumerate(flat.scopes):
            for axis, variable in enumerate(scope):
                self.of_variable[variable].append((f, axis))

    def init(self) -> _State:
        return _State(self.start, self._bound(self.start), np.inf if self.flat.size else 0.0)

    def step(self, state: _State) -> _State:
        q, change = list(state.q), 0.0
        for v, places in enumerate(self.of_variable):
            logs = np.zeros(len(q[v]))
            for f, axis in places:
                logs = logs + self.factors[f].expected(q, axis)
            fresh = np.exp(logs - logsumexp(logs))
            change = max(change, float(np.abs(fresh - q[v]).max()))
            q[v] = fresh / fresh.sum()
        return _State(q, self._bound(q), change)

    def measure(self, state: _State) -> Measure:
        return Measure(-state.bound, state.change)

    def better(self, new: Measure, old: Measure) -> bool:
        return new.objective <= old.objective + 1e-12 * (1.0 + abs(old.objective))

    def _bound(self, q: list[Array]) -> float:
        energy = sum(factor.value(q) for factor in self.factors)
        return float(energy - sum(xlogy(part, part).sum() for part in q))


@dataclass(frozen=True)
class _Factor:
    """The logarithm of a table, zeros apart: what has weight there counts as −∞, what has none as nothing."""

    scope: tuple[int, ...]
    logs: Array
    zeros: Array | None

    @staticmethod
    def of(table: Array, scope: tuple[int, ...]) -> _Factor:
        zero = table <= 0
        return _Factor(scope, np.log(np.where(zero, 1.0, table)), zero.astype(float) if zero.any() else None)

    def expected(self, q: list[Array], axis: int) -> Array:
        """The mean logarithm for each state of the variable of this axis, the others distributed as q."""
        others = [q[v] for k, v in enumerate(self.scope) if k != axis]
        found = _mean(np.moveaxis(self.logs, axis, 0), others)
        if self.zeros is not None:
            found = np.where(_mean(np.moveaxis(self.zeros, axis, 0), others) > 0, -np.inf, found)
        return found

    def value(self, q: list[Array]) -> float:
        """The mean logarithm."""
        return float(_weighted(q[self.scope[0]], self.expected(q, 0)))


def _weighted(weights: Array, values: Array) -> Any:
    """Σ weights · values, where what has no weight counts as nothing whatever its value."""
    return np.sum(np.where(weights > 0, weights * np.where(weights > 0, values, 0.0), 0.0))


def _mean(table: Array, others: list[Array]) -> Array:
    """Means over the last axes, from the last one on."""
    for weights in reversed(others):
        table = table @ weights
    return table
