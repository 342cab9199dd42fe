"""Callbacks, Ctrl-C and iteration limits: a fit that stops early keeps its best answer and never hides it."""

from __future__ import annotations

import io
import json
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances import CASES, FIRST, Case, every, outputs
from recorder import Recorder
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning

from corollary import EarlyStopping, JSONLog, Status, TimeBudget

ITERATIVE = [case for case in CASES if case.iterative]


def hard_data(case: Case) -> tuple[Any, Any]:
    """Columns that nearly repeat one another, on different scales: hardly a solver does this in one step."""
    X, y = case.data()
    return np.column_stack([X, X[:, :2] + 0.05 * X[:, 2:4]]) * 2.0 ** np.arange(-3, 4), y


@every(CASES)
def test_progress_bar(case: Case) -> None:
    X, y = case.data()
    with redirect_stdout(io.StringIO()) as shown:
        case.make().set_callbacks(ProgressBar()).fit(X, y)
    assert case.name in shown.getvalue()


@every([case for case in FIRST if case.iterative])
def test_scoring_monitor(case: Case) -> None:
    X, y = hard_data(case)
    monitor = ScoringMonitor(scoring="accuracy" if case.classifier else "r2")
    model = case.make().set_callbacks(monitor).fit(X, y)
    scores = [row["accuracy" if case.classifier else "r2"] for row in monitor.get_logs().data]
    assert len(scores) == model.evidence_.n_iter
    assert np.isfinite(scores).all()


@every(CASES)
def test_callbacks_do_not_change_the_answer(case: Case) -> None:
    X, y = case.data()
    watched = case.make().set_callbacks(Recorder()).fit(X, y)
    for name, value in outputs(case.make().fit(X, y), X).items():
        np.testing.assert_array_equal(value, getattr(watched, name)(X))


@every(ITERATIVE)
def test_a_callback_sees_working_models(case: Case) -> None:
    X, y = hard_data(case)
    recorder = Recorder()
    case.make().set_callbacks(recorder).fit(X, y)
    assert recorder.seen >= 1
    for model in recorder.models:
        assert np.isfinite(outputs(model, X)["predict"].astype(float)).all()


@every(ITERATIVE)
def test_time_budget(case: Case) -> None:
    X, y = hard_data(case)
    model = case.make().set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model.fit(X, y)
    assert model.evidence_.status is Status.BUDGET
    assert not model.evidence_.holds
    assert np.isfinite(outputs(model, X)["predict"].astype(float)).all()


@every(ITERATIVE)
def test_control_c_keeps_the_best_so_far(case: Case) -> None:
    X, y = hard_data(case)
    model = case.make().set_callbacks(Recorder(0, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt, match="interrupted from the keyboard"):
        model.fit(X, y)
    assert model.evidence_.status is Status.INTERRUPTED
    assert "best answer so far" in str(model.evidence_)
    assert np.isfinite(outputs(model, X)["predict"].astype(float)).all()
    model.set_callbacks().fit(X, y)
    assert model.evidence_.holds


@every(ITERATIVE)
def test_any_other_error_leaves_no_trace(case: Case) -> None:
    X, y = hard_data(case)
    model = case.make().set_callbacks(Recorder(0, OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        model.fit(X, y)
    assert not hasattr(model, "evidence_")
    assert not hasattr(model, "n_features_in_")


@every(ITERATIVE)
def test_json_log(case: Case, tmp_path: Path) -> None:
    X, y = hard_data(case)
    path = tmp_path / "fit.jsonl"
    case.make().set_callbacks(JSONLog(path)).fit(X, y)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines
    for line in lines:
        assert {"estimator", "iteration", "objective", "seconds"} <= line.keys()
        assert not case.linear or "certificate" in line


@every(ITERATIVE)
def test_early_stopping(case: Case) -> None:
    X, y = hard_data(case)
    stop = EarlyStopping(X[:20], y[:20], patience=1, min_delta=1e9)
    model = case.make().set_callbacks(stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[20:], y[20:])
    assert len(stop.scores_) >= 1
    assert np.isfinite(stop.scores_).all()
    if len(stop.scores_) > 1:  # nothing improves by a billion, so the second score ends the fit
        assert len(stop.scores_) == 2
        if type(model).__name__.startswith("GradientBoosting"):  # which goes back to the best round: a choice
            assert model.evidence_.status is Status.CONVERGED
            assert "Stopped by EarlyStopping" in str(model.evidence_)
        else:  # unless it ends by itself there
            ended = Status.CONVERGED if model.evidence_.holds and model.evidence_.n_iter <= 2 else Status.BUDGET
            assert model.evidence_.status is ended


@every([case for case in ITERATIVE if "max_iter" in case.make().get_params()])
def test_an_unfinished_fit_is_never_silent(case: Case) -> None:
    """Stopped after one iteration, a fit that needs more warns with the number, the cause and what to do."""
    X, y = hard_data(case)
    needed = int(np.max(case.make().fit(X, y).n_iter_))
    model = case.make(max_iter=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    if needed <= 1:
        assert model.evidence_.holds
        assert not caught
        return
    assert not model.evidence_.holds
    message = next(str(each.message) for each in caught if issubclass(each.category, ConvergenceWarning))
    certificate = model.evidence_.certificate
    claim = f"Not shown to be {certificate.kind.name.lower()}"
    assert f"{case.name}: {claim}: {certificate.name} {certificate.value:.2g} >" in message
    assert "stopped at max_iter" in message
    assert "raise max_iter" in message
    assert all(each.filename == __file__ for each in caught)  # the line that called fit, not one of ours
    assert np.isfinite(outputs(model, X)["predict"].astype(float)).all()
