"""corollary: the classical machine-learning canon, where every fit carries its evidence.

Nothing is imported until it is used: ``import corollary`` costs a millisecond.
"""

from __future__ import annotations

import importlib
from typing import Any

from corollary.registry import ESTIMATORS, FUNCTIONS, public_function

__version__ = "0.1.0"

_MODULES = (
    *("bayes", "callbacks", "cluster", "core", "decomposition", "ensemble", "evaluate", "graphical", "io", "linear"),
    *("linear_model", "mixture", "neighbors", "patch", "registry", "report", "solvers", "tabular", "tree"),
)

__all__ = sorted([*ESTIMATORS, *FUNCTIONS, "__version__"])


def __getattr__(name: str) -> Any:
    if name in ESTIMATORS:
        value: Any = ESTIMATORS[name].load()
    elif name in FUNCTIONS:
        value = public_function(name)
    elif name in _MODULES:
        return importlib.import_module(f"corollary.{name}")
    else:
        raise AttributeError(f"module 'corollary' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
