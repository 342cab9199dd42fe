"""The report: one file that needs nothing, says everything, and lets no name out of its place."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import corollary
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.evaluate.comparison import Comparison
from corollary.report import render, write_report
from corollary.report.document import again, asked_line
from corollary.report.model_figures import convergence_figure
from corollary.report.words import lowered
from corollary.tabular.messages import InputError

VOID = {"meta", "br", "line", "rect", "circle", "polyline"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and insists that what is opened is closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(source)
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data


class Certified(LogisticRegression):
    """scikit-learn's, with evidence that has something to draw."""

    key = "certificate"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        history = {"iteration": [0, 1, 2, 3], self.key: [np.inf, 1e-1, 1e-4, 1e-9]}
        certificate = Certificate(Kind.OPTIMAL, "relative duality gap", 1e-9, 1e-8)
        self.evidence_ = Evidence(Status.CONVERGED, certificate, "newton", 3, 0.1, history, {"objective": 0.5})
        return super().fit(X, y)


def _frame(rows: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x = rng.normal(size=rows)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(rows) < 0.05, np.nan, x),
            "kind": rng.choice(["red", "green"], rows),
            "empty": None,
            "two": np.where(x + 0.5 * rng.normal(size=rows) > 0, "up", "down"),
            "three": pd.cut(x + 0.3 * rng.normal(size=rows), [-9, -0.5, 0.5, 9], labels=["low", "mid", "high"]).astype(
                str
            ),
            "size": 100 * x + 5 * rng.normal(size=rows),
        }
    )


def _compare(target: str, model: Any, frame: pd.DataFrame | None = None, **options: Any) -> Comparison:
    data = _frame() if frame is None else frame
    others = [name for name in ("two", "three", "size") if name != target and name in data.columns]
    return corollary.compare(data, target, models={"model": model}, drop=others, **{"folds": 3, **options})


def _check_whole(source: str) -> Page:
    page = Page(source)
    assert len(source.encode()) < 1_000_000
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert "img" not in page.tags
    assert not [value for name, value in page.attributes if name in ("src", "srcset")]
    assert all((value or "").startswith("#") for name, value in page.attributes if name == "href")
    assert "url(" not in source
    assert "@import" not in source
    assert page.tags.count("svg") == page.tags.count("desc")
    assert "prefers-color-scheme: dark" in source
    assert "@media print" in source
    assert "nan" not in re.sub(r"[a-z-]*nan[a-z]+", "", page.text)
    return page


@pytest.mark.parametrize("key", ["certificate", "gap"])  # "gap" in files of version 0.1
def test_two_classes(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Certified, "key", key)
    page = _check_whole(render(_compare("two", Certified())))
    for words in ("Predicting two", "model predicts two best", "It is right for", "Confusion matrix", "precision",
                  "ROC curve for up", "AUC 0.", "Precision and recall for up", "Calibration for up", "Coefficients",
                  "kind = green", "x is missing", "What each column is worth", "How far each column moves predictions",
                  "Effect of x", "Learning curve", "held-out rows", "Bias and variance", "Where to say up",
                  "highest F1", "Errors worth a look", "what moved it", "corollary.load", "By class",
                  "Convergence of model", "relative duality gap 1e-09 ≤ 1e-08",
                  "Optimal: relative duality gap", Kind.OPTIMAL.value, "✓ optimal",
                  "Leakage", "Class balance", "every value is missing", "Data SHA-256", "Seed",
                  "scikit-learn", "corollary.compare(data, 'two'"):  # fmt: skip
        assert words in page.text, words


def test_three_classes() -> None:
    page = _check_whole(render(_compare("three", LogisticRegression())))
    for words in ("one class against the rest", "low (AUC 0.", "high (AP 0.", "Calibration of the class chosen"):
        assert words in page.text, words
    assert "This model keeps no evidence." in page.text


def test_many_classes_stay_readable() -> None:
    rng = np.random.default_rng(0)
    label = np.repeat([f"class {i}" for i in range(15)], 16)
    frame = pd.DataFrame(
        {"x": np.repeat(np.arange(15.0), 16) + rng.normal(size=240), "z": rng.normal(size=240), "y": label}
    )
    page = _check_whole(render(_compare("y", LogisticRegression(), frame)))
    assert "classes pooled" in page.text
    assert "Most frequent confusions" in page.text


def test_numbers() -> None:
    page = _check_whole(render(_compare("size", Ridge())))
    for words in ("Predicted against actual", "Residuals", "running median", "explains 9", "off by"):
        assert words in page.text, words


def test_many_rows_make_a_small_report() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    frame = pd.DataFrame({"x": x, "size": x + rng.normal(size=20_000)})
    _check_whole(render(_compare("size", Ridge(), frame)))


@pytest.mark.parametrize(
    ("target", "model", "words"),
    [
        ("size", corollary.RandomForestRegressor(5, random_state=0), "Shapley values read off the trees"),
        ("size", RandomForestRegressor(5, random_state=0), "Shapley values estimated from 32 orders of the columns"),
        ("two", KNeighborsClassifier(), "when the column is shuffled"),
    ],
)
def test_models_without_coefficients(target: str, model: Any, words: str) -> None:
    assert words in _check_whole(render(_compare(target, model))).text


def test_a_model_without_probabilities() -> None:
    page = _check_whole(render(_compare("two", LinearSVC(), metric="accuracy")))
    assert "Confusion matrix" in page.text
    assert "ROC" not in page.text


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE x; --",
    "{{7*7}}${7*7}",
    "]]></svg><svg onload=alert(1)>",
    "&lt;b&gt;",
    "very " * 60 + "long",
    "\x00\x1b[31m\u202e",
]


@pytest.mark.parametrize("task", ["two", "three", "size"])
def test_hostile_names_and_values_are_only_text(task: str) -> None:
    frame = _frame()
    for index, name in enumerate(HOSTILE):
        frame[name] = np.random.default_rng(index).choice([name, f"{name}!"], len(frame))
    frame[task + HOSTILE[0]] = frame.pop(task)
    if task == "two":
        frame[task + HOSTILE[0]] = frame[task + HOSTILE[0]].map({"up": HOSTILE[1], "down": HOSTILE[4]})
    clean = Page(render(_compare(task, Ridge() if task == "size" else LogisticRegression())))
    model = Ridge() if task == "size" else LogisticRegression()
    data = frame.drop(columns=[name for name in ("two", "three", "size") if name in frame.columns])
    source = render(corollary.compare(data, task + HOSTILE[0], models={HOSTILE[1]: model}))
    page = _check_whole(source)
    assert set(page.tags) <= set(clean.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not set("\x00\x1b\u202e") & set(source)


def test_the_command_that_does_it_again(tmp_path: Path) -> None:
    path = tmp_path / "some data.csv"
    _frame().to_csv(path, index=False)
    options: dict[str, Any] = {"drop": ["three", "size"], "folds": 3, "seed": 7, "metric": "auc"}
    result = corollary.compare(path, "two", models={"m": LogisticRegression()}, **options)
    text = Page(render(replace(result, settings={**result.settings, "models": None}))).text
    assert f"corollary compare '{path}' --target two --preset fast --folds 3 --metric auc --seed 7" in text
    assert "--drop three --drop size" in text
    assert f"corollary.compare({str(path)!r}, 'two', " in asked_line(
        "compare", "corollary.compare", result.facts, result.settings
    )


@pytest.mark.parametrize("name", ["random", "auto", "utf-8"])
def test_a_column_may_be_called_as_an_option_is_by_default(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": range(40), name: [i + 0.5 * (i % 3) for i in range(40)], "who": range(40)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table, file = (
        corollary.compare(data, name, id="who", models={"m": Ridge()}, folds=2) for data in (frame, tmp_path / "t.csv")
    )
    settings = {**file.settings, "models": None}
    line = asked_line("compare", "corollary.compare", file.facts, settings)
    assert line == f"corollary compare {tmp_path}/t.csv --target {name} --preset fast --folds 2 --seed 0 --id who"
    call = asked_line("compare", "corollary.compare", table.facts, {**table.settings, "models": None})
    assert call == f"corollary.compare(data, {name!r}, preset='fast', folds=2, seed=0, id='who')"


def test_doing_it_again_has_the_hold_out_and_the_models(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": range(40), "y": [i + 0.5 * (i % 3) for i in range(40)]})
    frame.to_csv(tmp_path / "t.csv", index=False)

    def line(data: Any, holdout: Any, **changed: Any) -> str:
        result = corollary.compare(data, "y", holdout=holdout, models={"m": Ridge(), "n": Ridge(2.0)}, folds=2)
        return asked_line("compare", "corollary.compare", result.facts, {**result.settings, **changed})

    path = tmp_path / "t.csv"
    assert line(path, path, models=None).endswith(f"--folds 2 --seed 0 --holdout {path}")
    asked = "'y', preset='fast', folds=2, seed=0, holdout="
    assert line(path, frame, models=None) == f"corollary.compare({str(path)!r}, {asked}holdout)"
    assert line(frame, str(path)) == f"corollary.compare(data, {asked}{str(path)!r}, models=models)  # models: 'm', 'n'"


def test_numbers_that_depend_on_the_clock_say_so() -> None:
    facts = SimpleNamespace(source="t.csv", sha256="0")
    settings = {"seed": 0, "versions": {}, "from_file": True, "minutes": None}
    assert "depends on the clock" not in again("compare", "", facts, settings)  # type: ignore[arg-type]
    assert "depends on the clock" in again("compare", "", facts, {**settings, "minutes": 2})  # type: ignore[arg-type]


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    result = _compare("two", LogisticRegression())
    write_report(result, tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8").endswith("</html>\n")
    with pytest.raises(InputError, match="does not exist"):
        write_report(result, tmp_path / "no" / "out.html")


def test_an_objective_that_says_nothing_is_not_shown() -> None:
    certificate = Certificate(Kind.CHECKED, "impurity balance", 0.0, 1e-8)
    for objective, shown in (
        ([0.0, 0.0, 0.0], False),
        ([3.0, 2.0, 1.0], False),
        ([3.0, 2.0, 1.5], True),
        ([1.0, 2.0, 1.5], False),
    ):
        history = {"iteration": [1.0, 2.0, 3.0], "objective": objective}
        evidence = Evidence(Status.CONVERGED, certificate, "forest", 3, history=history)
        assert lowered(evidence) is shown
        assert bool(convergence_figure("forest", evidence)) is shown
