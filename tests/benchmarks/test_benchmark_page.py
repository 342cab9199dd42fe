from __future__ import annotations

import doctest
import json
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks import __main__ as command
from benchmarks import accuracy, entries, harness, machine, readme, results, table, workload
from benchmarks.page import page, show
from benchmarks.results import FAILED, MISSED, REACHED, Outcome, Race, Reading
from benchmarks.table import tables
from benchmarks.workload import OURS
from rich.console import Console


def race(ours: float = 1.0, peer: float = 2.0, memory: int | None = 50, name: str = "toy") -> Race:
    outcomes = [
        Outcome(OURS, OURS, REACHED, tolerance=1e-6, value=1.0, excess=0.0, times=[ours, 2 * ours], memory=memory),
        Outcome("peer", "numpy", REACHED, value=1.0, excess=1e-9, times=[peer]),
        Outcome("quick but wrong", "numpy", MISSED, value=2.0, excess=1.0, times=[0.001]),
        Outcome("broken", "numpy", FAILED, note="ValueError: a | b"),
    ]
    growth = {"2n": 2.0, "2d": 4.0}
    return Race("linear", name, "Toy", (1000, 10), "a rule", 1.0, 0.1, 1000, outcomes, growth, "2024-01-01")


def reading(value: float = 12.0) -> Reading:
    return Reading("accuracy", "toy", "Toy", "digits", 9.0, True, {OURS: value, "numpy lstsq": 3.0}, date="2024-01-02")


def test_ratio_is_best_peer_over_ours() -> None:
    assert race(ours=1.0, peer=2.0).ratio == 2.0
    assert race(ours=1.0, peer=2.0).verdict == "met"


@pytest.mark.parametrize(
    ("ours", "memory", "verdict"),
    [
        (4.0, 50, "LOSS: slower than the bar"),
        (1.0, 200, "LOSS: more memory than the bar"),
        (4.0, 200, "LOSS: slower than the bar, more memory than the bar"),
        (1.0, None, "met"),
    ],
)
def test_losses_are_named(ours: float, memory: int | None, verdict: str) -> None:
    assert race(ours=ours, memory=memory).verdict == verdict


def test_ours_that_failed_is_a_loss() -> None:
    failed = race()
    failed.outcomes[0] = Outcome(OURS, OURS, FAILED, note="ValueError: no")
    assert failed.ratio is None
    assert failed.verdict == "LOSS: ours failed"


def test_records_survive_json(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    results.write(path, {"cores": "2"}, [race(), reading()])
    assert results.read(path) == ({"cores": "2"}, [race(), reading()])
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_nothing_was_measured_before(tmp_path: Path) -> None:
    assert results.read(tmp_path / "absent.json") == ({}, [])


def test_merging_replaces_one_and_keeps_the_rest() -> None:
    old, new = [race(name="a"), race(name="b"), race(name="gone")], [race(ours=9.0, name="a")]
    merged = results.merge(old, new, [("linear", "b"), ("linear", "a")])
    assert [record.name for record in merged] == ["b", "a"]
    assert merged[1] == new[0]


def test_the_page_holds_losses_peers_and_machine() -> None:
    text = page({"processor": "a machine", "cores": "2"}, [race(ours=4.0), reading(value=2.0)])
    assert "| latest measurement | 2024-01-02 |" in text
    assert "| processor | a machine |" in text
    assert "**LOSS: slower than the bar**" in text
    assert "| **LOSS** | numpy lstsq 3 |" in text
    assert "quick but wrong" in text
    assert "failed: ValueError: a \\| b" in text
    assert "| 2.00× | 4.00× |" in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_the_terminal_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    show(Console(width=120), tables([race(), reading()], terminal=True))
    shown = capsys.readouterr().out
    assert "2.00 s peer" in shown
    assert "12 digits" in shown


def test_machine_is_described() -> None:
    here = machine.describe()
    assert int(here["cores"]) >= 1
    assert here["scikit-learn"][0].isdigit()
    assert machine.same_hardware(here, dict(here))
    assert not machine.same_hardware(here, {})


def test_quick_figures_are_never_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        command.main(["--quick", "--write", str(tmp_path / "page.md")])
    assert stop.value.code == 2
    assert "--quick" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nothing"], "unknown family 'nothing'"), (["--only", "nothing"], "unknown workload 'nothing'")],
)
def test_unknown_names_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        command.main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_names_are_unique_within_a_family_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    names = [entry.name for entry in entries("linear")]
    assert len(set(names)) == len(names)
    assert command.main(["linear", "--list"]) == 0
    assert "lasso-path-dense" in capsys.readouterr().out


def test_a_run_writes_page_and_figures_and_a_second_run_merges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "run", lambda family, entry, settings, tell: race(name=entry.name))
    target = tmp_path / "page.md"
    assert command.main(["linear", "--only", "ridge", "--write", str(target)]) == 0
    assert command.main(["linear", "--only", "ols", "--write", str(target), "--json", str(tmp_path / "one.json")]) == 0
    stored = json.loads((tmp_path / "page.json").read_text())
    assert [record["name"] for record in stored["records"]] == ["ols", "ridge"]
    assert [record["name"] for record in json.loads((tmp_path / "one.json").read_text())["records"]] == ["ols"]
    assert "## Linear models" in target.read_text()
    assert "ridge" in capsys.readouterr().out


@pytest.mark.parametrize("module", [accuracy, table, workload], ids=lambda module: module.__name__)
def test_examples_in_docstrings_hold(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_the_readme_has_the_figures_of_the_page() -> None:
    """``python -m benchmarks.readme`` writes its table anew."""
    _, records = results.read(readme.ROOT / "docs" / "benchmarks.json")
    text = (readme.ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.updated(text, records) == text
