"""Large tables are looked at by all threads before scikit-learn would look at them with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary import LinearRegression, threads
from corollary.core.door.finite import LARGE, seen_finite


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_number_is_looked_at(dtype: Any, order: Any) -> None:
    X = np.ones((LARGE // 8, 8), dtype=dtype, order=order)
    for count in (1, 2, 7):
        with threads(count):
            assert seen_finite(X)
            for bad in (np.nan, np.inf, -np.inf):
                for place in (0, X.size // 2, X.size - 1):
                    X.flat[place] = bad
                    assert not seen_finite(X)
                    X.flat[place] = 1.0


def test_what_is_left_to_scikit_learn() -> None:
    X = np.ones((LARGE // 8, 16))
    for other in (X[:1000], X[:, ::2], X.astype(np.int64), X.tolist()[:10], None):
        assert not seen_finite(other)
    assert not seen_finite(np.full(X.shape, 1e308))  # a sum that overflows says nothing


def test_fits_refuse_what_is_no_number_in_the_usual_words() -> None:
    X, y = np.random.default_rng(0).standard_normal((LARGE // 4, 4)), np.zeros(LARGE // 4)
    assert LinearRegression().fit(X, y).evidence_.holds
    X[-1, -1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        LinearRegression().fit(X, y)
    X[-1, -1], y[-1] = 0.0, np.inf
    with pytest.raises(ValueError, match="y contains infinity"):
        LinearRegression().fit(X, y)
