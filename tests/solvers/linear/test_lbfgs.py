"""L-BFGS finds what Newton finds, for one or several columns of raw predictions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_problems import SMOOTH, make_problem, numerical_gradient, objective

from corollary.core.design import as_design
from corollary.core.penalty import L2
from corollary.solvers.linear.descent.prox_newton import ProxNewton
from corollary.solvers.linear.driver import State, solve
from corollary.solvers.linear.smooth.lbfgs import LBFGS
from corollary.solvers.linear.smooth.newton import Newton


@pytest.mark.parametrize("loss", [*SMOOTH, "softmax"])
def test_gradient_is_that_of_the_objective(loss: str) -> None:
    problem = make_problem(loss, L2(0.3))
    rng = np.random.default_rng(1)
    coef, intercept = 0.2 * rng.normal(size=problem.coef_shape), np.full(problem.coef_shape[1:], 0.1)
    memory = LBFGS().init(problem, State(coef, intercept if problem.n_classes else 0.1)).memory
    expected = numerical_gradient(lambda w: objective(problem, w, intercept), coef)
    np.testing.assert_allclose(memory["gradient"], expected, atol=1e-6)
    by_intercept = numerical_gradient(lambda b: objective(problem, coef, b), intercept)
    np.testing.assert_allclose(memory["tilt"], by_intercept, atol=1e-6)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_agrees_with_newton(loss: str, layout: str) -> None:
    problem = make_problem(loss, L2(0.1), layout=layout)
    first, second = (solve(solver, problem, tol=1e-11, max_iter=500) for solver in (Newton(), LBFGS()))
    assert second.evidence.holds, str(second.evidence)
    np.testing.assert_allclose(second.coef, first.coef, atol=1e-5)
    assert second.intercept == pytest.approx(first.intercept, abs=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_softmax_agrees_with_proximal_newton(fit_intercept: bool) -> None:
    problem = make_problem("softmax", L2(0.1), fit_intercept=fit_intercept)
    first, second = (solve(solver, problem, tol=1e-11, max_iter=500) for solver in (ProxNewton(), LBFGS()))
    assert first.evidence.holds
    assert second.evidence.holds
    np.testing.assert_allclose(second.coef, first.coef, atol=1e-5)
    np.testing.assert_allclose(
        second.intercept - np.mean(second.intercept), first.intercept - np.mean(first.intercept), atol=1e-5
    )


@pytest.mark.parametrize("loss", [*SMOOTH, "softmax"])
def test_the_objective_never_rises(loss: str) -> None:
    history = solve(LBFGS(), make_problem(loss, L2(0.01)), tol=1e-10, max_iter=300).evidence.history["objective"]
    assert (np.diff(history) <= 1e-12).all()


def test_columns_of_very_different_size() -> None:
    """The preconditioner takes out the scales."""
    problem = make_problem("logistic", L2(1e-4))
    scales = 10.0 ** np.array([-3, 3, 0, 2])
    scaled = dataclasses.replace(problem, design=as_design(problem.design.block(0, 40) * scales))
    found = solve(LBFGS(), scaled, tol=1e-8, max_iter=500)
    assert found.evidence.holds, str(found.evidence)
    exact = solve(Newton(), scaled, tol=1e-8, max_iter=500)
    assert found.evidence.facts["objective"] == pytest.approx(exact.evidence.facts["objective"], rel=1e-7)
