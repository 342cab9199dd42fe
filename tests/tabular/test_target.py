"""The task follows from the target, and the reason is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from corollary.tabular.messages import InputError
from corollary.tabular.target import read_target

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
