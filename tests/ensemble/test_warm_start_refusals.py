"""What a warm start cannot go on from is refused: other classes, and columns of other categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from corollary import (
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
SETTINGS: dict[str, Any] = {"n_estimators": 3, "warm_start": True, "random_state": 0}


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(**SETTINGS),
        RandomForestClassifier(**SETTINGS),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), **SETTINGS),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("names", [["a", "b", "d"], [1, 2, 3], ["a", "b"]])
def test_other_classes(model: Any, names: list[Any]) -> None:
    first = np.array(["a", "b", "c"])[Y]
    model = clone(model).fit(X, first)
    said = model.predict(X)
    with pytest.raises(ValueError, match=r"warm_start needs the (same )?classes (as|of) the"):
        model.set_params(n_estimators=5).fit(X, np.array(names)[np.minimum(Y, len(names) - 1)])
    np.testing.assert_array_equal(model.predict(X), said)  # and the model is as it was
    again = model.fit(X, first)
    np.testing.assert_array_equal(again.classes_, ["a", "b", "c"])


def frame(labels: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"number": X[:, 0], "kind": pd.Categorical(np.array(labels)[np.arange(80) % len(labels)])})


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(**SETTINGS, categorical_features="from_dtype"),
        GradientBoostingClassifier(**SETTINGS, categorical_features="from_dtype"),
        ExtraTreesRegressor(**SETTINGS, categorical_features="from_dtype"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_categories(model: Any) -> None:
    model = clone(model).fit(frame(["red", "green", "blue"]), Y)
    said = model.predict(frame(["red", "green", "blue"]))
    model.set_params(n_estimators=5)
    for other in (["red", "green", "yellow"], ["red", "green"], ["a", "red", "green", "blue"]):
        with pytest.raises(ValueError, match=r"same categories in column 1 as the fit before, .'blue', 'green', 'red'"):
            model.fit(frame(other), Y)
    with pytest.raises(ValueError, match=r"column 1 was one of categories, but it is one of numbers now"):
        model.fit(frame(["red", "green"]).assign(kind=X[:, 1]), Y)
    np.testing.assert_array_equal(model.predict(frame(["red", "green", "blue"])), said)
    on = model.fit(frame(["blue", "red", "green"]), Y)  # the same ones in another order of rows
    assert on.evidence_ is not None


def test_many_categories_are_shown_in_part() -> None:
    names = [f"k{i:02d}" for i in range(20)]
    model = GradientBoostingRegressor(**SETTINGS, categorical_features="from_dtype").fit(frame(names), Y)
    with pytest.raises(ValueError, match=r"'k07', … \(20\)\], but it has \['k00', .* … \(19\)\]"):
        model.fit(frame(names[:-1]), Y)
