"""Huber's loss by the interior point, with a fixed width and with its scale: proofs recomputed from the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from test_interior_point import DEGENERATE, PENALTIES, PENALTY_IDS, degenerate, sample

from corollary.core.design import as_design
from corollary.core.loss import Absolute, Huber
from corollary.core.penalty import L1, L2, ElasticNet, Group, NoPenalty, Penalty, PositiveElasticNet
from corollary.core.problem import Problem
from corollary.solvers.linear.descent.prox_newton import ProxNewton
from corollary.solvers.linear.driver import Solution, solve
from corollary.solvers.linear.interior_point.solver import InteriorPoint
from corollary.solvers.linear.smooth.huber_newton import HuberNewton
from corollary.solvers.linear.smooth.newton import Newton

Array = Any


def fit(X: Array, y: Array, delta: float, penalty: Penalty, *, solver: Any = None, intercept: bool = True) -> Solution:
    problem = Problem(as_design(X), y, np.full(len(y), 1 / len(y)), Huber(delta), penalty, fit_intercept=intercept)
    return solve(solver or InteriorPoint(), problem, tol=1e-8, max_iter=100)


def huber(r: Array, delta: float) -> Array:
    r = np.abs(r)
    return np.where(r <= delta, r**2 / 2, delta * r - delta**2 / 2)


def assert_proved(X: Array, y: Array, delta: float, penalty: Penalty, found: Solution, intercept: bool) -> None:
    """P from the coefficients, D = Σ yθ − θ²/2w − Ω*(Xᵀθ) from the dual point, and whether that point is feasible."""
    w, theta = 1 / len(y), found.state.memory["theta"]
    r, z = y - X @ found.coef - found.intercept, X.T @ theta
    P = w * huber(r, delta).sum() + penalty.value(found.coef)
    null = w * huber(y, delta).sum()
    D = float(y @ theta - (theta**2).sum() / (2 * w))
    assert np.abs(theta).max() <= w * delta * (1 + 1e-12)
    assert not intercept or abs(theta.sum()) <= 1e-10 * np.abs(theta).sum()
    if penalty.l2 > 0:
        D -= float(np.sum(np.maximum(np.abs(z) - penalty.l1, 0) ** 2) / (2 * penalty.l2))
    elif penalty.l1 > 0:
        assert np.abs(z).max() <= penalty.l1 * (1 + 1e-10)
    else:
        assert (np.abs(z) <= 1e-9 * (np.abs(X).T @ np.abs(theta) + 1e-300)).all()
    assert found.evidence.facts["objective"] == pytest.approx(P, rel=1e-12, abs=1e-15 * null)
    assert 1.1e-8 * max(P, 1e-6 * null) + 1e-14 * np.abs(theta).sum() * np.abs(y).max() >= P - D
    assert found.evidence.holds, str(found.evidence)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=PENALTY_IDS)
@pytest.mark.parametrize("delta", [10.0, 1.35, 0.1, 1e-3, 1e-6])
def test_every_width_and_penalty_is_solved_with_proof(delta: float, penalty: Penalty, intercept: bool) -> None:
    X, y = sample(Absolute())
    found = fit(X, y, delta, penalty, intercept=intercept)
    assert_proved(X, y, delta, penalty, found, intercept)
    assert found.evidence.n_iter <= 30


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("delta", [1.0, 0.01])
def test_degenerate_data_are_solved_with_proof(name: str, delta: float) -> None:
    X, y = degenerate(name, Absolute())
    for penalty in (NoPenalty(), L1(0.01), L2(0.01), ElasticNet(0.01, 0.01)):
        for intercept in (True, False):
            assert_proved(X, y, delta, penalty, fit(X, y, delta, penalty, intercept=intercept), intercept)


@pytest.mark.parametrize("delta", [1.35, 0.1, 1e-3, 1e-8])
@pytest.mark.parametrize(
    "penalty",
    [NoPenalty(), L2(1e-3), L2(10.0), L1(1e-3), ElasticNet(0.1, 0.1)],
    ids=["none", "weak l2", "l2", "l1", "net"],
)
def test_a_solver_that_stalls_hands_over(penalty: Penalty, delta: float) -> None:
    """Newton's steps find no way through so many pieces; asked for a proof, the fit gives one all the same."""
    X, y = sample(Absolute())
    strength = type(penalty)() if penalty.name == "none" else penalty
    for part in ("l1", "l2"):
        setattr(strength, part, delta * getattr(strength, part))
    found = fit(X, y, delta, strength, solver=ProxNewton() if strength.l1 > 0 else Newton())
    assert found.evidence.holds, str(found.evidence)
    again = fit(X, y, delta, strength)
    assert found.evidence.facts["objective"] == pytest.approx(again.evidence.facts["objective"], rel=2e-8)


def test_the_evidence_names_all_who_worked() -> None:
    X, y = sample(Absolute())
    assert fit(X, y, 1e-3, NoPenalty(), solver=Newton()).evidence.solver == "damped Newton, then interior point"
    assert fit(X, y, 10.0, NoPenalty(), solver=Newton()).evidence.solver == "damped Newton"


def test_a_narrow_huber_is_least_absolute_deviations() -> None:
    X, y = sample(Absolute())
    absolute = Problem(as_design(X), y, np.full(len(y), 1 / len(y)), Absolute(), L1(0.05))
    expected = solve(InteriorPoint(), absolute, tol=1e-10, max_iter=50)
    found = fit(X, y, 1e-7, L1(0.05e-7))
    assert found.evidence.facts["objective"] / 1e-7 == pytest.approx(expected.evidence.facts["objective"], rel=1e-6)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-5)


@pytest.mark.parametrize("loss", [Absolute(), Huber(0.5)], ids=["absolute", "huber"])
@pytest.mark.parametrize("strength", [0.01, 0.1, 0.4, 100.0])
def test_an_l1_penalty_makes_exact_zeros(loss: Any, strength: float) -> None:
    """Where the optimum has a zero there is a zero; where it has none the bound of the dual is reached."""
    X, y = sample(Absolute(), 80, 12)
    y = y - X[:, 4:] @ np.linalg.lstsq(X, y, rcond=None)[0][4:]  # only four columns matter
    problem = Problem(as_design(X), y, np.full(80, 1 / 80), loss, L1(strength))
    for tol in (1e-6, 1e-8, 1e-11):
        found = solve(InteriorPoint(), problem, tol=tol, max_iter=60)
        assert found.evidence.holds
        used, pull = found.coef != 0, np.abs(X.T @ found.state.memory["theta"])
        assert np.abs(found.coef[used]).min(initial=1.0) > 1e-6
        assert (pull[used] >= strength * (1 - 1e-2)).all()
        assert strength < 0.1 or not used.all()


def test_who_can_go_on() -> None:
    X, y = sample(Absolute(), 20, 3)
    for penalty in (Group(1.0, np.zeros(3)), PositiveElasticNet(1.0, 1.0)):
        problem = Problem(as_design(X), y, np.ones(20), Huber(1.0), penalty)
        assert ProxNewton().successor(problem) is None
    assert InteriorPoint().successor(Problem(as_design(X), y, np.ones(20), Huber(1.0), NoPenalty())) is None
    assert Newton().successor(Problem(as_design(X), np.sign(y), np.ones(20), Absolute(), NoPenalty())) is not None


# --- the scale as well ---------------------------------------------------------------------------------------------


def joint(X: Array, y: Array, s: Array, eps: float, alpha: float, found: Solution) -> float:
    """Σ s (σ + σ H(r/σ)) + α‖β‖², written out."""
    scale = found.state.memory["scale"]
    z = np.abs(y - X @ found.coef - found.intercept) / scale
    height = np.where(z <= eps, z**2, 2 * eps * z - eps**2)
    return float(scale * s @ (1 + height)) + alpha * float(found.coef @ found.coef)


def with_scale(
    X: Array, y: Array, eps: float, alpha: float, *, s: Any = None, solver: Any = None, **options: Any
) -> Any:
    s = np.ones(len(y)) if s is None else s
    problem = Problem(as_design(X), y, s, Huber(eps), L2(2 * alpha), **options)
    return solve(solver or InteriorPoint(free_scale=True), problem, tol=1e-9, max_iter=100)


def heavy(seed: int, n: int = 60, d: int = 5, tail: float = 1.5) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    return X, X @ rng.normal(size=d) + rng.standard_t(tail, n) + 3.0, rng.uniform(0.2, 2.0, n)


@pytest.mark.parametrize("tail", [0.7, 1.5, 30.0])
@pytest.mark.parametrize("alpha", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize("eps", [1.0, 1.001, 1.01, 1.05, 1.1, 1.35, 3.0])
def test_scale_and_coefficients_are_proved(eps: float, alpha: float, tail: float) -> None:
    """From the dual point alone: |u| ≤ 2ε, Σ s u = 0, Σ s u²/4 ≤ Σ s, and Xᵀ(s u) = 0 if nothing is penalised."""
    X, y, s = heavy(int(10 * tail), tail=tail)
    found = with_scale(X, y, eps, alpha, s=s)
    theta = found.state.memory["theta"]  # s u
    assert (np.abs(theta) <= 2 * eps * s * (1 + 1e-12)).all()
    assert abs(theta.sum()) <= 1e-10 * np.abs(theta).sum()
    assert (theta**2 / s).sum() / 4 <= s.sum() * (1 + 1e-12)
    pull, D = X.T @ theta, float(theta @ y)
    if alpha > 0:
        D -= float(pull @ pull) / (4 * alpha)
    else:
        assert np.abs(pull).max() <= 1e-9 * (np.abs(X).T @ np.abs(theta)).max()
    P = joint(X, y, s, eps, alpha, found)
    assert found.evidence.facts["objective"] == pytest.approx(P, rel=1e-12)
    assert P - D <= 1.1e-9 * P
    assert found.evidence.holds
    newton = with_scale(X, y, eps, alpha, s=s, solver=HuberNewton())
    assert newton.evidence.holds, str(newton.evidence)
    assert newton.evidence.facts["objective"] == pytest.approx(P, rel=1e-8)
    if found.state.memory["scale"] > 1e-3:
        assert newton.state.memory["scale"] == pytest.approx(found.state.memory["scale"], rel=1e-2)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_with_epsilon_one_the_scale_is_zero_and_the_fit_that_of_a_linear_program(seed: int, intercept: bool) -> None:
    X, y, s = heavy(seed)
    found = with_scale(X, y, 1.0, 0.0, s=s, solver=HuberNewton(), fit_intercept=intercept)
    assert found.state.memory["scale"] < 1e-7
    n, d = X.shape
    A = np.hstack([X, np.ones((n, int(intercept)))])
    cost = np.concatenate([np.zeros(A.shape[1]), 2 * s, 2 * s])
    free = [(None, None)] * A.shape[1] + [(0, None)] * (2 * n)
    best = linprog(cost, A_eq=np.hstack([A, np.eye(n), -np.eye(n)]), b_eq=y, bounds=free)
    assert found.evidence.facts["objective"] == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(found.coef, best.x[:d], atol=1e-5)


@pytest.mark.parametrize("eps", [1.1, 1.35])
def test_rows_on_one_plane_make_the_scale_zero(eps: float) -> None:
    """Exactly if they are a share of more than 1 − 1/ε² (the others being farther away), and not before."""
    rng = np.random.default_rng(0)
    n, share = 200, 1 - 1 / eps**2
    X = rng.normal(size=(n, 3))
    plane = X @ np.array([1.0, -2.0, 0.5]) + 4.0
    wild = rng.choice([-1.0, 1.0], n) * rng.uniform(5.0, 50.0, n)
    for part, zero in ((share + 0.1, True), (share - 0.1, False)):
        y = np.where(np.arange(n) < part * n, plane, plane + wild)
        found = with_scale(X, y, eps, 0.0, solver=HuberNewton())
        assert found.evidence.holds
        scale = found.state.memory["scale"]
        assert (scale <= 1e-6) == zero
        if zero:
            np.testing.assert_allclose(found.coef, [1.0, -2.0, 0.5], atol=1e-6)
