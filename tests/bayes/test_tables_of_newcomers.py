"""Frames as people have them: names that are numbers, flags with gaps, misspelt names, and messages that help."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from corollary import (
    CategoricalNB,
    DecisionTreeClassifier,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MixedNB,
    MultinomialNB,
)
from corollary.core.distribution.totals import Misfit

COLUMNS = {"island": ["Torgersen", "Dream", "Dream", "Biscoe"], "visits": [-1.0, 2.0, 3.0, 4.0]}
PENGUINS = pd.DataFrame(COLUMNS)
y = [0, 1, 1, 0]


def test_names_that_are_numbers() -> None:
    frame = pd.DataFrame([["a", 1.0], ["c", 2.0], ["a", 1.5], ["c", 2.5]])
    model = MixedNB().fit(frame, [0, 1, 0, 1])
    assert model.kinds_.tolist() == ["categorical", "gaussian"]
    assert model.predict(frame).tolist() == [0, 1, 0, 1]
    assert CategoricalNB().fit(frame[[0]], [0, 1, 0, 1]).predict(frame[[0]]).tolist() == [0, 1, 0, 1]
    categories = frame.astype({0: "category"})
    assert DecisionTreeClassifier().fit(categories, [0, 1, 0, 1]).predict(categories).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("gap", [None, np.nan])
@pytest.mark.parametrize("beside", ["text", "numbers"])
def test_flags_with_gaps_are_flags(gap: Any, beside: str) -> None:
    other = ["u", "v", "u", "u"] if beside == "text" else [1.0, 2.0, 1.5, 1.0]
    frame = pd.DataFrame({"flag": pd.Series([True, False, gap, np.bool_(True)], dtype=object), "other": other})
    nullable = frame.assign(flag=frame["flag"].astype("boolean"))
    model = MixedNB().fit(frame, y)
    assert model.kinds_[0] == "bernoulli"
    assert model.statistics_["bernoulli.present"][:, 0].tolist() == [2, 1]
    np.testing.assert_array_equal(model.predict_proba(frame), MixedNB().fit(nullable, y).predict_proba(nullable))
    assert MixedNB().fit(frame.assign(flag=[1, 0, None, 1]).astype({"flag": object}), y).kinds_[0] == "gaussian"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_are_called_by_their_names(make: Any) -> None:
    frame = make(COLUMNS)
    with pytest.raises(ValueError, match="'island' holds text or categories, which cannot be 'gaussian'"):
        MixedNB(columns={"island": "gaussian"}).fit(frame, y)
    with pytest.raises(ValueError, match="Poisson needs whole numbers ≥ 0, but column 'visits' of X has -1"):
        MixedNB(columns={"visits": "poisson"}).fit(frame, y)
    with pytest.raises(ValueError, match="names 'ilsand', which is no column of X: did you mean 'island'"):
        MixedNB(columns={"ilsand": "categorical"}).fit(frame, y)
    with pytest.raises(ValueError, match="no column of X: there are 'island', 'visits'"):
        MixedNB(columns={"zzz": "categorical"}).fit(frame, y)
    with pytest.raises(ValueError, match=r"GaussianNB takes numbers, but column 'island' holds text.*MixedNB"):
        GaussianNB().fit(frame, y)


def test_arrays_have_numbers_of_columns() -> None:
    X = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, -3.0]])
    with pytest.raises(ValueError, match="column 2 of X has -3"):
        MixedNB(columns={2: "poisson", 0: "poisson"}).fit(X, [0, 1])
    with pytest.raises(ValueError, match="columns 0 to 2"):
        MixedNB(columns={3: "poisson"}).fit(X, [0, 1])


def test_new_rows_of_another_kind() -> None:
    numbers = PENGUINS.assign(island=[1.0, 2.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="'island' holds text") as told:
        MixedNB().fit(numbers, y).predict(PENGUINS)
    assert "categorical_features" not in str(told.value)
    with pytest.raises(ValueError, match=r"column 'island' holds text.*MixedNB"):
        GaussianNB().fit(numbers, y).predict(PENGUINS)
    fitted = MixedNB(columns={"visits": "poisson"}).fit(PENGUINS.assign(visits=[1.0, 2.0, 3.0, 4.0]), y)
    with pytest.raises(ValueError, match="column 'visits' of X has -1"):
        fitted.predict(PENGUINS)
    with pytest.raises(ValueError, match="name it in categorical_features"):
        DecisionTreeClassifier().fit(PENGUINS, y)


@pytest.mark.parametrize(
    ("model", "other"),
    [
        (MultinomialNB(), "MixedNB"),
        (LogisticRegression(), "RandomForestClassifier"),
        (LinearRegression(), "RandomForestRegressor"),
    ],
)
def test_gaps_are_told_who_takes_them(model: Any, other: str) -> None:
    with pytest.raises(ValueError, match=r"Input X contains NaN\.") as told:
        model.fit([[np.nan, 2.0], [1.0, 1.0]], [0, 1])
    assert other in str(told.value)
    assert "Hist" not in str(told.value)
    assert "http" not in str(told.value)


def test_misfits_travel_between_processes() -> None:
    error = Misfit("Poisson needs whole numbers ≥ 0", 3, -1.0)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
