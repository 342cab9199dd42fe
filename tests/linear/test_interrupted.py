"""Ctrl-C and time budgets inside paths and folds: all loops end, and what can be kept is kept."""

from __future__ import annotations

import signal
import time
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from corollary import (
    ElasticNet,
    ElasticNetCV,
    LassoCV,
    LinearModel,
    LogisticRegression,
    LogisticRegressionCV,
    RidgeCV,
    Status,
    TimeBudget,
    lasso_path,
)
from corollary.core.evidence import Certificate, Evidence, Kind, worst_of
from corollary.solvers.linear.descent.prox_newton import ProxNewton

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 60))  # wide: nothing is compressed, so every fit runs in the loop
Y = X[:, :5].sum(axis=1) + RNG.standard_normal(40)
TALL, TALL_Y = RNG.standard_normal((200, 5)), RNG.standard_normal(200)
LABELS = Y > 0

SEARCHES: dict[str, tuple[Any, Any]] = {
    "LassoCV": (LassoCV(alphas=5, cv=3), Y),
    "ElasticNetCV": (ElasticNetCV(alphas=5, l1_ratio=[0.5, 0.9], cv=3), Y),
    "LogisticRegressionCV": (LogisticRegressionCV(Cs=5, l1_ratios=(1.0,), cv=3), LABELS),
}
EACH = pytest.mark.parametrize("name", SEARCHES)


class Press:
    """Ctrl-C in the given step of all that are made from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.steps, plain = 0, ProxNewton.step

        def step(solver: ProxNewton, *args: Any) -> Any:
            self.steps += 1
            if self.steps == at:
                raise KeyboardInterrupt
            return plain(solver, *args)

        monkeypatch.setattr(ProxNewton, "step", step)


@EACH
@pytest.mark.parametrize("at", [1, 4])
def test_control_c_in_a_fold_leaves_the_model_as_it_was(name: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, y = SEARCHES[name]
    model = model.__class__(**model.get_params())
    press = Press(monkeypatch, at)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert press.steps == at  # nothing went on after it
    assert not hasattr(model, "evidence_")
    assert not hasattr(model, "coef_")


@EACH
def test_control_c_in_the_refit_keeps_the_best_so_far(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, y = SEARCHES[name]
    model = model.__class__(**model.get_params())
    with monkeypatch.context() as patch:
        counted = Press(patch, -1)
        steps = model.fit(X, y).evidence_.n_iter
    assert steps >= 1
    Press(monkeypatch, counted.steps - steps + 1)
    with pytest.raises(KeyboardInterrupt, match="Interrupted"):
        model.fit(X, y)
    assert model.evidence_.status is Status.INTERRUPTED
    assert not model.evidence_.holds
    assert np.isfinite(model.coef_).all()


def test_control_c_ends_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    press = Press(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        lasso_path(X, Y - Y.mean(), n_alphas=20, callback=lambda k, evidence: seen.append(k))
    assert press.steps == 3
    assert len(seen) < 19


def test_control_c_ends_several_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    both = np.column_stack([Y, -Y, 2 * Y])
    model = ElasticNet(0.05)
    press = Press(monkeypatch, model.fit(X, Y).n_iter_ + 1)  # in the second target
    with pytest.raises(KeyboardInterrupt, match="Interrupted"):
        model.fit(X, both)
    assert model.evidence_.status is Status.INTERRUPTED
    assert press.steps == model.n_iter_[0] + 1
    assert model.coef_[0].any()
    assert not model.coef_[2].any()
    assert model.dual_gap_[2] == np.inf


def test_control_c_ends_one_against_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LinearModel("logistic", "l1", alpha=0.01)
    press = Press(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, np.digitize(Y, [-1.0, 1.0]))
    assert press.steps == 1
    assert model.evidence_.status is Status.INTERRUPTED
    assert model.coef_.shape == (3, 60)


def test_a_separated_fit_that_is_interrupted_still_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """More columns than rows: a few steps without a penalty put every row on its side."""
    for model in (LogisticRegression(C=np.inf, solver="prox-newton"), LinearModel("logistic", "none")):
        with monkeypatch.context() as patch:
            if isinstance(model, LinearModel):
                patch.setattr("corollary.linear.linear_model.choose_solver", lambda problem: ProxNewton())
            Press(patch, 2)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, LABELS)
        assert model.evidence_.status is Status.INTERRUPTED


def test_control_c_in_the_folds_of_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def interrupted(*args: Any) -> Any:
        calls.append(args)
        raise KeyboardInterrupt

    monkeypatch.setattr("corollary.linear.ridge_scores.ridge_path", interrupted)
    for cv in (None, 3):
        model = RidgeCV(cv=cv)
        with pytest.raises(KeyboardInterrupt):
            model.fit(TALL, TALL_Y)
        assert not hasattr(model, "alpha_")
    assert len(calls) == 2


@EACH
@pytest.mark.parametrize("data", ["wide", "tall"])
def test_a_budget_ends_the_folds(name: str, data: str) -> None:
    model, y = SEARCHES[name]
    rows = X if data == "wide" else TALL
    y = y if data == "wide" else (TALL_Y > 0 if name.startswith("Logistic") else TALL_Y)
    model = model.__class__(**model.get_params()).set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning, match="Stopped early: .* stopped by a callback"):
        model.fit(rows, y)
    scores = model.scores_ if name.startswith("Logistic") else model.mse_path_
    assert np.isfinite(scores).sum() == 1  # the first strength of the first fold
    assert model.evidence_.status is Status.BUDGET
    assert not model.evidence_.holds
    assert np.isfinite(model.predict(rows).astype(float)).all()


@EACH
def test_a_budget_that_lasts_for_a_fold_chooses_by_it(name: str) -> None:
    model, y = SEARCHES[name]
    whole = model.fit(X, y)
    scores = np.moveaxis(whole.scores_, 0, -1) if name.startswith("Logistic") else whole.mse_path_
    fits = int(scores[..., 0].size)
    model = model.__class__(**model.get_params()).set_callbacks(AfterParts(fits + 1))
    with pytest.warns(ConvergenceWarning, match="Stopped early"):
        model.fit(X, y)
    first = scores[..., 0]
    best = first.argmax() if name.startswith("Logistic") else first.argmin()
    chosen = model.Cs_[best % 5] if name.startswith("Logistic") else np.ravel(model.alphas_)[best]
    assert (model.C_ if name.startswith("Logistic") else model.alpha_) == chosen


def test_a_budget_ends_the_folds_of_ridge() -> None:
    model = RidgeCV(cv=5).set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning, match="Stopped early"):
        model.fit(TALL, TALL_Y)
    assert model.evidence_.status is Status.BUDGET
    first = RidgeCV(cv=[(np.arange(40, 200), np.arange(40))]).fit(TALL, TALL_Y)
    np.testing.assert_allclose(model.mean_scores_, first.mean_scores_)


class Signal:
    """A real SIGINT in the given task of a fit, be it an iteration, a strength or a fold."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def setup(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.count += 1
        if self.count == self.at:
            signal.raise_signal(signal.SIGINT)
        return False

    def teardown(self, estimator: Any, context: Any) -> None: ...


@pytest.mark.parametrize("name", [*SEARCHES, "RidgeCV"])
@pytest.mark.parametrize("data", ["wide", "tall"])
def test_a_signal_anywhere_is_raised_and_nothing_is_called_converged(name: str, data: str) -> None:
    model, y = SEARCHES.get(name, (RidgeCV(cv=3), Y))
    rows = X if data == "wide" else TALL
    y = y if data == "wide" else (TALL_Y > 0 if name.startswith("Logistic") else TALL_Y)
    counted = Signal(-1)
    model.__class__(**model.get_params()).set_callbacks(counted).fit(rows, y)
    assert counted.count >= 3
    for at in sorted({1, 2, counted.count // 2, counted.count - 1}):
        pressed = model.__class__(**model.get_params()).set_callbacks(Signal(at))
        with pytest.raises(KeyboardInterrupt):
            pressed.fit(rows, y)
        evidence = getattr(pressed, "evidence_", None)
        assert evidence is None or (evidence.status is Status.INTERRUPTED and not evidence.holds)
        assert hasattr(pressed, "coef_") == (evidence is not None)


class AfterParts:
    """Asks to stop after so many parts of a fit that are no iterations."""

    def __init__(self, count: int) -> None:
        self.count = count

    def setup(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.count -= getattr(context, "record", None) is None
        return self.count <= 0

    def teardown(self, estimator: Any, context: Any) -> None: ...


def test_the_weakest_of_several_fits_is_one_that_was_cut_short() -> None:
    def part(status: Status, value: float) -> Evidence:
        return Evidence(status, Certificate(Kind.OPTIMAL, "gap", value, 1e-8), "solver")

    worst = worst_of([part(Status.CONVERGED, 1e-9), part(Status.INTERRUPTED, 1e-3), part(Status.MAX_ITER, 1.0)])
    assert worst.status is Status.INTERRUPTED


def test_the_time_of_a_search_is_that_of_all_its_fits() -> None:
    began = time.perf_counter()
    model = LassoCV(alphas=5, cv=3).fit(X, Y)
    assert 0 < model.evidence_.seconds <= time.perf_counter() - began
