"""The worked examples of the notes that concern linear models."""

from __future__ import annotations

import numpy as np
import pytest

from corollary import LinearModel, LinearRegression, LogisticRegression, Ridge
from corollary.core.link import Softmax
from corollary.core.loss import Absolute, Logistic, Squared


def test_softmax_of_one_class_against_two_equal_ones() -> None:
    p = Softmax().inverse(np.array([[2.2, 0.0, 0.0]]))
    np.testing.assert_allclose(p, [[0.8186, 0.0907, 0.0907]], atol=5e-5)


def test_softmax_model_gives_these_probabilities() -> None:
    """A model of three classes whose scores differ by 2.2, through its own ``predict_proba``."""
    model = LogisticRegression().fit(np.eye(3).repeat(3, axis=0), np.arange(3).repeat(3))
    model.coef_, model.intercept_ = np.array([[2.2], [0.0], [0.0]]), np.zeros(3)
    model.n_features_in_ = 1
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[0.8186, 0.0907, 0.0907]], atol=5e-5)
    assert model.predict([[1.0]]) == [0]


NOT = (np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1, -1]))


def test_boolean_not_by_the_weights_of_the_notes() -> None:
    X, y = NOT
    np.testing.assert_array_equal(np.sign(X @ [1.0, -2.0]), y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "exponential"])
def test_boolean_not_is_learnt(loss: str) -> None:
    """The first column is the constant, so no intercept is fitted; any solution has w₁ > 0 and w₁ + w₂ < 0."""
    X, y = NOT
    model = LinearModel(loss, alpha=1e-3, fit_intercept=False).fit(X, y)
    w = model.coef_[0]
    assert w[0] > 0
    assert w[0] + w[1] < 0
    np.testing.assert_array_equal(model.predict(X), y)


def test_boolean_not_of_least_norm_is_the_hard_margin_answer() -> None:
    """With margins of one exactly, the smallest weights are those of the notes: (1, −2)."""
    X, y = NOT
    model = LinearModel("hinge", alpha=1e-6, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1.0, -2.0]], atol=1e-4)


def test_squared_loss_is_less_robust_than_absolute_loss() -> None:
    """(Errata.) One wild point moves a mean as far as it likes, and a median hardly."""
    x, y = np.zeros((9, 1)), np.append(np.arange(8.0), 1000.0)
    mean = LinearModel("squared", "none").fit(x, y).intercept_
    median = LinearModel("absolute", "none").fit(x, y).intercept_
    assert mean == pytest.approx(y.mean())
    assert median == pytest.approx(4.0, abs=1e-4)
    assert np.abs(Squared().gradient(y, np.full(9, 4.0))).max() > 900
    assert np.abs(Absolute().gradient(y, np.full(9, 4.0))).max() == 1


def test_gradient_of_the_logistic_loss() -> None:
    """(Errata.) −y x / (1 + exp(y θᵀx)): the slope in the raw prediction times x."""
    rng = np.random.default_rng(0)
    x, theta, y = rng.normal(size=3), rng.normal(size=3), -1.0
    slope = Logistic().gradient(np.array([y]), np.array([theta @ x]))[0]
    np.testing.assert_allclose(slope * x, -y * x / (1 + np.exp(y * theta @ x)))


def test_effective_degrees_of_freedom() -> None:
    """(Errata.) Σ d² / (d² + λ), the trace of the hat matrix, without the target in it."""
    X = np.random.default_rng(1).normal(size=(20, 4))
    model = Ridge(alpha=2.0, fit_intercept=False).fit(X, X[:, 0])
    hat = X @ np.linalg.solve(X.T @ X + 2.0 * np.eye(4), X.T)
    assert model.effective_dof_ == pytest.approx(np.trace(hat))


def test_rank_deficient_least_squares_has_minimum_norm_and_says_so() -> None:
    X = np.random.default_rng(2).normal(size=(10, 2))
    X = np.column_stack([X, X.sum(axis=1)])
    model = LinearRegression(fit_intercept=False).fit(X, X[:, 0])
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ X[:, 0], atol=1e-10)
    assert model.rank_ == 2
    assert "rank" in str(model.evidence_)
