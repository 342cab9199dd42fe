"""AdaBoost: its arithmetic against scikit-learn's and by hand, its bound, its fast path, its early ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary.core import parallel
from corollary.ensemble.adaboost.adaboost import AdaBoostClassifier
from corollary.solvers.trees.adaboost import ledger as adaboost_ledger
from corollary.solvers.trees.adaboost import stumps as adaboost_fast
from corollary.tree.decision_tree import DecisionTreeClassifier as OurTree
from corollary.tree.stump import DecisionStump


def data(n: int = 300, classes: int = 2, seed: int = 0, values: int = 12) -> tuple[Any, Any]:
    """Columns of few different values, and classes that no stump separates."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, 6)).astype(float)
    score = (X[:, 0] > values // 2) + (X[:, 1] > values // 3) + 0.3 * X[:, 2] / values + rng.normal(size=n) / 2
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_stumps_are_those_of_scikit_learn(classes: int, learning_rate: float) -> None:
    X, y = data(classes=classes)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, len(y))  # so that no two splits are equally good
    ours = AdaBoostClassifier(n_estimators=15, learning_rate=learning_rate).fit(X, y, sample_weight=weights)
    theirs = sklearn.ensemble.AdaBoostClassifier(n_estimators=15, learning_rate=learning_rate, random_state=0)
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for name in ("staged_predict", "staged_predict_proba", "staged_decision_function"):
        for first, second in zip(getattr(ours, name)(X), getattr(theirs, name)(X), strict=True):
            np.testing.assert_allclose(first, second, atol=1e-12)
    np.testing.assert_allclose(list(ours.staged_score(X, y)), list(theirs.staged_score(X, y)))


@pytest.mark.parametrize("classes", [2, 4])
def test_any_learner_with_weights_is_boosted_as_in_scikit_learn(classes: int) -> None:
    X, y = data(classes=classes)
    for learner in (DecisionTreeClassifier(max_depth=2, random_state=0), GaussianNB()):
        ours = AdaBoostClassifier(learner, n_estimators=5, random_state=0).fit(X, y)
        theirs = sklearn.ensemble.AdaBoostClassifier(learner, n_estimators=5, random_state=0).fit(X, y)
        rounds = len(ours.estimator_weights_)
        np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_[:rounds], rtol=1e-6)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
        assert len(ours.estimators_) == rounds


def binned_trees(X: Any, y: Any, depth: int, rounds: int, criterion: int = 0) -> AdaBoostClassifier:
    """The fast path for trees, whatever the tree package calls its trees."""
    model = AdaBoostClassifier(n_estimators=rounds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corollary.ensemble.adaboost.adaboost.binned_tree", lambda estimator: (depth, criterion, 255))
        return model.fit(X, y)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_small_trees_on_bins_are_those_of_scikit_learn(classes: int, criterion: str) -> None:
    X, y = data(n=400, classes=classes, values=30)
    for depth in (1, 2, 3):
        ours = binned_trees(X, y, depth, 1, ["gini", "entropy"].index(criterion))
        tree = DecisionTreeClassifier(max_depth=depth, criterion=criterion, random_state=0).fit(X, y)
        assert ours.estimator_errors_[0] == pytest.approx(1 - tree.score(X, y), abs=1e-12)
        trees = ours.trees_
        trees.check(X.shape[1])
        inner = tree.tree_.feature >= 0
        assert sorted(trees.feature[~trees.is_leaf]) == sorted(tree.tree_.feature[inner])
        assert sorted(trees.count) == sorted(tree.tree_.n_node_samples)
        assert sorted(trees.impurity) == pytest.approx(sorted(tree.tree_.impurity))
        left = trees.impurity * trees.weight
        assert trees.gain.sum() == pytest.approx(left[0] - left[trees.is_leaf].sum())


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_the_bound_holds_in_every_round_and_the_history_is_true(classes: int, depth: int, learning_rate: float) -> None:
    X, y = data(classes=classes)
    model = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=depth, random_state=0), n_estimators=20, learning_rate=learning_rate
    ).fit(X, y)
    history = {name: np.array(values) for name, values in model.evidence_.history.items()}
    assert model.evidence_.holds
    assert (history["training error"] <= history["bound"] + 1e-12).all()
    np.testing.assert_allclose(history["training error"], [1 - score for score in model.staged_score(X, y)], atol=1e-12)
    epsilon, alpha = model.estimator_errors_, model.estimator_weights_
    if learning_rate == 1.0:  # the classical form, for any number of classes
        factors = np.sqrt(epsilon * (1 - epsilon)) * classes / np.sqrt(classes - 1)
        np.testing.assert_allclose(history["bound"], np.cumprod(factors))
    # the multi-class exponential loss of the votes, from its definition
    codes = np.full((classes, classes), -1 / (classes - 1))
    np.fill_diagonal(codes, 1.0)
    scores = np.zeros((len(y), classes))
    for weight, member in zip(alpha, model.estimators_, strict=True):
        scores += (classes - 1) ** 2 / classes * weight * codes[member.predict(X)]
    loss = np.exp(-(codes[y] * scores).sum(axis=1) / classes).mean()
    assert history["objective"][-1] == pytest.approx(loss)
    assert (np.diff(history["objective"]) <= 1e-12).all()


def test_two_rounds_by_hand() -> None:
    """Five rows in a line, − + + − +, told apart by stumps."""
    X, y = np.arange(5.0)[:, None], np.array([0, 1, 1, 0, 1])
    model = AdaBoostClassifier(n_estimators=2).fit(X, y)
    first = np.log(4)  # the first stump errs on row 3 alone
    assert model.estimator_errors_[0] == pytest.approx(1 / 5)
    assert model.estimator_weights_[0] == pytest.approx(first)
    assert model.evidence_.history["bound"][0] == pytest.approx(2 * np.sqrt(1 / 5 * 4 / 5))
    assert model.trees_.threshold[0] == 0.5
    assert model.estimator_errors_[1] == pytest.approx(2 / 8)  # row 3 weighs 4 now: all left of 3.5 are said to be −


def same(first: AdaBoostClassifier, second: AdaBoostClassifier, X: Any, tolerance: float = 0.0) -> None:
    np.testing.assert_allclose(first.estimator_weights_, second.estimator_weights_, rtol=tolerance)
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(first.trees_.feature, second.trees_.feature)
    np.testing.assert_array_equal(first.trees_.threshold, second.trees_.threshold)


@pytest.mark.parametrize("depth", [1, 3])
def test_threads_and_blocks_do_not_change_a_bit(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(n=700, classes=3)
    X = X + np.random.default_rng(3).normal(size=X.shape)
    monkeypatch.setattr(adaboost_fast, "_SMALL", 0)
    monkeypatch.setattr(adaboost_ledger, "ROWS", 64)
    monkeypatch.setattr(adaboost_fast, "ROWS", 64)
    found = []
    for n in (1, 2, 3):
        with parallel.threads(n):
            found.append(binned_trees(X, y, depth, 12))
    same(found[0], found[1], X)
    same(found[0], found[2], X)


def test_weights_are_repetitions_and_order_is_nothing() -> None:
    X, y = data(classes=3)
    weights = np.random.default_rng(5).integers(0, 4, len(y))
    rows = np.random.default_rng(6).permutation(np.repeat(np.arange(len(y)), weights))
    weighted = AdaBoostClassifier(n_estimators=20).fit(X, y, sample_weight=weights)
    repeated = AdaBoostClassifier(n_estimators=20).fit(X[rows], y[rows])
    same(weighted, repeated, X, 1e-9)
    same(weighted, AdaBoostClassifier(n_estimators=20).fit(X, y, sample_weight=weights * 7.5), X, 1e-9)


def test_histograms_kept_up_to_date_are_those_of_the_weights() -> None:
    X, y = data(classes=3)
    labels, weights = y.astype(np.int32), np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    ledger = adaboost_ledger.Ledger(labels, weights, 3, 1.0)
    learner = adaboost_fast.BinnedLearner(X, labels, 3, weights, 1, 0, 255, np.zeros(6, dtype=bool))
    for _ in range(40):
        heavier = ledger.judge(learner.learn(ledger.weights))
        assert heavier is not None
        learner.follow(heavier, ledger.rescale())
    fresh = learner._sums(np.arange(len(y), dtype=np.int32), ledger.weights)
    np.testing.assert_allclose(learner.histogram, fresh, rtol=1e-12)
    assert ledger.mass == pytest.approx(ledger.weights.sum(), rel=1e-12)


def test_long_runs_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(n=60)
    plain = AdaBoostClassifier(n_estimators=60).fit(X, y)
    monkeypatch.setattr(adaboost_ledger, "_LARGE", 1e3)  # dividing by powers of two changes nothing
    same(plain, AdaBoostClassifier(n_estimators=60).fit(X, y), X, 1e-12)
    assert np.isfinite(plain.decision_function(X)).all()


def test_missing_values_are_a_value() -> None:
    X, y = data()
    X[y == 1, 3] = np.where(np.random.default_rng(0).random((y == 1).sum()) < 0.8, np.nan, X[y == 1, 3])
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    assert model.trees_.feature[0] == 3
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(1 - model.score(X, y), model.evidence_.facts["training error"])
    sparse_model = AdaBoostClassifier(n_estimators=5).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(sparse_model.predict(sparse.csr_array(X)), model.predict(X))


def test_a_learner_without_mistakes_ends_the_run() -> None:
    X = np.arange(10.0)[:, None]
    model = AdaBoostClassifier().fit(X, X[:, 0] > 4)
    assert model.evidence_.n_iter == 1
    assert "makes no mistake" in str(model.evidence_)
    assert model.evidence_.history["bound"] == [0.0]
    assert model.score(X, X[:, 0] > 4) == 1.0


def test_a_late_learner_without_mistakes_decides_alone() -> None:
    y = data(n=40)[1]
    said = [np.where(np.arange(40) % 3, y, 1 - y), np.where(np.arange(40) % 4, y, 1 - y), y]
    ledger = adaboost_ledger.Ledger(y.astype(np.int32), np.ones(40), 2, 1.0)
    for each in said:
        ledger.judge(each.astype(np.int32))
    assert ledger.training_error == 0.0
    assert ledger.above_bounds() == 0.0
    assert "makes no mistake" in ledger.note


def test_nothing_to_learn_is_told() -> None:
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    model = AdaBoostClassifier().fit(X, y)
    assert "no better than chance" in str(model.evidence_)
    assert model.evidence_.holds
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    assert not model.feature_importances_.any()


def test_a_run_that_cannot_go_on_says_so() -> None:
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.array([0] * 9 + [1] + [1] * 9 + [0])
    model = AdaBoostClassifier(n_estimators=10).fit(X, y)  # after one round both bins are balanced
    assert model.evidence_.n_iter == 1
    assert "no better than chance" in str(model.evidence_)


def test_learners_without_weights_get_rows_drawn_by_weight() -> None:
    X, y = data()
    model = AdaBoostClassifier(KNeighborsClassifier(15), n_estimators=5, random_state=0).fit(X, y)
    assert model.evidence_.holds
    again = AdaBoostClassifier(KNeighborsClassifier(15), n_estimators=5, random_state=0).fit(X[::-1], y[::-1])
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-12)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert AdaBoostClassifier(pipeline, n_estimators=3).fit(X, y).score(X, y) > 0.6


def test_labels_of_any_kind_and_classes_without_weight() -> None:
    X, y = data(classes=3)
    names = np.array(["low", "mid", "top"])
    model = AdaBoostClassifier(n_estimators=5).fit(X, names[y], sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == ["low", "top"]
    plain = AdaBoostClassifier(n_estimators=5).fit(X[y != 1], names[y[y != 1]])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_bad_input() -> None:
    X, y = data(n=30)
    with pytest.raises(ValueError, match="zero for every row"):
        AdaBoostClassifier().fit(X, y, sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match="infinity"):
        AdaBoostClassifier().fit(np.where(X == 3, np.inf, X), y)
    with pytest.raises(ValueError, match="learning_rate must be a number > 0"):
        AdaBoostClassifier(learning_rate=0.0).fit(X, y)
    with pytest.raises(ValueError, match="estimator must be None or a classifier"):
        AdaBoostClassifier(estimator=3).fit(X, y)


def test_plot() -> None:
    X, y = data()
    model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    ax = model.plot()
    shown = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_allclose(shown["bound of the training error"], model.evidence_.history["bound"])
    np.testing.assert_allclose(shown["training error"], model.evidence_.history["training error"])
    assert ax.get_yscale() == "log"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("classes", [2, 3])
def test_categories_are_split_into_sets(classes: int, make: Any) -> None:
    """A column whose classes alternate needs many thresholds, and one set."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijkl"))
    code = rng.integers(0, 12, 400)
    y = np.where(rng.random(400) < 0.05, rng.integers(0, classes, 400), code % classes)
    table = make({"number": rng.normal(size=400), "letter": letters[code]})
    if make is pd.DataFrame:
        table["letter"] = table["letter"].astype("category")
    else:
        table = table.with_columns(pl.col("letter").cast(pl.Categorical))
    rounds = 1 if classes == 2 else 12
    model = AdaBoostClassifier(n_estimators=rounds).fit(table, y)
    assert model.score(table, y) > 0.9
    assert model.trees_.category[0] == 0
    model.trees_.check(2)
    assert model.evidence_.facts["training error"] == pytest.approx(1 - model.score(table, y))
    np.testing.assert_array_equal(model.estimators_[0].predict(table).shape, (400,))
    codes = np.column_stack([table["number"].to_numpy(), code])
    same_codes = AdaBoostClassifier(n_estimators=rounds, categorical_features=[1]).fit(codes, y)
    np.testing.assert_allclose(same_codes.decision_function(codes), model.decision_function(table))
    as_numbers = AdaBoostClassifier(n_estimators=rounds).fit(codes, y)
    assert as_numbers.score(codes, y) < 0.8


def test_unknown_categories_are_missing_values() -> None:
    rng = np.random.default_rng(1)
    letters = np.array(["a", "b", "c", None], dtype=object)
    code = rng.integers(0, 4, 200)
    y = np.isin(code, [1, 3]).astype(int)
    table = pd.DataFrame({"letter": pd.Categorical(letters[code])})
    model = AdaBoostClassifier(n_estimators=3).fit(table, y)
    assert model.score(table, y) == 1.0
    unknown = pd.DataFrame({"letter": pd.Categorical(["z", None, "a"])})
    assert model.predict(unknown).tolist() == [1, 1, 0]
    with pytest.raises(ValueError, match="Encode them as numbers"):
        AdaBoostClassifier(GaussianNB()).fit(table, y)


def test_more_categories_than_a_byte_holds() -> None:
    rng = np.random.default_rng(2)
    code = np.concatenate([np.arange(600), rng.integers(0, 600, 1400)]).astype(float)
    y = (rng.random(600) < 0.5)[code.astype(int)]
    model = AdaBoostClassifier(n_estimators=1, categorical_features=[0]).fit(code[:, None], y)
    assert model.score(code[:, None], y) == 1.0


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_trees_of_the_library_take_the_fast_path(depth: int, criterion: str) -> None:
    X, y = data(classes=3)
    learner = OurTree(max_depth=depth, criterion=criterion)
    model = AdaBoostClassifier(learner, n_estimators=6).fit(X, y)
    assert model.evidence_.solver == "SAMME on binned columns"
    alone = learner.fit(X, y)
    np.testing.assert_allclose(model.estimators_[0].predict_proba(X), alone.predict_proba(X))
    np.testing.assert_allclose(model.estimators_[0].feature_importances_, alone.feature_importances_)
    said = [member.predict(X) for member in model.estimators_]
    votes = sum(alpha * np.eye(3)[k] for alpha, k in zip(model.estimator_weights_, said, strict=True))
    np.testing.assert_array_equal(model.predict(X), np.asarray(votes).argmax(axis=1))
    mean = np.average(
        [each.feature_importances_ for each in model.estimators_], axis=0, weights=model.estimator_weights_
    )
    np.testing.assert_allclose(model.feature_importances_, mean)
    slow = AdaBoostClassifier(OurTree(max_depth=depth, criterion=criterion, min_samples_leaf=2), n_estimators=2).fit(
        X, y
    )
    assert slow.evidence_.solver == "SAMME"
    stump = AdaBoostClassifier(DecisionStump(), n_estimators=6).fit(X, y)
    plain = AdaBoostClassifier(n_estimators=6).fit(X, y)
    same(stump, plain, X)


@parametrize_with_checks(
    [
        AdaBoostClassifier(LogisticRegression(), n_estimators=3),
        AdaBoostClassifier(LinearDiscriminantAnalysis(), n_estimators=3),  # has no weights: rows are drawn
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("classes", [2, 3])
def test_margins_are_those_of_the_votes(classes: int) -> None:
    X, y = data(classes=classes)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = AdaBoostClassifier(n_estimators=20).fit(X, y, sample_weight=weights)
    said, alphas = np.array([member.predict(X) for member in model.estimators_]), model.estimator_weights_
    votes = np.array([alphas @ (said == k) for k in range(classes)]).T / alphas.sum()
    right = votes[np.arange(len(y)), y]
    votes[np.arange(len(y)), y] = -1
    margins = right - votes.max(axis=1)
    facts = model.evidence_.facts
    assert facts["smallest margin"] == pytest.approx(margins.min())
    assert facts["median of the margins"] == pytest.approx(
        np.quantile(np.repeat(margins, weights.astype(int)), 0.5, method="inverted_cdf")
    )
    assert f"smallest {margins.min():.2g}" in str(model.evidence_)
    assert "The bound, Π" in str(model.evidence_)


def test_a_bound_that_says_nothing_is_called_vacuous_and_is_not_the_certificate() -> None:
    X, y = data(classes=5)
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert model.evidence_.facts["bound"] >= 1
    assert "is vacuous: no error is above 1." in str(model.evidence_)
    assert model.evidence_.certificate.name == "error of votes counted again"
    fine = AdaBoostClassifier(n_estimators=30).fit(*data())
    assert fine.evidence_.facts["bound"] < 1
    assert "vacuous" not in str(fine.evidence_)
    assert fine.evidence_.certificate.name.startswith("training error above its bound")


@pytest.mark.parametrize("learner", [None, GaussianNB()])
def test_learners_that_are_not_those_that_voted_are_caught(monkeypatch: pytest.MonkeyPatch, learner: Any) -> None:
    X, y = data()
    real = AdaBoostClassifier._votes
    monkeypatch.setattr(AdaBoostClassifier, "_votes", lambda self, X: (1.01 * each for each in real(self, X)))
    with pytest.warns(UserWarning, match="votes counted again"):
        assert not AdaBoostClassifier(learner, n_estimators=5).fit(X, y).evidence_.holds


def test_a_large_learning_rate_does_not_leave_float64() -> None:
    X, y = data()
    with pytest.warns(UserWarning, match="reached infinite values in round"):
        model = AdaBoostClassifier(n_estimators=12, learning_rate=50.0).fit(X, y)
    assert np.isfinite(model.estimator_weights_).all()
    assert np.isfinite(model.predict_proba(X)).all()
