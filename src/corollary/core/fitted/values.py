"""Counts, text, names and labels."""

from __future__ import annotations

import math
import numbers
from itertools import pairwise
from typing import Any

import numpy as np

from corollary.core.fitted.base import Fitted, Known, require, shown


class Count(Fitted):
    """A whole number ≥ ``low`` that a machine can count to; it gives the dimension ``name`` its size."""

    def __init__(self, name: str | None = None, low: int = 0, high: int = 2**63 - 1) -> None:
        self.name, self.low, self.high = name, low, high

    def check(self, value: Any, known: Known) -> None:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
        require(whole and self.low <= int(value) <= self.high, value)
        if self.name is not None:
            try:
                known.bind(self.name, int(value))
            except ValueError as error:
                raise ValueError(f"it is {value} {error}") from None

    def __str__(self) -> str:
        return f"a whole number ≥ {self.low}"


class Text(Fitted):
    """A string, one of some if they are given."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def check(self, value: Any, known: Known) -> None:
        require(isinstance(value, str) and (not self.choices or value in self.choices), value)

    def __str__(self) -> str:
        return f"one of {self.choices}" if self.choices else "text"


class Names(Fitted):
    """An array of strings, as many as the dimension is large."""

    def __init__(self, dimension: str) -> None:
        self.dimension = dimension

    def check(self, value: Any, known: Known) -> None:
        require(isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU", value)
        require(all(isinstance(name, str) for name in value.tolist()), value)
        known.bind(self.dimension, len(value))

    def __str__(self) -> str:
        return f"{self.dimension} names"


class Labels(Fitted):
    """At least ``low`` different class labels in increasing order.

    They give the dimension ``name`` its size, and "scores" the number of decision values: one for two classes.
    """

    def __init__(self, name: str | None = "k", low: int = 2, high: float = math.inf) -> None:
        self.name, self.low, self.high = name, low, high

    def check(self, value: Any, known: Known) -> None:
        require(isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufUSO", value)
        require(self.low <= len(value) <= self.high and value.dtype.isnative, value)
        labels = value.tolist()
        plain = all(isinstance(label, (bool, int, float, str, bytes)) for label in labels)
        try:
            ordered = plain and all(a < b for a, b in pairwise(labels))
        except TypeError:
            ordered = False
        if not ordered or (value.dtype.kind == "f" and not np.isfinite(value).all()):
            raise ValueError(f"they are {shown(labels)}")
        if self.name is not None:
            known.bind(self.name, len(value))
            known.bind("scores", 1 if len(value) == 2 else len(value))

    def __str__(self) -> str:
        return "different labels in increasing order"
