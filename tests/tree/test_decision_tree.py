"""Decision trees as estimators: against scikit-learn, constraints, missing values, categories, bad input."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.tree
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary.core import memory
from corollary.core.evidence import Kind, Status
from corollary.core.types import Array
from corollary.io import load
from corollary.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from corollary.tree.stump import DecisionStump

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"

# Not criterion="poisson": scikit-learn's check of several targets sends negative ones, whatever the tags say. And not
# min_samples_leaf > 1: it counts rows, so there a weight is not a repetition.
INSTANCES = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=20),
    DecisionTreeClassifier(max_bins=64, ccp_alpha=0.001),
    DecisionTreeClassifier(splitter="random", max_features="sqrt", random_state=0),
    DecisionTreeRegressor(),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=8),
    DecisionStump(),
]


@parametrize_with_checks(INSTANCES)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def blobs(n: int = 500, classes: int = 3, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32).astype(float)  # scikit-learn's trees read float32
    signal = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(signal, np.arange(1, classes) / classes), signal)


def curve(n: int = 500, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32).astype(float)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_tree_of_scikit_learn_for_classes(criterion: str, classes: int, weighted: bool) -> None:
    X, y = blobs(classes=classes)
    w = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    # equal counts make equal gains, of which scikit-learn takes one at random: without weights stay with large leaves
    options: dict[str, Any] = {"criterion": criterion, "min_samples_leaf": 10 if weighted else 40}
    ours = DecisionTreeClassifier(**options).fit(X, y, sample_weight=w)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **options).fit(X, y, sample_weight=w)
    new, _ = blobs(seed=1)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-12)
    if not weighted:  # with weights rounding makes scikit-learn split pure nodes
        assert (ours.get_depth(), ours.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_tree_of_scikit_learn_for_numbers(criterion: str, weighted: bool) -> None:
    X, y = curve(300)
    y = np.abs(y)
    w = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    options: dict[str, Any] = {"criterion": criterion, "min_samples_leaf": 12}
    ours = DecisionTreeRegressor(**options).fit(X, y, sample_weight=w)
    theirs = sklearn.tree.DecisionTreeRegressor(random_state=0, **options).fit(X, y, sample_weight=w)
    new, _ = curve(300, seed=1)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-9)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-7)


def test_the_tree_of_scikit_learn_with_missing_values() -> None:
    X, y = blobs(800, classes=2)
    X[np.random.default_rng(2).random(X.shape) < 0.15] = np.nan
    w = np.random.default_rng(3).uniform(0.5, 2, len(y))  # so that no two gains are equal
    ours = DecisionTreeClassifier(min_samples_leaf=25).fit(X, y, sample_weight=w)
    theirs = sklearn.tree.DecisionTreeClassifier(min_samples_leaf=25, random_state=0).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


def test_several_targets_as_scikit_learn() -> None:
    X, y = curve(400)
    Y = np.column_stack([y, X[:, 2] - y, X[:, 3] * y])
    ours = DecisionTreeRegressor(min_samples_leaf=10).fit(X, Y)
    theirs = sklearn.tree.DecisionTreeRegressor(min_samples_leaf=10, random_state=0).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    labels = np.column_stack([np.where(y > 1, "high", "low"), np.where(X[:, 2] > 0, "plus", "minus")])
    w = np.random.default_rng(3).uniform(0.5, 2, len(y))  # so that no two gains are equal
    ours_c = DecisionTreeClassifier(min_samples_leaf=10).fit(X, labels, sample_weight=w)
    theirs_c = sklearn.tree.DecisionTreeClassifier(min_samples_leaf=10, random_state=0).fit(X, labels, sample_weight=w)
    np.testing.assert_array_equal(ours_c.predict(X), theirs_c.predict(X))
    for a, b in zip(ours_c.predict_proba(X), theirs_c.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert [c.tolist() for c in ours_c.classes_] == [["high", "low"], ["minus", "plus"]]
    assert ours_c.n_classes_ == [2, 2]


@pytest.mark.parametrize("limits", [{"max_leaf_nodes": 9}, {"max_depth": 3}, {"min_impurity_decrease": 0.01},
                                    {"min_weight_fraction_leaf": 0.05}, {"min_samples_split": 0.2}])  # fmt: skip
def test_limits_as_scikit_learn(limits: dict[str, Any]) -> None:
    X, y = curve()
    ours = DecisionTreeRegressor(**limits).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(random_state=0, **limits).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_class_weights() -> None:
    X, y = blobs()
    weights = {0: 1.0, 1: 3.0, 2: 0.5}
    by_class = DecisionTreeClassifier(max_depth=4, class_weight=weights).fit(X, y)
    by_row = DecisionTreeClassifier(max_depth=4).fit(X, y, sample_weight=np.array([1.0, 3.0, 0.5])[y])
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X))
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0).fit(X, y)
    ours = DecisionTreeClassifier(max_depth=4, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    with pytest.raises(
        ValueError, match=r"number of elements in class_weight should match number of outputs. It has 2, but y has 1"
    ):
        DecisionTreeClassifier(class_weight=[{0: 1.0}, {0: 1.0}]).fit(X, y)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("growth", [{}, {"max_leaf_nodes": 30}, {"splitter": "random", "random_state": 0}])
def test_monotone_regression_is_monotone(criterion: str, growth: dict[str, Any]) -> None:
    X, y = curve(600)
    model = DecisionTreeRegressor(criterion=criterion, monotonic_cst=[1, -1, 0, 0, 1], **growth).fit(X, y)
    assert model.get_n_leaves() > 5
    assert model.evidence_.holds
    assert_monotone(model.predict, X, {0: 1, 1: -1, 4: 1})


def test_monotone_probabilities_are_monotone() -> None:
    X, y = blobs(800, classes=2)
    for criterion in ("gini", "entropy"):
        for weights in (None, np.random.default_rng(0).uniform(0.5, 2, len(y))):
            model = DecisionTreeClassifier(criterion=criterion, monotonic_cst=[0, 1, -1, 0, 0])
            model.fit(X, y, sample_weight=weights)
            assert model.get_n_leaves() > 5
            assert_monotone(lambda Z, model=model: model.predict_proba(Z)[:, 1], X, {1: 1, 2: -1})


def assert_monotone(predict: Any, X: Array, directions: dict[int, int]) -> None:
    """Move each row along each constrained column over its whole range."""
    grid = np.linspace(-4, 4, 81)
    for column, direction in directions.items():
        moved = np.repeat(X[:60], len(grid), axis=0)
        moved[:, column] = np.tile(grid, 60)
        steps = np.diff(predict(moved).reshape(60, len(grid)), axis=1)
        assert (direction * steps >= 0).all()


def test_monotone_constraints_as_scikit_learn() -> None:
    X, y = curve()
    options: dict[str, Any] = {"monotonic_cst": [1, -1, 0, 0, 0], "min_samples_leaf": 10}
    ours = DecisionTreeRegressor(**options).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(random_state=0, **options).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_monotone_constraints_that_make_no_sense() -> None:
    X, y = blobs()
    with pytest.raises(ValueError, match=r"Monotonicity constraints are not supported with"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst"):
        DecisionTreeRegressor(monotonic_cst=[1, 0]).fit(X, y)
    with pytest.raises(ValueError, match=r"constrains categorical columns \[1\]"):
        DecisionTreeRegressor(monotonic_cst=[0, 1, 0, 0, 0], categorical_features=[1]).fit(np.round(np.abs(X)), y)


def test_categories_of_frames() -> None:
    rng = np.random.default_rng(0)
    town = rng.choice(["Aix", "Bern", "Cork", "Delft", "Essen"], 400)
    size = rng.normal(size=400)
    y = np.isin(town, ["Aix", "Cork", "Essen"]).astype(float) * 3 + size
    pandas = pd.DataFrame({"town": pd.Categorical(town), "size": size})
    polars = pl.DataFrame({"town": pl.Series(town.astype(str), dtype=pl.Categorical), "size": size})
    models = [DecisionTreeRegressor(max_depth=1).fit(frame, y) for frame in (pandas, polars)]
    named = DecisionTreeRegressor(max_depth=1, categorical_features=["town"]).fit(pandas, y)
    for model, frame in zip([*models, named], [pandas, polars, pandas], strict=True):
        assert model.trees_.category[0] >= 0
        high = model.predict(frame) > y.mean()
        np.testing.assert_array_equal(high, np.isin(town, ["Aix", "Cork", "Essen"]))
    unseen = pd.DataFrame({"town": pd.Categorical(["Ghent", None]), "size": [0.0, 0.0]})
    predicted = models[0].predict(unseen)
    assert predicted[0] == predicted[1]


def test_a_category_not_seen_at_a_node_goes_with_the_missing() -> None:
    X = np.array([[0.0], [0], [1], [1], [1], [2]])
    model = DecisionTreeClassifier(categorical_features=[0], max_depth=1).fit(X[:5], [0, 0, 1, 1, 1])
    assert model.predict(np.array([[7.0], [np.nan]])).tolist() == [1, 1]  # the heavier side


def test_bad_columns_are_passed_over() -> None:
    X, y = blobs(100, classes=2)
    X[:, 0], X[:, 1] = np.nan, 3.0
    model = DecisionTreeClassifier().fit(X, y)
    assert not np.isin(model.trees_.feature, [0, 1]).any()
    assert (model.predict(X) == y).all()
    nothing = DecisionTreeClassifier().fit(X[:, :2], y)
    assert nothing.get_n_leaves() == 1
    np.testing.assert_allclose(nothing.predict_proba(X[:3, :2]), np.full((3, 2), 0.5))
    assert nothing.feature_importances_.tolist() == [0.0, 0.0]


def test_rows_fewer_than_the_leaf_size() -> None:
    X, y = curve(30)
    model = DecisionTreeRegressor(min_samples_leaf=50).fit(X, y)
    assert model.get_n_leaves() == 1
    np.testing.assert_allclose(model.predict(X), y.mean())
    assert model.evidence_.holds


def test_targets_of_a_poisson_tree() -> None:
    X, y = curve(30)
    poisson = DecisionTreeRegressor(criterion="poisson")
    first = np.zeros(30)
    first[0] = 1.0
    for bad, weights in ((0 * y, None), (np.column_stack([np.abs(y) + 1, 0 * y]), None), (first, first == 0)):
        with pytest.raises(ValueError, match="Sum of y is not strictly positive"):
            poisson.fit(X, bad, sample_weight=weights)
    with pytest.raises(ValueError, match=r"NaN|missing"):
        poisson.fit(X, np.where(first > 0, np.nan, 1.0))
    assert poisson.fit(X, first, sample_weight=1.0 + first).evidence_.holds


def test_bad_input() -> None:
    X, y = curve(30)
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeRegressor().fit(np.where(X > 1, np.inf, X), y)
    with pytest.raises(ValueError, match="y are negative"):
        DecisionTreeRegressor(criterion="poisson").fit(X, y - 5)
    with pytest.raises(ValueError, match="y is not strictly positive"):
        DecisionTreeRegressor(criterion="poisson").fit(X, 0 * y)
    with pytest.raises(ValueError, match="Rescale it by a power of two"):
        DecisionTreeRegressor().fit(X, 1e200 * y)
    with pytest.raises(ValueError, match="max_bins must be ≤ 65535, but it is 70000"):
        DecisionTreeRegressor(max_bins=70_000).fit(X, y)
    with pytest.raises(ValueError, match="min_samples_leaf must be a whole number ≥ 1 or a fraction"):
        DecisionTreeRegressor(min_samples_leaf=1.5).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        DecisionTreeRegressor().fit(X, y, sample_weight=np.zeros(30))
    with pytest.raises(NotFittedError):
        DecisionTreeRegressor().get_depth()
    model = DecisionTreeRegressor().fit(X, y)
    assert np.isfinite(model.predict(np.full((2, 5), np.nan))).all()


def test_scale_of_the_target_does_not_matter() -> None:
    X, y = curve()
    y = np.round(y, 3)  # no digits to lose far from zero
    plain = DecisionTreeRegressor(min_samples_leaf=5).fit(X, y)
    for scale, shift in ((2.0**300, 0.0), (2.0**-300, 0.0), (1.0, 2.0**33)):
        moved = DecisionTreeRegressor(min_samples_leaf=5).fit(X, y * scale + shift)
        np.testing.assert_array_equal(moved.trees_.feature, plain.trees_.feature)
        np.testing.assert_allclose((moved.predict(X) - shift) / scale, plain.predict(X), atol=1e-5)
        assert moved.evidence_.holds


def test_paths_and_leaves() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4).fit(X, y)
    path, leaves = model.decision_path(X), model.apply(X)
    assert path.shape == (150, model.trees_.node_count)
    assert (path[:, [0]].toarray() == 1).all()
    assert path.has_sorted_indices
    np.testing.assert_array_equal(path.indices[path.indptr[1:] - 1], leaves)
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0)).ravel(), model.tree_.n_node_samples)
    np.testing.assert_array_equal(model.tree_.value[leaves, 0], model.predict_proba(X))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "greedy splits, every threshold tried"),
        ({"max_features": 1.0}, "greedy splits, every threshold tried"),
        ({"max_bins": 16}, "greedy splits on at most 16 bins a column, every threshold tried"),
        ({"splitter": "random"}, "greedy splits, one random cut a column tried"),
        ({"max_features": 3}, "greedy splits, every threshold tried, 3 of 10 columns drawn at each node"),
        (
            {"max_bins": 16, "splitter": "random", "max_features": "sqrt"},
            "greedy splits on at most 16 bins a column, one random cut a column tried, "
            "3 of 10 columns drawn at each node",
        ),
    ],
)
def test_evidence_says_what_was_tried(options: dict[str, Any], told: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    evidence = DecisionTreeRegressor(max_depth=3, random_state=0, **options).fit(X, y).evidence_
    assert evidence.solver == told
    assert evidence.holds


def test_evidence() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    evidence = DecisionTreeClassifier().fit(X, y).evidence_
    assert evidence.status is Status.EXACT
    assert evidence.certificate.kind is Kind.CHECKED
    assert str(evidence).startswith("Checked: excess gain of other splits, re-searched nodes")
    assert evidence.solver == "greedy splits, every threshold tried"
    assert evidence.facts["nodes searched again"] >= 5
    assert evidence.certificate.value <= 1e-12
    assert evidence.facts["training error"] == 0.0
    X, y = load_diabetes(return_X_y=True)
    for criterion in ("squared_error", "absolute_error", "poisson"):
        model = DecisionTreeRegressor(criterion=criterion, max_depth=5, ccp_alpha=0.1).fit(X, y)
        assert model.evidence_.holds
        assert model.evidence_.facts["depth"] == model.get_depth()
        assert model.evidence_.facts["leaves"] == model.get_n_leaves()
    mean_squared = DecisionTreeRegressor(max_depth=3).fit(X, y)
    np.testing.assert_allclose(
        mean_squared.evidence_.facts["training error"], ((mean_squared.predict(X) - y) ** 2).mean()
    )


def test_a_broken_tree_is_not_proved() -> None:
    from dataclasses import replace

    from corollary.solvers.trees.exact.impurity_balance import impurity_balance

    X, y = curve()
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    threshold = model.trees_.threshold.copy()
    threshold[0] += 0.3
    broken = replace(model.trees_, threshold=threshold)
    leaves = broken.apply(X)[:, 0]
    assert impurity_balance(broken, leaves, y[:, None], np.ones(len(y)), "squared_error", None)[0] > 1e-3


def test_the_stump_is_a_tree_of_depth_one() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    w = np.random.default_rng(0).uniform(size=len(y))
    stump = DecisionStump().fit(X, y, sample_weight=w)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(stump.predict_proba(X), tree.predict_proba(X))
    assert stump.get_n_leaves() == 2


def test_float32_sparse_and_dense_give_the_same_tree() -> None:
    X, y = blobs(300)
    X[np.abs(X) < 0.7] = 0.0
    plain = DecisionTreeClassifier().fit(X, y)
    for held in (X.astype(np.float32), np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
        model = DecisionTreeClassifier().fit(held, y)
        np.testing.assert_array_equal(model.trees_.feature, plain.trees_.feature)
        np.testing.assert_array_equal(model.predict(held), plain.predict(X))


def test_the_same_seed_gives_the_same_tree() -> None:
    X, y = blobs()
    options: dict[str, Any] = {"max_features": 2, "splitter": "random"}
    first, again, other = (DecisionTreeClassifier(random_state=s, **options).fit(X, y) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.trees_.threshold, again.trees_.threshold)
    assert not np.array_equal(first.trees_.threshold, other.trees_.threshold)
    plain = [DecisionTreeClassifier(random_state=s).fit(X, y) for s in (0, 1, None)]
    np.testing.assert_array_equal(plain[0].trees_.threshold, plain[1].trees_.threshold)
    np.testing.assert_array_equal(plain[0].trees_.threshold, plain[2].trees_.threshold)


@pytest.mark.skipif(not DATA.exists(), reason="the shared data folder is not here")
def test_real_categories_and_missing_values() -> None:
    frame = pd.read_csv(DATA / "classification" / "adult_train.csv.gz").head(6000)
    y = frame.pop(frame.columns[-1]).astype(str)
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype("category")
    model = DecisionTreeClassifier(max_leaf_nodes=30).fit(frame, y)
    assert model.evidence_.holds
    assert model.score(frame, y) > 0.83
    assert (model.trees_.category >= 0).any()


def test_columns_that_do_not_fit_in_memory_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    monkeypatch.setattr(memory, "_free_memory", lambda: 4 * X.size - 1)
    with pytest.raises(MemoryError, match=r"Sorting the 4 columns .* on 150 rows .* one byte a cell"):
        DecisionTreeClassifier().fit(X, y)
    monkeypatch.setattr(memory, "_free_memory", lambda: 4 * X.size)
    assert DecisionTreeClassifier().fit(X, y).evidence_.holds
    with pytest.raises(MemoryError):
        DecisionTreeClassifier(splitter="random").fit(X, y)


def test_advice_about_text_is_in_the_words_of_the_frame() -> None:
    table = {"town": ["a", "b", "a", "b"]}
    for frame, advice in ((pd.DataFrame(table), r"astype\('category'\)"), (pl.DataFrame(table), r"cast\(pl.Categ")):
        with pytest.raises(ValueError, match=f"Column 'town' holds text.*{advice}"):
            DecisionTreeRegressor().fit(frame, [0.0, 1.0, 0.0, 1.0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_that_are_no_numbers_are_named_beside_categories_too(frame: Any) -> None:
    days = [datetime(2024, 1, day) for day in (1, 2, 3, 4)]
    given = frame({"kind": ["a", "b", "a", "b"], "town": ["c", "d", "c", "d"], "day": days})
    tree, y = DecisionTreeRegressor(categorical_features=["kind"]), [0.0, 1.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="Column 'town' holds text"):
        tree.fit(given, y)
    tree.set_params(categorical_features=["kind", "town"])
    with pytest.raises(ValueError, match="Column 'day' holds dates or times"):
        tree.fit(given, y)
    with pytest.raises(ValueError, match="Column 'day' holds dates or times"):
        DecisionTreeRegressor().fit(given[["day"]], y)
    assert tree.fit(given[["kind", "town"]], y).score(given[["kind", "town"]], y) == 1.0


@pytest.mark.parametrize("kind", ["S3", "U3", ">U3", ">i8", ">f8", "float16", "bool", "longdouble", object])
def test_categories_of_any_type_are_found_again(kind: Any, tmp_path: Any) -> None:
    """Bytes are text, as HDF5 has it; what a file holds is in the byte order of this machine."""
    codes = np.arange(60) % 2
    X = codes[:, None].astype(kind)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, codes)
    assert (model.predict(X) == codes).all()
    model.save(tmp_path / "tree.corollary")
    assert (load(tmp_path / "tree.corollary").predict(X) == codes).all()
    assert model.evidence_.verify(X, codes).stands is not False


@pytest.mark.parametrize("bad", [1j, np.inf, np.datetime64("2020-01-01")])
def test_what_is_no_category_is_refused(bad: Any) -> None:
    X = np.full((20, 1), bad)
    with pytest.raises(ValueError, match=r"make text or numbers of it|contains infinity"):
        DecisionTreeClassifier(categorical_features=[0]).fit(X, np.arange(20) % 2)


def test_complex_numbers_beside_categories_are_refused() -> None:
    X = np.column_stack([np.arange(20) % 3, 1j * (np.arange(20) % 2)])
    with pytest.raises(ValueError, match=r"make text or numbers of it|Complex data not supported"):
        DecisionTreeClassifier(categorical_features=[0]).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("kind", [">f8", ">U3", "longdouble", "float16", ">i4"])
def test_labels_of_any_type_can_be_saved(kind: str, tmp_path: Any) -> None:
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] > 20).astype(kind)
    model = DecisionTreeClassifier().fit(X, y)
    model.save(tmp_path / "tree.corollary")
    assert (load(tmp_path / "tree.corollary").predict(X) == y).all()
    assert model.evidence_.verify(X, y)
