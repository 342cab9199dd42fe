"""EM for the tables of a network: values that are missing at random, and variables that were never seen.

The E-step is exact (see ``missing``); the M-step normalises expected counts, with the pseudo-counts of a prior.
Complete rows are counted once, before the first iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from corollary.core.blocks import BlockSource
from corollary.core.evidence import Evidence
from corollary.core.types import Array
from corollary.solvers.em import em
from corollary.solvers.graphical.learning.counts import Coded
from corollary.solvers.graphical.learning.missing import Pattern, expect, patterns, refuse_large
from corollary.solvers.graphical.learning.parameters import (
    NO_PRIOR,
    Prior,
    family_counts,
    family_of,
    log_likelihood,
    tables_from,
)
from corollary.solvers.loop import Observer

Tables = tuple[Array, ...]
STATIONARY = "largest change of a probability of parents and child that the next iteration of EM would make"


@dataclass(frozen=True)
class Counted:
    """Expected counts of all families, the log-likelihood of the rows, and their weight."""

    counts: tuple[Array, ...]
    log_likelihood: float
    weight: float

    def __add__(self, other: Counted) -> Counted:
        counts = tuple(one + two for one, two in zip(self.counts, other.counts, strict=True))
        return Counted(counts, self.log_likelihood + other.log_likelihood, self.weight + other.weight)


@dataclass(frozen=True)
class Params:
    """Tables, and the share of the rows that each state of the parents was expected to have when they were made."""

    tables: Tables
    shares: Tables


class TableModel:
    """A network of tables as a latent-variable model; a block is a pattern of missing values or complete counts."""

    movement_name = STATIONARY

    def __init__(self, parents: Sequence[Sequence[int]], prior: Prior = NO_PRIOR) -> None:
        self.parents, self.prior = parents, prior

    def e_step(self, block: Any, params: Params) -> Counted:
        (part,) = block
        if isinstance(part, Pattern):
            counts = [np.zeros(table.shape) for table in params.tables]
            value = expect(part, self.parents, params.tables, counts)
            return Counted(tuple(counts), value, float(part.weights.sum()))
        return Counted(part.counts, log_likelihood(part.counts, params.tables), part.weight)

    def m_step(self, summary: Counted) -> Params:
        tables = tables_from(summary.counts, self.prior)
        return Params(tables, tuple(count.sum(axis=-1) / summary.weight for count in summary.counts))

    def log_prior(self, params: Params) -> float:
        """Σ pseudo-count · log θ."""
        return float(sum(xlogy(self.prior.added(t.shape), t).sum() for t in params.tables)) if self.has_prior else 0.0

    @property
    def has_prior(self) -> bool:
        return bool(self.prior.cell or self.prior.ess)

    def movement(self, before: Params, after: Params) -> float:
        """The largest change of a joint probability, with the parents' shares as they are expected now."""
        parts = zip(before.tables, after.tables, after.shares, strict=True)
        return max(float((np.abs(one - two) * share[..., None]).max(initial=0.0)) for one, two, share in parts)

    def movement_tol(self, tol: float) -> float:
        """The movement that is certified with a gain of ``tol``: half as many digits."""
        return float(np.sqrt(max(tol, 0.0)))


@dataclass(frozen=True)
class Learnt:
    """Tables and the evidence."""

    tables: Tables
    evidence: Evidence


def learn_with_missing(
    data: Coded,
    parents: Sequence[Sequence[int]],
    *,
    prior: Prior = NO_PRIOR,
    tol: float = 1e-10,
    max_iter: int = 1000,
    n_init: int = 1,
    random_state: np.random.RandomState,
    names: Sequence[str] | None = None,
    observe: Observer | None = None,
) -> Learnt:
    """Tables of the largest likelihood (times the prior) that EM finds from ``n_init`` random starts."""
    complete, incomplete = patterns(data, parents)
    refuse_large(data, parents, incomplete)
    weight = complete.total if complete.n_rows else 0.0
    known = Counted(tuple(family_counts(complete, parents)), 0.0, weight)
    blocks = [(known,)] * bool(complete.n_rows) + [(pattern,) for pattern in incomplete]
    model = TableModel(parents, prior)
    begin = _starts(data, parents, prior, n_init, random_state)
    found = em(model, BlockSource(blocks, executor="threads"), begin, tol=tol, max_iter=max_iter, observe=observe)
    notes = tuple(_silent(data, parents, names))
    evidence = replace(found.evidence, notes=found.evidence.notes + notes)
    value = found.summary.log_likelihood
    evidence = replace(evidence, facts={**evidence.facts, "log-likelihood": value})
    return Learnt(found.params.tables, evidence)


def _starts(
    data: Coded, parents: Sequence[Sequence[int]], prior: Prior, n_init: int, rng: np.random.RandomState
) -> Iterable[Params]:
    """Available counts, shaken so that no two states of a variable that was never seen are alike."""
    counts = family_counts(data, parents)
    hidden = data.missing == data.n_rows
    for _ in range(max(1, n_init)):
        tables = list[Array]()
        for i, count in enumerate(counts):
            share = count / count.sum() if count.sum() > 0 else np.zeros(count.shape)
            shaken = any(hidden[j] for j in family_of(parents, i)) or n_init > 1
            noise = rng.gamma(1.0, size=count.shape) if shaken else np.ones(count.shape)
            tables.append(share * count.size + noise + prior.added(count.shape))
        made = tables_from(tables)
        yield Params(made, tuple(np.full(table.shape[:-1], 1.0 / table[..., 0].size) for table in made))


def _silent(data: Coded, parents: Sequence[Sequence[int]], names: Sequence[str] | None) -> Iterable[str]:
    """Of hidden variables of which nothing that was seen depends: likelihood says nothing about their tables."""
    hidden = data.missing == data.n_rows
    told = ~hidden
    for _ in range(len(parents)):  # a variable is told of by children that are seen or told of
        for i, above in enumerate(parents):
            if told[i]:
                told[list(above)] = True
    for j in np.flatnonzero(~told).tolist():
        name = names[j] if names is not None else f"variable {j}"
        yield f"{name} was never seen, and nothing that was seen depends on it: its table is arbitrary."
