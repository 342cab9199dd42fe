"""Tables of a network of known structure from counts: maximum likelihood, or the mode under Dirichlet priors.

A table is (counts + pseudo-counts) / their sum for each state of the parents. Where there is nothing to count, and no
pseudo-count, it is uniform: likelihood says nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy.special import xlogy

from corollary.core.evidence import Certificate, Evidence, Kind, Status, honest
from corollary.core.types import Array
from corollary.solvers.graphical.learning.counts import Coded, family_tables, recounted

ROUNDING = 1e-12
EXACT = "largest error of a probability in the tables, by a second count of the rows"

Family = Sequence[int]  # the axes of a table


@dataclass(frozen=True)
class Prior:
    """Pseudo-counts: ``cell`` for each cell, and ``ess`` rows for each table, spread evenly (BDeu)."""

    cell: float = 0.0
    ess: float = 0.0

    def added(self, shape: tuple[int, ...]) -> float:
        """What each cell of a table of this shape gets."""
        return self.cell + self.ess / float(prod(shape))


NO_PRIOR = Prior()


def family_of(parents: Sequence[Sequence[int]], variable: int) -> tuple[int, ...]:
    """The axes of a variable's table: its parents, then itself."""
    return (*parents[variable], variable)


def family_counts(data: Coded, parents: Sequence[Sequence[int]]) -> list[Array]:
    """The counts of all families, in rows that have all values of the family; they add up over blocks of rows."""
    return family_tables(data, [family_of(parents, i) for i in range(data.n_variables)])


def tables_from(counts: Sequence[Array], prior: Prior = NO_PRIOR) -> tuple[Array, ...]:
    """The tables that are most likely for these counts, their last axis summing to one."""
    return tuple(_normalised(count + prior.added(count.shape)) for count in counts)


def _normalised(cells: Array) -> Array:
    total = cells.sum(axis=-1, keepdims=True)
    if total.all():
        return np.asarray(cells / total)
    with np.errstate(invalid="ignore", divide="ignore"):
        table = np.where(total > 0, cells / total, 1.0 / cells.shape[-1])
    return np.asarray(table)


def log_likelihood(counts: Sequence[Array], tables: Sequence[Array]) -> float:
    """Σ N log θ: the log-likelihood of complete rows."""
    with np.errstate(divide="ignore"):
        return float(xlogy(_joined(counts), _joined(tables)).sum())


def _joined(arrays: Sequence[Array]) -> Array:
    """All of their numbers, one after the other."""
    return np.concatenate([np.empty(0), *(array.ravel() for array in arrays)])


def counted(data: Coded, families: Sequence[Family], prior: Prior = NO_PRIOR) -> tuple[tuple[Array, ...], Evidence]:
    """The tables of these families, the child last in each, from rows without gaps; and what can be said of them."""
    tables = tables_from(family_tables(data, families), prior)
    return tables, counting_evidence(data, families, tables, [prior] * len(tables))


def counting_evidence(
    data: Coded, families: Sequence[Family], tables: Sequence[Array], priors: Sequence[Prior]
) -> Evidence:
    """That tables are the closed form of the rows, which are counted a second time, by another route, to compare.

    Where all tables are, the gradient of the likelihood along every one of them is zero.
    """
    counts = [count.reshape(table.shape) for count, table in zip(recounted(data, families), tables, strict=True)]
    added = [prior.added(table.shape) for prior, table in zip(priors, tables, strict=True)]
    worst, bare = _compared(counts, tables, added)
    total = max(data.total, np.finfo(float).tiny)
    value, notes = log_likelihood(counts, tables), list[str]()
    if bare:
        notes.append(
            f"{bare} combination{'s' * (bare != 1)} of parents' states {'have' if bare != 1 else 'has'} no rows: the "
            "tables are uniform there; a pseudo-count says so in the same breath for rare ones."
        )
    summing = np.finfo(float).eps * data.n_rows if data.weights.size else 0.0  # of weights, in two orders
    certificate = Certificate(Kind.EXACT, EXACT, worst, max(ROUNDING, summing))
    return Evidence(
        status=honest(Status.EXACT, certificate),
        certificate=certificate,
        solver="counting",
        facts={"objective": -value / total, "log-likelihood": value},
        notes=tuple(notes),
    )


def _compared(counts: Sequence[Array], tables: Sequence[Array], added: Sequence[float]) -> tuple[float, int]:
    """The largest error of a probability, or of a sum of probabilities; and how many states of parents have nothing.

    All tables at once: one after the other, each is rows of as many cells as its variable has states.
    """
    cards = np.array([table.shape[-1] for table in tables], dtype=np.int64)
    sizes = np.array([table.size for table in tables], dtype=np.int64)
    lengths = np.repeat(cards, sizes // np.maximum(cards, 1))
    if not lengths.size:
        return 0.0, 0
    starts = np.cumsum(lengths) - lengths
    cells, found = _joined(counts) + np.repeat(added, sizes), _joined(tables)
    sums = np.add.reduceat(cells, starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = cells / np.repeat(sums, lengths)
    wanted = np.where(np.repeat(sums > 0, lengths), wanted, 1.0 / np.repeat(lengths, lengths))
    off = np.abs(np.add.reduceat(found, starts) - 1.0)
    return float(max(np.abs(found - wanted).max(), off.max())), int(np.count_nonzero(sums == 0))
