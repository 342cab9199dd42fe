"""Costs by name: frames are read by their labels, and what is named wrongly is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.svm import LinearSVC

from corollary import CostSensitiveClassifier

X = np.random.default_rng(0).normal(size=(80, 2))
y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "malignant", "benign")
BY_NAME = {"malignant": {"benign": 50}, "benign": {"malignant": 1}}
COST = pd.DataFrame({"malignant": [0, 1], "benign": [50, 0]}, index=["malignant", "benign"])


def fitted(cost: Any, labels: Any = y) -> CostSensitiveClassifier:
    return CostSensitiveClassifier(cost=cost).fit(X, labels)


@pytest.mark.parametrize(
    "cost",
    [
        COST,
        COST.loc[["benign", "malignant"]],
        COST[["benign", "malignant"]],
        pl.DataFrame({"malignant": [0, 1], "benign": [50, 0]}),
        pl.DataFrame({"benign": [0, 50], "malignant": [1, 0]}),
    ],
)
def test_frames_are_read_by_their_labels(cost: Any) -> None:
    told = fitted(BY_NAME)
    model = fitted(cost)
    assert model.cost_.tolist() == told.cost_.tolist() == [[0, 1], [50, 0]]
    assert model.predict(X).tolist() == told.predict(X).tolist()
    assert model.mean_cost(X, y, cost=cost) == told.mean_cost(X, y)


def test_labels_that_are_numbers() -> None:
    labels = (y == "malignant").astype(int)
    assert fitted(pd.DataFrame([[0, 50], [1, 0]], [1, 0], [1, 0]), labels).cost_.tolist() == [[0, 1], [50, 0]]
    assert fitted(pd.DataFrame([[0, 1], [50, 0]]), labels).cost_.tolist() == [[0, 1], [50, 0]]
    assert fitted(pl.DataFrame({"1": [0, 1], "0": [50, 0]}), labels).cost_.tolist() == [[0, 1], [50, 0]]


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (COST.rename(columns={"benign": "bening"}), "column for each of the classes.*'bening'"),
        (COST.reset_index(drop=True), r"row for each of the classes \['benign', 'malignant'\].*rows are \[0, 1\]"),
        (COST.iloc[:1], "row for each of the classes"),
        (pl.DataFrame({"malignant": [0, 1], "b": [50, 0]}), r"columns are \['malignant', 'b'\]"),
        (pl.DataFrame({"malignant": [0], "benign": [50]}), "no index.*there are 1"),
        ({"malignant": {"benign": 50}, "bening": {"malignant": 1}}, "'bening'.*'benign', 'malignant'"),
        ({"malignant": {"bening": 50}, "benign": {"malignant": 1}}, "'bening'.*'benign', 'malignant'"),
    ],
)
def test_labels_that_are_no_classes_are_named(cost: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fitted(cost)


def test_a_classifier_without_probabilities_is_told_what_it_lacks() -> None:
    with pytest.raises(ValueError, match=r"predict_proba.*CalibratedClassifierCV.*LinearSVC"):
        CostSensitiveClassifier(LinearSVC()).fit(X, y)
