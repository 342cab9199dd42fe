"""Tall data replaced by d rows: the same squared loss at every β."""

from __future__ import annotations

import numpy as np
import pytest

from corollary.core.design import as_design
from corollary.solvers.linear.compress import MAX_COLUMNS, compress, worth_compressing

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4)) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 5.0, 1.0, 1e4]
Y = RNG.normal(size=(50, 2)) + 3.0
WEIGHTS = RNG.uniform(0.0, 2.0, 50)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("target", [0, 1])
def test_the_loss_is_the_same_everywhere(target: int, fit_intercept: bool) -> None:
    small = compress(as_design(X).moments(Y, WEIGHTS), target, fit_intercept=fit_intercept)
    assert small is not None
    assert small.R.shape == (4, 4)
    for _ in range(5):
        beta = RNG.normal(size=4) / [1.0, 1e3, 1e-3, 1.0]
        r = Y[:, target] - X @ beta
        b = small.intercept(beta)
        assert b == pytest.approx(WEIGHTS @ r / WEIGHTS.sum() if fit_intercept else 0.0)
        residual = small.y - small.R @ beta
        assert residual @ residual + small.rest == pytest.approx(WEIGHTS @ (r - b) ** 2, rel=1e-6)


def test_constant_columns_are_left_out() -> None:
    small = compress(as_design(np.column_stack([X, np.full(50, 7.0)])).moments(Y), 0, fit_intercept=True)
    assert small is not None
    np.testing.assert_array_equal(small.R[:, 4], 0.0)


def test_nothing_varies() -> None:
    """A problem without rows would have no gradient: then the data are used as they are."""
    assert compress(as_design(np.full((50, 3), 2.0)).moments(Y), 0, fit_intercept=True) is None


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_collinear_columns_are_not_compressed(noise: float) -> None:
    twice = np.column_stack([X, X[:, 0] + X[:, 3] * noise])
    assert compress(as_design(twice).moments(Y), 0, fit_intercept=True) is None


def test_when_it_pays() -> None:
    assert worth_compressing((1000, 10))
    assert not worth_compressing((15, 10))
    assert not worth_compressing((10**7, MAX_COLUMNS + 1))
