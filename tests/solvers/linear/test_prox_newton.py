"""Proximal Newton: optimality of every coordinate, screening, paths, agreement across layouts and losses."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from small_problems import SMOOTH, make_problem, objective

from corollary.core.design import as_design
from corollary.core.loss import as_loss
from corollary.core.penalty import L0, L1, L2, ElasticNet, Group, Penalty, PositiveElasticNet
from corollary.core.problem import Problem
from corollary.solvers.linear.descent import cd
from corollary.solvers.linear.descent.prox_newton import ProxNewton
from corollary.solvers.linear.driver import State, solve
from corollary.solvers.linear.smooth.newton import Newton
from corollary.solvers.linear.suitable import choose_solver

PENALTIES: dict[str, Penalty] = {
    "l1": L1(0.05),
    "elastic net": ElasticNet(0.05, 0.1),
    "positive": PositiveElasticNet(0.02),
    "group": Group(0.05, np.array([0, 0, 1, 1])),
}


def violation(problem: Problem, coef: Any, intercept: Any) -> float:
    """The largest distance of minus the gradient to the subdifferential of the penalty."""
    raw = problem.raw(coef, intercept)
    slope = problem.loss.gradient(problem.y, raw) * (problem.weights[:, None] if problem.n_classes else problem.weights)
    if problem.fit_intercept:
        assert np.abs(slope.sum(axis=0)).max() < 1e-5
    return float(problem.penalty.subdiff_distance(coef, problem.design.rmatvec(slope)).max())


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", SMOOTH)
def test_every_coordinate_is_optimal(loss: str, penalty: str, fit_intercept: bool) -> None:
    problem = make_problem(loss, PENALTIES[penalty], fit_intercept=fit_intercept)
    found = solve(ProxNewton(), problem, tol=1e-11, max_iter=100)
    assert found.evidence.holds, str(found.evidence)
    assert violation(problem, found.coef, found.intercept) < 1e-6
    assert found.evidence.facts["objective"] == pytest.approx(objective(problem, found.coef, found.intercept))


@pytest.mark.parametrize("penalty", ["l1", "elastic net"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_softmax(penalty: str, fit_intercept: bool) -> None:
    problem = make_problem("softmax", PENALTIES[penalty], fit_intercept=fit_intercept)
    found = solve(ProxNewton(), problem, tol=1e-11, max_iter=100)
    assert found.evidence.holds, str(found.evidence)
    assert violation(problem, found.coef, found.intercept) < 1e-6


@pytest.mark.parametrize("loss", SMOOTH)
def test_layouts_agree(loss: str) -> None:
    sparse_problem = make_problem(loss, L1(0.03), layout="sparse")
    same = dataclasses.replace(sparse_problem, design=as_design(sparse_problem.design.block(0, 40)))
    first, second = (solve(ProxNewton(), each, tol=1e-11, max_iter=100) for each in (sparse_problem, same))
    np.testing.assert_allclose(first.coef, second.coef, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_more_columns_than_rows(loss: str, layout: str) -> None:
    """Working sets are smaller than X, and columns that stay out are proved to stay out."""
    problem = make_problem(loss, L1(0.08), n=30, d=300, layout=layout)
    found = solve(ProxNewton(), problem, tol=1e-10, max_iter=200)
    assert found.evidence.holds, str(found.evidence)
    assert violation(problem, found.coef, found.intercept) < 1e-6
    assert 0 < np.count_nonzero(found.coef) < 30


@pytest.mark.parametrize("loss", ["logistic", "poisson", "squared_hinge"])
def test_without_kinks_it_agrees_with_newton(loss: str) -> None:
    problem = make_problem(loss, L2(0.1))
    first, second = (solve(solver, problem, tol=1e-11, max_iter=100) for solver in (Newton(), ProxNewton()))
    np.testing.assert_allclose(first.coef, second.coef, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_null_strength_is_sharp(loss: str) -> None:
    problem = make_problem(loss, L1(1.0))
    null = solve(ProxNewton(), dataclasses.replace(problem, penalty=L1(1e6)), tol=1e-12, max_iter=50)
    raw = problem.raw(null.coef, null.intercept)
    slope = problem.weights * problem.loss.gradient(problem.y, raw)
    strength = L1(1.0).null_strength(problem.design.rmatvec(slope))
    for factor, zero in ((1.001, True), (0.98, False)):
        found = solve(ProxNewton(), dataclasses.replace(problem, penalty=L1(factor * strength)), tol=1e-10, max_iter=50)
        assert (not found.coef.any()) == zero


def test_a_path_of_strengths_shares_its_products() -> None:
    problem = make_problem("squared", L1(1.0), n=30, d=60)
    solver, state = ProxNewton(), None
    for strength in (0.5, 0.2, 0.1, 0.05):
        step = dataclasses.replace(problem, penalty=L1(strength))
        found = solve(solver, step, tol=1e-11, max_iter=100, start=state)
        alone = solve(ProxNewton(), step, tol=1e-11, max_iter=100)
        np.testing.assert_allclose(found.coef, alone.coef, atol=1e-7)
        state = found.state


def test_warm_start_at_the_answer() -> None:
    problem = make_problem("logistic", L1(0.05))
    found = solve(ProxNewton(), problem, tol=1e-11, max_iter=100)
    again = solve(ProxNewton(), problem, tol=1e-8, max_iter=100, start=State(found.coef, found.intercept))
    assert again.evidence.n_iter == 0


@pytest.mark.parametrize("loss", SMOOTH)
def test_l0_ends_where_no_coordinate_can_improve(loss: str) -> None:
    problem = make_problem(loss, L0(0.02))
    found = solve(choose_solver(problem), problem, tol=1e-9, max_iter=100)
    assert found.evidence.holds
    assert "duality" not in found.evidence.certificate.name
    value = objective(problem, found.coef, found.intercept)
    for j in np.flatnonzero(found.coef):
        without = found.coef.copy()
        without[j] = 0.0
        assert objective(problem, without, found.intercept) >= value - 1e-9
    with pytest.raises(ValueError, match="not convex"):
        solve(ProxNewton(), problem, tol=1e-9, max_iter=100)


def test_rows_far_from_every_curve() -> None:
    """All residuals beyond Huber's delta at the start: no curvature, but a slope."""
    problem = make_problem("huber", L1(0.02))
    far = dataclasses.replace(problem, y=problem.y + 1000.0)
    expected, found = (solve(ProxNewton(), each, tol=1e-9, max_iter=100) for each in (problem, far))
    assert found.evidence.holds, str(found.evidence)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-4)


def test_a_crawl_behind_one_huge_row_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its curvature hides that of the others: what is left to gain is not found in this precision, nor for hours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 24))
    X[0] *= 1e12
    y = np.where(X[:, 1] + rng.normal(size=16) > 0, 1.0, -1.0)
    solved, solve_on_support = [], cd._solve_on_support
    monkeypatch.setattr(cd, "_solve_on_support", lambda *given: solved.append(1) or solve_on_support(*given))
    problem = Problem(as_design(X), y, np.full(16, 1 / 16), as_loss("logistic"), L1(1e-3))
    found = solve(ProxNewton(), problem, tol=1e-8, max_iter=1000)
    assert not found.evidence.holds or violation(problem, found.coef, found.intercept) < 1e-6
    assert len(solved) < 15_000  # 43 000 in 40 iterations before crawls were noticed


def test_weights_of_many_sizes_do_not_make_groups_crawl_for_ever() -> None:
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(15, 18)) * 10.0 ** rng.uniform(-8, 8, 18), rng.poisson(3.0, 15).astype(float)
    weights = 10.0 ** rng.uniform(-12, 12, 15)
    problem = Problem(as_design(X), y, weights / weights.sum(), as_loss("tweedie"), Group(1e-3, np.arange(18)))
    found = solve(ProxNewton(), problem, tol=1e-8, max_iter=1000)
    assert found.evidence.n_iter < 300


def test_a_gap_that_grows_below_zero_is_a_crawl() -> None:
    """Rounding puts the dual above the objective, which falls on: each fall once looked like a gap that had halved."""
    solver, before = ProxNewton(), State(np.zeros(2), 0.0, objective=13.768, dual=13.768 + 1e-7)
    turns, crawls = 0, False
    while not crawls and turns < 100:
        after = State(np.zeros(2), 0.0, objective=before.objective - 1e-8, dual=before.dual)
        turns, crawls, before = turns + 1, solver._crawls(after, before), after
    assert turns <= 50
