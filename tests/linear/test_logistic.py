"""Logistic regression."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import scale

from corollary import LogisticRegression, Status

CANCER = load_breast_cancer()
X, Y = scale(CANCER.data), CANCER.target
IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_solvers_agree(layout: Any) -> None:
    fits = [
        LogisticRegression(C=0.5, solver=s, tol=1e-11).fit(layout(X), Y) for s in ("newton", "lbfgs", "prox-newton")
    ]
    for model in fits[1:]:
        np.testing.assert_allclose(model.coef_, fits[0].coef_, atol=1e-5)
        np.testing.assert_allclose(model.intercept_, fits[0].intercept_, atol=1e-5)
    assert len({model.evidence_.solver for model in fits}) == 3


def test_solvers_agree_on_three_classes() -> None:
    fits = [LogisticRegression(solver=solver, tol=1e-11).fit(*IRIS) for solver in ("auto", "lbfgs", "prox-newton")]
    for model in fits[1:]:
        np.testing.assert_allclose(model.coef_, fits[0].coef_, atol=1e-5)
    with pytest.raises(ValueError, match="couples the classes"):
        LogisticRegression(solver="newton").fit(*IRIS)


def test_a_solver_that_cannot_make_zeros_says_so() -> None:
    for solver, words in (("newton", "kinks at zero"), ("lbfgs", "supports only 'l2' or None penalties")):
        with pytest.raises(ValueError, match=words):
            LogisticRegression(l1_ratio=1.0, solver=solver).fit(X, Y)


def test_no_penalty_is_maximum_likelihood() -> None:
    A, y = X[:, :3], Y
    model = LogisticRegression(C=np.inf, tol=1e-12).fit(A, y)
    assert model.evidence_.holds

    def loss(z: Any) -> float:
        return float(np.logaddexp(0, -(2 * y - 1) * (A @ z[:3] + z[3])).sum())

    found = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(model.coef_[0], found.x[:3], rtol=1e-4)
    assert model.predict_proba(A)[:, 1].sum() == pytest.approx(y.sum())  # the likelihood equation of the intercept


@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_without_a_penalty_end_sanely(classes: int) -> None:
    """No finite optimum exists; the fit stops, is usable, and says why."""
    A = np.repeat(np.arange(classes), 10)[:, None] * 5.0 + np.linspace(0, 1, 10 * classes)[:, None]
    y = np.repeat(np.arange(classes), 10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LogisticRegression(C=np.inf).fit(A, y)
    assert np.isfinite(model.coef_).all()
    np.testing.assert_array_equal(model.predict(A), y)
    assert model.evidence_.status is Status.SEPARABLE or not model.evidence_.holds or model.evidence_.n_iter < 100
    assert model.evidence_.holds or caught


def test_class_weights_are_row_weights() -> None:
    options = {"C": 0.3, "tol": 1e-11}
    by_class = LogisticRegression(class_weight={0: 3.0, 1: 0.5}, **options).fit(X, Y)
    by_row = LogisticRegression(**options).fit(X, Y, sample_weight=np.where(Y == 0, 3.0, 0.5))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-7)
    counts = np.bincount(Y)
    balanced = LogisticRegression(class_weight="balanced", **options).fit(X, Y)
    rows = LogisticRegression(**options).fit(X, Y, sample_weight=(len(Y) / (2 * counts))[Y])
    np.testing.assert_allclose(balanced.coef_, rows.coef_, atol=1e-7)


def test_l1_path_loses_columns() -> None:
    counts = [np.count_nonzero(LogisticRegression(C=C, l1_ratio=1.0).fit(X, Y).coef_) for C in (0.001, 0.01, 0.1, 1.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


@pytest.mark.parametrize("data", [(X, Y), IRIS])
def test_warm_start_at_the_answer(data: Any) -> None:
    model = LogisticRegression(warm_start=True, tol=1e-11).fit(*data)
    assert model.n_iter_[0] > 0
    assert model.set_params(tol=1e-8).fit(*data).n_iter_[0] == 0


def test_logarithms_of_tiny_probabilities() -> None:
    model = LogisticRegression().fit(X, Y)
    far = 1000 * X[:5]
    logs = model.predict_log_proba(far)
    assert np.isfinite(logs).all()
    assert logs.min() < -1000
    np.testing.assert_allclose(np.exp(logs), model.predict_proba(far), atol=1e-12)
    narrow = LogisticRegression().fit(X.astype(np.float32), Y).predict_log_proba(X.astype(np.float32))
    assert narrow.dtype == np.float32


def test_ties_are_broken_alike() -> None:
    """A row on the boundary up to rounding: the probabilities know which side it is on."""
    model = LogisticRegression().fit(X, Y)
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.zeros(1)
    for score in (0.0, 1e-17, -1e-17, 1e-300):
        model.intercept_ = np.array([score])
        assert model.predict(X[:1])[0] == model.classes_[model.predict_proba(X[:1])[0].argmax()]
    three = LogisticRegression().fit(*IRIS)
    three.coef_ = np.zeros_like(three.coef_)
    for scores in ([0.0, 1e-18, 0.0], [1.0, 1.0 + 2e-16, 1.0], [0.0, 0.0, 1e-300]):
        three.intercept_ = np.array(scores)
        assert three.predict(IRIS[0][:1])[0] == three.classes_[three.predict_proba(IRIS[0][:1])[0].argmax()]


def test_intercepts_of_several_classes_sum_to_zero() -> None:
    model = LogisticRegression().fit(*IRIS)
    assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-6)


@pytest.mark.parametrize("seed", [5, 6, 8])
def test_ten_nearly_separable_classes_with_l1_are_proved(seed: int) -> None:
    """Splits of the digits on which rounding in the intercepts' curvature once sent the model astray."""
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:1000]
    model = LogisticRegression(C=10.0, l1_ratio=1.0).fit(X[rows] / 16, y[rows])
    assert model.evidence_.holds
    assert 0 < np.count_nonzero(model.coef_) < 400


@pytest.mark.parametrize("far", [0.0, 1e4, 1e6, 1e7])
def test_sparse_columns_far_from_zero_have_the_l1_fit_of_dense_ones(far: float) -> None:
    """Their curvature would be a small difference of large sums; dense columns are moved near zero first."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 6))
    y = A @ [2.0, -1.0, 0.0, 0.5, 0.0, 0.0] + rng.logistic(size=400) > 0
    A[:, ::2] += far
    model = LogisticRegression(C=0.1, l1_ratio=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if far < 1e7 else "ignore")  # at 1e7 predictions are rounded to 1e-9
        thin, full = model.fit(sparse.csc_array(A), y).coef_, LogisticRegression(C=0.1, l1_ratio=1.0).fit(A, y).coef_
    np.testing.assert_allclose(thin, full, atol=1e-4)
    np.testing.assert_array_equal(thin == 0, full == 0)
    assert 0 < np.count_nonzero(full) < 6
