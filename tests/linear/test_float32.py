"""Float32 X: what is delivered, and not only what was solved for, is as good as the evidence says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary import (
    Blocks,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearModel,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeCV,
)

RNG = np.random.default_rng(0)
FAR = (1e6 + RNG.integers(0, 50, (200, 3))).astype(np.float32)  # exact in float32
NEAR = RNG.normal(size=(200, 3)).astype(np.float32)
NOISE = RNG.normal(size=200)
MODELS: dict[str, Any] = {
    "least squares": LinearRegression(),
    "several targets": LinearRegression(),
    "positive": LinearRegression(positive=True),
    "ridge": Ridge(1e-3),
    "ridge cv": RidgeCV(),
    "lasso": Lasso(0.01),
    "elastic net": ElasticNet(0.01),
    "lasso cv": LassoCV(),
    "huber": HuberRegressor(),
    "logistic": LogisticRegression(),
    "three classes": LogisticRegression(),
    "two scores": LinearModel("softmax", "l2"),
    "closed form": LinearModel("squared", "l2"),
    "absolute": LinearModel("absolute", "l1"),
    "one against the rest": LinearModel("logistic", "l2"),
    "count": LinearModel("squared", "l0"),
}


def target(name: str, X: Any) -> Any:
    y = X.astype(float) @ [1.0, 2.0, 3.0] + NOISE
    if name in ("logistic", "two scores"):
        return y > np.median(y)
    if name in ("three classes", "one against the rest"):
        return np.digitize(y, np.quantile(y, [0.3, 0.6]))
    return np.column_stack([y, -y + NOISE[::-1]]) if name == "several targets" else y


def fitted(name: str, X: Any) -> Any:
    model = MODELS[name]
    return model.__class__(**model.get_params()).fit(X, target(name, X))


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_the_float64_fit(name: str) -> None:
    """Columns far from zero: float32 coefficients would move predictions by tenths."""
    single, double = fitted(name, FAR), fitted(name, FAR.astype(np.float64))
    assert single.evidence_.holds, str(single.evidence_)
    assert single.coef_.dtype == np.asarray(single.intercept_).dtype == np.float64
    assert "float64" in str(single.evidence_)
    how = "decision_function" if hasattr(single, "decision_function") else "predict"
    found, expected = getattr(single, how)(FAR), getattr(double, how)(FAR.astype(np.float64))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found - np.mean(expected), expected - np.mean(expected), atol=1e-2)


@pytest.mark.parametrize("name", MODELS)
def test_float32_stays_where_nothing_is_lost(name: str) -> None:
    single = fitted(name, NEAR)
    assert single.evidence_.holds
    assert single.coef_.dtype == np.asarray(single.intercept_).dtype == np.float32
    assert single.predict(NEAR).dtype in (np.float32, bool, np.int64)


def squares(model: Any, X: Any, y: Any) -> float:
    """Σ r² of the delivered coefficients in long double."""
    wide = np.longdouble
    return float(((y.astype(wide) - X.astype(wide) @ model.coef_.astype(wide) - wide(model.intercept_)) ** 2).sum())


@pytest.mark.parametrize("X", [NEAR, FAR, FAR - np.float32(9e5)], ids=["near", "far", "between"])
def test_the_claim_holds_for_what_is_delivered(X: Any) -> None:
    y = target("least squares", X)
    wide = X.astype(np.longdouble)
    A = np.column_stack([(wide - wide.mean(axis=0)).astype(float), np.ones(len(y))])
    centred = y - y.mean()
    best = float(((centred - A @ np.linalg.lstsq(A, centred, rcond=None)[0]) ** 2).sum())
    for model in (LinearRegression().fit(X, y), LinearRegression().partial_fit(X, y), LinearRegression().fit(
        Blocks([(X[:90], y[:90]), (X[90:], y[90:])]))):  # fmt: skip
        assert model.evidence_.holds
        assert squares(model, X, y) <= best * (1 + 2e-8)
        assert squares(model, X, y) <= best * (1 + model.evidence_.certificate.value + 1e-11)


def test_large_levels_of_y_keep_their_digits() -> None:
    """Predictions near 1e7 have a spacing of one in float32."""
    y = 1e7 + NEAR.astype(float) @ [1.0, 2.0, 3.0] + 0.01 * NOISE
    model = LinearRegression().fit(NEAR, y)
    assert np.mean((model.predict(NEAR) - y) ** 2) < 2e-4


def test_coefficients_beyond_float32_are_kept() -> None:
    X = (NEAR * 1e-30).astype(np.float32)
    y = 1e20 * (NEAR.astype(float) @ [1.0, 2.0, 3.0] + NOISE)
    model = LinearRegression().fit(X, y)
    assert model.coef_.dtype == np.float64
    assert model.score(X, y) > 0.8
