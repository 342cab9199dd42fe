"""Ensembles before the referee: right ones stand, and what was changed after the fit is refuted."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import KFold

from corollary.ensemble.adaboost.adaboost import AdaBoostClassifier
from corollary.ensemble.boosting.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from corollary.ensemble.claims import verify_adaboost, verify_boosting, verify_forest
from corollary.ensemble.combine.bagging.bagging import BaggingClassifier, BaggingRegressor
from corollary.ensemble.combine.blending import BlendingClassifier, BlendingRegressor
from corollary.ensemble.combine.claims import verify_bag, verify_blend
from corollary.ensemble.combine.stacking import StackingClassifier, StackingRegressor
from corollary.ensemble.combine.voting import VotingClassifier, VotingRegressor
from corollary.ensemble.forest.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from corollary.ensemble.forest.random_forest import RandomForestClassifier, RandomForestRegressor
from corollary.referee.ensembles import blend
from corollary.tree.decision_tree import DecisionTreeClassifier

IRIS, SUGAR = load_iris(return_X_y=True), tuple(part[:150] for part in load_diabetes(return_X_y=True))
FEW: dict[str, Any] = {"n_estimators": 4, "random_state": 0}
MODELS: list[Any] = [
    RandomForestClassifier(**FEW),
    RandomForestClassifier(**FEW, class_weight="balanced"),
    RandomForestRegressor(**FEW),
    RandomForestRegressor(**FEW, bootstrap=False, max_features=0.5),
    ExtraTreesClassifier(**FEW),
    ExtraTreesRegressor(**FEW),
    GradientBoostingClassifier(n_estimators=5),
    GradientBoostingRegressor(n_estimators=5, loss="huber"),
    GradientBoostingRegressor(n_estimators=5, subsample=0.5, random_state=0),
    AdaBoostClassifier(n_estimators=8),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, min_samples_leaf=3), n_estimators=4, learning_rate=0.5),
    BaggingClassifier(**FEW),
    BaggingRegressor(**FEW),
    VotingClassifier(),
    VotingClassifier(voting="soft"),
    VotingRegressor(),
    BlendingClassifier(),
    BlendingRegressor(),
    BlendingRegressor(sum_to_one=True),
    StackingClassifier(),
    StackingRegressor(),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_right_ensembles_stand(model: Any, weighted: bool) -> None:
    X, y = SUGAR if hasattr(model, "score") and "Regressor" in type(model).__name__ else IRIS
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    found = copy.deepcopy(model).fit(X, y, sample_weight=w).evidence_.verify(X, y, w)
    assert found.stands is True, found
    if "excess gain" in found.claim:
        assert "values and gains of all" in found.words


def test_forests_that_try_everything_stand() -> None:
    X, y = IRIS[0].round(), IRIS[1]
    forest = RandomForestClassifier(**FEW, max_features=None, min_samples_leaf=2).fit(X, y)
    assert forest.evidence_.verify(X, y).stands is True
    forest.set_params(min_samples_leaf=1)  # as if the rules had let leaves be split that were not
    assert forest.evidence_.verify(X, y).stands is False


def test_a_walk_without_an_end_is_refuted() -> None:
    X, y = SUGAR
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    left = model.trees_.left.copy()
    left[model.trees_.feature >= 0] = 0
    model.trees_ = replace(model.trees_, left=left)
    assert model.evidence_.verify(X, y).stands is False


def test_changed_ensembles_are_refuted() -> None:
    X, y = SUGAR
    model = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    model.trees_ = replace(model.trees_, value=1.001 * model.trees_.value)
    assert model.evidence_.verify(X, y).stands is False
    blend = BlendingRegressor().fit(X, y)
    blend.weights_ = blend.weights_ * 1.05
    assert blend.evidence_.verify(X, y).stands is False
    forest = RandomForestRegressor(**FEW, bootstrap=False).fit(X, y)
    forest.nodes_ = forest.nodes_ | {"sums": forest.nodes_["sums"] * 1.001}
    assert forest.evidence_.verify(X, y).stands is False


def test_changed_votes_are_refuted() -> None:
    X, y = IRIS
    model = AdaBoostClassifier(n_estimators=8).fit(X, y)
    model.estimator_weights_ = model.estimator_weights_ * np.linspace(1, 1.1, len(model.estimator_weights_))
    assert model.evidence_.verify(X, y).stands is False


def test_huber_of_equal_targets_under_tiny_weights_predicts_them() -> None:
    X, y = SUGAR[0], np.full(150, 3.7)
    model = GradientBoostingRegressor(n_estimators=3, loss="huber").fit(X, y, sample_weight=np.full(150, 1e-30))
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)


def test_monotone_forests_are_not_refuted() -> None:
    X, y = SUGAR
    forest = RandomForestRegressor(**FEW, monotonic_cst=[1] * X.shape[1]).fit(X, y)
    assert forest.evidence_.verify(X, y).stands is None


def test_what_is_no_number_never_stands() -> None:
    X, y = SUGAR
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="y contains NaN"):
        model.evidence_.verify(X, np.where(np.arange(len(y)) == 3, np.nan, y))


def test_the_last_digit_of_blending_weights_is_no_error_of_theirs() -> None:
    """Members without an error of note: what is left of the cost is (ε P w)², and other weights cannot do without."""
    P = np.array([[1.0, 1.0], [1e-20, 0.0], [0.0, 1e-21]])
    y, rows = np.array([1.0, 0.0, 0.0]), np.ones(3)
    near = np.array([1 - 1.5e-6, 1.5e-6 + np.finfo(float).eps])
    assert blend(P, y, rows, near, True, 1e-8).stands
    assert blend(P, y, rows, near + np.array([1e-9, 0.0]), True, 1e-8).stands is False


def test_a_claim_that_was_not_looked_at_does_not_stand() -> None:
    """What members say was added up, and nothing else: of leaves, splits, errors and weights that decides nothing."""
    X, y = SUGAR
    two = RandomForestRegressor(**FEW).fit(X, np.c_[y, X[:, 0]])
    counts = RandomForestRegressor(**FEW, criterion="poisson").fit(X, np.rint(y))
    for model, target in ((two, -np.c_[y, X[:, 0]]), (counts, 1 + np.rint(y))):
        found = model.evidence_.verify(X, target)
        assert found.stands is None, found
        assert "predictions of 150 rows are what the members say" in found.words
    rows = np.tile(X, (8, 1)) + np.linspace(0, 1e-3, 8 * len(X))[:, None]
    bag = BaggingRegressor(**FEW).fit(rows, np.tile(y, 8))
    assert bag.evidence_.verify(rows, -np.tile(y, 8)).stands is None
    stack = StackingRegressor(cv=KFold(3)).fit(X, y)
    assert stack.evidence_.verify(X, y).stands is None


@pytest.mark.parametrize(
    "verify", [verify_forest, verify_bag, verify_blend, verify_boosting, verify_adaboost], ids=lambda f: f.__name__
)
def test_without_the_y_of_the_fit_nothing_is_decided(verify: Any) -> None:
    X, y = IRIS
    models = {
        "verify_forest": RandomForestClassifier(**FEW),
        "verify_bag": BaggingClassifier(**FEW),
        "verify_blend": BlendingClassifier(),
        "verify_boosting": GradientBoostingClassifier(n_estimators=3),
        "verify_adaboost": AdaBoostClassifier(n_estimators=3),
    }
    model = models[verify.__name__].fit(X, y)
    assert verify(model, X, None, None).stands is None
    if verify is verify_blend:
        model.weights_ = np.eye(len(model.weights_))[0]
        assert verify(model, X, None, None).stands is None
        assert verify(model, X, y, None).stands is False
