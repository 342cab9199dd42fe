"""The count penalty: what is called stationary cannot be improved by changing one coefficient, whatever the loss."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from corollary import LinearModel
from corollary.core.design import as_design
from corollary.core.evidence import Kind
from corollary.core.loss import Logistic
from corollary.core.penalty import L0
from corollary.core.problem import Problem
from corollary.solvers.linear.descent.one_coefficient import best_change

LOSSES: dict[str, Any] = {  # written out again: nothing of the library judges itself
    "squared": lambda y, f: 0.5 * (y - f) ** 2,
    "huber": lambda y, f: np.where(np.abs(y - f) <= 1.35, 0.5 * (y - f) ** 2, 1.35 * np.abs(y - f) - 0.5 * 1.35**2),
    "logistic": lambda y, f: np.logaddexp(0.0, -y * f),
    "exponential": lambda y, f: np.exp(np.minimum(-y * f, 700.0)),
    "squared_hinge": lambda y, f: np.maximum(0.0, 1 - y * f) ** 2,
    "poisson": lambda y, f: np.exp(np.minimum(f, 700.0)) - y * f,
}
CLASSES = ("logistic", "exponential", "squared_hinge")


def data(loss: str, seed: int, *, n: int = 80, d: int = 6) -> tuple[Any, Any]:
    """Correlated columns; for classes as many rows of either, so that the intercept alone has nothing to do."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4)
    f = X @ rng.choice([-1.0, 0.0, 0.0, 0.7], d)
    if loss in CLASSES:
        return X, np.argsort(np.argsort(f + 2 * rng.normal(size=n))) >= n // 2
    return X, rng.poisson(np.exp(0.4 * f)).astype(float) if loss == "poisson" else f + rng.normal(size=n)


def best_value(loss: str, X: Any, y: Any, fixed: Any, columns: Any, start: Any, weights: Any = None) -> float:
    """The least mean loss over the coefficients of some columns and the intercept, by SciPy, from several starts."""
    A, centre = X[:, columns], X[:, columns].mean(axis=0)
    scale = np.maximum(A.std(axis=0), 1e-300)
    A = np.column_stack([(A - centre) / scale, np.ones(len(X))])
    weights = np.ones(len(X)) if weights is None else weights

    def value(z: Any) -> float:
        return float(weights @ LOSSES[loss](y, fixed + A @ z) / weights.sum())

    first = np.append(start[:-1] * scale, start[-1] + start[:-1] @ centre)
    fine = {"BFGS": {}, "Nelder-Mead": {"maxiter": 20_000, "xatol": 1e-10, "fatol": 1e-14}}
    starts = (first, np.append(0 * first[:-1], first[-1]))
    found = [minimize(value, z, method=how, options=options) for z in starts for how, options in fine.items()]
    return min(float(each.fun) for each in found)


def best_gain(loss: str, model: Any, X: Any, y: Any, alpha: float, weights: Any = None) -> float:
    """By how much the objective falls if the best coefficient is changed at best, with the intercept."""
    X = np.asarray(X, dtype=np.float64)
    coef, intercept = np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0])
    target = np.where(y, 1.0, -1.0) if loss in CLASSES else y
    w = np.ones(len(X)) if weights is None else weights
    now = float(w @ LOSSES[loss](target, X @ coef + intercept) / w.sum()) + alpha * np.count_nonzero(coef)
    gains = []
    for j in range(X.shape[1]):
        rest = coef.copy()
        rest[j] = 0.0
        others = alpha * np.count_nonzero(rest)
        without = best_value(loss, X, target, X @ rest, [], np.array([intercept]), w) + others
        free = best_value(loss, X, target, X @ rest, [j], np.array([coef[j], intercept]), w) + others + alpha
        gains.append(now - min(without, free))
    return max(gains)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [0.003, 0.03])
def test_no_change_of_one_coefficient_helps(loss: str, alpha: float) -> None:
    X, y = data(loss, seed=len(loss))
    model = LinearModel(loss, "l0", alpha=alpha).fit(X, y)
    assert model.evidence_.holds, str(model.evidence_)
    certificate = model.evidence_.certificate
    assert certificate.kind is Kind.STATIONARY
    assert "one coefficient" in certificate.name
    assert best_gain(loss, model, X, y, alpha) <= 1e-7 * model.evidence_.facts["objective"]


@pytest.mark.parametrize("loss", CLASSES)
def test_balanced_classes_are_not_left_at_zero(loss: str) -> None:
    X, y = data(loss, seed=1)
    model = LinearModel(loss, "l0", alpha=1e-3).fit(X, y)
    assert np.count_nonzero(model.coef_) >= 2
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("how", ["scales", "offset", "float32", "sparse", "weights", "duplicates", "wide"])
def test_hostile_columns(loss: str, how: str) -> None:
    X, y = data(loss, seed=3, n=40, d=4)
    weights: Any = None
    if how == "scales":
        X = X * 10.0 ** np.array([-8, 0, 4, 8])
    if how == "offset":
        X = X + 1e6
    if how == "weights":
        weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    if how == "duplicates":
        X = np.column_stack([X, X[:, 0], np.zeros(len(y)), np.ones(len(y))])
    if how == "wide":
        X, y = data(loss, seed=5, n=12, d=14)
    given = X.astype(np.float32) if how == "float32" else sparse.csr_array(X) if how == "sparse" else X
    model = LinearModel(loss, "l0", alpha=0.01).fit(given, y, weights)
    assert model.evidence_.holds, str(model.evidence_)
    seen = np.asarray(given, dtype=np.float64) if how == "float32" else X
    assert best_gain(loss, model, seen, y, 0.01, weights) <= 1e-7 * model.evidence_.facts["objective"]


@pytest.mark.parametrize("seed", range(3))
def test_logistic_against_every_subset(seed: int) -> None:
    """Not below the global optimum, and for a clear signal at it."""
    X, y = data("logistic", seed=seed, n=60, d=5)
    alpha, target = 0.02, np.where(y, 1.0, -1.0)
    values = [
        best_value("logistic", X, target, np.zeros(len(y)), list(chosen), np.zeros(size + 1)) + alpha * size
        for size in range(6)
        for chosen in combinations(range(5), size)
    ]
    found = LinearModel("logistic", "l0", alpha=alpha).fit(X, y).evidence_.facts["objective"]
    assert min(values) - 1e-9 <= found <= min(values) + 2 * alpha


def test_softmax_counts_every_coefficient() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.argsort(np.argsort(X[:, 0] + 0.5 * rng.normal(size=90))) // 30  # as many rows of each class
    alpha = 0.01
    model = LinearModel("softmax", "l0", alpha=alpha).fit(X, y)
    assert model.evidence_.holds, str(model.evidence_)
    assert model.score(X, y) > 0.6

    def value(W: Any, b: Any) -> float:
        f = X @ W.T + b
        return float(np.mean(np.logaddexp.reduce(f, axis=1) - f[np.arange(90), y])) + alpha * np.count_nonzero(W)

    now = value(model.coef_, model.intercept_)
    for k in range(3):
        for j in range(4):

            def changed(z: Any, k: int = k, j: int = j) -> float:
                W, b = model.coef_.copy(), model.intercept_.copy()
                W[k, j], b[k] = z[0], b[k] + z[1]
                return value(W, b)

            start = model.coef_[k, j]
            gone = minimize(lambda z, changed=changed: changed([0.0, z[0]]), [0.0]).fun
            free = minimize(changed, [start or 0.1, 0.0], method="Nelder-Mead", options={"fatol": 1e-13}).fun
            assert min(gone, free) >= now - 1e-7 * now


def test_a_huge_row_does_not_hide_that_a_coefficient_can_go() -> None:
    """About a mean that one row has drawn away every logistic loss is flat, and no step seemed to promise anything."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 1] > 0, 1.0, -1.0)
    X[0] = 1e7, 0.0
    design, weights = as_design(X), np.full(40, 1 / 40)
    problem = Problem(design, y, weights, Logistic(), L0(1.0))
    coef = np.array([-0.2, 3.0])
    found = best_change(problem, design.view(centre=design.column_means(weights)), coef, problem.raw(coef, 0.0), 1e-12)
    assert found.gain > 0.9  # without the first coefficient the loss is a little higher, and one strength is saved
    assert found.value == 0


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_exponentials_that_overflow_do_not_keep_a_coefficient(seed: int) -> None:
    """Without it half of the rows overflow at the intercept that was tried; at another one nothing is lost."""
    rng = np.random.default_rng(seed)
    X, y = 5 * rng.normal(size=(6, 7)) + 1e3, np.zeros(6)
    y[0] = 1.0
    model = LinearModel("poisson", "l0").fit(X, y)
    assert not model.evidence_.holds or model.evidence_.verify(X, y).stands is not False
