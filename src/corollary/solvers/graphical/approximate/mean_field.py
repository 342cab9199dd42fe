"""Mean field: the closest distribution in which all free variables are independent, by coordinate ascent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.graphical.mean_field import ascend, bound
from corollary.core.evidence import Kind
from corollary.core.graphical.flat import Flat, flatten
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array
from corollary.solvers.graphical.approximate.answers import Approximation, by_variable, certain
from corollary.solvers.graphical.approximate.forward import drawn, likelihoods, seed_of
from corollary.solvers.graphical.approximate.support import check_query, possible_state
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
    least = float(flat.constant - found.measure.objective)
    return Approximation(
        method="mean field",
        marginals=by_variable(flat, found.state.q, variables) | certain(network, given, variables),
        errors={},
        n_samples=0,
        effective=np.nan,
        facts={"log evidence, at least": least},
        evidence=found.evidence(facts={"log evidence, at least": least}),
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
    q: Array  # of all states of all free variables, end to end
    bound: float
    change: float


class _Ascent(Algorithm[_State]):
    """Coordinate ascent on the bound, one variable after the other."""

    name = "coordinate ascent"
    kind = Kind.STATIONARY
    certificate_name = "largest change of a probability in a sweep"

    def __init__(self, flat: Flat, start: list[Array]) -> None:
        self.flat = flat
        self.start = np.concatenate([*start, np.empty(0)])
        self.room = np.empty(int(flat.cards.max(initial=1)))
        order = np.argsort(flat.scope, kind="stable")
        self.starts = np.searchsorted(flat.scope[order], np.arange(flat.size + 1)).astype(np.int64)
        self.factors = np.repeat(np.arange(len(flat.scopes)), np.diff(flat.scope_starts))[order].astype(np.int64)
        self.axes = (order - flat.scope_starts[self.factors]).astype(np.int64)

    @property
    def _tables(self) -> tuple[Array, ...]:
        flat = self.flat
        return flat.scope_starts, flat.scope, flat.strides, flat.table_starts, flat.logs, self.room

    def _bound(self, q: Array) -> float:
        return float(bound(q, self.flat.cards, self.flat.offsets, *self._tables))

    def init(self) -> _State:
        return _State(self.start, self._bound(self.start), np.inf if self.flat.size else 0.0)

    def step(self, state: _State) -> _State:
        q = state.q.copy()
        change = ascend(
            q, self.flat.cards, self.flat.offsets, self.starts, self.factors, self.axes, *self._tables
        )  # fmt: skip
        return _State(q, self._bound(q), float(change))

    def measure(self, state: _State) -> Measure:
        return Measure(-state.bound, state.change)

    def better(self, new: Measure, old: Measure) -> bool:
        return new.objective <= old.objective + 1e-12 * (1.0 + abs(old.objective))
