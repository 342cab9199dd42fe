"""Forests: scikit-learn's contract, quality beside scikit-learn, weights, threads, limits, odd data, storage."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import ensemble as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification, make_regression
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary.ensemble.forest.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from corollary.ensemble.forest.random_forest import RandomForestClassifier, RandomForestRegressor

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
ALL = CLASSIFIERS + REGRESSORS


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@parametrize_with_checks(
    [
        RandomForestClassifier(n_estimators=5),
        RandomForestClassifier(n_estimators=25, oob_score=True, class_weight="balanced_subsample", max_leaf_nodes=6),
        RandomForestRegressor(n_estimators=5),
        ExtraTreesClassifier(n_estimators=5),
        ExtraTreesRegressor(n_estimators=5, criterion="poisson"),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def data_for(model: Any, n: int = 300, **options: Any) -> tuple[Any, Any]:
    if isinstance(model, type) and model in CLASSIFIERS:
        return make_classification(n, 8, n_informative=5, n_classes=3, random_state=0, **options)
    return make_regression(n, 8, n_informative=5, noise=5.0, random_state=0, **options)


def answer(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
def test_accuracy_is_that_of_scikit_learn(name: str) -> None:
    X, y = make_classification(2400, 20, n_informative=8, n_redundant=2, n_classes=3, class_sep=0.8, random_state=3)
    ours = {cls.__name__: cls for cls in ALL}[name](random_state=0).fit(X[:1200], y[:1200])
    other = getattr(theirs, name)(random_state=0).fit(X[:1200], y[:1200])
    found, expected = ours.score(X[1200:], y[1200:]), other.score(X[1200:], y[1200:])
    assert abs(found - expected) < 0.025
    assert np.corrcoef(ours.predict_proba(X)[:, 0], other.predict_proba(X)[:, 0])[0, 1] > 0.97
    assert np.corrcoef(ours.feature_importances_, other.feature_importances_)[0, 1] > 0.97


@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesRegressor"])
def test_error_is_that_of_scikit_learn(name: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    scores = []
    for cls in ({cls.__name__: cls for cls in ALL}[name], getattr(theirs, name)):
        model = cls(random_state=0).fit(X[::2], y[::2])
        scores.append(model.score(X[1::2], y[1::2]))
    assert abs(scores[0] - scores[1]) < 0.05


@pytest.mark.parametrize("cls", ALL)
def test_threads_do_not_change_a_bit(cls: Any) -> None:
    X, y = data_for(cls)
    one, two = (cls(n_estimators=7, random_state=3, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(answer(one, X), answer(two, X))
    for name, values in one.nodes_.items():
        np.testing.assert_array_equal(values, two.nodes_[name])
    other = cls(n_estimators=7, random_state=4).fit(X, y)
    assert (answer(one, X + 0.3) != answer(other, X + 0.3)).any()


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("cls", ALL)
def test_weights_are_repetitions(cls: Any, bootstrap: bool) -> None:
    X, y = data_for(cls, 80)
    weights = np.random.default_rng(0).integers(0, 4, 80)
    weighted = cls(n_estimators=5, bootstrap=bootstrap, random_state=0).fit(X, y, sample_weight=weights)
    shuffled = np.random.default_rng(1).permutation(np.repeat(np.arange(80), weights))
    repeated = cls(n_estimators=5, bootstrap=bootstrap, random_state=0).fit(X[shuffled], y[shuffled])
    np.testing.assert_allclose(answer(weighted, X), answer(repeated, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", ALL)
def test_rows_of_weight_zero_do_not_matter(cls: Any) -> None:
    X, y = data_for(cls, 90)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 90)
    weights[::3] = 0
    wild = X.copy()
    wild[::3] *= 100
    kept = weights > 0
    for bootstrap in (False, True):
        one = cls(n_estimators=4, bootstrap=bootstrap, random_state=0).fit(wild, y, weights)
        two = cls(n_estimators=4, bootstrap=bootstrap, random_state=0).fit(X[kept], y[kept], weights[kept])
        np.testing.assert_allclose(answer(one, X), answer(two, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", ALL)
def test_limits_on_growth(cls: Any) -> None:
    X, y = data_for(cls)
    assert cls(n_estimators=3, max_depth=3, random_state=0).fit(X, y).trees_.depth() <= 3
    trees = cls(n_estimators=3, min_samples_leaf=10, random_state=0).fit(X, y).trees_
    assert trees.count[trees.is_leaf].min() >= 10
    trees = cls(n_estimators=3, min_samples_split=0.2, random_state=0).fit(X, y).trees_
    assert trees.count[~trees.is_leaf].min() >= 60
    trees = cls(n_estimators=3, min_weight_fraction_leaf=0.1, random_state=0).fit(X, y).trees_
    assert trees.weight[trees.is_leaf].min() >= 30
    trees = cls(n_estimators=3, max_leaf_nodes=9, random_state=0).fit(X, y).trees_
    assert trees.is_leaf.sum() == 27
    least = 0.02 if cls in CLASSIFIERS else 0.02 * np.var(y)
    trees = cls(n_estimators=3, min_impurity_decrease=least, random_state=0).fit(X, y).trees_
    assert trees.gain[~trees.is_leaf].min() >= 300 * least * (1 - 1e-9)
    full, pruned = (cls(n_estimators=3, ccp_alpha=a, random_state=0).fit(X, y).trees_ for a in (0.0, 2 * least))
    assert 3 <= pruned.node_count < full.node_count


@pytest.mark.parametrize("wanted", ["sqrt", "log2", None, 1, 3, 0.5, 1.0])
def test_columns_tried(wanted: Any) -> None:
    X, y = load_iris(return_X_y=True)
    assert RandomForestClassifier(n_estimators=5, max_features=wanted, random_state=0).fit(X, y).score(X, y) > 0.9
    assert RandomForestClassifier(n_estimators=2, max_features=9, random_state=0).fit(X, y).evidence_.holds


@pytest.mark.parametrize("cls", ALL)
def test_missing_values_speak(cls: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    gone = rng.random(400) < 0.4
    X[gone, 0] = np.nan
    y = gone.astype(int) if cls in CLASSIFIERS else gone * 5.0
    model = cls(n_estimators=20, max_features=None, random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.95
    assert model.predict(np.full((1, 3), np.nan)).shape == (1,)  # columns that had no missing values before
    one_sided = cls(n_estimators=3, random_state=0).fit(np.full((6, 1), np.nan), y[:6])
    assert np.ptp(answer(one_sided, [[0.0], [np.nan]]), axis=0).max() == 0


@pytest.mark.parametrize("cls", ALL)
def test_categories_need_no_order(cls: Any) -> None:
    rng = np.random.default_rng(0)
    kinds = rng.choice(list("abcdefgh"), 600)
    good = np.isin(kinds, list("aceg"))
    X = pd.DataFrame({"kind": pd.Categorical(kinds), "noise": rng.normal(size=600)})
    y = good.astype(int) if cls in CLASSIFIERS else good * 3.0 + 0.1 * rng.normal(size=600)
    model = cls(n_estimators=10, min_samples_leaf=5, max_features=None, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    unseen = pd.DataFrame({"kind": pd.Categorical(["zebra", None]), "noise": [0.0, 0.0]})
    seen = answer(model, unseen)
    np.testing.assert_array_equal(seen[0], seen[1])  # a category that was not there is a missing value
    shallow = RandomForestClassifier(n_estimators=1, max_depth=1, max_features=None, bootstrap=False).fit(X, good)
    assert shallow.score(X, good) == 1.0


def test_a_thousand_categories() -> None:
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 1000, 6000)
    effect = rng.normal(size=1000)
    X, y = kinds[:, None].astype(float), effect[kinds] + 0.1 * rng.normal(size=6000)
    model = RandomForestRegressor(n_estimators=3, categorical_features=[0], max_depth=4, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.trees_.bitsets.shape[1] >= 32


@pytest.mark.parametrize("cls", ALL)
def test_sparse_rows_are_rows(cls: Any) -> None:
    X, y = data_for(cls, 120)
    X[np.abs(X) < 0.5] = 0
    dense = cls(n_estimators=4, random_state=0).fit(X, y)
    thin = cls(n_estimators=4, random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(answer(dense, X), answer(thin, sparse.csr_array(X)))


def test_odd_data_get_an_answer_or_a_sentence() -> None:
    X, y = load_iris(return_X_y=True)
    constant = RandomForestClassifier(n_estimators=3, bootstrap=False).fit(np.ones((150, 2)), y)
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2))), 1 / 3)
    assert not constant.feature_importances_.any()
    flat = RandomForestRegressor(n_estimators=3).fit(X, np.full(150, 0.1))
    np.testing.assert_allclose(flat.predict(X), 0.1, rtol=1e-15)
    assert flat.evidence_.holds
    assert RandomForestRegressor(n_estimators=2).fit([[1.0]], [2.0]).predict([[5.0]]) == 2.0
    huge = RandomForestRegressor(n_estimators=2, bootstrap=False, max_features=None).fit(X * 1e300, y * 1e150)
    assert huge.score(X * 1e300, y * 1e150) > 0.9
    with pytest.raises(ValueError, match="infinity"):
        RandomForestClassifier().fit(np.where(X > 7, np.inf, X), y)
    with pytest.raises(ValueError, match="Out of bag estimation only available if bootstrap=True"):
        ExtraTreesClassifier(oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="criterion must be 'squared_error' or 'absolute_error' or 'poisson'"):
        RandomForestRegressor(criterion="gini").fit(X, y)
    with pytest.raises(ValueError, match="y are negative"):
        RandomForestRegressor(criterion="poisson").fit(X, y - 1.0)
    with pytest.raises(ValueError, match="not supported with multiclass"):
        RandomForestClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, y)


def test_more_values_than_bins() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 2))
    y = np.sin(3 * X[:, 0])
    coarse, fine = (
        RandomForestRegressor(n_estimators=3, max_bins=bins, bootstrap=False, max_features=None, random_state=0).fit(
            X, y
        )
        for bins in (15, 1000)
    )
    assert coarse.score(X, y) < 0.995 < fine.score(X, y)
    assert fine.nodes_["cut"].dtype == np.uint16


@pytest.mark.parametrize("weight", ["balanced", "balanced_subsample", {0: 10, 1: 1}])
def test_class_weights_lift_the_rare_class(weight: Any) -> None:
    X, y = make_classification(600, 6, weights=[0.1], flip_y=0.1, random_state=0)
    plain, lifted = (
        RandomForestClassifier(n_estimators=20, class_weight=w, min_samples_leaf=20, random_state=0).fit(X, y)
        for w in (None, weight)
    )
    assert lifted.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.1
    once = RandomForestClassifier(n_estimators=2, class_weight=weight, bootstrap=False, max_depth=1).fit(X, y)
    shares = once.trees_.value[once.trees_.roots]
    expected = np.array([10 * (y == 0).sum(), (y == 1).sum()]) if isinstance(weight, dict) else np.ones(2)
    np.testing.assert_allclose(shares, [expected / expected.sum()] * 2)


def test_the_right_direction() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 2))
    y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=500)
    grid = np.column_stack([np.linspace(-1, 1, 100), np.zeros(100)])
    names = pd.DataFrame(X, columns=["a", "b"])
    for cls in REGRESSORS:
        model = cls(n_estimators=10, monotonic_cst={"a": 1}, random_state=0).fit(names, y)
        assert np.diff(model.predict(pd.DataFrame(grid, columns=["a", "b"]))).min() >= -1e-12
    for cls in CLASSIFIERS:
        model = cls(n_estimators=10, monotonic_cst=[-1, 0], random_state=0).fit(X, y > 0)
        assert np.diff(model.predict_proba(grid)[:, 1]).max() <= 1e-12


def test_several_outputs() -> None:
    X, y = make_regression(300, 6, n_targets=3, noise=1.0, random_state=0)
    for cls in REGRESSORS:
        model = cls(n_estimators=30, random_state=0).fit(X[:200], y[:200])
        other = getattr(theirs, cls.__name__)(n_estimators=30, random_state=0).fit(X[:200], y[:200])
        assert model.predict(X).shape == (300, 3)
        assert model.n_outputs_ == 3
        assert abs(model.score(X[200:], y[200:]) - other.score(X[200:], y[200:])) < 0.08
        assert model.evidence_.holds


def labels(n: int = 300) -> tuple[Any, Any]:
    """Three targets with 2, 3 and 2 classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    noise = 0.4 * rng.normal(size=n)
    return X, np.column_stack([X[:, 0] > 0, np.digitize(X[:, 1] + noise, [-0.5, 0.5]), X[:, 2] * X[:, 3] + noise > 0])


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_several_targets_of_classes_are_those_of_scikit_learn(criterion: str) -> None:
    X, y = labels()
    X = X.round(1)  # fewer values than bins
    options = {"criterion": criterion, "bootstrap": False, "max_features": None, "max_depth": 3, "random_state": 0}
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))  # so that no two splits are equally good
    ours = RandomForestClassifier(1, **options).fit(X, y, sample_weight=weights)
    peer = theirs.RandomForestClassifier(1, **options).fit(X, y, sample_weight=weights)
    for mine, other in zip(ours.predict_proba(X), peer.predict_proba(X), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_, atol=1e-9)
    assert [list(classes) for classes in ours.classes_] == [[0, 1], [0, 1, 2], [0, 1]]
    assert (ours.n_classes_, ours.n_outputs_) == ([2, 3, 2], 3)
    assert ours.evidence_.holds


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_several_targets_of_classes(cls: Any) -> None:
    X, y = labels()
    options = {"bootstrap": True, "oob_score": True, "class_weight": "balanced_subsample", "random_state": 0}
    model = cls(40, **options).fit(X, y)
    assert model.evidence_.holds
    votes = model.oob_decision_function_
    assert votes.shape == (300, 3, 3)
    assert not votes[:, 2, [0, 2]].any()  # targets of two classes
    right = votes.argmax(axis=1) == y
    assert model.oob_score_ == pytest.approx(right.all(axis=1).mean())  # as score has it
    assert right.mean() > 0.75
    assert model.evidence_.facts["OOB error"] == pytest.approx(1 - right.mean())
    assert model.oob_permutation_importance(X, y).importances_mean[:4].min() > 0.01
    names = np.array(["few", "more", "most"])[y.astype(int)]
    named = cls(40, **options).fit(X, names)
    np.testing.assert_array_equal(named.predict(X), np.array(["few", "more", "most"])[model.predict(X).astype(int)])
    with pytest.raises(ValueError, match="3 targets"):
        model.set_params(class_weight=["balanced"]).fit(X, y)


def test_two_equal_targets_are_one() -> None:
    X, y = labels()
    alone = RandomForestClassifier(5, random_state=0).fit(X, y[:, 1])
    both = RandomForestClassifier(5, random_state=0).fit(X, y[:, [1, 1]])
    # draws depend on the order of rows, which depends on targets: the same trees only without them
    for model in (alone, both):
        model.set_params(bootstrap=False, max_features=None)
    one, two = alone.fit(X, y[:, 1]).predict_proba(X), both.fit(X, y[:, [1, 1]]).predict_proba(X)
    np.testing.assert_allclose(two[0], one, atol=1e-12)
    np.testing.assert_array_equal(two[0], two[1])
    np.testing.assert_allclose(alone.trees_.impurity, both.trees_.impurity, atol=1e-12)


def test_which_columns_are_tried() -> None:
    """Columns are drawn without replacement; constant ones count as tried, but one that is not is always tried.

    Two of four columns are constant, one tells the class and one tells little. Of two draws the telling column is one
    with chance 1/2; with chance 1/6 both are constant, and it is the next that varies with chance 1/2.
    """
    X = np.zeros((40, 4))
    X[:, 1], X[:, 3] = np.arange(40), np.arange(40) % 2
    y = X[:, 1] >= 20
    model = RandomForestClassifier(3000, bootstrap=False, max_features=2, max_depth=1, random_state=0).fit(X, y)
    roots = model.trees_.feature[model.trees_.roots]
    assert set(roots) == {1, 3}
    chance = 1 / 2 + 1 / 6 / 2
    assert abs(np.mean(roots == 1) - chance) < 4 * np.sqrt(chance * (1 - chance) / 3000)


def test_trees_on_fine_bins_are_as_large_as_those_of_scikit_learn() -> None:
    """The size of a full-grown tree tells whether draws of rows and columns, ties and stops are the same."""
    X, y = make_classification(600, 16, n_informative=6, flip_y=0.2, random_state=0)
    ours = RandomForestClassifier(150, random_state=0, max_bins=600).fit(X, y)
    peer = theirs.RandomForestClassifier(150, random_state=0).fit(X, y)
    sizes = np.diff([*ours.trees_.roots, ours.trees_.node_count])
    others = np.array([tree.tree_.node_count for tree in peer.estimators_])
    assert abs(sizes.mean() - others.mean()) < 4 * np.sqrt((sizes.var() + others.var()) / 150)


@pytest.mark.parametrize("cls", ALL)
def test_a_warm_start_continues(cls: Any) -> None:
    X, y = data_for(cls)
    whole = cls(n_estimators=8, random_state=5).fit(X, y)
    parts = cls(n_estimators=3, random_state=5, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=8).fit(X, y)
    np.testing.assert_array_equal(answer(whole, X), answer(parts, X))
    with pytest.raises(ValueError, match="larger or equal to the 8 trees"):
        parts.set_params(n_estimators=5).fit(X, y)


@pytest.mark.parametrize("cls", ALL)
def test_stored_trees_are_small_and_complete(cls: Any) -> None:
    X, y = data_for(cls, 2000)
    model = cls(n_estimators=10, random_state=0).fit(X, y)
    other = getattr(theirs, cls.__name__)(n_estimators=10, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answer(copy, X), answer(model, X))
    assert 4 * len(pickle.dumps(model)) < len(pickle.dumps(other))
    trees = model.trees_
    trees.check(8)
    inner = np.flatnonzero(~trees.is_leaf)
    left = trees.left[inner]
    np.testing.assert_allclose(trees.weight[inner], trees.weight[left] + trees.weight[left + 1])
    balance = trees.weight * trees.impurity
    np.testing.assert_allclose(
        trees.gain[inner], balance[inner] - balance[left] - balance[left + 1], atol=1e-6 * np.max(balance)
    )
    means = trees.value * trees.weight[:, None]
    np.testing.assert_allclose(means[inner], means[left] + means[left + 1], atol=1e-6 * np.abs(means).max())


def test_float32_stays_float32() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X.astype(np.float32), y)
    found = model.predict_proba(X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)), found.argmax(axis=1))


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("n", [1, 7, 8, 1100])
def test_quick_walks_arrive_where_slow_ones_do(cls: Any, n: int) -> None:
    X, y = data_for(cls)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = cls(n_estimators=6, random_state=0).fit(X, y)
    new = np.random.default_rng(1).normal(size=(n, 8))
    new[np.random.default_rng(2).random(new.shape) < 0.2] = np.nan
    slow = model.trees_.predict_sum(new) / 6
    np.testing.assert_array_equal(answer(model, new).reshape(slow.shape), slow)
