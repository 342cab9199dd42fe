"""Blending: its weights are the exact optimum, found on rows that members had not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary import LogisticRegression, Ridge
from corollary.ensemble.combine.blending import (
    BlendingClassifier,
    BlendingRegressor,
    nonnegative_weights,
    simplex_weights,
)

CLASSIFIERS = [("linear", LogisticRegression()), ("bayes", GaussianNB()), ("near", KNeighborsClassifier())]
REGRESSORS = [("linear", Ridge()), ("near", KNeighborsRegressor()), ("nearest", KNeighborsRegressor(1))]


def data(n: int = 90, classes: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    target = X @ np.array([1.0, -2.0, 0.5, 0.0]) + X[:, 0] ** 2 + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(target, np.arange(1, classes) / classes), target), target


def columns(seed: int, m: int = 5, n: int = 40) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return y[:, None] + rng.normal(size=(n, m)) * rng.uniform(0.2, 2, m), y, rng.uniform(0.1, 2.0, n)


@pytest.mark.parametrize("seed", range(6))
def test_nonnegative_weights_are_the_optimum(seed: int) -> None:
    P, y, s = columns(seed)
    P[:, 0] *= -1
    w, certificate = nonnegative_weights(P, y, s)
    root = np.sqrt(s)
    np.testing.assert_allclose(w, nnls(P * root[:, None], y * root)[0], atol=1e-9)
    assert certificate.holds
    slope = P.T @ (s * (y - P @ w))
    assert np.abs(slope[w > 0]).max() < 1e-9
    assert slope[w == 0].max() < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_weights_that_sum_to_one_are_the_optimum(seed: int) -> None:
    P, y, s = columns(seed)
    w, certificate = simplex_weights(P, y, s)
    assert certificate.holds
    assert w.sum() == pytest.approx(1.0)
    assert w.min() >= 0

    def cost(v: Any) -> float:
        return float(s @ (y - P @ v) ** 2)

    found = minimize(
        cost,
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert cost(w) <= found.fun * (1 + 1e-8)
    assert cost(w) <= min(cost(unit) for unit in np.eye(5))
    for other in np.random.default_rng(seed).dirichlet(np.ones(5), 200):
        assert cost(w) <= cost(other) * (1 + 1e-12)


def test_the_gap_tells_a_wrong_answer_and_repeated_columns_do_no_harm() -> None:
    P, y, s = columns(0)
    doubled, certificate = simplex_weights(np.hstack([P, P]), y, s)
    assert certificate.holds
    np.testing.assert_allclose(doubled[:5] + doubled[5:], simplex_weights(P, y, s)[0], atol=1e-7)
    perfect, certificate = simplex_weights(np.column_stack([P, y]), y, s)
    np.testing.assert_allclose(perfect, [0, 0, 0, 0, 0, 1], atol=1e-7)
    assert certificate.holds


def test_weights_come_from_out_of_fold_predictions() -> None:
    X, y, target = data()
    cv = KFold(4, shuffle=True, random_state=0)
    model = BlendingRegressor(REGRESSORS, cv=cv).fit(X, target)
    P = np.column_stack([cross_val_predict(member, X, target, cv=cv) for _, member in REGRESSORS])
    np.testing.assert_allclose(model.weights_, nnls(P, target)[0], atol=1e-9)
    fitted = np.column_stack([member.fit(X, target).predict(X) for _, member in REGRESSORS])
    np.testing.assert_allclose(model.predict(X), fitted @ model.weights_)
    facts = model.evidence_.facts
    errors = [facts[f"held-out squared error of {name}"] for name, _ in REGRESSORS]
    np.testing.assert_allclose(errors, np.square(P - target[:, None]).mean(axis=0))
    assert facts["held-out squared error of the blend"] <= min(errors)
    classifier = BlendingClassifier(CLASSIFIERS, cv=cv).fit(X, np.array(["a", "b", "c"])[y])
    probabilities = [cross_val_predict(member, X, y, cv=cv, method="predict_proba") for _, member in CLASSIFIERS]
    blend = sum(w * p for w, p in zip(classifier.weights_, probabilities, strict=True))
    brier = np.square(blend - np.eye(3)[y]).sum(axis=1).mean()
    assert classifier.evidence_.facts["held-out squared error of the blend"] == pytest.approx(brier)
    assert all(brier <= np.square(p - np.eye(3)[y]).sum(axis=1).mean() for p in probabilities)
    assert set(classifier.predict(X)) == {"a", "b", "c"}
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)


def test_held_out_share_and_members_that_come_fitted() -> None:
    X, _, target = data()
    model = BlendingRegressor(REGRESSORS, cv=0.25, sum_to_one=True).fit(X, target)
    fit, held = next(ShuffleSplit(1, test_size=0.25, random_state=0).split(X))
    P = np.column_stack([member.fit(X[fit], target[fit]).predict(X[held]) for _, member in REGRESSORS])
    np.testing.assert_allclose(model.weights_, simplex_weights(P, target[held], np.ones(len(held)))[0], atol=1e-9)
    members = [(name, member.fit(X[:45], target[:45])) for name, member in REGRESSORS]
    prefit = BlendingRegressor(members, cv="prefit").fit(X[45:], target[45:])
    P = np.column_stack([member.predict(X[45:]) for _, member in members])
    np.testing.assert_allclose(prefit.weights_, nnls(P, target[45:])[0], atol=1e-9)
    assert prefit.estimators_[0] is members[0][1]
    assert "came fitted" in str(prefit.evidence_)


def test_classifiers_that_come_fitted_know_labels() -> None:
    X, y, _ = data()
    y = np.array(["a", "b", "c"])[y]
    members = [(name, member.fit(X[:45], y[:45])) for name, member in [*CLASSIFIERS, ("svm", LinearSVC())]]
    model = BlendingClassifier(members, cv="prefit").fit(X[45:], y[45:])
    assert model.score(X, y) > 0.6


def test_uniform_weights() -> None:
    X, y, _ = data()
    model = BlendingClassifier(CLASSIFIERS, weighting="uniform").fit(X, y)
    np.testing.assert_allclose(model.weights_, 1 / 3)
    assert model.evidence_.holds
    facts = model.evidence_.facts
    assert facts["held-out score of the blend"] == pytest.approx(facts["held-out score of the plain mean"])


def test_splits_that_leak_are_told() -> None:
    X, _, target = data()
    rows = np.arange(len(target))
    model = BlendingRegressor(REGRESSORS, cv=[(rows, rows[:30]), (rows[30:], rows[:30])]).fit(X, target)
    assert "had seen the row" in str(model.evidence_)


def test_weights_are_repetitions() -> None:
    X, _, target = data()
    members = [("ridge", Ridge()), ("weak", Ridge(alpha=500.0))]
    weights = np.random.default_rng(0).integers(0, 3, len(target))
    rows = np.repeat(np.arange(len(target)), weights)
    folds = [
        [(np.flatnonzero(r % 3 != k), np.flatnonzero(r % 3 == k)) for k in range(3)] for r in (np.arange(90), rows)
    ]
    weighted = BlendingRegressor(members, cv=folds[0]).fit(X, target, sample_weight=weights)
    repeated = BlendingRegressor(members, cv=folds[1]).fit(X[rows], target[rows])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_bad_input() -> None:
    X, y, target = data()
    with pytest.raises(ValueError, match="non-empty list"):
        BlendingRegressor([]).fit(X, target)
    with pytest.raises(ValueError, match="weighting must be 'linear' or 'uniform'"):
        BlendingClassifier(CLASSIFIERS, weighting="best").fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        BlendingClassifier(CLASSIFIERS).fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="cv must be"):
        BlendingClassifier(CLASSIFIERS, cv=1).fit(X, y)


def test_a_useless_member_and_a_useless_blend() -> None:
    X, _, target = data()
    model = BlendingRegressor([("linear", LinearRegression())], cv=3).fit(X, target)
    assert model.weights_.shape == (1,)
    X = np.zeros((9, 1))
    target = np.tile([1.0, -1.0, 0.0], 3)
    assert "All weights are zero" in str(
        BlendingRegressor([("mean", LinearRegression())], cv=3).fit(X, target).evidence_
    )


def test_plot() -> None:
    X, _, target = data()
    model = BlendingRegressor(REGRESSORS).fit(X, target)
    ax = model.plot()
    np.testing.assert_allclose([patch.get_width() for patch in ax.patches][::-1], model.weights_)
    assert [label.get_text() for label in ax.get_yticklabels()][::-1] == ["linear", "near", "nearest"]


@parametrize_with_checks(
    [
        BlendingClassifier(CLASSIFIERS[:2], cv=3),
        BlendingRegressor([REGRESSORS[0], ("plain", LinearRegression())], cv=3, sum_to_one=True),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
