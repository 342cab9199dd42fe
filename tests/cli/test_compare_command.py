"""``corollary compare``: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

import corollary
from corollary import registry
from corollary.core.evidence import Kind
from corollary.evaluate import candidates

Run = Callable[..., Any]


class Breaking(DummyClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise RuntimeError("this model\nalways breaks")


class Interrupting(DummyClassifier):
    """Ctrl-C arrives during its fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return super().fit(X, y)


class Swallowing(DummyClassifier):
    """As Interrupting, but the exception gets lost."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        return super().fit(X, y)


class Keeping(corollary.LogisticRegression):
    """Ctrl-C arrives during an iteration: the solver keeps its best answer, and the fit raises."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return self.set_callbacks(_PressingCtrlC()).fit_on(X, y)

    def fit_on(self, X: Any, y: Any) -> Any:
        return super().fit(X, y)


class _PressingCtrlC:
    def setup(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return False

    def teardown(self, estimator: Any, context: Any) -> None: ...


class _StandIn(registry.Entry):
    def load(self) -> type[Any]:
        return {each.__name__: each for each in (Breaking, Interrupting, Swallowing, Keeping)}[self.name]


@pytest.fixture
def with_model(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Adds one of the classes above to the registry, in front or after some, or leaves nothing else in it."""

    def add(name: str, place: int = 0, alone: bool = False) -> None:
        entry = _StandIn(name, "linear.none", "X0", ("classification",), "fast")
        real = [] if alone else registry.all_estimators("classification")
        monkeypatch.setattr(candidates, "all_estimators", lambda task=None: [*real[:place], entry, *real[place:]])

    return add


def test_the_leaderboard_and_the_files(
    run: Run, people_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report, model = Path("out.html"), Path("best.corollary")
    outcome = run("compare", people_csv.name, "--target", "rich", "--report", report, "--save", model)
    assert outcome.code == 0
    assert outcome.err == ""
    for words in ("60 rows", "2 numbers", "because the target is text", "LogisticRegression", "Baseline", "±",
                  "✓ optimal", "✓ checked", Kind.OPTIMAL.value, "Evidence", str(report), str(model),
                  "corollary predict"):  # fmt: skip
        assert words in outcome.out
    # a command to copy is never broken; everything else fits the terminal
    assert all(len(line) <= 80 for line in outcome.out.split("\n") if not line.startswith("Next"))
    assert "</html>" in report.read_text(encoding="utf-8")
    fitted = corollary.load(model)
    frame = pd.read_csv(people_csv)
    assert np.mean(fitted.predict(frame) == frame["rich"]) > 0.8
    assert not list(tmp_path.glob(".*"))


def test_regression(run: Run, people: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "people.tsv.gz"
    people.to_csv(path, index=False, sep="\t")
    outcome = run("compare", path, "--target", "height", "--drop-missing-target")
    assert outcome.code == 0
    assert "RMSE ↓" in outcome.out
    assert "1 rows without a target" not in outcome.out
    assert "1 row without a target was left out" in outcome.out
    assert "R² ↑" in outcome.out


def test_what_is_proposed_next_keeps_the_options(run: Run, people_csv: Path) -> None:
    outcome = run("compare", people_csv, "-t", "rich", "--drop", "since", "--folds", "3", "--metric", "auc")
    assert f"{people_csv} --target rich --folds 3 --metric auc --drop since --save model.corollary" in outcome.out


def test_a_model_that_fails_does_not_stop_the_rest(
    run: Run, people_csv: Path, with_model: Callable[[str], None], tmp_path: Path
) -> None:
    with_model("Breaking")
    outcome = run("compare", people_csv, "-t", "rich", "--report", tmp_path / "out.html")
    assert outcome.code == 0
    assert "Breaking: this model always breaks" in outcome.out
    assert "LogisticRegression predicts rich best" in " ".join(outcome.out.split())
    assert "this model always breaks" in (tmp_path / "out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["Interrupting", "Swallowing", "Keeping"])
def test_ctrl_c_ends_everything_and_writes_nothing(
    name: str, run: Run, people_csv: Path, with_model: Callable[..., None], tmp_path: Path
) -> None:
    with_model(name, alone=True)
    before = signal.getsignal(signal.SIGINT)
    outcome = run(
        "compare", people_csv, "-t", "rich", "--report", tmp_path / "a.html", "--save", tmp_path / "a.corollary"
    )
    assert outcome.code == 130
    assert outcome.out == "" or name == "Swallowing"  # that fit was complete before the key was noticed
    assert outcome.err == "corollary: interrupted; nothing is left half-written\n"
    assert [each.name for each in tmp_path.iterdir()] == [people_csv.name]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("name", ["Interrupting", "Swallowing", "Keeping"])
def test_ctrl_c_shows_what_was_finished(
    name: str, run: Run, people_csv: Path, with_model: Callable[..., None], tmp_path: Path
) -> None:
    with_model(name, 1)  # after LogisticRegression
    outcome = run("compare", people_csv, "-t", "rich", "--report", tmp_path / "a.html")
    assert outcome.code == 130
    assert outcome.err == "corollary: interrupted; nothing is left half-written\n"
    out = " ".join(outcome.out.split())
    tried = 1 + sum(entry.compare == "fast" for entry in registry.all_estimators("classification"))
    for words in ("1 LogisticRegression", "✓ optimal", "one fold only: no intervals",
                  "LogisticRegression, in its weakest fold. Optimal: ",
                  f"Stopped 0 of {tried} models were finished, and ", " in part; no file was written."):  # fmt: skip
        assert words in out, words
    assert (f"Not run {name}" in out) == (name != "Swallowing")  # whose fit was complete before the key was noticed
    assert "Next" not in out
    assert [each.name for each in tmp_path.iterdir()] == [people_csv.name]


def test_nothing_but_failures_is_an_error(
    run: Run, people_csv: Path, monkeypatch: pytest.MonkeyPatch, with_model: Callable[[str], None]
) -> None:
    with_model("Breaking")
    first = candidates.all_estimators("classification")[:1]
    monkeypatch.setattr(candidates, "all_estimators", lambda task=None: first)
    outcome = run("compare", people_csv, "-t", "rich")
    assert outcome.code == 2
    assert outcome.err == "corollary: no model could be fitted (Breaking: this model always breaks)\n"


def test_a_used_up_budget_is_said(run: Run, people_csv: Path) -> None:
    outcome = run("compare", people_csv, "-t", "rich", "--time-budget", "0.000001")
    assert (outcome.code, outcome.out) == (2, "")
    assert "there was no time for it" in outcome.err


def test_hostile_column_names_cannot_steer_the_terminal(run: Run, people: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "evil.csv"
    names = {"city": "\x1b[31m[bold red]city[/]", "rich": "[blink]rich\x07"}
    people.assign(empty=None).rename(columns={**names, "empty": "\x1b]0;pwned\x07"}).to_csv(path, index=False)
    outcome = run("compare", path, "-t", names["rich"], "--report", tmp_path / "out.html")
    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    assert "\x07" not in outcome.out
    assert "[blink]rich" in outcome.out


def test_without_header_and_with_another_encoding(run: Run, people: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False, header=False, encoding="latin-1", sep=";")
    outcome = run("compare", path, "-t", "column_6", "--no-header", "--encoding", "latin-1")
    assert outcome.code == 0
    assert "columns are separated by ';'" in outcome.out


def test_wide_terminals_show_the_certificate(run: Run, people_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert "✓ optimal: relative duality gap" in run("compare", people_csv, "-t", "rich").out


def test_the_demo(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "tour"
    outcome = run("demo", "--out", folder)
    assert outcome.code == 0
    assert sorted(each.name for each in folder.iterdir()) == ["breast-cancer.csv", "model.corollary", "report.html"]
    assert str(folder / "report.html") in outcome.out
    predicted = run("predict", folder / "model.corollary", folder / "breast-cancer.csv")
    assert predicted.out.count("\n") == 570


def test_the_demo_refuses_a_folder_it_cannot_make(run: Run, people_csv: Path) -> None:
    outcome = run("demo", "--out", people_csv / "tour")
    assert outcome.code == 2
    assert outcome.err.startswith(f"corollary: --out {people_csv / 'tour'}: cannot be created")
