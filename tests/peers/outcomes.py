"""Running scikit-learn's tests of one family with our classes swapped in, and sorting what comes out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import sklearn
from differences import Difference, stale
from families import FAMILIES
from privacy import TestFile
from swapping import FAMILY, RESULT

import corollary

HERE = Path(__file__).parent
OURS = ("PYTEST_XDIST", "SCIPY_ARRAY_API")  # variables of our own test run, by which other tests would be chosen
PUBLIC, ALL = 97.0, 95.0  # per cent that must pass: of the public tests of a family, of all tests about ours together
# families that fall short of it for what stands on the list of differences, and what they must not fall below
SHORT = {"linear": 94.5, "ensemble": 96.0}


@dataclass(frozen=True)
class Outcome:
    """One test, as it went."""

    test: str  # file::name[parameters]
    passed: bool
    words: str = ""

    @property
    def name(self) -> str:
        return self.test.split("::")[1].split("[")[0]


@dataclass
class Result:
    """The tests of a family about our classes, public and private apart."""

    family: str
    public: list[Outcome] = field(default_factory=list)
    private: list[Outcome] = field(default_factory=list)
    elsewhere: int = 0  # tests that never meet a class of ours
    skipped: int = 0
    alike: list[Outcome] = field(default_factory=list)  # fail with scikit-learn's own classes, too
    broken: str = ""  # why there is no whole result

    def failed(self, differences: Iterable[Difference]) -> tuple[list[Outcome], list[Outcome]]:
        """Failing public tests: those on the list of differences, and the others."""
        bad = [each for each in self.public if not each.passed]
        known = [each for each in bad if any(line.covers(each.test) for line in differences)]
        return known, [each for each in bad if each not in known]

    def faults(self, differences: list[Difference], *, whole: bool) -> list[str]:
        """What makes the run a failure, one line each. Of some tests only, nothing is asked of shares and the list."""
        differences = [each for each in differences if each.family == self.family]
        faults = [self.broken] if self.broken else []
        faults += [f"failed: {each.test}\n      {first_line(each.words)}" for each in self.failed(differences)[1]]
        if whole and not self.broken:
            bad = [each.test for each in (*self.public, *self.private) if not each.passed]
            faults += [f"stale: no failing test is {each.pattern}" for each in stale(differences, bad)]
            least = SHORT.get(self.family, PUBLIC)
            if share(self.public) < least:
                faults.append(f"{share(self.public):.1f} % of public tests pass, less than {least:.0f} %")
        return faults


def together(results: Iterable[Result]) -> Result:
    """All families as one."""
    total = Result("all")
    for each in results:
        total.public += each.public
        total.private += each.private
        total.elsewhere += each.elsewhere
    return total


def share(tests: list[Outcome]) -> float:
    """Per cent that pass."""
    return 100 * sum(each.passed for each in tests) / max(1, len(tests))


def judge(family: str, expression: str = "", workers: int = 1, *, swapped: bool = True) -> Result:
    """Run a family's tests and sort them."""
    result, lines = Result(family), run(family, FAMILIES[family], expression, workers, swapped=swapped)
    if isinstance(lines, str):
        return Result(family, broken=lines)
    private = {f"test_{module.split('.test_')[-1]}.py": TestFile.of(module).private for module in FAMILIES[family]}
    for line in lines:
        outcome = Outcome(line["test"], line["outcome"] == "passed", line["words"])
        if line["outcome"] == "skipped":
            result.skipped += 1
        elif not line["met"] and swapped:
            result.elsewhere += 1
        else:
            hidden = outcome.name in private.get(outcome.test.split("::")[0], ())
            (result.private if hidden else result.public).append(outcome)
    return _without_those_that_fail_anyway(result, expression) if swapped else result


def _without_those_that_fail_anyway(result: Result, expression: str) -> Result:
    """Tests that fail here with scikit-learn's own classes as well say nothing about ours."""
    names = {each.name for each in (*result.public, *result.private) if not each.passed}
    if not names or any(name.startswith("(") for name in names):
        return result
    lines = run(result.family, FAMILIES[result.family], " or ".join(sorted(names)), 1, swapped=False)
    alike = set() if isinstance(lines, str) else {line["test"] for line in lines if line["outcome"] == "failed"}
    for kind in (result.public, result.private):
        result.alike += [each for each in kind if not each.passed and each.test in alike]
        kind[:] = [each for each in kind if each.passed or each.test not in alike]
    return result


def run(family: str, modules: list[str], expression: str, workers: int, *, swapped: bool) -> list[dict[str, str]] | str:
    """One line for each test, or what went wrong with the run as a whole."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "outcomes.jsonl"
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")  # not the settings of our own tests
        # the corollary that is imported here, whatever the folder it is run in
        paths = [
            str(HERE),
            str(Path(corollary.__file__).parents[1]),
            *os.environ.get("PYTHONPATH", "").split(os.pathsep),
        ]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(OURS)},
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            FAMILY: family if swapped else "",
            RESULT: str(result),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "swapping", "-p", "no:cacheprovider", "--tb=short"]
        command += ["-c", str(Path(folder) / "pytest.ini"), f"--rootdir={Path(sklearn.__file__).parent}"]
        command += ["--continue-on-collection-errors", "--pyargs", *modules]
        command += ["-k", expression] if expression else []
        command += ["-n", str(workers)] if workers > 1 else []
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 2, 5) or not result.exists():
            ended = "no test was run" if done.returncode == 5 else f"pytest ended with {done.returncode}"
            return f"{ended}: {(done.stdout + done.stderr)[-2000:]}"
        lines = [json.loads(line) for line in result.read_text(encoding="utf-8").splitlines()]
    order = ("passed", "skipped", "failed")  # a test whose clean-up fails is told of twice
    return list({line["test"]: line for line in sorted(lines, key=lambda line: order.index(line["outcome"]))}.values())


def first_line(words: str) -> str:
    """What a failure says, in short."""
    return next((line.strip()[:160] for line in words.splitlines() if line.strip()), "")
