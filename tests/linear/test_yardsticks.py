"""What a relative gap is relative to, and centres of columns that only look like means: by the referee's judgement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs

from corollary import (
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearModel,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeCV,
)
from corollary.core.design import as_design
from corollary.core.loss import LOSSES
from corollary.core.penalty import NoPenalty
from corollary.core.problem import Problem
from corollary.core.summary import weighted_mean
from corollary.solvers.linear.smooth.huber_newton import HuberNewton


@pytest.mark.parametrize(
    ("solver", "wrap"),
    [(s, wrap) for wrap in (np.asarray, csr_array) for s in ("auto", "cholesky", "svd", "sparse_cg")],
)
def test_wide_ridge_of_columns_that_vary_by_a_billionth(solver: str, wrap: Any) -> None:
    """Their centre is a value of theirs, not the mean: without the intercept's direction the answer is another one."""
    rng = np.random.default_rng(0)
    Z, weights = (rng.random((30, 40)) < 0.5).astype(float), rng.integers(0, 3, 30).astype(float)
    y = np.round(9 * rng.normal(size=30))
    near = Ridge(solver="svd").fit(Z, y, sample_weight=weights)
    far = Ridge(solver=solver).fit(wrap(Z + 1e9), y, sample_weight=weights)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-3)
    assert far.evidence_.facts["objective"] == pytest.approx(near.evidence_.facts["objective"], rel=1e-6)
    assert not far.evidence_.holds or far.evidence_.verify(wrap(Z + 1e9), y, weights).stands is not False
    path = RidgeCV(alphas=[1.0]).fit(wrap(Z + 1e9), y, sample_weight=weights)
    assert path.evidence_.verify(wrap(Z + 1e9), y, weights).stands is not False


def test_conjugate_gradients_do_not_measure_by_where_zero_is() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
    near, far = (Ridge(solver="sparse_cg", tol=1e-6).fit(X, y + shift).evidence_ for shift in (0.0, 1e9))
    assert far.n_iter >= near.n_iter - 1


MODELS = [
    LinearRegression(),
    Ridge(),
    Ridge(solver="svd"),
    Ridge(solver="sparse_cg"),
    RidgeCV(),
    Lasso(0.1),
    ElasticNet(0.1),
    LassoCV(alphas=3, cv=3),
    LinearModel("squared"),
    LinearModel("huber", "none"),
    LinearModel("absolute", "l1"),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("shape", [(50, 4), (12, 20), (300, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_constant_target_is_fitted_exactly(model: Any, shape: tuple[int, int], dtype: Any) -> None:
    rng = np.random.default_rng(2)
    X, y = (rng.normal(size=shape) + 10).astype(dtype), np.full(shape[0], 3.7)
    weights = rng.uniform(0.1, 3, shape[0])
    model.fit(X, y, sample_weight=weights)
    assert not model.coef_.any()
    assert model.intercept_ == 3.7
    assert model.evidence_.holds
    assert model.evidence_.verify(X, y, weights).stands


def test_the_mean_of_equal_values_is_that_value() -> None:
    y = np.full((1000, 1), 0.1)
    y[3] = 7.0
    weights = np.random.default_rng(3).uniform(size=1000)
    weights[3] = 0.0
    assert weighted_mean(y, weights) == 0.1
    assert weighted_mean(np.delete(y, 3, axis=0)) == 0.1


def test_a_constant_column_has_the_coefficient_zero_whatever_its_size() -> None:
    rng = np.random.default_rng(4)
    for constant in (1e-300, 1e-120, 1e9, 1e120):
        X, y = rng.normal(size=(9, 6)), rng.normal(size=9)
        X[:, 2] = constant
        if constant == 1e-300:  # its squares vanish: it could not be told from a column of zeros
            with pytest.raises(ValueError, match="Column 2 of X"):
                LinearModel("squared", "l2").fit(X, y)
            continue
        model = LinearModel("squared", "l2").fit(X, y)
        assert model.coef_[2] == 0
        assert model.evidence_.verify(X, y).stands


def test_a_rare_class_has_a_small_yardstick() -> None:
    """Relative to log 2 a row a claim was four times as strong as relative to the best constant."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(118, 4))
    y = np.argsort(np.argsort(X[:, 0])) >= 116
    for solver in ("newton", "lbfgs"):
        model = LogisticRegression(C=np.inf, solver=solver).fit(X, y)
        assert model.evidence_.verify(X, y).stands is not False
    signs = np.where(y, 1.0, -1.0)
    problem = Problem(as_design(X), signs, np.ones(118), LOSSES["logistic"](), NoPenalty())
    assert problem.null_objective() == pytest.approx(-2 * np.log(2 / 118) - 116 * np.log(116 / 118))


def test_a_huge_row_of_weight_zero_leads_nowhere() -> None:
    """Moments were taken about the mean of a few rows, dead ones among them."""
    rng = np.random.default_rng(6)
    X, weights = rng.normal(size=(94, 6)), rng.integers(0, 2, 94).astype(float)
    X[0], weights[0] = 1e11 * X[0], 0.0
    y = X @ rng.normal(size=6) + rng.normal(size=94)
    y[0] = 0.0
    far = ElasticNetCV(alphas=3, cv=3).fit(X, y, sample_weight=weights)
    near = ElasticNet(far.alpha_, l1_ratio=far.l1_ratio_).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-5, atol=1e-8)
    assert far.evidence_.verify(X, y, weights).stands is not False


@pytest.mark.parametrize("level", [0.0, 3.7, -1e9])
def test_huber_regression_of_a_constant_has_no_scale(level: float) -> None:
    X, y = np.random.default_rng(7).normal(size=(50, 2)), np.full(50, level)
    model = HuberRegressor(alpha=0.0).fit(X, y)
    assert (model.scale_, model.intercept_) == (0.0, level)
    assert not model.coef_.any()
    assert not model.outliers_.any()
    assert model.evidence_.holds
    assert model.evidence_.verify(X, y).stands is not False


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")  # beside such weights the penalty is nothing
@pytest.mark.parametrize("size", [1e-300, 1e155, 1e300])
def test_balanced_classes_of_huge_weights_are_judged(size: float) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40) > 1
    weights = np.full(40, size)
    model = LogisticRegression(class_weight="balanced").fit(X, y, sample_weight=weights)
    assert model.evidence_.verify(X, y, weights).stands is not False


def test_a_claim_without_a_penalty_speaks_of_predictions_ten_times_as_long() -> None:
    """A row a billion times as far as the others: only coefficients that send it out of reach do better."""
    rng = np.random.default_rng(9)
    x, y = 1e-8 * rng.normal(size=34), rng.random(34) < 0.5
    x[5], y[5] = 7e3, True
    model = LogisticRegression(C=np.inf, solver="newton").fit(x[:, None], y)
    assert not model.evidence_.holds or model.evidence_.verify(x[:, None], y).stands is not False
    model.intercept_ = model.intercept_ + 0.1
    assert model.evidence_.verify(x[:, None], y).stands is False


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
def test_directions_left_out_as_rounding_are_not_claimed() -> None:
    """Float32 columns that differ by less than float32 resolves elsewhere; short columns beside one that is huge."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(96, 4)).astype(np.float32)
    X[:, 0] = np.nextafter(X[:, -1], np.where(rng.random(96) < 0.5, np.inf, -np.inf).astype(np.float32))
    wide = 1e-8 * rng.normal(size=(7, 9))
    wide[:, 0] = 1e7 + rng.integers(2, size=7)
    for data in (X, wide):
        y = rng.normal(size=len(data)) + 1e7
        model = LinearRegression(fit_intercept=False).fit(data, y)
        assert not model.evidence_.holds or model.evidence_.verify(data, y).stands is not False


def test_bounds_at_steep_slopes_do_not_spoil_later_ones() -> None:
    """Weights of 1000 and 0.0001: the first dual value is right to 1e-16 of Σ w ℓ, which is 1e6 times the optimum."""
    X, y = make_blobs(centers=3, random_state=0, cluster_std=20)
    weights = {0: 1000, 1: 0.0001, 2: 0.0001}
    evidence = LogisticRegression(l1_ratio=1.0, class_weight=weights, tol=1e-13).fit(X, y).evidence_
    assert evidence.holds, evidence


def test_a_tube_around_a_constant_is_entered_in_the_middle() -> None:
    """At its edge the rounding of the intercept would be the objective."""
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = LinearModel(loss="epsilon_insensitive", penalty="elastic_net", alpha=0.05, tol=1e-11)
    model.fit(X, np.full(60, 3.0))
    assert model.evidence_.holds
    assert model.evidence_.facts["objective"] == 0


@pytest.mark.parametrize("constant", [0.0, 1e9])
def test_conjugate_gradients_leave_constant_columns_and_targets_alone(constant: float) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    X[:, 1] = constant
    for target in (y, np.full(40, 2.5)):
        model = Ridge(alpha=0.5, solver="sparse_cg", tol=1e-14).fit(X, target)
        assert model.evidence_.holds, model.evidence_
        assert model.coef_[1] == 0


@pytest.mark.parametrize("shape", [(30, 40), (40, 6)])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e9])
def test_without_an_intercept_the_null_model_of_huber_regression_is_zero(shape: tuple[int, int], size: float) -> None:
    """Not the median: a constant y is then no exact fit, and a gap below the rounding of y is none."""
    rng = np.random.default_rng(12)
    X, y = rng.integers(0, 4, shape).astype(float), np.full(shape[0], 3.7 * size)
    model = HuberRegressor(fit_intercept=False, alpha=1e-4 * size**-1).fit(X, y)
    assert model.evidence_.holds
    assert model.evidence_.verify(X, y).stands is not False
    problem = Problem(as_design(X), y, np.ones(len(y)), LOSSES["huber"](1.35), NoPenalty(), fit_intercept=False)
    assert HuberNewton().null_objective(problem) == pytest.approx(2.7 * len(y) * 3.7 * size)
    assert HuberNewton().rounding(problem) == pytest.approx(2.7 * len(y) * 3.7 * size * 2.0**-52)


@pytest.mark.filterwarnings("ignore::corollary.base.EvidenceWarning")
@pytest.mark.parametrize("loss", ["absolute", "huber", "squared", "epsilon_insensitive"])
def test_the_best_constant_is_a_target_where_that_has_nearly_all_the_weight(loss: str) -> None:
    """1e-18 from it, the heavy rows alone would lose more than the light ones: fitting those was called nothing."""
    x = np.tile([0.0, 1.0], 20)
    y, weights = 4 * x, np.where(x == 0, 1.0, 1e-80)
    problem = Problem(as_design(x[:, None]), y, weights, LOSSES[loss](), NoPenalty())
    assert problem.null_objective() <= 20 * 8e-80
    model = LinearModel(loss, "none").fit(x[:, None], y, sample_weight=weights)
    assert not model.evidence_.holds or model.evidence_.verify(x[:, None], y, weights).stands is not False
