"""A pytest plugin: our classes in the place of scikit-learn's, and a record of which tests meet one of them.

It runs inside the pytest of :mod:`outcomes`, before scikit-learn's tests are collected. A name is replaced in the
public module and in the private one where scikit-learn defines it, for some tests import it from there.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FAMILY = "COROLLARY_PEERS_FAMILY"  # whose names are replaced; empty for none
RESULT = "COROLLARY_PEERS_RESULT"  # the file that outcomes are written to, a JSON object a line

met: set[str] = set()  # names of ours that the test in progress has constructed, fitted or called
classes: list[type[Any]] = []


def swap(family: str) -> None:
    """Replace what the family has."""
    from corollary.base import Estimator
    from corollary.patch import replaceable

    for place, names in replaceable(family).items():
        module, ours = importlib.import_module(place), importlib.import_module(f"corollary.{family}")
        for name in names:
            theirs, mine = getattr(module, name), getattr(ours, name)
            if isinstance(mine, type):
                classes.append(mine)
                mine.__init__ = _noting(mine.__init__)
            else:
                mine = _noting(mine)
            setattr(module, name, mine)
            setattr(importlib.import_module(theirs.__module__), name, mine)
    # every fit of ours passes here. To wrap ``fit`` itself would put a frame between a warning and the test
    checked = Estimator._check_parameters

    def noted(self: Any) -> None:
        met.update(_ours(self))
        checked(self)

    Estimator._check_parameters = noted


def _noting(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        met.add(method.__qualname__)
        return method(*args, **kwargs)

    return call


def _ours(value: Any, depth: int = 2) -> Iterator[str]:
    """Classes of ours in what a test is given: a class, an instance, or a list of such."""
    if isinstance(value, type):
        yield from (each.__name__ for each in classes if issubclass(value, each))
    elif isinstance(value, (list, tuple, dict)) and depth:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _ours(each, depth - 1)
    else:
        yield from _ours(type(value))


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get(FAMILY):
        swap(os.environ[FAMILY])


def pytest_runtest_setup(item: pytest.Item) -> None:
    met.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    report = yield
    met.update(name for value in getattr(item, "funcargs", {}).values() for name in _ours(value))
    report.user_properties = [("met", sorted(met)), ("test", f"{item.path.name}::{item.name}")]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    expected = hasattr(report, "wasxfail")  # scikit-learn says itself that it may fail
    outcome = "skipped" if expected else report.outcome
    words = report.longrepr.reprcrash.message if hasattr(report.longrepr, "reprcrash") else str(report.longrepr or "")
    if report.when == "call" or outcome != "passed":
        told = dict(report.user_properties)
        _write(told["test"], outcome, told["met"], words)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _write(f"{report.nodeid.split('/')[-1]}::(collection)", "failed", ["(all)"], str(report.longrepr))


def _write(test: str, outcome: str, names: list[str], words: str) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # the process that started it hears of it, too
    line = {"test": test, "outcome": outcome, "met": names, "words": words}
    with Path(os.environ[RESULT]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
