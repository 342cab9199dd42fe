"""The checks find what they look for, and only that."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor as SklearnTree

import corollary
from corollary.evaluate.data_checks import Check, run_checks
from corollary.tabular.roles import find_roles
from corollary.tabular.target import read_target

RNG = np.random.default_rng(5)
ROWS = 300


def _checks(y: object, split: str = "random", **columns: object) -> dict[str, Check]:
    frame = pd.DataFrame(columns)
    target = read_target(pd.Series(y, name="y"), "auto", "t")
    return {check.title: check for check in run_checks(frame, target, find_roles(frame, "t"), 0, split)}


def test_clean_data_pass_everything() -> None:
    y = np.where(RNG.random(ROWS) < 0.5, "a", "b")
    found = _checks(y, x=RNG.normal(size=ROWS), z=RNG.choice(["u", "v"], ROWS))
    assert all(check.fine for check in found.values()), found


@pytest.mark.parametrize("kind", ["number", "category", "date"])
def test_a_column_that_knows_the_answer_is_suspected(kind: str) -> None:
    y = RNG.random(ROWS) < 0.4
    leaks = {
        "number": y * 100 + RNG.random(ROWS),
        "category": np.where(y, "boat", "none"),
        "date": np.where(y, "2024-05-01", "2023-01-02"),
    }
    check = _checks(y, x=RNG.normal(size=ROWS), leak=leaks[kind])["Leakage"]
    assert not check.fine
    assert "'leak'" in check.detail
    assert "'x'" not in check.detail


def test_leakage_in_regression() -> None:
    y = RNG.normal(size=ROWS)
    assert not _checks(y, leak=3 * y + 1, x=RNG.normal(size=ROWS))["Leakage"].fine
    assert _checks(y, good=y + RNG.normal(size=ROWS))["Leakage"].fine


def test_rare_classes_repeated_rows_constants_and_gaps() -> None:
    y = np.where(np.arange(ROWS) % 50 == 0, "rare", "usual")
    x = np.where(np.arange(ROWS) < 60, 1.0, RNG.normal(size=ROWS))
    found = _checks(y, x=x, same=np.ones(ROWS), gone=np.where(np.arange(ROWS) < 200, np.nan, 1.0))
    assert "'rare', is only 2.00%" in found["Class balance"].detail
    assert "58 rows" in found["Repeated rows"].detail
    assert found["Empty or constant columns"].detail == "Left out: 'same'."
    assert "'gone' (66.7%)" in found["Missing values"].detail
    assert "Trees of this library take them as they are; for other models numbers" in found["Missing values"].detail
    assert not any(check.fine for title, check in found.items() if title != "Leakage")


def test_nested_values_are_not_counted() -> None:
    found = _checks(RNG.normal(size=ROWS), x=RNG.normal(size=ROWS), lists=[[1]] * ROWS)
    assert "Not counted" in found["Repeated rows"].detail


DATES = {
    "sold": pd.date_range("2020-01-01", periods=ROWS),
    "day sold": pd.date_range("2020-01-01", periods=ROWS).astype(str),
    "timestamp": 1_500_000_000 + 3600 * np.arange(ROWS),
    "createdAt": 1_500_000_000_000 + np.arange(ROWS),
}


@pytest.mark.parametrize("name", DATES)
def test_dated_rows_in_random_folds_are_told(name: str) -> None:
    y = RNG.normal(size=ROWS)
    check = _checks(y, **{"x": RNG.normal(size=ROWS), name: DATES[name]})["Dated rows"]
    assert not check.fine
    option = f"--split 'time:{name}'" if " " in name else f"--split time:{name}"
    assert option in check.detail
    asked = _checks(y, f"time:{name}", **{"x": RNG.normal(size=ROWS), name: DATES[name]})["Dated rows"]
    assert asked == Check("Dated rows", f"Trained on the past and tried on what came next, by '{name}'.")


def test_ids_that_repeat_are_told() -> None:
    y = RNG.normal(size=ROWS)
    columns = {"userId": np.arange(ROWS) // 6, "patient": [f"P{i // 3}" for i in range(ROWS)]}
    check = _checks(y, **columns)["Rows that belong together"]
    assert not check.fine
    assert "Rows share 'userId' (50 different values), 'patient' (100 different values), by name ids" in check.detail
    assert "--split group:userId" in check.detail
    assert _checks(y, "group:userId", **columns)["Rows that belong together"].fine


def test_numbers_and_names_that_are_neither_dates_nor_ids() -> None:
    y = RNG.normal(size=ROWS)
    found = _checks(
        y, time=RNG.normal(size=ROWS), row_id=np.arange(ROWS), key=np.arange(ROWS) % 3, x=np.arange(ROWS) % 50
    )
    assert set(found) == {"Leakage", "Repeated rows", "Empty or constant columns", "Missing values"}


def test_a_wide_table_is_looked_at_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.evaluate.data_checks._MOST_COLUMNS", 20)
    columns = {f"p{i}": RNG.normal(size=60) for i in range(300)}
    frame = pd.DataFrame({"p0": columns["p0"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        for name, values in columns.items():
            frame[name] = values  # one block for each column
    target = read_target(pd.Series(RNG.normal(size=60), name="y"), "auto", "t")
    found = {check.title: check for check in run_checks(frame, target, find_roles(frame, "t"), seed=0)}
    assert found["Repeated rows"].detail == "Every row is different."
    assert "the first 20 were looked at" in found["Leakage"].detail


def test_gaps_and_money_in_a_column_that_knows_the_answer() -> None:
    y = RNG.normal(size=ROWS) + 100
    money = [f"${value:,.4f}" if i % 50 else None for i, value in enumerate(y * 1000)]
    assert "'money'" in _checks(y, x=RNG.normal(size=ROWS), money=money)["Leakage"].detail


def test_numbers_beyond_single_precision_are_checked_without_a_warning() -> None:
    frame = pd.DataFrame({"x": np.tile([1e-300, 1e300], 20), "y": np.arange(40.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        corollary.compare(frame, "y", models={"tree": corollary.DecisionTreeRegressor()})


def test_what_is_said_of_gaps_is_what_models_see() -> None:
    x = np.where(np.arange(60) % 3 == 0, np.nan, np.arange(60.0))
    frame = pd.DataFrame({"x": x, "y": np.arange(60.0)})
    models = {"ours": corollary.DecisionTreeRegressor(max_depth=2), "theirs": SklearnTree(max_depth=2), "line": Ridge()}
    for name, model in models.items():
        prepare = corollary.compare(frame, "y", models={name: model}, folds=2).best_[0]
        seen = np.asarray(prepare.transform(frame[["x"]]))
        assert np.isnan(seen).any() == (name == "ours")
        assert seen.shape[1] == (1 if name == "ours" else 2)
