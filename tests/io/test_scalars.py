"""Fitted numbers that are NumPy's in scikit-learn are so here, before a model is saved and after it is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corollary
from corollary.io import load

MODELS: list[tuple[Any, str]] = [
    (corollary.LassoCV(cv=3, alphas=5), "alpha_ dual_gap_"),
    (corollary.ElasticNetCV(cv=3, alphas=5), "alpha_ l1_ratio_ dual_gap_"),
    (corollary.RidgeCV(alphas=np.array([0.1, 1.0])), "alpha_ best_score_"),
    (corollary.RidgeCV(cv=3), "alpha_ best_score_"),
    (corollary.HuberRegressor(), "scale_"),
    (corollary.GaussianMixture(2, random_state=0), "lower_bound_"),
    (corollary.PCA(2), "noise_variance_"),
    (corollary.PCA(), "noise_variance_"),
    (corollary.GradientBoostingRegressor(n_estimators=3, subsample=0.5, random_state=0), "oob_score_"),
]


@pytest.mark.parametrize(("model", "names"), MODELS, ids=lambda value: getattr(type(value), "__name__", None))
def test_numbers_are_numpys_before_and_after_a_file(model: Any, names: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model.fit(X) if isinstance(model, corollary.PCA | corollary.GaussianMixture) else model.fit(
        X, X[:, 0] + rng.normal(size=60)
    )
    model.save(tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        for name in names.split():
            assert isinstance(getattr(each, name), np.float64), name
            assert getattr(each, name).round(4) == round(float(getattr(model, name)), 4)
        assert all(isinstance(value, np.float64) for value in getattr(each, "lower_bounds_", []))


def test_the_number_of_classes_of_a_tree_is_numpys(tmp_path: Path) -> None:
    tree = corollary.DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    tree.save(tmp_path / "tree")
    assert all(type(each.n_classes_) is np.int64 for each in (tree, load(tmp_path / "tree")))
