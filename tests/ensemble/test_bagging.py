"""Bagging: samples, votes, out-of-bag evidence, warm start, columns, and weights as repetitions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary import AdaBoostClassifier, LogisticRegression, Ridge
from corollary.core import parallel
from corollary.ensemble.combine.bagging.bagging import BaggingClassifier, BaggingRegressor


def data(n: int = 120, classes: int = 2, seed: int = 0) -> tuple[Any, Any, Any]:
    """(X, labels, numbers)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    target = X @ np.array([1.0, -2.0, 0.5, 0.0, 0.3]) + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(target, np.arange(1, classes) / classes), target), target


@pytest.mark.parametrize("classes", [2, 3])
def test_the_vote_is_the_mean_of_the_members(classes: int) -> None:
    X, y, target = data(classes=classes)
    names = np.array(["a", "b", "c"])
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=3), 7, random_state=0).fit(X, names[y])
    votes = np.mean([member.predict_proba(X) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), votes)
    np.testing.assert_array_equal(model.predict(X), names[votes.argmax(axis=1)])
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    regressor = BaggingRegressor(DecisionTreeRegressor(max_depth=3), 7, random_state=0).fit(X, target)
    np.testing.assert_allclose(regressor.predict(X), np.mean([m.predict(X) for m in regressor.estimators_], axis=0))


def test_members_without_probabilities_vote() -> None:
    X, y, _ = data(classes=3)
    model = BaggingClassifier(LinearSVC(), 5, random_state=0).fit(X, y)
    votes = np.mean([np.eye(3)[member.predict(X)] for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), votes)


def test_a_member_is_the_fit_to_its_sample() -> None:
    """By weights, by copies of rows: the same member."""
    X, _, target = data()
    by_weight = BaggingRegressor(Ridge(), 4, max_features=3, random_state=0).fit(X, target)
    by_theirs = BaggingRegressor(LinearRegression(), 4, random_state=0).fit(X, target)
    by_copies = BaggingRegressor(KNeighborsRegressor(3), 4, random_state=0).fit(X, target)
    for model in (by_weight, by_theirs, by_copies):
        for member, rows, columns in zip(
            model.estimators_, model.estimators_samples_, model.estimators_features_, strict=True
        ):
            assert len(rows) == len(X)
            alone = type(member)(**member.get_params()).fit(X[np.ix_(rows, columns)], target[rows])
            np.testing.assert_allclose(member.predict(X[:, columns]), alone.predict(X[:, columns]), rtol=1e-6)


def test_out_of_bag_votes_by_hand() -> None:
    X, y, target = data(classes=3)
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=4), 12, oob_score=True, random_state=1).fit(X, y)
    sums, counts = np.zeros((len(y), 3)), np.zeros(len(y))
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(y)), rows)
        sums[out] += member.predict_proba(X[out])
        counts[out] += 1
    voted = counts > 0
    np.testing.assert_allclose(model.oob_decision_function_[voted], (sums / np.maximum(counts, 1)[:, None])[voted])
    assert np.isnan(model.oob_decision_function_[~voted]).all()
    right = (sums.argmax(axis=1) == y)[voted]
    assert model.oob_score_ == pytest.approx(right.mean())
    facts = model.evidence_.facts
    assert facts["standard error"] == pytest.approx(right.std() / np.sqrt(len(right)))
    assert facts["rows without out-of-bag vote"] == pytest.approx(1 - voted.mean())
    assert facts["out-of-bag squared error of the vote"] <= facts["out-of-bag squared error of a member"]
    assert model.evidence_.holds
    regressor = BaggingRegressor(DecisionTreeRegressor(), 40, oob_score=True, random_state=1).fit(X, target)
    residual = target - regressor.oob_prediction_
    assert regressor.oob_score_ == pytest.approx(1 - np.mean(residual**2) / target.var())


def test_rows_in_every_bag_are_told() -> None:
    X, y, _ = data(n=40)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        model = BaggingClassifier(DecisionTreeClassifier(), 2, oob_score=True, random_state=0).fit(X, y)
    assert "raise n_estimators" in str(model.evidence_)
    assert np.isfinite(model.oob_score_)


def test_any_metric_out_of_the_bag() -> None:
    X, y, _ = data()
    model = BaggingClassifier(DecisionTreeClassifier(), 30, oob_score=balanced_accuracy_score, random_state=0).fit(X, y)
    predicted = model.oob_decision_function_.argmax(axis=1)
    assert model.oob_score_ == pytest.approx(balanced_accuracy_score(y, predicted))


def test_samples_cover_as_much_as_they_should() -> None:
    X, y, _ = data(n=2000)
    model = BaggingClassifier(LogisticRegression(), 20, random_state=0).fit(X, y)
    facts = model.evidence_.facts
    assert facts["expected coverage"] == pytest.approx(1 - np.exp(-1), abs=1e-3)
    assert facts["coverage"] == pytest.approx(facts["expected coverage"], abs=0.01)
    seen = [len(np.unique(rows)) / len(y) for rows in model.estimators_samples_]
    assert facts["coverage"] == pytest.approx(np.mean(seen))


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("base", [LinearRegression(), KNeighborsRegressor(3), Ridge()])  # the first two are not ours
def test_weights_are_repetitions_and_order_is_nothing(base: Any, bootstrap: bool) -> None:
    X, _, target = data()
    weights = np.random.default_rng(5).integers(0, 4, len(target))
    rows = np.random.default_rng(6).permutation(np.repeat(np.arange(len(target)), weights))
    model = BaggingRegressor(base, 5, max_samples=0.6, bootstrap=bootstrap, random_state=0)
    weighted = model.fit(X, target, sample_weight=weights).predict(X)
    repeated = model.fit(X[rows], target[rows]).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-9)


def test_weights_that_are_shares_draw_as_many_rows_as_there_are() -> None:
    X, _, target = data()
    model = BaggingRegressor(Ridge(), 5, random_state=0).fit(X, target, sample_weight=np.full(len(X), 1 / len(X)))
    plain = BaggingRegressor(Ridge(), 5, random_state=0).fit(X, target)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-6)


def test_a_share_of_rows_with_fractional_weights() -> None:
    X, _, target = data()
    weights = np.random.default_rng(5).uniform(0.2, 3.0, len(target))
    model = BaggingRegressor(Ridge(), 30, max_samples=0.5, bootstrap=False, oob_score=True, random_state=0)
    model.fit(X, target, sample_weight=weights)
    assert model.evidence_.holds
    assert model.oob_score_ > 0.5
    assert model.set_params(oob_score=False).fit(X, target, sample_weight=weights).evidence_.holds
    assert not hasattr(model, "oob_score_")


def test_warm_start_is_the_whole_fit() -> None:
    X, y, _ = data()
    base = DecisionTreeClassifier(max_depth=4)
    model = BaggingClassifier(base, 3, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    first = model.estimators_[0]
    model.set_params(n_estimators=9).fit(X, y)
    assert model.estimators_[0] is first
    whole = BaggingClassifier(base, 9, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(model.oob_decision_function_, whole.oob_decision_function_)
    with pytest.raises(ValueError, match="at least the 9 members"):
        model.set_params(n_estimators=4).fit(X, y)
    with pytest.warns(UserWarning, match="does not fit new members"):
        model.set_params(n_estimators=9).fit(X, y)


def test_columns_are_drawn() -> None:
    X, y, _ = data()
    model = BaggingClassifier(DecisionTreeClassifier(), 30, max_features=0.5, random_state=0).fit(X, y)
    assert all(len(np.unique(columns)) == 2 for columns in model.estimators_features_)
    assert set(np.concatenate(model.estimators_features_)) == set(range(5))
    model.set_params(bootstrap_features=True, max_features=5).fit(X, y)
    assert any(len(np.unique(columns)) < 5 for columns in model.estimators_features_)


def test_sparse_is_dense() -> None:
    X, y, _ = data()
    X[np.abs(X) < 0.7] = 0.0
    dense = BaggingClassifier(LogisticRegression(), 5, max_features=4, oob_score=True, random_state=0).fit(X, y)
    held = sparse.csc_array(X)
    other = BaggingClassifier(LogisticRegression(), 5, max_features=4, oob_score=True, random_state=0).fit(held, y)
    np.testing.assert_allclose(dense.predict_proba(X), other.predict_proba(held), rtol=1e-5)


@pytest.mark.parametrize("make", [BaggingClassifier, BaggingRegressor])
def test_numbers_as_objects_are_the_same_rows(make: Any) -> None:
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    for foreign in (None, KNeighborsClassifier() if make is BaggingClassifier else KNeighborsRegressor()):
        plain, boxed = (make(foreign, random_state=0).fit(form, y) for form in (rows, rows.astype(object)))
        np.testing.assert_array_equal(plain.predict(rows), boxed.predict(rows.astype(object)))


def test_threads_do_not_change_a_bit_and_processes_agree() -> None:
    X, y, _ = data()
    found = []
    for n in (1, 2, 3):
        with parallel.threads(n):
            found.append(BaggingClassifier(LogisticRegression(), 6, random_state=0).fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    for n in (None, 2):
        model = BaggingClassifier(DecisionTreeClassifier(), 4, oob_score=True, n_jobs=n, random_state=0).fit(X, y)
        found.append(np.column_stack([model.predict_proba(X), model.oob_decision_function_]))
    np.testing.assert_array_equal(found[3], found[4])
    get_reusable_executor().shutdown(wait=True)


def test_a_class_that_was_not_drawn() -> None:
    X, y, _ = data(n=30)
    y = np.where(np.arange(30) == 3, 2, y)
    model = BaggingClassifier(DecisionTreeClassifier(), 8, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (30, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    lone = np.where(np.arange(30) == 3, 1, 0)
    alone = BaggingClassifier(LogisticRegression(), 8, max_samples=3, random_state=0).fit(X, lone)
    assert np.isfinite(alone.predict_proba(X)).all()


def test_several_targets() -> None:
    X, _, target = data()
    both = np.column_stack([target, X[:, 0]])
    model = BaggingRegressor(DecisionTreeRegressor(), 20, oob_score=True, random_state=0).fit(X, both)
    assert model.predict(X).shape == both.shape == model.oob_prediction_.shape


def test_a_copy_is_the_model() -> None:
    X, y, _ = data()
    model = BaggingClassifier(LogisticRegression(), 3, oob_score=True, random_state=0).fit(X, y)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    assert twin.evidence_ == model.evidence_
    for first, second in zip(model.estimators_samples_, twin.estimators_samples_, strict=True):
        np.testing.assert_array_equal(first, second)


class Stubborn(ClassifierMixin, BaseEstimator):
    """Takes no weights."""

    def fit(self, X: Any, y: Any) -> Stubborn:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


def test_bad_input() -> None:
    X, y, _ = data(n=30)
    fractions = np.linspace(0.5, 1.5, 30)
    for message, model, options in (
        ("max_samples=31 must be <= n_samples=30", BaggingClassifier(Stubborn(), max_samples=31, bootstrap=False), {}),
        ("max_features must be at most the number of columns, 5", BaggingClassifier(Stubborn(), max_features=6), {}),
        ("oob_score needs rows", BaggingClassifier(Stubborn(), bootstrap=False, oob_score=True), {}),
        ("takes no sample_weight", BaggingClassifier(Stubborn(), bootstrap=False), {"sample_weight": fractions}),
        ("zero for every row", BaggingClassifier(Stubborn()), {"sample_weight": np.zeros(30)}),
        ("estimator must be None or an estimator", BaggingClassifier(7), {}),
        ("n_estimators must be a whole number ≥ 1", BaggingClassifier(Stubborn(), 0), {}),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, **options)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")  # five members are few where weights differ
@parametrize_with_checks(
    [
        BaggingClassifier(KNeighborsClassifier(1), 5, oob_score=True, max_samples=0.8),
        BaggingRegressor(Ridge(), 5, oob_score=True, max_features=0.7),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_error_out_of_the_bag_has_an_interval() -> None:
    from scipy.stats import binomtest

    X, y, target = data(classes=3)
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=4), 40, random_state=1).fit(X, y)
    sums = np.zeros((len(y), 3))
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(y)), rows)
        sums[out] += member.predict_proba(X[out])
    wrong = int((sums.argmax(axis=1) != y).sum())
    name, facts = "out-of-bag share of wrong labels", model.evidence_.facts
    expected = binomtest(wrong, len(y)).proportion_ci(method="wilson")
    found = facts[name], facts[f"{name}, low end"], facts[f"{name}, high end"]
    np.testing.assert_allclose(found, (wrong / len(y), expected.low, expected.high))
    assert f"Out of the bag the share of wrong labels is {wrong / len(y):.3g}, 95 % interval" in str(model.evidence_)
    assert not hasattr(model, "oob_score_")  # nobody asked for it
    regressor = BaggingRegressor(DecisionTreeRegressor(), 40, oob_score=True, random_state=1).fit(X, target)
    squares = (target - regressor.oob_prediction_) ** 2
    name, facts = "out-of-bag mean squared error", regressor.evidence_.facts
    half = 1.96 * squares.std() / np.sqrt(len(squares))
    assert facts[name] == pytest.approx(squares.mean())
    assert facts[f"{name}, high end"] - facts[name] == pytest.approx(half, rel=1e-3)


class Silent(BaseEstimator):
    """Has a predict that says nothing."""

    def fit(self, X: Any, y: Any) -> Silent:
        return self

    def predict(self, X: Any) -> None:
        return None


class Faulty(Silent):
    def predict(self, X: Any) -> None:
        raise ValueError("a fault")


@pytest.mark.parametrize("kind", [BaggingClassifier, BaggingRegressor])
def test_only_members_without_a_vote_are_not_judged(kind: Any) -> None:
    X, y, _ = data()
    model = kind(Silent(), 3, random_state=0).fit(X, y)
    assert "Nothing is known of the error out of the bag" in str(model.evidence_)
    assert not any(name.startswith("out-of-bag") for name in model.evidence_.facts)
    with pytest.raises(ValueError, match=r"Silent\.predict was asked about 120 rows and said nothing"):
        model.predict(X)
    with pytest.raises(ValueError, match="said nothing"):
        kind(Silent(), 3, random_state=0, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="a fault"):
        kind(Faulty(), 3, random_state=0).fit(X, y)


def test_without_rows_out_of_the_bag_no_error_is_claimed() -> None:
    X, y, _ = data()
    model = BaggingClassifier(DecisionTreeClassifier(), 3, bootstrap=False).fit(X, y)
    assert "Out of the bag" not in str(model.evidence_)
    assert model.evidence_.certificate.name == "relative error of the weight drawn"


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_interval_does_not_depend_on_the_unit_of_the_weights(scale: float) -> None:
    from corollary.ensemble.combine.bagging.interval import ErrorInterval

    rng = np.random.default_rng(0)
    wrong, w = rng.random(80) < 0.2, rng.uniform(0.1, 2, 80)
    np.testing.assert_allclose(
        [*ErrorInterval.of_shares(wrong, scale * w).facts.values()], [*ErrorInterval.of_shares(wrong, w).facts.values()]
    )
    all_right = ErrorInterval.of_shares(np.zeros(20, dtype=bool), np.ones(20))
    assert all_right.low == 0.0
    assert all_right.high == pytest.approx(0.161, abs=1e-3)  # no mistake in 20 rows does not say that there are none


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (BaggingClassifier(Ridge()), "must be a classifier"),
        (BaggingRegressor(LogisticRegression()), "must be a regressor"),
        (AdaBoostClassifier(Ridge()), "must be a classifier"),
    ],
)
def test_members_of_the_other_kind_are_refused_in_words(model, words):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=words):
        model.fit(X, (X[:, 0] > 0).astype(int))


def test_the_referee_counts_rows_out_of_the_bag_as_the_fit_does() -> None:
    """Class weights are for drawing and learning; the error is that of rows as they come."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + rng.normal(size=90) > 0.8).astype(int)
    model = BaggingClassifier(n_estimators=4, random_state=0, class_weight="balanced").fit(X, y)
    assert model.evidence_.verify(X, y)
