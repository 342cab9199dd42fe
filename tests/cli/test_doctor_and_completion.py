"""``corollary doctor`` says what is wrong and what to do; ``corollary completion`` completes in a real bash."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_bad_input import refused

from corollary.cli import doctor
from corollary.cli.completion import SHELLS, commands, script

Run = Callable[..., Any]


def test_a_healthy_machine(run: Run) -> None:
    outcome = run("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    for words in ("corollary 0.", "scikit-learn ", "Threads", "usable cores", "Kernels", "Self-test", "no faults"):
        assert words in outcome.out
    assert all(len(line) <= 80 or "/" in line for line in outcome.out.splitlines())


def test_the_same_for_programs(run: Run) -> None:
    found = json.loads(run("doctor", "--json").out)
    assert found["faults"] == 0
    assert {"subject", "text", "state", "do"} == set(found["findings"][0])


def test_a_fault_is_said_with_what_to_do_and_gives_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor._REQUIRED, "no_such_module", "nosuch")

    def broken() -> Any:
        raise OSError("no\nway")
        yield

    monkeypatch.setattr(doctor, "LOOKS", (doctor._versions, broken))
    outcome = run("doctor")
    assert outcome.code == 1
    text = " ".join(outcome.out.split())
    assert "✗ nosuch cannot be imported (No module named 'no_such_module'): pip install nosuch" in text
    assert "OSError: no way" in text
    assert "2 faults" in text
    assert json.loads(run("doctor", "--json").out)["faults"] == 2


def test_threads_beyond_the_cores_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary.core import thread_count

    monkeypatch.setenv("COROLLARY_NUM_THREADS", "999")
    thread_count._from_environment.cache_clear()
    try:
        found = [finding for finding in doctor._threads() if finding.state == "look"]
    finally:
        thread_count._from_environment.cache_clear()
    assert "999 threads (COROLLARY_NUM_THREADS=999)" in found[0].text
    assert "unset COROLLARY_NUM_THREADS" in found[0].do


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_limits_of_containers(files: dict[str, str], cores: float | None, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert doctor.cgroup_cores(tmp_path) == cores


def test_where_kernels_cannot_be_kept(tmp_path: Path) -> None:
    assert doctor.writable(tmp_path / "not" / "there" / "yet")
    (tmp_path / "file").write_text("")
    assert not doctor.writable(tmp_path / "file")


def completed(*words: str) -> list[str]:
    """What a Tab after these words offers, in a bash that has read the script."""
    lines = [
        'eval "$(cat)"',
        f"COMP_WORDS=({' '.join(repr(word) for word in words)})",
        f"COMP_CWORD={len(words) - 1}",
        "_corollary",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    asked = ["bash", "--norc", "-c", "\n".join(lines)]
    done = subprocess.run(asked, input=script("bash"), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes() -> None:
    assert completed("corollary", "co") == ["compare", "completion"]
    assert completed("corollary", "--v") == ["--version"]
    assert completed("corollary", "compare", "x.csv", "--mi") == ["--minutes"]
    assert completed("corollary", "compare", "x.csv", "--metric", "b") == ["balanced-accuracy", "brier"]
    assert completed("corollary", "compare", "x.csv", "--split", "") == ["random", "time:", "group:"]
    assert completed("corollary", "cluster", "x.csv", "--method", "g") == ["gmm"]
    assert completed("corollary", "completion", "") == list(SHELLS)
    assert completed("corollary", "compare", "") == []  # then bash offers files
    assert completed("corollary", "predict", "m", "x", "--out", "") == []
    registered = subprocess.run(
        ["bash", "--norc", "-c", 'eval "$(cat)"; complete -p corollary'],
        input=script("bash"), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert registered.stdout == "complete -o default -F _corollary corollary\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_every_script(shell: str, run: Run) -> None:
    outcome = run("completion", shell)
    assert outcome.code == 0
    for command in commands():
        assert command.name in outcome.out
        for option in command.options:
            assert (option.names[-1].lstrip("-") if shell == "fish" else option.names[-1]) in outcome.out
    assert {"--target", "--minutes", "--split", "--resume", "--preset"} <= {
        name for command in commands() if command.name == "compare" for option in command.options for name in option.names
    }  # fmt: skip


def test_an_unknown_shell_is_one_line(run: Run) -> None:
    refused(run("completion", "tcsh"), "tcsh", "bash")


def test_completion_is_light() -> None:
    code = 'import sys; from corollary.cli import main; main(["completion", "bash"]); sys.exit("numpy" in sys.modules)'
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
