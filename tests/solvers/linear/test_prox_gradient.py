"""Proximal gradient: the same optimum as the other solvers where they apply, and a certificate where they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_problems import SMOOTH, make_problem

from corollary.core.design import as_design
from corollary.core.evidence import Kind, Status
from corollary.core.loss import Squared
from corollary.core.penalty import L0, L1, L2, ElasticNet, Group, Penalty, PositiveElasticNet
from corollary.solvers.linear.descent.prox_newton import ProxNewton
from corollary.solvers.linear.driver import State, solve
from corollary.solvers.linear.prox_gradient import ProxGradient
from corollary.solvers.linear.suitable import choose_solver

PENALTIES = [L1(0.05), L2(0.1), ElasticNet(0.03, 0.05), PositiveElasticNet(0.03), Group(0.05, np.array([0, 0, 1, 1]))]


class Unnamed(Penalty):
    """The L1 norm without its conjugate, its kernel and its l1."""

    name = "unnamed"

    def value(self, coef: Any) -> float:
        return 0.05 * float(np.abs(coef).sum())

    def prox(self, point: Any, step: float) -> Any:
        return np.sign(point) * np.maximum(np.abs(point) - 0.05 * step, 0.0)


class Weak(Unnamed):
    """So weak that it is the same at every scale."""

    name = "weak"

    def value(self, coef: Any) -> float:
        return 0.0

    def prox(self, point: Any, step: float) -> Any:
        return point


@pytest.mark.parametrize("layout", ["dense", "fortran", "sparse"])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("loss", [*SMOOTH, "softmax"])
def test_it_finds_the_optimum_of_the_solver_that_would_be_chosen(loss: str, penalty: Penalty, layout: str) -> None:
    for fit_intercept in (True, False):
        problem = make_problem(loss, penalty, layout=layout, fit_intercept=fit_intercept)
        mine = solve(ProxGradient(), problem, tol=1e-10, max_iter=1000)
        assert mine.evidence.holds, str(mine.evidence)
        assert mine.evidence.certificate.kind is Kind.OPTIMAL
        best = solve(choose_solver(problem), problem, tol=1e-10, max_iter=1000)
        assert best.evidence.holds
        np.testing.assert_allclose(mine.coef, best.coef, atol=2e-4)
        assert mine.evidence.facts["objective"] == pytest.approx(best.evidence.facts["objective"], rel=2e-10)


@pytest.mark.parametrize("loss", [*SMOOTH, "softmax"])
def test_the_objective_never_rises(loss: str) -> None:
    found = solve(ProxGradient(), make_problem(loss, L1(0.01), d=8), tol=1e-12, max_iter=300)
    objective = np.array(found.evidence.history["objective"])
    assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1])).all()


def test_columns_far_from_zero_cost_nothing_with_an_intercept() -> None:
    near = make_problem("logistic", Group(0.02, np.array([0, 0, 1, 1])))
    far = replace(near, design=as_design(near.design.block(0, 40) + 1e4))
    counts = [solve(ProxGradient(), problem, tol=1e-9, max_iter=200).evidence for problem in (near, far)]
    assert all(evidence.holds for evidence in counts)
    assert counts[1].n_iter <= 2 * counts[0].n_iter


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_any_size_of_x_and_y(size: float) -> None:
    plain = make_problem("squared", L1(0.05))
    scaled = replace(
        plain, design=as_design(size * plain.design.block(0, 40)), y=size * plain.y, penalty=L1(0.05 * size**2)
    )
    first, second = (solve(ProxGradient(), problem, tol=1e-11, max_iter=500) for problem in (plain, scaled))
    np.testing.assert_allclose(first.coef, second.coef, atol=1e-5)


@pytest.mark.parametrize("penalty", [Unnamed(), L0(0.02)], ids=["no conjugate", "not convex"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_without_a_conjugate_it_claims_to_be_stationary_and_no_more(loss: str, penalty: Penalty) -> None:
    found = solve(ProxGradient(), make_problem(loss, penalty), tol=1e-10, max_iter=500)
    certificate = found.evidence.certificate
    assert found.evidence.holds
    assert certificate.kind is Kind.STATIONARY
    assert certificate.name == "relative gain of another proximal-gradient step"
    assert np.isfinite(found.evidence.history["certificate"]).all()
    if isinstance(penalty, Unnamed):
        twin = solve(ProxGradient(), make_problem(loss, L1(0.05)), tol=1e-10, max_iter=500)
        np.testing.assert_allclose(found.coef, twin.coef, atol=1e-4)


@pytest.mark.parametrize("scales", [[1e4, 1.0, 1e-3, 1.0], [1e3, 1.0, 1.0, 1e-2], [1e-6, 1e-6, 1e6, 1e-6]], ids=str)
@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_stationary_does_not_depend_on_the_scale_of_columns(loss: str, scales: list[float]) -> None:
    """Without a conjugate, but convex: what is called stationary is as good as the same columns at one scale."""
    plain = make_problem(loss, Weak())
    scaled = replace(plain, design=as_design(plain.design.block(0, 40) * scales))
    found = solve(ProxGradient(), scaled, tol=1e-9, max_iter=3000)
    assert found.evidence.holds, str(found.evidence)
    best = solve(ProxGradient(), plain, tol=1e-12, max_iter=3000)
    assert found.evidence.facts["objective"] <= best.evidence.facts["objective"] * (1 + 1e-5)


def test_penalties_that_no_kernel_knows_are_never_sent_to_coordinate_descent() -> None:
    for loss in ("squared", "logistic", "softmax"):
        problem = make_problem(loss, Unnamed())
        assert isinstance(choose_solver(problem), ProxGradient)
        with pytest.raises(
            ValueError, match="proximal Newton cannot use the unnamed penalty: coordinate descent does not"
        ):
            solve(ProxNewton(), problem, tol=1e-6, max_iter=3)
    groups = make_problem("softmax", Group(0.05, np.array([0, 0, 1, 1])))
    assert isinstance(choose_solver(groups), ProxGradient)
    with pytest.raises(ValueError, match=r"group penalty with the softmax loss.*Use proximal gradient"):
        solve(ProxNewton(), groups, tol=1e-6, max_iter=3)


def test_groups_of_columns_across_classes() -> None:
    """All coefficients of a group are zero together; where they are not, slopes have the right norm."""
    problem = make_problem("softmax", Group(0.2, np.array([0, 0, 1, 1])))
    found = solve(ProxGradient(), problem, tol=1e-12, max_iter=2000)
    rows = found.coef.reshape(2, -1)
    assert rows[0].all()
    assert not rows[1].any()
    _, slope, _ = problem.derivatives(problem.raw(found.coef, found.intercept))
    assert problem.penalty.subdiff_distance(found.coef, problem.design.rmatvec(slope)).max() < 1e-5


def test_kinks_are_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="proximal gradient cannot use the hinge loss: it has kinks"):
        solve(ProxGradient(), make_problem("hinge", L1(0.1)), tol=1e-6, max_iter=3)


def test_a_warm_start_is_used_and_max_iter_is_honest() -> None:
    problem = make_problem("poisson", Group(0.01, np.array([0, 0, 1, 1])))
    found = solve(ProxGradient(), problem, tol=1e-10, max_iter=500)
    again = solve(ProxGradient(), problem, tol=1e-10, max_iter=500, start=State(found.coef, found.intercept))
    assert again.evidence.n_iter < found.evidence.n_iter
    short = solve(ProxGradient(), problem, tol=1e-10, max_iter=3)
    assert short.evidence.status is Status.MAX_ITER
    assert not short.evidence.holds


def test_nothing_to_learn_from() -> None:
    problem = replace(make_problem("squared", Unnamed()), loss=Squared(), y=np.full(40, 3.0))
    found = solve(ProxGradient(), problem, tol=1e-10, max_iter=50)
    assert not found.coef.any()
    assert found.intercept == pytest.approx(3.0)
    constant = replace(problem, design=as_design(np.ones((40, 4))), y=np.arange(40.0))
    assert not solve(ProxGradient(), constant, tol=1e-10, max_iter=50).coef.any()
