"""Rows drawn from a network, parents before children, and rejection sampling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from corollary._compiled.graphical.draws import add_logs, draw_rows, tally
from corollary.core.graphical.flat import Flat, flatten
from corollary.core.graphical.tables import TableNetwork
from corollary.core.parallel import each_block, map_blocks
from corollary.core.types import Array
from corollary.solvers.graphical.approximate.answers import FEW, Approximation, by_variable, certain
from corollary.solvers.graphical.approximate.support import check_query

ROWS = 4096  # of a block; the rows do not depend on it


def seed_of(random_state: Any) -> np.uint64:
    """64 bits from what scikit-learn takes as a random state."""
    random = check_random_state(random_state)
    high, low = random.randint(0, 2**32, size=2, dtype=np.uint64)
    return np.uint64((int(high) << 32) | int(low))


def forward_samples(network: TableNetwork, n_samples: int, random_state: Any = None) -> Array:
    """Independent rows from the joint distribution.

    Parameters
    ----------
    network : TableNetwork
    n_samples : int ≥ 1
    random_state : None, int or RandomState
        Row i depends on it and on i alone: neither threads nor the number of rows change it.

    Returns
    -------
    rows : int32 array (n_samples, d)
        States, a column for each variable of the network in the order of its numbers.

    Notes
    -----
    *Cost.* O(n × (variables + edges)); the rows, and nothing else of their size.
    """
    flat, seed = flatten(network, {}, range(len(network.cards))), seed_of(random_state)
    rows = np.empty((n_samples, flat.size), dtype=np.int32)
    columns = np.array(flat.variables, dtype=np.int64)

    def fill(start: int, stop: int) -> None:
        draw_rows(
            start, seed, flat.scope_starts, columns[flat.scope], flat.strides, flat.table_starts, flat.cumulative,
            columns, rows[start:stop],
        )  # fmt: skip

    each_block(fill, n_samples, ROWS)
    return rows


def drawn(flat: Flat, seed: np.uint64, start: int, stop: int) -> Array:
    """Rows start … stop − 1 of the free variables (int32), each given its parents."""
    rows, columns = np.empty((stop - start, flat.size), dtype=np.int32), np.arange(flat.size)
    draw_rows(
        start, seed, flat.scope_starts, flat.scope, flat.strides, flat.table_starts, flat.cumulative, columns, rows
    )  # fmt: skip
    return rows


def likelihoods(flat: Flat, rows: Array) -> Array:
    """The logarithm of the probability of what is known, given each row."""
    totals = np.zeros(len(rows))
    add_logs(
        flat.size, len(flat.tables), flat.scope_starts, flat.scope, flat.strides, flat.table_starts, flat.logs, rows,
        totals,
    )  # fmt: skip
    return totals


@dataclass(frozen=True)
class Tally:
    """Weights of rows added up by the states they have; weights are relative to exp(peak)."""

    peak: float
    n: int
    total: float
    squares: float
    by_state: Array
    squares_by_state: Array

    @staticmethod
    def of(flat: Flat, rows: Array, log_weights: Array) -> Tally:
        peak = float(log_weights.max(initial=-np.inf))
        weights = np.exp(log_weights - peak) if peak > -np.inf else np.zeros(len(rows))
        sums, squares = np.zeros(flat.offsets[-1]), np.zeros(flat.offsets[-1])
        tally(rows, weights, flat.offsets, sums, squares)
        return Tally(peak, len(rows), float(weights.sum()), float(weights @ weights), sums, squares)

    def __add__(self, other: Tally) -> Tally:
        peak = max(self.peak, other.peak)
        if peak == -np.inf:
            one = two = 0.0
        else:
            one, two = np.exp(self.peak - peak), np.exp(other.peak - peak)
        return Tally(
            peak,
            self.n + other.n,
            one * self.total + two * other.total,
            one**2 * self.squares + two**2 * other.squares,
            one * self.by_state + two * other.by_state,
            one**2 * self.squares_by_state + two**2 * other.squares_by_state,
        )

    @property
    def effective(self) -> float:
        """Kish's number of equal weights that are worth as much."""
        return self.total**2 / self.squares if self.squares > 0 else 0.0

    def shares(self) -> tuple[Array, Array]:
        """Probabilities of all states and their standard errors.

        Errors are those of a ratio of means (the delta method), and never below what a state that no draw, or each of
        them, had may still hold.
        """
        found = self.by_state / self.total
        spread = self.squares_by_state * (1.0 - 2.0 * found) + found**2 * self.squares
        errors = np.sqrt(np.maximum(spread, 0.0)) / self.total
        unseen = 0.5 / (self.effective + 1.0)
        floor: float = np.sqrt(unseen * (1.0 - unseen) / (self.effective + 1.0))
        return found, np.maximum(errors, floor)


def total_of(tallies: Any) -> Tally:
    """All blocks, added in their order."""
    result: Tally | None = None
    for part in tallies:
        result = part if result is None else result + part
    assert result is not None
    return result


def rejection(
    network: TableNetwork,
    variables: tuple[int, ...],
    given: Mapping[int, int],
    n_samples: int = 100_000,
    random_state: Any = None,
) -> Approximation:
    """Marginals from those of ``n_samples`` forward samples that agree with what is known.

    Notes
    -----
    *Cost.* O(n × variables that matter). Of evidence of probability p, a share p of the samples is used: with p below
    1/n there is no answer, which is said. The share that was accepted estimates p.
    """
    check_query(network, variables, given, n_samples)
    flat, seed = flatten(network, {}, (*variables, *given)), seed_of(random_state)
    place = {variable: j for j, variable in enumerate(flat.variables)}
    columns, states = [place[v] for v in given], np.array(list(given.values()), dtype=np.int32)

    def work(start: int, stop: int) -> Tally:
        rows = drawn(flat, seed, start, stop)
        kept = rows[(rows[:, columns] == states).all(axis=1)]
        return Tally.of(flat, kept, np.zeros(len(kept)))

    tallied = total_of(map_blocks(work, n_samples, ROWS))
    if tallied.n == 0:
        raise ValueError(
            f"None of {n_samples} samples agrees with the evidence: its probability is below {3 / n_samples:.1g}, with "
            "95 % confidence. Use method='likelihood_weighting', which rejects nothing, or method='gibbs'."
        )
    shares, errors = tallied.shares()
    known = certain(network, given, variables)
    rate = tallied.n / n_samples
    notes = [f"{rate:.2%} of the samples agreed with the evidence and were used."]
    if tallied.n < FEW:
        notes.append("They are too few to trust: use method='likelihood_weighting', or raise n_samples.")
    return Approximation(
        method="rejection sampling",
        marginals=by_variable(flat, shares, variables) | known,
        errors=by_variable(flat, errors, variables) | {v: np.zeros(network.cards[v]) for v in known},
        n_samples=n_samples,
        effective=float(tallied.n),
        facts={"acceptance rate": rate, "log evidence": float(np.log(rate))},
        notes=tuple(notes),
    )
