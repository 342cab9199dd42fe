"""Huber's joint problem in coefficients and scale."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from small_problems import make_problem

from corollary.core.loss import Huber
from corollary.core.penalty import L2
from corollary.solvers.linear.driver import solve
from corollary.solvers.linear.smooth.huber_newton import HuberNewton


def joint(problem: Any, coef: Any, intercept: float, scale: float) -> float:
    """Σ s (σ + σ H(r/σ)) + α‖β‖²."""
    eps = problem.loss.parameter
    z = np.abs(problem.y - problem.design.matvec(coef) - intercept) / scale
    height = np.where(z <= eps, z**2, 2 * eps * z - eps**2)
    value: float = problem.weights @ (scale * (1 + height)) + 0.5 * problem.penalty.l2 * (coef @ coef)
    return value


@pytest.mark.parametrize("alpha", [1e-4, 0.1, 0.0])
@pytest.mark.parametrize("eps", [1.0, 1.05, 1.35, 3.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_direction_improves(alpha: float, eps: float, fit_intercept: bool) -> None:
    problem = make_problem(Huber(eps), L2(2 * alpha), fit_intercept=fit_intercept)
    problem = dataclasses.replace(problem, y=problem.y + 8 * (np.arange(40) % 7 == 0))
    found = solve(HuberNewton(), problem, tol=1e-8, max_iter=100)
    assert found.evidence.holds, str(found.evidence)
    scale = found.state.memory["scale"]
    value = joint(problem, found.coef, found.intercept, scale)
    assert found.evidence.facts["objective"] == pytest.approx(value)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(50):
            dw, db, stretch = (
                size * rng.normal(size=4),
                size * rng.normal() * fit_intercept,
                np.exp(size * rng.normal()),
            )
            assert joint(problem, found.coef + dw, found.intercept + db, scale * stretch) >= value * (1 - 1e-8)


def test_history_falls_and_the_bound_rises() -> None:
    problem = make_problem(Huber(1.35), L2(0.01))
    evidence = solve(HuberNewton(), problem, tol=1e-8, max_iter=100).evidence
    assert (np.diff(evidence.history["objective"]) <= 1e-12).all()
    assert evidence.facts["dual objective"] <= evidence.facts["objective"] + 1e-12


def test_scaling_the_target_scales_the_answer() -> None:
    problem = make_problem(Huber(1.35), L2(1e-9))
    first = solve(HuberNewton(), problem, tol=1e-8, max_iter=100)
    second = solve(HuberNewton(), dataclasses.replace(problem, y=1000 * problem.y), tol=1e-8, max_iter=100)
    np.testing.assert_allclose(second.coef, 1000 * first.coef, rtol=1e-3)
    assert second.state.memory["scale"] == pytest.approx(1000 * first.state.memory["scale"], rel=1e-3)
