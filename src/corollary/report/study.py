"""The best model fitted again to parts of the table: how its score grows with rows, and a fit with rows held out.

Everything here is bounded: few rows, few fits, and a time after which no further fit begins.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

from corollary.evaluate.comparison import Comparison
from corollary.report.exchanged import said_by
from corollary.tabular.values import labels

MOST_ROWS = 3000
SECONDS = 5.0
_REPEATS = 3
_SHARES = (0.125, 0.25, 0.5, 1.0)
_TEST = 0.25


@dataclass(frozen=True)
class Study:
    """Scores on training and on held-out rows, (repeats, sizes), and the first repeat's last fit.

    ``rows`` were used, drawn at random; ``held_out`` are those that ``model`` has not seen.
    """

    rows: int
    sizes: NDArray[np.intp]
    training: NDArray[np.float64]
    testing: NDArray[np.float64]
    model: Any
    held_out: NDArray[np.intp]
    grouped: bool = True  # whether rows were held out in the way of the comparison's split

    @property
    def gain(self) -> tuple[float, float]:
        """What the last doubling of rows has changed in the held-out score: mean, and standard error over repeats."""
        step = self.testing[:, -1] - self.testing[:, -2]
        return float(step.mean()), float(step.std(ddof=1) / np.sqrt(len(step))) if len(step) > 1 else float("nan")


def study(comparison: Comparison) -> Study | None:
    """Fit the best model to growing parts of at most 3 000 rows; None if it cannot be fitted to so few."""
    if comparison.best_ is None:
        return None
    until = time.monotonic() + SECONDS
    splits, faithful = _splits(comparison)
    curves: list[list[tuple[float, float]]] = []  # of each repeat: scores on training and on held-out rows, by size
    sizes: list[int] = []
    kept: Any = None
    begun = time.monotonic()
    used = 0
    for train, test in splits:
        if curves and time.monotonic() > until:
            break
        sizes = sizes or [int(each) for each in np.unique((np.array(_SHARES) * len(train)).astype(int))]
        used = len(train) + len(test)
        curve: list[tuple[float, float]] = []
        for size in sizes:
            if not curves and len(curve) >= 2 and time.monotonic() + 2 * (time.monotonic() - begun) > until:
                sizes = sizes[: len(curve)]  # a slow model: the larger fits would take too long
                break
            begun = time.monotonic()
            fitted = _fitted(comparison, train[:size])
            if fitted is None:
                return None
            curve.append((_score(comparison, fitted, train[:size]), _score(comparison, fitted, test)))
        kept = kept or (fitted, test)
        curves.append(curve)
    scores = np.array(curves)
    if len(sizes) < 2 or not np.isfinite(scores).all():
        return None
    model, held_out = kept
    return Study(used, np.array(sizes), scores[:, :, 0], scores[:, :, 1], model, held_out, faithful)


def _fitted(comparison: Comparison, rows: NDArray[np.intp]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return clone(comparison.best_).fit(comparison.features.iloc[rows], comparison.target.values[rows])
        except Exception:  # too few rows for this model
            return None


def _score(comparison: Comparison, model: Any, rows: NDArray[np.intp]) -> float:
    target = comparison.target
    weights = None if target.weights is None else target.weights[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            said = said_by(model, comparison.features.iloc[rows])
            return comparison.metric(target.values[rows], said, target.classes, weights)
        except ValueError:
            return float("nan")


def _splits(comparison: Comparison) -> tuple[Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]], bool]:
    """Training rows in the order in which they are taken, and rows held out; the kind of split that was asked for."""
    target, rows = comparison.target, len(comparison.features)
    kind, _, column = comparison.split.partition(":")
    size = min(rows, MOST_ROWS)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.permutation(rows)[:size])
    known = not column or column in comparison.features.columns
    groups = labels(comparison.features[column].iloc[chosen]).astype(str) if kind == "group" and known else None
    if groups is not None and len(np.unique(groups)) > 3:
        splitter: Any = GroupShuffleSplit(_REPEATS, test_size=_TEST, random_state=0)
    elif target.classes is not None and min(target.class_counts.values()) * size / rows > 3:
        splitter = StratifiedShuffleSplit(_REPEATS, test_size=_TEST, random_state=0)
    else:
        splitter = ShuffleSplit(_REPEATS, test_size=_TEST, random_state=0)

    def found() -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        y = target.values[chosen]
        for train, test in splitter.split(np.zeros((size, 1)), y, groups):
            yield chosen[_every_class_first(y, rng.permutation(train))], chosen[test]

    return found(), kind == "random" or groups is not None


def _every_class_first(y: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows in the same order, but two of each class at the front, so that small parts know them all."""
    if y.dtype.kind == "f":
        return rows
    rank = np.empty(len(rows), dtype=np.intp)
    for value in np.unique(y[rows]):
        mine = np.flatnonzero(y[rows] == value)
        rank[mine] = np.arange(len(mine))
    early = rank < 2
    return np.concatenate([rows[early], rows[~early]])
