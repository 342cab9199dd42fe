"""All forms of the interior point method's linear system, against the system written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary.core.design import as_design
from corollary.core.loss import Absolute
from corollary.core.penalty import L2, NoPenalty
from corollary.core.problem import Problem
from corollary.solvers.linear.interior_point import kkt
from corollary.solvers.linear.interior_point.kkt import newton_system

Array = Any


@pytest.fixture(params=["whole", "reduced"], autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "reduced":  # by columns or by rows, as the shape demands
        monkeypatch.setattr(kkt, "WHOLE", 0)


def problem(X: Any, intercept: bool = True) -> Problem:
    n = X.shape[0]
    return Problem(as_design(X), np.zeros(n), np.ones(n), Absolute(), L2(1.0), fit_intercept=intercept)


def written_out(
    X: Array, w: Array, diagonal: Array, miss: Array, pull: Array, total: float, intercept: bool
) -> tuple[Array, float, Array]:
    """x, b and z from one dense matrix in (x, b, z)."""
    n, d = X.shape
    k = int(intercept)
    A = np.hstack([X, np.ones((n, k))])
    top = np.hstack([np.diag(np.append(diagonal, np.zeros(k))), -A.T])
    matrix = np.vstack([top, np.hstack([A, np.diag(1 / w)])])
    found = np.linalg.solve(matrix, np.concatenate([pull, np.full(k, -total), miss]))
    return found[:d], float(found[d]) if intercept else 0.0, found[d + k :]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("shape", [(30, 5), (6, 20)])
def test_every_form_solves_the_system(shape: tuple[int, int], kind: Any, intercept: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    n, d = shape
    w, diagonal = 10.0 ** rng.uniform(-3, 3, n), 10.0 ** rng.uniform(-3, 1, d)
    scale = 2.0 ** rng.integers(-3, 4, d)
    miss, pull, total = rng.standard_normal(n), rng.standard_normal(d), 0.7
    system = newton_system(problem(kind(X / scale), intercept), scale, w, diagonal)
    x, b, z = system.solve(miss, np.zeros(n), pull, total)
    expected = written_out(X, w, diagonal, miss, pull, total, intercept)
    for found, wanted in zip((x, b, z), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", [(30, 5), (6, 20)])
def test_a_given_z_is_moved_no_further_than_needed(shape: tuple[int, int]) -> None:
    """With nothing missing, a z that already satisfies the constraints stays where it is."""
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal(shape), np.ones(shape[0])
    z = rng.standard_normal(shape[0])
    system = newton_system(problem(X), np.ones(shape[1]), w, np.ones(shape[1]))
    x, b, same = system.solve(np.zeros(shape[0]), z, -X.T @ z, float(z.sum()))
    np.testing.assert_allclose(same, z, atol=1e-12)
    np.testing.assert_allclose(np.append(x, b), 0.0, atol=1e-12)


def test_huge_weights_leave_the_constraints_exact() -> None:
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((40, 6)), 10.0 ** rng.uniform(-12, 12, 40)
    system = newton_system(problem(X), np.ones(6), w, np.full(6, 1e-6))
    x, _, z = system.solve(rng.standard_normal(40), np.zeros(40), np.zeros(6), 0.0)
    size = np.abs(z).sum()
    assert abs(z.sum()) <= 1e-11 * size
    assert np.abs(1e-6 * x - X.T @ z).max() <= 1e-11 * size


def test_singular_columns_are_harmless() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    X = np.hstack([X, X[:, :1], np.full((30, 1), 5.0), np.zeros((30, 1))])
    free = Problem(as_design(X), np.zeros(30), np.ones(30), Absolute(), NoPenalty())
    z = rng.standard_normal(30)
    projected = newton_system(free, np.ones(6), np.ones(30), np.zeros(6)).solve(np.zeros(30), z, np.zeros(6), 0.0)[2]
    A = np.hstack([X, np.ones((30, 1))])
    np.testing.assert_allclose(projected, z - A @ np.linalg.pinv(A) @ z, atol=1e-9)


def test_equal_rows_of_huge_weight_are_no_obstacle_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their part of the matrix is singular to the last bit; the answer is that of one row with both weights."""
    monkeypatch.setattr(kkt, "WHOLE", 500)
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.5, -1.0], [2.0, 0.25]])
    w, diagonal = np.array([1e30, 1e30, 1.0, 2.0]), np.ones(2)
    miss, pull = np.array([0.5, 0.5, -1.0, 0.25]), np.array([0.3, -0.2])
    x, b, z = newton_system(problem(X), np.ones(2), w, diagonal).solve(miss, np.zeros(4), pull, 0.7)
    one = slice(1, None)
    once, b_once, z_once = written_out(X[one], np.array([2e30, 1.0, 2.0]), diagonal, miss[one], pull, 0.7, True)
    np.testing.assert_allclose(x, once, rtol=1e-9)
    assert b == pytest.approx(b_once, rel=1e-9)
    np.testing.assert_allclose([z[0] + z[1], z[2], z[3]], z_once, rtol=1e-9)
