"""The compiled second search of trees against plain NumPy, and trees of weights that differ by many decades."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary.core.types import Array
from corollary.ensemble.forest.random_forest import RandomForestRegressor
from corollary.solvers.trees.check.gains import Targets
from corollary.solvers.trees.check.together import excess_gains
from corollary.solvers.trees.check.values import Passage
from corollary.solvers.trees.exact.grow import ExactRules, grow
from corollary.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

CRITERIA = ["gini", "entropy", "squared_error", "poisson"]


def _case(criterion: str, outputs: int, weighted: bool) -> tuple[Array, Array, Array, list[int] | None]:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=90), rng.integers(0, 6, 90), rng.normal(size=90)])
    classes = [3] * outputs if criterion in ("gini", "entropy") else None
    y = rng.integers(0, 3, (90, outputs)) if classes else rng.poisson(2.0, (90, outputs)).astype(float)
    return X, y, rng.uniform(0.5, 3, 90) if weighted else np.ones(90), classes


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_kernel_finds_what_brute_force_finds(criterion: str, outputs: int, weighted: bool) -> None:
    X, y, w, classes = _case(criterion, outputs, weighted)
    tree = grow(X, y, w, ExactRules(criterion, max_depth=3, min_samples_leaf=3), classes)
    targets, leaves = Targets(criterion, y, w, tuple(classes or ())), tree.apply(X)[:, 0]
    passage, nodes = Passage.of(tree, leaves, w), np.arange(tree.node_count)
    x = np.ascontiguousarray(X.T)
    taken, best = excess_gains(targets, tree, nodes, leaves, passage.count, x, np.argsort(x, axis=1), 3, 2.0)
    for t in nodes:
        rows = passage.rows(t)
        node = targets.node(rows)
        np.testing.assert_allclose(best[t], node.best_gain(X[rows], 3, 2.0), rtol=1e-9)
        own = node.gain(np.arange(len(rows)) < passage.count[tree.left[t]]) if tree.feature[t] >= 0 else 0.0
        np.testing.assert_allclose(taken[t], own, rtol=1e-9, atol=1e-12)
    for spoil in (lambda order: order[:, ::-1], lambda order: np.zeros_like(order), lambda order: order + 1):
        order = np.ascontiguousarray(spoil(np.argsort(x, axis=1)))  # an order that is none proves nothing
        assert np.isinf(excess_gains(targets, tree, nodes, leaves, passage.count, x, order, 3, 2.0)[1]).all()


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error"])
def test_light_rows_are_not_lost_beside_heavy_ones(criterion: str) -> None:
    """What is right of a cut used to be the rest of the node, of which weights over 24 decades leave no digit."""
    classes = criterion in ("gini", "entropy")
    make: Any = DecisionTreeClassifier if classes else DecisionTreeRegressor
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_cauchy(size=(50, 4))
        y = rng.integers(2, size=50) if classes else np.where(np.arange(50) == 7, 1e9, rng.normal(size=50))
        w = 10.0 ** rng.uniform(-12, 12, 50)
        model = make(criterion=criterion).fit(X, y, sample_weight=w)
        found = model.evidence_.verify(X, y, w)
        assert found.stands is not False, (seed, found)


def test_the_line_of_a_forest_is_short() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    evidence = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y).evidence_
    assert len(str(evidence)) < 160
    assert "nodes of 2 trees" in str(evidence)
    share = evidence.facts["share of such nodes that may have a better split (95 %)"]
    assert 0 < share < 0.2


def test_absolute_error_is_the_same_grown_at_once_and_node_by_node(monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary.solvers.trees.exact import grow as growing

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    whole = DecisionTreeRegressor(criterion="absolute_error", min_samples_leaf=4).fit(X, y)
    monkeypatch.setattr(growing, "SMALL_ABSOLUTE", 40)
    parts = DecisionTreeRegressor(criterion="absolute_error", min_samples_leaf=4).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))
    assert whole.evidence_.holds
    assert parts.evidence_.holds
