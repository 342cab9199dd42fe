"""Coordinate descent on a model along columns, dense and sparse, beside the same written with dense NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary._compiled.codes import ELASTIC
from corollary._compiled.linear.column_model import model_epoch


def epoch_in_numpy(X: Any, curve: Any, slope: Any, w: Any, l1: float, l2: float, free: bool, order: Any) -> float:
    """One epoch in place, with the columns about their weighted means where there is an intercept."""
    mass = 0.0
    for j in order:
        x = X[:, j] - (curve @ X[:, j] / curve.sum() if free else 0.0)
        h = curve @ x**2
        z = h * w[j] - x @ slope
        new = np.sign(z) * max(abs(z) - l1, 0.0) / (h + l2)
        mass += abs(new - w[j]) * (h + l2)
        slope += curve * x * (new - w[j])
        w[j] = new
    return mass


def laid_out(X: Any, dense: bool) -> Any:
    """The columns of X, one after the other."""
    if dense:
        return X.T.reshape(-1), np.empty(0, dtype=np.int32), np.arange(X.shape[1] + 1) * len(X)
    matrix = sparse.csc_array(X)
    return matrix.data, matrix.indices, matrix.indptr


def drawn(n: int, d: int) -> Any:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_epochs_are_those_of_numpy(free: bool, dense: bool) -> None:
    rng = np.random.default_rng(1)
    X, curve, l1, l2 = drawn(40, 12), rng.random(40) + 0.1, 0.3, 0.05
    slope = rng.standard_normal(40)
    slope -= curve * (slope.sum() / curve.sum()) if free else 0.0
    columns, order, w, here = np.array([1, 2, 5, 7, 11]), np.array([3, 0, 4, 2, 1]), np.zeros(5), slope.copy()
    norms, sums, offset, twin, there = np.empty(5), np.empty(5), 0.0, np.zeros(12), slope.copy()
    fixed = float(curve.sum()) if free else 0.0, w, norms, sums, (ELASTIC, l1, l2)
    for first in (True, False, False):
        mass, offset = model_epoch(laid_out(X, dense), columns, order, first, curve, here, *fixed, offset)
        assert mass == pytest.approx(epoch_in_numpy(X, curve, there, twin, l1, l2, free, columns[order]), rel=1e-12)
    np.testing.assert_allclose(w, twin[columns], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(here - offset * curve, there, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("dense", [False, True])
def test_curvatures_about_a_mean_that_is_far_away(dense: bool, far: float) -> None:
    """Σ c x² − (Σ c x)²/Σ c has no digit left at 1e8; some columns lack entries, and are far from nothing."""
    rng = np.random.default_rng(2)
    X, curve = rng.standard_normal((60, 3)), rng.random(60) + 0.1
    X[:, :2] += far
    X[rng.random(60) < 0.5, 1] = 0.0
    slope, norms, sums, w = np.zeros(60), np.empty(3), np.empty(3), np.zeros(3)
    args = float(curve.sum()), w, norms, sums, (ELASTIC, 1.0, 0.0), 0.0
    model_epoch(laid_out(X, dense), np.arange(3), np.arange(3), True, curve, slope, *args)
    exact = X.astype(np.longdouble)
    exact = exact - curve @ exact / curve.sum(dtype=np.longdouble)
    np.testing.assert_allclose(norms, (curve @ exact**2).astype(float), rtol=1e-7)
