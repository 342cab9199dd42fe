"""Columns and targets whose squares vanish or overflow in float64 are refused in words: nothing is claimed of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary import (
    Blocks,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearModel,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeCV,
)

REGRESSORS = [
    LinearRegression(),
    LinearRegression(positive=True),
    Ridge(),
    Ridge(solver="sparse_cg"),
    RidgeCV(),
    Lasso(),
    LassoCV(),
    ElasticNet(l1_ratio=0.0),
    ElasticNetCV(),
    HuberRegressor(),
    LinearModel(),
    LinearModel("huber", "l1"),
]
CLASSIFIERS = [
    LogisticRegression(),
    LogisticRegression(C=np.inf),
    LogisticRegressionCV(l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False),
    LinearModel("hinge"),
]


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=40)


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e250])
def test_targets_out_of_reach(model: Any, scale: float) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=r"^y .*Rescale it by a power of two"):
        model.fit(X, y * scale)


@pytest.mark.parametrize("model", REGRESSORS[1:] + CLASSIFIERS, ids=str)
@pytest.mark.parametrize("scale", [1e-300, 1e150])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_columns_out_of_reach(model: Any, scale: float, kind: Any) -> None:
    X, y = data()
    X[:, 1] *= scale
    with pytest.raises(ValueError, match=r"Column 1 of X .*Rescale it by a power of two"):
        model.fit(kind(X), np.sign(y) if model in CLASSIFIERS else y)


@pytest.mark.parametrize("scale", [2.0**-990, 2.0**500])
def test_least_squares_scales_columns_by_itself(scale: float) -> None:
    X, y = data()
    plain = LinearRegression().fit(X, y)
    X[:, 1] *= scale
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_ * [1, scale, 1], plain.coef_, rtol=1e-9)
    assert model.evidence_.holds


def test_several_targets_and_rows_that_do_not_count() -> None:
    X, y = data()
    Y = np.column_stack([y, y * 1e-200])
    with pytest.raises(ValueError, match="Column 1 of y"):
        LinearRegression().fit(X, Y)
    y[3] = 1e200
    with pytest.raises(ValueError, match="squares overflow"):
        Ridge().fit(X, y)
    assert Ridge().fit(X, y, sample_weight=(y < 1e100).astype(float)).evidence_.holds


def test_what_is_within_reach_is_fitted() -> None:
    X, y = data()
    for scale in (1e-120, 1e120):
        model = LinearRegression().fit(X * scale, y)
        np.testing.assert_allclose(model.coef_ * scale, LinearRegression().fit(X, y).coef_, rtol=1e-9)
        assert model.evidence_.holds
        assert LinearRegression().fit(X, y * scale).evidence_.holds
    X[:, 1] = 0.0
    assert LinearRegression().fit(X, np.zeros(40)).evidence_.holds


def test_of_a_large_matrix_a_column_of_zeros_is_looked_at_whole() -> None:
    X = np.random.default_rng(1).normal(size=(40_000, 3))
    y = X @ [1.0, -2.0, 0.5]
    X[:, 1] = 0.0
    X[12_345, 1] = 1e-200
    with pytest.raises(ValueError, match=r"Column 1 of X goes no further than 1e-200"):
        Ridge().fit(X, y)
    X[12_346, 1] = 1.0
    assert Ridge().fit(X, y).evidence_.holds


def test_blocks_are_judged_together() -> None:
    X, y = data()
    X[:20, 1] *= 1e-200

    def blocks(X: np.ndarray) -> Blocks:
        return Blocks([(X[:20], y[:20]), (X[20:], y[20:])])

    assert Ridge().fit(blocks(X)).evidence_.holds
    X[20:, 1] *= 1e-200
    with pytest.raises(ValueError, match="Column 1 of X"):
        Ridge().fit(blocks(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_means_beyond_all_numbers_are_refused(dtype: Any) -> None:
    """A huge row of weight zero: the fit knows nothing of it, and its prediction would be infinite."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 2)).astype(dtype), np.ones(60)
    y = rng.poisson(np.exp(1 + X[:, 0]))
    X[0], weights[0] = 1e9, 0.0
    model = LinearModel("poisson", "l2", alpha=1e-3).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match=r"exp\(.*no number of float64"):
        model.predict(X)
    assert np.isfinite(model.predict(X[1:])).all()
    far = np.array([[150.0, 0.0]], dtype=dtype)
    assert np.isfinite(model.predict(far)).all()
    assert model.predict(far) > 1e50


def test_a_factor_beyond_float64_is_not_kept() -> None:
    """Rows and weights of 1e-300: coefficients are numbers, the inverse of √w X is none."""
    X, y = data()
    model = LinearRegression(fit_intercept=False).fit(X * 1e-300, y, sample_weight=np.full(len(y), 1e-300))
    assert np.isfinite(model.coef_).all()
    assert model.evidence_.verify(X * 1e-300, y, np.full(len(y), 1e-300)).stands is not False
    with pytest.raises(ValueError, match="leverage needs the factor"):
        model.leverage(X)
