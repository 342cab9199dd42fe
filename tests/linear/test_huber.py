"""Huber regression."""

from __future__ import annotations

import numpy as np
import pytest

from corollary import HuberRegressor, LinearModel, LinearRegression, Status
from corollary.base import EvidenceWarning

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


@pytest.mark.parametrize("tol", [1e-6, 1e-8, 1e-10])
def test_exact_fit(tol: float) -> None:
    model = HuberRegressor(alpha=0.0, tol=tol).fit(X, X @ TRUTH + 4.0)
    np.testing.assert_allclose(model.coef_, TRUTH, atol=1e-6)
    assert model.intercept_ == pytest.approx(4.0)
    assert model.evidence_.holds
    assert model.evidence_.status is Status.CONVERGED
    assert model.scale_ == 0.0
    assert not model.outliers_.any()


@pytest.mark.parametrize("epsilon", [1.0, 1.001])
def test_a_scale_of_zero_is_least_absolute_deviations_and_says_so(epsilon: float) -> None:
    heavy = Y + np.random.default_rng(1).standard_t(1.2, len(Y))
    model = HuberRegressor(epsilon=epsilon, alpha=0.0).fit(X, heavy)
    assert model.evidence_.holds
    assert model.scale_ == 0.0
    assert "The best scale is zero" in str(model.evidence_)
    absolute = LinearModel("absolute", "none").fit(X, heavy)
    np.testing.assert_allclose(model.coef_, absolute.coef_, atol=1e-5)
    deviations = np.abs(heavy - model.predict(X)).sum()
    assert model.evidence_.facts["objective"] == pytest.approx(2 * epsilon * deviations, rel=1e-12)
    assert (~model.outliers_).sum() == 4  # a plane in three columns goes through four points
    again = HuberRegressor(epsilon=epsilon, alpha=0.0, warm_start=True).fit(X, heavy).fit(X, heavy)
    assert again.evidence_.holds
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_scale_falls_with_epsilon_and_stays_above_zero_while_it_can(seed: int) -> None:
    heavy = Y + np.random.default_rng(seed).standard_t(1.2, len(Y))
    scales = []
    for epsilon in (2.0, 1.5, 1.2, 1.1, 1.05):
        model = HuberRegressor(epsilon=epsilon).fit(X, heavy)
        assert model.evidence_.holds, str(model.evidence_)
        z = (heavy - model.predict(X)) / model.scale_
        assert np.minimum(z**2, epsilon**2).mean() == pytest.approx(1.0, rel=1e-4)
        assert "zero" not in str(model.evidence_)
        scales.append(model.scale_)
    assert (np.diff(scales) < 0).all()


def test_without_an_intercept_there_is_none() -> None:
    """A Newton step in all unknowns at once left 1e-17 in it, or not, by the BLAS at hand."""
    rng = np.random.default_rng(6)
    for _ in range(40):
        rows = rng.normal(size=(int(rng.integers(10, 80)), int(rng.integers(1, 8))))
        model = HuberRegressor(fit_intercept=False).fit(rows, rows.sum(axis=1) + rng.standard_t(2, len(rows)))
        assert model.intercept_ == 0.0


def test_no_iteration_at_all_keeps_the_start_and_says_so() -> None:
    with pytest.warns(EvidenceWarning, match="max_iter"):
        model = HuberRegressor(max_iter=0).fit(X, WILD)
    assert model.n_iter_ == 0
    assert model.outliers_.shape == WILD.shape
    best = HuberRegressor(warm_start=True).fit(X, WILD)
    coef = best.coef_.copy()
    np.testing.assert_array_equal(best.set_params(max_iter=0).fit(X, WILD).coef_, coef)
    assert best.evidence_.holds
