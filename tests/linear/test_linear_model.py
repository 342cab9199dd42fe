"""Any loss with any penalty."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import TweedieRegressor
from sklearn.model_selection import GridSearchCV

from corollary import Lasso, LinearModel, LinearRegression, LogisticRegression, Ridge, Status
from corollary.core.loss import LOSSES, Huber, Quantile, Tweedie
from corollary.core.penalty import L1, L2, ElasticNet, Group, PositiveElasticNet

X, Y = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)
PENALTIES = ["none", "l1", "l2", "elastic_net", "l0", "group"]


def target(loss: str) -> Any:
    if LOSSES[loss].task == "classification":
        return np.where(np.median(Y) < Y, "high", "low")
    return Y


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_pair_is_solved_or_refused_with_a_reason(loss: str, penalty: str) -> None:
    model = LinearModel(loss, penalty, alpha=0.01)
    y = target(loss) if loss != "squared" else Y
    try:
        model.fit(X, y)
    except ValueError as refusal:
        assert LOSSES[loss].piecewise_linear or loss == "softmax", refusal  # noqa: PT017 - either outcome is fine
        assert penalty in str(refusal)  # noqa: PT017
        return
    assert model.evidence_.holds, str(model.evidence_)
    assert is_classifier(model) == (LOSSES[loss].task == "classification")
    assert is_regressor(model) != is_classifier(model)
    assert model.score(X, y) > -0.7  # a quantile or a median is not a mean, but never far worse


def test_probabilities_where_the_loss_has_them() -> None:
    y = target("logistic")
    for loss in LOSSES:
        model = LinearModel(loss)
        assert hasattr(model, "predict_proba") == (loss in ("logistic", "softmax", "exponential"))
        assert hasattr(model, "decision_function") == (LOSSES[loss].task == "classification")
    logistic, softmax = (LinearModel(loss, "none", tol=1e-12).fit(X, y) for loss in ("logistic", "softmax"))
    np.testing.assert_allclose(logistic.predict_proba(X), softmax.predict_proba(X), atol=1e-5)
    assert softmax.coef_.shape == (1, X.shape[1])


def test_exponential_loss_estimates_half_the_log_odds() -> None:
    """Without columns that help, the best constant is half the log-odds, and its probabilities are the frequencies."""
    y = np.repeat([0, 1], [30, 10])
    model = LinearModel("exponential", alpha=1.0, tol=1e-12).fit(np.zeros((40, 1)), y)
    assert model.intercept_[0] == pytest.approx(0.5 * np.log(10 / 30), rel=1e-4)
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 1))), [[0.75, 0.25]], atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "exponential"])
def test_one_against_the_rest(loss: str) -> None:
    A, y = IRIS
    model = LinearModel(loss, alpha=0.01).fit(A, y)
    assert model.coef_.shape == (3, 4)
    for c in range(3):
        alone = LinearModel(loss, alpha=0.01).fit(A, y == c)
        np.testing.assert_allclose(model.coef_[c], alone.coef_[0], atol=1e-3)


def test_named_models_are_special_cases() -> None:
    n = len(Y)
    pairs = [
        (LinearModel(penalty="l1", alpha=0.3), Lasso(0.3)),
        (LinearModel(penalty="l2", alpha=0.01), Ridge(0.01 * n)),
        (LinearModel(penalty="none"), LinearRegression()),
        (LinearModel(penalty="l2", alpha=0.0), LinearRegression()),
    ]
    for general, named in pairs:
        np.testing.assert_allclose(general.fit(X, Y).coef_, named.fit(X, Y).coef_, rtol=1e-4, atol=1e-6)
    general = LinearModel("logistic", alpha=0.1, tol=1e-11).fit(X, target("logistic"))
    named = LogisticRegression(C=1 / (0.1 * n), tol=1e-11).fit(X, target("logistic"))
    np.testing.assert_allclose(general.coef_, named.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_quantile_has_that_many_rows_below_it(quantile: float) -> None:
    model = LinearModel("quantile", "none", quantile=quantile).fit(X, Y)
    below, at = (model.predict(X) - Y > 1e-4).mean(), (np.abs(model.predict(X) - Y) <= 1e-4).mean()
    assert below <= 1 - quantile + at + 1e-9 or below + at >= quantile
    assert abs((model.predict(X) >= Y - 1e-4).mean() - quantile) <= 12 / len(Y)


def test_tube_of_no_loss() -> None:
    model = LinearModel("epsilon_insensitive", alpha=1e-6, epsilon=1000.0).fit(X, Y)
    assert not np.abs(model.coef_).max() > 1e-3
    assert np.abs(Y - model.predict(X)).max() <= 1000.0


def test_poisson_predicts_means() -> None:
    model = LinearModel("poisson", "none", tol=1e-12).fit(X, Y)
    assert (model.predict(X) > 0).all()
    assert model.predict(X).sum() == pytest.approx(Y.sum())  # the likelihood equation of the intercept
    with pytest.raises(ValueError, match="1 negative values"):
        model.fit(X, np.append(Y[:-1], -1.0))


@pytest.mark.parametrize("power", [1.0, 1.5, 1.9, 2.0])
def test_tweedie_is_what_scikit_learn_fits(power: float) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(400, 4))
    mean = np.exp(A @ [0.5, -0.3, 0.0, 0.2] + 1)
    y = rng.gamma(2.0, mean / 2) * (rng.random(400) < (1.0 if power == 2 else 0.7))
    s = rng.uniform(0.5, 2.0, 400)
    ours = LinearModel(Tweedie(power), "l2", alpha=0.1, tol=1e-13).fit(A, y, sample_weight=s)
    theirs = TweedieRegressor(power=power, alpha=0.1, link="log", tol=1e-10, max_iter=10_000, solver="newton-cholesky")
    theirs.fit(A, y, sample_weight=s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(A), theirs.predict(A), rtol=1e-6)
    if power == 1.5:
        named = LinearModel("tweedie", "l2", alpha=0.1, tol=1e-13).fit(A, y, sample_weight=s)
        np.testing.assert_array_equal(named.coef_, ours.coef_)
    with pytest.raises(ValueError, match=r"the tweedie loss needs y [≥>] 0, but y has 1 "):
        ours.fit(A, np.append(y[:-1], -1.0))


def test_targets_of_any_size_do_for_a_log_link() -> None:
    A, y = X, Y
    for loss in ("poisson", "tweedie"):
        small, large = (LinearModel(loss, "none", tol=1e-11).fit(A, scale * y) for scale in (1e-3, 1e6))
        np.testing.assert_allclose(small.coef_, large.coef_, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(1e9 * small.predict(A), large.predict(A), rtol=1e-3)


def test_parts_and_names_give_the_same_fit() -> None:
    groups = np.arange(10) // 2
    pairs = [
        (
            LinearModel(Huber(20.0), Group(0.3, groups)),
            LinearModel("huber", "group", delta=20.0, alpha=0.3, groups=groups),
        ),
        (LinearModel(Quantile(0.8), L1(0.1)), LinearModel("quantile", "l1", quantile=0.8, alpha=0.1)),
        (
            LinearModel("squared_error", ElasticNet(0.1, 0.3)),
            LinearModel("squared", "elastic_net", alpha=0.4, l1_ratio=0.25),
        ),
    ]
    for parts, names in pairs:
        np.testing.assert_allclose(parts.fit(X, Y).coef_, names.fit(X, Y).coef_, rtol=1e-12)
    positive = LinearModel("squared", PositiveElasticNet(0.0, 0.01)).fit(X, Y)
    assert (positive.coef_ >= 0).all()
    assert positive.evidence_.holds


def test_groups_enter_and_leave_together() -> None:
    groups = np.arange(10) // 2
    model = LinearModel(penalty="group", groups=groups, alpha=0.8).fit(X, Y)
    zero = (model.coef_ == 0).reshape(5, 2)
    assert (zero.all(axis=1) | ~zero.any(axis=1)).all()
    assert 0 < zero.sum() < 10
    with pytest.raises(ValueError, match=r"one entry per column of X \(10\), but its shape is \(3,\)"):
        LinearModel(penalty="group", groups=[0, 1, 2]).fit(X, Y)


def test_groups_of_one_column_are_the_lasso() -> None:
    grouped = LinearModel(penalty="group", alpha=0.3, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(grouped.coef_, Lasso(0.3, tol=1e-12).fit(X, Y).coef_, rtol=1e-5, atol=1e-5)


def test_separable_classes_without_a_penalty() -> None:
    """Margin losses reach zero; the others go on falling, and say so."""
    A, y = np.linspace(-1, 1, 20)[:, None] * 5, np.repeat([0, 1], 10)
    for loss in ("hinge", "squared_hinge", "logistic", "exponential", "softmax"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = LinearModel(loss, "none").fit(A, y)
        assert np.isfinite(model.coef_).all(), loss
        np.testing.assert_array_equal(model.predict(A), y)
        assert model.evidence_.holds or caught
        endless = loss in ("logistic", "exponential", "softmax")
        assert (model.evidence_.status is Status.SEPARABLE) == endless
        assert ("no finite optimum exists; add a penalty" in str(model.evidence_)) == endless


@pytest.mark.parametrize("loss", ["logistic", "exponential", "softmax"])
def test_separable_is_said_only_where_it_is_so(loss: str) -> None:
    """Of three classes on a line, the outer ones can be told from the rest by one threshold."""
    A, y = np.linspace(-1, 1, 30)[:, None] * 5, np.repeat([0, 1, 2], 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # with a tiny margin it may give up before the loss is zero
        assert LinearModel(loss, "none").fit(A, y).evidence_.status is Status.SEPARABLE
    assert LinearModel(loss, "l2").fit(A, y).evidence_.status is Status.CONVERGED
    mixed = np.where(np.arange(30) % 7 == 0, (y + 1) % 3, y)
    assert LinearModel(loss, "none").fit(A, mixed).evidence_.status is Status.CONVERGED


@pytest.mark.parametrize("penalty", ["none", "l2", "l1", "elastic_net"])
def test_the_objective_in_the_evidence_is_the_documented_one(penalty: str) -> None:
    s = np.random.default_rng(0).uniform(0.5, 2.0, len(Y))
    model = LinearModel("squared", penalty, alpha=0.2, l1_ratio=0.3).fit(X, Y, sample_weight=s)
    w = model.coef_
    cost = {"none": 0.0, "l2": w @ w / 2, "l1": np.abs(w).sum(), "elastic_net": 0.3 * np.abs(w).sum() + 0.35 * w @ w}
    value = s @ (Y - model.predict(X)) ** 2 / (2 * s.sum()) + 0.2 * cost[penalty]
    assert model.evidence_.facts["objective"] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("loss", ["absolute", "quantile", "epsilon_insensitive", "huber"])
@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
def test_zeros_are_exact(loss: str, penalty: str) -> None:
    noise = np.random.default_rng(0).normal(size=(len(Y), 5))
    model = LinearModel(loss, penalty, alpha=0.02, l1_ratio=0.9).fit(np.hstack([10 * X, noise]), Y)
    assert model.evidence_.holds
    assert not ((np.abs(model.coef_) > 0) & (np.abs(model.coef_) < 1e-7)).any()
    huge = LinearModel(loss, penalty, alpha=100.0, l1_ratio=0.9).fit(X, Y)
    assert not huge.coef_.any()


def test_rank_deficient_without_a_penalty() -> None:
    """Weights are repetitions even where the answer is not unique."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(8, 12)), rng.normal(size=8)
    counts = np.array([1, 2, 0, 1, 3, 1, 1, 2])
    rows = np.repeat(np.arange(8), counts)
    weighted = LinearModel(penalty="none").fit(A, b, sample_weight=counts)
    repeated = LinearModel(penalty="none").fit(A[rows], b[rows])
    np.testing.assert_allclose(weighted.predict(A), repeated.predict(A), atol=1e-6)


def test_targets_are_converted_before_they_are_judged() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X @ [1.0, 2.0]
    text = LinearModel("squared").fit(X, y.astype(str))
    np.testing.assert_allclose(text.coef_, LinearModel("squared").fit(X, y).coef_)
    for loss in ("squared", "poisson"):
        with pytest.raises(ValueError, match="could not convert string to float"):
            LinearModel(loss).fit(X, np.where(y > 0, "a", "b"))


def test_power_is_that_of_the_tweedie_loss() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.exp(X @ [1.0, 0.5])
    named, part = LinearModel("tweedie", power=1.8).fit(X, y), LinearModel(Tweedie(1.8)).fit(X, y)
    np.testing.assert_array_equal(named.coef_, part.coef_)
    with pytest.raises(ValueError, match="power must be a number"):
        LinearModel("tweedie", power=3).fit(X, y)


def test_searches_reach_into_parts() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X @ [1.0, 2.0]
    loss, penalty = Huber(1.0), L1(0.1)
    grid = {"loss__delta": [0.5, 5.0], "penalty__strength": [1e-4, 1.0]}
    search = GridSearchCV(LinearModel(loss, penalty), grid, cv=3).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_.penalty == L1(1e-4)
    assert (loss, penalty) == (Huber(1.0), L1(0.1))  # clones are set, not what was given


def test_parts_are_cloned_by_value_and_set_whole_or_not_at_all() -> None:
    parts = [Huber(0.5), Tweedie(2), L1(0.1), Group(0.1, [0, 0, 1])]
    for part in parts:
        copied = clone(LinearModel(part)).loss if part.kind == "loss" else clone(LinearModel(penalty=part)).penalty
        assert copied == part
        assert copied is not part
    assert clone(parts[1]).set_params(power=1.5).domain.accepts(0)  # what follows from parameters follows
    with pytest.raises(ValueError, match="delta must be"):
        parts[0].set_params(delta=-1)
    with pytest.raises(ValueError, match="Huber has no parameter 'power'; it has: delta"):
        parts[0].set_params(power=1)
    assert parts[0] == Huber(0.5)


def test_parameters_without_effect_are_noted() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = LinearModel(Huber(1.0), L1(0.1), alpha=3.0, delta=2.0).fit(X, X[:, 0])
    assert "delta was not used: the loss is Huber(delta=1.0)" in str(model.evidence_)
    assert "alpha was not used: the penalty is L1(strength=0.1)" in str(model.evidence_)
    assert "not used" not in str(LinearModel(Huber(1.0), L1(0.1)).fit(X, X[:, 0]).evidence_)
    assert "alpha was not used" in str(LinearModel("squared", L2(0.1), alpha=3.0).fit(X, X[:, 0]).evidence_)
