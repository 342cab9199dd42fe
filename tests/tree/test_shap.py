"""Shapley values of trees: equal to their definition, and adding up to the prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from random_trees import answer, interactions, random_rows, random_tree, shapley
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from corollary import GradientBoostingClassifier, GradientBoostingRegressor, Ridge
from corollary.core.parallel import threads
from corollary.core.trees import Trees
from corollary.ensemble.adaboost.adaboost import AdaBoostClassifier
from corollary.ensemble.forest.random_forest import RandomForestClassifier, RandomForestRegressor
from corollary.solvers.trees.shap import background_values, mean_values, path_interactions, path_values, tree_sums
from corollary.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from corollary.tree.shap import shap_interactions, shap_values

D, CATEGORICAL = 5, (3,)


class Mean(BaseEstimator):
    """The least that can be explained: trees, and how many columns there are."""

    def __init__(self, trees: Any = None, n_columns: int = 1) -> None:
        self.trees_, self.n_features_in_ = trees, n_columns

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def _validate_predict(self, X: Any) -> Any:
        return X


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_equal_to_the_definition(seed: int, n_outputs: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, D, 3 * seed, n_outputs, CATEGORICAL)
    X = random_rows(rng, 4, D, CATEGORICAL)
    expected = [shapley(lambda known, x=x: answer(tree, x, known), D) for x in X]
    np.testing.assert_allclose(path_values(tree, X, n_outputs, tree.weight), expected, atol=1e-12)
    np.testing.assert_allclose(mean_values(tree, n_outputs, tree.weight), answer(tree, X[0], set()), atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_background_equals_the_definition(seed: int, n_outputs: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, D, 3 * seed, n_outputs, CATEGORICAL)
    X, Z = random_rows(rng, 3, D, CATEGORICAL), random_rows(rng, 4, D, CATEGORICAL)

    def mixed(x: Any, known: set[int]) -> Any:
        rows = Z.copy()
        rows[:, list(known)] = x[list(known)]
        return tree.predict_sum(rows).mean(axis=0)

    expected = [shapley(lambda known, x=x: mixed(x, known), D) for x in X]
    np.testing.assert_allclose(background_values(tree, X, Z, n_outputs), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_interactions_equal_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, D, 8, 1, CATEGORICAL)
    X = random_rows(rng, 3, D, CATEGORICAL)
    found = path_interactions(tree, X, 1, tree.weight)[..., 0]
    off = ~np.eye(D, dtype=bool)
    for x, values in zip(X, found, strict=True):
        expected = interactions(lambda known, x=x: answer(tree, x, known), D)
        np.testing.assert_allclose(values[off], expected[off], atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=2), path_values(tree, X, 1, tree.weight)[..., 0], atol=1e-12)


def test_trees_of_several_outputs_take_turns() -> None:
    rng = np.random.default_rng(0)
    parts = [random_tree(rng, D, 6) for _ in range(6)]
    X = random_rows(rng, 70, D)  # more than one block
    values = path_values(Trees.join(parts), X, 3, np.concatenate([part.weight for part in parts]))
    for k in range(3):
        expected = sum(path_values(part, X, 1, part.weight) for part in parts[k::3])
        np.testing.assert_allclose(values[:, :, k], expected[:, :, 0], atol=1e-12)


def test_equal_columns_get_equal_values_and_idle_ones_nothing() -> None:
    """The tree of x0 and x1, half of the rows on either side of every split, and a third column."""
    grown = random_tree(np.random.default_rng(0), 1, 2)
    both = replace(
        grown,
        feature=np.array([0, -1, 1, -1, -1], dtype=np.int32),
        left=np.array([1, -1, 3, -1, -1], dtype=np.int32),
        threshold=np.array([0.0, np.nan, 0.0, np.nan, np.nan]),
        value=np.array([0.25, 0.0, 0.5, 0.0, 1.0])[:, None],
        weight=np.array([4.0, 2.0, 2.0, 1.0, 1.0]),
    )
    X = np.array([[1.0, 1.0, 7.0], [1.0, -1.0, 7.0], [-1.0, -1.0, 7.0]])
    values = path_values(both, X, 1, both.weight)[..., 0]
    np.testing.assert_allclose(values, [[0.375, 0.375, 0], [0.125, -0.375, 0], [-0.125, -0.125, 0]], atol=1e-15)
    np.testing.assert_allclose(values[:, 2], 0, atol=0)


def test_deep_trees_lose_no_digits() -> None:
    """A chain of 80 splits on 80 columns: products of 80 shares, and a rule of 40 points."""
    d = 80
    rng = np.random.default_rng(1)
    left = np.where(np.arange(2 * d + 1) % 2 == 0, np.arange(2 * d + 1) + 1, -1)
    left[-1] = -1
    inner = left >= 0
    weight = np.empty(2 * d + 1)
    weight[0::2] = np.cumprod(np.append(1e6, rng.uniform(0.5, 0.95, d)))
    weight[1::2] = weight[0:-1:2] - weight[2::2]
    blank = random_tree(rng, 1, 0)
    chain = replace(
        blank,
        feature=np.where(inner, np.arange(2 * d + 1) // 2, -1).astype(np.int32),
        left=left.astype(np.int32),
        threshold=np.where(inner, 0.0, np.nan),
        missing_left=np.zeros(2 * d + 1, dtype=bool),
        category=np.full(2 * d + 1, -1, dtype=np.int32),
        value=rng.normal(size=(2 * d + 1, 1)),
        weight=weight,
    )
    X = np.where(rng.random((20, d)) < 0.9, 1.0, -1.0)
    values = path_values(chain, X, 1, weight)
    expected = chain.predict_sum(X) - mean_values(chain, 1, weight)
    np.testing.assert_allclose(values.sum(axis=1), expected, atol=1e-10)


def test_nodes_that_no_training_row_reached() -> None:
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 3, 8)
    weight = tree.weight.copy()
    weight[tree.left[0]], weight[tree.left[0] + 1] = 0.0, weight[0]
    for node in np.flatnonzero(tree.feature >= 0)[1:]:
        weight[tree.left[node]] = weight[node] // 2
        weight[tree.left[node] + 1] = weight[node] - weight[tree.left[node]]
    assert (weight == 0).sum() > 2
    empty = replace(tree, weight=weight)
    X = random_rows(rng, 50, 3)
    values = path_values(empty, X, 1, empty.weight)
    expected = tree.predict_sum(X) - mean_values(empty, 1, empty.weight)
    np.testing.assert_allclose(values.sum(axis=1), expected, atol=1e-12)


def test_sparse_any_order_any_precision_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    trees = Trees.join([random_tree(rng, 9, 10) for _ in range(5)])
    X = random_rows(rng, 300, 9, missing=0.0).astype(np.float32)
    X[rng.random(X.shape) < 0.5] = 0.0
    with threads(1):
        expected = path_values(trees, X, 1, trees.weight)
    with threads(2):
        np.testing.assert_array_equal(path_values(trees, X, 1, trees.weight), expected)
    for other in (np.asfortranarray(X), X.astype(np.float64), scipy.sparse.csr_array(X), scipy.sparse.csc_array(X)):
        np.testing.assert_array_equal(path_values(trees, other, 1, trees.weight), expected)


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    X["kind"] = pd.Categorical(rng.choice(["red", "green", "blue"], 400))
    raw = X["a"] * (X["b"] > 0) + (X["kind"] == "red") + 0.1 * rng.normal(size=400)
    X.loc[rng.random(400) < 0.1, "a"] = np.nan
    X.loc[rng.random(400) < 0.1, "kind"] = np.nan
    return X, raw


@pytest.mark.parametrize("background", [False, True])
def test_boosted_numbers_add_up(table: Any, background: bool) -> None:
    X, y = table
    model = GradientBoostingRegressor(n_estimators=15, max_leaf_nodes=8).fit(X, y)
    found = shap_values(model, X, background=X[:20] if background else None)
    np.testing.assert_allclose(found.predictions, model.predict(X), atol=1e-9)
    assert found.certificate.holds
    assert found.feature_names == ("a", "b", "c", "kind")
    assert found.meaning == "prediction"
    if background:
        np.testing.assert_allclose(found.base_values, model.predict(X[:20]).mean())
    else:  # squared loss: leaves hold means, so without knowledge it is the mean of the targets
        np.testing.assert_allclose(found.base_values, y.mean(), atol=1e-3)


def test_boosted_classes_add_up(table: Any) -> None:
    X, raw = table
    two = GradientBoostingClassifier(n_estimators=10).fit(X, np.where(raw > 0.3, "yes", "no"))
    found = shap_values(two, X)
    np.testing.assert_allclose(found.predictions, two.decision_function(X), atol=1e-9)
    assert found.output_names == ("yes",)
    flowers, species = load_iris(return_X_y=True)
    three = GradientBoostingClassifier(n_estimators=10, min_samples_leaf=5).fit(flowers, species)
    found = shap_values(three, flowers)
    assert found.values.shape == (150, 4, 3)
    np.testing.assert_allclose(found.predictions, three.decision_function(flowers), atol=1e-9)
    assert found.output_names == ("0", "1", "2")
    whole = shap_interactions(three, flowers[:10])
    assert whole.shape == (10, 4, 4, 3)
    np.testing.assert_allclose(whole.sum(axis=2), found.values[:10], atol=1e-10)
    np.testing.assert_allclose(whole, whole.transpose(0, 2, 1, 3), atol=1e-12)


def test_trees_and_forests_add_up(table: Any) -> None:
    X, raw = table
    labels = np.where(raw > 0.3, "yes", "no")
    for model in (DecisionTreeClassifier(max_depth=6), RandomForestClassifier(5, random_state=0)):
        found = shap_values(model.fit(X, labels), X)
        np.testing.assert_allclose(found.predictions, model.predict_proba(X), atol=1e-9)
        assert found.output_names == ("no", "yes")
        assert found.meaning == "probability"
    for model in (DecisionTreeRegressor(max_depth=6), RandomForestRegressor(5, random_state=0)):
        found = shap_values(model.fit(X, raw), X)
        np.testing.assert_allclose(found.predictions, model.predict(X), atol=1e-9)
        assert found.meaning == "prediction"


def test_a_weight_counts_as_repeated_rows(table: Any) -> None:
    X, y = table[0].drop(columns="kind"), table[1]
    counts = np.random.default_rng(0).integers(1, 4, size=len(y))
    weighted = DecisionTreeRegressor(max_depth=4).fit(X, y, sample_weight=counts)
    again = np.repeat(np.arange(len(y)), counts)
    repeated = DecisionTreeRegressor(max_depth=4).fit(X.iloc[again], y.iloc[again])
    one, other = shap_values(weighted, X), shap_values(repeated, X)
    np.testing.assert_allclose(one.values, other.values, atol=1e-9)
    np.testing.assert_allclose(one.base_values, np.average(y, weights=counts), atol=1e-9)


def test_a_model_without_interactions_has_none() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=10, interaction_cst="no_interactions").fit(X, y)
    found = shap_interactions(model, X[:20])
    np.testing.assert_array_equal(found[:, ~np.eye(10, dtype=bool)], 0.0)


def test_means_of_trees() -> None:
    rng = np.random.default_rng(0)
    trees = Trees.join([random_tree(rng, D, 10, 2) for _ in range(4)])
    X = random_rows(rng, 30, D)
    found = shap_values(Mean(trees, D), X)
    np.testing.assert_allclose(found.predictions, tree_sums(trees, X, 2) / 4, atol=1e-12)
    assert found.feature_names[0] == "x0"
    assert found.output_names == ("output 0", "output 1")


def test_a_model_may_say_itself_how_its_trees_add_up() -> None:
    class Own(Mean):
        def _additive_trees(self) -> Any:
            return self.trees_, np.array([1.0]), 3.0, self.trees_.weight

    rng = np.random.default_rng(0)
    tree, X = random_tree(rng, D, 10), random_rows(rng, 9, D)
    found = shap_values(Own(tree, D), X)
    np.testing.assert_allclose(found.predictions, 1 + 3 * tree.predict_sum(X)[:, 0], atol=1e-12)
    np.testing.assert_allclose(found.base_values, 1 + 3 * answer(tree, X[0], set())[0])
    np.testing.assert_allclose(shap_interactions(Own(tree, D), X).sum(axis=2), found.values, atol=1e-12)


@pytest.mark.parametrize("learner", [None, DecisionTreeClassifier(max_depth=8, min_samples_leaf=5)])
@pytest.mark.parametrize("classes", [2, 3])
def test_votes_of_boosted_trees_are_shared_out(classes: int, learner: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    y = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y)
    model = AdaBoostClassifier(learner, n_estimators=6).fit(X, y)
    for background in (None, X[::40]):
        found = shap_values(model, X[:25], background=background)
        assert found.certificate is not None
        assert found.certificate.holds
        np.testing.assert_allclose(found.predictions, model.decision_function(X[:25]), atol=1e-9)
    assert found.meaning == "score"
    with pytest.raises(TypeError, match="GaussianNB"):
        shap_values(AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y), X)


def test_what_cannot_be_explained_says_why() -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match="Ridge has none"):
        shap_values(Ridge().fit(X, y), X)
    with pytest.raises(ValueError, match="last step"):
        shap_values(make_pipeline(StandardScaler(), GradientBoostingRegressor()), X)
    with pytest.raises(NotFittedError):
        shap_values(GradientBoostingRegressor(), X)
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        shap_values(model, X[:, :3])
