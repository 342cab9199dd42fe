"""Which rows each fold holds out: drawn at random, the next part in time, or whole groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from corollary.tabular.messages import InputError, as_option, count, listed, shown
from corollary.tabular.target import Target
from corollary.tabular.values import all_numbers, date_format, dates, is_plain_number, labels, numbers

DEFAULT_FOLDS = 5
KINDS = ("random", "time", "group")


@dataclass(frozen=True)
class Split:
    """How rows are held out: ``kind`` is random, time or group; the others by the values of ``column``."""

    kind: str = "random"
    column: str = ""

    @classmethod
    def read(cls, text: str) -> Split:
        """From ``"random"``, ``"time:COLUMN"`` or ``"group:COLUMN"``."""
        kind, _, column = text.partition(":")
        if kind not in KINDS or (kind == "random") != (not column):
            raise InputError(f"{as_option('--split', text)}: expected random, time:COLUMN or group:COLUMN")
        return cls(kind, column)

    def __str__(self) -> str:
        return f"{self.kind}:{self.column}" if self.column else self.kind


def kept_together(split: Split, frame: Any, source: str) -> NDArray[np.intp] | None:
    """For each row the number of its group, or of its moment in time, in order; None for a random split."""
    if split.kind == "random":
        return None
    values = _moments(frame[split.column], source) if split.kind == "time" else _group_names(frame[split.column])
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


def _group_names(series: Any) -> NDArray[Any]:
    texts = labels(series)
    texts[texts == None] = ""  # noqa: E711 (elementwise): rows without a group are one group
    return texts.astype(str)


def make_splits(
    target: Target, folds: int | None, seed: int, source: str, split: Split = Split(), frame: Any = None
) -> tuple[list[Any], str]:
    """Row numbers (train, test) of each fold, and a note if fewer folds than usual had to do.

    Parameters
    ----------
    target : Target
    folds : int, optional
        5 by default, or fewer if the rarest class or the groups allow no more.
    seed : int
        Of random folds, and of the order of training rows.
    source : str
        What messages call the table.
    split : Split
    frame : data frame
        The table of the same rows, for the column of ``split``.

    Raises
    ------
    InputError
        If there are too few rows, classes or groups for the folds, or the column cannot be read.
    """
    wanted = DEFAULT_FOLDS if folds is None else folds
    if wanted < 2:
        raise InputError(f"--folds {wanted}: expected 2 or more")
    if split.column and split.column not in frame.columns:
        there = f"the columns are {listed(list(frame.columns), 8)}"
        raise InputError(f"{as_option('--split', str(split))}: {source} has no column {shown(split.column)}; {there}")
    make = {"random": _random, "time": _time, "group": _group}[split.kind]
    pairs, note = make(target, wanted, folds is not None, seed, source, split, frame)
    _refuse_unlearnable(pairs, target, split, source)
    # files are often sorted, and models that cross-validate inside their fit do not all shuffle: mix the training rows
    mix = np.random.default_rng(seed)
    return [(mix.permutation(train), test) for train, test in pairs], note


def _random(
    target: Target, wanted: int, asked: bool, seed: int, source: str, split: Split, frame: Any
) -> tuple[list[Any], str]:
    rows, counts = len(target.values), target.class_counts
    smallest = min(counts.values()) if counts else rows // 2
    rarest = min(counts, key=lambda name: counts[name]) if counts else ""
    why = f"class {shown(rarest)} has only {count(smallest, 'row')}" if counts else f"there are only {rows} rows"
    wanted, note = _fewer(wanted, smallest, asked, why, f"{source}: target {shown(target.name)}")
    splitter = StratifiedKFold if counts else KFold
    pairs = splitter(wanted, shuffle=True, random_state=seed).split(np.zeros((rows, 1)), target.values)
    return list(pairs), note


def _fewer(wanted: int, most: int, asked: bool, why: str, where: str) -> tuple[int, str]:
    """How many folds there can be, and a note if these are fewer than usual; refuses fewer than were asked for."""
    if wanted <= most:
        return wanted, ""
    if asked or most < 2:
        advice = f"use --folds {most}" if most >= 2 else "two or more are needed"
        raise InputError(f"{where}: {why}, too few for {wanted} folds; {advice}")
    return most, f"{most} folds instead of {wanted}, because {why}"


def _time(
    target: Target, wanted: int, asked: bool, seed: int, source: str, split: Split, frame: Any
) -> tuple[list[Any], str]:
    when = _moments(frame[split.column], source)
    order = np.argsort(when, kind="stable")
    where = f"{source}: {as_option('--split', str(split))}"
    wanted, note = _fewer(wanted, len(order) // 2 - 1, asked, f"there are only {len(order)} rows", where)
    ranks = np.unique(when[order], return_inverse=True)[1]
    pairs = []
    for train, test in TimeSeriesSplit(wanted).split(order[:, None]):
        earlier = train[ranks[train] < ranks[test[0]]]  # rows of one moment are not on both sides
        if not earlier.size:
            raise InputError(f"{where}: the first moment has too many rows for {wanted} folds; use fewer --folds")
        pairs.append((order[earlier], order[test]))
    return pairs, note


def _moments(series: Any, source: str) -> NDArray[Any]:
    """A time column as numbers that order it."""
    name = shown(series.name)
    if series.isna().any():
        first = int(np.flatnonzero(series.isna())[0]) + 1
        raise InputError(
            f"{source}: time column {name} is missing in row {first:,}; fill it in, or use another --split"
        )
    if is_plain_number(series):
        return numbers(series)
    if not pd.api.types.is_datetime64_any_dtype(series):
        distinct = pd.unique(labels(series))
        if all_numbers(distinct):
            return numbers(series)
        form = date_format(distinct)
        if form is None:
            raise InputError(
                f"{source}: time column {name} holds {shown(distinct[0], 20)}, which is neither a date nor a number; "
                "write dates as 2024-12-31, or use another --split"
            )
        series = dates(series, form)
    return np.asarray(pd.DatetimeIndex(pd.to_datetime(series, utc=True)).asi8)


def _group(
    target: Target, wanted: int, asked: bool, seed: int, source: str, split: Split, frame: Any
) -> tuple[list[Any], str]:
    groups = np.unique(_group_names(frame[split.column]), return_inverse=True)[1]
    n_groups = int(groups.max()) + 1
    where = f"{source}: {as_option('--split', str(split))}"
    why = f"column {shown(split.column)} has only {count(n_groups, 'group')}"
    wanted, note = _fewer(wanted, n_groups, asked, why, where)
    if target.classes is None:
        splitter: Any = GroupKFold(wanted, shuffle=True, random_state=seed)
    else:
        splitter = StratifiedGroupKFold(wanted, shuffle=True, random_state=seed)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds: what matters is refused below
        pairs = list(splitter.split(np.zeros((len(groups), 1)), target.values, groups))
    if empty := [fold for fold, (train, test) in enumerate(pairs, start=1) if not (train.size and test.size)]:
        raise InputError(f"{where}: fold {empty[0]} of {wanted} would hold no row, {why}; use fewer --folds")
    return pairs, note


def _refuse_unlearnable(pairs: list[Any], target: Target, split: Split, source: str) -> None:
    """Refuse folds of time or groups whose training part lacks a class: no model could know it."""
    if target.classes is None or split.kind == "random":
        return
    where = f"{source}: {as_option('--split', str(split))}"
    for fold, (train, _) in enumerate(pairs, start=1):
        missing = np.setdiff1d(target.classes, target.values[train])
        if missing.size:
            raise InputError(
                f"{where}: class {shown(missing[0])} has no row in the training part of fold {fold}; use fewer "
                "--folds, or another --split"
            )
