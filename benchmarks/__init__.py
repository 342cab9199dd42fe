"""Side by side with the peers: time at equal quality, extra memory, growth, start-up and numerical accuracy.

A family is a module that holds ``WORKLOADS`` (timed against peers), ``CHECKS`` (a number against a bar), or both; it
joins by adding its line to ``FAMILIES``. Run ``python -m benchmarks --help`` from the root of the repository.
"""

from __future__ import annotations

import importlib

from benchmarks.workload import Check, Workload

FAMILIES: dict[str, str] = {
    "linear": "benchmarks.linear",
    "trees": "benchmarks.trees",
    "clusters": "benchmarks.clusters",
    "graphical": "benchmarks.graphical",
    "bayes": "benchmarks.bayes",
    "accuracy": "benchmarks.accuracy",
    "startup": "benchmarks.startup",
    "memory": "benchmarks.peaks",
}


def entries(family: str) -> tuple[Workload | Check, ...]:
    """Everything a family measures, in the order in which it is reported."""
    module = importlib.import_module(FAMILIES[family])
    return (*getattr(module, "WORKLOADS", ()), *getattr(module, "CHECKS", ()))


def find(family: str, name: str) -> Workload:
    """The timed workload of that name."""
    for entry in entries(family):
        if isinstance(entry, Workload) and entry.name == name:
            return entry
    raise ValueError(f"family {family!r} has no workload {name!r}")
