"""``models``, ``inspect``, ``warmup``, ``--help``, ``--version``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corollary
from corollary import registry
from corollary.cli import warming

Run = Callable[..., Any]


def test_models_lists_the_registry(run: Run) -> None:
    outcome = run("models")
    assert outcome.code == 0
    for entry in corollary.all_estimators():
        assert entry.name in outcome.out


def test_models_as_json(run: Run) -> None:
    rows = json.loads(run("models", "--task", "classification", "--json").out)
    assert [row["name"] for row in rows] == [entry.name for entry in corollary.all_estimators("classification")]
    logistic = rows[0]
    assert logistic["canon"] == "L9"
    assert "probabilities" in logistic["capabilities"]
    assert logistic["problem"] == ""


def test_models_of_every_task(run: Run) -> None:
    rows = json.loads(run("models", "--task", "clustering", "--json").out)
    assert [row["name"] for row in rows] == [entry.name for entry in corollary.all_estimators("clustering")]
    outcome = run("models", "--task", "clusters")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--task clusters: expected one of regression, classification, " in outcome.err


def test_inspect_shows_the_pipeline(run: Run, people_csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "best.corollary"
    run("compare", people_csv, "-t", "rich", "--save", path)
    outcome = run("inspect", path)
    assert outcome.code == 0
    for words in ("Pipeline", "DateColumns", "LogisticRegression", "Optimal: relative duality gap"):
        assert words in " ".join(outcome.out.split())


def test_warmup_goes_on_when_one_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    good = registry.ESTIMATORS["LinearRegression"]
    bad = registry.Entry("Nothing", "linear.nothing", "X", ("regression",))
    monkeypatch.setattr(warming, "all_estimators", lambda: [bad, good])
    outcome = run("warmup")
    assert outcome.code == 1
    assert "✗ Nothing" in outcome.out
    assert "✓ LinearRegression" in outcome.out
    both = registry.ESTIMATORS["LinearModel"]  # of two tasks
    monkeypatch.setattr(warming, "all_estimators", lambda: [good, both])
    assert run("warmup").code == 0


@pytest.mark.slow
def test_warmup_of_everything(run: Run) -> None:
    outcome = run("warmup")
    assert outcome.code == 0, outcome.out
    assert "✗" not in outcome.out
    assert f"{len(corollary.all_estimators())} estimators in" in outcome.out


def test_warmup_of_models_of_two_tasks_and_of_none() -> None:
    """A model of both tasks has no tags of a classifier; one without a target, or of counts, gets what it takes."""
    for name in ("LinearModel", "KMeans", "LogisticRegression", "MultinomialNB", "CategoricalNB"):
        assert warming._fit_everywhere(registry.ESTIMATORS[name]) == ""


def test_help_teaches_and_is_light() -> None:
    code = """
import sys
from corollary.cli import main
main(["--help"])
main(["compare", "--help"])
heavy = {"numpy", "pandas", "sklearn", "numba", "scipy"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for words in ("corollary demo", "corollary predict best.corollary", "warmup", "--time-budget", "--minutes",
                  "doctor", "time:COLUMN", "stdin"):  # fmt: skip
        assert words in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.split("\n"))


def test_version_and_no_arguments(run: Run) -> None:
    assert run("--version").out == f"corollary {corollary.__version__}\n"
    bare = run()
    assert (bare.code, bare.err) == (0, "")
    assert bare.out == run("--help").out


def test_a_closed_pipe_is_nothing_to_complain_about() -> None:
    command = f"{sys.executable} -m corollary models --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stdout == "["
    assert done.stderr == ""
