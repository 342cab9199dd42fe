"""One pass over the rows: the compiled call, the blocks, NumPy; and the same bits for any number of threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from corollary import LogisticRegression
from corollary.core.design import as_design
from corollary.core.loss import Huber, Logistic, Poisson, SoftmaxLoss
from corollary.core.parallel import threads
from corollary.core.penalty import L2
from corollary.core.problem import Problem
from corollary.solvers.linear.coordinates import Moved
from corollary.solvers.linear.driver import solve
from corollary.solvers.linear.smooth.newton import Newton
from corollary.solvers.linear.smooth.row_pass import RowPass, _by_blocks, _grid, in_one_call, row_pass

N, D = 5003, 13


def problem_of(loss: Any, X: Any = None, classes: int = 0) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) if X is None else X
    if classes:
        y = rng.integers(classes, size=N)
    elif loss.task == "classification":
        y = np.where(rng.random(N) < 0.4, 1.0, -1.0)
    else:
        y = rng.poisson(2.0, N).astype(float)
    weights = rng.random(N)
    weights[::7] = 0.0
    return Problem(as_design(X), y, weights, loss, L2(1.0), n_classes=classes)


def point(problem: Problem) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    coef = 0.3 * rng.standard_normal(problem.coef_shape)
    return coef, rng.standard_normal(problem.n_classes) if problem.n_classes else 0.2


def assert_same(a: RowPass, b: RowPass, rtol: float = 1e-12) -> None:
    for name in ("value", "gradient", "gradient_sum", "slope", "square", "curve", "border", "total", "gram"):
        one, other = getattr(a, name), getattr(b, name)
        if one is not None and other is not None:
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * max(1.0, np.abs(other).max()), err_msg=name)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("loss", [Logistic(), Poisson(), Huber(1.35)])
def test_a_pass_is_that_of_the_blocks(loss: Any, exact: bool) -> None:
    problem = problem_of(loss)
    assert in_one_call(problem)
    found = row_pass(problem, *point(problem), gram=True, exact=exact)
    assert_same(found, _by_blocks(problem, *point(problem), True, exact))
    assert found.gram is not None
    assert (found.gram == found.gram.T).all()
    assert_same(row_pass(problem, *point(problem), exact=exact), found)


def test_a_pass_for_classes_is_that_of_the_blocks() -> None:
    problem = problem_of(SoftmaxLoss(), classes=4)
    assert in_one_call(problem)
    assert_same(row_pass(problem, *point(problem)), _by_blocks(problem, *point(problem), False, False))


@pytest.mark.parametrize("classes", [0, 5])
def test_long_sums_leave_fewer_chunks_and_the_same_pass(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of chunks once took 128 times the coefficients, whatever those were."""
    problem = problem_of(SoftmaxLoss() if classes else Logistic(), classes=classes)
    width = (D + 1) * max(classes, 1)
    monkeypatch.setattr("corollary.solvers.linear.smooth.row_pass.BLOCK", 1)
    _, many = _grid(problem, width)
    monkeypatch.setattr("corollary.core.parallel.SUMS", 20 * width)
    _, few = _grid(problem, width)
    assert many > 100
    assert few <= 20
    found = row_pass(problem, *point(problem), gram=not classes)
    assert_same(found, _by_blocks(problem, *point(problem), not classes, False))


def test_wide_rows_have_their_gram_matrix_from_the_design() -> None:
    problem = problem_of(Logistic(), np.random.default_rng(2).standard_normal((N, 140)))
    assert_same(row_pass(problem, *point(problem), gram=True), _by_blocks(problem, *point(problem), True, False))


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("kind", ["float32", "moved", "few rows at a time"])
def test_rows_of_other_kinds(kind: str, classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(SoftmaxLoss() if classes else Logistic(), classes=classes)
    X = problem.design.matrix()
    if kind == "float32":
        problem = replace(problem, design=as_design(X.astype(np.float32)))
    elif kind == "moved":
        problem = replace(problem, design=Moved(as_design(X + 1e3), centre=np.full(D, 1e3)))
    else:
        monkeypatch.setattr("corollary.solvers.linear.smooth.row_pass.BLOCK", 1)
    assert in_one_call(problem)
    gram = not classes
    assert_same(row_pass(problem, *point(problem), gram=gram), _by_blocks(problem, *point(problem), gram, False))


def test_rows_that_do_not_lie_one_after_the_other_go_by_blocks() -> None:
    X = np.random.default_rng(0).standard_normal((N, D))
    for design in (as_design(np.asfortranarray(X)), as_design(X).view(scale=np.full(D, 2.0))):
        assert not in_one_call(replace(problem_of(Logistic()), design=design))


def test_infinite_predictions_of_rows_without_weight_do_not_matter() -> None:
    X = np.random.default_rng(0).standard_normal((N, D))
    X[::7] = 1e300
    problem = problem_of(Poisson(), X)
    found = row_pass(problem, *point(problem), gram=True)
    assert np.isfinite(found.value)
    assert np.isfinite(found.gradient).all()
    assert np.isfinite(found.square)


@pytest.mark.parametrize("classes", [2, 12])
def test_the_number_of_threads_changes_no_bit(classes: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30_000, 30))
    y = (X @ rng.standard_normal((30, classes)) + rng.gumbel(size=(30_000, classes))).argmax(axis=1)
    found = set()
    for count in (1, 2, 3, 7, 16):
        with threads(count):
            model = LogisticRegression().fit(X, y)
        found.add((model.coef_.tobytes(), model.intercept_.tobytes(), model.evidence_.certificate.value))
    assert len(found) == 1


def test_the_hessian_of_a_sample_leads_to_the_optimum_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.solvers.linear.smooth.sample.SAMPLE_ROWS", 300)
    problem = problem_of(Logistic())
    assert problem.design.shape[0] // 10 >= max(300, 20 * D)
    found = solve(Newton(), problem, tol=1e-14, max_iter=50)
    assert found.evidence.certificate.holds
    whole = row_pass(problem, found.coef, found.intercept)
    np.testing.assert_allclose(whole.gradient, -problem.penalty.l2 * found.coef, atol=1e-5)
