"""What an explanation says of several classes, and what it does not warn of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

import corollary

X, y = load_iris(return_X_y=True, as_frame=True)


def test_sizes_of_probabilities_stay_below_one() -> None:
    width = X[["petal width (cm)"]]
    found = corollary.explain(corollary.GaussianNB().fit(width, y), width, draws=4)
    (size,) = found.importances()
    assert size == pytest.approx(np.abs(found.values).mean())  # over rows and classes; of one class it is at most 1
    assert str(found).startswith("Over 150 rows and 3 classes the probability moves most with petal width (cm) (mean ")
    assert f"(mean size {size:.3g})" in str(found)


@pytest.mark.parametrize("name", ["GaussianNB", "LogisticRegression", "DecisionTreeClassifier"])
def test_rows_without_names_are_explained_without_a_warning(name: str) -> None:
    model = getattr(corollary, name)().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert corollary.explain(model, X.to_numpy()[:5], draws=4).values.shape[:2] == (5, 4)
