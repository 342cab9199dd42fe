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
from corollary.evaluate.cross_validation import weights_for
from corollary.report.exchanged import said_by
from corollary.tabular.messages import count, one_line
from corollary.tabular.target import Target

MOST_ROWS = 3000
SECONDS = 5.0
_REPEATS = 3
_SHARES = (0.125, 0.25, 0.5, 1.0)
_TEST = 0.25
_FEW = "there are too few rows"


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
    how: str = "a quarter held out"  # which rows were, in words

    @property
    def gain(self) -> tuple[float, float]:
        """What the last doubling of rows has changed in the held-out score: mean, and standard error over repeats."""
        step = self.testing[:, -1] - self.testing[:, -2]
        return float(step.mean()), float(step.std(ddof=1) / np.sqrt(len(step))) if len(step) > 1 else float("nan")


@dataclass(frozen=True)
class NotStudied:
    """Why there is no study."""

    why: str


def study(comparison: Comparison) -> Study | NotStudied:
    """Fit the best model to growing parts of at most 3 000 rows; or why that cannot be done."""
    if comparison.best_ is None:
        return NotStudied("the comparison was interrupted before the last fit")
    until = time.monotonic() + SECONDS
    splits, how = _splits(comparison)
    curves: list[list[tuple[float, float]]] = []  # of each repeat: scores on training and on held-out rows, by size
    most = min((len(train) for train, _ in splits), default=0)
    sizes = [int(each) for each in np.unique((np.array(_SHARES) * most).astype(int)) if each]
    if len(sizes) < 2:
        return NotStudied(f"with {how} no part of the rows is left that shows every class" if not splits else _FEW)
    kept: Any = None
    begun = time.monotonic()
    used = 0
    for train, test in splits:
        if curves and time.monotonic() > until:
            break
        used = max(used, len(train) + len(test))
        curve: list[tuple[float, float]] = []
        for size in sizes:
            if not curves and len(curve) >= 2 and time.monotonic() + 2 * (time.monotonic() - begun) > until:
                sizes = sizes[: len(curve)]  # a slow model: the larger fits would take too long
                break
            begun = time.monotonic()
            try:
                fitted = _fitted(comparison, train[:size])
                curve.append((_score(comparison, fitted, train[:size]), _score(comparison, fitted, test)))
            except Exception as error:  # too few rows for this model, or for this score
                return NotStudied(f"{comparison.best} on {count(size, 'row')}: {one_line(error)}")
        kept = kept or (fitted, test)
        curves.append(curve)
    scores = np.array(curves)
    if not np.isfinite(scores).all():
        return NotStudied(f"{comparison.metric.label} is not defined for some of these parts")
    model, held_out = kept
    return Study(used, np.array(sizes), scores[:, :, 0], scores[:, :, 1], model, held_out, how)


def _fitted(comparison: Comparison, rows: NDArray[np.intp]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, weights = clone(comparison.best_), comparison.target.weights
        given = weights_for(model, None if weights is None else weights[rows])
        return model.fit(comparison.features.iloc[rows], comparison.target.values[rows], **given)


def _score(comparison: Comparison, model: Any, rows: NDArray[np.intp]) -> float:
    target = comparison.target
    weights = None if target.weights is None else target.weights[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = said_by(model, comparison.features.iloc[rows])
        return comparison.metric(target.values[rows], said, target.classes, weights)


Pair = tuple[NDArray[np.intp], NDArray[np.intp]]


def _splits(comparison: Comparison) -> tuple[list[Pair], str]:
    """Training rows in the order in which they are taken, and rows held out, as the comparison does; and what they are.

    Where a group or a time leaves no such rows, there are none.
    """
    rows, kind = len(comparison.features), comparison.split.partition(":")[0]
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.permutation(rows)[: min(rows, MOST_ROWS)])
    y = comparison.target.values[chosen]
    groups = None if comparison.groups is None else comparison.groups[chosen]
    if groups is not None and kind == "time":
        found, held_out = _in_time(groups), "what came next held out"
    elif groups is not None:
        found, held_out = _by_group(groups), "a quarter of the groups held out"
    else:
        found, held_out = _at_random(comparison.target, y), "a quarter held out"
    able = [each for each in found if _shows_classes(comparison.target.classes, y, *each)][:_REPEATS]
    return [(chosen[_every_class_first(y, rng.permutation(train))], chosen[test]) for train, test in able], held_out


def _at_random(target: Target, y: NDArray[Any]) -> Iterator[Pair]:
    kind = ShuffleSplit
    if target.classes is not None and min(target.class_counts.values()) * len(y) / len(target.values) > 3:
        kind = StratifiedShuffleSplit
    yield from kind(_REPEATS, test_size=_TEST, random_state=0).split(np.zeros((len(y), 1)), y)


def _by_group(groups: NDArray[np.intp]) -> Iterator[Pair]:
    """No group on both sides; more draws than are needed, as some may leave out a class."""
    if len(np.unique(groups)) > 1:
        splitter = GroupShuffleSplit(5 * _REPEATS, test_size=_TEST, random_state=0)
        yield from splitter.split(np.zeros((len(groups), 1)), groups=groups)


def _in_time(moments: NDArray[np.intp]) -> Iterator[Pair]:
    """The last sixth, that before it, and so on, each after the rows that came earlier."""
    order = np.argsort(moments, kind="stable")
    for part in reversed(np.array_split(order, 2 * _REPEATS)[_REPEATS:]):
        earlier = order[moments[order] < moments[part[0]]] if len(part) else part
        if len(earlier):
            yield earlier, part


def _shows_classes(classes: Any, y: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp]) -> bool:
    """Whether every class can be learned, and there is more than one to be told apart."""
    return classes is None or (len(np.unique(y[train])) == len(np.unique(y)) and len(np.unique(y[test])) > 1)


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
