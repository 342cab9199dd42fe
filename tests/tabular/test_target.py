"""The task follows from the target, and the reason is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from corollary.tabular.messages import InputError
from corollary.tabular.reading import Table
from corollary.tabular.roles import Role
from corollary.tabular.target import read_target, separate_target

I = np.arange(100)  # noqa: E741

CASES: dict[str, tuple[Any, str, str]] = {
    "text": (np.where(I % 2, "a", "b"), "classification", "text with 2"),
    "booleans": (I % 2 == 0, "classification", "true or false"),
    "0 and 1": (I % 2, "classification", "only 2 different whole numbers"),
    "0.0 and 1.0": (I % 2 * 1.0, "classification", "only 2"),
    "ten digits": (I % 10, "classification", "only 10"),
    "many integers": (I * 3, "regression", "100 different whole numbers"),
    "real numbers": (I / 7, "regression", "100 different numbers"),
    "two real numbers": (I % 2 + 0.5, "regression", "2 different numbers"),
    "digits as text": ([str(i % 3) for i in I], "classification", "only 3"),
    "numbers as text": ([str(i / 3) for i in I], "regression", "100 different numbers"),
    "categories": (pd.Categorical(I % 5), "classification", "5"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_task_is_found(case: str) -> None:
    values, task, reason = CASES[case]
    target = read_target(pd.Series(values, name="y"), "auto", "t")
    assert target.task == task
    assert reason in target.reason
    assert (target.classes is None) == (task == "regression")


def test_the_values_keep_their_kind() -> None:
    kinds = {"0.0 and 1.0": "i", "booleans": "b", "text": "U", "numbers as text": "f", "digits as text": "i"}
    for case, kind in kinds.items():
        assert read_target(pd.Series(CASES[case][0], name="y"), "auto", "t").values.dtype.kind == kind


def test_small_tables_of_integers_are_regression() -> None:
    assert read_target(pd.Series([1, 2, 3, 4, 2, 1, 5, 3, 2, 4], name="y"), "auto", "t").task == "regression"


def test_what_cannot_be_asked_for() -> None:
    with pytest.raises(InputError, match="'a' in row 2"):
        read_target(pd.Series(["1", "a"] * 20, name="y"), "regression", "t")
    with pytest.raises(InputError, match="is a date"):
        read_target(pd.Series(pd.date_range("2020", periods=9), name="y"), "regression", "t")
    with pytest.raises(InputError, match="nested values"):
        read_target(pd.Series([[1], [2]], name="y"), "auto", "t")
    with pytest.raises(InputError, match="100 different values in 100 rows"):
        read_target(pd.Series(I / 7, name="y"), "classification", "t")


FRAME = pd.DataFrame(
    {
        "who": [f"p{i}" for i in range(60)],
        "zip": 1000 + I[:60] % 7,
        "w": I[:60] / 10,
        "x": np.sin(I[:60]),
        "y": I[:60] % 2,
    }
)


def _separated(frame: pd.DataFrame = FRAME, drop: tuple[str, ...] = (), **options: Any) -> Any:
    return separate_target(Table(frame, "t", ""), "y", "auto", drop, True, **options)


def test_weights_ids_and_categories_by_name() -> None:
    X, target, facts = _separated(weights="w", id="who", categorical=["zip"])
    assert list(X.columns) == ["zip", "x"]
    np.testing.assert_array_equal(target.weights, FRAME["w"])
    assert facts.id == "who"
    assert (facts.columns[0].role, facts.columns[0].note) == (Role.CATEGORY, "as asked")
    X, target, facts = _separated()
    assert (target.weights, facts.id, facts.columns[1].role) == (None, None, Role.NUMBER)
    gone = FRAME.assign(y=FRAME["y"].where(I[:60] > 4))
    assert _separated(gone, weights="w")[1].weights.tolist() == FRAME["w"].tolist()[5:]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weights": "y"}, "--weights y: this is the target"),
        ({"id": "y"}, "--id y: this is the target"),
        ({"categorical": ["y"]}, "--categorical y: this is the target; use --task classification"),
        ({"id": "w", "weights": "w"}, "--id w: this is the weights"),
        ({"categorical": ["who"], "id": "who"}, "--categorical who: this is the id"),
        ({"drop": ("y",)}, "--drop y: this is the target"),
        ({"drop": ("w",), "weights": "w"}, "--weights w: this is left out"),
        ({"weights": "none"}, "--weights none: t has no such column; the columns are 'who'"),
        ({"id": "none"}, "--id none: t has no such column"),
        ({"categorical": ["zip", "none"]}, "--categorical none: t has no such column"),
    ],
)
def test_columns_that_cannot_be_what_is_asked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        _separated(**options)


@pytest.mark.parametrize(
    ("row", "value", "said"),
    [
        (3, -1.0, "weights 'w' is negative in row 4; expected a number ≥ 0 in every row"),
        (4, np.nan, "weights 'w' is missing or infinite in row 5"),
        (5, np.inf, "weights 'w' is missing or infinite in row 6"),
        (slice(None), 0.0, "weights 'w' is 0 in every row"),
        (6, "heavy", "weights 'w': 'heavy' in row 7 is not a number; expected numbers ≥ 0"),
    ],
)
def test_weights_that_are_none(row: Any, value: Any, said: str) -> None:
    frame = FRAME.astype({"w": object})
    frame.loc[row, "w"] = value
    with pytest.raises(InputError, match=said):
        _separated(frame, weights="w")
