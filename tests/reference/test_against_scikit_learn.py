"""The linear family against scikit-learn at the same settings: the same numbers, to the digits scikit-learn has."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import corollary as ours

DIABETES = load_diabetes(return_X_y=True)
CANCER = (scale(load_breast_cancer().data), load_breast_cancer().target)
WINE = (scale(load_wine().data), load_wine().target)
IRIS = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).uniform(0.2, 2.0, 600)


def fit_both(name: str, X: Any, y: Any, options: dict[str, Any], digits: dict[str, Any], **fit: Any) -> tuple[Any, Any]:
    """Our model at full precision and theirs; ``digits`` are what makes scikit-learn precise."""
    mine = getattr(ours, name)(**options, tol=1e-12).fit(X, y, **fit)
    assert mine.evidence_.holds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mine, getattr(theirs, name)(**options, **digits).fit(X, y, **fit)


def assert_same_model(mine: Any, other: Any, rtol: float = 1e-6, atol: float = 1e-7) -> None:
    assert mine.coef_.shape == other.coef_.shape
    assert np.shape(mine.intercept_) == np.shape(other.intercept_)
    np.testing.assert_allclose(mine.coef_, other.coef_, rtol=rtol, atol=atol * np.abs(other.coef_).max())
    np.testing.assert_allclose(mine.intercept_, other.intercept_, rtol=rtol, atol=atol)


PRECISE_CD = {"tol": 1e-14, "max_iter": 100_000}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Lasso", {"alpha": 0.1}),
        ("Lasso", {"alpha": 1.0}),
        ("Lasso", {"alpha": 0.3, "positive": True}),
        ("Lasso", {"alpha": 0.1, "fit_intercept": False}),
        ("ElasticNet", {"alpha": 0.01}),
        ("ElasticNet", {"alpha": 0.02, "l1_ratio": 0.9}),
        ("ElasticNet", {"alpha": 0.01, "l1_ratio": 0.2, "positive": True}),
    ],
)
def test_lasso_and_elastic_net(name: str, options: dict[str, Any], weighted: bool) -> None:
    X, y = DIABETES
    fit = {"sample_weight": WEIGHTS[: len(y)]} if weighted else {}
    mine, other = fit_both(name, X, y, options, PRECISE_CD, **fit)
    assert_same_model(mine, other)
    np.testing.assert_array_equal(mine.coef_ == 0, other.coef_ == 0)


def test_lasso_sparse_with_more_columns_than_rows() -> None:
    rng = np.random.default_rng(1)
    X = sparse.random_array((60, 200), density=0.1, rng=rng, format="csc")
    y = np.asarray(X[:, [0]].toarray())[:, 0] * 3 + rng.normal(size=60)
    mine, other = fit_both("Lasso", X, y, {"alpha": 0.02}, PRECISE_CD)
    assert_same_model(mine, other)


def test_lasso_of_several_targets() -> None:
    """scikit-learn fits the columns one by one as well."""
    X, y = DIABETES
    Y = np.column_stack([y, -2 * y + X[:, 2] * 1000])
    mine, other = fit_both("Lasso", X, Y, {"alpha": 0.5}, PRECISE_CD)
    assert_same_model(mine, other)


@pytest.mark.parametrize("n_columns", [10, 40])
def test_lasso_path(n_columns: int) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, n_columns))
    y = X[:, 0] - X[:, 1] + rng.normal(size=30)
    alphas, coefs, gaps = ours.lasso_path(X, y, alphas=20, tol=1e-10)
    grid, expected, _ = theirs.lasso_path(X, y, alphas=20, tol=1e-14, max_iter=100_000)
    np.testing.assert_allclose(alphas, grid, rtol=1e-12)
    np.testing.assert_allclose(coefs, expected, rtol=1e-5, atol=1e-7)
    assert (gaps >= 0).all()
    assert not coefs[:, 0].any()


def test_elastic_net_path() -> None:
    X, y = DIABETES
    y = y - y.mean()
    alphas, coefs, _ = ours.enet_path(X, y, l1_ratio=0.7, alphas=10, tol=1e-13)
    grid, expected, _ = theirs.enet_path(X, y, l1_ratio=0.7, alphas=10, tol=1e-14, max_iter=100_000)
    np.testing.assert_allclose(alphas, grid, rtol=1e-12)
    np.testing.assert_allclose(coefs, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("LassoCV", {"alphas": 20, "cv": 4}),
        ("LassoCV", {"alphas": [0.01, 0.1, 1.0], "cv": 3, "positive": True}),
        ("ElasticNetCV", {"alphas": 10, "cv": 3, "l1_ratio": [0.3, 0.9]}),
    ],
)
def test_cross_validated_lasso(name: str, options: dict[str, Any]) -> None:
    X, y = DIABETES
    mine, other = fit_both(name, X, y, options, PRECISE_CD)
    assert mine.alpha_ == pytest.approx(other.alpha_, rel=1e-9)
    np.testing.assert_allclose(mine.alphas_, other.alphas_, rtol=1e-9)
    np.testing.assert_allclose(mine.mse_path_, other.mse_path_, rtol=1e-4)
    assert_same_model(mine, other)


def precise(l1_ratio: float) -> dict[str, Any]:
    if l1_ratio:
        return {"solver": "saga", "tol": 1e-11, "max_iter": 100_000}
    return {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (CANCER, {"C": 1.0}),
        (CANCER, {"C": 0.01, "class_weight": "balanced"}),
        (CANCER, {"C": 0.1, "class_weight": {0: 3.0, 1: 0.5}, "fit_intercept": False}),
        (WINE, {"C": 1.0}),
        (WINE, {"C": 0.1, "class_weight": "balanced"}),
        (IRIS, {"C": 0.5}),
    ],
)
def test_logistic_regression(data: Any, options: dict[str, Any]) -> None:
    X, y = data
    mine, other = fit_both("LogisticRegression", X, y, options, precise(0))
    assert_same_model(mine, other, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(mine.predict_log_proba(X), other.predict_log_proba(X), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("data", [CANCER, WINE])
def test_weighted_logistic_regression(data: Any) -> None:
    X, y = data
    mine, other = fit_both("LogisticRegression", X, y, {"C": 0.2}, precise(0), sample_weight=WEIGHTS[: len(y)])
    assert_same_model(mine, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("data", "l1_ratio"), [(CANCER, 1.0), (CANCER, 0.4), (WINE, 1.0), (WINE, 0.4)])
def test_sparse_logistic_regression(data: Any, l1_ratio: float) -> None:
    X, y = data
    mine, other = fit_both("LogisticRegression", X, y, {"C": 0.05, "l1_ratio": l1_ratio}, precise(l1_ratio))
    assert_same_model(mine, other, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(mine.coef_ == 0, np.abs(other.coef_) < 1e-9)


def test_cross_validated_logistic_regression() -> None:
    X, y = WINE
    options = {"Cs": [0.01, 0.1, 1.0], "cv": 3, "scoring": "neg_log_loss", "l1_ratios": (0.0,)}
    options["use_legacy_attributes"] = False
    digits = {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}
    mine, other = fit_both("LogisticRegressionCV", X, y, options, digits)
    assert mine.C_ == other.C_
    np.testing.assert_allclose(mine.scores_, other.scores_, rtol=1e-3)
    assert_same_model(mine, other, rtol=1e-5, atol=1e-5)


def huber_objective(model: Any, X: Any, y: Any) -> float:
    z = np.abs(y - model.predict(X)) / model.scale_
    height = np.where(z <= model.epsilon, z**2, 2 * model.epsilon * z - model.epsilon**2)
    return float(model.scale_ * (1 + height).sum() + model.alpha * model.coef_ @ model.coef_)


@pytest.mark.parametrize("options", [{}, {"epsilon": 1.1}, {"alpha": 0.1}, {"fit_intercept": False, "epsilon": 2.0}])
def test_huber(options: dict[str, Any]) -> None:
    """On standardised columns, where scikit-learn's L-BFGS is at its best."""
    X, y = DIABETES
    X, y = scale(X), y.copy()
    y[::17] += 500
    mine = ours.HuberRegressor(**options).fit(X, y)
    other = theirs.HuberRegressor(**options, tol=1e-9, max_iter=10_000).fit(X, y)
    assert huber_objective(mine, X, y) <= huber_objective(other, X, y) * (1 + 1e-12)
    assert_same_model(mine, other, rtol=1e-2, atol=1e-3)
    assert mine.scale_ == pytest.approx(other.scale_, rel=1e-3)
    assert (mine.outliers_ != other.outliers_).sum() <= 1


def test_linear_model_is_the_named_models() -> None:
    """Every name that scikit-learn has for a pair of loss and penalty."""
    X, y = DIABETES
    n = len(y)
    exact = {"tol": 1e-13}
    newton = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
    mix = {"alpha": 0.02, "l1_ratio": 0.8}
    pairs = [
        (ours.LinearModel(penalty="l1", alpha=0.2, **exact), theirs.Lasso(0.2, **PRECISE_CD)),
        (ours.LinearModel(penalty="elastic_net", **mix, **exact), theirs.ElasticNet(**mix, **PRECISE_CD)),
        (ours.LinearModel(penalty="l2", alpha=0.1), theirs.Ridge(0.1 * n)),
        (ours.LinearModel(penalty="none"), theirs.LinearRegression()),
        (ours.LinearModel("poisson", alpha=0.1, **exact), theirs.PoissonRegressor(alpha=0.1, **newton)),
    ]
    for mine, other in pairs:
        assert_same_model(mine.fit(X, y), other.fit(X, y), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(mine.predict(X), other.predict(X), rtol=1e-5)


def test_linear_classifiers() -> None:
    X, y = CANCER
    n = len(y)
    logistic = ours.LinearModel("logistic", alpha=0.1, tol=1e-13).fit(X, y)
    assert_same_model(
        logistic,
        theirs.LogisticRegression(C=1 / (0.1 * n), solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y),
        1e-5,
        1e-5,
    )
    X, y = WINE
    softmax = ours.LinearModel("softmax", alpha=0.1, tol=1e-13).fit(X, y)
    other = theirs.LogisticRegression(C=1 / (0.1 * len(y)), solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(
        X, y
    )
    assert_same_model(softmax, other, 1e-5, 1e-5)
    np.testing.assert_allclose(softmax.predict_proba(X), other.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
def test_quantile_regression(quantile: float) -> None:
    X, y = DIABETES
    mine = ours.LinearModel("quantile", "l1", quantile=quantile, alpha=0.002, tol=1e-10).fit(X, y)
    other = theirs.QuantileRegressor(quantile=quantile, alpha=0.002, solver="highs").fit(X, y)
    np.testing.assert_allclose(mine.predict(X), other.predict(X), rtol=1e-4)
    np.testing.assert_allclose(mine.coef_, other.coef_, rtol=1e-4, atol=1e-4)


def test_support_vector_losses() -> None:
    """liblinear penalises the intercept, so none is fitted."""
    from sklearn.svm import LinearSVC, LinearSVR

    X, y = CANCER
    n, alpha = len(y), 0.1
    digits = {"tol": 1e-10, "max_iter": 1_000_000, "random_state": 0, "fit_intercept": False}
    for loss in ("hinge", "squared_hinge"):
        mine = ours.LinearModel(loss, alpha=alpha, fit_intercept=False).fit(X, y)
        other = LinearSVC(C=1 / (alpha * n), loss=loss, dual=True, **digits).fit(X, y)
        np.testing.assert_allclose(mine.coef_, other.coef_, rtol=1e-3, atol=1e-4)
    X, y = scale(DIABETES[0]), scale(DIABETES[1])
    mine = ours.LinearModel("epsilon_insensitive", alpha=alpha, epsilon=0.3, fit_intercept=False).fit(X, y)
    other = LinearSVR(C=1 / (alpha * len(y)), epsilon=0.3, dual=True, **digits).fit(X, y)
    np.testing.assert_allclose(mine.coef_, other.coef_, rtol=1e-3, atol=1e-4)
