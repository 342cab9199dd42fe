"""What an explanation says of several classes, and what it does not warn of."""

from __future__ import annotations

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
