"""Poisson deviances of targets that vary little about a large mean: no digit is lost, and no impurity is negative."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corollary
from corollary import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from corollary._compiled.trees.deviance import bregman
from corollary.solvers.trees.deviance import deviances

RNG = np.random.default_rng(6)
X = RNG.normal(size=(60, 3))
SPREAD = np.abs(RNG.normal(size=60))


def half_deviance(y: Any) -> float:
    """By extended precision."""
    y = y.astype(np.longdouble)
    t = (y - y.mean()) / y.mean()
    return float((y.mean() * ((1 + t) * np.log1p(t) - t)).mean())


@pytest.mark.parametrize("t", [-1.0, -0.999, -0.3, -0.1, -1e-3, -1e-9, 0.0, 1e-12, 1e-6, 0.04, 0.06, 0.0999, 0.2, 50.0])
def test_terms_keep_their_digits(t: float) -> None:
    powers = sum((-1) ** k * np.longdouble(t) ** k / (k * (k - 1)) for k in range(2, 40))
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = 1.0 if t == -1 else powers if abs(t) < 0.2 else (1 + np.longdouble(t)) * np.log1p(np.longdouble(t)) - t
    np.testing.assert_allclose(
        [getattr(bregman, "py_func", bregman)(t), float(deviances(np.array(t), np.array(1.0)))],
        float(exact),
        rtol=1e-14,
    )


@pytest.mark.parametrize("mean", [1e3, 1e6, 1e8])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(criterion="poisson", max_depth=4),
        RandomForestRegressor(3, criterion="poisson", max_depth=4, random_state=0),
        RandomForestRegressor(3, criterion="poisson", bootstrap=False, random_state=0),
        ExtraTreesRegressor(3, criterion="poisson", random_state=0),
    ],
)
def test_models_of_large_means(model: Any, mean: float, tmp_path: Path) -> None:
    y = SPREAD + mean
    model.fit(X, y)
    assert model.evidence_.holds
    assert (model.trees_.impurity >= 0).all()
    if not getattr(model, "bootstrap", False):
        roots = model.trees_.impurity[np.asarray(model.trees_.roots)]
        np.testing.assert_allclose(roots, half_deviance(y), rtol=1e-7)
    model.save(tmp_path / "model.corollary")
    np.testing.assert_array_equal(corollary.load(tmp_path / "model.corollary").predict(X), model.predict(X))


def test_weights_and_outputs_of_large_means(tmp_path: Path) -> None:
    Y, weights = np.column_stack([SPREAD + 1e6, SPREAD[::-1] + 10.0]), RNG.integers(1, 5, 60).astype(float)
    for each in (weights, weights * np.where(np.arange(60) % 2, 1e6, 1.0)):
        for model in (
            DecisionTreeRegressor(criterion="poisson", max_depth=4),
            RandomForestRegressor(2, criterion="poisson", random_state=0),
        ):
            model.fit(X, Y, sample_weight=each)
            assert model.evidence_.holds
            model.save(tmp_path / "model.corollary")
