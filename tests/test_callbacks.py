"""Time budgets, early stopping and logs, by themselves (on every estimator: ``contract/test_stopping.py``)."""

from __future__ import annotations

import json
import os
import signal
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from corollary import (
    PCA,
    EarlyStopping,
    GaussianMixture,
    GradientBoostingClassifier,
    JSONLog,
    KMeans,
    KMedoids,
    LogisticRegression,
    LogisticRegressionCV,
    Mixture,
    SoftKMeans,
    SpectralClustering,
    Status,
    TimeBudget,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6))
Y = (X @ RNG.normal(size=6) + RNG.normal(size=200) > 0).astype(int)


def model(**options: Any) -> LogisticRegression:
    return LogisticRegression(**{"solver": "lbfgs", "C": 100.0} | options)


def test_a_generous_budget_changes_nothing() -> None:
    free, timed = model().fit(X, Y), model().set_callbacks(TimeBudget(3600)).fit(X, Y)
    np.testing.assert_array_equal(free.coef_, timed.coef_)
    assert timed.evidence_.status is Status.CONVERGED


def test_a_budget_can_be_used_again() -> None:
    budget = TimeBudget(1e-9)
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
            fitted = model().set_callbacks(budget).fit(X, Y)
        assert fitted.evidence_.n_iter == 0


def test_a_spent_budget_says_that_nothing_was_fitted() -> None:
    with pytest.warns(ConvergenceWarning, match=r"\(0 iterations, .*Nothing was fitted: the budget was spent"):
        GradientBoostingClassifier().set_callbacks(TimeBudget(1e-9)).fit(X, Y)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5", None])
def test_a_budget_must_be_positive(seconds: Any) -> None:
    with pytest.raises(ValueError, match="seconds must be > 0"):
        TimeBudget(seconds)


def test_early_stopping_needs_patience() -> None:
    with pytest.raises(ValueError, match="patience must be ≥ 1"):
        EarlyStopping(X, Y, patience=0)


def test_early_stopping_lets_an_improving_fit_finish() -> None:
    stop = EarlyStopping(X, Y, patience=50)
    fitted = model().set_callbacks(stop).fit(X, Y)
    assert fitted.evidence_.holds
    assert len(stop.scores_) == fitted.evidence_.n_iter
    assert stop.scores_[-1] > stop.scores_[0]


def test_early_stopping_stops_when_the_score_falls() -> None:
    """Validation labels turned round: every step makes it worse."""
    stop = EarlyStopping(X, 1 - Y, patience=2)
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        fitted = model().set_callbacks(stop).fit(X, Y)
    assert fitted.evidence_.status is Status.BUDGET
    assert len(stop.scores_) == 3
    assert stop.scores_[0] == max(stop.scores_)


@pytest.mark.filterwarnings("error")
def test_early_stopping_keeps_the_best_round_of_boosting() -> None:
    stop = EarlyStopping(X[120:], Y[120:], patience=4)
    fitted = GradientBoostingClassifier(n_estimators=300).set_callbacks(stop).fit(X[:120], Y[:120])
    best = 1 + int(np.argmax(stop.scores_))
    assert best == len(stop.scores_) - 4
    assert fitted.evidence_.holds
    assert fitted.evidence_.facts["trees"] == fitted.n_iter_ == best
    assert fitted.evidence_.facts["training loss"] == fitted.evidence_.history["objective"][best]
    assert f"Stopped by EarlyStopping and kept as it was at its best score, after iteration {best}." in str(
        fitted.evidence_
    )
    assert -log_loss(Y[120:], fitted.predict_proba(X[120:])) == pytest.approx(stop.scores_[best - 1], rel=1e-12)


def test_early_stopping_counts_rounds_of_a_warm_start() -> None:
    fitted = GradientBoostingClassifier(n_estimators=3, warm_start=True).fit(X[:120], Y[:120])
    stop = EarlyStopping(X[120:], Y[120:], patience=4)
    fitted.set_params(n_estimators=300).set_callbacks(stop).fit(X[:120], Y[:120])
    assert fitted.n_iter_ == 3 + int(np.argmax(stop.scores_))


def test_early_stopping_scores() -> None:
    weights = np.linspace(0.1, 1.0, 200)
    stop = EarlyStopping(X, Y, weights, scoring="accuracy", patience=100)
    model().set_callbacks(stop).fit(X, Y)
    assert all(0 <= score <= 1 for score in stop.scores_)
    again = EarlyStopping(X, Y, scoring=lambda fitted, A, b: 1.0, patience=1)
    with pytest.warns(ConvergenceWarning):
        model().set_callbacks(again).fit(X, Y)
    assert again.scores_ == [1.0, 1.0]


def test_log_lines(tmp_path: Path) -> None:
    log = JSONLog(tmp_path / "fit.jsonl")
    fitted = model().set_callbacks(log).fit(X, Y)
    lines = [json.loads(line) for line in (tmp_path / "fit.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, fitted.evidence_.n_iter + 1))
    assert {line["estimator"] for line in lines} == {"LogisticRegression"}
    assert all(line["max_iter"] == 1000 for line in lines)
    assert lines[0]["objective"] >= lines[-1]["objective"]
    model().set_callbacks(log).fit(X, Y)  # a second fit appends
    assert len((tmp_path / "fit.jsonl").read_text().splitlines()) == 2 * len(lines)


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        model().set_callbacks(JSONLog(tmp_path / "missing" / "fit.jsonl")).fit(X, Y)


def test_several_callbacks_and_a_pipeline(tmp_path: Path) -> None:
    stop, log = EarlyStopping(StandardScaler().fit(X).transform(X), Y, patience=50), JSONLog(tmp_path / "fit.jsonl")
    pipeline = make_pipeline(StandardScaler(), model().set_callbacks(stop, log)).fit(X, Y)
    assert pipeline[-1].evidence_.holds
    assert len(stop.scores_) == len((tmp_path / "fit.jsonl").read_text().splitlines())


def test_cross_validated_models_report_their_final_fit(tmp_path: Path) -> None:
    log = JSONLog(tmp_path / "fit.jsonl")
    LogisticRegressionCV(
        Cs=[0.1, 1.0], l1_ratios=(0.0,), cv=3, scoring="neg_log_loss", use_legacy_attributes=False
    ).set_callbacks(log).fit(X, Y)
    lines = [json.loads(line) for line in (tmp_path / "fit.jsonl").read_text().splitlines()]
    assert {line["estimator"] for line in lines} == {"LogisticRegressionCV"}


def test_scikit_learns_scoring_monitor() -> None:
    monitor = ScoringMonitor(scoring="neg_log_loss")
    fitted = model().set_callbacks(monitor).fit(X, Y)
    scores = [row["neg_log_loss"] for row in monitor.get_logs().data]
    assert len(scores) == fitted.evidence_.n_iter
    assert scores[-1] > scores[0]


class PressingCtrlC:
    """Ctrl-C after the second iteration of a fit."""

    def __init__(self) -> None:
        self.seen = 0

    def setup(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.seen += 1
        if self.seen == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    def teardown(self, estimator: Any, context: Any) -> None: ...


@pytest.mark.parametrize("make", [model, lambda: GradientBoostingClassifier(n_estimators=20)])
def test_ctrl_c_ends_the_fit_and_the_search_around_it(make: Any) -> None:
    pressed = PressingCtrlC()
    fitted = make().set_callbacks(pressed)
    with pytest.raises(KeyboardInterrupt, match="Interrupted: "):
        fitted.fit(X, Y)
    assert fitted.evidence_.status is Status.INTERRUPTED
    assert fitted.predict(X).shape == (200,)  # the best answer so far is there
    before = pressed.seen
    pressed.seen = 0
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(make().set_callbacks(pressed), X, Y, cv=3)
    assert pressed.seen == before  # no second fold was begun


class BetweenStarts:
    """Stops a fit, or presses Ctrl-C, after a number of its starts."""

    def __init__(self, starts: int, *, press: bool = False) -> None:
        self.starts, self.press, self.heard = starts, press, 0

    def setup(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.heard += context.task_name == "start"
        if context.task_name != "start" or self.heard < self.starts:
            return False
        if self.press:
            raise KeyboardInterrupt
        return True

    def teardown(self, estimator: Any, context: Any) -> None: ...


@pytest.mark.parametrize(
    "several",
    [
        KMeans(3, n_init=50, random_state=0),
        SoftKMeans(3, n_init=50, random_state=0),
        KMedoids(3, n_init=50, init="random", random_state=0),
        GaussianMixture(3, n_init=50, random_state=0),
        Mixture("gaussian", 3, n_init=50, random_state=0),
        SpectralClustering(3, n_init=50, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_callbacks_are_heard_between_starts(several: Any) -> None:
    stops = clone(several).set_callbacks(BetweenStarts(2))
    with pytest.warns(ConvergenceWarning):
        stops.fit(X)
    assert stops.evidence_.status is Status.BUDGET
    pressed = clone(several).set_callbacks(BetweenStarts(2, press=True))
    with pytest.raises(KeyboardInterrupt):
        pressed.fit(X)
    if not isinstance(several, SpectralClustering):  # half of the work on labels is no answer there
        assert pressed.evidence_.status is Status.INTERRUPTED


def verbose(several: Any, level: Any = 1) -> Any:
    several.verbose = level  # whether or not scikit-learn's class has this parameter, the mechanism is the same
    return several


def test_verbose_shows_iterations_and_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    fitted = verbose(model()).fit(X, Y)
    *steps, last = capsys.readouterr().out.splitlines()
    assert steps[0].startswith("LogisticRegression: iteration 0, objective ")
    seen = {int(step.split("iteration ")[1].split(",")[0]) for step in steps}
    assert seen >= set(range(min(11, fitted.evidence_.n_iter)))
    assert last == f"LogisticRegression: {fitted.evidence_}"
    np.testing.assert_array_equal(fitted.coef_, model().fit(X, Y).coef_)
    assert capsys.readouterr().out == ""


def test_verbose_beside_callbacks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    verbose(model()).fit(X, Y)
    alone = capsys.readouterr().out.splitlines()
    verbose(model()).set_callbacks(JSONLog(tmp_path / "fit.jsonl")).fit(X, Y)
    assert capsys.readouterr().out.splitlines()[:-1] == alone[:-1]
    assert (tmp_path / "fit.jsonl").read_text().count("\n") >= len(alone) - 1


def test_verbose_of_fits_without_iterations_and_of_several_parts(capsys: pytest.CaptureFixture[str]) -> None:
    fitted = verbose(PCA(2), True).fit(X)
    assert capsys.readouterr().out == f"PCA: {fitted.evidence_}\n"
    verbose(KMeans(3, n_init=3, random_state=0)).fit(X)
    out = capsys.readouterr().out
    assert out.count("start") == 2
    assert "KMeans: start 2 done\n" in out
    now = {"scoring": "neg_log_loss", "l1_ratios": (0.0,), "use_legacy_attributes": False}
    verbose(LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, **now)).fit(X, Y)
    assert "LogisticRegressionCV: strength 6 done\n" in capsys.readouterr().out


def test_verbose_leaves_iterations_out_of_a_fast_loop(capsys: pytest.CaptureFixture[str]) -> None:
    boosted = GradientBoostingClassifier(n_estimators=120)
    verbose(boosted).fit(X, Y)
    some = capsys.readouterr().out.splitlines()
    verbose(boosted, 2).fit(X, Y)
    every = capsys.readouterr().out.splitlines()
    assert len(every) > 100
    assert len(some) < 40
    assert set(some[:-1]) <= set(every)


@pytest.mark.parametrize("silent", [0, False])
def test_verbose_can_be_off(silent: Any, capsys: pytest.CaptureFixture[str]) -> None:
    verbose(model(), silent).fit(X, Y)
    assert capsys.readouterr().out == ""


def test_a_fit_is_not_lost_where_nobody_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed = open(tmp_path / "closed", "w")  # noqa: SIM115 - to be closed
    closed.close()
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", buffering=1) as broken:
        for stream in (None, closed, broken):
            with monkeypatch.context() as changed:
                changed.setattr("sys.stdout", stream)
                fitted = verbose(model()).fit(X, Y)
            assert fitted.evidence_ is not None
        with suppress(BrokenPipeError):
            broken.close()


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "auto"])
def test_iterations_begin_and_end_with_their_states(solver: str) -> None:
    """Each begins where the one before ended, each end is what a fit of so many iterations gives; the last is empty."""
    seen: list[tuple[str, Any]] = []

    class Watch:
        def setup(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_begin(self, estimator: Any, context: Any, *, fitted_estimator: Any) -> None:
            if context.task_name == "iteration":
                seen.append(("begin", None if fitted_estimator is None else fitted_estimator.coef_.copy()))

        def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any) -> bool:
            if context.task_name == "iteration":
                seen.append(("end", None if fitted_estimator is None else fitted_estimator.coef_.copy()))
            return False

        def teardown(self, estimator: Any, context: Any) -> None: ...

    A, b = load_iris(return_X_y=True)
    fitted = LogisticRegression(solver=solver).set_callbacks(Watch()).fit(A, b)
    n = int(fitted.n_iter_[0])
    assert n > 2
    assert [what for what, _ in seen] == ["begin", "end"] * (n + 1)
    begun, ended = [coef for _, coef in seen[::2]], [coef for _, coef in seen[1::2]]
    assert begun[0] is ended[-1] is None
    for i in range(n):
        np.testing.assert_array_equal(begun[i + 1], ended[i])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            short = LogisticRegression(solver=solver, max_iter=i + 1).fit(A, b)
        np.testing.assert_allclose(ended[i], short.coef_, rtol=1e-7)
