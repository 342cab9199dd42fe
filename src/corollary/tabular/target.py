"""What is to be predicted: the target column, checked, and the task it calls for."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from corollary.tabular.messages import InputError, as_option, count, listed, shown
from corollary.tabular.reading import Table
from corollary.tabular.roles import DataFacts, find_roles, refuse_few_rows, refuse_unknown
from corollary.tabular.spellings import Spelling, find_spelling
from corollary.tabular.values import all_numbers, is_plain_number, labels, numbers, row_number, strangers

Task = Literal["regression", "classification"]
_FEW_LABELS = 20
TASKS = ("auto", "regression", "classification")


@dataclass(frozen=True)
class Target:
    """The target's values ready for a model, and in one line why it is this task."""

    name: str
    task: Task
    reason: str
    values: NDArray[Any]
    classes: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None  # of the rows, if a column of them was named
    decimal: str = ""  # the mark of numbers that are written as people do ($3,750.50), if they are

    @property
    def class_counts(self) -> dict[str, int]:
        """How many rows each class has (empty for regression)."""
        if self.classes is None:
            return {}
        return {str(value): int((self.values == value).sum()) for value in self.classes}


def separate_target(
    table: Table, target: str, task: str, drop: Sequence[str], drop_missing_target: bool, *,
    categorical: Sequence[str] = (), weights: str | None = None, id: str | None = None,
) -> tuple[Any, Target, DataFacts]:  # fmt: skip
    """Features, target and the facts about them; the rows without a target are gone.

    Parameters
    ----------
    table : Table
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
    drop : sequence of str
        Columns to leave out.
    drop_missing_target : bool
        Leave out rows without a target instead of refusing them.
    categorical : sequence of str
        Columns whose values are categories, whatever they look like.
    weights : str, optional
        The column that says how much each row counts: numbers ≥ 0, not all 0. It is no feature.
    id : str, optional
        The column that names the rows. It is no feature.

    Raises
    ------
    InputError
        A column is not there, has two roles, or cannot be used; the message is one line.
    """
    frame, source = table.frame, table.source
    _refuse_unknown_target(frame, target, source)
    _refuse_options(frame, source, target, drop, categorical, weights, id)
    refuse_few_rows(len(frame), source, "comparing models")
    gone = without_target(frame[target])
    if gone.all():
        raise InputError(f"{source}: target {shown(target)} is missing in every row")
    if gone.any() and not drop_missing_target:
        first = int(np.flatnonzero(gone)[0]) + 1
        raise InputError(
            f"{source}: target {shown(target)} is missing in {count(int(gone.sum()), 'row')} (first: row {first:,}); "
            "fill them in, or leave these rows out with --drop-missing-target"
        )
    frame = frame[~gone]  # the index stays, so that messages name the rows of the table as it was given
    refuse_few_rows(len(frame), source, "comparing models")
    found = read_target(frame[target], task, source)
    if weights is not None:
        found = replace(found, weights=read_weights(frame[weights], source))
    no_features = {target, *drop, weights, id} - {None}
    X = frame.drop(columns=[name for name in frame.columns if name in no_features])
    roles = find_roles(X, source, categorical=categorical)
    return X, found, DataFacts(source, table.sha256, len(frame), roles, int(gone.sum()), id)


def _refuse_options(
    frame: Any, source: str, target: str, drop: Sequence[str], categorical: Sequence[str], weights: str | None,
    id: str | None,
) -> None:  # fmt: skip
    """Refuse names that are not columns, and columns with two roles."""
    taken = {target: "the target"}
    for option, names, role in (
        ("--drop", drop, "left out"),
        ("--weights", [] if weights is None else [weights], "the weights"),
        ("--id", [] if id is None else [id], "the id"),
        ("--categorical", categorical, ""),
    ):
        refuse_unknown(frame, option, names, source)
        for name in names:
            if taken.get(name, role) != role:
                advice = (
                    "; use --task classification" if (taken[name], option) == ("the target", "--categorical") else ""
                )
                raise InputError(f"{as_option(option, name)}: this is {taken[name]}{advice}")
        taken |= dict.fromkeys(names, role) if role else {}


def read_weights(series: Any, source: str) -> NDArray[np.float64]:
    """How much each row counts.

    Raises
    ------
    InputError
        If one is missing, negative or no finite number, or all are 0.
    """
    where = f"{source}: weights {shown(series.name)}"
    try:
        found = numbers(series)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {error}; expected numbers ≥ 0") from None
    for wrong, what in ((np.isnan(found), "missing or infinite"), (found < 0, "negative")):
        if wrong.any():
            first = row_number(series, int(np.flatnonzero(wrong)[0]))
            raise InputError(f"{where} is {what} in row {first}; expected a number ≥ 0 in every row")
    if not found.any():
        raise InputError(f"{where} is 0 in every row; expected some that are more")
    return found


def _refuse_unknown_target(frame: Any, target: str, source: str) -> None:
    """Refuse a target that is not a column, naming the nearest that is."""
    names = list(frame.columns)
    if target in names:
        return
    folded = {name.casefold(): name for name in reversed(names)}
    close = [folded[key] for key in difflib.get_close_matches(target.casefold(), folded, n=1, cutoff=0.6)]
    hint = f"did you mean {shown(close[0])}?" if close else f"the columns are {listed(names, 8)}"
    if names and all_numbers(names):
        hint = "its first line looks like data, not names; add --no-header, then columns are column_1, column_2, ..."
    raise InputError(f"{source}: there is no column {shown(target)} to be the target; {hint}")


def read_target(series: Any, task: str, source: str) -> Target:
    """Check the target column (no missing values left in it) and find its task.

    Raises
    ------
    InputError
        If it is constant, or is of a kind that ``task`` cannot use.
    """
    name = str(series.name)
    where = f"{source}: target {shown(name)}"
    try:
        texts = labels(series)
    except TypeError:
        raise InputError(f"{where} holds nested values; expected one number or label in each row") from None
    distinct = pd.unique(texts)
    if len(distinct) == 1:
        raise InputError(f"{where} is constant (always {shown(distinct[0])}); there is nothing to learn")
    spelling = _spelling(distinct, task)
    if spelling.decimal:
        series = pd.Series(numbers(series, spelling.decimal), index=series.index, name=series.name)
        texts = labels(series)
    if task != "classification" and (odd := strangers(series, texts)):
        raise InputError(f"{where} holds numbers, but {odd}; correct it, or use --task classification")
    numeric = _numeric_values(series, distinct)
    found, reason = _find_task(series, numeric, len(distinct))
    if task == "auto":
        task = found
    else:
        reason = "as asked"
    reason = f"{reason} ({spelling.note})" if spelling.decimal else reason
    if task == "regression":
        return Target(name, "regression", reason, _regression_values(series, where), decimal=spelling.decimal)
    values = _class_values(series, texts, numeric)
    classes, counts = np.unique(values, return_counts=True)
    _refuse_single_rows(classes, counts, where)
    return Target(name, "classification", reason, values, classes)


def _spelling(distinct: NDArray[np.object_], task: str) -> Spelling:
    """How a target of money, per cent or the like is written; few different ones stay classes."""
    if task == "classification" or (task == "auto" and len(distinct) <= _FEW_LABELS) or all_numbers(distinct):
        return Spelling()
    return find_spelling(distinct)


def read_more(series: Any, target: Target, where: str) -> NDArray[Any]:
    """The target of further rows (none of them missing), in the kind and spelling of those that were learnt from.

    Raises
    ------
    InputError
        If a value is of another kind, infinite, or a class that is not known.
    """
    try:
        found: Any = labels(series) if target.classes is not None else numbers(series, target.decimal)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {error}") from None
    if target.classes is None:
        return _finite(found, series, where)
    known = dict(zip(labels(pd.Series(target.classes)), target.classes, strict=True))
    if unknown := [text for text in pd.unique(found) if text not in known]:
        raise InputError(f"{where}: class {shown(unknown[0])} is not in the table that is learnt from")
    return np.array([known[text] for text in found], dtype=target.classes.dtype)


def _numeric_values(series: Any, distinct: NDArray[np.object_]) -> NDArray[np.float64] | None:
    if isinstance(series.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(series):
        return None
    if is_plain_number(series) or pd.api.types.is_timedelta64_dtype(series):
        return numbers(series)
    return numbers(series) if all_numbers(distinct) else None


def _find_task(series: Any, numeric: NDArray[np.float64] | None, distinct: int) -> tuple[Task, str]:
    if pd.api.types.is_bool_dtype(series):
        return "classification", "because the target is true or false"
    if numeric is None:
        return "classification", f"because the target is text with {distinct:,} different values"
    whole = bool(np.all(numeric == np.floor(numeric)))
    if whole and distinct <= min(_FEW_LABELS, max(2, int(np.sqrt(len(numeric))))):
        return "classification", f"because the target has only {distinct} different whole numbers"
    kind = "whole numbers" if whole else "numbers"
    return "regression", f"because the target has {distinct:,} different {kind}"


def _regression_values(series: Any, where: str) -> NDArray[np.float64]:
    if pd.api.types.is_datetime64_any_dtype(series):
        raise InputError(f"{where} is a date; expected numbers: give the days since a date instead")
    try:
        values = numbers(series)
    except ValueError as error:
        raise InputError(f"{where}: {error}; use --task classification, or correct the value") from None
    return _finite(values, series, where)


def _finite(values: NDArray[np.float64], series: Any, where: str) -> NDArray[np.float64]:
    """The values of a target, none of which is missing; an infinite one is refused."""
    if np.isnan(values).any():
        first = np.flatnonzero(np.isnan(values))[0]
        raise InputError(f"{where} is infinite in row {row_number(series, first)}; expected finite numbers")
    return values


def _class_values(series: Any, texts: NDArray[np.object_], numeric: NDArray[np.float64] | None) -> NDArray[Any]:
    if pd.api.types.is_bool_dtype(series):
        return np.asarray(series, dtype=bool)
    if numeric is not None and np.all(np.abs(numeric) < 2**53) and np.all(numeric == np.floor(numeric)):
        return numeric.astype(np.int64)
    if numeric is not None:
        return numeric
    return texts.astype(str)


def _refuse_single_rows(classes: NDArray[Any], counts: NDArray[np.int64], where: str) -> None:
    single = np.flatnonzero(counts == 1)
    if not single.size:
        return
    if single.size > len(classes) / 2 or len(classes) > 100:
        advice = "it looks like a number or an identifier, not a class; try --task regression or another --target"
        raise InputError(
            f"{where} has {len(classes):,} different values in {count(int(counts.sum()), 'row')}; {advice}"
        )
    more = f" (so have {single.size - 1} others)" if single.size > 1 else ""
    advice = "every class needs two or more: add rows, merge classes, or remove that row"
    raise InputError(f"{where}: class {shown(classes[single[0]])} has only 1 row{more}; {advice}")


def without_target(series: Any) -> NDArray[np.bool_]:
    """Which rows have no target."""
    try:
        gone: NDArray[np.bool_] = labels(series) == None  # noqa: E711 (elementwise)
    except TypeError:
        gone = series.isna().to_numpy()
    return gone
