"""``tree_``: the arrays that scikit-learn has, with its meaning."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.tree as theirs
from sklearn.datasets import load_diabetes, load_iris

from corollary import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor, load

ARRAYS = ("feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples", "value")


def same(ours: Any, peer: Any) -> None:
    for name in (*ARRAYS, "children_left", "children_right"):
        a, b = getattr(ours, name), getattr(peer, name)
        assert (a.shape, a.dtype) == (b.shape, b.dtype), name
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12, err_msg=name)
    for name in ("node_count", "n_leaves", "max_depth", "max_n_classes", "n_outputs", "n_features"):
        assert getattr(ours, name) == getattr(peer, name), name
    np.testing.assert_array_equal(ours.n_classes, peer.n_classes)
    np.testing.assert_array_equal(ours.compute_node_depths(), peer.compute_node_depths())
    for normalize in (True, False):
        pair = (tree.compute_feature_importances(normalize=normalize) for tree in (ours, peer))
        np.testing.assert_allclose(*pair, atol=1e-9)


def iris() -> tuple[Any, Any, Any]:
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))  # so that no two splits are equally good
    return X.astype(np.float32).astype(np.float64), y, weights


@pytest.mark.parametrize("several", [False, True])
def test_a_classifier_has_the_arrays_of_scikit_learn(several: bool) -> None:
    X, y, weights = iris()
    y = np.column_stack([y, y == 1]) if several else y
    ours, peer = (
        cls(max_depth=4, random_state=0).fit(X, y, sample_weight=weights)
        for cls in (DecisionTreeClassifier, theirs.DecisionTreeClassifier)
    )
    same(ours.tree_, peer.tree_)
    np.testing.assert_allclose(ours.tree_.predict(X), peer.tree_.predict(X.astype(np.float32)))
    np.testing.assert_array_equal(ours.apply(X), peer.apply(X))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_a_regressor_has_the_arrays_of_scikit_learn(criterion: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = X.astype(np.float32).astype(np.float64), y + np.random.default_rng(0).uniform(size=len(y))
    ours, peer = (
        cls(max_depth=3, criterion=criterion, random_state=0).fit(X, y)
        for cls in (DecisionTreeRegressor, theirs.DecisionTreeRegressor)
    )
    if criterion != "poisson":  # whose impurity is half a deviance there
        same(ours.tree_, peer.tree_)
    assert ours.tree_.value.shape == peer.tree_.value.shape
    np.testing.assert_allclose(ours.tree_.predict(X), peer.tree_.predict(X.astype(np.float32)), rtol=1e-6)


def test_rows_go_the_same_way_whoever_is_asked() -> None:
    X, y, _ = iris()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    tree = model.tree_
    np.testing.assert_array_equal(tree.apply(X), model.apply(X))
    np.testing.assert_array_equal(tree.apply(scipy.sparse.csr_array(X)), model.apply(X))
    np.testing.assert_array_equal(tree.predict(X), model.predict_proba(X, check_input=False))
    paths = tree.decision_path(X)
    assert (paths != model.decision_path(X)).nnz == 0
    np.testing.assert_array_equal(paths.sum(axis=1).A1, tree.compute_node_depths()[tree.apply(X)])
    assert paths[:, 0].sum() == len(X)


def test_it_is_made_once_and_cannot_be_written() -> None:
    X, y, _ = iris()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert model.tree_ is model.tree_
    before = model.tree_
    for name in (*ARRAYS, "children_left", "children_right", "missing_go_to_left", "n_classes"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(before, name)[0] = 1
    with pytest.raises(AttributeError):
        model.tree_ = before
    assert "tree_" not in vars(model)
    assert model.set_params(max_depth=1).fit(X, y).tree_ is not before
    assert model.tree_.node_count == 3


def test_it_is_copied_with_the_model(tmp_path: Any) -> None:
    X, y, _ = iris()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    copies = [pickle.loads(pickle.dumps(model)).tree_, pickle.loads(pickle.dumps(model.tree_))]
    model.save(tmp_path / "tree.zip")
    copies.append(load(tmp_path / "tree.zip").tree_)
    for each in copies:
        for name in (*ARRAYS, "children_left", "children_right", "missing_go_to_left"):
            np.testing.assert_array_equal(getattr(each, name), getattr(model.tree_, name))


def test_missing_values_have_a_side() -> None:
    X = np.array([[np.nan, 1.0, 2.0, 3.0]]).T
    for y, left in (([1, 1, 0, 0], 1), ([0, 1, 1, 1], 0)):
        model, peer = (c(max_depth=1).fit(X, y) for c in (DecisionTreeRegressor, theirs.DecisionTreeRegressor))
        assert model.tree_.missing_go_to_left[0] == peer.tree_.missing_go_to_left[0] == left
        assert model.tree_.threshold[0] == peer.tree_.threshold[0]


def test_one_class_is_one_leaf() -> None:
    X, _, _ = iris()
    for cls in (DecisionTreeClassifier, DecisionStump):
        model = cls().fit(X, np.full(len(X), "so"))
        assert model.evidence_.holds
        assert model.tree_.value.shape == (1, 1, 1)
        assert (model.predict(X) == "so").all()
        assert (model.predict_proba(X) == 1).all()
    both = DecisionTreeClassifier().fit(X, np.column_stack([np.zeros(len(X)), X[:, 0] > 6]))
    assert both.tree_.value.shape[1:] == (2, 2)
    assert both.n_classes_ == [1, 2]
    assert both.evidence_.holds


def test_what_thresholds_cannot_say_is_not_told() -> None:
    X = pd.DataFrame({"colour": pd.Categorical(["red", "green", "blue"] * 20)})
    model = DecisionTreeRegressor().fit(X, np.tile([0.0, 1.0, 0.0], 20))
    assert not hasattr(model, "tree_")
    with pytest.raises(AttributeError, match="which categories go left"):
        _ = model.tree_
    assert not hasattr(DecisionTreeRegressor(), "tree_")


def test_a_name_that_has_gone() -> None:
    with pytest.warns(FutureWarning, match="friedman_mse"):
        model = DecisionTreeRegressor(criterion="friedman_mse")
    assert model.criterion == "squared_error"


@pytest.mark.parametrize("method", ["apply", "predict", "decision_path"])
def test_rows_that_do_not_fit_the_tree_are_refused(method: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    tree = DecisionTreeRegressor(max_depth=3).fit(X, X[:, 3]).tree_
    ask = getattr(tree, method)
    for other in (X[:, :2], X[:, :0], np.hstack([X, X]), scipy.sparse.csr_array(X[:, :3])):
        with pytest.raises(ValueError, match=r"columns|feature"):
            ask(other)
    for other in (X[0], [["a"] * 4], 3.0, None, X[None], X + 1j):
        with pytest.raises(ValueError, match=r"X|array|Complex|string|float"):
            ask(other)
    expected = ask(X)
    for same in (X.tolist(), np.asfortranarray(X), scipy.sparse.csc_matrix(X), scipy.sparse.coo_array(X)):
        found = ask(same)
        assert np.all((found != expected).sum() == 0)
    narrow = X.astype(np.float32)
    assert (ask(narrow) != ask(narrow.astype(np.float64))).sum() == 0
    assert ask(X[:0]).shape[0] == 0


def test_what_is_shown_cannot_be_changed() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = DecisionTreeRegressor(max_depth=3).fit(X, X[:, 3])
    tree = model.tree_
    names = ["children_left", "children_right", "feature", "threshold", "missing_go_to_left", "impurity", "value"]
    for name in [*names, "n_node_samples", "weighted_n_node_samples", "n_classes"]:
        array = getattr(tree, name)
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(ValueError, match=r"WRITEABLE|writeable"):
            array.flags.writeable = True
        assert array.base is None or not getattr(array.base, "flags", array.flags).writeable
    for name in [*names, "n_features", "max_depth", "node_count", "something"]:
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(tree, name, 0)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del tree.value
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(copy.deepcopy(again).value, tree.value)
