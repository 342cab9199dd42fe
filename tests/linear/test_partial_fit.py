"""Rows a few at a time: after each addition the model is that of all rows so far."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes

import corollary
from corollary import LinearRegression, Ridge

RNG = np.random.default_rng(5)
X = RNG.standard_normal((80, 7)) * [1.0, 100.0, 0.01, 1.0, 1.0, 1.0, 1.0] + [0.0, 0.0, 0.0, 1e4, 0.0, 1.0, 0.0]
Y = X @ RNG.standard_normal((7, 2)) + RNG.standard_normal((80, 2))
W = RNG.integers(0, 4, 80).astype(float)
CUTS = [0, 3, 4, 20, 80]  # fewer rows than columns at first

MODELS: dict[str, Any] = {
    "LinearRegression": LinearRegression(),
    "no intercept": LinearRegression(fit_intercept=False),
    "positive": LinearRegression(positive=True),
    "Ridge": Ridge(0.5),
    "Ridge by target": Ridge([0.5, 20.0]),
    "Ridge svd": Ridge(0.5, solver="svd", fit_intercept=False),
    "Ridge positive": Ridge(0.5, positive=True),
}
ATTRIBUTES = ("rank_", "std_err_", "intercept_std_err_", "residual_std_", "effective_dof_")


def same(model: Any, whole: Any, rtol: float = 1e-8) -> None:
    scale = np.abs(whole.coef_).max()
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=rtol, atol=1e4 * rtol * scale)
    for name in ATTRIBUTES:
        if hasattr(whole, name):
            np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-6, atol=1e-12, err_msg=name)
    assert model.evidence_.holds
    assert model.evidence_.certificate.kind is whole.evidence_.certificate.kind


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_answer_is_that_of_all_rows_so_far(name: str, weighted: bool) -> None:
    model = MODELS[name].__class__(**MODELS[name].get_params())
    for start, stop in pairwise(CUTS):
        weights = W if weighted else np.ones(80)
        model.partial_fit(X[start:stop], Y[start:stop], weights[start:stop])
        same(model, MODELS[name].fit(X[:stop], Y[:stop], weights[:stop]))


@pytest.mark.parametrize("kind", [np.asfortranarray, sparse.csr_array, sparse.csc_array])
def test_any_container(kind: Any) -> None:
    model = LinearRegression()
    for start, stop in pairwise(CUTS):
        model.partial_fit(kind(X[start:stop]), Y[start:stop, 0])
    same(model, LinearRegression().fit(X, Y[:, 0]))
    assert model.coef_.shape == (7,)
    np.testing.assert_allclose(model.leverage(X).sum(), 8.0, rtol=1e-8)


def test_dependent_and_constant_columns() -> None:
    A = np.column_stack([X, X[:, 0] + X[:, 4], np.full(80, 1e9)])
    model, whole = LinearRegression(), LinearRegression().fit(A, Y)
    for start, stop in pairwise(CUTS):
        model.partial_fit(A[start:stop], Y[start:stop])
    same(model, whole, rtol=1e-6)
    assert model.rank_ == 7


def test_saved_between_two_additions(tmp_path: Path) -> None:
    Ridge(2.0).partial_fit(X[:30], Y[:30]).save(tmp_path / "half")
    model = corollary.load(tmp_path / "half").partial_fit(X[30:], Y[30:])
    same(model, Ridge(2.0).fit(X, Y))


def test_fit_begins_anew() -> None:
    model = LinearRegression().partial_fit(X[:40], Y[:40]).fit(X[40:], Y[40:])
    same(model, LinearRegression().fit(X[40:], Y[40:]))
    model.partial_fit(X, Y)
    same(model, LinearRegression().fit(X, Y))
    assert "not part of this" in str(model.evidence_)
    assert "not part of this" not in str(model.partial_fit(X, Y).evidence_)


def test_errors_leave_the_model_as_it_was() -> None:
    model = LinearRegression().partial_fit(X[:40], Y[:40])
    coef = model.coef_
    for rows, target, message in (
        (X[40:, :3], Y[40:], "X has 3 features"),
        (X[40:], Y[40:, 0], "y must have 2 columns"),
        (np.where(X > 0, np.nan, X), Y, "contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows, target)
    np.testing.assert_array_equal(model.coef_, coef)
    same(model.partial_fit(X[40:], Y[40:]), LinearRegression().fit(X, Y))


def test_float32_stays() -> None:
    """… unless a column (or y) is so far from zero that rounded coefficients would miss the tolerance."""
    near = (X - X.mean(axis=0)).astype(np.float32)
    model = Ridge().partial_fit(near, Y - Y.mean(axis=0))
    assert model.coef_.dtype == model.predict(near).dtype == np.float32
    far = Ridge().partial_fit(X.astype(np.float32), Y)
    assert far.coef_.dtype == np.float64
    same(far, Ridge().fit(X.astype(np.float32).astype(float), Y))


@pytest.mark.parametrize("model", [LinearRegression(), LinearRegression(positive=True), Ridge()], ids=repr)
def test_the_first_part_may_be_one_row(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = X @ [1.0, 2.0, 3.0] + 1.0
    one = clone(model).partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(one.predict(X[:1]), y[:1])
    np.testing.assert_allclose(one.partial_fit(X[1:], y[1:]).coef_, clone(model).fit(X, y).coef_, rtol=1e-9)


def excess(model: Any, X: Any, y: Any) -> float:
    """(objective − its minimum) / what it is relative to, in exact arithmetic, for least squares and ridge."""
    alpha = Fraction(getattr(model, "alpha", 0.0))
    rows = [[Fraction(float(x)) for x in (*row, 1.0)] for row in X]
    target = [Fraction(float(t)) for t in y]
    d = len(rows[0])
    system = [
        [sum(r[i] * r[j] for r in rows) + (alpha if i == j < d - 1 else 0) for j in range(d)]
        + [sum(r[i] * t for r, t in zip(rows, target, strict=True))]
        for i in range(d)
    ]
    for i in range(d):  # Gauss and Jordan: the matrix is positive definite
        system[i] = [value / system[i][i] for value in system[i]]
        for j in set(range(d)) - {i}:
            system[j] = [a - system[j][i] * b for a, b in zip(system[j], system[i], strict=True)]

    def objective(beta: list[Any]) -> Any:
        fitted = [sum(x * b for x, b in zip(row, beta, strict=True)) for row in rows]
        return sum((t - f) ** 2 for t, f in zip(target, fitted, strict=True)) + alpha * sum(b * b for b in beta[:-1])

    best = objective([row[-1] for row in system])
    centre = sum(target) / len(target)
    null = sum((t - centre) ** 2 for t in target)
    rounding = Fraction(1e14 * 2.0**-104) * sum(t * t for t in target)
    found = objective([Fraction(float(b)) for b in (*model.coef_, model.intercept_)])
    return float((found - best) / max(best, Fraction(1e-6) * max(null, rounding)))


U, V, NOISE = np.random.default_rng(0).normal(size=(3, 60))
FAR: dict[str, tuple[Any, Any]] = {
    "far and nearly equal": (np.c_[U, U + 1e-3 * V] + 1e9, U + V + 1e-3 * NOISE),
    "nearer and more nearly equal": (np.c_[U, U + 1e-6 * V] + 1e6, U + V + 1e-3 * NOISE),
    "nearly equal": (np.c_[U, U + 1e-8 * V], U + V + 1e-3 * NOISE),
    "one far column": (U[:, None] + 1e9, U + 1e-8 * NOISE),
    "target far away": (np.c_[U, V], 1e9 + 1e-3 * (U + V + NOISE)),
    "time and its square": (np.c_[np.arange(60) + 1.7e9, (np.arange(60) + 1.7e9) ** 2], U),
}


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(1e-14), Ridge(1e-8)], ids=repr)
@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("size", [30, 1])
def test_the_claim_counts_the_rounding_of_rows_that_are_gone(model: Any, name: str, size: int) -> None:
    X, y = FAR[name]
    model = clone(model)
    for start in range(0, 60, size):
        model.partial_fit(X[start : start + size], y[start : start + size])
    assert excess(model, X, y) <= model.evidence_.certificate.value


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
def test_non_negative_coefficients_of_a_far_column_count_the_rounding_of_the_intercept() -> None:
    X, y = FAR["one far column"]
    model = LinearRegression(positive=True)
    assert excess(model.fit(X, y), X, y) <= model.evidence_.certificate.value
    assert excess(model.partial_fit(X, y), X, y) <= model.evidence_.certificate.value


def test_ordinary_rows_in_many_parts_stay_proved() -> None:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    for model in (LinearRegression(), Ridge(), LinearRegression(positive=True), LinearRegression(fit_intercept=False)):
        for start in range(0, len(y), 20):
            model.partial_fit(X[start : start + 20], y[start : start + 20])
        assert model.evidence_.certificate.value < 1e-15
        np.testing.assert_allclose(model.coef_, clone(model).fit(X, y).coef_, rtol=1e-9)


@pytest.mark.parametrize("model", [LinearRegression(), LinearRegression(positive=True), Ridge()], ids=repr)
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_columns_whose_squares_are_no_numbers_are_refused(model: Any, size: float) -> None:
    Z = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match=r"Column 0 of X .* Rescale it by a power of two"):
        clone(model).partial_fit(Z * size, Z.sum(axis=1))
    half = Z * [0.0, 1.0, 1.0]  # of which nothing has been seen yet
    whole = clone(model).partial_fit(half, Z.sum(axis=1)).partial_fit(Z, Z.sum(axis=1))
    assert whole.evidence_.holds
