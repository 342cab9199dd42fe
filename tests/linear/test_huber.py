"""Huber regression."""

from __future__ import annotations

import numpy as np
import pytest

from corollary import HuberRegressor, LinearRegression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
TRUTH = np.array([1.0, -2.0, 0.5])
Y = X @ TRUTH + 4.0 + 0.1 * RNG.normal(size=80)
WILD = Y.copy()
WILD[::10] += 50.0


def test_outliers_are_found_and_ignored() -> None:
    robust, plain = HuberRegressor().fit(X, WILD), LinearRegression().fit(X, WILD)
    np.testing.assert_allclose(robust.coef_, TRUTH, atol=0.1)
    assert np.abs(plain.coef_ - TRUTH).max() > 1.0
    assert robust.outliers_[::10].all()
    assert robust.outliers_.sum() < 30
    assert robust.evidence_.holds


def test_scale_is_stationary() -> None:
    """Σ min(z², ε²) = n at the optimum."""
    model = HuberRegressor(epsilon=1.5).fit(X, WILD)
    z = (WILD - model.predict(X)) / model.scale_
    assert np.minimum(z**2, 1.5**2).mean() == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_array_equal(model.outliers_, np.abs(z) > 1.5)


def test_scaling_the_target_scales_everything() -> None:
    first, second = HuberRegressor(alpha=0.0).fit(X, WILD), HuberRegressor(alpha=0.0).fit(X, 1000 * WILD)
    np.testing.assert_allclose(second.coef_, 1000 * first.coef_, rtol=1e-3)
    assert second.scale_ == pytest.approx(1000 * first.scale_, rel=1e-3)


def test_large_epsilon_is_least_squares() -> None:
    model = HuberRegressor(epsilon=100.0, alpha=0.0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, Y).coef_, rtol=1e-5)


def test_warm_start_at_the_answer_takes_no_iteration() -> None:
    model = HuberRegressor(warm_start=True).fit(X, WILD)
    assert model.n_iter_ > 0
    assert model.fit(X, WILD).n_iter_ <= 1
    assert model.fit(X[:, :2], WILD).evidence_.holds  # a start of another shape is no start


def test_exact_fit() -> None:
    model = HuberRegressor(alpha=0.0).fit(X, X @ TRUTH + 4.0)
    np.testing.assert_allclose(model.coef_, TRUTH, atol=1e-6)
    assert model.intercept_ == pytest.approx(4.0)
