"""Sums of a fit, taken again on another way: the residual of a closed form.

Counts are added up row by row instead of column by column. Gaussians are looked at from the means that were found: from
there first moments vanish, and second moments are the scatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.by_class import class_moments, class_totals
from corollary.core.distribution import Columns, Distribution, Hard
from corollary.core.types import Array

NAME = "largest relative error of sums that were taken again"
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Sums:
    """Arrays that add up, those of one group of columns after those of another."""

    arrays: tuple[Array, ...]

    def __add__(self, other: Sums) -> Sums:
        return Sums(tuple(a + b for a, b in zip(self.arrays, other.arrays, strict=True)))


def _groups(distribution: Distribution, statistics: Any) -> list[tuple[Any, Distribution, Any]]:
    if not isinstance(distribution, Columns):
        return [(slice(None), distribution, statistics)]
    pairs = zip(distribution.groups, statistics.parts, strict=True)
    return [(list(columns), part, own) for (columns, part), own in pairs]


def again(distribution: Distribution, statistics: Any, X: Any, shares: Hard) -> Sums:
    """The sums of rows X that ``error`` compares with their statistics."""
    found: list[Array] = []
    labels = shares.codes, shares.weights
    for columns, part, own in _groups(distribution, statistics):
        rows = X if isinstance(columns, slice) else X[:, columns]
        if part.name == "gaussian":
            missing = own.present.shape[1] > 1 or own.mean.shape[1] == 1
            first, second, _ = class_moments(rows, *labels, own.mean, missing=missing)
            found += [first, second]
        elif part.name == "categorical":
            found.append(class_totals((rows == rows).astype(np.float64), *labels, shares.n))
        else:
            found.append(class_totals(rows, *labels, shares.n))
    return Sums(tuple(found))


def error(distribution: Distribution, statistics: Any, sums: Sums) -> float:
    """By how much the sums differ from the statistics, relative to what was summed up."""
    worst, rest = 0.0, list(sums.arrays)
    for _, part, own in _groups(distribution, statistics):
        if part.name == "gaussian":
            found = _gaussian(own, rest.pop(0), rest.pop(0))
        else:
            totals = (own.states if part.name == "categorical" else own.totals).sum(axis=1)
            found = _relative(totals - rest.pop(0), totals)
        worst = max(worst, found)
    return worst


def _gaussian(own: Any, first: Array, second: Array) -> float:
    present = np.where(own.present > 0, own.present, 1.0)
    far = (2.0**-52 * own.mean) ** 2  # of a mean that is rounded
    mean = _relative(first / present, np.abs(own.mean) + np.sqrt(own.scatter / present))
    return max(mean, _relative((second - own.scatter) / present, own.scatter / present + 1e10 * far))


def _relative(difference: Array, size: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(difference == 0, 0.0, np.abs(difference) / np.abs(size))
    return float(found.max(initial=0.0))
