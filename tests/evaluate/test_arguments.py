"""What is passed to ``compare`` from Python is right, or refused in one line that says what was passed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import corollary
from corollary.tabular.messages import InputError

rng = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": rng.normal(size=40), "sex": rng.choice([0, 1], 40), "y": rng.normal(size=40)})
RIDGE = {"ridge": corollary.Ridge()}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"models": ["GaussianNB"]}, "models: expected a mapping of names to models, as {'ridge': Ridge()}, got list"),
        ({"models": {}}, "models: expected a mapping of names to models, as {'ridge': Ridge()}, got an empty one"),
        ({"models": {"nb": "GaussianNB"}}, "models: 'nb': expected a model that can be fitted, as Ridge(), got str"),
        ({"models": {"r": corollary.Ridge}}, "expected a model that can be fitted, as Ridge(), got the class Ridge"),
        ({"target": FRAME["y"]}, "target: expected the name of a column of the table, got Series"),
        ({"target": FRAME["y"].to_numpy()}, "target: expected the name of a column of the table, got ndarray"),
        ({"target": None}, "target: expected the name of a column of the table, got None"),
        ({"target": 7}, "data: there is no column '7' to be the target; the columns are 'x', 'sex', 'y'"),
        ({"target": ("a", "b")}, "data: there is no column \"('a', 'b')\" to be the target; the columns are"),
        ({"minutes": "2"}, "--minutes '2': expected a number, got str"),
        ({"time_budget": [2]}, "--time-budget [2]: expected a number, got list"),
        ({"folds": "5"}, "--folds '5': expected a whole number, got str"),
        ({"seed": 0.5}, "--seed 0.5: expected a whole number, got float"),
        ({"n_jobs": "2"}, "--n-jobs '2': expected a whole number, got str"),
        ({"metric": ["mae"]}, "--metric: expected text, got list"),
        ({"split": FRAME["x"]}, "--split: expected text, got Series"),
        ({"weights": FRAME["x"]}, "--weights: expected the name of a column of the table, got Series"),
        ({"drop": "zex"}, "--drop zex: data has no such column; the columns are 'x', 'sex', 'y'"),
        ({"drop": [3]}, "--drop 3: data has no such column"),
        ({"split": "time:day"}, "--split time:day: data has no column 'day'; the columns are 'x', 'sex', 'y'"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        corollary.compare(FRAME, **({"target": "y", "models": RIDGE} | given))
    assert words in str(caught.value)


def test_a_name_by_itself_is_one_column() -> None:
    dropped = corollary.compare(FRAME, "y", models=RIDGE, drop="sex", folds=2)
    assert list(dropped.features.columns) == ["x"]
    assert dropped.settings["drop"] == ("sex",)
    roles = corollary.compare(FRAME, "y", models=RIDGE, categorical="sex", folds=2).facts.columns
    assert {column.name: column.role.value for column in roles}["sex"] == "category"


@pytest.mark.parametrize("names", [[0, 1, 2], [("a", 0), ("a", 1), ("b", 2)]])
def test_columns_may_have_names_that_are_no_text(names: list[Any]) -> None:
    frame = FRAME.set_axis(pd.Index(names, tupleize_cols=False), axis=1)
    result = corollary.compare(frame, names[2], models=RIDGE, drop=[names[1]], folds=2)
    assert (result.target.name, list(result.features.columns)) == (str(names[2]), [str(names[0])])
