"""The interior point method against linear programs, support vector machines and the definition of the dual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, linprog, minimize
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVC, SVR

from corollary.core.design import as_design
from corollary.core.loss import LOSSES, Absolute, EpsilonInsensitive, Hinge, Loss, Quantile, Squared
from corollary.core.parallel import threads
from corollary.core.penalty import L1, L2, ElasticNet, Group, NoPenalty, Penalty, PositiveElasticNet
from corollary.core.problem import Problem
from corollary.solvers.linear.driver import Solution, State, solve
from corollary.solvers.linear.interior_point.solver import InteriorPoint

Array = Any
DATA = Path(__file__).parents[3] / ".." / "shared" / "data"
PIECEWISE = [Absolute(), Quantile(0.9), Quantile(0.05), EpsilonInsensitive(0.4), EpsilonInsensitive(0.0), Hinge()]
LOSS_IDS = [f"{loss.name}({loss.parameter:g})" for loss in PIECEWISE]
PENALTIES = [NoPenalty(), L1(0.05), L1(1e-4), L2(0.1), L2(1e-6), ElasticNet(0.05, 0.1)]
PENALTY_IDS = [f"{penalty.name}({penalty.l1:g},{penalty.l2:g})" for penalty in PENALTIES]


def kinks(loss: Loss, y: Array) -> tuple[Array, Array, Array, Array]:
    """Where the loss leaves zero to the left and to the right, and how steeply: written out, not asked of the loss."""
    one = np.ones_like(y)
    if loss.name == "absolute":
        return y, y, one, one
    if loss.name == "quantile":
        return y, y, loss.parameter * one, (1 - loss.parameter) * one
    if loss.name == "epsilon_insensitive":
        return y - loss.parameter, y + loss.parameter, one, one
    return y, y, np.where(y > 0, 1.0, 0.0), np.where(y > 0, 0.0, 1.0)


def primal(X: Array, y: Array, w: Array, loss: Loss, penalty: Penalty, coef: Array, intercept: float) -> float:
    left, right, below, above = kinks(loss, y)
    f = X @ coef + intercept
    each = below * np.maximum(left - f, 0) + above * np.maximum(f - right, 0)
    return float(w @ each + penalty.l1 * np.abs(coef).sum() + penalty.l2 / 2 * coef @ coef)


def fit(X: Any, y: Array, loss: Loss, penalty: Penalty, w: Array | None = None, **options: Any) -> Solution:
    w = np.full(len(y), 1 / len(y)) if w is None else w
    problem = Problem(as_design(X), y, w, loss, penalty, fit_intercept=options.pop("intercept", True))
    return solve(InteriorPoint(), problem, **{"tol": 1e-8, "max_iter": 60} | options)


def assert_proved(X: Array, y: Array, loss: Loss, penalty: Penalty, found: Solution, w: Array, intercept: bool) -> None:
    """Recompute the gap from the coefficients and the dual point alone."""
    theta = found.state.memory["theta"]
    left, right, below, above = kinks(loss, y)
    objective = primal(X, y, w, loss, penalty, found.coef, found.intercept)
    null = primal(X, y, w, loss, penalty, np.zeros(X.shape[1]), 0.0)
    assert found.evidence.facts["objective"] == pytest.approx(objective, rel=1e-12, abs=1e-15 * null)
    assert (theta <= w * below * (1 + 1e-12)).all()
    assert (theta >= -w * above * (1 + 1e-12)).all()
    size, z = np.abs(theta).sum(), X.T @ theta
    assert not intercept or abs(theta.sum()) <= 1e-12 * size
    D = float(left @ np.maximum(theta, 0) + right @ np.minimum(theta, 0))
    if penalty.l2 > 0:
        D -= float(np.sum(np.maximum(np.abs(z) - penalty.l1, 0) ** 2) / (2 * penalty.l2))
    elif penalty.l1 > 0:
        assert np.abs(z).max() <= penalty.l1 * (1 + 1e-10)
    else:
        assert (np.abs(z) <= 1e-10 * (np.abs(X).T @ np.abs(theta) + 1e-300)).all()
    gap = objective - D
    assert gap <= 1.1e-8 * max(objective, 1e-6 * null) + 1e-15 * size * np.abs(y).max()
    assert found.evidence.holds


def sample(loss: Loss, n: int = 80, d: int = 6, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_t(2, n) + 0.5
    return X, np.where(y > 0, 1.0, -1.0) if loss.task == "classification" else y


def linear_program(X: Array, y: Array, w: Array, loss: Loss, l1: float, intercept: bool) -> float:
    """The least objective without an l2 part, by another method: variables β⁺, β⁻, b, and two excesses per row."""
    n, d = X.shape
    left, right, below, above = kinks(loss, y)
    one, zero, unit = np.ones((n, 1)), np.zeros((n, n)), np.eye(n)
    cost = np.concatenate([np.full(2 * d, l1), [0.0], w * below, w * above])
    A = np.vstack([np.hstack([-X, X, -one, -unit, zero]), np.hstack([X, -X, one, zero, -unit])])
    free = (None, None) if intercept else (0, 0)
    bounds = [(0, None)] * (2 * d) + [free] + [(0, None)] * (2 * n)
    return float(linprog(cost, A, np.concatenate([-left, right]), bounds=bounds).fun)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=PENALTY_IDS)
@pytest.mark.parametrize("loss", PIECEWISE, ids=LOSS_IDS)
def test_every_loss_and_penalty_is_solved_with_proof(loss: Loss, penalty: Penalty, intercept: bool) -> None:
    X, y = sample(loss)
    w = np.random.default_rng(1).random(len(y)) / len(y)
    found = fit(X, y, loss, penalty, w, intercept=intercept)
    assert_proved(X, y, loss, penalty, found, w, intercept)
    assert found.evidence.n_iter <= 30
    if penalty.l2 == 0:
        best = linear_program(X, y, w, loss, penalty.l1, intercept)
        assert found.evidence.facts["objective"] == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
def test_quantiles_agree_with_scikit_learn(quantile: float, alpha: float) -> None:
    loss = Quantile(quantile)
    X, y = sample(loss, 120, 5, seed=3)
    model = QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y)
    found = fit(X, y, loss, L1(alpha) if alpha else NoPenalty())
    w, penalty = np.full(len(y), 1 / len(y)), L1(alpha)
    ours = primal(X, y, w, loss, penalty, found.coef, found.intercept)
    assert ours == pytest.approx(primal(X, y, w, loss, penalty, model.coef_, model.intercept_), rel=1e-8)


@pytest.mark.parametrize("C", [1e-3, 1.0, 10.0])
def test_hinge_agrees_with_the_support_vector_machine(C: float) -> None:
    X, y = sample(Hinge(), 70, 4)
    model = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    w = np.full(len(y), C)
    found = fit(X, y, Hinge(), L2(1.0), w, tol=1e-10)
    theirs = primal(X, y, w, Hinge(), L2(1.0), model.coef_[0], model.intercept_[0])
    assert theirs * (1 - 1e-6) <= found.evidence.facts["objective"] <= theirs * (1 + 1e-9)  # ours may be better
    np.testing.assert_allclose(found.coef, model.coef_[0], rtol=1e-3, atol=1e-4 * np.abs(found.coef).max())


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_tube_agrees_with_support_vector_regression(C: float) -> None:
    loss = EpsilonInsensitive(0.3)
    X, y = sample(loss, 60, 4)
    model = SVR(kernel="linear", C=C, epsilon=0.3, tol=1e-9).fit(X, y)
    w = np.full(len(y), C)
    found = fit(X, y, loss, L2(1.0), w, tol=1e-10)
    theirs = primal(X, y, w, loss, L2(1.0), model.coef_[0], float(model.intercept_[0]))
    assert theirs * (1 - 1e-6) <= found.evidence.facts["objective"] <= theirs * (1 + 1e-9)


@pytest.mark.parametrize(
    "loss", [Absolute(), Quantile(0.7), EpsilonInsensitive(0.2), Hinge()], ids=lambda loss: loss.name
)
def test_elastic_net_agrees_with_a_general_solver(loss: Loss) -> None:
    X, y = sample(loss, 12, 2)
    n, d = X.shape
    penalty, (left, right, below, above) = ElasticNet(0.3, 0.8), kinks(loss, y)
    cost = np.concatenate([np.full(2 * d, 0.3), [0.0], below, above])

    def objective(v: Array) -> float:
        return float(cost @ v + 0.4 * np.sum((v[:d] - v[d : 2 * d]) ** 2))

    def slope(v: Array) -> Array:
        pull = 0.8 * (v[:d] - v[d : 2 * d])
        return cost + np.concatenate([pull, -pull, np.zeros(1 + 2 * n)])

    one, zero, unit = np.ones((n, 1)), np.zeros((n, n)), np.eye(n)
    A = np.vstack([np.hstack([X, -X, one, unit, zero]), np.hstack([-X, X, -one, zero, unit])])
    rows = LinearConstraint(A, np.concatenate([left, -right]), np.inf)
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * (2 * n)
    start = np.concatenate([np.ones(2 * d), [0.0], np.full(2 * n, 5.0)])
    best = minimize(
        objective, start, jac=slope, bounds=bounds, constraints=rows, method="SLSQP", options={"ftol": 1e-13}
    )
    found = fit(X, y, loss, penalty, np.ones(n), tol=1e-10)
    assert best.success
    assert found.evidence.facts["objective"] == pytest.approx(best.fun, rel=1e-6)


def degenerate(name: str, loss: Loss) -> tuple[Array, Array]:
    X, y = sample(loss, 60, 5, seed=4)
    rng = np.random.default_rng(5)
    if name == "duplicated rows and columns":
        return np.hstack([X, X[:, :2]])[np.arange(60) % 40], y[np.arange(60) % 40]
    if name == "constant and empty columns":
        return np.hstack([X, np.full((60, 1), 3.0), np.zeros((60, 1))]), y
    if name == "columns of all sizes":
        return X * 10.0 ** rng.integers(-6, 7, 5), y
    if name == "large means":
        return X + 1e4, y if loss.task == "classification" else y + 1e4
    if name == "whole numbers":
        return rng.integers(0, 3, (60, 5)).astype(float), np.sign(y) if loss.task == "classification" else np.round(y)
    if name == "equal targets":
        return X, np.full(60, 1.0 if loss.task == "classification" else 7.0)
    if name == "exact fit":
        exact = X @ np.arange(5.0) + 2
        return X, np.where(exact > 0, 1.0, -1.0) if loss.task == "classification" else exact
    if name == "nearly square exact fit":
        square = rng.standard_normal((30, 28))
        exact = square @ np.where(np.arange(28) % 3, 0.0, 10.0)
        return square, np.where(exact > 0, 1.0, -1.0) if loss.task == "classification" else exact
    if name == "more columns than rows":
        return rng.standard_normal((20, 50)), y[:20]
    return X[: int(name.split()[0])], y[: int(name.split()[0])]


DEGENERATE = [
    "duplicated rows and columns",
    "constant and empty columns",
    "columns of all sizes",
    "large means",
    "whole numbers",
    "equal targets",
    "exact fit",
    "nearly square exact fit",
    "more columns than rows",
    "1 row",
    "2 rows",
]


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize(
    "loss", [Absolute(), Quantile(0.05), EpsilonInsensitive(0.3), Hinge()], ids=lambda loss: loss.name
)
def test_degenerate_data_are_solved_with_proof(name: str, loss: Loss) -> None:
    X, y = degenerate(name, loss)
    w = np.full(len(y), 1 / len(y))
    for penalty in (NoPenalty(), L1(0.01), L2(0.01), ElasticNet(0.01, 0.01)):
        for intercept in (True, False):
            found = fit(X, y, loss, penalty, w, intercept=intercept)
            assert_proved(X, y, loss, penalty, found, w, intercept)


def test_separable_classes_without_penalty_reach_zero() -> None:
    X, _ = sample(Hinge(), 400, 5)
    y = np.where(X.sum(axis=1) + 0.3 > 0, 1.0, -1.0)
    found = fit(X, y, Hinge(), NoPenalty())
    assert found.evidence.facts["objective"] == 0.0
    assert (y * (X @ found.coef + found.intercept) >= 1).all()


@pytest.mark.parametrize("loss", PIECEWISE, ids=LOSS_IDS)
def test_weights_are_repetitions_and_rows_of_weight_zero_do_not_exist(loss: Loss) -> None:
    X, y = sample(loss, 50, 3)
    times = np.random.default_rng(2).integers(0, 4, 50)
    for penalty in (NoPenalty(), L1(0.5), L2(2.0)):
        weighted = fit(X, y, loss, penalty, times.astype(float), tol=1e-11)
        repeated = fit(np.repeat(X, times, 0), np.repeat(y, times), loss, penalty, np.ones(times.sum()), tol=1e-11)
        live = times > 0
        without = fit(X[live], y[live], loss, penalty, times[live].astype(float), tol=1e-11)
        assert (weighted.coef == without.coef).all()
        assert weighted.evidence.facts["objective"] == pytest.approx(repeated.evidence.facts["objective"], rel=1e-9)
        if penalty.l2 > 0:  # else there may be several solutions
            np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-4)


@pytest.mark.parametrize("penalty", PENALTIES[1:4], ids=PENALTY_IDS[1:4])
@pytest.mark.parametrize("shape", [(90, 8), (20, 40)])
def test_layouts_and_threads_do_not_matter(shape: tuple[int, int], penalty: Penalty) -> None:
    rng = np.random.default_rng(6)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.4)
    y = X @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0])
    dense = fit(X, y, Absolute(), penalty, tol=1e-10)
    for other in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_matrix(X)):
        found = fit(other, y, Absolute(), penalty, tol=1e-10)
        assert found.evidence.facts["objective"] == pytest.approx(dense.evidence.facts["objective"], rel=1e-9)
    with threads(1):
        alone = fit(X, y, Absolute(), penalty, tol=1e-10)
    with threads(3):
        together = fit(X, y, Absolute(), penalty, tol=1e-10)
    assert (alone.coef == together.coef).all()
    single = fit(X.astype(np.float32), y, Absolute(), penalty, tol=1e-10)
    assert single.evidence.holds
    np.testing.assert_allclose(single.evidence.facts["objective"], dense.evidence.facts["objective"], rtol=1e-5)


def test_units_do_not_matter() -> None:
    X, y = sample(Absolute(), 60, 4)
    scale = 2.0 ** np.array([-20, 0, 7, 30])
    plain, scaled = fit(X, y, Quantile(0.3), NoPenalty()), fit(X * scale, y, Quantile(0.3), NoPenalty())
    assert (scaled.coef * scale == plain.coef).all()  # powers of two change no digit
    larger = fit(X, 1e6 * y, Quantile(0.3), NoPenalty())
    np.testing.assert_allclose(larger.coef, 1e6 * plain.coef, rtol=1e-5)


def test_weights_of_very_different_size() -> None:
    X, y = sample(Absolute(), 80, 4)
    w = 10.0 ** np.random.default_rng(7).uniform(-8, 8, 80)
    for penalty in (NoPenalty(), L1(1.0), L2(1.0)):
        assert_proved(X, y, Absolute(), penalty, fit(X, y, Absolute(), penalty, w), w, True)


def test_the_dual_never_falls_and_a_start_is_used() -> None:
    X, y = sample(Absolute(), 60, 4)
    problem = Problem(as_design(X), y, np.ones(60), Absolute(), L1(1.0))
    solver, duals = InteriorPoint(), []
    state = solver.init(problem, State(np.zeros(4), 0.0))
    for _ in range(12):
        duals.append(state.dual)
        state = solver.step(problem, state, 1e-10)
    assert (np.diff(duals) >= 0).all()
    again = solver.init(problem, state)
    assert again.objective <= state.objective * (1 + 1e-12)


def test_what_it_cannot_use_is_said() -> None:
    X, y = sample(Absolute(), 20, 3)
    with pytest.raises(ValueError, match="cannot use the squared loss"):
        fit(X, y, Squared(), L1(1.0))
    with pytest.raises(ValueError, match="cannot use the group penalty"):
        fit(X, y, Absolute(), Group(1.0, np.zeros(3)))
    with pytest.raises(ValueError, match="free in sign"):
        fit(X, y, Absolute(), PositiveElasticNet(1.0, 1.0))
    assert {name for name, loss in LOSSES.items() if loss.piecewise_linear} == {loss.name for loss in PIECEWISE}


def test_too_many_columns_are_refused_before_anything_is_allocated() -> None:
    X, y = sparse.csr_array((10, 1_000_000)), np.arange(10.0)
    with pytest.raises(ValueError, match=r"1,000,000 × 1,000,000 matrix \(7450.6 GiB"):
        fit(X, y, Absolute(), NoPenalty())
    assert fit(X[:, :20_000], y, Absolute(), L1(1.0)).evidence.holds  # here a 10 × 10 matrix is enough


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not beside this checkout")
@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.95])
def test_house_prices_in_raw_units(quantile: float) -> None:
    table = np.genfromtxt(
        DATA / "regression" / "california_housing.csv.gz", delimiter=",", skip_header=1, max_rows=1500
    )
    X, y = table[:, :-1], table[:, -1]
    loss, w = Quantile(quantile), np.full(len(table), 1 / len(table))
    found = fit(X, y, loss, NoPenalty())
    assert_proved(X, y, loss, NoPenalty(), found, w, True)
    centred = (X - X.mean(axis=0)) / X.std(axis=0)
    model = QuantileRegressor(quantile=quantile, alpha=0).fit(centred, y)
    theirs = primal(centred, y, w, loss, NoPenalty(), model.coef_, model.intercept_)
    assert found.evidence.facts["objective"] == pytest.approx(theirs, rel=1e-7)
