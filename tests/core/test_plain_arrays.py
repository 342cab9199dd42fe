"""Plain arrays take the short way through the door; it must be the way that scikit-learn's checks would have taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from corollary import PCA, LinearRegression, LogisticRegression, threads
from corollary.core.door.arrays import LARGE, all_finite, plain

X, y = np.random.default_rng(0).standard_normal((50, 3)), np.arange(50.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_number_is_looked_at(dtype: Any, order: Any) -> None:
    table = np.ones((LARGE // 8, 8), dtype=dtype, order=order)
    for count in (1, 2, 7):
        with threads(count):
            assert all_finite(table)
            for bad in (np.nan, np.inf, -np.inf):
                for place in (0, table.size // 2, table.size - 1):
                    table.flat[place] = bad
                    assert not all_finite(table)
                    table.flat[place] = 1.0


@pytest.mark.parametrize(
    ("rows", "target", "options"),
    [
        (X.astype(np.int64), y, {}),
        (X.tolist(), y, {}),
        (pd.DataFrame(X), y, {}),
        (X.astype(">f8"), y, {}),
        (X[:0], y[:0], {}),
        (X[:, :0], y, {}),
        (X, y[:-1], {}),
        (X, y[:, None], {"multi_output": True}),
        (X, y.astype(object), {}),
        (X, pd.Series(y), {}),
        (X, y, {"ensure_min_samples": 51}),
        (X, y, {"ensure_min_features": 2}),
        (np.where(X > 2, np.nan, X), y, {"ensure_all_finite": "allow-nan"}),
        (X, y, {"reset": False}),
        (np.where(X > 2, np.nan, X), y, {}),
        (np.full(X.shape, 1e308), y, {}),
    ],
)
def test_what_is_left_to_scikit_learn(rows: Any, target: Any, options: dict[str, Any]) -> None:
    model = LinearRegression()
    assert not plain(model, rows, target, options)
    assert not hasattr(model, "n_features_in_")


def test_what_need_not_be_finite_is_not_looked_at() -> None:
    assert plain(PCA(), np.where(X > 2, np.nan, X), "no_validation", {"ensure_all_finite": False})


def test_names_of_columns_go_and_are_asked_for() -> None:
    model = LinearRegression().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("n", [50, LARGE // 3 + 1])
def test_fits_refuse_what_is_no_number_in_the_usual_words(n: int) -> None:
    table, target = np.random.default_rng(0).standard_normal((n, 3)), np.zeros(n)
    table[-1, -1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        LinearRegression().fit(table, target)
    table[-1, -1], target[-1] = 0.0, np.inf
    with pytest.raises(ValueError, match="y contains infinity"):
        LinearRegression().fit(table, target)


def test_a_column_of_classes_warns_as_before() -> None:
    with pytest.warns(Warning, match="column-vector"):
        LogisticRegression().fit(X, (y > 25).astype(int)[:, None])
