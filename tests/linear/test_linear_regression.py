"""Ordinary least squares: scikit-learn's behaviour, and the identities that define it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model
from scipy import sparse
from sklearn.base import clone

from corollary.core.parallel import threads
from corollary.linear import LinearRegression


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 5)) @ rng.standard_normal((5, 5)) + 2
    y = X @ [1.0, -2.0, 0.0, 0.5, 3.0] + 4 + rng.standard_normal(80)
    return X, y, rng.integers(0, 4, 80).astype(float)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("targets", [0, 1, 3])
@pytest.mark.parametrize("positive", [False, True])
def test_agrees_with_scikit_learn(data, fit_intercept, targets, positive) -> None:
    X, y, w = data
    Y = y if targets == 0 else np.column_stack([y - j * X[:, 0] for j in range(targets)])
    options = {"fit_intercept": fit_intercept, "positive": positive}
    ours = LinearRegression(**options).fit(X, Y, sample_weight=w)
    theirs = sklearn.linear_model.LinearRegression(tol=1e-14, **options).fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-9)
    assert ours.coef_.shape == theirs.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    assert ours.evidence_.holds
    if not positive:
        assert ours.rank_ == theirs.rank_
        np.testing.assert_allclose(ours.singular_, theirs.singular_, rtol=1e-8)


def test_weights_are_repetitions(data) -> None:
    X, y, w = data
    weighted = LinearRegression().fit(X, y, w)
    times = w.astype(int)
    repeated = LinearRegression().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    for name in ("coef_", "intercept_", "std_err_", "intercept_std_err_", "residual_std_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-11)
    np.testing.assert_allclose(weighted.leverage(X), repeated.leverage(X), rtol=1e-10)


@pytest.mark.parametrize("rows", [80, 4000])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_standard_errors_are_the_textbook_ones(rows, fit_intercept) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 12)) + 3
    Y = rng.standard_normal((rows, 2))
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, Y)
    A = np.column_stack([np.ones(rows), X]) if fit_intercept else X
    inverse = np.linalg.inv(A.T @ A)
    residual = Y - model.predict(X)
    sigma = np.sqrt((residual**2).sum(axis=0) / (rows - A.shape[1]))
    errors = np.outer(sigma, np.sqrt(np.diagonal(inverse)))
    np.testing.assert_allclose(model.residual_std_, sigma, rtol=1e-10)
    np.testing.assert_allclose(model.std_err_, errors[:, int(fit_intercept) :], rtol=1e-10)
    if fit_intercept:
        np.testing.assert_allclose(model.intercept_std_err_, errors[:, 0], rtol=1e-10)
    np.testing.assert_allclose(model.leverage(X), np.einsum("ij,jk,ik->i", A, inverse, A), rtol=1e-10)
    assert model.leverage(X).sum() == pytest.approx(A.shape[1], rel=1e-10)


def test_leverage_gives_leave_one_out(data) -> None:
    X, y, _ = data
    model = LinearRegression().fit(X, y)
    short_cut = (y - model.predict(X)) / (1 - model.leverage(X))
    for i in (0, 17, 79):
        rest = np.arange(80) != i
        assert y[i] - LinearRegression().fit(X[rest], y[rest]).predict(X[i : i + 1])[0] == pytest.approx(
            short_cut[i], rel=1e-9
        )


def test_without_degrees_of_freedom_there_is_no_standard_error() -> None:
    X = np.random.default_rng(0).standard_normal((4, 9))
    model = LinearRegression().fit(X, X[:, 0])
    assert np.isnan(model.std_err_).all()
    assert np.isnan(model.residual_std_)
    np.testing.assert_allclose(model.predict(X), X[:, 0], atol=1e-12)
    with pytest.raises(ValueError, match="leverage"):
        model.leverage(X)


def test_rank_deficiency_is_said() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    model = LinearRegression().fit(np.column_stack([X, X[:, 0]]), X[:, 0])
    assert model.rank_ == 3
    assert "rank 3, not 4" in str(model.evidence_)
    np.testing.assert_allclose(model.coef_, [0.5, 0, 0, 0.5], atol=1e-14)


def test_float32_stays_and_agrees(data) -> None:
    X, y, w = data
    wide = LinearRegression().fit(X.astype(np.float32), y, w)
    exact = LinearRegression().fit(X.astype(np.float32).astype(float), y, w)
    assert wide.coef_.dtype == wide.intercept_.dtype == np.float32
    assert wide.predict(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(wide.coef_, exact.coef_, rtol=1e-6)


def test_float32_rounding_is_not_a_direction() -> None:
    """x₃ = 3 x₁ up to float32 rounding: dependent for float32 data, not something to divide by."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)).astype(np.float32)
    X = np.column_stack([X, np.float32(3.3) * X[:, 0]])
    model = LinearRegression().fit(X, X[:, 0])
    assert model.rank_ == 2
    assert np.abs(model.coef_).max() < 1


@pytest.mark.parametrize(
    "view", [np.asfortranarray, sparse.csr_array, sparse.csc_array, pd.DataFrame, lambda X: X[:, ::-1][:, ::-1]]
)
def test_any_container_and_order_gives_the_same(data, view) -> None:
    X, y, w = data
    X.flags.writeable = False
    plain, other = LinearRegression().fit(X, y, w), LinearRegression().fit(view(X), y, w)
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-12)
    np.testing.assert_allclose(other.predict(view(X)), plain.predict(X), rtol=1e-12)


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(0)
    for level in (0.0, 9.0):  # as they are, and about their mean
        X, y = level + rng.standard_normal((100_000, 30)), rng.standard_normal(100_000)
        models = [LinearRegression(n_jobs=n).fit(X, y) for n in (1, 2, 7, 16, None)]
        with threads(3):
            models.append(LinearRegression().fit(X, y))
        for other in models[1:]:
            np.testing.assert_array_equal(models[0].coef_, other.coef_)
            assert models[0].intercept_ == other.intercept_


def test_columns_about_zero_are_not_copied_and_lose_nothing() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50_000, 4)) * [1.0, 1e-3, 1e3, 1.0] + [0.5, 0.0, -900.0, 0.0]
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.standard_normal(50_000)
    plain = LinearRegression().fit(X, y)
    moved = LinearRegression().fit(X + np.array([0.0, 0.0, 0.0, 16.0]), y)  # one column is far from zero: all are moved
    np.testing.assert_allclose(plain.coef_, moved.coef_, rtol=1e-10)
    assert plain.evidence_.holds
    assert moved.evidence_.holds


def test_refit_with_positive_forgets_the_statistics(data) -> None:
    X, y, _ = data
    model = LinearRegression().fit(X, y)
    model.set_params(positive=True).fit(X, y)
    assert not hasattr(model, "std_err_")
    with pytest.raises(ValueError, match="positive=False"):
        model.leverage(X)


@pytest.mark.parametrize("bad", [{"tol": -1.0}, {"fit_intercept": 1}, {"positive": "yes"}])
def test_bad_parameters_name_themselves(data, bad) -> None:
    X, y, _ = data
    (name,) = bad
    with pytest.raises(ValueError, match=name):
        LinearRegression(**bad).fit(X, y)


def test_clone_and_one_row() -> None:
    model = clone(LinearRegression()).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[5.0, 6.0]])[0] == 3.0
    assert model.evidence_.holds


def test_saved_model_keeps_its_statistics(data, tmp_path) -> None:
    X, y, w = data
    model = LinearRegression().fit(X, y, w)
    model.save(tmp_path / "model.corollary")
    again = LinearRegression.load(tmp_path / "model.corollary")
    np.testing.assert_array_equal(again.std_err_, model.std_err_)
    np.testing.assert_array_equal(again.leverage(X), model.leverage(X))
