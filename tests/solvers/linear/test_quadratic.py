"""Quadratic models of losses: gradients and Hessians against differences, with the intercept eliminated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from small_problems import make_problem, numerical_gradient

from corollary.core.penalty import L2
from corollary.core.problem import Problem, inverse_of_classes
from corollary.solvers.linear import quadratic as models
from corollary.solvers.linear.quadratic import class_hessian, model_of

CURVED = ["squared", "logistic", "exponential", "poisson"]


def quadratic(problem: Problem, raw: Any, move: Any) -> float:
    """slope · move + ½ move · curvature · move, summed over the rows."""
    w, y = problem.weights, problem.y
    slope = problem.loss.gradient(y, raw)
    if problem.n_classes:
        curve = problem.loss.hessian(y, raw)
        return float(w @ ((slope * move).sum(axis=1) + np.einsum("ik,ikl,il->i", move, curve, move) / 2))
    return float(w @ (slope * move + problem.loss.hessian(y, raw) * move**2 / 2))


def best(problem: Problem, raw: Any, step: Any) -> tuple[float, Any]:
    """The least value of the quadratic over the intercept's move, and that move."""
    move = problem.design.matvec(step)
    start = np.zeros(max(problem.n_classes, 1))

    def value(shift: Any) -> float:
        return quadratic(problem, raw, move + (shift if problem.n_classes else shift[0]))

    if not problem.fit_intercept:
        return value(start), start
    found = minimize(value, start, method="BFGS", options={"gtol": 1e-10})
    return float(found.fun), found.x


def setup(loss: str, fit_intercept: bool) -> tuple[Problem, Any, Any]:
    problem = make_problem(loss, L2(0.0), d=3, fit_intercept=fit_intercept)
    rng = np.random.default_rng(2)
    raw = problem.raw(0.3 * rng.normal(size=problem.coef_shape), 0.1)
    _, slope, curve = problem.derivatives(raw)
    return problem, raw, model_of(problem, problem.design, slope, curve)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", [*CURVED, "softmax"])
def test_model_is_the_quadratic_with_the_best_intercept(loss: str, fit_intercept: bool) -> None:
    problem, raw, model = setup(loss, fit_intercept)
    (_, H), *more = model.blocks
    assert not more
    rng = np.random.default_rng(3)
    for _ in range(3):
        step = 0.5 * rng.normal(size=problem.coef_shape)
        value = float(np.vdot(model.gradient, step) + step.ravel() @ H @ step.ravel() / 2) - model.floor
        expected, shift = best(problem, raw, step)
        assert value == pytest.approx(expected, abs=1e-8)
        if fit_intercept:
            follow = np.atleast_1d(model.follow(step))
            np.testing.assert_allclose(follow - follow.mean() * (len(follow) > 1),
                                       shift - shift.mean() * (len(follow) > 1), atol=1e-4)  # fmt: skip


@pytest.mark.parametrize("loss", [*CURVED, "softmax"])
def test_gradient_against_differences(loss: str) -> None:
    problem, raw, model = setup(loss, fit_intercept=False)

    def value(w: Any) -> float:
        return float(problem.weights @ problem.loss.value(problem.y, raw + problem.design.matvec(w)))

    np.testing.assert_allclose(model.gradient, numerical_gradient(value, np.zeros(problem.coef_shape)), atol=1e-7)


def test_class_hessian_against_differences() -> None:
    problem = make_problem("softmax", L2(0.0), d=2)
    W = 0.4 * np.random.default_rng(4).normal(size=(3, 3))  # two columns and the intercept, three classes

    def gradient(z: Any) -> Any:
        Z = z.reshape(3, 3)
        slope = problem.weights[:, None] * problem.loss.gradient(problem.y, problem.raw(Z[:2], Z[2]))
        return np.vstack([problem.design.rmatvec(slope), slope.sum(axis=0)]).ravel()

    slope = problem.derivatives(problem.raw(W[:2], W[2]))[1]
    H = class_hessian(problem, problem.design, slope)
    columns = [(gradient(W.ravel() + e) - gradient(W.ravel() - e)) / 2e-5 for e in 1e-5 * np.eye(9)]
    np.testing.assert_allclose(H, np.array(columns), atol=1e-8)


def test_separate_classes_bound_the_coupled_model_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, raw, coupled = setup("softmax", fit_intercept=True)
    monkeypatch.setattr(models, "FULL_BLOCK", 0)
    _, slope, curve = problem.derivatives(raw)
    separate = model_of(problem, problem.design, slope, curve)
    assert len(separate.blocks) == 3
    rng = np.random.default_rng(5)
    for _ in range(10):
        step = rng.normal(size=problem.coef_shape)
        exact, _ = best(problem, raw, step)
        bound = float(np.vdot(separate.gradient, step)) - separate.floor
        for where, H in separate.blocks:
            bound += float(step[where] @ H @ step[where]) / 2
        assert bound >= exact - 1e-9
    assert coupled.gradient.shape == separate.gradient.shape


@pytest.mark.parametrize("seed", range(8))
def test_classes_that_are_nearly_certain_keep_the_model_convex(seed: int) -> None:
    """The intercepts' own curvature has a null vector; taken for a direction, it would ruin the rest."""
    rng = np.random.default_rng(seed)
    problem = make_problem("softmax", L2(0.0), n=300, d=4, fit_intercept=True)
    raw = problem.raw(3.0 * rng.normal(size=problem.coef_shape), rng.normal(size=problem.n_classes))
    _, slope, curve = problem.derivatives(raw)
    ((_, H),) = model_of(problem, problem.design, slope, curve).blocks
    size = float(np.abs(H).max())
    assert np.abs(H - H.T).max() <= 1e-12 * size
    assert np.linalg.eigvalsh((H + H.T) / 2)[0] >= -1e-12 * size


def test_the_inverse_of_classes_leaves_out_what_the_loss_does_not_see() -> None:
    rng = np.random.default_rng(0)
    p = np.column_stack([rng.dirichlet([0.02] * 4, size=4000), np.zeros(4000)])  # the last class without any row
    own = np.diag(p.sum(axis=0)) - p.T @ p
    inverse = inverse_of_classes(own)
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-12)
    assert (inverse[4] == 0).all()
    np.testing.assert_allclose(own @ inverse @ own, own, atol=1e-11 * own.max())
