"""Looks at the data itself: what may make a good score too good, or a score misleading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score, recall_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from corollary.tabular.columns import CategoryColumns, DateColumns, NumberColumns
from corollary.tabular.messages import count, listed, shown
from corollary.tabular.roles import Column, Role
from corollary.tabular.target import Target

_SUSPICIOUS = 0.965
_RARE_CLASS = 0.1
_SAMPLE = 5000
_MOST_COLUMNS = 300


@dataclass(frozen=True)
class Check:
    """One look at the data: a title, what was found, and whether it is fine."""

    title: str
    detail: str
    fine: bool = True


def run_checks(X: Any, target: Target, columns: tuple[Column, ...], seed: int) -> tuple[Check, ...]:
    """Leakage, class balance, repeated rows, columns without information, missing values."""
    found = [
        _leakage(X, target, columns, seed),
        _repeated_rows(X, target),
        _constant(columns),
        _missing(columns, len(X)),
    ]
    if target.classes is not None:
        found.insert(1, _balance(target))
    return tuple(found)


def _leakage(X: Any, target: Target, columns: tuple[Column, ...], seed: int) -> Check:
    title = "Leakage"
    used = [column for column in columns if column.role not in (Role.UNUSED, Role.TEXT)]
    scores = [(column.name, single_column_score(X, column, target, seed)) for column in used[:_MOST_COLUMNS]]
    suspects = [(name, score) for name, score in scores if score >= _SUSPICIOUS]
    if not suspects:
        some = f" (the first {_MOST_COLUMNS} were looked at)" if len(used) > _MOST_COLUMNS else ""
        return Check(title, f"No single column predicts the target almost perfectly{some}.")
    suspects.sort(key=lambda pair: -pair[1])
    measure = "balanced accuracy" if target.classes is not None else "R²"
    names = ", ".join(f"{shown(name)} ({measure} {score:.3f})" for name, score in suspects[:5])
    advice = "Was it known before the outcome? If not, leave it out with --drop."
    return Check(title, f"Predicts the target almost perfectly on its own: {names}. {advice}", fine=False)


def single_column_score(X: Any, column: Column, target: Target, seed: int) -> float:
    """Held-out balanced accuracy or R² of a small tree that sees this column alone (on at most 5 000 rows)."""
    rows = np.random.default_rng(seed).permutation(len(X))[:_SAMPLE]
    values = _as_numbers(X[[column.name]].iloc[rows], column)
    half = len(rows) // 2
    y = target.values[rows]
    kind = DecisionTreeClassifier if target.classes is not None else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=64, min_samples_leaf=2, random_state=0).fit(values[:half], y[:half])
    guess, truth = tree.predict(values[half:]), y[half:]
    if target.classes is not None:  # a class that is not among these rows has no accuracy
        return float(recall_score(truth, guess, labels=np.unique(truth), average="macro", zero_division=0.0))
    return float(r2_score(truth, guess)) if np.ptp(truth) > 0 else 0.0


def _as_numbers(X: Any, column: Column) -> NDArray[np.float64]:
    if column.role is Role.NUMBER:
        return np.asarray(NumberColumns().fit_transform(X))
    if column.role is Role.DATE:
        return np.asarray(DateColumns([column.date_format]).fit_transform(X))
    texts = CategoryColumns().fit_transform(X)[:, 0].astype(str)
    return np.unique(texts, return_inverse=True)[1].astype(np.float64)[:, None]


def _balance(target: Target) -> Check:
    counts = target.class_counts
    total = sum(counts.values())
    rarest = min(counts, key=lambda name: counts[name])
    commonest = max(counts, key=lambda name: counts[name])
    share, top = counts[rarest] / total, counts[commonest] / total
    if share >= _RARE_CLASS or share >= 0.5 / len(counts):
        return Check("Class balance", f"The rarest class, {shown(rarest)}, is {share:.1%} of the rows.")
    detail = (
        f"The rarest class, {shown(rarest)}, is only {share:.2%} of the rows; always saying {shown(commonest)} would "
        f"be {top:.1%} accurate. Judge by log-loss, AUC or the confusion matrix, not by accuracy."
    )
    return Check("Class balance", detail, fine=False)


def _repeated_rows(X: Any, target: Target) -> Check:
    frame = X.assign(**{"\x00target": target.values})
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
        f"In {count(len(used), 'column')}; most in {shown(worst.name)} ({worst.missing / rows:.1%}). Numbers get the "
        "median and an indicator column, categories a category of their own."
    )
    return Check("Missing values", detail, fine=worst.missing <= 0.5 * rows)
