"""The referee of forests: trees that did not do what the rules ask for are caught, and the draws of columns repeat."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from corollary.core.evidence import share_wrong_at_most
from corollary.ensemble.forest.extra_trees import ExtraTreesClassifier
from corollary.ensemble.forest.random_forest import RandomForestClassifier, RandomForestRegressor
from corollary.referee.trees import Nodes, Rules, judge
from corollary.solvers.trees.check.search import Search
from corollary.solvers.trees.forest import forest as forest_module
from corollary.solvers.trees.forest.growth import grow_tree
from corollary.tree.decision_tree import DecisionTreeRegressor


def grown_by(monkeypatch: pytest.MonkeyPatch, **rules: Any) -> None:
    """From now on trees are grown by other rules than they were asked for."""

    def other(rows: Any, asked: Any, seed: int, **more: Any) -> Any:
        return grow_tree(rows, replace(asked, **rules), seed, **more)

    monkeypatch.setattr(forest_module, "grow_tree", other)


@pytest.mark.parametrize("wanted", [None, 6], ids=["all columns", "columns drawn"])
@pytest.mark.parametrize("forged", [{"max_features": 1}, {"max_depth": 2}, {"min_leaf": 20}])
def test_trees_that_searched_too_little_are_caught(
    monkeypatch: pytest.MonkeyPatch, forged: dict[str, Any], wanted: int | None
) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(5, max_features=wanted, random_state=0)
    assert model.fit(X, y).evidence_.holds
    grown_by(monkeypatch, **forged)
    with pytest.warns(UserWarning, match="excess gain of other splits"):
        assert model.fit(X, y).evidence_.certificate.value > 1e-4


@pytest.mark.parametrize("moved", ["sums", "rows", "mass"])
def test_wrong_leaves_are_caught(monkeypatch: pytest.MonkeyPatch, moved: str) -> None:
    X, y = load_diabetes(return_X_y=True)

    def forge(*args: Any, **more: Any) -> Any:
        grown = grow_tree(*args, **more)
        values = getattr(grown, moved).copy()
        values[len(values) // 2] += 3
        return replace(grown, **{moved: values})

    monkeypatch.setattr(forest_module, "grow_tree", forge)
    for cls in (RandomForestRegressor, ExtraTreesClassifier):
        with pytest.warns(UserWarning, match="Check failed"):
            assert not cls(5, random_state=0).fit(X, y if cls is RandomForestRegressor else y > 150).evidence_.holds


@pytest.mark.parametrize("options", [{}, {"criterion": "entropy"}, {"max_features": 2, "min_samples_leaf": 3},
                                     {"bootstrap": False}, {"class_weight": "balanced_subsample"},
                                     {"min_impurity_decrease": 0.01}, {"max_leaf_nodes": 5}])  # fmt: skip
def test_what_was_drawn_is_drawn_again(options: dict[str, Any]) -> None:
    """Searched over the columns that each node drew, with gaps and categories: nothing is better, nothing left out."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :12].mask(np.random.default_rng(0).random((len(y), 12)) < 0.1)
    X["size"] = pd.Categorical(np.digitize(X["mean area"].fillna(0), [200, 300, 400, 500, 600, 700, 900]))
    evidence = RandomForestClassifier(6, random_state=1, **options).fit(X, y).evidence_
    assert evidence.holds
    assert evidence.certificate.value < 1e-12
    if "max_leaf_nodes" not in options:
        assert evidence.facts["nodes searched again"] >= 12
        assert "excess gain of other splits" in str(evidence)


def test_several_targets() -> None:
    X, y = load_iris(return_X_y=True)
    assert RandomForestClassifier(5, random_state=0).fit(X, np.c_[y, y % 2]).evidence_.certificate.value < 1e-12
    assert RandomForestRegressor(5, random_state=0).fit(X, np.c_[y, X[:, 0]]).evidence_.certificate.value < 1e-12


@pytest.mark.parametrize("size", [1e12, 1e90])
def test_enormous_whole_weights_neither_hang_nor_flatten_the_trees(size: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    weights = np.rint(np.random.default_rng(0).uniform(1, 9, len(y)) * size)
    model = RandomForestRegressor(3, random_state=0).fit(X, y, sample_weight=weights)
    assert model.evidence_.holds
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("options", [{}, {"criterion": "entropy", "max_depth": 4}, {"min_weight_fraction_leaf": 0.05},
                                     {"max_features": 2, "min_samples_leaf": 3}, {"bootstrap": False},
                                     {"class_weight": "balanced_subsample"}])  # fmt: skip
def test_columns_that_nodes_drew_are_searched_by_the_referee(options: dict[str, Any]) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = np.round(20 * X[:, :9] / X[:, :9].max(axis=0))  # few values, so that no column is rounded to bins
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = RandomForestClassifier(4, random_state=1, **options).fit(X, y, sample_weight=weights)
    found = model.evidence_.verify(X, y, weights)
    assert found.stands, found
    assert "no node has a split of the columns that it drew that gains more" in found.words
    numbers = RandomForestRegressor(3, max_features=4, max_depth=5, random_state=0).fit(X, X[:, 0] * X[:, 1])
    assert numbers.evidence_.verify(X, X[:, 0] * X[:, 1]).stands
    few = RandomForestClassifier(3, max_leaf_nodes=6, random_state=0).fit(X, y)  # grown in another order
    found = few.evidence_.verify(X, y)  # so that nothing is claimed of other splits, and no word is said of them
    assert found.stands
    assert "error of gains and leaf values" in found.claim
    assert "gains more" not in found.words


def test_trees_of_other_draws_are_refuted() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = np.round(20 * X[:, :9] / X[:, :9].max(axis=0))
    model = RandomForestClassifier(4, max_features=1, random_state=1).fit(X, y)
    assert model.evidence_.verify(X, y).stands
    assert model.set_params(max_features=5).evidence_.verify(X, y).stands is False  # as if it had tried so many
    assert model.set_params(max_features=9).evidence_.verify(X, y).stands is False


def test_fewer_columns_than_were_to_be_drawn_decide_nothing() -> None:
    """The referee is told which columns nodes drew; that these are too few, or not the split's own, it sees itself."""
    X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    Y = np.eye(2)[[0, 0, 1, 1]]
    nodes = Nodes(
        np.array([0, -1, -1]), np.array([0.5, 0, 0]), np.array([1, -1, -1]), np.array([Y.mean(0), Y[0], Y[3]])
    )
    for tried, stands in (({0: [0, 1]}, True), ({0: [0]}, None), ({}, None), ({0: [1, 2]}, False)):
        rules = Rules("gini", tried=tried, draws=2)
        assert judge(X, Y, np.ones(4), nodes, rules, 1e-9).stands is stands, tried


@pytest.mark.parametrize("make", [RandomForestRegressor, RandomForestClassifier])
@pytest.mark.parametrize(("options", "searched"), [({"max_features": 3}, True), ({"max_features": None}, True),
                                                   ({"max_features": 3, "max_leaf_nodes": 9}, False),
                                                   ({"max_features": 3, "ccp_alpha": 1e-4}, False)])  # fmt: skip
def test_only_whole_searches_count(
    monkeypatch: pytest.MonkeyPatch, make: Any, options: dict[str, Any], searched: bool
) -> None:
    """A node is searched again if all columns that it tried were; no share is told of others than could be drawn."""
    X, y = load_diabetes(return_X_y=True)
    whole: list[bool] = []
    real = Search._excess

    def watched(self: Search, *args: Any) -> Any:
        found = real(self, *args)
        whole.append(found[1])
        return found

    monkeypatch.setattr(Search, "_excess", watched)
    monkeypatch.setattr(Search, "_together", lambda *args: None)
    evidence = make(5, random_state=0, **options).fit(X, y if make is RandomForestRegressor else y > 150).evidence_
    assert evidence.facts["nodes searched again"] == sum(whole) == (24 if searched else 0)
    share = "share of such nodes that may have a better split (95 %)"
    assert ("excess gain" in evidence.certificate.name) == (share in evidence.facts) == searched
    could = evidence.facts["nodes that could be searched over all columns that they tried"]
    if searched:
        assert evidence.facts[share] == share_wrong_at_most(24, int(could))
        assert (could <= 96) == (options["max_features"] == 3)


def test_within_monotone_constraints_no_node_counts_as_searched() -> None:
    X, y = load_diabetes(return_X_y=True)
    models: dict[str, Any] = {
        "error of gains and leaf values": RandomForestRegressor(5, random_state=0, monotonic_cst=[1] * 10),
        "error of gains": DecisionTreeRegressor(monotonic_cst=[1] * 9 + [0]),
    }
    for name, model in models.items():
        evidence = model.fit(X, y).evidence_
        assert evidence.certificate.name == name
        assert evidence.facts["nodes searched again"] == 0
        assert evidence.holds


def test_the_verdict_counts_the_nodes_of_all_trees_that_were_judged() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (200, 3)).astype(np.float64)
    y = X[:, 0] + rng.standard_normal(200)
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    found = model.evidence_.verify(X, y)
    assert found.stands
    assert f"of 5 trees with their rows, {model.trees_.node_count} nodes" in found.words
    assert "in the one of which least can be said" in found.words
