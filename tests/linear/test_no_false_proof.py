"""A fit may be not proved; it may not be proved and wrong.

The referee imports nothing of the library: objectives are recomputed from the fitted coefficients in long doubles, and
better points are sought in an orthonormal basis of the columns, by linear programming or by Newton's method.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from corollary import HuberRegressor, Lasso, LinearModel, LinearRegression, LogisticRegression, Ridge
from corollary.base import EvidenceWarning
from corollary.core.design import as_design
from corollary.core.evidence import Kind, Status
from corollary.core.loss import LOSSES
from corollary.core.penalty import NoPenalty
from corollary.core.problem import Problem

Long = np.longdouble
STRAIGHT = ("absolute", "quantile", "hinge")
SMOOTH = ("huber", "poisson", "logistic", "squared_hinge", "exponential")


def loss_of(loss: str, y: Any, f: Any) -> tuple[Any, Any, Any]:
    """Values, slopes and curvatures, written afresh."""
    if loss == "absolute":
        return abs(f - y), np.sign(f - y), 0 * f
    if loss == "quantile":
        return abs(f - y) / 2, np.sign(f - y) / 2, 0 * f
    if loss == "hinge":
        return np.maximum(0, 1 - y * f), -y * (y * f < 1), 0 * f
    if loss == "huber":
        size = abs(f - y)
        value = np.where(size <= 1.35, size**2 / 2, 1.35 * (size - 1.35 / 2))
        return value, np.clip(f - y, -1.35, 1.35), np.maximum(size <= 1.35, 1e-3)
    if loss == "poisson":
        return np.exp(f) - y * f, np.exp(f) - y, np.exp(f)
    if loss == "logistic":
        p = 1 / (1 + np.exp(y * f))
        return np.logaddexp(Long(0), -y * f), -y * p, p * (1 - p)
    if loss == "exponential":
        return np.exp(-y * f), -y * np.exp(-y * f), np.exp(-y * f)
    margin = np.maximum(0, 1 - y * f)
    return margin**2, -2 * y * margin, 2.0 * (margin > 0)


def basis(X: Any) -> Any:
    """Ones and an orthonormal basis of the centred columns, by Gram and Schmidt with pivots, in long doubles."""
    left = X.astype(Long) - X.astype(Long).mean(axis=0)
    left = left / np.maximum(np.sqrt((left**2).sum(axis=0)), Long(1e-300))
    found = [np.ones(len(X), Long)]
    while left.shape[1]:
        norms = np.sqrt((left**2).sum(axis=0))
        if norms.max() < 1e-15:
            break
        q = left[:, norms.argmax()]
        for _ in range(3):
            for other in found:
                q = q - other * (other @ q) / (other @ other)
        found.append(q * np.sqrt(Long(len(X)) / (q @ q)))
        left = left - np.outer(found[-1], found[-1] @ left) / len(X)
        left = np.delete(left, norms.argmax(), axis=1)
    return np.array(found).T


def attainable(loss: str, X: Any, y: Any) -> float:
    """The objective of a good point; no proof may claim that there is none."""
    A, n = basis(X), len(X)
    if loss in STRAIGHT:
        B, k = A.astype(float), A.shape[1]
        free, sides = [(None, None)] * k, [(0, None)] * n
        if loss == "hinge":
            cost, rows = np.r_[np.zeros(k), np.ones(n)], np.c_[-y[:, None] * B, -np.eye(n)]
            found = linprog(cost, A_ub=rows, b_ub=-np.ones(n), bounds=free + sides)
        else:
            cost, rows = np.r_[np.zeros(k), np.ones(2 * n)], np.c_[B, np.eye(n), -np.eye(n)]
            found = linprog(cost, A_eq=rows, b_eq=y, bounds=free + sides + sides)
        return float(loss_of(loss, y, B @ found.x[:k])[0].mean())
    g, best = np.zeros(A.shape[1], Long), np.inf
    for _ in range(100):
        value, slope, curve = loss_of(loss, y, A @ g)
        H = ((A.T * curve) @ A / n).astype(float)
        step = np.linalg.lstsq(H + 1e-13 * np.trace(H) * np.eye(len(H)), (A.T @ slope / n).astype(float), rcond=None)[0]
        length, best = 1.0, value.mean()
        while not loss_of(loss, y, A @ (g - length * step))[0].mean() < best and length > 1e-12:
            length /= 2
        g = g - length * step
        if length <= 1e-12:
            break
    return float(best)


def columns(seed: int) -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(2, 120, 3))
    yield "collinear to 1e-10", np.c_[X, X[:, 0] + 1e-10 * Z[:, 0]]
    yield "two collinear to 1e-8", np.c_[X[:, 0], X[:, 0] + 1e-8 * Z[:, 0]]
    yield "at 1e9", X + 1e9
    yield "collinear at 1e4", np.c_[X, X[:, 0] + 1e-6 * Z[:, 0]] + 1e4
    yield "of sizes 1e±8", X * np.array([1e-8, 1.0, 1e8])
    yield "twice", np.c_[X, X]
    yield "two values at 1e7", 1e7 + rng.integers(0, 2, size=(120, 3))
    yield "more than rows", rng.normal(size=(12, 20))


def target(loss: str, X: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    Q = basis(X)[:, 1:].astype(float)
    f = Q @ rng.normal(size=Q.shape[1]) / np.sqrt(Q.shape[1])
    if loss == "poisson":
        return rng.poisson(np.exp(f)).astype(float)
    noise = (
        rng.logistic(size=len(X)) if loss not in ("absolute", "quantile", "huber") else 0.3 * rng.normal(size=len(X))
    )
    y = f + noise
    return y if loss in ("absolute", "quantile", "huber") else np.where(y > 0, 1.0, -1.0)


def fitted(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        return model.fit(X, y)


def delivered(loss: str, model: Any, X: Any, y: Any) -> float:
    raw = X.astype(Long) @ np.ravel(model.coef_).astype(Long) + Long(np.ravel(model.intercept_)[0])
    return float(loss_of(loss, y.astype(Long), raw)[0].mean())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", STRAIGHT + SMOOTH)
def test_what_is_proved_without_a_penalty_cannot_be_improved(loss: str, seed: int) -> None:
    for name, X in columns(seed):
        y = target(loss, X, seed)
        model = fitted(LinearModel(loss, "none"), X, y)
        objective, reference = delivered(loss, model, X, y), attainable(loss, X, y)
        if model.evidence_.holds:
            assert objective - reference <= 3e-8 * max(abs(objective), 1e-6), (name, model.evidence_)
        assert objective - reference <= 1e-5 * max(abs(objective), 1e-3), (name, model.evidence_)  # and is solved well


@pytest.mark.parametrize("loss", ["huber", "absolute", "quantile", "epsilon_insensitive"])
def test_collinear_columns_hide_nothing(loss: str) -> None:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 400))
    X, y = np.c_[x, x + 1e-10 * z], 2 * z + 0.3 * rng.normal(size=400)
    model = fitted(LinearModel(loss, "none"), X, y)
    assert model.score(X, y) > 0.97
    assert not model.evidence_.holds or model.evidence_.facts["dual objective"] <= model.evidence_.facts["objective"]
    assert fitted(HuberRegressor(alpha=0.0), X, y).score(X, y) > 0.97


def test_unpenalised_logistic_regression_on_collinear_columns() -> None:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 400))
    X, y = np.c_[x, x + 1e-10 * z], np.where(2 * z + rng.logistic(size=400) > 0, 1.0, -1.0)
    reference = attainable("logistic", X, y)
    for solver in ("auto", "prox-newton", "lbfgs"):
        model = fitted(LogisticRegression(C=np.inf, solver=solver), X, y)
        assert not model.evidence_.holds or delivered("logistic", model, X, y) <= reference * (1 + 3e-8)
    assert fitted(LogisticRegression(C=np.inf), X, y).evidence_.holds


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_softmax_on_columns_far_from_zero(offset: float) -> None:
    X, y = load_iris(return_X_y=True)
    near, far = X[:, :2], X[:, :2] + offset
    for make in (lambda: LinearModel("softmax", "none"), lambda: LogisticRegression(C=np.inf)):
        expected, model = make().fit(far - offset, y), fitted(make(), far, y)
        assert model.score(far, y) == pytest.approx(expected.score(near, y), abs=0.01)
        assert model.evidence_.facts["objective"] == pytest.approx(expected.evidence_.facts["objective"], rel=1e-6)


@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic_net"])
@pytest.mark.parametrize("loss", ["absolute", "huber", "hinge", "logistic", "squared_hinge", "softmax"])
def test_penalised_fits_do_not_see_where_zero_is(loss: str, penalty: str) -> None:
    rng = np.random.default_rng(1)
    far = np.round(rng.normal(size=(150, 4)) * 1024) / 1024 + 2.0**24  # so that less its offset it is the same, exactly
    X = far - 2.0**24
    score = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=150)
    y = score if loss in ("absolute", "huber") else np.digitize(score, [-1, 1] if loss == "softmax" else [0])
    expected, model = LinearModel(loss, penalty).fit(X, y), fitted(LinearModel(loss, penalty), far, y)
    assert model.evidence_.facts["objective"] == pytest.approx(expected.evidence_.facts["objective"], rel=1e-7)


@pytest.mark.parametrize("wrap", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_values_are_not_a_constant(wrap: Any, dtype: Any) -> None:
    """A column is constant when its values are equal, nothing else."""
    bits = np.random.default_rng(0).integers(0, 2, 200)
    X, y = wrap((1e7 + bits)[:, None].astype(dtype)), 3.0 * bits + 0.1 * np.cos(np.arange(200))
    for model in (LinearRegression(), Ridge(alpha=1e-9), Lasso(alpha=1e-9), LinearModel("huber", "none")):
        assert float(np.ravel(fitted(model, X, y).coef_)[0]) == pytest.approx(3.0, abs=0.05), model
    constant = wrap(np.full((200, 1), 1e7 + 1, dtype=dtype))
    for model in (LinearRegression(), Ridge(alpha=1e-9), Lasso(alpha=1e-9)):
        assert float(np.ravel(fitted(model, constant, y).coef_)[0]) == 0.0, model
        assert model.evidence_.holds
    assert fitted(LinearModel("huber", "none"), constant, y).evidence_.holds


def test_least_squares_proves_what_it_delivers() -> None:
    """At 1e-13 from collinear, coefficients of 1e13 are rounded to 1e-3: predictions are not those of the optimum."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, z, noise = rng.normal(size=(3, 300))
        X, y = np.c_[x, x + 10.0 ** -(12 + seed / 4) * z], x + z + 0.3 * noise
        model = fitted(LinearRegression(), X, y)
        A = basis(X)
        best = y - A @ (A.T @ y / len(y))
        residual = y - X.astype(Long) @ model.coef_.astype(Long) - Long(model.intercept_)
        if model.evidence_.holds:
            assert float(residual @ residual) <= float(best @ best) * (1 + 3e-8), seed


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "quantile", "epsilon_insensitive"])
def test_the_yardstick_does_not_see_where_zero_is(loss: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    near, far = (Problem(as_design(X), at, np.ones(50), LOSSES[loss](), NoPenalty()) for at in (y, y + 1e7))
    assert far.null_objective() == pytest.approx(near.null_objective(), rel=1e-6)


def sides(quasi: bool) -> tuple[Any, Any]:
    """Classes that x0 separates; quasi: half of the rows lie in the plane, and x1 tells nothing about them."""
    rng = np.random.default_rng(5)
    y = np.arange(120) % 2
    X = np.c_[np.where(y == 1, 1.0, -1.0) * (0.1 + rng.random(120)), rng.normal(size=120)]
    X[: 60 if quasi else 0, 0] = 0.0
    return X, y


@pytest.mark.parametrize("quasi", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: LogisticRegression(C=np.inf),
        lambda: LinearModel("exponential", "none"),
        lambda: LinearModel("softmax", "none"),
    ],
)
def test_separation_names_its_direction(make: Any, quasi: bool) -> None:
    X, y = sides(quasi)
    model = fitted(make(), X, y)
    evidence = model.evidence_
    assert evidence.status is Status.SEPARABLE
    assert "·x0" in evidence.notes[-1]
    assert "·x1" not in evidence.notes[-1]
    assert f"{60 if quasi else 120} of 120 strictly" in evidence.notes[-1]
    if not quasi:  # the least loss is zero, and no bound lies above it
        assert evidence.facts["dual objective"] <= 0.0
    assert evidence.facts["dual objective"] <= evidence.facts["objective"] * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
@pytest.mark.parametrize("overlap", [1e-7, 1e-10, 1e-14, 1e-17, 1e-30])
@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("loss", ["logistic", "exponential", "softmax"])
def test_classes_that_overlap_by_next_to_nothing_are_not_separable(loss: str, offset: float, overlap: float) -> None:
    """Along x0 the loss falls while coefficients are below 1/overlap, and rises from there on."""
    x = np.r_[np.linspace(-1, 0, 20), overlap, np.linspace(0, 1, 20)] + offset
    overlaps, y = x[20] > x[21], np.repeat([0, 1], [21, 20])
    status = fitted(LinearModel(loss, "none"), x[:, None], y).evidence_.status
    assert (status is Status.SEPARABLE) != overlaps
    if overlap < 1e-14:
        return
    other = np.r_[y[:20], 1, y[21:]]  # the same row on its own side: now no row is on the wrong one
    assert fitted(LinearModel(loss, "none"), x[:, None], other).evidence_.status is Status.SEPARABLE


def test_a_dummy_of_one_class_is_quasi_separation_whatever_the_other_columns_are() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * [1, 1e-6, 1e6, 1, 1, 1] + [0, 0, 0, 1e9, 0, 0]
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    X[:, 5] = np.where(y == 1, np.arange(300) % 5 == 0, 0)
    evidence = fitted(LogisticRegression(C=np.inf), X, y).evidence_
    assert evidence.status is Status.SEPARABLE
    assert "x5" in evidence.notes[-1]


def test_large_margins_alone_are_no_separation() -> None:
    X, y = sides(quasi=False)
    y = y.copy()
    y[:4] = 1 - y[:4]
    model = fitted(LogisticRegression(C=np.inf), np.r_[X, 300 * X[50:52]], np.r_[y, y[50:52]])
    assert model.evidence_.status is Status.CONVERGED
    assert model.evidence_.holds
    assert not model.evidence_.notes


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
def test_dependent_columns_that_must_not_be_negative() -> None:
    """Optimality conditions violated by 1e-14 of the data: an exact fit was within reach."""
    rows = ([-1.89016, 5.5571, -2.09567], [3.82139, -7.63024, 4.89556], [-0.465062, 2.43035, -2.75629])
    X = np.array(rows) * [1e-9, 1e-7, 1e-2]
    y, weights = np.array([1.60597, 2.75582, 1.31776]), np.array([1.0, 1.27436e-4, 4.11817e-22])
    model = LinearRegression(positive=True).fit(X, y, sample_weight=weights)
    assert not model.evidence_.holds or model.evidence_.verify(X, y, weights).stands is not False
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(35, 41)), rng.integers(0, 9, 35).astype(float)
    model.fit(X, y)
    assert model.evidence_.holds
    assert model.evidence_.certificate.value < 1e-10


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_of_columns_that_must_not_be_negative(copies: int) -> None:
    rng = np.random.default_rng(1)
    X, y = np.tile(rng.normal(size=(200, 3)), copies), rng.normal(size=200) + 100
    model = LinearRegression(positive=True).fit(X, y)
    assert model.evidence_.holds
    assert model.evidence_.certificate.kind is (Kind.OPTIMAL if copies == 1 else Kind.EXACT)
    model.coef_ = model.coef_ + 1e-3
    assert model.evidence_.verify(X, y).stands is False


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
@pytest.mark.parametrize("rows", [126, 6000])
@pytest.mark.parametrize("model", [LinearRegression(), LinearRegression(fit_intercept=False), Ridge(1e-6)], ids=repr)
def test_a_huge_row_does_not_make_columns_dependent(model: Any, rows: int) -> None:
    """Beside its rounding the other rows, which are a billion ± 1, look like a dependency: they are none."""
    rng = np.random.default_rng(2)
    X, y = 1e9 + rng.normal(size=(rows, 7)), rng.normal(size=rows)
    y[0] = 1e10
    X[3] *= 1e7
    model.fit(X, y)
    assert not model.evidence_.holds or model.evidence_.verify(X, y).stands is not False
    X = np.c_[X[4:] - 1e9, X[4:, 0] + X[4:, 1] - 2e9, np.ones(rows - 4)]
    assert model.fit(X, y[4:]).evidence_.holds, model.evidence_


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
@pytest.mark.parametrize("loss", ["huber", "absolute", "poisson", "logistic"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_basis_beside_a_huge_row(loss: str, fit_intercept: bool) -> None:
    """The second direction is 1e-16 as long as the first, and the only one that tells the other rows apart."""
    rng = np.random.default_rng(3)
    X = 1e6 + rng.normal(size=(100, 2))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=100)
    y = {"logistic": np.where(y > 0, "yes", "no"), "poisson": np.round(np.exp(y))}.get(loss, y)
    X[3] *= 1e10
    model = LinearModel(loss, "none", fit_intercept=fit_intercept).fit(X, y)
    assert not model.evidence_.holds or model.evidence_.verify(X, y).stands is not False


@pytest.mark.parametrize("seed", range(5))
def test_a_short_first_step_on_a_squared_hinge_is_no_sign_that_a_column_is_worth_nothing(seed: int) -> None:
    """Rows of the large class lose their curvature once they are right; before, they make every step short."""
    rng = np.random.default_rng(seed)
    y = np.arange(90) < 4
    X = np.c_[rng.normal(size=(90, 3)), np.where(y, 1.0, -1.0) + 0.3 * rng.normal(size=90)]
    weights = np.where(y, 1.0, 10 ** rng.uniform(-2, 5, size=90))
    model = LinearModel("squared_hinge", "l0", alpha=4.0 / weights.sum()).fit(X, y, sample_weight=weights)
    assert not model.evidence_.holds or model.evidence_.verify(X, y, weights).stands is not False
