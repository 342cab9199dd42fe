"""Trees in a file are trees: whatever else is written there is refused before compiled code walks it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corollary import DecisionTreeClassifier, GradientBoostingRegressor, RandomForestRegressor, io


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return DecisionTreeClassifier(random_state=0).fit(X, X[:, 0] + rng.normal(size=60) > 0)


def changed(trees, name, at, value):
    array = getattr(trees, name).copy()
    array[at] = value
    return replace(trees, **{name: array})


def inner(trees):
    return int(np.flatnonzero(trees.feature >= 0)[1])


def leaf(trees):
    return int(np.flatnonzero(trees.feature < 0)[0])


FORGERIES = {
    "a leaf marked −2³¹": lambda t: changed(t, "feature", leaf(t), -(2**31)),
    "a column that is not there": lambda t: changed(t, "feature", inner(t), 3),
    "a leaf with a child": lambda t: changed(t, "left", leaf(t), 1),
    "a child before its parent": lambda t: changed(t, "left", inner(t), 0),
    "a child that is not there": lambda t: changed(t, "left", inner(t), t.node_count),
    "a child of two parents": lambda t: changed(t, "left", inner(t), t.left[0]),
    "no roots": lambda t: replace(t, roots=t.roots[:0]),
    "a root in the middle": lambda t: replace(t, roots=np.array([0, 1], dtype=np.int32)),
    "a root that is not the first node": lambda t: replace(t, roots=np.array([1], dtype=np.int32)),
    "a root beyond the end": lambda t: replace(t, roots=np.array([0, 2**31 - 1], dtype=np.int32)),
    "nodes that hang nowhere": lambda t: replace(
        changed(t, "feature", 0, -1), left=np.where(np.arange(t.node_count) == 0, -1, t.left).astype(np.int32)
    ),
    "a set of categories that is not there": lambda t: changed(t, "category", inner(t), 0),
    "a categorical leaf": lambda t: replace(
        changed(t, "category", leaf(t), 0), bitsets=np.zeros((1, 1), dtype=np.uint32)
    ),
    "sets without words": lambda t: replace(
        changed(t, "category", inner(t), 0), bitsets=np.zeros((1, 0), dtype=np.uint32)
    ),
    "a category of a column of numbers": lambda t: replace(
        changed(t, "category", inner(t), 0), bitsets=np.zeros((1, 1), dtype=np.uint32)
    ),
    "no threshold": lambda t: changed(t, "threshold", inner(t), np.nan),
    "a value that is no number": lambda t: changed(t, "value", leaf(t), np.nan),
    "too few values": lambda t: replace(t, value=t.value[:, :1].copy()),
    "too many values": lambda t: replace(t, value=np.hstack([t.value, t.value])),
    "a negative weight": lambda t: changed(t, "weight", leaf(t), -1.0),
    "a negative count": lambda t: changed(t, "count", leaf(t), -1),
    "rows from nowhere": lambda t: changed(t, "count", leaf(t), 7_000),
    "arrays of different lengths": lambda t: replace(t, gain=t.gain[:-1]),
    "another type": lambda t: replace(t, left=t.left.astype(np.int64)),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_is_no_tree_is_refused(forgery, model, tmp_path):
    forged = DecisionTreeClassifier(random_state=0)
    vars(forged).update(vars(model), trees_=FORGERIES[forgery](model.trees_))
    with pytest.raises(io.ModelFileError, match=r"trees|categories_"):  # saving makes the checks of loading
        io.save(forged, tmp_path / "m")


def test_trees_of_every_fit_are_trees(model):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    weights = 10.0 ** rng.uniform(-12, 12, size=200)
    for fitted in (
        model,
        DecisionTreeClassifier(max_leaf_nodes=7, ccp_alpha=0.01).fit(X, X[:, 0] > 0, sample_weight=weights),
        GradientBoostingRegressor(n_estimators=5, subsample=0.5, random_state=0).fit(X, X[:, 0]),
        GradientBoostingRegressor(n_estimators=5, goss=(0.2, 0.1), random_state=0).fit(X, X[:, 0], weights),
    ):
        fitted.trees_.check(fitted.n_features_in_)


@pytest.mark.parametrize("forgery", ["fewer bins", "more bins", "no order", "no power of two", "a gap"])
def test_bins_of_a_forest_that_a_warm_start_would_grow_on_are_checked(forgery, tmp_path):
    """Codes beyond the bins would write beyond the histograms of compiled code."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = RandomForestRegressor(n_estimators=2, random_state=0, warm_start=True).fit(X, X[:, 0])
    nodes = dict(model.nodes_)
    nodes["thresholds"] = thresholds = nodes["thresholds"].copy()
    if forgery == "fewer bins":
        nodes["n_bins"] = np.ones_like(nodes["n_bins"])
    elif forgery == "more bins":
        nodes["n_bins"] = nodes["n_bins"] + 1
    elif forgery == "no order":
        thresholds[0, :2] = thresholds[0, 1::-1].copy()
    elif forgery == "a gap":
        thresholds[1, 0] = np.nan
    else:
        nodes["thresholds"] = np.pad(thresholds, ((0, 0), (0, 1)), constant_values=np.inf)
    model.nodes_ = nodes
    with pytest.raises(ValueError, match="bins:"):
        model._check_state()
    with pytest.raises((ValueError, io.ModelFileError)):
        io.save(model, tmp_path / "forged")


def test_importances_of_enormous_gains_are_shares(model):
    trees = replace(model.trees_, gain=np.where(model.trees_.feature >= 0, 1e308, 0.0))
    shares = trees.importances(3)
    assert np.isfinite(shares).all()
    assert shares.sum() == pytest.approx(1.0)
