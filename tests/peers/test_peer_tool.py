"""The tool that judges us by scikit-learn's tests is itself right; and, slowly, its judgement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from differences import LIST, Difference, read, stale
from families import FAMILIES
from outcomes import Outcome, Result, judge, share, together
from privacy import TestFile

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("pattern", "test", "covered"),
    [
        ("test_a.py::test_b", "test_a.py::test_b", True),
        ("test_a.py::test_b", "test_a.py::test_b[1]", False),
        ("test_a.py::test_b[*]", "test_a.py::test_b[1-x]", True),
        ("test_a.py::test_b[*]", "test_a.py::test_bc[1]", False),
        ("test_a.py::test_b*", "test_a.py::test_bc[1]", True),
        ("test_a.py::test_b[x-*-y]", "test_a.py::test_b[x-0.5-y]", True),
        ("test_a.py::test_b[x]", "test_a.py::test_bx", False),  # brackets are brackets
        ("test_a.py::test_b[a?]", "test_a.py::test_b[ab]", False),
        ("test_a.py::test_b[a|b]", "test_a.py::test_b[a|b]", True),
    ],
)
def test_patterns(pattern: str, test: str, covered: bool) -> None:
    assert Difference("linear", pattern, "because").covers(test) is covered


def test_lists_are_read() -> None:
    lines = read("# a comment\n\nlinear | test_a.py::test_b[x|y] | this | and that\n")
    assert lines == [Difference("linear", "test_a.py::test_b[x|y]", "this | and that")]
    assert [each.pattern for each in read("linear | test_a.py::* + test_b.py::* | because")] == [
        "test_a.py::*",
        "test_b.py::*",
    ]
    with pytest.raises(ValueError, match="line 2 is not"):
        read("# fine\nlinear | test_a.py::test_b\n")


def test_the_written_list() -> None:
    lines = read(LIST.read_text(encoding="utf-8"))
    assert len({each.reason for each in lines}) < 40
    assert {each.family for each in lines} <= set(FAMILIES)
    assert len(set(lines)) == len(lines)
    files = {family: {f"{module.split('.')[-1]}.py" for module in modules} for family, modules in FAMILIES.items()}
    for each in lines:
        assert each.pattern.split("::")[0] in files[each.family], each
        assert len(each.reason) > 20, each


def test_faults() -> None:
    result = Result("tree", public=[Outcome(f"test_tree.py::test_{k}", k > 2) for k in range(60)])
    result.private = [Outcome("test_tree.py::test_inside", False)]
    lines = [Difference("tree", f"test_tree.py::test_{k}", "why") for k in range(2)]
    assert [fault.splitlines()[0] for fault in result.faults(lines, whole=False)] == ["failed: test_tree.py::test_2"]
    assert any("95.0 % of public tests pass" in fault for fault in result.faults(lines, whole=True))
    passed = Difference("tree", "test_tree.py::test_40", "why")
    other = Difference("linear", "test_ridge.py::test_40", "why")
    assert stale([*lines, passed], ["test_tree.py::test_0", "test_tree.py::test_1"]) == [passed]
    assert any(fault.startswith("stale") for fault in result.faults([*lines, passed], whole=True))
    assert not any(fault.startswith("stale") for fault in result.faults([*lines, other], whole=True))
    assert Result("tree", broken="pytest ended with 3").faults([], whole=True) == ["pytest ended with 3"]
    total = together([result, result])
    assert share(total.public + total.private) == pytest.approx(100 * 114 / 122)


SOURCE = """
import numpy as np
import sklearn
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.ensemble._forest import ExtraTreesClassifier, _generate_unsampled_indices
from sklearn.linear_model import _cd_fast
from sklearn.tree._tree import NODE_DTYPE, TREE_LEAF
from sklearn.utils._testing import assert_allclose
from sklearn.utils.fixes import _IS_32BIT

NODES = [NODE_DTYPE]
NUMBERS = [1, 2]

def helper(model):
    return _generate_unsampled_indices(0, 1, 1)

@pytest.fixture
def looking():
    return RandomForestClassifier()._estimator_type

class Own:
    def fit(self):
        self._seen = True

@pytest.mark.parametrize("number", NUMBERS)
def test_public(number):
    assert_allclose(ExtraTreesClassifier().fit().predict(), np.random.mtrand._rand.rand())
    assert Own().fit() != TREE_LEAF
    assert not _IS_32BIT

def test_import():
    _cd_fast.run()

def test_import_inside():
    from sklearn.linear_model._ridge import _solve_svd

def test_through_a_helper():
    helper(RandomForestClassifier())

def test_through_a_constant():
    assert NODES

def test_through_a_fixture(looking):
    assert looking

def test_attribute():
    assert RandomForestClassifier()._validate_y is None

def test_string(monkeypatch):
    monkeypatch.setattr(RandomForestClassifier, "_fit", None)

def test_state():
    RandomForestClassifier().fit().tree_.__getstate__()

def test_module():
    sklearn.tree._classes.DEPTH = 3

def test_dunder():
    assert RandomForestClassifier.__name__ and hasattr(sklearn, "__version__")
"""


def test_private_tests_are_found() -> None:
    file = TestFile(SOURCE)
    everything = {name for name in file.definitions if name.startswith("test")}
    assert everything - file.private == {"test_public", "test_dunder"}


def test_a_run_in_small() -> None:
    """One private and two public tests of scikit-learn's: found, swapped, sorted."""
    result = judge(
        "decomposition", "test_no_empty_slice_warning or test_assess_dimension_bad_rank or test_pca_check_projection"
    )
    assert not result.broken
    assert len(result.public) > 1
    assert all(each.passed for each in result.public)
    assert result.private == []  # the private one is about functions
    assert result.elsewhere == 1


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_scikit_learns_tests_pass(family: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.peers", family], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
