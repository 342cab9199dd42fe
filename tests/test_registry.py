"""The table of everything public is true."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import corollary
from corollary.registry import ESTIMATORS, FUNCTIONS, OF_PACKAGE, TRANSFORMERS, Entry, all_estimators

TASKS = {"regression", "classification", "clustering", "transform", "density", "neighbors"}


@pytest.mark.parametrize("entry", [*ESTIMATORS.values(), *TRANSFORMERS.values()], ids=lambda entry: entry.name)
def test_entries_load_and_construct(entry: Entry) -> None:
    cls = entry.load()
    assert cls.__name__ == entry.name
    assert set(entry.tasks) <= TASKS
    assert entry.tasks
    cls(**entry.arguments)
    assert entry.family == entry.module.split(".")[0]
    assert entry.compare in (None, "fast", "full")


@pytest.mark.parametrize("entry", ESTIMATORS.values(), ids=lambda entry: entry.name)
def test_canon_ids(entry: Entry) -> None:
    assert re.fullmatch(r"[A-Z]\d+", entry.canon)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_resolve(name: str) -> None:
    assert callable(getattr(corollary, name))


def test_all_estimators() -> None:
    assert [entry.name for entry in all_estimators()] == list(ESTIMATORS)
    classifiers = all_estimators("classification")
    assert {"LogisticRegression", "LinearModel"} <= {entry.name for entry in classifiers}
    assert all("classification" in entry.tasks for entry in classifiers)
    assert all_estimators("no such task") == []


def test_capabilities_are_read_from_the_classes() -> None:
    found = {name: entry.capabilities for name, entry in ESTIMATORS.items()}
    assert {"sparse", "sample_weight", "multi_output", "path"} <= found["Lasso"]
    assert {"class_weight", "probabilities"} <= found["LogisticRegression"]
    assert "probabilities" not in found["Ridge"]
    for name, capabilities in found.items():
        takes = "sample_weight" in inspect.signature(ESTIMATORS[name].load().fit).parameters
        assert ("sample_weight" in capabilities) == takes


@pytest.mark.parametrize("name", OF_PACKAGE["evaluate"])
def test_names_of_a_package_resolve_there(name: str) -> None:
    assert callable(getattr(corollary.evaluate, name))
    assert name not in dir(corollary)


def test_a_function_keeps_its_name_when_its_module_is_imported() -> None:
    importlib.import_module("corollary.cluster.choose_k")
    assert corollary.cluster.choose_k is corollary.choose_k


def test_nothing_below_the_registry_imports_by_a_name() -> None:
    """import-linter does not see such imports, so they could reach the top unnoticed."""
    package = Path(corollary.__file__).parent
    below = [
        path for folder in ("core", "solvers", "_compiled", "referee") for path in (package / folder).rglob("*.py")
    ]
    assert len(below) > 50
    found = [str(path) for path in below if re.search(r"import_module|__import__\(", path.read_text(encoding="utf-8"))]
    assert not found
