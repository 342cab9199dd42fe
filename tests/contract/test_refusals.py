"""Text, dates and gaps that a model cannot take: the error names the column, a value, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import corollary
from corollary.registry import ESTIMATORS, models_with

N = 12
TABLE = pd.DataFrame({"age": np.arange(N) * 1.5, "colour": ["red", "blue", "green"] * 4})
LABELS = np.arange(N) % 2
LINEAR_OR_NEAR = [
    entry.name
    for entry in ESTIMATORS.values()
    if entry.family in ("linear", "neighbors") and {"regression", "classification"} & set(entry.tasks)
]


def ready(name: str) -> Any:
    model = ESTIMATORS[name].load()(**ESTIMATORS[name].arguments)
    return model.set_params(n_neighbors=2) if "n_neighbors" in model.get_params() else model


@pytest.mark.parametrize("as_it_comes", [lambda X: X, lambda X: X.astype({"colour": "category"}), pl.from_pandas])
@pytest.mark.parametrize("name", LINEAR_OR_NEAR)
def test_linear_and_neighbour_models_name_the_column_that_is_text(name: str, as_it_comes: Any) -> None:
    kind = "Classifier" if "classification" in ESTIMATORS[name].tasks and name != "LinearModel" else "Regressor"
    with pytest.raises(ValueError, match="takes numbers") as caught:
        ready(name).fit(as_it_comes(TABLE), LABELS)
    assert str(caught.value) == (
        f"{name} takes numbers, but column 'colour' holds text such as 'red' (could not convert string to float). "
        "Encode it (OneHotEncoder in a pipeline does), let corollary.compare prepare the table, or take a model that "
        f"reads categorical columns: RandomForest{kind} or GradientBoosting{kind}."
    )


def test_what_is_recommended_works() -> None:
    X = TABLE.astype({"colour": "category"})
    for name in models_with("categories", "classification"):
        assert len(ESTIMATORS[name].load()().fit(X, LABELS).predict(X)) == N
    gaps = TABLE[["age"]].mask(TABLE[["age"]] > 12)
    for task in ("classification", "regression"):
        for name in models_with("missing", task):
            assert len(ESTIMATORS[name].load()().fit(gaps, LABELS).predict(gaps)) == N


def test_rows_to_predict_for_are_refused_in_the_same_words() -> None:
    model = corollary.Ridge().fit(TABLE[["age"]].assign(size=1.0 + LABELS), LABELS)
    with pytest.raises(ValueError, match="Ridge takes numbers, but column 'size' holds text such as 'large'"):
        model.predict(TABLE[["age"]].assign(size="large"))


def test_dates_and_arrays() -> None:
    dated = TABLE[["age"]].assign(when=pd.Timestamp("2024-02-29"))
    with pytest.raises(ValueError, match="column 'when' holds dates or times such as 2024-02-29") as caught:
        corollary.KMeans(2).fit(dated)
    assert "compare" not in str(caught.value)  # which wants a target
    with pytest.raises(ValueError, match="column 1 holds text such as 'red'"):
        corollary.LogisticRegression().fit(TABLE.to_numpy(), LABELS)
    with pytest.raises(ValueError, match=r"column 1 holds text such as 'red' .* Name it in categorical_features"):
        corollary.RandomForestClassifier().fit(TABLE.to_numpy(), LABELS)


@pytest.mark.parametrize("name", ["LogisticRegression", "Ridge", "KMeans", "PCA", "KNeighborsRegressor"])
def test_the_error_about_gaps_names_our_models(name: str) -> None:
    model = ready(name)
    gaps = TABLE[["age"]].mask(TABLE[["age"]] > 12).to_numpy()
    with pytest.raises(ValueError, match=r"^Input X contains NaN\.\n") as caught:
        model.fit(gaps) if name in ("KMeans", "PCA") else model.fit(gaps, LABELS)
    text = str(caught.value)
    assert "sklearn" not in text
    assert "HistGradient" not in text
    task = {"LogisticRegression": "classification", "KMeans": "clustering", "PCA": "transform"}.get(name, "regression")
    assert all(each in text for each in models_with("missing", task))


def test_blocks_keep_their_number() -> None:
    blocks = corollary.Blocks([(np.ones((3, 1)), [1.0, 2.0, 3.0]), (np.full((2, 1), np.nan), [1.0, 2.0])])
    with pytest.raises(ValueError, match=r"^Block 1: Input X contains NaN\.\nRidge does not accept"):
        corollary.Ridge().fit(blocks)
