"""``corollary network`` as a newcomer meets it: gaps, files that must not be lost, what is set, what to do next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_bad_input import refused

from corollary import BayesianNetwork, to_bif

Run = Callable[..., Any]


@pytest.fixture
def smoking() -> BayesianNetwork:
    tables = {
        "habit": [0.6, 0.4],
        "smoke": (["habit"], [[0.9, 0.1], [0.2, 0.8]]),
        "tar": (["smoke"], [[0.95, 0.05], [0.1, 0.9]]),
        "cough": (["habit", "tar"], [[[0.9, 0.1], [0.5, 0.5]], [[0.7, 0.3], [0.2, 0.8]]]),
    }
    return BayesianNetwork.from_tables(tables, states={name: ["no", "yes"] for name in tables})


@pytest.fixture
def bif(smoking: BayesianNetwork, tmp_path: Path) -> Path:
    path = tmp_path / "smoking.bif"
    to_bif(smoking, path)
    return path


@pytest.fixture
def table(smoking: BayesianNetwork, tmp_path: Path) -> Path:
    frame = smoking.sample(600, random_state=0)
    rng = np.random.default_rng(0)
    frame["ward"] = np.where(np.arange(600) < 500, None, "east")
    frame["room"] = np.where(np.arange(600) >= 400, None, np.where(rng.random(600) < 0.5, "a", "b"))
    frame["name"] = [f"person {row}" for row in range(600)]
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("option", ["--save", "--picture"])
def test_the_table_is_not_overwritten(option: str, run: Run, table: Path, bif: Path) -> None:
    before = table.read_bytes()
    refused(run("network", table, option, table), option, "the file that is read")
    refused(run("network", table, option, table.parent / "." / "people.csv"), "the file that is read")
    assert table.read_bytes() == before
    refused(run("network", bif, "--save", bif), "--save", "the file that is read")
    refused(run("network", table, "--save", table.parent / "net.csv"), "--save", ".bif")


def test_no_command_overwrites_what_it_reads(run: Run, table: Path) -> None:
    before = table.read_bytes()
    refused(run("compare", table, "-t", "cough", "--report", table), "--report", "the file that is read")
    refused(run("cluster", table, "--labels", table), "--labels", "the file that is read")
    refused(run("predict", "any.corollary", table, "--out", table), "--out", "the file that is read")
    assert table.read_bytes() == before


def test_columns_of_gaps_are_left_out_and_listed(run: Run, table: Path) -> None:
    found = run("network", table)
    assert found.code == 0, found.err
    told = " ".join(found.out.split())
    for words in ("ward: 83% missing", "name: identifier", "5 variables", "200 of 600 rows lack values"):
        assert words in told, words
    assert "ward" in run("network", table, "--columns", "ward", "--columns", "tar", "--columns", "cough").out


def test_where_no_row_is_complete_the_columns_are_named(run: Run, tmp_path: Path) -> None:
    rows = np.arange(90)
    frame = pd.DataFrame({"a": rows % 2, "b": rows % 3, "c": rows // 3 % 2}).astype(object)
    for place, name in enumerate("abc"):
        frame.loc[rows % 3 == place, name] = None
    frame["d e"] = np.where(rows % 5 < 3, None, "x")
    frame["f"] = rows // 9 % 2
    path = tmp_path / "gaps.csv"
    frame.to_csv(path, index=False)
    refused(run("network", path, "--columns", "a", "--columns", "f", "--columns", "b", "--columns", "c"),
            "no row has a value in every column", "'a' 33%", "--drop a")  # fmt: skip
    mended = run("network", path, "--drop", "a")
    assert mended.code == 0, mended.err


def test_what_is_set_is_shown_before_and_after(run: Run, smoking: BayesianNetwork, bif: Path) -> None:
    forced = smoking.do({"smoke": "yes"})
    tar = f"{forced.query('tar')['tar']['yes']:.4f}"
    alone = run("network", bif, "--do", "smoke=yes")
    assert alone.code == 0, alone.err
    asked = run("network", bif, "--do", "smoke=yes", "--query", "tar")
    for found in (alone, asked):
        for words in ("smoke = yes", "Set ", "before", "after", tar, f"{smoking.query('tar')['tar']['yes']:.4f}"):
            assert words in found.out, words
    both = run("network", bif, "--do", "smoke=yes", "--given", "cough=yes", "--query", "habit")
    assert both.code == 0, both.err
    for chance in (smoking.query("habit"), forced.query("habit", {"cough": "yes"})):
        assert f"{chance['habit']['yes']:.4f}" in both.out
    assert "P(habit" not in both.out  # of which "before" would be after what was set


@pytest.mark.parametrize("option", [["--structure", "hill-climb"], ["--bins", "4"], ["--no-header"]])
def test_a_network_is_not_learned_again(option: list[str], run: Run, bif: Path) -> None:
    refused(run("network", bif, *option), option[0], "a network already")


def test_what_comes_next_has_the_options_of_the_run(run: Run, table: Path, tmp_path: Path) -> None:
    found = run("network", table, "--drop", "room", "--structure", "tan", "-t", "cough", "--bins", "3", "--given",
                "tar=yes")  # fmt: skip
    assert found.code == 0, found.err
    (line,) = (line for line in found.out.splitlines() if line.startswith("Next"))
    for words in ("--drop room", "--structure tan", "--target cough", "--bins 3", "--given tar=yes", "--save"):
        assert words in line, words
    saved = tmp_path / "net.bif"
    found = run("network", table, "--drop", "room", "--save", saved)
    (line,) = (line for line in found.out.splitlines() if line.startswith("Next"))
    assert "--drop" not in line
    assert run(*line.split()[2:]).code == 0
