"""The referee of boosting: steps of leaves that are not the best for their rows are caught; what judges say is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from corollary._compiled.trees.boosting.books import CAP, RATE
from corollary.core.loss import Quantile
from corollary.ensemble.boosting.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from corollary.solvers.trees.boosting.growth import Growth

MODELS: list[Any] = [
    GradientBoostingRegressor(n_estimators=15),
    GradientBoostingRegressor(loss="poisson", n_estimators=15, l2_regularization=2.0, l1_regularization=0.5),
    GradientBoostingRegressor(loss=Quantile(0.7), n_estimators=15),
    GradientBoostingRegressor(loss="huber", n_estimators=15, l2_regularization=1.0),
    GradientBoostingClassifier(n_estimators=15),
    GradientBoostingClassifier(n_estimators=15, learning_rate=1.0, l2_regularization=0.1),
]


def data(model: Any) -> tuple[Any, Any]:
    return (
        load_iris(return_X_y=True) if isinstance(model, GradientBoostingClassifier) else load_diabetes(return_X_y=True)
    )


def shorten_steps(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Every leaf takes this share of its step."""
    real = Growth.__init__

    def shorter(self: Growth, *args: Any) -> None:
        real(self, *args)
        self.rules[[RATE, CAP]] *= share

    monkeypatch.setattr(Growth, "__init__", shorter)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_steps_that_are_too_short_are_caught_though_the_loss_falls(monkeypatch: pytest.MonkeyPatch, model: Any) -> None:
    X, y = data(model)
    assert model.fit(X, y).evidence_.holds
    assert model.evidence_.facts["leaves worked out again"] >= 6
    shorten_steps(monkeypatch, 0.97)
    with pytest.warns(UserWarning, match="slope left in checked leaves"):
        model.fit(X, y)
    assert np.diff(model.evidence_.history["objective"]).max() <= 0  # the claim of old holds
    assert 1e-5 < model.evidence_.certificate.value < 1


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_right_steps_pass_at_any_scale(loss: str, scale: float, offset: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    w = np.random.default_rng(0).uniform(0.1, 3, len(y)) * scale
    model = GradientBoostingRegressor(loss=loss, n_estimators=20).fit(X, scale * (y + offset), sample_weight=w)
    assert model.evidence_.holds


def test_what_the_judges_said_is_a_sentence() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=400, early_stopping=True, n_iter_no_change=7, random_state=0).fit(
        X, y
    )
    facts, history = model.evidence_.facts, model.evidence_.history["validation loss"]
    kept = int(facts["best round"])
    assert kept == model.n_iter_
    assert facts["validation loss"] == history[kept] == min(history)
    assert len(history) == kept + 8
    assert f"Kept {kept} rounds: their validation loss, {history[kept]:.4g}, was not lowered" in str(model.evidence_)
    short = GradientBoostingRegressor(n_estimators=3).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert "was lowest after the last round: more rounds may lower it." in str(short.evidence_)


def test_how_far_from_rest_is_a_fact() -> None:
    X, y = load_diabetes(return_X_y=True)
    shares = [
        GradientBoostingRegressor(n_estimators=n)
        .fit(X, y)
        .evidence_.facts["slopes of the rows over those at the start"]
        for n in (1, 10, 100)
    ]
    assert 1 > shares[0] > shares[1] > shares[2] > 0


@pytest.mark.parametrize("quantile", [0.1, 0.25, 0.9])
def test_quantiles_do_not_depend_on_the_order_of_the_rows(quantile: float) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = np.round(rng.normal(size=(40, 3)), 1), rng.normal(size=40)
        model = GradientBoostingRegressor(
            loss=Quantile(quantile), n_estimators=15, min_samples_leaf=1, max_leaf_nodes=8
        )
        expected, order = model.fit(X, y).predict(X), rng.permutation(40)
        np.testing.assert_allclose(model.fit(X[order], y[order]).predict(X), expected, atol=1e-12)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.7, 0.75])
def test_the_best_shift_treats_a_weight_as_repetition(quantile: float) -> None:
    rng = np.random.default_rng(0)
    y, w = np.round(rng.normal(size=20), 1), rng.integers(1, 4, 20)
    loss, many = Quantile(quantile), np.repeat(y, w)
    found = loss.best_shift(y, np.zeros(20), w.astype(float))
    assert found == loss.best_shift(many, np.zeros(len(many)), np.ones(len(many)))
    assert found == loss.best_shift(y[::-1], np.zeros(20), 8.0 * w[::-1])
    costs = [w @ loss.value(y, np.full(20, v)) for v in y]
    assert w @ loss.value(y, np.full(20, found)) <= min(costs) + 1e-12


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_the_unit_of_y_does_not_matter(loss: str) -> None:
    """Once a split had to gain more than a number in units of y, so that tiny targets were never split."""
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(loss=loss, n_estimators=5)
    said = model.fit(X, y).predict(X)
    for unit in (2.0**-440, 2.0**-60, 2.0**400):
        np.testing.assert_array_equal(model.fit(X, unit * y).predict(X), unit * said)
    for unit in (1e-300, 1e200):
        with pytest.raises(ValueError, match="power of two"):
            model.fit(X, unit * y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_referee_works_out_the_step_of_every_leaf(
    monkeypatch: pytest.MonkeyPatch, model: Any, weighted: bool
) -> None:
    """Steps that are too short lower the loss in every round: only the slope that they leave tells."""
    X, y = data(model)
    w = np.random.default_rng(0).integers(0, 4, len(y)) * 3.7 if weighted else None
    found = model.fit(X, y, sample_weight=w).evidence_.verify(X, y, w)
    assert found.stands, found
    assert "of all leaves" in found.words
    proved = model.evidence_
    shorten_steps(monkeypatch, 0.999)
    with pytest.warns(UserWarning, match="slope left in checked leaves"):
        model.fit(X, y, sample_weight=w)
    model.evidence_ = replace(model.evidence_, status=proved.status, certificate=proved.certificate)
    assert model.evidence_.holds
    found = model.evidence_.verify(X, y, w)
    assert found.stands is False
    assert "the step of a leaf leaves a slope" in found.words


def test_rounds_of_an_earlier_fit_are_not_judged_by_the_rate_of_this_one() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=5, learning_rate=0.3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=9, learning_rate=0.1).fit(X, y)
    found = model.evidence_.verify(X, y)
    assert found.stands, found


def test_steps_below_the_smallest_numbers_are_no_slope() -> None:
    X, y = np.zeros((26, 1)), np.zeros(26)
    model = GradientBoostingRegressor(loss="absolute_error", n_estimators=8, min_samples_leaf=2).fit(X, y)
    found = model.evidence_.verify(X, y)
    assert found.stands, found
