"""What a network in a file must be: declarations of its attributes, and how they fit together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from corollary.core.fitted import Fitted
from corollary.core.fitted.base import Known, require
from corollary.core.graphical.dag import DAG

MOST_AXES = 32
SUMS_TO_ONE = 1e-9


class StateLabels(Fitted):
    """An array of different labels of states, in any order."""

    def check(self, value: Any, known: Known) -> None:
        require(isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufUO", value)
        require(len(value) >= 1 and value.dtype.isnative, value)
        labels = value.tolist()
        require(all(isinstance(label, (bool, int, float, str)) for label in labels), value)
        require(len(set(labels)) == len(labels) and all(label == label for label in labels), value)

    def __str__(self) -> str:
        return "different labels of states"


class ProbabilityTable(Fitted):
    """Floats whose last axis is a distribution."""

    def check(self, value: Any, known: Known) -> None:
        require(isinstance(value, np.ndarray) and value.dtype == np.float64 and value.dtype.isnative, value)
        require(1 <= value.ndim <= MOST_AXES and value.size > 0, value)
        if not (value >= 0).all() or not np.abs(value.sum(axis=-1) - 1.0).max() <= SUMS_TO_ONE:
            raise ValueError("some are negative, or do not sum to one over the last axis")

    def __str__(self) -> str:
        return "a float64 table of probabilities whose last axis sums to one"


def check_network(
    variables: list[str], states: list[Any], bins: dict[int, Any], parents: list[Any], tables: list[Any],
    beyond: Collection[int] = (),
) -> None:  # fmt: skip
    """Raise ValueError unless the parts of a network, each as declared, fit together.

    The variables ``beyond`` have distributions that are not written out as tables.
    """
    if len(set(variables)) < len(variables):
        raise ValueError("variables_ must be different names.")
    cards = [len(labels) for labels in states]
    for v, name in enumerate(variables):
        above = parents[v].tolist()
        if len(set(above)) < len(above):
            raise ValueError(f"parents_ of {name!r} must be different variables, but they are {above}.")
        shape = (*(cards[p] for p in above), cards[v])
        if v not in beyond and tables[v].shape != shape:
            raise ValueError(f"tables_ of {name!r} must have shape {shape}, but it is {tables[v].shape}.")
        if v in bins and len(bins[v]) != cards[v] - 1:
            raise ValueError(f"bins_ of {name!r} are {len(bins[v])} edges, which is not one less than its states.")
    DAG.of([each.tolist() for each in parents], variables)
