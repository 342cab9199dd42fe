"""Decisions by cost: brute force, argmax for 0–1 costs, rejection, calibration, routing, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.linear_model import Perceptron, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from corollary import CostSensitiveClassifier, Kind, LogisticRegression, RandomForestClassifier
from corollary.bayes.costs import decide
from corollary.bayes.temperature import at_temperature, best_temperature

NAMES = np.array(["ape", "bee", "cat"])
COST = np.array([[0.0, 1.0, 9.0], [2.0, -1.0, 3.0], [4.0, 0.5, 0.1]])


def rows(n: int = 150, k: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, 3)) + np.eye(3)[y] * 1.2
    return X, NAMES[y]


@pytest.mark.parametrize("reject_cost", [None, 0.6])
@pytest.mark.parametrize("estimator", [None, GaussianNB(), KNeighborsClassifier(3)], ids=repr)
def test_every_decision_is_the_cheapest(estimator: Any, reject_cost: Any) -> None:
    X, y = rows()
    model = CostSensitiveClassifier(estimator, COST, reject_cost=reject_cost).fit(X, y)
    inner = clone(estimator or LogisticRegression()).fit(X, y)
    p = inner.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), p)
    for row, said, expected in zip(p, model.predict(X), model.expected_cost(X), strict=True):
        prices = {NAMES[j]: sum(row[i] * COST[i, j] for i in range(3)) for j in range(3)}
        if reject_cost is not None:
            prices["rejected"] = reject_cost
        assert prices[said] <= min(prices.values()) + 1e-12
        np.testing.assert_allclose(expected, list(prices.values()), atol=1e-12)
    assert model.evidence_.holds
    assert model.evidence_.certificate.kind is Kind.EXACT
    assert model.evidence_.verify(X, y).stands


@pytest.mark.parametrize("cost", [None, 1 - np.eye(3), 7 * (1 - np.eye(3)), (5 - 5 * np.eye(3)).tolist()])
def test_costs_of_zero_and_one_decide_for_the_most_probable(cost: Any) -> None:
    X, y = rows()
    for estimator in (KNeighborsClassifier(4), RandomForestClassifier(5, random_state=0), LogisticRegression()):
        model = CostSensitiveClassifier(estimator, cost).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    ties = np.array([[0.25, 0.375, 0.375], [1 / 3, 1 / 3, 1 / 3], [0.1, 0.2, 0.7]])
    assert decide(ties, np.asarray(1 - np.eye(3))).tolist() == [1, 0, 2]


def test_two_classes_are_a_threshold() -> None:
    """Elkan's threshold: positive where p ≥ c₁₀ / (c₁₀ + c₀₁)."""
    X, y = rows()
    y = np.where(y == "bee", 1, 0)
    model = CostSensitiveClassifier(cost=[[0, 1], [9, 0]]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), (model.predict_proba(X)[:, 1] > 0.1).astype(int))
    chow = CostSensitiveClassifier(reject_cost=0.3).fit(X, y)
    assert ((chow.predict(X) == -1) == (chow.predict_proba(X).max(axis=1) < 0.7)).all()


def test_costs_by_name() -> None:
    X, y = rows()
    by_name = {a: {b: COST[i, j] for j, b in enumerate(NAMES.tolist())} for i, a in enumerate(NAMES.tolist())}
    named, plain = CostSensitiveClassifier(cost=by_name).fit(X, y), CostSensitiveClassifier(cost=COST).fit(X, y)
    np.testing.assert_array_equal(named.cost_, plain.cost_)
    np.testing.assert_array_equal(named.predict(X), plain.predict(X))


def test_it_costs_less_where_mistakes_differ() -> None:
    X, y = rows(600)
    model = CostSensitiveClassifier(cost=COST, cv=5).fit(X, y)
    facts = model.evidence_.facts
    assert facts["mean cost on held-out rows"] < facts["mean cost of the most probable class on held-out rows"]
    places = {name: i for i, name in enumerate(NAMES.tolist())}
    paid = [COST[places[truth], places[said]] for truth, said in zip(y, model.predict(X), strict=True)]
    assert model.mean_cost(X, y) == pytest.approx(np.mean(paid))
    weights = np.arange(600) % 3
    assert model.mean_cost(X, y, weights) == pytest.approx(np.average(paid, weights=weights))


@pytest.mark.parametrize("cv", [3, KFold(4)])
def test_held_out_costs_by_hand(cv: Any) -> None:
    X, y = rows(90)
    model = CostSensitiveClassifier(Theirs(), COST, cv=cv).fit(X, y)
    from sklearn.model_selection import cross_val_predict

    p = cross_val_predict(Theirs(), X, y, cv=cv, method="predict_proba")
    decided, truth = decide(p, COST), np.searchsorted(NAMES, y)
    assert model.evidence_.facts["mean cost on held-out rows"] == pytest.approx(COST[truth, decided].mean())


def test_temperature_against_scikit_learn_and_a_grid() -> None:
    X, y = rows(400)
    bold = KNeighborsClassifier(3)
    model = CostSensitiveClassifier(bold, calibration="temperature", cv=4).fit(X, y)
    assert model.temperature_ > 1  # three neighbours are far too sure of themselves
    assert model.evidence_.verify(X, y).stands
    Z, z = rows(400, seed=1)
    assert log_loss(z, model.predict_proba(Z)) < log_loss(z, clone(bold).fit(X, y).predict_proba(Z))
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    truth = np.array([rng.choice(3, p=at_temperature(row[None], 2.0)[0]) for row in p])
    w = rng.integers(0, 3, 300).astype(float)
    best = best_temperature(p, truth, w)
    losses = [log_loss(truth, at_temperature(p, t), sample_weight=w) for t in (best * 0.99, best, best * 1.01)]
    assert losses[1] == min(losses)
    assert 1 < best < 4
    assert best == pytest.approx(
        best_temperature(np.repeat(p, w.astype(int), axis=0), np.repeat(truth, w.astype(int)), np.ones(int(w.sum())))
    )
    np.testing.assert_array_equal(at_temperature(p, 3.0).argmax(axis=1), p.argmax(axis=1))


def test_classifiers_that_come_fitted() -> None:
    X, y = rows()
    inner = LogisticRegression().fit(X[:75], y[:75])
    model = CostSensitiveClassifier(inner, COST, cv="prefit", calibration="temperature").fit(X[75:], y[75:])
    assert model.estimator_ is inner
    assert model.evidence_.verify(X[75:], y[75:]).stands
    frozen = CostSensitiveClassifier(FrozenEstimator(inner), COST).fit(X[75:], y[75:])
    np.testing.assert_array_equal(
        frozen.predict(X), CostSensitiveClassifier(inner, COST, cv="prefit").fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="'dog', which the classifier does not know"):
        CostSensitiveClassifier(inner, COST, cv="prefit").fit(X, np.where(y == "ape", "dog", y))


def test_others_calibrate_too() -> None:
    X, y = rows()
    model = CostSensitiveClassifier(CalibratedClassifierCV(GaussianNB(), cv=3), COST).fit(X, y)
    assert model.evidence_.verify(X, y).stands


def test_weights_are_repetitions() -> None:
    X, y = rows()
    w = np.random.default_rng(1).integers(0, 3, len(y))
    again = np.repeat(np.arange(len(y)), w)
    weighted = CostSensitiveClassifier(cost=COST).fit(X, y, sample_weight=w)
    repeated = CostSensitiveClassifier(cost=COST).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)
    for name, value in repeated.evidence_.facts.items():
        assert weighted.evidence_.facts[name] == pytest.approx(value)
    with pytest.raises(TypeError, match="KNeighborsClassifier does not support sample weights"):
        CostSensitiveClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=w)
    pipeline = make_pipeline(StandardScaler(), Theirs())
    inside = CostSensitiveClassifier(pipeline, COST, cv=3).fit(X, y, sample_weight=w)
    assert inside.evidence_.holds


def test_metadata_is_routed() -> None:
    X, y = rows()
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    direct = CostSensitiveClassifier(Theirs(), COST).fit(X, y, sample_weight=w)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Theirs().set_fit_request(sample_weight=True)
        routed = CostSensitiveClassifier(inner, COST, cv=3).fit(X, y, sample_weight=w)
        with pytest.raises(TypeError, match="not routed to any object"):
            CostSensitiveClassifier(Theirs().set_fit_request(sample_weight=False)).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(routed.predict_proba(X), direct.predict_proba(X))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        CostSensitiveClassifier().fit(X, y, groups=y)


def test_labels_of_deciding_nothing() -> None:
    X, y = rows()
    numbers = np.searchsorted(NAMES, y)
    model = CostSensitiveClassifier(reject_cost=0.05, reject_label=99).fit(X, numbers)
    assert set(model.predict(X).tolist()) >= {0, 1, 99}
    assert model.decisions_.dtype == numbers.dtype
    objects = CostSensitiveClassifier(reject_cost=0.05, reject_label="ask").fit(X, y.astype(object))
    assert "ask" in objects.predict(X)
    for label, target, words in ((1, numbers, "none of the classes"), ("no", numbers, "a number"), (3, y, "text"),
                                 (None, y == "bee", "must be given")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            CostSensitiveClassifier(reject_cost=0.1, reject_label=label).fit(X, target)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cost": np.eye(2)}, r"each of the 3 classes \['ape', 'bee', 'cat'\], but its shape is \(2, 2\)"),
        ({"cost": [["a"]]}, "table of numbers"),
        ({"cost": np.full((3, 3), np.inf)}, "deciding 'ape' where 'ape' is true is inf"),
        ({"cost": {"ape": {"bee": 1}}}, r"cost\['ape'\] must say what deciding 'cat' costs"),
        ({"cost": {"ape": {"bee": 1, "cat": 1}}}, "where 'bee' is true"),
        ({"cost": {a: dict.fromkeys([*NAMES, "dog"], 1) for a in NAMES.tolist()}}, "about 'dog'"),
        ({"reject_cost": -1.0}, "reject_cost must be"),
        ({"estimator": Perceptron()}, "estimator must be None or a classifier"),
        ({"estimator": Ridge()}, "estimator must be None or a classifier"),
        ({"calibration": "isotonic"}, "calibration must be None or 'temperature'"),
        ({"cv": 1}, "cv must be"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], words: str) -> None:
    X, y = rows(30)
    with pytest.raises(ValueError, match=words):
        CostSensitiveClassifier(**changes).fit(X, y)


def test_a_tampered_decision_is_refuted() -> None:
    X, y = rows()
    model = CostSensitiveClassifier(cost=COST).fit(X, y)
    for name, value in (("cost_", COST.T.copy()), ("temperature_", 1.5)):
        kept, vars(model)[name] = vars(model)[name], value
        assert model.evidence_.verify(X, y).stands is False, name
        vars(model)[name] = kept
    warm = CostSensitiveClassifier(calibration="temperature", cv=3).fit(X, y)
    warm.temperature_ *= 1.2
    assert warm.evidence_.verify(X, y).stands is False


def test_a_frame_of_costs_is_saved(tmp_path: Any) -> None:
    X, y = rows()
    frame = pd.DataFrame(COST, index=NAMES, columns=NAMES)
    model = CostSensitiveClassifier(cost=frame).fit(X, y)
    model.save(tmp_path / "model")
    back = CostSensitiveClassifier.load(tmp_path / "model")
    pd.testing.assert_frame_equal(back.cost, frame)
    np.testing.assert_array_equal(back.fit(X, y).predict(X), model.predict(X))
