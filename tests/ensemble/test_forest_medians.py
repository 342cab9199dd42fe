"""Forests by absolute error, and by Poisson deviance of several targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble as theirs
from sklearn.datasets import make_regression

from corollary import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor, load

FORESTS = [RandomForestRegressor, ExtraTreesRegressor]


def data(n: int = 200) -> tuple[Any, Any]:
    X, y = make_regression(n, 5, noise=8.0, random_state=0)
    return X, y + 30 * np.random.default_rng(1).standard_t(1.5, n)


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize(
    "options",
    [{}, {"max_features": 2}, {"max_features": 2, "ccp_alpha": 1.0}, {"max_leaf_nodes": 9}, {"min_samples_leaf": 4}],
)
def test_leaves_are_medians(cls: Any, options: dict[str, Any]) -> None:
    X, y = data()
    model = cls(6, criterion="absolute_error", bootstrap=True, random_state=0, **options).fit(X, y)
    assert model.evidence_.holds
    assert model.evidence_.verify(X, y).stands is not False
    for rows, tree in zip(model.estimators_samples_, model, strict=True):
        leaves = tree.apply(X[rows])
        for leaf in np.unique(leaves):
            assert tree.tree_.value[leaf, 0, 0] == pytest.approx(np.median(y[rows][leaves == leaf]))
        assert tree.trees_.value[0, 0] == pytest.approx(np.median(y[rows]))
        loss = np.abs(y[rows] - np.median(y[rows])).mean()
        assert tree.tree_.impurity[0] == pytest.approx(loss)


def test_one_tree_of_all_rows_is_the_exact_tree() -> None:
    X, y = data(120)
    options = {"criterion": "absolute_error", "max_depth": 4, "random_state": 0}
    alone = DecisionTreeRegressor(**options).fit(X, y)
    forest = RandomForestRegressor(1, bootstrap=False, **options).fit(X, y)
    np.testing.assert_allclose(forest.predict(X), alone.predict(X), rtol=1e-12)
    np.testing.assert_allclose(forest.feature_importances_, alone.feature_importances_)
    assert forest.evidence_.verify(X, y).stands


def test_as_good_as_scikit_learn() -> None:
    X, y = data(400)
    options = {"criterion": "absolute_error", "random_state": 0}
    ours, peer = (cls(30, **options).fit(X[:200], y[:200]) for cls in (FORESTS[0], theirs.RandomForestRegressor))
    mine, other = (np.abs(model.predict(X[200:]) - y[200:]).mean() for model in (ours, peer))
    assert mine < 1.1 * other


@pytest.mark.parametrize("cls", FORESTS)
def test_the_rest_of_a_forest_works(cls: Any, tmp_path: Any) -> None:
    X, y = data()
    X[::9, 1] = np.nan
    options = {"criterion": "absolute_error", "bootstrap": True, "random_state": 0}
    whole = cls(20, oob_score=True, **options).fit(X, y)
    parts = cls(8, warm_start=True, **options).fit(X, y).set_params(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    np.testing.assert_array_equal(whole.set_params(n_jobs=1).fit(X, y).predict(X), parts.predict(X))
    assert whole.oob_prediction_.shape == (200,)
    whole.save(tmp_path / "forest.zip")
    np.testing.assert_array_equal(load(tmp_path / "forest.zip").predict(X), whole.predict(X))
    weights = np.random.default_rng(0).integers(0, 3, 200)
    weighted = cls(5, **options).fit(X, y, sample_weight=weights)
    repeated = cls(5, **options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    kept = cls(9, keep_targets=True, **options).fit(X, y)
    assert (np.diff(kept.predict_quantiles(X[:5], [0.1, 0.5, 0.9]), axis=1) >= 0).all()
    with pytest.raises(ValueError, match="criterion of the last fit"):
        parts.set_params(criterion="squared_error", n_estimators=25).fit(X, y)


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_several_targets(criterion: str) -> None:
    X, y = data()
    Y = np.exp(np.column_stack([y, -y]) / np.abs(y).max())
    model = RandomForestRegressor(6, criterion=criterion, random_state=0).fit(X, Y)
    assert model.evidence_.holds
    assert model.predict(X).shape == (200, 2)
    assert model.score(X, Y) > 0.7
    one = DecisionTreeRegressor(criterion=criterion, max_depth=3).fit(X, Y)
    forest = RandomForestRegressor(1, criterion=criterion, bootstrap=False, max_depth=3).fit(X, Y)
    np.testing.assert_allclose(forest.predict(X), one.predict(X), rtol=1e-9)


@pytest.mark.parametrize("outputs", [1, 2])
def test_mass_and_rows_of_inner_nodes_are_those_of_their_children(outputs: int) -> None:
    X, y = data()
    Y = y if outputs == 1 else np.column_stack([y, -(y**2)])
    weights = np.random.default_rng(2).uniform(0.1, 3.0, len(y))
    model = RandomForestRegressor(5, criterion="absolute_error", bootstrap=False, max_features=2, random_state=0)
    trees = model.fit(X, Y, sample_weight=weights).trees_
    mass, rows, gain = trees.weight.copy(), trees.count.copy(), np.zeros(trees.node_count)
    inner = np.flatnonzero(~trees.is_leaf)
    mass[inner], rows[inner] = -1.0, -1
    for node in inner[::-1]:  # children come after their parents
        a, b = trees.left[node], trees.left[node] + 1
        mass[node], rows[node] = mass[a] + mass[b], rows[a] + rows[b]
        lost = trees.impurity[node] * mass[node] - trees.impurity[a] * mass[a] - trees.impurity[b] * mass[b]
        gain[node] = max(lost, 0.0)
    np.testing.assert_array_equal(trees.weight, mass)
    np.testing.assert_array_equal(trees.count, rows)
    np.testing.assert_allclose(trees.gain, gain, atol=1e-9 * gain.max())
    np.testing.assert_allclose(trees.weight[trees.roots], weights.sum())
    assert (trees.count[trees.roots] == len(y)).all()
