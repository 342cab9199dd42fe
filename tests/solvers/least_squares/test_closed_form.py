"""The closed-form solver: every route gives the same answer, proves it, and survives bad data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from corollary.core.design import Design, as_design
from corollary.core.evidence import Evidence, Status
from corollary.core.parallel import threads
from corollary.core.problem import EPS
from corollary.core.summary import Moments, Triangle
from corollary.solvers.least_squares.closed_form import solve
from corollary.solvers.least_squares.nonnegative import nonnegative_least_squares
from corollary.solvers.least_squares.task import Answer, Task

SHAPES = [(40, 6), (3000, 20), (6, 40), (12, 12), (60, 150)]


def make(n: int, d: int, k: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d) + 3 * rng.standard_normal(d)
    Y = X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k))
    return X, Y, rng.random(n) + 0.1


def least_squares(
    design: Design,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    alpha: Any = 0.0,
    fit_intercept: bool = True,
    precision: float = EPS,
    **options: Any,
) -> tuple[Answer, Evidence]:
    task = Task(design, np.asarray(Y, dtype=np.float64), weights, np.zeros(Y.shape[1]), fit_intercept, precision)
    return solve(task.at(alpha), **options)


def by_lstsq(X, Y, w, alpha, fit_intercept):
    """The textbook way: centre, weigh, append √α I, take the minimum-norm solution."""
    w = np.ones(len(X)) if w is None else w
    centre = w @ X / w.sum() if fit_intercept else np.zeros(X.shape[1])
    level = w @ Y / w.sum() if fit_intercept else np.zeros(Y.shape[1])
    A = np.sqrt(w)[:, None] * (X - centre)
    B = np.sqrt(w)[:, None] * (Y - level)
    A = np.vstack([A, np.sqrt(alpha) * np.eye(X.shape[1])])
    B = np.vstack([B, np.zeros((X.shape[1], Y.shape[1]))])
    beta = np.linalg.lstsq(A, B, rcond=1e-13)[0]
    return beta, level - centre @ beta


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("method", ["auto", "svd"])
def test_agrees_with_augmented_least_squares(shape, alpha, weighted, fit_intercept, method) -> None:
    X, Y, w = make(*shape)
    weights = w if weighted else None
    answer, evidence = least_squares(as_design(X), Y, weights, alpha=alpha, fit_intercept=fit_intercept, method=method)
    beta, level = by_lstsq(X, Y, weights, alpha, fit_intercept)
    np.testing.assert_allclose(answer.coef, beta, rtol=1e-8, atol=1e-9 * np.abs(beta).max())
    np.testing.assert_allclose(answer.intercept, level, rtol=1e-8, atol=1e-8 * np.abs(Y).max())
    assert evidence.holds
    assert evidence.status is Status.EXACT


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_equals_dense(shape, alpha, kind) -> None:
    X, Y, w = make(*shape)
    X[np.abs(X) < np.median(np.abs(X))] = 0.0
    dense, _ = least_squares(as_design(X), Y, w, alpha=alpha)
    thin, evidence = least_squares(as_design(kind(X)), Y, w, alpha=alpha)
    np.testing.assert_allclose(thin.coef, dense.coef, rtol=1e-9, atol=1e-10 * np.abs(dense.coef).max())
    assert evidence.holds


def test_certificate_is_the_true_suboptimality() -> None:
    """Against the quadratic itself: P(β) − P(β*) = ½ ∇ᵀ H⁻¹ ∇, recomputed from the data."""
    X, Y, w = make(500, 10, k=1)
    answer, evidence = least_squares(as_design(X), Y, w, alpha=2.0)
    centred = X - w @ X / w.sum()
    residual = Y[:, 0] - X @ answer.coef[:, 0] - answer.intercept[0]
    slope = centred.T @ (w * residual) - 2.0 * answer.coef[:, 0]
    H = centred.T @ (w[:, None] * centred) + 2.0 * np.eye(10)
    objective = 0.5 * (w @ residual**2 + 2.0 * answer.coef[:, 0] @ answer.coef[:, 0])
    gap = 0.5 * slope @ np.linalg.solve(H, slope) + 0.5 * (w @ residual) ** 2 / w.sum()
    assert gap / objective <= 1e-20
    assert evidence.certificate.value <= 1e-20
    assert evidence.facts["objective"] == pytest.approx(2 * objective, rel=1e-12)


def test_one_alpha_for_each_output() -> None:
    X, Y, w = make(2000, 20, k=3)
    alphas = np.array([0.1, 5.0, 0.1])
    for design in (as_design(X), as_design(X[:15])):
        rows = design.shape[0]
        together, _ = least_squares(design, Y[:rows], w[:rows], alpha=alphas)
        for c, alpha in enumerate(alphas):
            alone, _ = least_squares(design, Y[:rows, c : c + 1], w[:rows], alpha=alpha)
            np.testing.assert_allclose(together.coef[:, c], alone.coef[:, 0], rtol=1e-10, atol=1e-13)
            assert together.dof[c] == pytest.approx(alone.dof[0], rel=1e-10)


@pytest.mark.parametrize("shape", [(60, 8), (3000, 20), (10, 30)])
def test_effective_degrees_of_freedom(shape) -> None:
    X, Y, w = make(*shape)
    A = np.sqrt(w)[:, None] * (X - w @ X / w.sum())
    s = np.linalg.svd(A, compute_uv=False)
    for alpha in (1e-3, 1.0, 1e6):
        answer, evidence = least_squares(as_design(X), Y, w, alpha=alpha)
        expected = np.sum(s**2 / (s**2 + alpha))
        np.testing.assert_allclose(answer.dof, expected, rtol=1e-9, atol=1e-11)
        assert evidence.facts["effective dof"] == pytest.approx(expected, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("copies", [1, 500])
def test_rank_deficient_gives_minimum_norm_and_says_so(copies: int) -> None:
    """Small data take the orthogonal route, large ones the moments; constants, sums, and multiples are all found."""
    rng = np.random.default_rng(4)
    base = rng.standard_normal((60, 4))
    X = np.column_stack([base, base[:, 0] - base[:, 1], np.full(60, 0.1), 1000 * base[:, 2] + 7])
    X = np.tile(X, (copies, 1))
    y = (X @ np.arange(1.0, 8.0) + rng.standard_normal(len(X)))[:, None]
    answer, evidence = least_squares(as_design(X), y)
    centred = X - X.mean(axis=0)
    centred[:, 5] = 0.0
    expected = np.linalg.pinv(centred, rcond=1e-12) @ (y - y.mean())
    np.testing.assert_allclose(answer.coef, expected, rtol=1e-8, atol=1e-9)
    assert answer.rank == 4
    assert evidence.facts["rank"] == 4
    assert "rank 4, not 7" in str(evidence)
    assert evidence.holds


def test_dependent_dummy_columns_need_one_pass_more_not_another_route() -> None:
    rng = np.random.default_rng(1)
    dummies = np.eye(6)[rng.integers(0, 6, 9000)]
    X = np.column_stack([dummies, rng.standard_normal((9000, 3))])
    y = (X @ rng.standard_normal(9) + rng.standard_normal(9000))[:, None]
    answer, evidence = least_squares(as_design(X), y)
    expected = np.linalg.pinv(X - X.mean(axis=0)) @ (y - y.mean())
    np.testing.assert_allclose(answer.coef, expected, rtol=1e-9, atol=1e-12)
    assert evidence.solver == "Cholesky factor"
    assert answer.rank == 8


def test_ill_conditioned_large_data_take_the_orthogonal_route() -> None:
    """Integer powers with integer y have the exact answer 1, 1, ..., 1; the moments alone would lose it."""
    x = np.random.default_rng(0).integers(0, 21, 8000).astype(float)
    X = x[:, None] ** np.arange(1, 10)
    noise = np.random.default_rng(1).integers(-1000, 1000, 8000).astype(float)
    fitted = X.sum(axis=1) + 1
    X, y = np.vstack([X, X]), np.concatenate([fitted + noise, fitted - noise])[:, None]
    answer, evidence = least_squares(as_design(X), y)
    assert evidence.solver == "orthogonal factor"
    assert evidence.facts["condition number"] > 1e6
    np.testing.assert_allclose(answer.coef, 1.0, rtol=1e-14)
    np.testing.assert_allclose(answer.intercept, 1.0, rtol=1e-14)
    assert answer.norm[0] ** 2 == pytest.approx(2 * noise @ noise, rel=1e-14)


@pytest.mark.parametrize("shape", [(30, 3), (8000, 6), (4, 9)])
@pytest.mark.parametrize("exponent", [(300, 0), (-300, 0), (0, 300), (150, -150)])
def test_extreme_magnitudes(shape, exponent) -> None:
    X, Y, _ = make(*shape, k=1)
    X -= X.mean(axis=0)
    stretch = np.ones(shape[1])
    if shape[0] >= shape[1]:
        stretch[1] = 2.0 ** int(exponent[0] * 3.32)
    else:  # minimum norm is meant in the units of X, so only a common factor leaves it comparable
        stretch[:] = 2.0 ** int(exponent[0] * 3.32)
    level = 2.0 ** int(exponent[1] * 3.32)
    plain, _ = least_squares(as_design(X), Y)
    wild, evidence = least_squares(as_design(X * stretch), Y * level)
    np.testing.assert_allclose(wild.coef * stretch[:, None] / level, plain.coef, rtol=1e-9)
    np.testing.assert_allclose(wild.intercept / level, plain.intercept, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(wild.norm / level, plain.norm, rtol=1e-6, atol=1e-9)
    assert evidence.holds


def test_overflowing_coefficients_are_an_error_and_never_nan() -> None:
    X, Y, _ = make(30, 3)
    with pytest.raises(ValueError, match="range of float64"):
        least_squares(as_design(X * 1e-200), Y * 1e200)


@pytest.mark.parametrize("shape", [(50, 4), (6000, 12), (20, 60)])
def test_ridge_with_extreme_columns_ignores_or_frees_them(shape) -> None:
    X, Y, _ = make(*shape, k=1)
    huge = X * 2.0**600
    ridge, evidence = least_squares(as_design(huge), Y, alpha=1.0)
    free, _ = least_squares(as_design(X), Y)
    np.testing.assert_allclose(ridge.coef * 2.0**600, free.coef, rtol=1e-7)
    tiny, _ = least_squares(as_design(X * 2.0**-600), Y, alpha=1.0)
    assert np.isfinite(tiny.coef).all()
    assert evidence.holds


@pytest.mark.parametrize("shape", [(20000, 12), (30, 4000)])
@pytest.mark.parametrize("method", ["auto", "svd"])
def test_threads_do_not_change_a_bit(shape, method) -> None:
    X, Y, w = make(*shape)
    answers = []
    for n in (1, 2, 3):
        with threads(n):
            answers.append(least_squares(as_design(X), Y, w, alpha=0.5, method=method)[0])
    for other in answers[1:]:
        np.testing.assert_array_equal(answers[0].coef, other.coef)
        np.testing.assert_array_equal(answers[0].intercept, other.intercept)


def test_blocks_equal_whole() -> None:
    X, Y, w = make(500, 5)
    X += 1e6
    parts = [slice(0, 100), slice(100, 101), slice(101, 500)]
    whole = Moments.of(X, Y, w, X[0])
    first, second, third = (Moments.of(X[p], Y[p], w[p], X[0]) for p in parts)
    merged = first + second + third
    centred = X - w @ X / w.sum()
    exact = centred.T @ (w[:, None] * centred)
    for moments in (whole, merged):
        np.testing.assert_allclose(moments.xx, exact, rtol=1e-9, atol=1e-9 * exact.max())
    one, two = Triangle.of(X), Triangle.of(X[:200]) + Triangle.of(X[200:])
    np.testing.assert_allclose(np.abs(np.diagonal(one.R)), np.abs(np.diagonal(two.R)), rtol=1e-6)


def test_rows_of_weight_zero_are_not_there() -> None:
    for shape in ((50, 4), (4000, 12), (8, 30)):
        X, Y, w = make(*shape)
        w[::3] = 0.0
        live = w > 0
        for alpha in (0.0, 1.0):
            part, _ = least_squares(as_design(X[live]), Y[live], w[live], alpha=alpha)
            full, evidence = least_squares(as_design(X), Y, w, alpha=alpha)
            np.testing.assert_allclose(full.coef, part.coef, rtol=1e-8, atol=1e-10)
            assert full.rank == part.rank
            assert evidence.holds


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_conjugate_gradients_agree_with_the_factor(alpha: float) -> None:
    X = sparse.random_array((400, 120), density=0.05, rng=np.random.default_rng(0), format="csr")
    Y = np.random.default_rng(1).standard_normal((400, 2))
    direct, _ = least_squares(as_design(X), Y, alpha=alpha)
    iterated, evidence = least_squares(as_design(X), Y, alpha=alpha, method="cg", tol=1e-12)
    np.testing.assert_allclose(iterated.coef, direct.coef, rtol=1e-4, atol=1e-5 * np.abs(direct.coef).max())
    assert evidence.holds
    assert evidence.status is Status.CONVERGED
    _, stopped = least_squares(as_design(X), Y, alpha=alpha, method="cg", tol=1e-12, max_iter=2)
    assert not stopped.holds
    assert stopped.status is Status.MAX_ITER


def test_conjugate_gradient_gap_is_a_bound() -> None:
    X, Y, w = make(300, 40, k=1)
    best, _ = least_squares(as_design(X), Y, w, alpha=3.0)
    for limit in (5, 20, 60):
        answer, evidence = least_squares(as_design(X), Y, w, alpha=3.0, method="cg", max_iter=limit)
        values = [0.5 * (a.norm[0] ** 2 + 3.0 * a.coef[:, 0] @ a.coef[:, 0]) for a in (answer, best)]
        assert evidence.certificate.value >= (values[0] - values[1]) / values[0] * (1 - 1e-9) - 1e-14  # of their sums


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_nonnegative(alpha: float, fit_intercept: bool) -> None:
    X, Y, w = make(200, 8)
    task = Task(as_design(X), Y, w, np.full(2, alpha), fit_intercept)
    coef, intercept, evidence = nonnegative_least_squares(task, 1e-8)
    root = np.sqrt(w)[:, None]
    centre = w @ X / w.sum() if fit_intercept else 0.0
    level = w @ Y / w.sum() if fit_intercept else np.zeros(2)
    A = np.vstack([root * (X - centre), np.sqrt(alpha) * np.eye(8)])
    for c in range(2):
        b = np.append(root[:, 0] * (Y[:, c] - level[c]), np.zeros(8))
        np.testing.assert_allclose(coef[:, c], nnls(A, b)[0], rtol=1e-8, atol=1e-10)
    assert (coef >= 0).all()
    assert (coef == 0).any()
    assert evidence.holds
    np.testing.assert_allclose(intercept, level - centre @ coef if fit_intercept else 0.0, rtol=1e-9, atol=1e-9)


def test_cholesky_gives_way_where_it_cannot_work() -> None:
    x = np.linspace(0.0, 1.0, 50)
    X = x[:, None] ** np.arange(1, 12)
    for design in (as_design(X), as_design(X[:8].T.copy().T[:, ::-1][:8])):
        Y = np.arange(float(design.shape[0]))[:, None]
        asked, evidence = least_squares(design, Y, method="cholesky")
        other, _ = least_squares(design, Y, method="svd")
        np.testing.assert_array_equal(asked.coef, other.coef)
        assert evidence.solver == other.solver


def test_constant_and_empty_data() -> None:
    constant, evidence = least_squares(as_design(np.full((5, 2), 0.3)), np.arange(5.0)[:, None])
    np.testing.assert_array_equal(constant.coef, 0.0)
    assert constant.intercept[0] == 2.0
    assert constant.rank == 0
    assert evidence.holds
    zero, evidence = least_squares(as_design(np.random.default_rng(0).standard_normal((9, 2))), np.zeros((9, 1)))
    np.testing.assert_array_equal(zero.coef, 0.0)
    assert evidence.holds
    single, evidence = least_squares(as_design(np.array([[1.0, 2.0]])), np.array([[3.0]]))
    np.testing.assert_array_equal(single.coef, 0.0)
    assert single.intercept[0] == 3.0
    assert evidence.holds


def test_extreme_magnitudes_in_sparse_columns() -> None:
    X = sparse.random_array((300, 20), density=0.3, rng=np.random.default_rng(0), format="csc")
    Y = np.random.default_rng(1).standard_normal((300, 1))
    stretch = np.ones(20)
    stretch[[2, 5]] = 2.0**900, 2.0**-900
    plain, _ = least_squares(as_design(X), Y)
    wild, evidence = least_squares(as_design(sparse.csc_array(X @ sparse.diags_array(stretch))), Y)
    np.testing.assert_allclose(wild.coef * stretch[:, None], plain.coef, rtol=1e-10)
    assert evidence.holds


def test_extreme_weights() -> None:
    X, Y, w = make(8000, 6)
    plain, _ = least_squares(as_design(X), Y, w)
    light, evidence = least_squares(as_design(X), Y, w * 2.0**-800)
    np.testing.assert_allclose(light.coef, plain.coef, rtol=1e-12)
    assert evidence.holds
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="sample_weight or alpha"):
        least_squares(as_design(X), Y, w * 1.7e308)


def test_large_sparse_data_take_conjugate_gradients() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((4200, 4100), density=0.002, rng=rng, format="csr")
    answer, evidence = least_squares(as_design(X), rng.standard_normal((4200, 1)), alpha=1.0)
    assert evidence.solver == "conjugate gradients"
    assert evidence.holds
    assert answer.rank is None
