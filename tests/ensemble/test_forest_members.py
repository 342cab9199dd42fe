"""The trees of a forest one by one: decision trees, the rows that they drew, and the paths through all of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import DataConversionWarning

from corollary import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    load,
)

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
ALL = [*CLASSIFIERS, RandomForestRegressor, ExtraTreesRegressor]


def data(cls: Any) -> tuple[Any, Any]:
    return (load_iris if cls in CLASSIFIERS else load_diabetes)(return_X_y=True)


@pytest.mark.parametrize("cls", ALL)
def test_the_mean_of_the_members_is_the_forest(cls: Any, tmp_path: Any) -> None:
    X, y = data(cls)
    model = cls(7, random_state=0, max_depth=5).fit(X, y)
    assert len(model) == len(model.estimators_) == 7
    assert model.estimators_ is model.estimators_
    assert list(model)[2] is model[2]
    kind = DecisionTreeClassifier if cls in CLASSIFIERS else DecisionTreeRegressor
    assert type(model.estimator_) is type(model[0]) is kind
    own = "predict_proba" if cls in CLASSIFIERS else "predict"
    mean = np.mean([getattr(tree, own)(X) for tree in model], axis=0)
    np.testing.assert_allclose(mean, getattr(model, own)(X), rtol=1e-12)
    assert all(tree.get_depth() <= 5 and tree.max_depth == 5 for tree in model)
    assert len({tree.random_state for tree in model}) == 7
    importances = np.mean([tree.feature_importances_ for tree in model], axis=0)
    np.testing.assert_allclose(importances, model.feature_importances_, atol=1e-12)
    model[0].save(tmp_path / "member.zip")
    np.testing.assert_array_equal(load(tmp_path / "member.zip").predict(X), model[0].predict(X))
    assert "estimators_" not in vars(pickle.loads(pickle.dumps(model)))


def test_members_know_classes_by_their_numbers() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = RandomForestClassifier(3, random_state=0).fit(X, names)
    np.testing.assert_array_equal(model[0].classes_, [0.0, 1.0, 2.0])
    assert model.classes_[model[0].predict(X).astype(int)].tolist().count("a") > 0


@pytest.mark.parametrize("cls", ALL)
def test_leaves_and_paths(cls: Any) -> None:
    X, y = data(cls)
    model = cls(4, random_state=0).fit(X, y)
    leaves, (paths, pointers) = model.apply(X), model.decision_path(X)
    assert paths.shape == (len(X), pointers[-1])
    for t, tree in enumerate(model.estimators_):
        np.testing.assert_array_equal(leaves[:, t], tree.apply(X))
        assert (paths[:, pointers[t] : pointers[t + 1]] != tree.decision_path(X)).nnz == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_are_what_the_trees_grew_on(weighted: bool) -> None:
    X, y = load_diabetes(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y)) if weighted else None
    options = {"max_samples": 100, "max_features": None, "random_state": 0}
    model = RandomForestRegressor(3, **options).fit(X, y, sample_weight=weights)
    for rows, tree in zip(model.estimators_samples_, model, strict=True):
        assert rows.dtype == np.int32
        assert len(rows) == 100
        assert not weighted or weights[rows].all()
        values = np.bincount(tree.apply(X[rows]), weights=y[rows]) / np.maximum(np.bincount(tree.apply(X[rows])), 1)
        reached = np.unique(tree.apply(X[rows]))
        np.testing.assert_allclose(tree.tree_.value[reached, 0, 0], values[reached], rtol=1e-9)
    model.set_params(bootstrap=False, max_samples=None).fit(X, y)
    np.testing.assert_array_equal(model.estimators_samples_[1], np.arange(len(y)))


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 3, "bootstrap": False}, {"max_leaf_nodes": 9}])
def test_a_member_fitted_anew_to_its_rows_is_the_same_tree(cls: Any, options: dict[str, Any]) -> None:
    X, y = data(cls)
    X, y = X[::2].round(1), y[::2]  # fewer values than bins
    model = cls(5, max_features=2, random_state=0, **{"bootstrap": True, **options}).fit(X, y)
    for rows, tree in zip(model.estimators_samples_, model, strict=True):
        again = clone(tree).fit(X[rows], y[rows])
        assert again.evidence_.holds
        np.testing.assert_array_equal(again.tree_.feature, tree.tree_.feature)
        np.testing.assert_allclose(again.predict(X[rows]), tree.predict(X[rows]), rtol=1e-9)


def test_samples_of_other_rows_are_not_made_up() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(2, warm_start=True, random_state=0).fit(X[:200], y[:200])
    model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="some trees are of earlier fits"):
        _ = model.estimators_samples_


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("bootstrap", [False, True])
def test_one_class(cls: Any, bootstrap: bool) -> None:
    X, y = load_iris(return_X_y=True)
    model = cls(12, bootstrap=bootstrap, oob_score=bootstrap, random_state=0)
    model.fit(X, np.full(len(X), "so"))
    assert model.evidence_.holds
    assert (model.predict(X) == "so").all()
    assert model.predict_proba(X).shape == (150, 1)
    if bootstrap:
        assert model.oob_score_ == 1
        assert model.oob_decision_function_.shape == (150, 1)
        assert not model.oob_permutation_importance(X, np.full(len(X), "so")).importances.any()
    several = clone(model).fit(X, np.column_stack([np.zeros(150), y, np.ones(150)]))
    assert several.n_classes_ == [1, 3, 1]
    assert [table.shape[1] for table in several.predict_proba(X)] == [1, 3, 1]
    np.testing.assert_array_equal(several.predict(X)[:, [0, 2]], [[0, 1]] * 150)
    assert (several.predict(X)[:, 1] == y).mean() > 0.9
    flat = clone(model).fit(X, np.column_stack([np.zeros(150), np.ones(150)]))
    np.testing.assert_array_equal(flat.predict(X), [[0, 1]] * 150)
    assert pickle.loads(pickle.dumps(flat)).trees_.value.shape[1] == 2


def test_cuts_of_extra_trees_are_uniform_between_the_numbers() -> None:
    X = np.repeat(np.arange(4.0), 50)[:, None]
    y = np.random.default_rng(0).normal(size=200)
    model = ExtraTreesRegressor(900, max_depth=1, random_state=0).fit(X, y)
    cuts = np.array([tree.tree_.threshold[0] for tree in model])
    counts = np.bincount(cuts.astype(int), minlength=3)
    assert (np.abs(counts - 300) < 60).all()  # more than four standard deviations


@pytest.mark.parametrize("cls", ALL)
def test_what_a_forest_says(cls: Any) -> None:
    X, y = data(cls)
    with pytest.raises(ValueError, match="`max_sample` cannot be set if `bootstrap=False`"):
        cls(2, bootstrap=False, max_samples=0.5).fit(X, y)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        cls(2).fit(X, y[:, None])
    model = cls(2, warm_start=True, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X[:50], y[:50])
    np.testing.assert_array_equal(model.predict(X), before)
    assert "nothing is said of them" in str(model.evidence_.notes)
    assert model.evidence_.verify(X, y).stands is None
