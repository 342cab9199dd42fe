"""Rows a few at a time: after each addition the model is that of all rows so far."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

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
