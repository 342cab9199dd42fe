"""Small problems against answers found the slow and certain way: enumeration, linear programming, plain loops."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import logsumexp

from corollary import ElasticNet, Lasso, LinearModel, LogisticRegression


def regression(d: int, seed: int, n: int = 20) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4)  # correlated columns
    return X, X @ rng.choice([-2.0, 0.0, 0.0, 1.5], d) + rng.normal(size=n)


def elastic_net_by_enumeration(X: Any, y: Any, l1: float, l2: float) -> Any:
    """Every pattern of signs gives a linear system; the optimum is the feasible one with the least objective."""
    n, d = X.shape
    A, b = X - X.mean(axis=0), y - y.mean()
    best, answer = np.inf, np.zeros(d)
    for pattern in product((-1, 0, 1), repeat=d):
        signs = np.array(pattern)
        on, w = signs != 0, np.zeros(d)
        if on.any():
            gram = A[:, on].T @ A[:, on] / n + l2 * np.eye(on.sum())
            w[on] = np.linalg.solve(gram, A[:, on].T @ b / n - l1 * signs[on])
        if (w * signs < 0).any():
            continue
        value = ((b - A @ w) ** 2).sum() / (2 * n) + l1 * abs(w).sum() + l2 / 2 * w @ w
        if value < best:
            best, answer = value, w
    return answer


@pytest.mark.parametrize("seed", range(6))
def test_lasso_and_elastic_net_against_enumeration(seed: int) -> None:
    X, y = regression(d=1 + seed, seed=seed)
    alpha = 0.1 * np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    lasso = Lasso(alpha, tol=1e-13).fit(X, y)
    np.testing.assert_allclose(lasso.coef_, elastic_net_by_enumeration(X, y, alpha, 0.0), rtol=1e-8, atol=1e-9)
    net = ElasticNet(alpha, l1_ratio=0.3, tol=1e-13).fit(X, y)
    expected = elastic_net_by_enumeration(X, y, 0.3 * alpha, 0.7 * alpha)
    np.testing.assert_allclose(net.coef_, expected, rtol=1e-8, atol=1e-9)
    assert lasso.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ lasso.coef_)


def best_subset(X: Any, y: Any, strength: float) -> float:
    """min over w of the mean of ½ r² plus strength · (number of non-zero weights), by trying every subset."""
    n, d = X.shape
    values = []
    for size in range(d + 1):
        for chosen in combinations(range(d), size):
            A = np.column_stack([X[:, chosen], np.ones(n)])
            r = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
            values.append(r @ r / (2 * n) + strength * size)
    return float(min(values))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("strength", [0.001, 0.05, 0.5])
def test_l0_is_between_the_global_optimum_and_every_single_step(seed: int, strength: float) -> None:
    X, y = regression(d=5, seed=seed)
    model = LinearModel(penalty="l0", alpha=strength).fit(X, y)

    def value(w: Any) -> float:
        r = y - X @ w
        r = r - r.mean()  # the best intercept
        return float(r @ r / (2 * len(y)) + strength * np.count_nonzero(w))

    found = value(model.coef_)
    assert found >= best_subset(X, y, strength) - 1e-12
    A = X - X.mean(axis=0)
    for j in range(X.shape[1]):
        step = model.coef_.copy()
        step[j] = 0.0
        assert value(step) >= found - 1e-9  # leaving one out does not help
        step[j] = A[:, j] @ (y - y.mean() - A @ step) / (A[:, j] @ A[:, j])
        assert value(step) >= found - 1e-9  # nor does the best value of any one coordinate
    assert "coordinate" in str(model.evidence_) or "duality" not in str(model.evidence_)


def test_l0_without_noise_finds_the_support() -> None:
    X, _ = regression(d=6, seed=9, n=50)
    truth = np.array([3.0, 0.0, 0.0, -2.0, 0.0, 0.0])
    model = LinearModel(penalty="l0", alpha=1e-3).fit(X, X @ truth + 1.0)
    np.testing.assert_allclose(model.coef_, truth, atol=1e-9)
    np.testing.assert_array_equal(model.coef_ == 0, truth == 0)


@pytest.mark.parametrize(("loss", "alpha"), [("squared", 0.9), ("logistic", 0.15)])
def test_group_lasso_against_proximal_gradient(loss: str, alpha: float) -> None:
    X, y = regression(d=6, seed=3, n=40)
    groups = np.array([0, 1, 0, 2, 1, 2])
    if loss == "logistic":
        y = np.where(y > np.median(y), 1.0, -1.0)
    A = X - X.mean(axis=0)
    w, b = np.zeros(6), 0.0
    step = 1 / (np.linalg.norm(np.column_stack([A, np.ones(40)]), 2) ** 2 / 40)
    for _ in range(20_000):
        f = A @ w + b
        slope = (f - y) / 40 if loss == "squared" else -y / (1 + np.exp(y * f)) / 40
        w, b = w - step * (A.T @ slope), b - step * slope.sum()
        for g in range(3):
            size = np.linalg.norm(w[groups == g])
            w[groups == g] *= max(0.0, 1 - step * alpha * np.sqrt(2) / size) if size > 0 else 0.0
    model = LinearModel(loss, "group", alpha=alpha, groups=groups, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(np.ravel(model.coef_), w, atol=1e-6)
    assert float(np.ravel(model.intercept_)[0]) == pytest.approx(b - X.mean(axis=0) @ w, abs=1e-6)
    assert 0 < np.count_nonzero(w) < 6  # whole groups, and not all of them


def linear_program(X: Any, y: Any, loss: str, alpha: float, parameter: float) -> float:
    """The optimum of a piecewise-linear loss with an L1 penalty: split everything into positive parts."""
    n, d = X.shape
    up, down = {"absolute": (1.0, 1.0), "quantile": (parameter, 1 - parameter), "epsilon_insensitive": (1.0, 1.0)}[loss]
    # variables: w⁺, w⁻ (d each), b⁺, b⁻, u, v (n each) with f + u − v = y beyond the tube
    cost = np.concatenate([np.full(2 * d, alpha), [0, 0], np.full(n, up / n), np.full(n, down / n)])
    F = np.column_stack([X, -X, np.ones(n), -np.ones(n)])
    tube = parameter if loss == "epsilon_insensitive" else 0.0
    above, below = np.hstack([-F, -np.eye(n), np.zeros((n, n))]), np.hstack([F, np.zeros((n, n)), -np.eye(n)])
    found = linprog(cost, np.vstack([above, below]), np.concatenate([tube - y, tube + y]), method="highs")
    return float(found.fun)


@pytest.mark.parametrize("alpha", [0.01, 0.2])
@pytest.mark.parametrize(("loss", "parameter"), [("absolute", 0.0), ("quantile", 0.8), ("epsilon_insensitive", 0.4)])
def test_kinked_losses_against_linear_programming(loss: str, parameter: float, alpha: float) -> None:
    X, y = regression(d=4, seed=5, n=30)
    options = {"quantile": parameter} if loss == "quantile" else {"epsilon": parameter}
    model = LinearModel(loss, "l1", alpha=alpha, **options).fit(X, y)
    assert model.evidence_.facts["objective"] == pytest.approx(linear_program(X, y, loss, alpha, parameter), rel=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_logistic_regression_against_a_general_minimiser(classes: int, C: float) -> None:
    X, y = regression(d=3, seed=11, n=60)
    codes = np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y)
    model = LogisticRegression(C=C, tol=1e-13).fit(X, codes)

    def objective(z: Any) -> float:
        W = z.reshape(4, -1)
        f = X @ W[:3] + W[3]
        if classes == 2:  # one column of coefficients for the second class
            loss = np.logaddexp(0, f[:, 0]) - codes * f[:, 0]
        else:
            loss = logsumexp(f, axis=1) - f[np.arange(60), codes]
        return float(C * loss.sum() + (W[:3] ** 2).sum() / 2)

    width = 1 if classes == 2 else classes
    found = minimize(objective, np.zeros(4 * width), method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
    mine = np.vstack([model.coef_.T, model.intercept_])
    assert objective(mine.ravel()) <= found.fun + 1e-9
    np.testing.assert_allclose(model.coef_.T, found.x.reshape(4, -1)[:3], atol=1e-4)
