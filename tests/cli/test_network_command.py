"""``corollary network``: what it learns, answers, writes, and refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_bad_input import refused

from corollary import BayesianNetwork, read_bif, to_bif

Run = Callable[..., Any]


@pytest.fixture
def garden() -> BayesianNetwork:
    tables = {
        "rain": [0.7, 0.3],
        "sprinkler": (["rain"], [[0.4, 0.6], [0.95, 0.05]]),
        "wet": (["rain", "sprinkler"], [[[0.97, 0.03], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]),
    }
    return BayesianNetwork.from_tables(tables, states={name: ["no", "yes"] for name in tables})


@pytest.fixture
def garden_bif(garden: BayesianNetwork, tmp_path: Path) -> Path:
    path = tmp_path / "garden.bif"
    to_bif(garden, path)
    return path


@pytest.fixture
def garden_csv(garden: BayesianNetwork, tmp_path: Path) -> Path:
    frame = garden.sample(1500, random_state=0)
    rng = np.random.default_rng(0)
    frame["puddle"] = np.where(frame["wet"] == "yes", rng.normal(5, 1, 1500), rng.normal(1, 1, 1500)).round(3)
    frame["day"] = [f"2024-01-{1 + i % 28:02d}" for i in range(1500)]
    frame["visits"] = rng.integers(0, 3, 1500)
    frame["garden"] = "mine"
    path = tmp_path / "garden.csv"
    frame.to_csv(path, index=False)
    return path


def test_learns_answers_and_writes(run: Run, garden_csv: Path, tmp_path: Path) -> None:
    saved, picture = tmp_path / "net.bif", tmp_path / "net.png"
    found = run("network", garden_csv, "--given", "wet=yes", "--given", "sprinkler=yes", "--query", "rain",
                "--save", saved, "--picture", picture)  # fmt: skip
    assert found.code == 0, found.err
    for words in ("1,500 rows", "garden: constant", "day: a date", "5 variables", "depends on", "Given", "before",
                  "Why", "P(rain = ", "sprinkler = yes:", "Evidence", "HillClimb", "Stationary", "Next"):  # fmt: skip
        assert words in found.out, words
    assert all(len(line.rstrip()) <= 80 for line in found.out.splitlines() if str(tmp_path) not in line)
    network = read_bif(saved)
    answer = network.query("rain", {"wet": "yes", "sprinkler": "yes"})["rain"]
    assert f"{answer['yes']:.4f}" in found.out
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = run("network", saved, "--given", "wet=yes", "--given", "sprinkler=yes", "--query", "rain")
    assert again.code == 0, again.err
    assert f"{answer['yes']:.4f}" in again.out


@pytest.mark.parametrize("structure", ["chow-liu", "tan"])
def test_other_structures(structure: str, run: Run, garden_csv: Path, tmp_path: Path) -> None:
    target = ["--target", "rain"] if structure == "tan" else []
    saved = tmp_path / "net.bif"
    found = run("network", garden_csv, "--structure", structure, *target, "--query", "rain", "--save", saved)
    assert found.code == 0, found.err
    network = read_bif(saved)
    share = (pd.read_csv(garden_csv)["rain"] == "yes").mean()
    assert network.query("rain")["rain"]["yes"] == pytest.approx(share, abs=0.01)
    parents = [len(above) for above in network.parents_]
    assert max(parents) == (2 if structure == "tan" else 1)


def test_numbers_are_given_as_numbers(run: Run, garden_csv: Path, tmp_path: Path) -> None:
    found = run("network", garden_csv, "--bins", "3", "--given", "puddle=6.5", "--given", "visits=2", "--query", "wet",
                "--given", "rain=YES")  # fmt: skip
    assert found.code == 0, found.err
    assert "puddle = > " in found.out
    assert "visits = 2, rain = yes" in found.out


def test_a_file_is_asked(run: Run, garden: BayesianNetwork, garden_bif: Path, tmp_path: Path) -> None:
    found = run("network", garden_bif, "--given", "wet=yes", "--picture", tmp_path / "n.svg")
    assert found.code == 0, found.err
    for name in ("rain", "sprinkler"):
        assert f"{garden.query(name, {'wet': 'yes'})[name]['yes']:.4f}" in found.out
    assert "<svg" in (tmp_path / "n.svg").read_text(encoding="utf-8")
    done = run("network", garden_bif, "--do", "sprinkler=yes", "--query", "rain")
    assert f"{0.3:.4f}" in done.out  # what is set tells nothing about its causes
    seen = run("network", garden_bif, "--given", "sprinkler=yes", "--query", "rain")
    assert f"{garden.query('rain', {'sprinkler': 'yes'})['rain']['yes']:.4f}" in seen.out
    drawn = run("network", garden_bif, "--given", "wet=yes", "--query", "rain", "--samples", "2000")
    assert drawn.code == 0, drawn.err
    assert "Note" in drawn.out
    plain = run("network", garden_bif)
    assert plain.code == 0
    assert "--query" in plain.out  # what could be asked next


def test_help_shows_it(run: Run) -> None:
    assert "corollary network survey.csv" in run("--help").out
    assert "--given NAME=STATE" in run("network", "--help").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--given", "wet"], ("--given wet", "NAME=STATE")),
        (["--given", "snow=yes"], ("--given snow=yes", "'snow'", "rain")),
        (["--given", "wet=maybe"], ("'wet' has no state 'maybe'", "'no', 'yes'")),
        (["--given", "wet=yes", "--given", "wet=no"], ("'wet' is given twice",)),
        (["--query", "rian"], ("--query rian", "'rain'")),
        (["--given", "wet=yes", "--query", "wet"], ("--query wet", "is given")),
        (["--do", "wet=yes", "--given", "wet=yes"], ("--do wet", "also given")),
        (["--structure", "guess"], ("structure", "guess")),
        (["--picture", "a.txt"], ("--picture a.txt", ".png")),
        (["--save", "nowhere/a.bif"], ("--save", "nowhere")),
        (["--samples", "0"], ("--samples 0",)),
        (["--drop", "wet"], ("--drop", "a network already")),
    ],
)
def test_bad_options(arguments: list[str], words: tuple[str, ...], run: Run, garden_bif: Path) -> None:
    refused(run("network", garden_bif, *arguments), *words)


@pytest.mark.parametrize(
    ("name", "content", "arguments", "words"),
    [
        ("a.csv", "x\n" + "a\nb\n" * 5, [], ("two columns",)),
        ("a.csv", "x,y\n1,2\n", [], ("1 row",)),
        ("a.csv", "x,y\n" + "a,b\nb,a\n" * 5, ["--structure", "tan"], ("--structure tan", "--target")),
        ("a.csv", "x,y\n" + "a,b\nb,a\n" * 5, ["--target", "y"], ("--structure hill-climb", "target")),
        ("a.csv", "x,y\n" + "a,b\nb,a\n" * 5, ["--columns", "z"], ("--columns z", "no such column")),
        ("a.csv", "x,y\n" + "a,b\nb,a\n" * 5, ["--bins", "1"], ("--bins 1",)),
        ("a.csv", "x,y\n" + "a,\nb,a\n" * 5, ["--structure", "tan", "--target", "y"], ("'y'", "5 rows")),
        ("a.bif", "variable a { type discrete [ 2 ] { x }; }", [], ("a.bif", "line 1")),
        ("a.bif", "rubbish", [], ("a.bif", "line 1")),
        ("a.bif", "", [], ("a.bif", "no variables")),
    ],
)  # fmt: skip
def test_bad_files(name: str, content: str, arguments: list[str], words: Any, run: Run, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    refused(run("network", path, *arguments), *words)


def test_findings_that_cannot_be(run: Run, tmp_path: Path) -> None:
    tables = {"a": [1.0, 0.0], "b": (["a"], [[0.5, 0.5], [0.5, 0.5]])}
    to_bif(BayesianNetwork.from_tables(tables), tmp_path / "a.bif")
    refused(run("network", tmp_path / "a.bif", "--given", "a=1", "--query", "b"), "probability zero", "a = 1")


def test_missing_file(run: Run, tmp_path: Path) -> None:
    refused(run("network", tmp_path / "none.bif"), "no such file")
    refused(run("network", tmp_path / "none.csv"), "no such file")
