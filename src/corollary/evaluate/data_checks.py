"""Looks at the data itself: what may make a good score too good, or a score misleading."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import r2_score, recall_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from corollary.tabular.columns import DateColumns
from corollary.tabular.messages import as_option, count, listed, shown
from corollary.tabular.roles import Column, Role, is_id_name
from corollary.tabular.target import Target
from corollary.tabular.values import labels, numbers

LEAKAGE, BALANCE = "Leakage", "Class balance"
DATED, BELONGING = "Dated rows", "Rows that belong together"
_SUSPICIOUS = 0.965
_RARE_CLASS = 0.1
_SAMPLE = 5000
_MOST_COLUMNS = 300
_FEW = 5
_TIME_NAME = re.compile(r"(?i)(^|[_\s.-])(time|date|day)|timestamp|epoch|[_\s.-](at|on|ts)$|[a-z](Time|Date|At)$|^ts$")
_EPOCH = (315_532_800.0, 4_102_444_800.0)  # 1980 to 2100, in seconds since 1970
_OF_SOMEONE = re.compile(
    r"(?i)^(user|customer|client|patient|subject|person|member|account|household|session|student|driver|device|machine)"
    r"([_\s.-]?(no|nr|number|code|name))?$"
)


@dataclass(frozen=True)
class Check:
    """One look at the data: a title, what was found, and whether it is fine."""

    title: str
    detail: str
    fine: bool = True


def run_checks(
    X: Any, target: Target, columns: tuple[Column, ...], seed: int, split: str = "random"
) -> tuple[Check, ...]:
    """Leakage, class balance, rows that belong together, repeated rows, columns without information, missing values.

    ``split`` is how the folds are made: ``"random"``, ``"time:COLUMN"`` or ``"group:COLUMN"``.
    """
    found = [
        _leakage(X, target, columns, seed),
        _balance(target) if target.classes is not None else None,
        _dated(X, columns, split),
        _belonging(columns, len(X), split),
        _repeated_rows(X, target),
        _constant(columns),
        _missing(columns, len(X)),
    ]
    return tuple(check for check in found if check is not None)


def _leakage(X: Any, target: Target, columns: tuple[Column, ...], seed: int) -> Check:
    used = [column for column in columns if column.role not in (Role.UNUSED, Role.TEXT)]
    scores = [(column.name, single_column_score(X, column, target, seed)) for column in used[:_MOST_COLUMNS]]
    suspects = [(name, score) for name, score in scores if score >= _SUSPICIOUS]
    if not suspects:
        some = f" (the first {_MOST_COLUMNS} were looked at)" if len(used) > _MOST_COLUMNS else ""
        return Check(LEAKAGE, f"No single column predicts the target almost perfectly{some}.")
    suspects.sort(key=lambda pair: -pair[1])
    measure = "balanced accuracy" if target.classes is not None else "R²"
    names = ", ".join(f"{shown(name)} ({measure} {score:.3f})" for name, score in suspects[:5])
    advice = "Was it known before the outcome? If not, leave it out with --drop."
    return Check(LEAKAGE, f"Predicts the target almost perfectly on its own: {names}. {advice}", fine=False)


def single_column_score(X: Any, column: Column, target: Target, seed: int) -> float:
    """Held-out balanced accuracy or R² of a small tree that sees this column alone (on at most 5 000 rows)."""
    rows = np.random.default_rng(seed).permutation(len(X))[:_SAMPLE]
    values = _as_numbers(X[column.name].iloc[rows], column)
    half = len(rows) // 2
    y = target.values[rows]
    kind = DecisionTreeClassifier if target.classes is not None else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=64, min_samples_leaf=2, random_state=0)
    tree.fit(values[:half], y[:half], check_input=False)  # there may be thousands of columns
    guess, truth = tree.predict(values[half:], check_input=False), y[half:]
    if target.classes is not None:  # a class that is not among these rows has no accuracy
        return float(recall_score(truth, guess, labels=np.unique(truth), average="macro", zero_division=0.0))
    return float(r2_score(truth, guess)) if np.ptp(truth) > 0 else 0.0


def _as_numbers(series: Any, column: Column) -> NDArray[np.float32]:
    """The column as a tree takes it: a missing value is below all others."""
    if column.role is Role.NUMBER:
        found = numbers(series, column.decimal)[:, None]
    elif column.role is Role.DATE:
        found = np.asarray(DateColumns([column.date_format]).fit_transform(series.to_frame()))
    else:
        found = pd.factorize(labels(series))[0].astype(np.float64)[:, None]
    low = np.nanmin(found, axis=0, initial=0.0) - 1.0
    most = float(np.finfo(np.float32).max)  # a tree of single precision sees what is larger as the largest
    return np.ascontiguousarray(np.clip(np.where(np.isnan(found), low, found), -most, most), dtype=np.float32)


def _balance(target: Target) -> Check:
    counts = target.class_counts
    total = sum(counts.values())
    rarest = min(counts, key=lambda name: counts[name])
    commonest = max(counts, key=lambda name: counts[name])
    share, top = counts[rarest] / total, counts[commonest] / total
    if share >= _RARE_CLASS or share >= 0.5 / len(counts):
        return Check(BALANCE, f"The rarest class, {shown(rarest)}, is {share:.1%} of the rows.")
    detail = (
        f"The rarest class, {shown(rarest)}, is only {share:.2%} of the rows; always saying {shown(commonest)} would "
        f"be {top:.1%} accurate. Judge by log-loss, AUC or the confusion matrix, not by accuracy."
    )
    return Check(BALANCE, detail, fine=False)


def _dated(X: Any, columns: tuple[Column, ...], split: str) -> Check | None:
    """Whether rows with a date are tried on dates that were trained on."""
    if split.startswith("time:"):
        return Check(DATED, f"Trained on the past and tried on what came next, by {shown(split[5:])}.")
    dated = [column.name for column in columns if _is_date(X, column)]
    if not dated:
        return None
    said = f"{listed(dated, 3)} may say when a row came about, and the folds do not follow the time"
    advice = f"If the model is for rows to come, use {as_option('--split', f'time:{dated[0]}')}."
    return Check(DATED, f"{said}: scores of models that are asked about the future look too good. {advice}", fine=False)


def _is_date(X: Any, column: Column) -> bool:
    """A column of different dates, or of whole numbers that are seconds or milliseconds since 1970 by name and size."""
    if column.distinct < _FEW or column.role not in (Role.DATE, Role.NUMBER):
        return False
    if column.role is Role.DATE:
        return True
    if not _TIME_NAME.search(column.name):
        return False
    low, high = np.nanmin(values := numbers(X[column.name], column.decimal)), np.nanmax(values)
    return any(unit * _EPOCH[0] <= low <= high <= unit * _EPOCH[1] for unit in (1.0, 1e3, 1e6, 1e9))


def _belonging(columns: tuple[Column, ...], rows: int, split: str) -> Check | None:
    """Whether rows of one person, machine or the like are on both sides of a fold."""
    if split.startswith("group:"):
        return Check(BELONGING, f"Never on both sides of a fold, by {shown(split[6:])}.")
    repeated = [column for column in columns if _is_repeated_id(column, rows)]
    if not repeated:
        return None
    named = ", ".join(f"{shown(column.name)} ({column.distinct:,} different values)" for column in repeated[:3])
    advice = f"If the model is for new ones, use {as_option('--split', f'group:{repeated[0].name}')}."
    ids = "an id" if len(repeated) == 1 else "ids"
    detail = f"Rows share {named}, by name {ids}: rows of one are in training and in test. {advice}"
    return Check(BELONGING, detail, fine=False)


def _is_repeated_id(column: Column, rows: int) -> bool:
    named = is_id_name(column.name) or _OF_SOMEONE.match(column.name) is not None
    return named and column.distinct >= _FEW and 1.2 * column.distinct <= rows - column.missing


def _repeated_rows(X: Any, target: Target) -> Check:
    frame = pd.concat([X, pd.Series(target.values, index=X.index, name="\x00target")], axis=1)
    try:
        repeated = int(frame.duplicated().sum())
    except TypeError:  # lists and the like cannot be counted
        return Check("Repeated rows", "Not counted: a column holds nested values.")
    if not repeated:
        return Check("Repeated rows", "Every row is different.")
    detail = f"{count(repeated, 'row')} ({repeated / len(X):.1%}) repeat an earlier row exactly."
    if repeated < 0.01 * len(X):
        return Check("Repeated rows", detail)
    return Check("Repeated rows", f"{detail} A copy in training and test makes scores look too good.", fine=False)


def _constant(columns: tuple[Column, ...]) -> Check:
    empty = [column.name for column in columns if column.note.startswith(("constant", "every value is missing"))]
    if not empty:
        return Check("Empty or constant columns", "None.")
    return Check("Empty or constant columns", f"Left out: {listed(empty)}.", fine=False)


def _missing(columns: tuple[Column, ...], rows: int) -> Check:
    used = [column for column in columns if column.role is not Role.UNUSED and column.missing]
    if not used:
        return Check("Missing values", "None in the columns used.")
    worst = max(used, key=lambda column: column.missing)
    detail = (
        f"In {count(len(used), 'column')}; most in {shown(worst.name)} ({worst.missing / rows:.1%}). Trees of "
        "this library take them as they are; for other models numbers and dates get the median and an indicator, and a "
        "missing category is a category."
    )
    return Check("Missing values", detail, fine=worst.missing <= 0.5 * rows)
