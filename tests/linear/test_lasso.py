"""Lasso, elastic net and their paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes

from corollary import ElasticNet, Lasso, LinearRegression, enet_path, lasso_path
from corollary.linear import squared_path as module

X, Y = load_diabetes(return_X_y=True)


def test_no_penalty_is_least_squares() -> None:
    plain = LinearRegression().fit(X, Y)
    for model in (Lasso(alpha=0.0, tol=1e-12), ElasticNet(alpha=0.0, tol=1e-12)):
        model.fit(X, Y)
        assert model.evidence_.holds
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-5)


def test_strong_penalty_leaves_the_mean() -> None:
    model = Lasso(alpha=1e6).fit(X, Y)
    assert not model.coef_.any()
    assert model.intercept_ == pytest.approx(Y.mean())
    assert model.evidence_.holds


def test_alpha_max_is_sharp() -> None:
    largest = np.abs((X - X.mean(axis=0)).T @ (Y - Y.mean())).max() / len(Y)
    assert not Lasso(alpha=largest * (1 + 1e-9)).fit(X, Y).coef_.any()
    assert np.count_nonzero(Lasso(alpha=largest * 0.999).fit(X, Y).coef_) == 1


def test_tall_and_wide_routes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows compressed to d of them, or used as they are."""
    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(Y))
    fits = []
    for compressed in (True, False):
        monkeypatch.setattr(module, "worth_compressing", lambda shape, answer=compressed: answer)
        for intercept in (True, False):
            model = ElasticNet(0.01, l1_ratio=0.9, fit_intercept=intercept, tol=1e-12)
            fits.append(model.fit(X, Y, sample_weight=weights))
    for first, second in zip(fits[:2], fits[2:], strict=True):
        np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-6, atol=1e-6)
        assert first.intercept_ == pytest.approx(second.intercept_, rel=1e-8)


def test_several_targets_are_fitted_one_by_one() -> None:
    T = np.column_stack([Y, np.sqrt(Y), -Y])
    model = Lasso(alpha=0.1).fit(X, T)
    assert model.coef_.shape == (3, X.shape[1])
    assert model.intercept_.shape == (3,)
    assert len(model.n_iter_) == 3
    assert model.dual_gap_.shape == (3,)
    assert model.predict(X).shape == T.shape
    for k in range(3):
        np.testing.assert_allclose(model.coef_[k], Lasso(alpha=0.1).fit(X, T[:, k]).coef_, atol=1e-6)


def test_warm_start_at_the_answer_takes_no_iteration() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 60))
    b = A[:, 0] + rng.normal(size=30)
    model = Lasso(alpha=0.1, warm_start=True, tol=1e-10).fit(A, b)
    assert model.n_iter_ > 0
    assert model.set_params(tol=1e-8).fit(A, b).n_iter_ == 0
    # a start of another shape is no start
    assert model.fit(A[:, :5], b).evidence_.holds


def test_positive() -> None:
    model = Lasso(alpha=0.1, positive=True).fit(X, Y)
    assert (model.coef_ >= 0).all()
    assert (model.coef_ > 0).any()
    assert model.evidence_.holds


def test_sparse_coefficients_and_gap() -> None:
    model = Lasso(alpha=0.5).fit(X, Y)
    assert sparse.issparse(model.sparse_coef_)
    np.testing.assert_array_equal(model.sparse_coef_.toarray()[0], model.coef_)
    r = Y - model.predict(X)
    objective = r @ r / (2 * len(Y)) + 0.5 * np.abs(model.coef_).sum()
    assert model.evidence_.facts["objective"] == pytest.approx(objective)
    assert 0 <= model.dual_gap_ <= 1e-8 * objective


def test_parameters_of_scikit_learn_that_change_nothing() -> None:
    plain = Lasso(alpha=0.5).fit(X, Y).coef_
    for options in ({"precompute": True}, {"copy_X": False}, {"selection": "random", "random_state": 0}):
        np.testing.assert_array_equal(Lasso(alpha=0.5, **options).fit(X, Y).coef_, plain)


@pytest.mark.parametrize("tall", [True, False])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csc_array])
def test_path_points_are_fits(layout: Any, tall: bool) -> None:
    A, b = (X, Y - Y.mean()) if tall else (X[:8], Y[:8])
    alphas, coefs, gaps = enet_path(layout(A), b, l1_ratio=0.8, alphas=6, tol=1e-11)
    assert (np.diff(alphas) < 0).all()
    assert coefs.shape == (X.shape[1], 6)
    assert gaps.shape == (6,)
    for alpha, coef in zip(alphas, coefs.T, strict=True):
        alone = ElasticNet(alpha, l1_ratio=0.8, fit_intercept=False, tol=1e-11).fit(A, b)
        np.testing.assert_allclose(coef, alone.coef_, rtol=1e-4, atol=1e-4)


def test_path_of_given_strengths_is_sorted() -> None:
    alphas, coefs, _ = lasso_path(X, Y, alphas=[0.1, 10.0, 1.0])
    np.testing.assert_array_equal(alphas, [10.0, 1.0, 0.1])
    assert (np.diff((coefs != 0).sum(axis=0)) >= 0).all()
    np.testing.assert_array_equal(Lasso.path(X, Y, alphas=[0.1, 10.0, 1.0])[1], coefs)
    np.testing.assert_array_equal(ElasticNet.path(X, Y, alphas=[1.0])[1], enet_path(X, Y, alphas=[1.0])[1])


def test_path_weights_are_repetitions() -> None:
    counts = np.random.default_rng(2).integers(0, 3, len(Y))
    _, weighted, _ = lasso_path(X, Y, alphas=[0.5], sample_weight=counts, tol=1e-12)
    rows = np.repeat(np.arange(len(Y)), counts)
    _, repeated, _ = lasso_path(X[rows], Y[rows], alphas=[0.5], tol=1e-12)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-6)


def test_path_callback_and_errors() -> None:
    seen = []
    lasso_path(X, Y, alphas=3, callback=lambda k, evidence: seen.append((k, evidence.holds)))
    assert seen == [(0, True), (1, True), (2, True)]
    with pytest.raises(ValueError, match="Unexpected parameters"):
        lasso_path(X, Y, normalize=True)
    with pytest.raises(ValueError, match="X has 442 rows, y has 10"):
        lasso_path(X, Y[:10])
    with pytest.raises(ValueError, match="NaN"):
        lasso_path(np.full((3, 2), np.nan), [1.0, 2.0, 3.0])


def test_path_when_nothing_correlates() -> None:
    alphas, coefs, gaps = lasso_path(X, np.zeros(len(Y)), alphas=4)
    assert (alphas > 0).all()
    assert not coefs.any()
    assert not gaps.any()
