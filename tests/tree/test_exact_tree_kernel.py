"""The kernels of exact trees against brute force: every criterion, weights, missing values, categories, all paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from brute_force import Brute, check_tree
from scipy import sparse

from corollary.core.parallel import threads
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.exact import grow as exact_tree
from corollary.solvers.trees.exact.grow import ExactRules, grow
from corollary.solvers.trees.exact.impurity_balance import impurity_balance

CRITERIA = ["gini", "entropy", "squared_error", "absolute_error", "poisson"]


def table(n: int = 60, *, missing: bool = False, categories: bool = False, seed: int = 0) -> Array:
    """Continuous, tied, constant and (if asked for) categorical columns."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 5, n), np.ones(n), rng.integers(0, 5, n)]).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    if categories:
        X[:, 3] = rng.permutation(5)[rng.integers(0, 5, n)]
        X[rng.random(n) < 0.1, 3] = np.nan
    return X


def target(criterion: str, X: Array, outputs: int, classes: int = 2, seed: int = 1) -> tuple[Array, list[int] | None]:
    rng = np.random.default_rng(seed)
    signal = np.nan_to_num(X).sum(axis=1)[:, None] + rng.normal(size=(len(X), outputs))
    signal[:, 0] += 2 * (np.nan_to_num(X[:, 3], nan=1.0) % 2)
    if criterion in ("gini", "entropy"):
        edges = np.quantile(signal, np.arange(1, classes) / classes)
        return np.searchsorted(edges, signal), [classes] * outputs
    if criterion == "poisson":
        return rng.poisson(np.exp(0.2 * signal)).astype(float), None
    return signal, None


def case(
    criterion: str, *, weighted: bool = False, missing: bool = False, categories: bool = False, outputs: int = 1,
    classes: int = 2, n: int = 60,
) -> tuple[Array, Array, Array, list[int] | None]:  # fmt: skip
    X = table(n, missing=missing, categories=categories)
    y, n_classes = target(criterion, X, outputs, classes)
    w = np.random.default_rng(2).uniform(0.2, 3.0, len(X)) if weighted else np.ones(len(X))
    return X, y, w, n_classes


def same_tree(a: Trees, b: Trees) -> None:
    """The same nodes, perhaps in another order."""
    order_a, order_b = [0], [0]
    for t, u in zip(order_a, order_b, strict=True):
        assert a.feature[t] == b.feature[u]
        for name in ("threshold", "missing_left", "value", "count", "weight", "impurity", "gain"):
            np.testing.assert_array_equal(getattr(a, name)[t], getattr(b, name)[u], err_msg=name)
        if a.category[t] >= 0:
            np.testing.assert_array_equal(a.bitsets[a.category[t]], b.bitsets[b.category[u]])
        if a.feature[t] >= 0:
            order_a += [int(a.left[t]), int(a.left[t]) + 1]
            order_b += [int(b.left[u]), int(b.left[u]) + 1]
    assert len(order_a) == a.node_count
    assert len(order_b) == b.node_count


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("missing", [False, True], ids=["whole", "missing"])
def test_every_node_takes_the_best_cut(criterion: str, weighted: bool, missing: bool) -> None:
    X, y, w, n_classes = case(criterion, weighted=weighted, missing=missing)
    trees = grow(X, y, w, ExactRules(criterion), n_classes)
    trees.check(X.shape[1])
    check_tree(trees, X, y, w, Brute(criterion, n_classes))


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_categories_are_cut_into_the_best_sets(criterion: str, weighted: bool) -> None:
    """For two classes, squared error and Poisson the order by mean response leads to the best of all subsets."""
    X, y, w, n_classes = case(criterion, weighted=weighted, categories=True)
    mask = np.arange(4) == 3
    trees = grow(X, y, w, ExactRules(criterion, categorical=mask), n_classes)
    assert (trees.category >= 0).any()
    np.testing.assert_array_equal(trees.category >= 0, trees.feature == 3)
    check_tree(trees, X, y, w, Brute(criterion, n_classes, categorical=(3,)))


@pytest.mark.parametrize("criterion", ["gini", "absolute_error"])
def test_categories_where_the_best_set_is_not_promised(criterion: str) -> None:
    X, y, w, n_classes = case(criterion, categories=True, classes=4)
    trees = grow(X, y, w, ExactRules(criterion, categorical=np.arange(4) == 3), n_classes)
    assert (trees.category >= 0).any()
    check_tree(trees, X, y, w, Brute(criterion, n_classes, categorical=(3,)), rtol=np.inf)
    assert impurity_balance(trees, trees.apply(X)[:, 0], y, w, criterion, n_classes)[0] <= 1e-9


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_several_outputs_and_classes(criterion: str, weighted: bool) -> None:
    X, y, w, n_classes = case(criterion, weighted=weighted, outputs=3, classes=4, missing=True)
    trees = grow(X, y, w, ExactRules(criterion, max_depth=4), n_classes)
    check_tree(trees, X, y, w, Brute(criterion, n_classes))
    assert trees.value.shape[1] == (12 if n_classes else 3)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_limits_on_leaves(criterion: str) -> None:
    X, y, w, n_classes = case(criterion, weighted=True, missing=True)
    trees = grow(X, y, w, ExactRules(criterion, min_samples_leaf=7, min_weight=9.0), n_classes)
    assert trees.count[trees.is_leaf].min() >= 7
    assert trees.weight[trees.is_leaf].min() >= 9.0
    check_tree(trees, X, y, w, Brute(criterion, n_classes, min_leaf=7, min_weight=9.0))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat small tables as large ones."""
    monkeypatch.setattr(exact_tree, "SMALL", 20)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("random", [False, True], ids=["best", "random"])
def test_large_and_small_nodes_are_split_alike(criterion: str, random: bool, request: Any) -> None:
    X, y, w, n_classes = case(criterion, weighted=True, missing=True, categories=True, n=300)
    rules = ExactRules(criterion, categorical=np.arange(4) == 3, random_thresholds=random, max_features=2, seed=3)
    at_once = grow(X, y, w, rules, n_classes)
    request.getfixturevalue("large")
    answers = []
    for n_threads in (1, 2):
        with threads(n_threads):
            answers.append(grow(X, y, w, rules, n_classes))
    same_tree(answers[0], answers[1])
    same_tree(at_once, answers[0])


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_best_first_without_a_limit_is_depth_first(criterion: str) -> None:
    X, y, w, n_classes = case(criterion, missing=True, categories=True)
    rules = {"categorical": np.arange(4) == 3}
    same_tree(
        grow(X, y, w, ExactRules(criterion, **rules), n_classes),
        grow(X, y, w, ExactRules(criterion, max_leaf_nodes=1000, **rules), n_classes),
    )


def test_best_first_takes_the_largest_gains() -> None:
    X, y, w, _ = case("squared_error")
    whole = grow(X, y, w, ExactRules("squared_error"))
    some = grow(X, y, w, ExactRules("squared_error", max_leaf_nodes=6))
    assert some.is_leaf.sum() == 6
    expected, open_nodes = [], [0]
    for _ in range(5):
        best = max(open_nodes, key=lambda t: whole.gain[t])
        open_nodes.remove(best)
        expected.append(float(whole.gain[best]))
        open_nodes += [int(whole.left[best]), int(whole.left[best]) + 1]
    assert sorted(some.gain[~some.is_leaf].tolist()) == sorted(expected)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_of_weight_zero_are_not_there(criterion: str) -> None:
    X, y, w, n_classes = case(criterion, weighted=True, missing=True)
    w[::3] = 0.0
    kept = w > 0
    same_tree(
        grow(X, y, w, ExactRules(criterion), n_classes),
        grow(X[kept], y[kept], w[kept], ExactRules(criterion), n_classes),
    )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_are_repetitions(criterion: str) -> None:
    X, y, _, n_classes = case(criterion, missing=True)
    times = np.random.default_rng(5).integers(1, 4, len(X))
    weighted = grow(X, y, times.astype(float), ExactRules(criterion), n_classes)
    rows = np.repeat(np.arange(len(X)), times)
    repeated = grow(X[rows], y[rows], np.ones(len(rows)), ExactRules(criterion), n_classes)
    np.testing.assert_allclose(weighted.predict_sum(X), repeated.predict_sum(X), rtol=1e-9)
    assert weighted.node_count == repeated.node_count


def test_sparse_columns_are_the_dense_ones() -> None:
    X, y, w, n_classes = case("gini", n=200)
    X[np.abs(X) < 0.6] = 0.0
    for layout in (sparse.csr_array, sparse.csc_array):
        same_tree(grow(layout(X), y, w, ExactRules("gini"), n_classes), grow(X, y, w, ExactRules("gini"), n_classes))


def test_bins_of_their_own_change_no_split() -> None:
    """With a bin for each value the binned tree is the exact one on the training rows."""
    X, y, w, n_classes = case("gini", missing=True, categories=True, n=150)
    mask = np.arange(4) == 3
    exact = grow(X, y, w, ExactRules("gini", categorical=mask), n_classes)
    binned = grow(X, y, w, ExactRules("gini", categorical=mask, max_bins=255), n_classes)
    assert exact.node_count == binned.node_count
    np.testing.assert_array_equal(exact.predict_sum(X), binned.predict_sum(X))


def test_few_bins_give_thresholds_of_the_data() -> None:
    X, y, w, n_classes = case("gini", n=400)
    trees = grow(X, y, w, ExactRules("gini", max_bins=8), n_classes)
    assert len(np.unique(trees.threshold[trees.feature == 0])) <= 7
    assert impurity_balance(trees, trees.apply(X)[:, 0], y, w, "gini", n_classes)[0] <= 1e-9


def test_thresholds_separate_neighbouring_floats() -> None:
    low = np.array([1.0, 5e-324, -1e308, 1e308, 0.1])
    for x in low:
        X = np.array([[x], [np.nextafter(x, np.inf)]])
        trees = grow(X, np.array([[0], [1]]), np.ones(2), ExactRules("gini"), [2])
        assert X[0, 0] <= trees.threshold[0] < X[1, 0]
    trees = grow(np.array([[-1.7e308], [1.7e308]]), np.array([[0], [1]]), np.ones(2), ExactRules("gini"), [2])
    assert trees.threshold[0] == 0.0


def test_random_thresholds_lie_between_values() -> None:
    X, y, w, n_classes = case("gini", n=200, missing=True)
    first = grow(X, y, w, ExactRules("gini", random_thresholds=True, seed=1), n_classes)
    again = grow(X, y, w, ExactRules("gini", random_thresholds=True, seed=1), n_classes)
    other = grow(X, y, w, ExactRules("gini", random_thresholds=True, seed=2), n_classes)
    same_tree(first, again)
    assert first.node_count != other.node_count or not np.array_equal(first.threshold, other.threshold)
    assert (first.apply(X)[:, 0] >= 0).all()
    np.testing.assert_array_equal(np.bincount(first.apply(X)[:, 0], minlength=first.node_count)[first.is_leaf],
                                  first.count[first.is_leaf])  # fmt: skip


def test_some_features_only() -> None:
    X, y, w, n_classes = case("gini", n=200)
    seen = [
        grow(X, y, w, ExactRules("gini", max_depth=1, max_features=1, seed=s), n_classes).feature[0] for s in range(30)
    ]
    assert set(seen) == {0, 1, 3}  # the constant column is passed over


def test_equal_cuts_go_to_the_first_feature_and_threshold() -> None:
    x = np.arange(6.0)
    X = np.column_stack([x, x, -x])
    trees = grow(X, np.array([[0.0], [1], [0], [0], [1], [0]]), np.ones(6), ExactRules("squared_error"))
    assert trees.feature[0] == 0
    assert trees.threshold[0] == 0.5


def test_more_categories_than_can_be_told_apart() -> None:
    X = np.array([[0.0], [70_000.0]])
    with pytest.raises(ValueError, match="70001 categories; at most 65535"):
        grow(X, np.array([[0], [1]]), np.ones(2), ExactRules("gini", categorical=np.array([True])), [2])
    with pytest.raises(ValueError, match="whole numbers"):
        grow(X + 0.5, np.array([[0], [1]]), np.ones(2), ExactRules("gini", categorical=np.array([True])), [2])


def test_many_categories() -> None:
    """Sets of many words, and categories that are missing from a node."""
    rng = np.random.default_rng(0)
    n = 3000
    codes = rng.integers(0, 1000, n)
    effect = rng.normal(size=1000)
    y = (effect[codes] + 0.1 * rng.normal(size=n))[:, None]
    trees = grow(codes[:, None].astype(float), y, np.ones(n), ExactRules("squared_error", categorical=np.array([True])))
    assert trees.bitsets.shape[1] == 32
    predicted = trees.predict_sum(codes[:, None].astype(float))
    means = np.bincount(codes, y[:, 0], 1000) / np.maximum(np.bincount(codes, minlength=1000), 1)
    np.testing.assert_allclose(predicted[:, 0], means[codes], rtol=1e-9)
    unseen = np.array([[5000.0], [np.nan]])
    np.testing.assert_array_equal(trees.apply(unseen)[0], trees.apply(unseen)[1])
