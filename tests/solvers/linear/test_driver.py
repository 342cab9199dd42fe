"""Linear solvers in the loop: how a run ends, what it keeps, what it refuses, which solver is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_problems import make_problem

from corollary.core.evidence import Status
from corollary.core.penalty import L0, L1, L2, Group
from corollary.core.problem import Problem, relative_gap
from corollary.solvers.linear.descent.prox_newton import ProxNewton
from corollary.solvers.linear.driver import Need, Solver, State, solve
from corollary.solvers.linear.smooth.lbfgs import LBFGS
from corollary.solvers.linear.smooth.newton import Newton
from corollary.solvers.linear.suitable import choose_solver

PROBLEM = make_problem("squared", L2(0.1))


class Scripted(Solver):
    """Goes through given objectives; the dual value is always 1."""

    name = "a script"

    def __init__(self, objectives: list[float], *, stall_at: int = -1, interrupt_at: int = -1) -> None:
        self.objectives, self.stall_at, self.interrupt_at = objectives, stall_at, interrupt_at
        self.at = 0

    def _state(self) -> State:
        return State(np.full(4, float(self.at)), 0.0, self.objectives[self.at], 1.0, self.at == self.stall_at)

    def init(self, problem: Problem, start: State) -> State:
        return self._state()

    def step(self, problem: Problem, state: State, tol: float) -> State:
        self.at += 1
        if self.at == self.interrupt_at:
            raise KeyboardInterrupt
        return self._state()


def run(solver: Solver, **options: Any) -> Any:
    return solve(solver, PROBLEM, **{"tol": 1e-3, "max_iter": 10} | options)


def test_converged() -> None:
    found = run(Scripted([3.0, 2.0, 1.0001, 0.0]))
    assert found.evidence.status is Status.CONVERGED
    assert found.evidence.n_iter == 2
    assert found.evidence.holds
    np.testing.assert_array_equal(found.coef, 2.0)
    assert found.evidence.history["objective"] == [3.0, 2.0, 1.0001]
    assert found.evidence.history["iteration"] == [0, 1, 2]
    assert found.evidence.facts["objective"] == 1.0001


def test_max_iter_keeps_the_best() -> None:
    found = run(Scripted([3.0, 2.0, 2.5, 2.7]), max_iter=3)
    assert found.evidence.status is Status.MAX_ITER
    assert found.evidence.n_iter == 3
    assert not found.evidence.holds
    np.testing.assert_array_equal(found.coef, 1.0)
    assert found.evidence.certificate.value == pytest.approx(0.5)


def test_stalled() -> None:
    found = run(Scripted([3.0, 2.0, 2.0], stall_at=2))
    assert found.evidence.status is Status.STALLED


def test_a_successor_goes_on_from_the_best_point() -> None:
    class Able(Scripted):
        name = "another"

        def init(self, problem: Problem, start: State) -> State:
            assert start.objective == 2.0
            return super().init(problem, start)

    class Stuck(Scripted):
        def successor(self, problem: Problem) -> Solver:
            return Able([9.0, 5.0, 1.0001])

    found = run(Stuck([3.0, 2.0, 2.5], stall_at=2))
    assert found.evidence.status is Status.CONVERGED
    assert found.evidence.solver == "a script, then another"
    assert found.evidence.n_iter == 4
    assert found.evidence.history["objective"] == [3.0, 2.0, 2.5, 5.0, 1.0001]
    worse = Stuck([3.0, 2.0, 2.5], stall_at=2)
    worse.successor = lambda problem: Able([9.0, 5.0, 4.0], stall_at=2)
    found = run(worse)
    assert found.evidence.status is Status.STALLED
    assert found.evidence.facts["objective"] == 2.0


def test_interrupted_keeps_the_best() -> None:
    found = run(Scripted([3.0, 2.0, 1.5], interrupt_at=2))
    assert found.evidence.status is Status.INTERRUPTED
    np.testing.assert_array_equal(found.coef, 1.0)


def test_observer_sees_every_iteration_and_may_stop() -> None:
    seen = []

    def observe(record: dict[str, float], snapshot: Any) -> bool:
        seen.append((record["iteration"], float(snapshot().coef[0])))
        return len(seen) == 2

    found = run(Scripted([3.0, 2.0, 1.5]), observe=observe)
    assert found.evidence.status is Status.BUDGET
    assert seen == [(0, 0.0), (1, 1.0)]


def test_an_error_in_an_observer_passes_through() -> None:
    def observe(record: dict[str, float], snapshot: Any) -> bool:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run(Scripted([3.0, 2.0]), observe=observe)


def test_an_objective_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not finite.*Rescale"):
        run(Scripted([np.inf, np.inf, np.inf]), max_iter=2)


def test_needs_become_sentences() -> None:
    class Picky(Scripted):
        needs = (Need("penalty", "separable", False, "it likes its columns together"),)

    with pytest.raises(ValueError, match="a script cannot use the l2 penalty: it likes its columns together"):
        run(Picky([1.0]))


def test_relative_gap() -> None:
    assert relative_gap(2.0, 1.0, 5.0) == 0.5
    assert relative_gap(2.0, 3.0, 5.0) == np.inf  # no objective lies below a dual value: this one was not feasible
    assert 0 < relative_gap(2.0, 2.0 * (1 + 1e-15), 5.0) < 1e-13  # rounding, and no less than that
    assert relative_gap(2.0, 2.0 + 1e-9, 5.0) == np.inf
    assert 1e-10 < relative_gap(2.0, 2.0 + 1e-9, 5.0, terms=1e6) < 1e-7  # what was added was that large
    assert relative_gap(0.0, 0.0, 0.0) == 0.0
    assert relative_gap(1e-9, 0.0, 1.0) == pytest.approx(1e-3)  # against a millionth of the null model
    assert relative_gap(0.0, -1.0, 0.0) == np.inf


@pytest.mark.parametrize(
    ("loss", "penalty", "expected"),
    [
        ("squared", L1(0.1), "ProxNewton"),
        ("logistic", Group(0.1, np.array([0, 0, 1, 1])), "ProxNewton"),
        ("logistic", L2(0.1), "Newton"),
        ("poisson", L0(0.1), "Count"),
        ("hinge", L2(0.1), "InteriorPoint"),
        ("softmax", L2(0.1), "ProxNewton"),
    ],
)
def test_choice(loss: str, penalty: Any, expected: str) -> None:
    assert type(choose_solver(make_problem(loss, penalty))).__name__ == expected


def test_choice_for_many_columns() -> None:
    wide = make_problem("softmax", L2(0.1), n=12, d=500)
    assert type(choose_solver(wide)).__name__ == "LBFGS"
    wider = make_problem("logistic", L2(0.1), n=12, d=2100)
    assert type(choose_solver(wider)).__name__ == "LBFGS"


@pytest.mark.parametrize(
    ("solver", "loss", "penalty", "message"),
    [
        (Newton(), "hinge", L2(0.1), "damped Newton cannot use the hinge loss: it has kinks"),
        (Newton(), "softmax", L2(0.1), "couples the classes; use L-BFGS"),
        (Newton(), "logistic", L1(0.1), "cannot use the l1 penalty: it has kinks at zero"),
        (LBFGS(), "logistic", L1(0.1), "cannot use the l1 penalty: it has kinks at zero"),
        (LBFGS(), "logistic", Group(0.1, np.arange(4)), "cannot use the group penalty"),
        (ProxNewton(), "absolute", L1(0.1), "proximal Newton cannot use the absolute loss"),
    ],
)
def test_mismatches_name_the_missing_piece(solver: Solver, loss: str, penalty: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve(solver, make_problem(loss, penalty), tol=1e-8, max_iter=10)


def test_where_columns_are_is_asked_of_a_few_rows_of_a_view() -> None:
    from corollary.core.design import as_design
    from corollary.solvers.linear.coordinates import SAMPLE, _origin

    X = np.random.default_rng(0).normal(size=(3 * SAMPLE, 2)) + np.array([1000.0, 0.0])
    seen = as_design(X).view(centre=np.array([-5.0, 0.0]))  # a view has as many rows as it has, and no others
    origin = _origin(seen, np.ones(len(X)))
    assert origin is not None
    assert abs(origin[0] - 1005.0) < 1
