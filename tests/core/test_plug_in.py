"""A loss and two penalties that the library has never seen work wherever a loss or a penalty does."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import corollary
from corollary import GradientBoostingClassifier, GradientBoostingRegressor, LinearModel
from corollary.core.evidence import Kind
from corollary.core.limits import ArrayLike, Real
from corollary.core.link import Logit
from corollary.core.loss import LOSSES, Loss
from corollary.core.penalty import Penalty
from corollary.io import ModelFileError, classes
from corollary.io import save as save_model
from corollary.report import render


class Expectile(Loss):
    """½ |τ − 1(y < f)| (y − f)²: an asymmetric squared loss, whose constant is an expectile."""

    name, task, lipschitz = "expectile", "regression", 1.0
    limits = {"tau": Real(low=0, high=1, above=True)}  # noqa: RUF012 - as a user would write it

    def __init__(self, tau: float = 0.5) -> None:
        super().__init__(tau=tau)

    def hessian(self, y, f):
        return np.where(f > y, 1 - self.tau, self.tau)

    def gradient(self, y, f):
        return self.hessian(y, f) * (f - y)

    def value(self, y, f):
        return 0.5 * self.hessian(y, f) * (f - y) ** 2


class SteepLogistic(Loss):
    """log(1 + exp(−2 y f)) / 2: logistic, with half the log-odds for its raw prediction."""

    name, task, link, unattained = "steep", "classification", Logit(2.0), True

    def value(self, y, f):
        return 0.5 * np.logaddexp(0.0, -2 * y * f)

    def gradient(self, y, f):
        return -y / (1 + np.exp(2 * y * f))

    def hessian(self, y, f):
        return 2 / ((1 + np.exp(2 * f)) * (1 + np.exp(-2 * f)))


class Brier(Loss):
    """½ Σ_k (f_k − 1(y = k))²: a loss of several classes that is not softmax."""

    name, task, multiclass, lipschitz = "brier", "classification", True, 1.0

    @staticmethod
    def _hot(y, k):
        return np.eye(k)[y]

    def value(self, y, f):
        return 0.5 * ((f - self._hot(y, f.shape[1])) ** 2).sum(axis=1)

    def gradient(self, y, f):
        return f - self._hot(y, f.shape[1])

    def hessian(self, y, f):
        return np.repeat(np.eye(f.shape[1])[None], len(f), axis=0)

    def conjugate(self, y, u):
        return (u * (0.5 * u + self._hot(y, u.shape[1]))).sum(axis=1)

    def best_constant(self, y, weights, n_classes=0):
        return np.bincount(y, weights=weights, minlength=n_classes) / weights.sum()


class TowardsTarget(Penalty):
    """½ strength ‖w − target‖²."""

    name = "towards_target"
    limits = {"strength": Real(low=0, above=True), "target": ArrayLike()}  # noqa: RUF012 - as above

    def __init__(self, strength: float, target: Any) -> None:
        super().__init__(strength=strength, target=np.asarray(target, dtype=float))

    def value(self, coef):
        return 0.5 * self.strength * float(np.sum((coef.T - self.target) ** 2))

    def prox(self, point, step):
        return ((point.T + step * self.strength * self.target) / (1 + step * self.strength)).T

    def conjugate(self, z):
        return float(np.sum(z.T * self.target) + np.vdot(z, z) / (2 * self.strength))

    def check_columns(self, n_columns):
        if self.target.shape != (n_columns,):
            raise ValueError(f"target must have {n_columns} entries, but its shape is {self.target.shape}.")


class MCP(Penalty):
    """The minimax concave penalty: L1 near zero, constant far from it. Not convex, and no kernel knows it."""

    name, convex = "mcp", False
    limits = {"strength": Real(low=0), "gamma": Real(low=1, above=True)}  # noqa: RUF012 - as above

    def __init__(self, strength: float, gamma: float = 3.0) -> None:
        super().__init__(strength=strength, gamma=gamma)

    def value(self, coef):
        w, edge = np.abs(coef), self.gamma * self.strength
        return float(np.where(w <= edge, self.strength * w - w**2 / (2 * self.gamma), self.strength * edge / 2).sum())

    def prox(self, point, step):
        size, edge = np.abs(point), self.gamma * self.strength
        if step >= self.gamma:  # the parabola is flatter than the penalty is concave: all or nothing
            return np.where(size**2 > step * self.strength * edge, point, 0.0)
        inner = np.maximum(size - step * self.strength, 0.0) / (1 - step / self.gamma)
        return np.where(size <= edge, np.sign(point) * inner, point)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(250, 5)) + np.arange(5)
SIGNAL = X @ [1.0, -1.0, 0.0, 0.5, 0.0] + RNG.normal(size=250)
TARGET = np.array([1.0, -1.0, 0.0, 0.0, 0.0])


def test_an_expectile_in_linear_models_with_every_penalty() -> None:
    for penalty in ("none", "l2", "l1", "elastic_net", "group", "l0", TowardsTarget(0.1, TARGET), MCP(0.05)):
        model = LinearModel(Expectile(0.8), penalty, alpha=0.05).fit(X, SIGNAL)
        assert model.evidence_.holds, str(model.evidence_)
        convex = penalty != "l0" and not isinstance(penalty, MCP)
        assert model.evidence_.certificate.kind is (Kind.OPTIMAL if convex else Kind.STATIONARY)
    loss, model = Expectile(0.8), LinearModel(Expectile(0.8), "none", tol=1e-12).fit(X, SIGNAL)
    direct = minimize(lambda w: loss.value(SIGNAL, X @ w[:5] + w[5]).mean(), np.zeros(6), method="BFGS", tol=1e-9)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), direct.x, atol=1e-4)


def test_half_an_expectile_is_half_the_squared_loss() -> None:
    """The gap rests on the numerical conjugate here and on a formula there; many rows, so that none is lost."""
    rows = np.random.default_rng(1).normal(size=(6000, 5))
    y = rows @ TARGET + np.random.default_rng(2).normal(size=6000)
    ours = LinearModel(Expectile(0.5), "l1", alpha=0.05, tol=1e-10).fit(rows, y)
    twin = LinearModel("squared", "l1", alpha=0.1, tol=1e-10).fit(rows, y)
    np.testing.assert_allclose(ours.coef_, twin.coef_, atol=1e-5)
    assert ours.evidence_.facts["objective"] == pytest.approx(twin.evidence_.facts["objective"] / 2, rel=1e-8)


def test_an_expectile_in_boosting() -> None:
    model = GradientBoostingRegressor(loss=Expectile(0.9), n_estimators=30).fit(X, SIGNAL)
    assert model.evidence_.holds
    assert np.mean(model.predict(X) >= SIGNAL) > 0.65
    start = Expectile(0.9).best_constant(SIGNAL, np.ones(250))
    assert 0.9 * np.maximum(SIGNAL - start, 0).sum() == pytest.approx(0.1 * np.maximum(start - SIGNAL, 0).sum())
    assert model.start_[0] == pytest.approx(start)
    twin = GradientBoostingRegressor(n_estimators=30).fit(X, SIGNAL)
    half = GradientBoostingRegressor(loss=Expectile(0.5), n_estimators=30).fit(X, SIGNAL)
    np.testing.assert_allclose(half.predict(X), twin.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [lambda: LinearModel(SteepLogistic(), alpha=0.01), lambda: GradientBoostingClassifier(
    loss=SteepLogistic(), n_estimators=10)], ids=["linear", "boosting"])  # fmt: skip
def test_a_margin_loss_has_the_probabilities_of_its_link(make: Any) -> None:
    y = np.where(np.median(SIGNAL) < SIGNAL, "high", "low")
    model = make().fit(X, y)
    assert model.evidence_.holds
    raw, p = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-2 * raw)), rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_a_loss_of_several_classes_is_not_taken_for_softmax() -> None:
    y, rows = np.digitize(SIGNAL, [-1.0, 2.0]), np.repeat(np.arange(250), 8)  # so many that kernels would be used
    for penalty in ("l2", "l1", "group", TowardsTarget(0.1, TARGET)):
        model = LinearModel(Brier(), penalty, alpha=0.01).fit(X[rows], y[rows])
        assert model.evidence_.holds, str(model.evidence_)
        assert not hasattr(model, "predict_proba")
        assert model.score(X, y) > 0.6
    hot = np.eye(3)[y]
    ridge = [LinearModel("squared", "l2", alpha=0.01, tol=1e-12).fit(X, hot[:, k]).coef_ for k in range(3)]
    model = LinearModel(Brier(), "l2", alpha=0.01, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge, atol=1e-5)
    boosted = GradientBoostingClassifier(loss=Brier(), n_estimators=20).fit(X, y)
    assert boosted.evidence_.holds
    np.testing.assert_allclose(boosted.start_, hot.mean(axis=0))
    assert boosted.score(X, y) > 0.8


class WrongBrier(Brier):
    """Its gradient is twice what it should be."""

    name = "wrong_brier"

    def gradient(self, y, f):
        return 2 * super().gradient(y, f)


class Wavy(Brier):
    """Brier's loss with waves on it: a right gradient, but not convex."""

    name = "wavy"

    def value(self, y, f):
        return super().value(y, f) + np.cos(3 * f).sum(axis=1)

    def gradient(self, y, f):
        return super().gradient(y, f) - 3 * np.sin(3 * f)


def test_losses_of_several_classes_are_looked_at_before_they_are_believed() -> None:
    y = np.digitize(SIGNAL, [-1.0, 2.0])
    Brier().check_convex(y)
    for loss in (WrongBrier(), Wavy()):
        with pytest.raises(ValueError, match=r"not convex.*How to add a loss"):
            LinearModel(loss, "l2", alpha=0.01).fit(X, y)


@pytest.mark.parametrize("loss", [name for name, cls in LOSSES.items() if cls.smooth])
def test_a_penalty_in_linear_models_with_every_smooth_loss(loss: str) -> None:
    y: Any = SIGNAL
    if LOSSES[loss].task == "classification":
        y = np.digitize(SIGNAL, [-1.0, 2.0] if loss == "softmax" else [1.0])
    elif LOSSES[loss].domain.low >= 0:
        y = RNG.poisson(np.exp(0.2 * SIGNAL))
    found = []
    for rows in (X, sparse.csr_array(X)):
        model = LinearModel(loss, TowardsTarget(0.1, TARGET), tol=1e-9).fit(rows, y)
        assert model.evidence_.holds, str(model.evidence_)
        assert model.evidence_.solver == "proximal gradient"
        assert model.evidence_.certificate.kind is Kind.OPTIMAL
        found.append(model.coef_)
        assert LinearModel(loss, MCP(0.02)).fit(rows, y).evidence_.holds
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)
    far = LinearModel(loss, TowardsTarget(1e4, TARGET)).fit(X, y).coef_
    assert np.abs(far - TARGET).max() < 1e-2 or loss == "softmax"


def test_a_penalty_that_is_a_change_of_variables_of_ridge() -> None:
    direct = LinearModel("squared", TowardsTarget(0.1, TARGET), tol=1e-12).fit(X, SIGNAL).coef_
    ridge = LinearModel("squared", "l2", alpha=0.1, tol=1e-12).fit(X, SIGNAL - X @ TARGET).coef_ + TARGET
    np.testing.assert_allclose(direct, ridge, atol=1e-6)


def test_concave_penalties_do_not_shrink_what_is_large() -> None:
    model = LinearModel("squared", MCP(0.2), tol=1e-12).fit(X, SIGNAL)
    used = np.flatnonzero(model.coef_)
    free = LinearModel("squared", "none").fit(X[:, used], SIGNAL).coef_
    assert 2 <= len(used) < 5
    large = np.abs(free) > 3 * 0.2
    np.testing.assert_allclose(model.coef_[used][large], free[large], atol=0.05)
    assert "relative gain of another proximal-gradient step" in str(model.evidence_)
    assert str(model.evidence_).startswith("Stationary")


def test_parts_are_parameters() -> None:
    model = LinearModel(Expectile(0.8), TowardsTarget(0.1, TARGET))
    again = clone(model)
    assert again.loss == model.loss
    assert again.loss is not model.loss
    assert "Expectile(tau=0.8)" in repr(again)
    assert model.get_params()["penalty"] == TowardsTarget(0.1, TARGET) != TowardsTarget(0.2, TARGET)
    grid = {"loss": ["squared", Expectile(0.8)], "penalty": ["l1", MCP(0.1)]}
    search = GridSearchCV(LinearModel(), grid, cv=3).fit(X, SIGNAL)
    assert search.best_params_["loss"] in grid["loss"]
    restored = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(restored.predict(X), search.predict(X))


def test_what_does_not_fit_is_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="tau must be a number > 0 and ≤ 1, but it is 2"):
        Expectile(2.0)
    with pytest.raises(ValueError, match="interior point cannot use the mcp penalty"):
        LinearModel("absolute", MCP(0.1)).fit(X, SIGNAL)
    with pytest.raises(ValueError, match="target must have 5 entries"):
        LinearModel("squared", TowardsTarget(0.1, [1.0, 2.0])).fit(X, SIGNAL)
    for wrong in (SteepLogistic(), "log_loss", 3, None):
        with pytest.raises(ValueError, match="loss must be"):
            GradientBoostingRegressor(loss=wrong).fit(X, SIGNAL)
    with pytest.raises(ValueError, match="two classes"):
        GradientBoostingClassifier(loss=SteepLogistic()).fit(X, np.digitize(SIGNAL, [-1.0, 2.0]))
    with pytest.raises(ValueError, match="penalty must be"):
        LinearModel(penalty=Expectile()).fit(X, SIGNAL)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "_OWN_PARTS", {})
    for cls in (Expectile, SteepLogistic, Brier, TowardsTarget, MCP):
        assert corollary.register_part(cls) is cls


@pytest.mark.usefixtures("registered")
def test_registered_parts_are_saved_and_loaded(tmp_path: Path) -> None:
    y = SIGNAL > 1
    fitted = [
        LinearModel(Expectile(0.8), TowardsTarget(0.1, TARGET)).fit(X, SIGNAL),
        GradientBoostingRegressor(loss=Expectile(0.8), n_estimators=3).fit(X, SIGNAL),
        GradientBoostingClassifier(loss=SteepLogistic(), n_estimators=3).fit(X, y),
    ]
    for model in fitted:
        path = tmp_path / "model.corollary"
        model.save(path)
        assert f"{type(model.loss).__name__}(" in str(corollary.inspect(path))
        loaded = corollary.load(path)
        assert loaded.loss == model.loss
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert str(loaded.evidence_) == str(model.evidence_)


def test_a_report_of_models_with_them() -> None:
    frame = pd.DataFrame(X, columns=list("abcde")).assign(answer=SIGNAL)
    models = {
        "linear": LinearModel(Expectile(0.6), MCP(0.05)),
        "boosted": GradientBoostingRegressor(loss=Expectile(0.6), n_estimators=5),
    }
    found = corollary.compare(frame, "answer", models=models, folds=2)
    page = render(found)
    assert all(name in page for name in models)
    assert "relative gain of another proximal-gradient step" in page or "rise of the training loss" in page


def test_parts_of_ones_own_must_be_registered_on_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "_OWN_PARTS", {})
    model, path = LinearModel(Expectile(0.8)), tmp_path / "model.corollary"
    with pytest.raises(ModelFileError, match=r"loss: the loss Expectile .* corollary.register_part\(Expectile\) here"):
        save_model(model, path)
    corollary.register_part(Expectile)
    save_model(model, path)
    assert corollary.load(path).loss == Expectile(0.8)
    monkeypatch.setattr(classes, "_OWN_PARTS", {})
    with pytest.raises(
        ModelFileError, match=r"'Expectile', which is not one of corollary's; .* corollary.register_part"
    ):
        corollary.load(path)


@pytest.mark.usefixtures("registered")
def test_only_parts_can_be_registered_and_only_once_under_a_name() -> None:
    for wrong in (LinearModel, Expectile(0.5), print, "Expectile"):
        with pytest.raises(ValueError, match="register_part needs a class"):
            corollary.register_part(wrong)
    other = type("Expectile", (Expectile,), {"__module__": "elsewhere"})
    with pytest.raises(ValueError, match="another class is registered as 'Expectile'"):
        corollary.register_part(other)
    again = type("Expectile", (Loss,), {"__module__": __name__, "__qualname__": "Expectile"})
    assert corollary.register_part(again) is again  # a cell of a notebook that is run twice


class WrongSlope(Loss):
    """A factor was forgotten."""

    name, task = "wrong slope", "regression"

    def value(self, y, f):
        return 0.5 * (f - y) ** 2

    def gradient(self, y, f):
        return 2 * (f - y)

    def hessian(self, y, f):
        return np.ones_like(f)


def test_a_gradient_that_is_not_one_is_refused():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match=r"gradient of the wrong slope loss is not that of its value.*step 4"):
        corollary.LinearModel(WrongSlope(), "l2", alpha=0.1).fit(X, X[:, 0])


class DoubleWell(Loss):
    """Two valleys: a local minimum of ½ at f = y and the global one at f = y + 10."""

    name, task = "double well", "regression"

    def value(self, y, f):
        r = f - y
        return np.minimum(0.5 + 0.5 * r**2, 0.5 * (r - 10) ** 2)

    def gradient(self, y, f):
        r = f - y
        return np.where(0.5 + 0.5 * r**2 < 0.5 * (r - 10) ** 2, r, r - 10)

    def hessian(self, y, f):
        return np.ones_like(f)


class Cauchy(Loss):
    """log(1 + r²): smooth, not convex, and says so."""

    name, task, convex = "cauchy", "regression", False

    def value(self, y, f):
        return np.log1p((f - y) ** 2)

    def gradient(self, y, f):
        return 2 * (f - y) / (1 + (f - y) ** 2)

    def hessian(self, y, f):
        r = (f - y) ** 2
        return 2 * (1 - r) / (1 + r) ** 2


@pytest.mark.parametrize("penalty", ["none", "l1", "l2", "group"])
def test_a_loss_that_is_not_convex_is_never_called_optimal(penalty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 0.0, -1.0] + 0.1 * rng.standard_t(2, size=60)
    with pytest.raises(ValueError, match=r"double well loss is not convex.*convex = False"):
        LinearModel(DoubleWell(), penalty, alpha=0.01).fit(X, y)
    model = LinearModel(Cauchy(), penalty, alpha=0.01, tol=1e-10, max_iter=5000).fit(X, y)
    assert model.evidence_.holds
    assert model.evidence_.certificate.kind is Kind.STATIONARY
    assert "dual objective" not in model.evidence_.facts
    np.testing.assert_allclose(model.coef_, [1.0, 0.0, -1.0], atol=0.15)
