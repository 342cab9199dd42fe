"""Integers beyond 2⁵³ are refused at every door, for float64 would make different ones equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from corollary import (
    PCA,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    KMeans,
    LinearRegression,
    RandomForestClassifier,
)

FAR = 2**60 + np.arange(20)  # one number in float64
LABELS = np.arange(20) >= 10
MODELS = (
    DecisionTreeClassifier(),
    DecisionTreeRegressor(),
    GradientBoostingRegressor(),
    RandomForestClassifier(n_estimators=2),
    LinearRegression(),
    KMeans(2),
    PCA(1),
)
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "int64": lambda x: x[:, None],
    "negative": lambda x: -x[:, None],
    "uint64": lambda x: x[:, None].astype(np.uint64) * 8,
    "list": lambda x: x[:, None].tolist(),
    "sparse": lambda x: sparse.csr_array(x[:, None]),
    "pandas": lambda x: pd.DataFrame({"a": np.arange(20) / 7, "b": x}),
    "nullable": lambda x: pd.DataFrame({"b": pd.array([*x[:-1].tolist(), None], dtype="Int64")}),
    "polars": lambda x: pl.DataFrame({"a": np.arange(20) / 7, "b": x}),
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("name", ["int64", "pandas"])
def test_every_model_refuses_integers_that_would_become_one(model: Any, name: str) -> None:
    with pytest.raises(ValueError, match=r"of X has|X has integers .* Subtract an offset first"):
        model.fit(CONTAINERS[name](FAR), LABELS.astype(int))


@pytest.mark.parametrize("name", CONTAINERS)
def test_any_container(name: str) -> None:
    with pytest.raises(ValueError, match="Subtract an offset first"):
        DecisionTreeClassifier().fit(CONTAINERS[name](FAR), LABELS)


def test_what_to_do_about_them() -> None:
    near = (FAR - FAR.min())[:, None]
    tree = DecisionTreeClassifier().fit(near, LABELS)
    assert tree.score(near, LABELS) == 1.0
    with pytest.raises(ValueError, match="Subtract an offset first"):
        tree.predict(FAR[:, None])
    last = near + 2**53 - 19  # every integer up to there is a number of float64
    assert DecisionTreeClassifier().fit(last, LABELS).score(last, LABELS) == 1.0
    DecisionTreeClassifier().fit(FAR[:, None].astype(float), LABELS)  # as asked for


def test_categories_are_no_numbers() -> None:
    X = np.column_stack([FAR % 2 + 2**60, np.arange(20)])
    tree = DecisionTreeRegressor(categorical_features=[0]).fit(X, FAR % 2)
    assert tree.score(X, FAR % 2) == 1.0
    with pytest.raises(ValueError, match="Column 0 of X"):
        DecisionTreeRegressor(categorical_features=[1]).fit(X, FAR % 2)
