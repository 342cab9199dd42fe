"""The referee of trees: a search of nodes by brute force finds what bookkeeping cannot, and says how much it saw."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from tests.tree.brute_force import Brute

from corollary.core.evidence import Kind
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.ensemble.combine.bagging.bagging import BaggingClassifier, BaggingRegressor
from corollary.ensemble.forest.random_forest import RandomForestRegressor
from corollary.referee.gains import gains
from corollary.solvers.trees.check.gains import Targets
from corollary.solvers.trees.check.search import CELLS, Growth, Search
from corollary.solvers.trees.exact import grow as growing
from corollary.solvers.trees.exact.impurity_balance import impurity_balance
from corollary.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from corollary.tree.stump import DecisionStump

CRITERIA = ["gini", "entropy", "squared_error", "absolute_error", "poisson"]


def grown_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on trees are grown with thresholds drawn at random: whole trees, but none that the rules ask for."""
    real = growing.grow

    def careless(X: Any, y: Array, w: Array, rules: Any, *more: Any) -> Trees:
        return real(X, y, w, replace(rules, random_thresholds=True, seed=3), *more)

    monkeypatch.setattr(growing, "grow", careless)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_tree_of_worse_splits_is_caught_though_its_books_balance(
    monkeypatch: pytest.MonkeyPatch, criterion: str
) -> None:
    X, y = load_diabetes(return_X_y=True)
    classes = criterion in ("gini", "entropy")
    y = (y > 150).astype(int) if classes else y
    model = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(criterion=criterion, max_depth=4)
    assert model.fit(X, y).evidence_.holds
    grown_by_chance(monkeypatch)
    with pytest.warns(UserWarning, match="excess gain of other splits"):
        model.fit(X, y)
    certificate = model.evidence_.certificate
    assert certificate.value > 0.01
    leaves, counts = model.trees_.apply(X)[:, 0], [2] if classes else None
    gap, *_ = impurity_balance(model.trees_, leaves, y[:, None], np.ones(len(y)), criterion, counts)
    assert gap < 1e-12  # the claim of old holds


def edited(monkeypatch: pytest.MonkeyPatch, **arrays: Any) -> None:
    """Trees whose arrays were changed after they were grown; a function gets the tree."""
    real = growing.grow

    def change(*args: Any) -> Trees:
        tree = real(*args)
        return replace(tree, **{name: make(tree) for name, make in arrays.items()})

    monkeypatch.setattr(growing, "grow", change)


def test_wrong_values_counts_and_thresholds_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_diabetes(return_X_y=True)
    forged: list[dict[str, Any]] = [
        {
            "value": lambda tree: (
                tree.value + np.where(np.arange(tree.node_count) == tree.node_count - 1, 1.0, 0)[:, None]
            )
        },
        {"count": lambda tree: tree.count + (np.arange(tree.node_count) == 0).astype(np.int32)},
        {"weight": lambda tree: tree.weight * 1.001},
        {"threshold": lambda tree: np.where(np.arange(tree.node_count) == 0, np.nextafter(X.max(), 9), tree.threshold)},
    ]
    for change in forged:
        with monkeypatch.context() as patch:
            edited(patch, **change)
            with pytest.warns(UserWarning, match="excess gain"):
                assert not DecisionTreeRegressor(max_depth=3).fit(X, y).evidence_.holds


def test_a_leaf_that_could_have_been_split_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_diabetes(return_X_y=True)
    real = growing.grow
    monkeypatch.setattr(
        growing, "grow", lambda X, y, w, rules, *more: real(X, y, w, replace(rules, max_depth=2), *more)
    )
    with pytest.warns(UserWarning, match="excess gain"):
        model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    assert model.evidence_.certificate.value > 1e-3


def test_what_is_claimed() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    stump = DecisionStump().fit(X, y).evidence_
    assert stump.certificate.kind is Kind.EXACT
    assert str(stump).startswith("Exact: excess gain of other splits, every node re-searched")
    wide = DecisionTreeClassifier().fit(np.tile(X, 3), y).evidence_
    assert wide.certificate.kind is Kind.CHECKED
    assert "with 95 % confidence fewer than" in str(wide)
    drawn = DecisionTreeClassifier(splitter="random", random_state=0).fit(X, y).evidence_
    assert drawn.certificate.kind is Kind.CHECKED
    assert "Cuts were drawn at random, so no other was searched for." in str(drawn)
    best_first = DecisionTreeClassifier(max_leaf_nodes=4).fit(X, y).evidence_
    assert best_first.certificate.kind is Kind.CHECKED  # the order of splits was not looked at


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("limits", [(1, 0.0), (4, 0.0), (1, 9.0)])
def test_the_search_is_the_definition(criterion: str, limits: tuple[int, float]) -> None:
    rng = np.random.default_rng(0)
    n, classes = 40, criterion in ("gini", "entropy")
    X = np.round(rng.normal(size=(n, 3)), 1)
    X[rng.random(X.shape) < 0.15] = np.nan
    y = rng.integers(0, 3, size=(n, 2)) if classes else np.abs(rng.normal(size=(n, 2)))
    w = rng.uniform(0.5, 2, n)
    counts = [3, 3] if classes else None
    node = Targets(criterion, y, w, tuple(counts or ())).node(np.arange(n))
    brute = Brute(criterion, counts, *limits)
    np.testing.assert_allclose(node.best_gain(X, *limits), brute.best(X, y, w), rtol=1e-9)
    np.testing.assert_allclose(node.impurity(), brute.impurity(y, w), rtol=1e-12)
    np.testing.assert_allclose(node.of.impurity(), brute.impurity(y, w), rtol=1e-12)
    left = X[:, 0] <= 0
    np.testing.assert_allclose(node.gain(left), brute.gain(y, w, left), rtol=1e-9, atol=1e-12)


def test_the_cost_is_bounded() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 6)), rng.normal(size=(20_000, 1))
    rules = growing.ExactRules("squared_error")
    tree = growing.grow(X, y, np.ones(len(y)), rules)
    targets = Targets("squared_error", y, np.ones(len(y)))
    growth = Growth(
        targets, lambda at, f: X[np.ix_(at, f)], lambda t, at: (np.arange(6), True), np.zeros(6, dtype=bool)
    )
    found = Search(growth, tree, tree.apply(X)[:, 0]).run(float(((y - y.mean()) ** 2).sum()))
    assert found.excess < 1e-12
    assert found.cells <= 2 * CELLS
    assert found.drawn >= 8
    assert found.partly >= 1  # the root, over one column


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_numbers_are_told_apart(dtype: Any) -> None:
    """A threshold halfway between two numbers that differ in the last bit must not round onto the upper one."""
    step = np.finfo(dtype).eps
    x = (1 + step * np.arange(40)).astype(dtype)[:, None]
    y = np.random.default_rng(0).permutation(40).astype(float)
    model = DecisionTreeRegressor().fit(x, y)
    assert model.evidence_.holds
    np.testing.assert_array_equal(model.predict(x), y.astype(dtype))


def test_weights_so_unlike_that_sums_lose_the_light_rows_are_not_called_searched() -> None:
    rng = np.random.default_rng(0)
    for criterion in ("gini", "entropy"):
        for _ in range(20):
            X, y = rng.normal(size=(40, 3)), rng.integers(2, size=40)
            w = 10.0 ** rng.uniform(-12, 12, 40)
            model = DecisionStump(criterion=criterion)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y, sample_weight=w)
            assert not model.evidence_.holds or model.evidence_.verify(X, y, w).stands is True


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_predictions_for_float32_rows_are_not_rounded_to_nothing(scale: float) -> None:
    X = np.arange(20, dtype=np.float32)[:, None]
    y = scale * np.arange(1.0, 21.0)
    few = {"n_estimators": 3, "random_state": 0}
    for model in (DecisionTreeRegressor(), RandomForestRegressor(**few), BaggingRegressor(**few)):
        said = model.fit(X, y).predict(X)
        assert np.isfinite(said).all()
        assert (said > 0).all()
        assert model.fit(X, y / scale).predict(X).dtype == np.float32


def test_members_keep_to_the_books_and_a_tree_of_its_own_is_searched() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=3, random_state=0).fit(X, y)
    assert {member.evidence_.certificate.name for member in bag.estimators_} == {"imbalance of the impurities"}
    assert bag.evidence_.holds
    own = DecisionTreeClassifier(max_depth=3).fit(X[:, :5], y).evidence_
    assert own.certificate.name == "excess gain of other splits, every node re-searched"


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_gains_are_what_impurities_lose(criterion: str) -> None:
    """Both searches have one formula for gains: here it is W·I − W_L·I_L − W_R·I_R, in fractions, by definition."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 12))
        y, w = rng.integers(0, 3, n), rng.integers(1, 5, n)
        left = np.arange(n) < rng.integers(1, n)

        def weighted(rows: Any, y: Any = y, w: Any = w) -> Fraction:
            total, ys, ws = Fraction(int(w[rows].sum())), y[rows].tolist(), w[rows].tolist()
            if criterion == "gini":
                shares = [sum(v for u, v in zip(ys, ws, strict=True) if u == k) / total for k in range(3)]
                return total * (1 - sum(share * share for share in shares))
            mean = sum(u * v for u, v in zip(ys, ws, strict=True)) / total
            return sum((v * (u - mean) ** 2 for u, v in zip(ys, ws, strict=True)), start=Fraction(0))

        exact = float(weighted(np.ones(n, dtype=bool)) - weighted(left) - weighted(~left))
        classes = (3,) if criterion == "gini" else ()
        own = Targets(criterion, y[:, None].astype(float), w.astype(float), classes).node(np.arange(n)).gain(left)
        sums = w[:, None] * (np.eye(3)[y] if classes else y[:, None] - (w @ y) / w.sum()).astype(np.longdouble)
        sides = [(sums[side].sum(axis=0)[None], w[side].sum()[None].astype(np.longdouble)) for side in (left, ~left)]
        other = gains(*sides[0], *sides[1], "gini" if classes else "squared")[0]
        np.testing.assert_allclose([own, float(other)], exact, rtol=1e-12, atol=1e-13)
