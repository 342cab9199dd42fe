"""Classes, rows and columns of very different sizes: what is called optimal is so, by the referee's judgement."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

from corollary import LinearModel, LogisticRegression
from corollary.base import EvidenceWarning
from corollary.core.design import as_design
from corollary.core.loss import LOSSES
from corollary.core.penalty import NoPenalty
from corollary.core.problem import Problem
from corollary.referee.linear.judge import _null
from corollary.referee.linear.problem import Objective
from corollary.referee.linear.problem import Problem as Judged
from corollary.solvers.linear.coordinates import in_basis, near_zero


def fitted(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        return model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("part", [0.3, 1e-9, 1e-20, 1e-80])
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("logistic", lambda r: np.log1p(r) + r * np.log1p(1 / r)),
        ("softmax", lambda r: np.log1p(r) + r * np.log1p(1 / r)),
        ("exponential", lambda r: 2 * np.sqrt(r)),
        ("hinge", lambda r: 2 * r),
        ("squared_hinge", lambda r: 4 * r / (1 + r)),
    ],
)
def test_the_null_model_of_a_class_that_weighs_next_to_nothing(name: str, least: Any, part: float) -> None:
    """Beside 1 the lighter class is rounding, so the best constant must not be sought in the mean of all."""
    loss, y, weights = LOSSES[name](), np.array([1.0, 1.0, -1.0, -1.0]), np.array([0.25, 0.75, 0.5 * part, 0.5 * part])
    X, k = np.zeros((4, 1)), 2 if loss.multiclass else 0
    target = (y > 0).astype(np.intp) if k else y
    found = Problem(as_design(X), target, weights, loss, NoPenalty(), True, n_classes=k).null_objective()
    assert found == pytest.approx(least(part), rel=1e-12)
    judged = Judged(Objective(X, target, weights, name, n_classes=k))
    assert float(_null(judged) * judged.unit) == pytest.approx(least(part), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LogisticRegression(l1_ratio=0.5),
        LogisticRegression(C=np.inf),
        LogisticRegression(C=np.inf, solver="newton"),
        LogisticRegression(C=np.inf, solver="lbfgs"),
        LinearModel("logistic", "l1"),
        LinearModel("exponential", "none"),
    ],
    ids=str,
)
def test_weights_of_all_sizes(model: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)), (rng.random(20) < 0.3).astype(int)
    weights = 10.0 ** rng.uniform(-100, 100, 20)
    X[seed] *= 1e8 ** (seed % 2)
    fitted(model, X, y, weights)
    assert not model.evidence_.holds or model.evidence_.verify(X, y, weights).stands is not False


def test_a_bound_is_measured_by_the_predictions_that_are_delivered() -> None:
    """One row can be pushed away for ever: what a dual point shows of short predictions it does not of long ones."""
    rng = np.random.default_rng(0)
    X, y = np.round(20 * rng.normal(size=(77, 2))), rng.integers(0, 2, 77)
    X[3] = [1.2e11, -1.8e11]
    model = fitted(LinearModel("logistic", "none", fit_intercept=False), X, y)
    assert not model.evidence_.holds or model.evidence_.verify(X, y).stands is not False
    X = rng.standard_cauchy(size=(45, 59))  # the loss falls to 0, where a bound above 0 was kept from the first steps
    model = fitted(LinearModel("exponential", "none"), X, np.arange(45) < 3)
    assert model.evidence_.facts["dual objective"] <= 0


@pytest.mark.parametrize("size", [1.0, 1e-320])
def test_a_column_that_centring_erases_is_not_taken_for_constant(size: float) -> None:
    """Σ w x² − (Σ w x)²/Σ w of such a column is rounding. That its gradient is small in some unit proves nothing."""
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=42), np.full(42, size)
    X, y = csc_array(1e6 + 0.9 * x[:, None]), (x + rng.normal(size=42) > 0).astype(int)
    model = fitted(LogisticRegression(C=np.inf), X, y, weights)
    near = fitted(LogisticRegression(C=np.inf), 0.9 * x[:, None], y)
    assert model.evidence_.holds
    assert model.coef_[0] == pytest.approx(near.coef_[0], rel=1e-3)


def test_a_constant_sparse_column_is_no_obstacle() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    X[:, 1] = 1e9
    model = fitted(LogisticRegression(C=np.inf), csc_array(X), y)
    assert model.evidence_.holds
    assert model.coef_[0, 1] == 0


def test_rows_that_a_basis_does_not_see() -> None:
    """A row of weight 1e-60 does not show in XᵀWX, nor in its factor: a direction of its own must not be left out."""
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(40, 5)), np.where(rng.random(40) < 0.5, 1.0, -1.0), np.ones(40)
    X[:, 3], X[:, 4] = X[:, 0] + X[:, 1], X[:, 2]
    collinear = Problem(as_design(X), y, weights, LOSSES["logistic"](), NoPenalty())
    assert in_basis(near_zero(collinear)).whole  # up to the rounding of a row
    X[7, 4] += 1.0
    weights[7] = 1e-60
    light = Problem(as_design(X), y, weights, LOSSES["logistic"](), NoPenalty())
    assert not in_basis(near_zero(light)).whole
    model = fitted(LogisticRegression(C=np.inf, solver="newton"), X, y, weights)
    assert not model.evidence_.holds or model.evidence_.verify(X, y, weights).stands is not False


def test_a_direction_longer_than_the_rounding_of_the_columns_is_not_left_out_of_a_claim() -> None:
    rng = np.random.default_rng(4)
    X = 1e3 + 5 * rng.normal(size=(87, 4))
    X = np.column_stack([X, X[:, 0] * (1 + 4e-15 * rng.normal(size=87))])
    y = (X[:, 1] + rng.normal(size=87) > 1e3).astype(int)
    model = fitted(LinearModel("logistic", "none", fit_intercept=False), X, y)
    assert not model.evidence_.holds or model.evidence_.verify(X, y).stands is not False
