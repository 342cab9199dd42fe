"""Forests and boosting in the common loop: what is kept when a fit is broken off, and what the history says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_score

from corollary import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Kind,
    RandomForestClassifier,
    RandomForestRegressor,
    Status,
    TimeBudget,
)
from corollary.core.types import Array
from corollary.solvers.trees.boosting.growth import Growth
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.forest import forest as forest_module


class Breaks:
    """Stands for a function that is interrupted when it is called for the ``at``-th time."""

    def __init__(self, function: Any, at: int) -> None:
        self.function, self.at, self.calls = function, at, 0

    def __get__(self, owner: Any, _: Any = None) -> Any:
        return lambda *args, **kwargs: self(owner, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self.function(*args, **kwargs)


def classes(k: int = 3) -> tuple[Array, Array]:
    return make_classification(300, 6, n_informative=4, n_classes=k, random_state=0)


@pytest.mark.parametrize("place", ["round", "_run"])
def test_boosting_keeps_whole_rounds(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Ctrl-C in the fourth round of three trees: nine trees stay, those of a fit of three rounds."""
    X, y = classes()
    at = 4 if place == "round" else 5  # derivatives are worked out once before the first round
    monkeypatch.setattr(Growth, place, Breaks(getattr(Growth, place), at))
    model = GradientBoostingClassifier(n_estimators=50, n_jobs=1)
    with pytest.raises(KeyboardInterrupt, match="Interrupted: rise of the training loss"):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.n_iter_ == 3
    assert model.trees_.n_trees == 9
    assert model.evidence_.status is Status.INTERRUPTED
    assert not model.evidence_.holds
    np.testing.assert_array_equal(model.evidence_.history["iteration"], [0, 1, 2, 3])
    whole = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_boosting_keeps_the_rounds_whose_loss_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = classes(2)
    monkeypatch.setattr(Objective, "derivatives", Breaks(Objective.derivatives, 5))
    model = GradientBoostingClassifier(loss="exponential", n_estimators=50)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == model.trees_.n_trees == 3
    assert len(model.evidence_.history["objective"]) == 4


def searched(model: Any, X: Array, y: Array) -> Any:
    return GridSearchCV(model, {"learning_rate": [0.1, 0.2]}, cv=3).fit(X, y)


@pytest.mark.parametrize("around", [cross_val_score, searched])
def test_ctrl_c_in_a_round_ends_what_is_around_it(monkeypatch: pytest.MonkeyPatch, around: Any) -> None:
    X, y = classes()
    grow = Breaks(Growth.round, 8)
    monkeypatch.setattr(Growth, "round", grow)
    with pytest.raises(KeyboardInterrupt):
        around(GradientBoostingClassifier(n_estimators=20, n_jobs=1), X, y)
    assert grow.calls == 8  # no further fold was begun


def test_ctrl_c_before_anything_is_known_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = classes()
    monkeypatch.setattr(forest_module, "grow_tree", Breaks(forest_module.grow_tree, 1))
    model = RandomForestClassifier(n_estimators=5, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "nodes_")
    assert not hasattr(model, "evidence_")


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier])
def test_a_forest_keeps_its_trees(monkeypatch: pytest.MonkeyPatch, cls: Any, n_jobs: int) -> None:
    X, y = classes()
    monkeypatch.setattr(forest_module, "grow_tree", Breaks(forest_module.grow_tree, 7))
    model = cls(n_estimators=40, random_state=0, bootstrap=True, oob_score=True, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt, match=r"Interrupted: (excess gain of other splits|error of gains)"):
        model.fit(X, y)
    monkeypatch.undo()
    kept = model.trees_.n_trees
    assert 1 <= kept <= 8
    assert model.evidence_.status is Status.INTERRUPTED
    whole = cls(n_estimators=40, random_state=0, bootstrap=True).fit(X, y)  # whose first trees these are
    np.testing.assert_array_equal(model.trees_.value, whole.trees_.head(kept).value)
    assert np.isfinite(model.predict(X)).all()
    assert len(model.evidence_.history["OOB error"]) == kept


def test_a_budget_stops_between_trees_and_rounds() -> None:
    X, y = classes()
    for model in (RandomForestClassifier(n_estimators=9000), GradientBoostingClassifier(n_estimators=3000)):
        with pytest.warns(UserWarning, match="Stopped early: .* stopped by a callback"):
            model.set_callbacks(TimeBudget(0.02)).fit(X, y)
        assert model.evidence_.status is Status.BUDGET
        assert model.trees_.n_trees < 9000  # three trees, one for each class, in a round of boosting
        assert not model.evidence_.holds


@pytest.mark.parametrize("model", [RandomForestRegressor(8, random_state=0), GradientBoostingRegressor(n_estimators=8)])
def test_what_is_claimed_is_a_check(model: Any) -> None:
    X, y = make_regression(200, 5, noise=5.0, random_state=0)
    evidence = model.fit(X, y).evidence_
    assert evidence.certificate.kind is Kind.CHECKED
    assert str(evidence).startswith("Checked: ")
    assert evidence.n_iter == 8
    assert {"iteration", "objective", "seconds"} == set(evidence.history)
    assert evidence.facts["objective"] == evidence.history["objective"][-1]


def test_the_objective_of_a_forest_is_the_impurity_of_its_leaves() -> None:
    X, y = make_regression(300, 5, noise=5.0, random_state=0)
    model = RandomForestRegressor(6, min_samples_leaf=10, random_state=0).fit(X, y)
    trees = [model.trees_.tree(t) for t in range(6)]
    left = [float((t.impurity * t.weight)[t.is_leaf].sum() / t.weight[0]) for t in trees]
    np.testing.assert_allclose(model.evidence_.history["objective"], np.cumsum(left) / np.arange(1, 7))
    parts = RandomForestRegressor(4, min_samples_leaf=10, random_state=0, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=6).fit(X, y)
    np.testing.assert_array_equal(parts.evidence_.history["iteration"], [4, 5, 6])
    np.testing.assert_allclose(parts.evidence_.history["objective"], model.evidence_.history["objective"][3:])
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators"):
        again = parts.fit(X, y).evidence_  # nothing is left to grow
    assert again.holds
    assert again.n_iter == 6
    assert parts.trees_.n_trees == 6


def test_the_history_of_a_warm_start_goes_on() -> None:
    X, y = make_regression(200, 5, noise=5.0, random_state=0)
    model = GradientBoostingRegressor(n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=7).fit(X, y)
    np.testing.assert_array_equal(model.evidence_.history["iteration"], [3, 4, 5, 6, 7])
    assert model.n_iter_ == model.evidence_.n_iter == 7


def test_a_loss_that_is_not_a_number_ends_the_fit_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_regression(200, 5, noise=5.0, random_state=0)
    plain, calls = Objective.mean, iter(range(100))
    monkeypatch.setattr(Objective, "mean", lambda *args: np.nan if next(calls) == 3 else plain(*args))
    model = GradientBoostingRegressor(n_estimators=10)
    with pytest.warns(UserWarning, match="Check failed: .* let the training loss rise"):
        model.fit(X, y)
    assert model.n_iter_ == model.trees_.n_trees == 2
    assert model.evidence_.status is Status.RISING
