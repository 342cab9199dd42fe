"""What AdaBoost, bags, votes and stacks share with scikit-learn's: routing, members, several labels, one class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from corollary import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    LogisticRegression,
    Ridge,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from corollary.ensemble.routing import Told
from corollary.io import load, save


def data(n: int = 120) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    signal = X @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.normal(size=n)
    return X, np.searchsorted(np.quantile(signal, [0.3, 0.6]), signal), signal


class Listener(ClassifierMixin, BaseEstimator):
    """Remembers what its fit was told."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, note: Any = None) -> Listener:
        self.classes_, self.heard_ = np.unique(y), (sample_weight, note)
        return self

    def predict(self, X: Any, note: Any = None) -> Any:
        self.asked_ = note
        return np.full(len(X), self.classes_[0])


def test_metadata_reaches_those_who_ask_for_it() -> None:
    X, y, _ = data()
    weights = np.arange(1.0, len(y) + 1)
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        VotingClassifier([("a", Listener())]).fit(X, y, note="n")
    with sklearn.config_context(enable_metadata_routing=True):
        asking = Listener().set_fit_request(note=True, sample_weight=True)
        silent = Listener().set_fit_request(note=False, sample_weight=False)
        model = VotingClassifier([("a", asking), ("b", silent)]).fit(X, y, sample_weight=weights, note="n")
        heard, other = (member.heard_ for member in model.estimators_)
        np.testing.assert_array_equal(heard[0], weights)
        assert heard[1] == "n"
        assert other == (None, None)
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            VotingClassifier([("a", Listener())]).fit(X, y, note="n")
        bag = BaggingClassifier(Listener().set_fit_request(note=True).set_predict_request(note=True), 3)
        bag.fit(X, y, note="n").predict(X, note="m")
        assert {(member.heard_[1], member.asked_) for member in bag} == {("n", "m")}
        stack = StackingClassifier([("a", asking)], Listener().set_predict_request(note=True), cv=2)
        stack.fit(X, y, note="n").predict(X, note="m")
        assert stack.final_estimator_.asked_ == "m"


def test_metadata_that_are_no_rows_reach_members_whole() -> None:
    each, longer = list(range(10)), list(range(17))
    told = Told(routed={"a": {"each": each, "longer": longer}}).of("a", Listener(), np.array([2, 2, 7]), 10)
    assert told == {"each": [2, 2, 7], "longer": longer}


def test_the_final_models_predict_takes_options() -> None:
    X, _, target = data()
    model = StackingRegressor([("linear", LinearRegression())], BayesianRidge(), cv=3).fit(X, target)
    said, spread = model.predict(X, return_std=True)
    np.testing.assert_array_equal(said, model.predict(X))
    assert (spread > 0).all()


def test_bags_are_sequences_with_decision_values() -> None:
    X, y, _ = data()
    bag = BaggingClassifier(LinearSVC(), 4, random_state=0).fit(X, y)
    assert len(bag) == len(list(bag)) == 4
    expected = np.mean([member.decision_function(X) for member in bag], axis=0)
    np.testing.assert_allclose(bag.decision_function(X), expected)
    two = BaggingClassifier(LinearSVC(), 4, random_state=0).fit(X, y > 0)
    np.testing.assert_allclose(two.decision_function(X), np.mean([one.decision_function(X) for one in two], axis=0))
    assert not hasattr(BaggingClassifier(GaussianNB()), "decision_function")


def test_samples_are_what_members_saw() -> None:
    X, y, _ = data()
    bag = BaggingClassifier(KNeighborsClassifier(1), 3, random_state=0).fit(X, y)
    for member, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        again = KNeighborsClassifier(1).fit(X[rows], y[rows])
        np.testing.assert_array_equal(member.predict(X), again.predict(X))
    large = BaggingRegressor(max_samples=500, n_estimators=2, random_state=0).fit(X, y)
    assert {len(rows) for rows in large.estimators_samples_} == {500}


@pytest.mark.parametrize("kind", [AdaBoostClassifier, BaggingClassifier])
def test_one_class_is_always_predicted(kind: Any, tmp_path: Any) -> None:
    X, y, _ = data()
    model = kind(n_estimators=3).fit(X, np.full(len(y), "a"))
    assert set(model.predict(X)) == {"a"}
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    save(model, tmp_path / "model.zip")
    assert set(load(tmp_path / "model.zip").predict(X)) == {"a"}


def test_a_learner_that_cannot_be_boosted_is_refused() -> None:
    X, y, _ = data()
    with pytest.raises(ValueError, match="DummyClassifier is worse than random on these rows"):
        AdaBoostClassifier(DummyClassifier()).fit(X, np.arange(len(y)) % 3)


def test_learners_of_others_may_take_rows_of_any_shape() -> None:
    X, y, _ = data()
    model = AdaBoostClassifier(Flat(), n_estimators=3).fit(X.reshape(-1, 2, 2), y)
    flat = AdaBoostClassifier(GaussianNB(), n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X.reshape(-1, 2, 2)), flat.predict(X))


class Flat(GaussianNB):
    """Takes rows of any shape."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(np.reshape(X, (len(X), -1)), y, sample_weight)

    def predict(self, X: Any) -> Any:
        return super().predict(np.reshape(X, (len(X), -1)))


def test_class_weights_count() -> None:
    X, y, _ = data()
    for model in (AdaBoostClassifier(n_estimators=5), VotingClassifier(voting="soft")):
        heavy = model.set_params(class_weight={0: 1000.0, 1: 1e-3, 2: 1e-3}).fit(X, y)
        assert (heavy.predict(X) == 0).mean() > 0.9
    rows = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    voted = VotingClassifier(class_weight={0: 2.0, 1: 1.0, 2: 3.0}, voting="soft").fit(X, y, sample_weight=rows)
    weighted = VotingClassifier([("linear", LogisticRegression())], voting="soft")
    weighted.fit(X, y, sample_weight=rows * np.array([2.0, 1.0, 3.0])[y])
    linear = voted.named_estimators_["linear"].predict_proba(X)
    np.testing.assert_allclose(linear, weighted.predict_proba(X), atol=1e-6)


def test_stacks_learn_several_labels_and_ask_regressors(tmp_path: Any) -> None:
    X, Y = make_multilabel_classification(150, n_features=6, n_classes=3, random_state=0)
    model = StackingClassifier([("near", KNeighborsClassifier())], KNeighborsClassifier(), cv=3).fit(X, Y)
    assert model.transform(X).shape == (150, 3)
    assert [classes.tolist() for classes in model.classes_] == [[0, 1]] * 3
    assert model.score(X, Y) > 0.4
    assert model.evidence_.verify(X, Y).stands is None
    X, y, _ = data()
    ordered = StackingClassifier([("line", Ridge()), ("classes", LogisticRegression())], cv=3).fit(X, y)
    assert ordered.stack_method_ == ["predict", "predict_proba"]
    assert ordered.score(X, y) > 0.6
    save(ordered, tmp_path / "model.zip")
    np.testing.assert_array_equal(load(tmp_path / "model.zip").predict(X), ordered.predict(X))


def test_votes_have_the_attributes_of_scikit_learns() -> None:
    X, y, target = data()
    labels = np.array(list("abc"))[y]
    model = VotingClassifier([("a", Peer()), ("b", "drop")], voting="soft").fit(X, labels)
    assert model.le_.transform(["c"]).tolist() == [2]
    assert model.named_estimators_["b"] == "drop"
    with pytest.raises(NotImplementedError, match="binary or multiclass"):
        model.fit(X, np.column_stack([y > 0, y > 1]).astype(int))
    with pytest.raises(ValueError, match="Number of `estimators` and weights must be equal"):
        VotingRegressor([("a", LinearRegression())], weights=[1, 2]).fit(X, target)
