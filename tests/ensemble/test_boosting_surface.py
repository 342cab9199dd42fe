"""What gradient boosting shares with scikit-learn's class of the same name: parameters, and what is read off trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.metrics import log_loss, mean_squared_error

from corollary import GradientBoostingClassifier, GradientBoostingRegressor, Ridge
from corollary.io import load, save
from corollary.tree.shap import shap_values


def data(n: int = 300, classes: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    signal = X @ np.array([2.0, -1.0, 0.5, 0.0, 0.0]) + np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(signal, np.arange(1, classes) / classes), signal) if classes else signal


@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_trees_as_regressors_add_up_to_predictions(rate: float) -> None:
    X, y = data()
    model = GradientBoostingRegressor(n_estimators=7, learning_rate=rate).fit(X, y)
    assert model.estimators_.shape == (7, 1)
    total = model.init_.predict(X) + rate * sum(tree.predict(X) for tree in model.estimators_[:, 0])
    np.testing.assert_allclose(total, model.predict(X))
    X, y = data(classes=3)
    model = GradientBoostingClassifier(n_estimators=4).fit(X, y)
    assert model.estimators_.shape == (4, 3)
    assert model.n_trees_per_iteration_ == model.n_classes_ == 3
    raw = model.start_ + 0.1 * np.stack([[t.predict(X) for t in row] for row in model.estimators_]).sum(axis=0).T
    np.testing.assert_allclose(raw, model.decision_function(X))
    np.testing.assert_allclose(model.init_.predict_proba(X)[0], np.bincount(y) / len(y))
    assert model.apply(X).shape == (len(X), 4, 3)


def test_scores_of_rounds_are_those_of_predictions() -> None:
    X, y = data()
    model = GradientBoostingRegressor(n_estimators=6).fit(X, y)
    np.testing.assert_allclose(
        model.train_score_, [mean_squared_error(y, said) for said in model.staged_predict(X)], rtol=1e-9
    )
    X, y = data(classes=2)
    model = GradientBoostingClassifier(n_estimators=6).fit(X, y)
    np.testing.assert_allclose(
        model.train_score_, [2 * log_loss(y, said) for said in model.staged_predict_proba(X)], rtol=1e-9
    )
    with pytest.raises(AttributeError):
        _ = model.oob_score_


def test_rows_that_were_not_drawn_are_scored(tmp_path: Any) -> None:
    X, y = data()
    settings = {"subsample": 0.5, "random_state": 0, "warm_start": True}
    model = GradientBoostingRegressor(n_estimators=8, **settings).fit(X, y)
    assert model.oob_scores_[-1] == model.oob_score_
    np.testing.assert_allclose(np.diff(model.oob_scores_), -model.oob_improvement_[1:])
    both = np.array([mean_squared_error(y, said) for said in model.staged_predict(X)])
    np.testing.assert_allclose(0.5 * (model.train_score_ + model.oob_scores_), both)  # one half each
    more = model.set_params(n_estimators=12).fit(X, y)
    whole = GradientBoostingRegressor(n_estimators=8, **settings).fit(X, y)
    np.testing.assert_array_equal(more.oob_scores_[:8], whole.oob_scores_)
    assert len(more.oob_improvement_) == len(more.train_score_) == 12
    save(more, tmp_path / "model.zip")
    np.testing.assert_array_equal(load(tmp_path / "model.zip").oob_scores_, more.oob_scores_)


def test_boosting_begins_where_it_is_told(tmp_path: Any) -> None:
    X, y = data()
    zero = GradientBoostingRegressor(n_estimators=3, init="zero").fit(X, y + 100)
    assert zero.init_ == "zero"
    assert zero.start_.tolist() == [0.0]
    model = GradientBoostingRegressor(n_estimators=5, init=Ridge()).fit(X, y)
    first = Ridge().fit(X, y).predict(X)
    np.testing.assert_allclose(model.init_.predict(X), first)
    rest = sum(0.1 * tree.predict(X) for tree in model.estimators_[:, 0])
    np.testing.assert_allclose(model.predict(X), first + rest)
    np.testing.assert_allclose(model.predict(X[:1]), model.predict(X)[:1])
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X))
    assert model.evidence_.holds
    assert model.train_score_[-1] < mean_squared_error(y, first)
    assert model.evidence_.verify(X, y).stands is None
    save(model, tmp_path / "model.zip")
    np.testing.assert_array_equal(load(tmp_path / "model.zip").predict(X), model.predict(X))
    with pytest.raises(TypeError, match="begin with another"):
        shap_values(model, X)
    grown = GradientBoostingRegressor(n_estimators=3, init=Ridge(), warm_start=True).fit(X, y)
    np.testing.assert_allclose(grown.set_params(n_estimators=5).fit(X, y).predict(X), model.predict(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_begin_with_probabilities(classes: int) -> None:
    X, y = data(classes=classes)
    first = Peer().fit(X, y)
    model = GradientBoostingClassifier(n_estimators=1, learning_rate=1e-9, init=Peer()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), first.predict_proba(X), atol=1e-6)
    prior = GradientBoostingClassifier(n_estimators=6, init=DummyClassifier()).fit(X, y)
    plain = GradientBoostingClassifier(n_estimators=6).fit(X, y)
    np.testing.assert_allclose(prior.predict_proba(X), plain.predict_proba(X), atol=1e-9)


def test_rows_of_nodes() -> None:
    X, y = data()
    trees = GradientBoostingRegressor(n_estimators=3, min_samples_leaf=1, min_samples_split=80).fit(X, y).trees_
    assert trees.count[~trees.is_leaf].min() >= 80
    trees = GradientBoostingRegressor(n_estimators=3, min_samples_leaf=0.1).fit(X, y).trees_
    assert trees.count.min() >= 30


@pytest.mark.parametrize(("n", "least"), [(19, 1), (60, 3), (299, 14), (300, 15), (399, 19), (400, 20), (2000, 20)])
def test_leaves_have_one_row_in_twenty_up_to_twenty(n: int, least: int) -> None:
    X = np.random.default_rng(2).normal(size=(n, 2))
    y = X[:, 0] ** 3 + X[:, 1]
    auto = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    assert auto.trees_.count.min() >= least
    np.testing.assert_array_equal(
        auto.predict(X), GradientBoostingRegressor(n_estimators=2, min_samples_leaf=least).fit(X, y).predict(X)
    )


@pytest.mark.parametrize("name", ["min_impurity_decrease", "ccp_alpha"])
def test_splits_must_lower_the_mean_square(name: str) -> None:
    X, y = data()
    stump = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, max_leaf_nodes=2).fit(X, y)
    gain = y.var() - stump.train_score_[0]
    for share, leaves in ((1.01, 1), (0.99, 2)):
        model = GradientBoostingRegressor(n_estimators=1, max_leaf_nodes=2, **{name: share * gain}).fit(X, y)
        assert model.trees_.is_leaf.sum() == leaves


def test_a_monitor_sees_every_round_and_may_end_it() -> None:
    X, y = data()
    seen: list[tuple[int, int]] = []

    def watch(number: int, model: Any, variables: dict[str, Any]) -> bool:
        seen.append((number, model.n_estimators_))
        assert model.predict(X).shape == y.shape
        return False

    GradientBoostingRegressor(n_estimators=5).fit(X, y, monitor=watch)
    assert seen == [(t, t + 1) for t in range(5)]
    with pytest.warns(UserWarning, match="Stopped early"):
        model = GradientBoostingRegressor(n_estimators=50).fit(X, y, monitor=lambda number, model, rest: number == 6)
    assert model.n_estimators_ == len(model.train_score_) == 7


def test_patience_stops_early() -> None:
    X, y = data(1000)
    model = GradientBoostingRegressor(n_estimators=500, learning_rate=0.5, n_iter_no_change=4, random_state=0).fit(X, y)
    assert 1 <= model.n_estimators_ < 500
    coarse = GradientBoostingRegressor(n_estimators=500, n_iter_no_change=4, tol=100.0, random_state=0).fit(X, y)
    assert coarse.n_estimators_ == 4  # all that were tried, though none of them counted as better
    off = GradientBoostingRegressor(n_estimators=20, n_iter_no_change=1, tol=100.0, early_stopping=False).fit(X, y)
    assert off.n_estimators_ == 20


def test_what_is_refused() -> None:
    X, y = data(classes=3)
    with pytest.raises(ValueError, match="The 'init' parameter of GradientBoostingClassifier must be"):
        GradientBoostingClassifier(init=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="only suitable for a binary classification"):
        GradientBoostingClassifier(loss="exponential").fit(X, y)
    with pytest.warns(FutureWarning, match="criterion"):
        GradientBoostingClassifier(criterion="friedman_mse", n_estimators=1).fit(X, y)


@pytest.mark.parametrize("cls", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_shares_of_the_weight_need_equal_weights(cls: Any) -> None:
    X, y = data(classes=2)
    model = cls(n_estimators=3, min_samples_leaf=1, min_weight_fraction_leaf=0.15)
    assert model.fit(X, y).trees_.count.min() >= 0.15 * len(y)
    plain = model.predict(X)
    np.testing.assert_array_equal(model.fit(X, y, sample_weight=np.full(len(y), 2.0)).predict(X), plain)
    dropped = np.arange(len(y)) % 3 > 0  # a weight of zero is no row at all
    kept = model.fit(X[dropped], y[dropped]).predict(X)
    np.testing.assert_allclose(model.fit(X, y, sample_weight=2.0 * dropped).predict(X), kept, rtol=1e-9)
    weights = np.random.default_rng(1).integers(1, 4, len(y))
    with pytest.raises(ValueError, match=r"min_weight_fraction_leaf.*equal weight"):
        model.fit(X, y, sample_weight=weights)
    model.set_params(min_weight_fraction_leaf=0.0).fit(X, y, sample_weight=weights)


def test_shares_of_the_weight_of_classes() -> None:
    X, y = data(classes=2)
    model = GradientBoostingClassifier(n_estimators=1, min_samples_leaf=1, min_weight_fraction_leaf=0.1)
    leaves = model.set_params(class_weight={0: 1.0, 1: 3.0}).fit(X, y).apply(X)[:, 0, 0]
    weights = np.where(y == 1, 3.0, 1.0)
    assert len(np.unique(leaves)) > 1
    assert min(weights[leaves == leaf].sum() for leaf in np.unique(leaves)) >= 0.1 * weights.sum()


class Says(BaseEstimator):
    """A model that answers what it is told to."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Says:
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return self.answer(len(X))

    predict_proba = predict


@pytest.mark.parametrize("answer", [
    lambda n: np.zeros(n - 1),
    lambda n: np.zeros((n, 3)),
    lambda n: 0.0,
    lambda n: np.full(n, np.nan),
    lambda n: np.full((n, 2), np.nan),
    lambda n: np.full((n, 2), np.inf),
    lambda n: [None] * n,
])  # fmt: skip
@pytest.mark.parametrize("cls", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_a_beginning_that_is_no_answer(cls: Any, answer: Any) -> None:
    X, y = data(classes=2)
    with pytest.raises(ValueError, match=r"init: Says\.predict"):
        cls(n_estimators=2, init=Says(answer)).fit(X, y)


def test_a_column_is_a_beginning() -> None:
    X, y = data()
    column, flat = (
        GradientBoostingRegressor(n_estimators=2, init=Says(each)).fit(X, y).predict(X)
        for each in (lambda n: np.ones((n, 1)), lambda n: np.ones(n))
    )
    np.testing.assert_array_equal(column, flat)
