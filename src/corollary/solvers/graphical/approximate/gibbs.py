"""Gibbs sampling: every free variable is drawn anew given all others, over and over, in several chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.graphical.gibbs import gibbs_sweeps
from corollary.core.graphical.flat import Flat, flatten
from corollary.core.graphical.tables import TableNetwork
from corollary.core.parallel import map_blocks, stop_if_ended
from corollary.core.types import Array
from corollary.solvers.graphical.approximate.answers import FEW, Approximation, by_variable, certain
from corollary.solvers.graphical.approximate.forward import drawn, likelihoods, seed_of
from corollary.solvers.graphical.approximate.support import check_query, possible_state, separate_parts

MIXED = 1.01  # split R-hat above this: the chains do not yet tell the same story
PARTS = 32  # batches of a chain, over which its errors are measured
STARTS = 256  # forward samples among which chains look for a start


def gibbs(
    network: TableNetwork,
    variables: tuple[int, ...],
    given: Mapping[int, int],
    n_samples: int = 20_000,
    random_state: Any = None,
    *,
    n_chains: int = 4,
    burn_in: int | None = None,
) -> Approximation:
    """Marginals of ``variables`` given what is known, from ``n_samples`` sweeps shared out to chains.

    Parameters
    ----------
    network : TableNetwork
    variables, given
        What is asked for; what is known, by variable.
    n_samples : int ≥ 1
        Sweeps that count, all chains together; a chain makes at least 64.
    random_state : None, int or RandomState
    n_chains : int ≥ 2
    burn_in : int ≥ 0 or None
        Sweeps of each chain that do not count; None: half as many as count.

    Notes
    -----
    Marginals are means of the conditional probabilities from which states are drawn: never worse than counting states.
    *Diagnostics.* Split R-hat compares halves of chains; standard errors come from means of batches, and from how the
    chains differ if that is more; the effective number of samples is p(1 − p) / error², at its lowest. Where tables
    have zeros, single changes may not lead from one possible state to another. This is worked out where there are few
    joint states; otherwise a note says that it is not known.

    *Cost.* O(sweeps × Σ states × factors of a variable); chains run on threads.
    """
    check_query(network, variables, given, n_samples)
    if n_chains < 2:
        raise ValueError(f"n_chains must be a whole number ≥ 2 (one chain cannot be judged), but it is {n_chains}.")
    flat = flatten(network, given, variables)
    known = certain(network, given, variables)
    length = max(-(-n_samples // (n_chains * PARTS)), 2)
    seeds = np.random.RandomState(int(seed_of(random_state) >> np.uint64(32)))
    starts = _starts(flat, n_chains, seeds)
    streams = seeds.randint(0, 2**32, size=(n_chains, 1), dtype=np.uint64) << np.uint64(32)
    waiting = length * PARTS // 2 if burn_in is None else burn_in
    blankets = _Blankets.of(flat)

    def work(chain: int, _: int) -> tuple[Array, Array]:
        return blankets.run(flat, starts[chain], streams[chain], waiting, length)

    results = list(map_blocks(work, n_chains, 1))
    judged = _Judged.of(flat, np.stack([means for means, _ in results]), np.stack([sq for _, sq in results]), length)
    places = {v: j for j, v in enumerate(flat.variables)}
    asked = np.zeros(flat.offsets[-1], dtype=bool)
    for v in variables:
        if v in places:
            asked[flat.offsets[places[v]] : flat.offsets[places[v] + 1]] = True
    worst, effective = judged.r_hat[asked].max(initial=1.0), judged.effective[asked].min(initial=np.inf)
    return Approximation(
        method="Gibbs sampling",
        marginals=by_variable(flat, judged.means, variables) | known,
        errors=by_variable(flat, judged.errors, variables) | {v: np.zeros(network.cards[v]) for v in known},
        n_samples=n_chains * PARTS * length,
        effective=float(effective if effective < np.inf else n_chains * PARTS * length),
        facts={"split R-hat": float(worst), "chains": n_chains, "burn-in": waiting},
        notes=_notes(flat, float(worst), float(effective)),
    )


def _notes(flat: Flat, r_hat: float, effective: float) -> tuple[str, ...]:
    found = []
    parts = separate_parts(flat)
    if parts is None:
        found.append(
            "Tables have zeros, so it is not certain that changes of single variables lead everywhere: compare with "
            "method='likelihood_weighting'."
        )
    elif parts > 1:
        found.append(
            f"The chains cannot mix: because of zeros in tables, the possible states fall into {parts} sets between "
            "which no change of a single variable leads, so these marginals depend on where the chains began. Use "
            "method='likelihood_weighting' or an exact method."
        )
    if r_hat > MIXED and parts in (None, 1):
        found.append(
            f"The chains have not mixed: split R-hat is {r_hat:.3g}, above {MIXED}. Raise n_samples, or use "
            "method='likelihood_weighting'."
        )
    if effective < FEW:
        found.append(f"The samples are worth {effective:.0f} independent ones: too few to trust. Raise n_samples.")
    return tuple(found)


def _starts(flat: Flat, n_chains: int, random: np.random.RandomState) -> list[Array]:
    """A possible state for each chain: forward samples that agree with what is known, or else found by search."""
    rows = drawn(flat, seed_of(random), 0, STARTS)
    agreeing = rows[likelihoods(flat, rows) > -np.inf][:n_chains].astype(np.int64)
    starts = list(agreeing)
    while len(starts) < n_chains:
        found = possible_state(flat, random)
        if found is None:
            raise ValueError(
                "No state of the other variables was found that agrees with the evidence, so no chain can begin: it is "
                "impossible or hardly possible. Smooth the tables, or use an exact method."
            )
        starts.append(found)
    return starts


@dataclass(frozen=True)
class _Blankets:
    """The factors that each variable is in, end to end, and how an entry of them moves with it."""

    starts: Array
    factors: Array
    strides: Array

    @staticmethod
    def of(flat: Flat) -> _Blankets:
        of_entry = np.repeat(np.arange(len(flat.scopes)), np.diff(flat.scope_starts))
        order = np.argsort(flat.scope, kind="stable")
        starts = np.searchsorted(flat.scope[order], np.arange(flat.size + 1)).astype(np.int64)
        return _Blankets(starts, of_entry[order].astype(np.int64), flat.strides[order])

    def run(self, flat: Flat, state: Array, stream: Array, waiting: int, length: int) -> tuple[Array, Array]:
        """Means of batches (PARTS, states) and mean squares of halves (2, states) of one chain."""
        state, at = state.copy(), flat.table_starts[:-1].copy()
        for f, scope in enumerate(flat.scopes):
            first = flat.scope_starts[f]
            at[f] += sum(int(state[v] * flat.strides[first + k]) for k, v in enumerate(scope))
        room, moves = np.empty(int(flat.cards.max(initial=1))), np.zeros(flat.size, dtype=np.int64)
        stream = stream.copy()

        def sweeps(count: int, sums: Array, squares: Array) -> None:
            gibbs_sweeps(
                count, stream, state, at, flat.cards, flat.offsets, self.starts, self.factors, self.strides, flat.logs,
                room, sums, squares, moves,
            )  # fmt: skip

        total = flat.offsets[-1]
        for done in range(0, waiting, length):  # in pieces, between which Ctrl-C is heard
            stop_if_ended()
            sweeps(min(length, waiting - done), np.zeros(total), np.zeros(total))
        means, squares = np.zeros((PARTS, total)), np.zeros((2, total))
        for part in range(PARTS):
            stop_if_ended()
            sweeps(length, means[part], squares[2 * part // PARTS])
        return means / length, squares / (length * PARTS // 2)


@dataclass(frozen=True)
class _Judged:
    """What the chains say, and how far they can be believed, for every state."""

    means: Array
    errors: Array
    r_hat: Array
    effective: Array

    @staticmethod
    def of(flat: Flat, batches: Array, squares: Array, length: int) -> _Judged:
        """From means of batches (chains, PARTS, states) and mean squares of halves of chains (chains, 2, states)."""
        n_chains, total = len(batches), batches.shape[2]
        means = batches.mean(axis=(0, 1))
        halves = batches.reshape(2 * n_chains, PARTS // 2, total).mean(axis=1)
        n = length * PARTS // 2
        within = (squares.reshape(2 * n_chains, total) - halves**2).clip(0).mean(axis=0) * n / (n - 1)
        between = halves.var(axis=0, ddof=1)
        between[between < 1e-24] = 0.0  # rounding
        within[within < 1e-24] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            r_hat = np.sqrt((n - 1) / n + between / within)
        r_hat[(within == 0) & (between == 0)] = 1.0
        by_batch = batches.reshape(n_chains * PARTS, total).std(axis=0, ddof=1) / np.sqrt(n_chains * PARTS)
        by_chain = batches.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(n_chains)
        errors = np.maximum(np.maximum(by_batch, by_chain), 1e-14)  # what rounding leaves open
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = means * (1.0 - means) / errors**2
        effective[errors < 1e-12] = np.inf
        return _Judged(means, errors, r_hat, effective)
