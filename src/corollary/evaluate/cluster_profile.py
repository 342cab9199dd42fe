"""What the clusters of a table look like, in its own units: averages, commonest values, typical rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from corollary.tabular.columns import MISSING_LABEL
from corollary.tabular.roles import Column, Role
from corollary.tabular.values import dates, labels, numbers

_DAY = 86_400.0


@dataclass(frozen=True)
class Trait:
    """One column in every cluster: the average or the commonest value, and how unusual that is.

    ``strength`` counts standard deviations of the column: those between the cluster's average and the average of all
    rows, or for a category between the shares of that value.
    """

    name: str
    kind: str
    overall: str
    values: tuple[str, ...]
    strength: NDArray[np.float64]

    @property
    def tells_apart(self) -> float:
        """How much of this column the clusters explain, roughly: the spread of its strengths."""
        return float(np.ptp(self.strength)) if len(self.strength) > 1 else 0.0


def traits(frame: Any, columns: Sequence[Column], groups: NDArray[Any], k: int) -> tuple[Trait, ...]:
    """Every used column in every cluster, those that tell the clusters apart best first."""
    found = [_trait(frame[column.name], column, groups, k) for column in columns if column.role is not Role.UNUSED]
    return tuple(sorted(found, key=lambda trait: -trait.tells_apart))


def _trait(series: Any, column: Column, groups: NDArray[Any], k: int) -> Trait:
    if column.role is Role.NUMBER:
        values = numbers(series, column.decimal)
        return _average(column, values, groups, k, _number_writer(values))
    if column.role is Role.DATE:
        stamps = dates(series, column.date_format)
        seconds = (stamps - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy(np.float64, na_value=np.nan)
        return _average(column, seconds, groups, k, _date)
    return _commonest(column, labels(series), groups, k)


def _average(column: Column, values: NDArray[np.float64], groups: NDArray[Any], k: int, write: Any) -> Trait:
    known = ~np.isnan(values)
    unit = float(np.abs(values[known]).max()) or 1.0
    middle, spread = float((values[known] / unit).mean()), float((values[known] / unit).std())
    means = [float((values[known & (groups == each)] / unit).mean()) if (known & (groups == each)).any() else np.nan
             for each in range(k)]  # fmt: skip
    strength = np.nan_to_num((np.array(means) - middle) / spread) if spread > 0 else np.zeros(k)
    texts = tuple("–" if np.isnan(mean) else write(mean * unit) for mean in means)
    return Trait(column.name, column.role.value, write(middle * unit), texts, strength)


def _commonest(column: Column, values: NDArray[np.object_], groups: NDArray[Any], k: int) -> Trait:
    filled = np.where(values == None, MISSING_LABEL, values)  # noqa: E711 (elementwise)
    codes, names = pd.factorize(filled)
    counts = np.zeros((k, len(names)))
    np.add.at(counts, (groups, codes), 1.0)
    overall = counts.sum(axis=0) / len(codes)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    top = np.argmax(shares, axis=1)
    spread = np.sqrt(np.maximum(overall * (1 - overall), 1e-12))
    strength = ((shares - overall) / spread)[np.arange(k), top]
    texts = tuple(f"{names[each]} {shares[row, each]:.0%}" for row, each in enumerate(top))
    whole = int(np.argmax(overall))
    return Trait(column.name, column.role.value, f"{names[whole]} {overall[whole]:.0%}", texts, strength)


def _number_writer(values: NDArray[np.float64]) -> Any:
    """Three digits of the column's spread: enough to tell clusters apart, and no more."""
    known = values[~np.isnan(values)]
    spread = float(np.subtract(*np.percentile(known, [90, 10]))) or float(np.ptp(known)) or 1.0
    if not 1e-6 <= max(np.abs(known).max(), spread) < 1e9:
        return lambda value: f"{value:.3g}"
    decimals = int(np.clip(2 - np.floor(np.log10(spread)), 0, 6))
    return lambda value: f"{value:,.{decimals}f}".replace("-", "−")


def _date(seconds: float) -> str:
    return str(pd.Timestamp(round(seconds / _DAY) * _DAY, unit="s").date())


def typical_rows(rows: NDArray[np.float64], groups: NDArray[Any], k: int) -> NDArray[np.int64]:
    """For each cluster the row nearest to its mean (−1 if the cluster is empty)."""
    found = np.full(k, -1, dtype=np.int64)
    for each in range(k):
        members = np.flatnonzero(groups == each)
        if len(members):
            middle = rows[members].mean(axis=0)
            found[each] = members[int(np.argmin(((rows[members] - middle) ** 2).sum(axis=1)))]
    return found
