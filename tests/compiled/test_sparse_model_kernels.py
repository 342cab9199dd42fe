"""Coordinate descent on a model of sparse columns, beside the same written with dense NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary._compiled.codes import ELASTIC
from corollary._compiled.linear.sparse_model import add_columns, model_epoch


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


@pytest.mark.parametrize("free", [False, True])
def test_epochs_are_those_of_dense_columns(free: bool) -> None:
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((40, 12), density=0.4, format="csc", rng=rng)
    X, curve, l1, l2 = matrix.toarray(), rng.random(40) + 0.1, 0.3, 0.05
    slope = rng.standard_normal(40)
    slope -= curve * (slope.sum() / curve.sum()) if free else 0.0
    parts, columns = (matrix.data, matrix.indices, matrix.indptr), np.array([1, 2, 5, 7, 11])
    order, w, state = np.array([3, 0, 4, 2, 1]), np.zeros(5), np.stack([slope, curve], axis=1)
    norms, sums, kept, offset = np.empty(5), np.empty(5), np.empty(5, dtype=np.intp), 0.0
    twin, dense = np.zeros(12), slope.copy()
    total = float(curve.sum()) if free else 0.0
    for first in (True, False, False):
        mass, offset, count = model_epoch(
            parts, columns, order, first, state, total, w, norms, sums, (ELASTIC, l1, l2), offset, kept
        )
        assert mass == pytest.approx(epoch_in_numpy(X, curve, dense, twin, l1, l2, free, columns[order]), rel=1e-12)
    np.testing.assert_allclose(w, twin[columns], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(state[:, 0] - offset * curve, dense, rtol=1e-10, atol=1e-13)
    assert set(np.flatnonzero(w)) <= set(kept[:count])


def test_columns_are_added() -> None:
    matrix = sparse.random_array((30, 8), density=0.5, format="csc", rng=np.random.default_rng(1))
    out, columns, step = np.ones(30), np.array([0, 3, 7]), np.array([2.0, 0.0, -1.0])
    add_columns((matrix.data, matrix.indices, matrix.indptr), columns, step, out)
    np.testing.assert_allclose(out, 1.0 + matrix.toarray()[:, columns] @ step, rtol=1e-13)
