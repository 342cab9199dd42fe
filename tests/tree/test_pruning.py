"""Cost-complexity pruning against scikit-learn and against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_diabetes

from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.exact.pruning import keep_above, prune, pruning_path
from corollary.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor


def noisy(n: int = 400) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(float)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    return X, y, rng.uniform(0.5, 2, n)


def risk(trees: Trees) -> float:
    """Impurity left in the leaves."""
    return float((trees.impurity * trees.weight)[trees.is_leaf].sum() / trees.weight[0])


def test_the_path_of_scikit_learn_for_numbers() -> None:
    X, y, w = noisy()
    options: dict[str, Any] = {"min_samples_leaf": 5}
    ours = DecisionTreeRegressor(**options).cost_complexity_pruning_path(X, y, sample_weight=w)
    theirs = sklearn.tree.DecisionTreeRegressor(random_state=0, **options).cost_complexity_pruning_path(X, y, w)
    np.testing.assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.impurities, theirs.impurities, rtol=1e-8)


def test_the_path_of_scikit_learn_for_classes() -> None:
    X, y, w = noisy()
    options: dict[str, Any] = {"min_samples_leaf": 10}
    ours = DecisionTreeClassifier(**options).cost_complexity_pruning_path(X, y > 0, sample_weight=w)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **options)
    theirs = theirs.cost_complexity_pruning_path(X, y > 0, sample_weight=w)
    real = theirs.ccp_alphas > 1e-14  # with weights rounding makes scikit-learn split pure nodes, at no gain
    kept = ours.ccp_alphas > 1e-14
    np.testing.assert_allclose(ours.ccp_alphas[kept], theirs.ccp_alphas[real], rtol=1e-7)
    np.testing.assert_allclose(ours.impurities[kept], theirs.impurities[real], rtol=1e-7)


@pytest.mark.parametrize("alpha", [0.002, 0.01, 0.05, 10.0])
def test_a_pruned_tree_is_that_of_scikit_learn(alpha: float) -> None:
    X, y, w = noisy()
    ours = DecisionTreeRegressor(ccp_alpha=alpha, min_samples_leaf=5).fit(X, y, sample_weight=w)
    theirs = sklearn.tree.DecisionTreeRegressor(ccp_alpha=alpha, min_samples_leaf=5, random_state=0)
    theirs.fit(X, y, sample_weight=w)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    assert ours.evidence_.holds
    ours.trees_.check(4)


def test_no_subtree_is_better() -> None:
    """Of all prunings of a small tree none has a lower cost, and none of the same cost has fewer leaves."""
    X, y, _ = noisy(60)
    whole = DecisionTreeRegressor(max_depth=3).fit(X, y).trees_
    inner = np.flatnonzero(~whole.is_leaf)
    prunings = []
    for chosen in range(2 ** len(inner)):
        cut = np.zeros(whole.node_count, dtype=bool)
        cut[inner[[bool(chosen >> k & 1) for k in range(len(inner))]]] = True
        tree = keep_above(whole, cut)
        prunings.append((risk(tree), int(tree.is_leaf.sum())))
    for alpha in np.linspace(0.0, 0.6, 25):
        found = prune(whole, alpha)
        cost = risk(found) + alpha * found.is_leaf.sum()
        best = min(r + alpha * k for r, k in prunings)
        assert cost <= best + 1e-12
        assert found.is_leaf.sum() == min(k for r, k in prunings if r + alpha * k <= best + 1e-12)


def test_the_path_ends_at_the_root_and_rises() -> None:
    X, y = load_diabetes(return_X_y=True)
    whole = DecisionTreeRegressor().fit(X, y).trees_
    alphas, impurities = pruning_path(whole)
    assert (np.diff(alphas) >= -1e-9).all()
    assert (np.diff(impurities) >= -1e-9).all()
    assert alphas[0] == 0.0
    np.testing.assert_allclose(impurities[-1], whole.impurity[0])
    steps = np.flatnonzero(np.diff(alphas) > 1e-6 * (1 + alphas[1:]))  # between neighbours that differ
    for i in steps[::20]:
        np.testing.assert_allclose(risk(prune(whole, (alphas[i] + alphas[i + 1]) / 2)), impurities[i], atol=1e-9)


def test_pruning_keeps_categories() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 40, (500, 2)).astype(float)
    y = np.isin(X[:, 0], rng.choice(40, 15)) + 0.4 * rng.normal(size=500)
    model = DecisionTreeRegressor(categorical_features=[0, 1], ccp_alpha=0.01).fit(X, y)
    assert 1 < model.get_n_leaves() < 20
    assert len(model.trees_.bitsets) == (model.trees_.category >= 0).sum()
    assert model.evidence_.holds


def test_a_stronger_price_never_grows_the_tree() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    leaves = [DecisionTreeClassifier(ccp_alpha=a).fit(X, y).get_n_leaves() for a in (0.0, 0.002, 0.01, 0.05, 1.0)]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[-1] == 1
