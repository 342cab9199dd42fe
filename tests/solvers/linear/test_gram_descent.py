"""Descent on the products of tall data: the minimiser of the rows themselves, with a gap that they confirm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary._compiled.linear import cd
from corollary.core.design import as_design
from corollary.core.loss import Squared
from corollary.core.penalty import L0, L1, ElasticNet, NoPenalty, Penalty, PositiveElasticNet
from corollary.core.problem import Problem
from corollary.solvers.linear.descent.gram_descent import GramDescent
from corollary.solvers.linear.descent.prox_newton import ProxNewton
from corollary.solvers.linear.driver import Solution, State, solve

PENALTIES: dict[str, Penalty] = {
    "l1": L1(0.05),
    "elastic net": ElasticNet(0.05, 0.1),
    "ridge": ElasticNet(0.0, 0.2),
    "positive": PositiveElasticNet(0.02, 0.0),
    "positive elastic net": PositiveElasticNet(0.02, 0.1),
}


def problem_of(penalty: Penalty, X: Any = None, offset: float = 0.25) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12)) * np.geomspace(0.1, 10.0, 12) if X is None else X
    n, d = X.shape
    y = X @ np.resize([1.0, -0.5, 0.0, 0.2], d) + rng.standard_normal(n)
    return Problem(as_design(X), y, np.full(n, 1 / n), Squared(), penalty, fit_intercept=False, offset=offset)


def descend(problem: Problem, tol: float = 1e-10, max_iter: int = 100, start: State | None = None) -> Solution:
    X, y, w = problem.design.matrix(), problem.y, problem.weights
    solver = GramDescent((X.T * w) @ X, X.T @ (w * y), float(w @ y**2))
    return solve(solver, problem, tol=tol, max_iter=max_iter, start=start)


def gap_of_rows(problem: Problem, coef: Any) -> float:
    """The relative duality gap, from the rows."""
    raw = problem.raw(coef, 0.0)
    value, slope, _ = problem.derivatives(raw)
    primal = problem.primal_value(value, coef)
    return (primal - problem.dual_value(slope, problem.design.rmatvec(slope))) / primal


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-10])
def test_the_rows_confirm_the_gap(name: str, tol: float) -> None:
    problem = problem_of(PENALTIES[name])
    found = descend(problem, tol)
    assert found.evidence.holds
    assert gap_of_rows(problem, found.coef) <= tol
    assert found.evidence.certificate.value == pytest.approx(gap_of_rows(problem, found.coef), rel=0.5, abs=1e-13)
    value = problem.primal_value(problem.loss_value(problem.raw(found.coef, 0.0)), found.coef)
    assert found.evidence.facts["objective"] == pytest.approx(value, rel=1e-12)
    if tol < 1e-9:
        by_columns = solve(ProxNewton(), problem, tol=1e-12, max_iter=100)
        np.testing.assert_allclose(found.coef, by_columns.coef, atol=1e-4)


def test_it_looks_no_further_than_it_is_asked_to() -> None:
    problem = problem_of(PENALTIES["l1"])
    loose, tight = descend(problem, 1e-2).evidence, descend(problem, 1e-10).evidence
    assert tight.certificate.value <= 1e-10 < loose.certificate.value <= 1e-2


def test_the_answer_as_a_start_is_the_answer() -> None:
    problem = problem_of(PENALTIES["l1"])
    found = descend(problem, 1e-10)
    again = descend(problem, 1e-10, start=State(found.coef, 0.0))
    assert again.evidence.n_iter == 0
    np.testing.assert_array_equal(again.coef, found.coef)


def test_a_start_that_the_penalty_forbids_is_not_taken_for_an_answer() -> None:
    """At the minimum of the L1 penalty every slope is small enough, for coefficients of either sign."""
    free, positive = problem_of(L1(0.02)), problem_of(PENALTIES["positive"])
    start = descend(free).coef
    assert (start < 0).any()
    found = descend(positive, start=State(start, 0.0))
    assert (found.coef >= 0).all()
    np.testing.assert_allclose(found.coef, descend(positive).coef, atol=1e-6)
    X, y, w = positive.design.matrix(), positive.y, positive.weights
    fixed = (X.T * w) @ X, X.T @ (w * y), float(w @ y**2), 0.0, np.empty(12)
    assert cd.gram_fit(*fixed, start.copy(), positive.penalty.code, 0.02, 0.0, 0.0, 0.0, 0)[0] == np.inf


@pytest.mark.parametrize("name", PENALTIES)
def test_columns_that_are_nearly_collinear(name: str) -> None:
    """Epochs alone would need many thousands; the signs they find are made exact."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 1)) + 1e-3 * rng.standard_normal((300, 8))
    found = descend(problem_of(PENALTIES[name], X), 1e-10)
    assert found.evidence.holds
    assert found.evidence.n_iter <= 10
    assert gap_of_rows(problem_of(PENALTIES[name], X), found.coef) <= 2e-10


def test_a_column_of_zeros_stays_at_zero() -> None:
    X = np.random.default_rng(2).standard_normal((50, 4))
    X[:, 2] = 0.0
    found = descend(problem_of(PENALTIES["l1"], X))
    assert found.coef[2] == 0.0
    assert found.evidence.holds


def test_an_exact_fit_has_a_gap_too() -> None:
    """What primal and dual have in common of y would cancel in their difference, and hide a gap of this size."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 3))
    y = X @ np.array([1e4, -2e4, 5e3])
    problem = Problem(as_design(X), y, np.full(100, 0.01), Squared(), L1(1e-3), fit_intercept=False)
    found = descend(problem, 1e-9)
    assert found.evidence.holds
    np.testing.assert_allclose(found.coef, [1e4, -2e4, 5e3], atol=0.01)


@pytest.mark.parametrize("penalty", [NoPenalty(), L0(0.1)])
def test_penalties_without_a_bound_are_refused(penalty: Penalty) -> None:
    with pytest.raises(ValueError, match="coordinate descent cannot use"):
        descend(problem_of(penalty))
