"""Votes and means of neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.neighbors
from sklearn.utils.estimator_checks import check_estimator

import corollary
from corollary import KNeighborsClassifier, KNeighborsRegressor
from corollary.neighbors.weights import vote_weights

rng = np.random.default_rng(0)
X, Q = rng.normal(size=(200, 3)), rng.normal(size=(40, 3))
Q[:5] = X[:5]  # exact matches
LABELS = np.array(["a", "b", "c"])[rng.integers(0, 3, 200)]
Y = np.column_stack([rng.normal(size=200), X[:, 0] * 3])


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d**2)], ids=["1", "1/d", "own"])
@pytest.mark.parametrize("k", [1, 4, 200])
def test_agrees_with_scikit_learn(weights: Any, k: int) -> None:
    ours = KNeighborsClassifier(k, weights=weights).fit(X, LABELS)
    theirs = sklearn.neighbors.KNeighborsClassifier(k, weights=weights).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q), atol=1e-12)
    for y in (Y, Y[:, 0]):
        mean = KNeighborsRegressor(k, weights=weights).fit(X, y).predict(Q)
        expected = sklearn.neighbors.KNeighborsRegressor(k, weights=weights).fit(X, y).predict(Q)
        np.testing.assert_allclose(mean, expected, atol=1e-12)


def test_several_targets() -> None:
    both = np.column_stack([LABELS, np.where(X[:, 0] > 0, "up", "down")])
    ours = KNeighborsClassifier(6).fit(X, both)
    theirs = sklearn.neighbors.KNeighborsClassifier(6).fit(X, both)
    for mine, yours in zip(ours.predict_proba(Q), theirs.predict_proba(Q), strict=True):
        np.testing.assert_allclose(mine, yours)
    predicted = ours.predict(Q)
    for o, table in enumerate(ours.predict_proba(Q)):
        np.testing.assert_array_equal(predicted[:, o], ours.classes_[o][table.argmax(axis=1)])


@pytest.mark.parametrize("weights", ["uniform", "distance", "inverse", "gaussian"])
def test_prediction_is_the_most_probable_class(weights: str) -> None:
    for dtype in (np.float32, np.float64):
        model = KNeighborsClassifier(8, weights=weights).fit(X.astype(dtype), LABELS)
        table = model.predict_proba(Q.astype(dtype))
        assert table.dtype == dtype
        np.testing.assert_array_equal(model.predict(Q.astype(dtype)), model.classes_[table.argmax(axis=1)])


def test_named_weights_are_their_formulas() -> None:
    model = KNeighborsRegressor(7, weights="inverse", offset=0.3, power=2.5).fit(X, Y)
    own = KNeighborsRegressor(7, weights=lambda d: 1 / (0.3 + d**2.5)).fit(X, Y)
    np.testing.assert_allclose(model.predict(Q), own.predict(Q), rtol=1e-12)
    model = KNeighborsRegressor(7, weights="gaussian", bandwidth=0.4).fit(X, Y)
    own = KNeighborsRegressor(7, weights=lambda d: np.exp(-0.5 * (d / 0.4) ** 2)).fit(X, Y)
    np.testing.assert_allclose(model.predict(Q), own.predict(Q), rtol=1e-12)
    model = KNeighborsRegressor(7, weights="gaussian").fit(X, Y)
    own = KNeighborsRegressor(7, weights=lambda d: np.exp(-0.5 * (d / d[:, -1:]) ** 2)).fit(X, Y)
    np.testing.assert_allclose(model.predict(Q), own.predict(Q), rtol=1e-12)
    model = KNeighborsRegressor(7, weights="inverse", offset=0.0, power=1.0).fit(X, Y)
    np.testing.assert_allclose(model.predict(Q), KNeighborsRegressor(7, weights="distance").fit(X, Y).predict(Q))


@pytest.mark.parametrize("weights", ["distance", "inverse", "gaussian"])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_weights_stay_numbers_at_every_scale(weights: str, scale: float) -> None:
    distances = np.array([[1.0, 2.0, 50.0], [0.0, 0.0, 1.0]]) * scale
    found = vote_weights(weights, distances, np.ones((2, 3)), 1.0, 3.0, 0.01 if weights == "gaussian" else None)
    assert np.isfinite(found).all()
    assert (found.max(axis=1) > 0).all()
    assert (np.diff(found, axis=1) <= 0).all()


@pytest.mark.parametrize("weights", ["uniform", "distance", "inverse", "gaussian"])
def test_a_weight_is_a_number_of_copies(weights: str) -> None:
    copies = rng.integers(0, 4, len(X))
    weighted = KNeighborsClassifier(9, weights=weights).fit(X, LABELS, sample_weight=copies)
    repeated = KNeighborsClassifier(9, weights=weights).fit(np.repeat(X, copies, axis=0), np.repeat(LABELS, copies))
    np.testing.assert_allclose(weighted.predict_proba(Q), repeated.predict_proba(Q), atol=1e-12)
    weighted = KNeighborsRegressor(9, weights=weights).fit(X, Y, sample_weight=copies)
    repeated = KNeighborsRegressor(9, weights=weights).fit(np.repeat(X, copies, axis=0), np.repeat(Y, copies, axis=0))
    np.testing.assert_allclose(weighted.predict(Q), repeated.predict(Q), atol=1e-12)


def test_small_weights_reach_farther() -> None:
    """Weights of 1/10: ten times as many rows fill the same places."""
    tenth = KNeighborsRegressor(4).fit(X, Y, sample_weight=np.full(len(X), 0.1))
    np.testing.assert_allclose(tenth.predict(Q), KNeighborsRegressor(40).fit(X, Y).predict(Q), atol=1e-12)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="add up to 2"):
        KNeighborsRegressor(5).fit(X, Y, sample_weight=np.full(len(X), 0.01))
    with pytest.raises(ValueError, match="shape"):
        KNeighborsRegressor(weights=lambda d: d[0]).fit(X, Y).predict(Q)
    with pytest.raises(ValueError, match="finite numbers"):
        KNeighborsRegressor(weights=lambda d: -d).fit(X, Y).predict(Q)
    with pytest.raises(ValueError, match="n_neighbors = 5"):
        KNeighborsRegressor().fit(X[:3], Y[:3]).predict(Q)
    with pytest.raises(ValueError, match="bandwidth"):
        KNeighborsRegressor(bandwidth=0).fit(X, Y)


@pytest.mark.parametrize("model", [KNeighborsClassifier(weights="distance"), KNeighborsRegressor()], ids=type)
def test_saved_models_predict_the_same(model: Any, tmp_path: Path) -> None:
    model.fit(X, LABELS if isinstance(model, KNeighborsClassifier) else Y)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(corollary.load(tmp_path / "model").predict(Q), model.predict(Q))


@pytest.mark.parametrize(
    "model",
    [KNeighborsClassifier(weights="gaussian"), KNeighborsRegressor(algorithm="brute"), corollary.NearestNeighbors()],
    ids=type,
)
def test_scikit_learn_checks(model: Any) -> None:
    check_estimator(model, on_skip=None)
