"""Damped Newton: gradients, monotone descent, certificates with and without a penalty."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from small_problems import SMOOTH, make_problem, numerical_gradient, objective

from corollary.core.design import as_design
from corollary.core.loss import Huber
from corollary.core.penalty import L2, NoPenalty, Penalty
from corollary.solvers.linear.driver import State, solve
from corollary.solvers.linear.interior_point.solver import InteriorPoint
from corollary.solvers.linear.smooth.newton import Newton

PENALTIES: list[Penalty] = [L2(0.1), L2(1e-4), NoPenalty()]


def gradient_at(problem: Any, coef: Any, intercept: float) -> tuple[Any, float]:
    state = Newton().init(problem, State(coef, intercept))
    return state.memory["gradient"], state.memory["tilt"]


@pytest.mark.parametrize("layout", ["dense", "fortran", "sparse"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_gradient_is_that_of_the_objective(loss: str, layout: str) -> None:
    problem = make_problem(loss, L2(0.3), layout=layout)
    coef, intercept = np.array([0.2, -0.1, 0.3, 0.05]), 0.1
    gradient, tilt = gradient_at(problem, coef, intercept)
    np.testing.assert_allclose(
        gradient, numerical_gradient(lambda w: objective(problem, w, intercept), coef), atol=1e-6
    )
    by_intercept = numerical_gradient(lambda b: objective(problem, coef, b[0]), np.array([intercept]))
    assert tilt == pytest.approx(by_intercept[0], abs=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=["l2", "weak l2", "none"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_converges_to_a_point_without_slope(loss: str, penalty: Penalty, fit_intercept: bool) -> None:
    problem = make_problem(loss, penalty, fit_intercept=fit_intercept)
    found = solve(Newton(), problem, tol=1e-10, max_iter=100)
    assert found.evidence.holds, str(found.evidence)
    gradient, tilt = gradient_at(problem, found.coef, found.intercept)
    assert np.abs(gradient).max() < 1e-5
    assert abs(tilt) < 1e-5
    assert found.evidence.facts["objective"] == pytest.approx(objective(problem, found.coef, found.intercept))
    assert found.evidence.facts["dual objective"] <= found.evidence.facts["objective"] + 1e-12


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_objective_falls_at_every_iteration(loss: str) -> None:
    history = solve(Newton(), make_problem(loss, L2(0.01)), tol=1e-10, max_iter=100).evidence.history["objective"]
    assert (np.diff(history) <= 1e-12).all()


def test_warm_start_at_the_answer_takes_no_iteration() -> None:
    problem = make_problem("logistic", L2(0.1))
    found = solve(Newton(), problem, tol=1e-10, max_iter=100)
    again = solve(Newton(), problem, tol=1e-8, max_iter=100, start=State(found.coef, found.intercept))
    assert again.evidence.n_iter == 0


@pytest.mark.parametrize("shift", [10.0, 1e3, 1e6])
@pytest.mark.parametrize("penalty", [L2(0.05), NoPenalty()], ids=["l2", "none"])
def test_no_row_is_curved_at_the_start(penalty: Penalty, shift: float) -> None:
    """Huber's loss is straight beyond delta: far from the target nothing is known of the curvature."""
    near = make_problem(Huber(1.35), penalty)
    far = dataclasses.replace(near, y=near.y + shift)
    expected, found = (solve(Newton(), problem, tol=1e-8, max_iter=300) for problem in (near, far))
    assert found.evidence.holds, str(found.evidence)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-3)
    assert found.intercept - shift == pytest.approx(expected.intercept, abs=1e-2)


def test_columns_that_repeat_one_another() -> None:
    """A singular Hessian without a penalty: any of many solutions, with the same predictions."""
    problem = make_problem("logistic", NoPenalty(), d=2)
    twice = dataclasses.replace(problem, design=as_design(np.column_stack([problem.design.block(0, 40)] * 2)))
    first, second = (solve(Newton(), each, tol=1e-9, max_iter=100) for each in (problem, twice))
    assert second.evidence.holds
    np.testing.assert_allclose(
        twice.raw(second.coef, second.intercept), problem.raw(first.coef, first.intercept), atol=1e-3
    )


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("penalty", [0.0, 1e-3, 10.0])
def test_no_iteration_claims_more_than_is_true(penalty: float, delta: float) -> None:
    """Where hardly a row is curved there is little to balance slopes with, but a dual point must be feasible."""
    problem = make_problem(Huber(delta), L2(delta * penalty) if penalty else NoPenalty())
    problem = dataclasses.replace(problem, y=problem.y + np.random.default_rng(0).standard_t(1.5, 40))
    least = solve(InteriorPoint(), problem, tol=1e-9, max_iter=60).evidence.facts["objective"]
    state = Newton().init(problem, State(np.zeros(4), 0.0))
    for _ in range(30):
        assert state.dual <= least * (1 + 1e-9)
        if state.stalled:
            break
        state = Newton().step(problem, state, 1e-8)
