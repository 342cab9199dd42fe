"""Trees before the independent referee: what is right stands, what was changed does not, and no more is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from corollary.referee import trees as referee
from corollary.solvers.trees.exact.pruning import keep_above
from corollary.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from corollary.tree.stump import DecisionStump

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X[:, 0] - X[:, 1] ** 2 + 0.3 * RNG.normal(size=80)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"max_depth": 2},
    {"min_samples_split": 12},
    {"min_samples_leaf": 0.1},
    {"min_weight_fraction_leaf": 0.1},
    {"min_impurity_decrease": 0.02},
    {"max_leaf_nodes": 5},
    {"max_leaf_nodes": 500},
]


def _cut_down(model: Any) -> Any:
    """The same model with nothing but its root."""
    cut = np.zeros(model.trees_.node_count, dtype=bool)
    cut[0] = True
    model.trees_ = keep_above(model.trees_, cut)
    return model


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error"])
def test_right_trees_stand_and_roots_do_not(settings: dict[str, Any], weighted: bool, criterion: str) -> None:
    classes = criterion in ("gini", "entropy")
    y = (Y.mean() < Y).astype(int) if classes else Y
    w = RNG.uniform(0.5, 2, 80) if weighted else None
    make: Any = DecisionTreeClassifier if classes else DecisionTreeRegressor
    model = make(criterion=criterion, **settings).fit(X, y, sample_weight=w)
    found = model.evidence_.verify(X, y, w)
    assert found.stands is True, found
    assert _cut_down(model).evidence_.verify(X, y, w).stands is False


def test_pruned_trees_are_not_decided() -> None:
    model = DecisionTreeRegressor(ccp_alpha=0.05).fit(X, Y)
    assert model.evidence_.verify(X, Y).stands is None
    assert _cut_down(model).evidence_.verify(X, Y).stands is not True


def test_beyond_its_limit_the_referee_says_how_many_nodes_it_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    model = DecisionTreeRegressor().fit(X, Y)
    monkeypatch.setattr(referee, "MOST", 200)
    found = model.evidence_.verify(X, Y)
    assert found.stands is None
    assert "nodes were searched" in found.words


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("classes", [False, True])
def test_values_within_monotone_constraints(seed: int, classes: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 3))
    y = x[:, 0] + rng.normal(size=60)
    make: Any = DecisionTreeClassifier if classes else DecisionTreeRegressor
    y = (y > 0).astype(int) if classes else y
    model = make(monotonic_cst=[1, -1, 0]).fit(x, y)
    found = model.evidence_.verify(x, y)
    assert found.stands, found  # other splits within the constraints are not searched, and nothing is claimed of them
    assert "values and gains" in found.words
    assert model.evidence_.certificate.name == "error of gains"
    assert "Under monotone constraints no node was searched again over all columns" in str(model.evidence_)
    value = model.trees_.value.copy()
    value[-1] += 0.01
    model.trees_ = replace(model.trees_, value=value)
    assert model.evidence_.verify(x, y).stands is False


@pytest.mark.parametrize("name", ["weight", "count", "impurity", "gain", "value"])
@pytest.mark.parametrize("factor", [0, 1.001, np.nan])
def test_what_nodes_tell_is_judged(name: str, factor: float) -> None:
    model = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    told = getattr(model.trees_, name) * factor
    model.trees_ = replace(model.trees_, **{name: told})
    assert model.evidence_.verify(X, Y).stands is False


def test_gaps_in_y_are_refused() -> None:
    model = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    y = Y.copy()
    y[3] = np.nan
    for spoiled in (y, np.full(80, np.nan)):
        with pytest.raises(ValueError, match="y contains NaN"):
            model.evidence_.verify(X, spoiled)


def test_a_cycle_is_refuted() -> None:
    model = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    left = np.where(model.trees_.feature >= 0, 0, -1)
    model.trees_ = replace(model.trees_, left=left.astype(np.int32))
    assert model.evidence_.verify(X, Y).stands is False


def test_random_cuts_claim_values_and_gains_alone() -> None:
    model = DecisionTreeRegressor(splitter="random", random_state=0).fit(X, Y)
    assert model.evidence_.verify(X, Y).stands is True
    drawn = DecisionTreeRegressor(max_features=1, random_state=0).fit(X, Y)
    assert drawn.evidence_.verify(X, Y).stands is None


def test_names_claim_what_was_searched_and_sentences_are_plain() -> None:
    pixels, digit = load_digits(return_X_y=True)
    stump = DecisionStump().fit(pixels, digit).evidence_
    assert stump.certificate.name == "error of gains and leaf values"
    assert "No node was small enough" in str(stump)
    assert "The one node was searched again." in str(DecisionStump().fit(X, Y.mean() < Y).evidence_)
    assert "% of them have a better split." in str(DecisionTreeRegressor().fit(X, Y).evidence_)


def test_weights_over_many_decades_have_the_tolerance_that_sums_of_them_allow() -> None:
    rng = np.random.default_rng(0)
    x, y, w = rng.integers(-9, 9, (120, 6)), rng.integers(4, size=120), 10.0 ** rng.uniform(-12, 12, 120)
    model = DecisionTreeClassifier().fit(x, y, sample_weight=w)
    assert model.evidence_.certificate.tolerance > 1e-9
    assert model.evidence_.verify(x, y, w).stands is True
    assert DecisionTreeClassifier().fit(x, y).evidence_.certificate.tolerance == 1e-9
