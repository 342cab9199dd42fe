"""Bayesian networks."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

PARTS = ("inference", "learning", "sampling")


def _gathered(what: str) -> tuple[Any, ...]:
    names = [f"benchmarks.graphical.{part}" for part in PARTS]
    modules = [importlib.import_module(name) for name in names if importlib.util.find_spec(name) is not None]
    return tuple(entry for module in modules for entry in getattr(module, what, ()))


WORKLOADS = _gathered("WORKLOADS")
CHECKS = _gathered("CHECKS")
