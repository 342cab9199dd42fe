"""What a declaration is: a set of values, sizes that have names, and the check of a whole model."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_DIMENSION = re.compile(r"(\*?[a-z_]+)([+-]\d+)?")
_ABSENT = -1
_SHOWN = 80


@dataclass
class Known:
    """What is known of a model while its attributes are checked: its state, and the sizes that names stand for."""

    state: Mapping[str, Any]
    sizes: dict[str, int] = field(default_factory=dict)
    indices: list[tuple[str, int]] = field(default_factory=list)  # (dimension, largest index into it)

    def bind(self, dimension: str | int, size: int) -> None:
        """Let the dimension be of this size; ValueError if it is of another one."""
        if dimension == "?":
            return
        if isinstance(dimension, int):
            name, known = str(dimension), dimension
        else:
            match = _DIMENSION.fullmatch(dimension)
            assert match is not None, dimension
            name, shift = match[1], int(match[2] or 0)
            known = self.sizes.setdefault(name.lstrip("*"), size - shift) + shift
        if known != size or size < _ABSENT:
            shown = "absent" if known < 0 else str(known)
            raise ValueError(f"where {name} is {shown}")

    def bind_shape(self, dimensions: tuple[str | int, ...], shape: tuple[int, ...]) -> None:
        """Let the dimensions be those of the shape."""
        starred = bool(dimensions) and str(dimensions[0]).startswith("*")
        if starred and len(shape) == len(dimensions) - 1:
            shape = (_ABSENT, *shape)
        if len(shape) != len(dimensions):
            raise ValueError("")
        for dimension, size in zip(dimensions, shape, strict=True):
            self.bind(dimension, size)


class Fitted(ABC):
    """A set of values that a fitted attribute may have, with a description for error messages."""

    optional = False  # whether a fitted model may lack it

    @abstractmethod
    def check(self, value: Any, known: Known) -> None:
        """Raise ValueError, with what the value is instead, unless it is one of the set."""

    @abstractmethod
    def __str__(self) -> str: ...

    def __or__(self, other: Fitted) -> Fitted:
        return _Either(self, other)


class _Either(Fitted):
    def __init__(self, *parts: Fitted) -> None:
        self.parts = parts

    def check(self, value: Any, known: Known) -> None:
        for part in self.parts:
            sizes, indices = dict(known.sizes), list(known.indices)
            try:
                return part.check(value, known)
            except ValueError as error:
                known.sizes, known.indices, reason = sizes, indices, str(error)
        raise ValueError(reason)

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


class Maybe(Fitted):
    """What not every fit leaves behind."""

    optional = True

    def __init__(self, inner: Fitted) -> None:
        self.inner = inner

    def check(self, value: Any, known: Known) -> None:
        self.inner.check(value, known)

    def __str__(self) -> str:
        return str(self.inner)


class Nothing(Fitted):
    """None."""

    def check(self, value: Any, known: Known) -> None:
        require(value is None, value)

    def __str__(self) -> str:
        return "None"


class Anything(Fitted):
    """Any value, or any of the given types: what is never computed with, or checks itself."""

    def __init__(self, *types: type) -> None:
        self.types = types

    def check(self, value: Any, known: Known) -> None:
        require(not self.types or isinstance(value, self.types), value)

    def __str__(self) -> str:
        return " or ".join(kind.__name__ for kind in self.types) or "anything"


class By(Fitted):
    """One declaration for each value of a parameter."""

    def __init__(self, parameter: str, **cases: Fitted) -> None:
        self.parameter, self.cases = parameter, cases

    def check(self, value: Any, known: Known) -> None:
        case = known.state.get(self.parameter)
        if not isinstance(case, str) or case not in self.cases:
            raise ValueError(f"{self.parameter} is {shown(case)}")
        self.cases[case].check(value, known)

    def __str__(self) -> str:
        return f"what {self.parameter} says: " + ", ".join(f"{name}: {case}" for name, case in self.cases.items())


def check_state(declared: Mapping[str, Fitted], state: Mapping[str, Any]) -> None:
    """Raise ValueError unless the declared attributes are all there, or none of them, and each is what it must be."""
    present = [name for name in declared if name in state]
    needed = [name for name, what in declared.items() if not what.optional]
    if not any(name in state for name in needed):
        present = [name for name in present if name not in needed]
    else:
        missing = [name for name in needed if name not in state]
        if missing:
            raise ValueError(f"{missing[0]} is missing from what a fit leaves behind")
    known = Known(state)
    for name in present:
        try:
            declared[name].check(state[name], known)
            for dimension, largest in known.indices:
                if dimension in known.sizes and largest >= known.sizes[dimension]:
                    raise ValueError(f"one is {largest} where {dimension} is {known.sizes[dimension]}")
        except ValueError as error:
            raise ValueError(f"{name} must be {declared[name]}, but {error}") from None


def require(holds: bool, value: Any) -> None:
    if not holds:
        raise ValueError(f"it is {shown(value)}")


def shown(value: Any) -> str:
    text = f"an array of {value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
