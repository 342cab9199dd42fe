"""Every estimator with ``warm_start``: a fit to other columns than the last is refused in words, or is a fresh fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from corollary.core.types import Array
from corollary.registry import ESTIMATORS

D = 5


def warm(name: str, **more: Any) -> Any:
    """A model that goes on from its last fit, as far as it can."""
    model = ESTIMATORS[name].load()()
    known = model.get_params(deep=False)
    given = {"warm_start": True, "random_state": 0, "n_estimators": 4, "min_samples_leaf": 2} | more
    return model.set_params(**{key: value for key, value in given.items() if key in known})


NAMES = sorted(name for name in ESTIMATORS if "warm_start" in ESTIMATORS[name].load()().get_params(deep=False))


def rows(name: str, d: int) -> tuple[Array, Array | None]:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(80, d))
    y = X[:, -1] + X[:, 0] + 0.3 * rng.normal(size=80)  # the last column splits
    tasks = ESTIMATORS[name].tasks
    return X, (y > 0).astype(int) if "classification" in tasks else y if "regression" in tasks else None


def test_some_models_go_on() -> None:
    assert {"GradientBoostingRegressor", "BaggingClassifier", "RandomForestRegressor", "Lasso"} <= {*NAMES}


@pytest.mark.parametrize("rounds", [4, 6])
@pytest.mark.parametrize("d", [1, D - 1, D + 3])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:Warm-start fitting without increasing")
def test_other_columns_are_refused_or_fitted_afresh(name: str, d: int, rounds: int) -> None:
    X, y = rows(name, D)
    model = warm(name).fit(X, y)
    before = model.predict(X)
    Z, z = rows(name, d)
    if rounds > 4:
        model.set_params(**{"n_estimators": rounds} if hasattr(model, "n_estimators") else {})
    try:
        model.fit(Z, z)
    except ValueError as error:
        assert "warm_start" in str(error)  # noqa: PT017 — or nothing is raised
        np.testing.assert_array_equal(model.predict(X), before)
        return
    fresh = warm(name, n_estimators=rounds).fit(Z, z)
    assert model.n_features_in_ == d
    np.testing.assert_allclose(model.predict(Z), fresh.predict(Z), rtol=1e-4, atol=1e-4)
    assert model.evidence_.verify(Z, z).stands is not False


@pytest.mark.parametrize("name", NAMES)
def test_the_same_columns_are_not_refused(name: str) -> None:
    X, y = rows(name, D)
    model = warm(name).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, y).n_features_in_ == D
