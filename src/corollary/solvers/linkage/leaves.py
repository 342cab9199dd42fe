"""Rows and the distances between them, for agglomeration: a few metrics compiled, the others by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary._compiled.codes import EUCLIDEAN, MANHATTAN
from corollary._compiled.linkage.triangle import HALF, PLAIN, ROOT, accumulate
from corollary.core.scaling import exponent_of, magnitude, row_lengths
from corollary.core.types import Array
from corollary.solvers.distance_tables import ComputedDistances, Distances, read_matrix
from corollary.solvers.distances import check_square, complete_options
from corollary.solvers.neighbors.metric import COMPILED

Merges = tuple[Array, Array, Array]  # a row of one side, a row of the other, and the height of each merge
_CODES = COMPILED | {"sqeuclidean": EUCLIDEAN}
_SHAPES = {"euclidean": ROOT, "l2": ROOT, "cosine": HALF}  # what becomes of the sum, unless it is the distance
PAIRS = 1 << 16
VANISHED = 2.0**-508  # squares of smaller differences, beside the largest, have lost digits
SAMPLE = 40  # rows on which a metric of the user's is asked for both directions


def too_large() -> ValueError:
    """What to say when distances, or their products with weights, leave the range of float64."""
    return ValueError("X has distances that are too large for float64; divide X, or sample_weight, by a constant.")


@dataclass(frozen=True)
class Points:
    """Rows as float64 columns (d × n), divided by 2**exponent so that no square overflows or vanishes."""

    columns: Array
    metric: int
    shape: int
    exponent: int

    @property
    def n(self) -> int:
        return int(self.columns.shape[1])

    def row(self, i: int) -> Array:
        """Distances of row i to all."""
        sums = np.empty(self.n)
        accumulate(self.columns, 0, self.n, self.columns[:, i].copy(), self.metric, sums)
        return self.finished(sums)

    def pairs(self, u: Array, v: Array) -> Array:
        """Distances of rows u[e] and v[e]."""
        lengths = np.empty(len(u))
        for start in range(0, len(u), PAIRS):
            part = slice(start, start + PAIRS)
            gaps = np.abs(self.columns[:, u[part]] - self.columns[:, v[part]])
            take = {EUCLIDEAN: lambda gaps: (gaps**2).sum(axis=0), MANHATTAN: lambda gaps: gaps.sum(axis=0)}
            lengths[part] = take.get(self.metric, lambda gaps: gaps.max(axis=0))(gaps)
        return self.finished(lengths)

    def lost(self, u: Array, v: Array, weights: Array) -> bool:
        """Whether squares, times weights up to one, have lost digits of a difference of rows u[e] and v[e].

        That is so where another row lies too far away.
        """
        gaps = np.abs(self.columns[:, u] - self.columns[:, v]).max(axis=0, initial=0.0)
        light = np.sqrt(np.minimum(np.minimum(weights[u], weights[v]), 1.0))
        return bool(self.metric == EUCLIDEAN and ((gaps > 0) & (gaps * light < VANISHED)).any())

    def finished(self, sums: Array) -> Array:
        """Distances from the sums that kernels accumulate."""
        sums = np.asarray(sums)
        return self.scaled(np.sqrt(sums) if self.shape == ROOT else 0.5 * sums if self.shape == HALF else sums)

    def scaled(self, distances: Array) -> Array:
        """Distances in the user's units."""
        squared = self.metric == EUCLIDEAN and self.shape == PLAIN
        return np.ldexp(distances, (2 if squared else 1) * self.exponent)


def points(X: Array, metric: str) -> Points:
    """Rows for a metric that kernels know, without what all of them share: no square of that hides a difference."""
    code, shape = _CODES[metric], _SHAPES.get(metric, PLAIN)
    if metric == "cosine":
        rows, exponent = X / row_lengths(X)[:, None], 0
    else:
        # a number is taken away exactly from all that are between half and twice of it
        rows = np.asarray(X, dtype=np.float64)
        low, high, first = rows.min(axis=0), rows.max(axis=0), rows[0]
        near = np.where(first > 0, (low >= first / 2) & (high / 2 <= first), (high <= first / 2) & (low / 2 >= first))
        rows = rows - np.where(near, first, 0.0)
        exponent = exponent_of(magnitude(rows))
        rows = np.ldexp(rows, -exponent)
    return Points(np.ascontiguousarray(rows.T), code, shape, exponent)


def measured(X: Array, metric: Any) -> Distances:
    """Distances by a metric of scikit-learn's or the user's own."""
    if callable(metric):
        some = X[np.linspace(0, len(X) - 1, min(len(X), SAMPLE)).astype(int)]
        there = np.array([[metric(a, b) for b in some] for a in some], dtype=np.float64)
        check_square(there, "the metric")
    return ComputedDistances(X, metric, complete_options(metric, {}, X, np.ones(len(X))))


@dataclass(frozen=True)
class Leaves:
    """The rows of positive weight, with their distances, and all rows where some have none."""

    measure: Points | Distances
    everything: Points | Distances

    @property
    def n(self) -> int:
        return self.measure.n

    def with_root(self, unit: float, weights: Array) -> tuple[Leaves, Array]:
        """Leaves and weights for heights that go with the root of the weights, of which one had become ``unit``.

        The root of that power of two joins the exponent of the rows, and where it has none twice the weights have one:
        so heights are brought to the user's units by one power of two, and small rows do not vanish before that.
        """
        power = int(np.frexp(unit)[1]) - 1
        assert isinstance(self.measure, Points)
        exponent = self.measure.exponent - (power + power % 2) // 2
        return replace(self, measure=replace(self.measure, exponent=exponent)), np.ldexp(weights, power % 2)

    def absent(self, kept: Array) -> tuple[Array, Array, Array]:
        """(rows kept, the others, for each of these which kept row is nearest)."""
        present, absent = np.flatnonzero(kept), np.flatnonzero(~kept)
        hosts = [int(np.argmin(self.everything.row(int(i))[present])) for i in absent]
        return present, absent, np.array(hosts, dtype=np.int64)


def read_leaves(X: Array, metric: Any, kept: Array) -> Leaves:
    """The rows of X, or the table of distances that X is, by any metric."""

    def read(X: Array) -> Points | Distances:
        if isinstance(metric, str) and metric in _CODES:
            return points(X, metric)
        return measured(X, metric)

    if isinstance(metric, str) and metric == "precomputed":
        everything = read_matrix(X)
        return Leaves(everything if kept.all() else read_matrix(X[np.ix_(kept, kept)]), everything)
    measure = read(X[kept])
    return Leaves(measure, measure if kept.all() else read(X))
