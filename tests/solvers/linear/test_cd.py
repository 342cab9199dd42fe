"""Minimisers of quadratic models: optimality of every coordinate, with and without the Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary.core.design import as_design
from corollary.core.penalty import L0, L1, L2, ElasticNet, Group, NoPenalty, Penalty, PositiveElasticNet
from corollary.solvers.linear.descent.cd import minimise_quadratic
from corollary.solvers.linear.descent.column_descent import minimise_columns

PENALTIES: dict[str, Penalty] = {
    "l1": L1(0.3),
    "elastic net": ElasticNet(0.3, 0.2),
    "positive": PositiveElasticNet(0.2, 0.1),
    "l2": L2(0.5),
    "none": NoPenalty(),
    "group": Group(0.3, np.array([0, 1, 0, 1, 2, 2])),
}


def quadratic(seed: int, d: int = 6) -> tuple[Any, Any]:
    """A correlated Hessian and a gradient."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(30, d)) @ (np.eye(d) + 0.5)
    return A.T @ A / 30, rng.normal(size=d)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("seed", range(4))
def test_every_coordinate_is_optimal(penalty: str, seed: int) -> None:
    H, g = quadratic(seed)
    start = np.random.default_rng(seed).normal(size=6) if penalty != "positive" else np.ones(6)
    w, gradient = minimise_quadratic(H, g, start, PENALTIES[penalty], tol=1e-12)
    np.testing.assert_allclose(gradient, g + H @ (w - start), atol=1e-10)
    assert PENALTIES[penalty].subdiff_distance(w, gradient).max() < 1e-9


@pytest.mark.parametrize("step", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("penalty", [*PENALTIES, "l0"])
def test_with_a_round_bowl_the_minimiser_is_the_prox(penalty: str, step: float) -> None:
    """min ½‖w − point‖²/step + Ω(w): the compiled kernels against the definition."""
    part = PENALTIES.get(penalty, L0(0.3))
    for seed in range(5):
        point = np.random.default_rng(seed).normal(size=6)
        w, _ = minimise_quadratic(np.eye(6) / step, -point / step, np.zeros(6), part, tol=1e-13)
        np.testing.assert_allclose(w, part.prox(point, step), atol=1e-10)


@pytest.mark.parametrize("penalty", ["l1", "elastic net", "l2"])
def test_only_the_leading_block_counts(penalty: str) -> None:
    H, g = quadratic(0)
    buffer = np.full((9, 9), np.nan)
    buffer[:6, :6] = H
    first, _ = minimise_quadratic(H, g, np.zeros(6), PENALTIES[penalty], tol=1e-12)
    second, _ = minimise_quadratic(buffer, g, np.zeros(6), PENALTIES[penalty], tol=1e-12)
    np.testing.assert_array_equal(first, second)


def test_inputs_are_left_alone() -> None:
    H, g = quadratic(1)
    start = np.zeros(6)
    before = H.copy(), g.copy()
    minimise_quadratic(H, g, start, L1(0.1), tol=1e-12)
    np.testing.assert_array_equal(H, before[0])
    np.testing.assert_array_equal(g, before[1])
    assert not start.any()


@pytest.mark.parametrize("seed", range(4))
def test_l0_is_a_fixed_point(seed: int) -> None:
    H, g = quadratic(seed)
    w, gradient = minimise_quadratic(H, g, np.zeros(6), L0(0.05), tol=1e-10)
    for j in range(6):
        z, h = H[j, j] * w[j] - gradient[j], H[j, j]
        best = z / h if z**2 / (2 * h) > 0.05 else 0.0
        assert w[j] == pytest.approx(best, abs=1e-8)


def test_repeated_columns() -> None:
    H, g = quadratic(2)
    H, g = np.tile(H, (2, 2)), np.tile(g, 2)
    for penalty in (L1(0.1), ElasticNet(0.1, 0.1), L2(0.1)):
        w, gradient = minimise_quadratic(H, g, np.zeros(12), penalty, tol=1e-11)
        assert penalty.subdiff_distance(w, gradient).max() < 1e-8


def test_columns_of_zeros() -> None:
    H, g = quadratic(3)
    H[2], H[:, 2], g[2] = 0.0, 0.0, 0.0
    for penalty in (L1(0.1), L2(0.1), NoPenalty()):
        w, _ = minimise_quadratic(H, g, np.zeros(6), penalty, tol=1e-12)
        assert np.isfinite(w).all()
        assert w[2] == 0.0


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("penalty", ["l1", "elastic net", "positive"])
def test_columns_without_the_gram_matrix(penalty: str, free: bool, layout: str) -> None:
    """The same minimiser from the columns themselves; a free intercept follows every step."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(25, 8)) * (rng.random((25, 8)) < 0.6)
    curve, slope = rng.uniform(0.1, 1.0, 25) / 25, rng.normal(size=25) / 5
    columns = np.array([1, 2, 4, 5, 7])
    part = X[:, columns]
    if free:
        centred = part - curve @ part / curve.sum()
        H, g = (centred.T * curve) @ centred, part.T @ (slope - curve * slope.sum() / curve.sum())
    else:
        H, g = (part.T * curve) @ part, part.T @ slope
    weak: dict[str, Penalty] = {
        "l1": L1(0.02),
        "elastic net": ElasticNet(0.02, 0.02),
        "positive": PositiveElasticNet(0.02, 0.02),
    }
    scaled = weak[penalty]
    expected, _ = minimise_quadratic(H, g, np.zeros(5), scaled, tol=1e-13)
    design = as_design(X if layout == "dense" else sparse.csc_array(X))
    found = minimise_columns(design, columns, curve, slope, np.zeros(5), scaled, free=free, tol=1e-13)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert expected.any()


def test_one_huge_row_does_not_make_descent_and_the_support_undo_each_other() -> None:
    """Nearly all curvature in one direction: descent lets a column in with the sign that the support then refuses."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    X[0] *= 1e6
    weights = rng.uniform(0.01, 0.05, 30)
    H = X.T @ (weights[:, None] * X)
    truth = np.array([2.0, -1.0, 1.0, 0.5])
    gradient = -(X[1:].T @ (weights[1:] * (X[1:] @ truth + rng.normal(size=29))))
    w, end = minimise_quadratic(H, gradient, np.zeros(4), L1(0.01), tol=1e-12, max_rounds=30)
    np.testing.assert_allclose(end, gradient + H @ w, atol=1e-4)
    assert L1(0.01).subdiff_distance(w, end).max() < 1e-5  # rounding of H w; 1.6 where they go round in circles


def test_few_sparse_columns_that_are_nearly_equal_are_solved_for() -> None:
    """Descent alone would take millions of epochs; each of its rounds costs the time of a hundred."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + 1e-6 * rng.normal(size=(60, 5))
    slope, curve, columns = 1e-6 * rng.normal(size=60), np.full(60, 0.25), np.arange(5)
    found = minimise_columns(
        as_design(sparse.csc_array(X)), columns, curve, slope, np.zeros(5), L1(1e-13), free=False, tol=1e-15
    )
    end = X.T @ (slope + curve * (X @ found))
    assert L1(1e-13).subdiff_distance(found, end).max() < 1e-13  # 1e-11 at zero
    assert np.abs(found).max() > 1e-3
