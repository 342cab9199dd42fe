"""Rows are held out at random, by time or by group; what cannot be split so is said in one line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import corollary
from corollary.evaluate.splits import Split, make_splits
from corollary.tabular.messages import InputError
from corollary.tabular.target import read_target


def dated(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=rows).strftime("%Y-%m-%d").to_numpy()
    order = rng.permutation(rows)
    return pd.DataFrame({"when": days[order], "x": rng.normal(size=rows), "y": order + 0.5})


def test_time_learns_from_the_past_only() -> None:
    frame = dated()
    target = read_target(frame["y"], "regression", "t")
    splits, _ = make_splits(target, 4, 0, "t", Split.read("time:when"), frame)
    when = pd.to_datetime(frame["when"])
    assert len(splits) == 4
    for train, test in splits:
        assert when.iloc[train].max() < when.iloc[test].min()


def test_rows_of_one_moment_are_not_on_both_sides() -> None:
    frame = pd.DataFrame({"year": np.repeat([1, 2, 3, 4, 5, 6], [10, 7, 13, 9, 11, 10]), "y": np.arange(60.0)})
    target = read_target(frame["y"], "regression", "t")
    for train, test in make_splits(target, 3, 0, "t", Split.read("time:year"), frame)[0]:
        assert frame["year"].iloc[train].max() < frame["year"].iloc[test].min()


def test_groups_are_on_one_side() -> None:
    frame = pd.DataFrame({"who": [f"p{i % 7}" for i in range(70)], "y": ["a", "b"] * 35})
    target = read_target(frame["y"], "auto", "t")
    splits, note = make_splits(target, None, 0, "t", Split.read("group:who"), frame)
    assert note == ""
    for train, test in splits:
        assert not set(frame["who"].iloc[train]) & set(frame["who"].iloc[test])
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(70))


def test_fewer_groups_than_folds() -> None:
    frame = pd.DataFrame({"who": ["a", "b", "c"] * 10, "y": np.arange(30.0)})
    target = read_target(frame["y"], "regression", "t")
    splits, note = make_splits(target, None, 0, "t", Split.read("group:who"), frame)
    assert len(splits) == 3
    assert note == "3 folds instead of 5, because column 'who' has only 3 groups"
    with pytest.raises(InputError, match="has only 3 groups, too few for 4 folds; use --folds 3"):
        make_splits(target, 4, 0, "t", Split.read("group:who"), frame)


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ("weekly", "--split weekly: expected random, time:COLUMN or group:COLUMN"),
        ("time", "--split time: expected random, time:COLUMN or group:COLUMN"),
        ("time:nope", "--split time:nope: data has no column 'nope'; the columns are "),
        ("time:word", "time column 'word' holds 'a', which is neither a date nor a number"),
        ("time:gap", "time column 'gap' is missing in row 2"),
        ("group:one", "column 'one' has only 1 group, too few for 5 folds; two or more are needed"),
        ("time:sorted", "class 'b' has no row in the training part of fold 1"),
    ],
)
def test_what_cannot_be_split_is_said_in_one_line(split: str, words: str) -> None:
    rows = 40
    frame = pd.DataFrame({
        "x": np.arange(rows), "word": ["a", "b"] * 20, "gap": [1, None] * 20, "one": "same",
        "sorted": np.arange(rows), "label": np.repeat(["a", "b"], 20),
    })  # fmt: skip
    with pytest.raises(InputError, match=words) as caught:
        corollary.compare(frame, "label", models={"m": LogisticRegression()}, split=split)
    assert "\n" not in str(caught.value)


def test_a_comparison_by_time_judges_the_rows_it_can() -> None:
    frame = dated(80)
    result = corollary.compare(frame, "y", split="time:when", models={"ridge": Ridge()}, folds=3)
    assert result.split == "time:when"
    assert len(result.truth) == len(result.judged_rows) == 60  # the first quarter is only learnt from
    assert len(result.out_of_fold["ridge"].values) == 60
    by_hand = np.sqrt(np.mean((result.out_of_fold["ridge"].values - result.truth) ** 2))
    assert by_hand == pytest.approx(np.sqrt(np.mean(np.square(result.best_row.scores["rmse"].folds))))


def test_the_column_of_groups_is_no_feature() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": np.repeat(np.arange(12), 6), "x": rng.normal(size=72)})
    frame["y"] = frame["who"] * 10.0 + frame["x"]
    result = corollary.compare(frame, "y", split="group:who", models={"ridge": Ridge()})
    assert list(result.features.columns) == ["x"]
    assert "column 'who' says which rows belong together, and is no feature" in result.notes
    assert result.best_.predict(frame.drop(columns=["who"])).shape == (72,)


def visits(rows: int = 80) -> pd.DataFrame:
    """Several rows of each patient, on different days."""
    rng = np.random.default_rng(1)
    days = pd.date_range("2024-01-01", periods=rows).strftime("%Y-%m-%d").to_numpy()
    who = [f"p{i % 16}" for i in range(rows)]
    return pd.DataFrame({"patient_id": who, "when": days, "x": rng.normal(size=rows), "y": rng.normal(size=rows)})


@pytest.mark.parametrize(
    ("split", "open_points"),
    [
        ("random", {"Dated rows", "Rows that belong together"}),
        ("group:patient_id", {"Dated rows"}),
        ("time:when", {"Rows that belong together"}),
    ],
)
def test_a_split_that_keeps_groups_or_times_apart_is_not_warned_of(split: str, open_points: set[str]) -> None:
    from corollary.report.comparison_page import _header

    result = corollary.compare(visits(), "y", split=split, models={"ridge": Ridge()})
    found = {check.title for check in result.checks if not check.fine}
    assert found & {"Dated rows", "Rows that belong together"} == open_points
    assert all(f"<b>{title}.</b>" in _header(result) for title in open_points)
    assert split not in " ".join(check.detail for check in result.checks if not check.fine)
