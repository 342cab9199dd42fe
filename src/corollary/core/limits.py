"""Limits on parameters, declared beside the class that has them and checked at one door.

>>> limit = Real(low=0) | Choice("auto")
>>> limit.accepts(-1.0), limit.accepts("auto"), str(limit)
(False, True, "a number ≥ 0 or 'auto'")
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

LONGEST = 100_000_000  # entries of a range


class Limit(ABC):
    """A set of allowed values, with a description for error messages."""

    @abstractmethod
    def accepts(self, value: Any) -> bool: ...

    @abstractmethod
    def __str__(self) -> str: ...

    def __or__(self, other: Limit) -> Limit:
        return _Either(self, other)


class _Either(Limit):
    def __init__(self, *parts: Limit) -> None:
        self.parts = parts

    def accepts(self, value: Any) -> bool:
        return any(part.accepts(value) for part in self.parts)

    def __str__(self) -> str:
        return " or ".join(str(part) for part in self.parts)


class Real(Limit):
    """A real number in [low, high]; ``above=True`` excludes low itself, ``finite=True`` infinity."""

    def __init__(
        self, low: float = -math.inf, high: float = math.inf, *, above: bool = False, finite: bool = False
    ) -> None:
        self.low, self.high, self.above, self.finite = low, high, above, finite

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
            return False
        try:
            number = float(value)  # NaN fails every comparison below
        except OverflowError:  # a whole number beyond 1e308
            return False
        inside = (number > self.low if self.above else number >= self.low) and number <= self.high
        return inside and not (self.finite and math.isinf(number))

    def __str__(self) -> str:
        text = "a number"
        if self.low > -math.inf:
            text += f" {'>' if self.above else '≥'} {self.low:g}"
        if self.high < math.inf:
            text += f" and ≤ {self.high:g}" if self.low > -math.inf else f" ≤ {self.high:g}"
        return f"{text}, not infinite" if self.finite else text


class Integer(Limit):
    """A whole number in [low, high]."""

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low, self.high = low, high

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
            return False
        number = int(value)
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        limits = [f"{sign} {end}" for sign, end in (("≥", self.low), ("≤", self.high)) if end is not None]
        return " ".join(["a whole number", " and ".join(limits)]).strip()


class Boolean(Limit):
    def accepts(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_))

    def __str__(self) -> str:
        return "True or False"


class Choice(Limit):
    """One of the given values; a string may be NumPy's (a grid search over an array of strings gives those)."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def accepts(self, value: Any) -> bool:
        kind = str if isinstance(value, str) else type(value)
        return any(value is allowed or (kind is type(allowed) and value == allowed) for allowed in self.values)

    def __str__(self) -> str:
        return " or ".join(repr(value) for value in self.values)


class ArrayLike(Limit):
    """A sequence or array of numbers (names, choices or sequences again, where the class says so)."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, range):
            return value[:LONGEST] == value  # a range takes no memory, but the array that is made of it does
        if isinstance(value, (list, tuple, set, frozenset)):
            return all(map(self._is_entry, value))
        sized = hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict, np.dtype, type))
        return hasattr(value, "__array__") or (sized and not hasattr(value, "get_params"))

    def _is_entry(self, value: Any) -> bool:
        return value is None or isinstance(value, (numbers.Number, str, bytes, dict, slice)) or self.accepts(value)

    def __str__(self) -> str:
        return "an array of numbers"


class Instance(Limit):
    """An object with the given methods, or of the given type."""

    def __init__(self, what: str, *types: type, methods: tuple[str, ...] = ()) -> None:
        self.what, self.types, self.methods = what, types, methods

    def accepts(self, value: Any) -> bool:
        if self.types and isinstance(value, self.types):
            return True
        if isinstance(value, type):
            return False  # a class has the methods that its instances can be asked for, and cannot be asked
        return bool(self.methods) and all(hasattr(value, method) for method in self.methods)

    def __str__(self) -> str:
        return self.what


# what sklearn.utils.check_random_state can use: NumPy's Generator is not among them
RANDOM_STATE = Choice(None) | Integer(0, 2**32 - 1) | Instance("a RandomState", np.random.RandomState)
N_JOBS = Choice(None) | Integer()
CLASS_WEIGHT = Choice(None, "balanced") | Instance("a dict", dict)
