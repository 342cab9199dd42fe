from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks import curves, curves_picture, entries
from benchmarks.curves import SCALED, Curve
from benchmarks.page import page
from benchmarks.workload import OURS

STEEP = {1: 8.0, 2: 4.0, 4: 2.0, 8: 1.2, 16: 0.8}


def curve(ours: dict[int, float], peer: dict[int, float] | None = None) -> Curve:
    seconds = {OURS: ours, "peer": peer or {1: 20.0, 16: 4.0}}
    return Curve("clusters", "k-means-64", "k-means", (1000, 10), seconds, "2024-01-01")


def test_every_scaled_workload_exists() -> None:
    for family, name in SCALED:
        assert name in [entry.name for entry in entries(family)]


def test_what_threads_bring() -> None:
    found = curve(STEEP)
    assert found.most == 16
    assert found.speedup == pytest.approx(10.0)
    assert found.best_peer == ("peer", 4.0)
    assert found.verdict == "met"


@pytest.mark.parametrize(
    ("ours", "peer", "loss"),
    [
        (STEEP, {16: 1.0}, "slower than the bar"),
        ({1: 4.0, 16: 1.0}, {16: 9.0}, "gains less than the bar"),
        ({1: 8.0, 2: 0.5, 4: 0.7, 16: 0.4}, None, "slower with 4 threads than with fewer"),
        ({}, None, "ours was not measured"),
    ],
)
def test_losses_are_named(ours: dict[int, float], peer: dict[int, float] | None, loss: str) -> None:
    assert curve(ours, peer).verdict == f"LOSS: {loss}"


def test_a_tenth_is_noise() -> None:
    assert curve({1: 8.0, 8: 0.9, 16: 0.95}).slower is None


def test_curves_are_read_as_they_were_written(tmp_path: Path) -> None:
    curves.write(tmp_path / "curves.json", {"cores": "16"}, [curve(STEEP)])
    assert curves.read(tmp_path / "curves.json") == ({"cores": "16"}, [curve(STEEP)])
    assert curves.read(tmp_path / "none.json") == ({}, [])


def test_the_page_has_curves_and_their_machine(tmp_path: Path) -> None:
    text = page({"cores": "2"}, [], ({"cores": "16"}, [curve(STEEP), curve({1: 1.0, 16: 2.0})]))
    assert "| cores | 16 |" in text
    assert "images/threads.svg" in text
    assert "**LOSS: slower than the bar, gains less than the bar, slower with 16 threads than with fewer**" in text
    assert "## Threads" not in page({"cores": "2"}, [])
    curves_picture.draw([curve(STEEP)], tmp_path / "threads.svg")
    assert (tmp_path / "threads.svg").stat().st_size > 1000


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be given some of the cores here")
def test_a_workload_is_run_once_for_each_number_of_threads(tmp_path: Path) -> None:
    target = tmp_path / "curves.json"
    arguments = ["ols", "--threads", "1", "--quick", "--repeats", "1", "--cap", "1", "--write", str(target)]
    assert curves.main(arguments) == 0
    [found] = curves.read(target)[1]
    assert set(found.ours) == {1}
    assert set(found.seconds["scikit-learn"]) == {1}
