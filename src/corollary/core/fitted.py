"""What a fitted attribute may be, declared beside the class that has it: shapes, types, ranges, as data.

Parameters have limits; so has what a fit leaves behind. A model file is believed only as far as its class's
``fitted`` says, since compiled code looks neither at shapes nor at indices. Dimensions are names: "d" is the same
number in every attribute of one model, "d+1" is one more, "*t" is a dimension that is there in all attributes or in
none, and "?" is any size.

>>> check_state({"n_features_in_": Count("d"), "coef_": Floats("d")}, {"n_features_in_": 3, "coef_": np.zeros(2)})
Traceback (most recent call last):
ValueError: coef_ must be finite numbers of shape (d,), but its shape is (2,) where d is 3
"""

from __future__ import annotations

import math
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.trees import Trees

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
        _require(value is None, value)

    def __str__(self) -> str:
        return "None"


class By(Fitted):
    """One declaration for each value of a parameter."""

    def __init__(self, parameter: str, **cases: Fitted) -> None:
        self.parameter, self.cases = parameter, cases

    def check(self, value: Any, known: Known) -> None:
        case = known.state.get(self.parameter)
        if not isinstance(case, str) or case not in self.cases:
            raise ValueError(f"{self.parameter} is {_shown(case)}")
        self.cases[case].check(value, known)

    def __str__(self) -> str:
        return f"what {self.parameter} says: " + ", ".join(f"{name}: {case}" for name, case in self.cases.items())


class Numbers(Fitted):
    """A NumPy array of named dimensions; a number, where no dimension is left."""

    kinds = "iuf"
    what = "numbers"

    def __init__(
        self, *dimensions: str | int, low: float = -math.inf, high: float = math.inf, above: bool = False,
        finite: bool = True, below: str | None = None, increasing: bool = False, total: float | None = None,
    ) -> None:  # fmt: skip
        self.dimensions, self.low, self.high, self.above = dimensions, low, high, above
        self.finite, self.below, self.increasing, self.total = finite, below, increasing, total

    def check(self, value: Any, known: Known) -> None:
        if isinstance(value, (int, float)):
            value = np.asarray(value)[()]
        if not isinstance(value, (np.ndarray, np.generic)) or (type(value) is np.ndarray and value.ndim == 0):
            raise ValueError(f"it is {_shown(value)}")
        if value.dtype.kind not in self.kinds or not value.dtype.isnative or value.dtype == np.float16:
            raise ValueError(f"its type is {value.dtype}")
        try:
            known.bind_shape(self.dimensions, value.shape)
        except ValueError as error:
            raise ValueError(f"its shape is {value.shape} {error}".rstrip()) from None
        if value.size:
            self._check_values(value, known)

    def _check_values(self, value: Any, known: Known) -> None:
        lowest, highest = value.min(), value.max()  # NaN, if there is one
        if self.finite and not np.isfinite([lowest, highest]).all():
            raise ValueError("some are NaN or infinite")
        if lowest < self.low or highest > self.high or (self.above and lowest == self.low):
            raise ValueError(f"they lie between {lowest:.6g} and {highest:.6g}")
        if self.below is not None:
            known.indices.append((self.below, int(highest)))
        if self.increasing and not (value[1:] > value[:-1]).all():
            raise ValueError("they are not")
        if self.total is not None and not abs(float(value.sum()) - self.total) <= 1e-6:
            raise ValueError(f"their sum is {float(value.sum()):.6g}")

    def __str__(self) -> str:
        text = f"finite {self.what}" if self.finite and "f" in self.kinds else self.what
        text += f" {'>' if self.above else '≥'} {self.low:g}" * (self.low > -math.inf)
        text += f" below {self.below}" * (self.below is not None) + f" ≤ {self.high:g}" * (self.high < math.inf)
        text += " in increasing order" * self.increasing + f" with sum {self.total}" * (self.total is not None)
        shape = ", ".join(map(str, self.dimensions)) + "," * (len(self.dimensions) == 1)
        return f"{text} of shape ({shape})" if self.dimensions else f"one of {text}"


class Floats(Numbers):
    """Floating-point numbers, finite unless said otherwise."""

    kinds = "f"


class Integers(Numbers):
    """Whole numbers; ``below`` a dimension, they are indices into it."""

    kinds = "iu"
    what = "whole numbers"


class Booleans(Numbers):
    """True or false."""

    kinds = "b"
    what = "booleans"


class Number(Numbers):
    """One real number."""

    def __init__(self, low: float = -math.inf, high: float = math.inf, *, finite: bool = True) -> None:
        super().__init__(low=low, high=high, finite=finite)

    kinds = "iuf"


class Flag(Numbers):
    """True or False."""

    kinds = "b"
    what = "booleans"


class Count(Fitted):
    """A whole number ≥ ``low`` that a machine can count to; it gives the dimension ``name`` its size."""

    def __init__(self, name: str | None = None, low: int = 0, high: int = 2**63 - 1) -> None:
        self.name, self.low, self.high = name, low, high

    def check(self, value: Any, known: Known) -> None:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
        _require(whole and self.low <= int(value) <= self.high, value)
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
        _require(isinstance(value, str) and (not self.choices or value in self.choices), value)

    def __str__(self) -> str:
        return f"one of {self.choices}" if self.choices else "text"


class Names(Fitted):
    """An array of strings, as many as the dimension is large."""

    def __init__(self, dimension: str) -> None:
        self.dimension = dimension

    def check(self, value: Any, known: Known) -> None:
        _require(isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU", value)
        _require(all(isinstance(name, str) for name in value.tolist()), value)
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
        _require(isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufUSO", value)
        _require(self.low <= len(value) <= self.high and value.dtype.isnative, value)
        labels = value.tolist()
        plain = all(isinstance(label, (bool, int, float, str, bytes)) for label in labels)
        try:
            ordered = plain and all(a < b for a, b in pairwise(labels))
        except TypeError:
            ordered = False
        if not ordered or (value.dtype.kind == "f" and not np.isfinite(value).all()):
            raise ValueError(f"they are {_shown(labels)}")
        if self.name is not None:
            known.bind(self.name, len(value))
            known.bind("scores", 1 if len(value) == 2 else len(value))

    def __str__(self) -> str:
        return "different labels in increasing order"


class ListOf(Fitted):
    """A list (or tuple) of things of one kind, as many as the dimension is large."""

    def __init__(self, inner: Fitted, dimension: str | int | None = None, low: int = 0, *, kind: type = list) -> None:
        self.inner, self.dimension, self.low, self.kind = inner, dimension, low, kind

    def check(self, value: Any, known: Known) -> None:
        _require(type(value) is self.kind and len(value) >= self.low, value)
        if self.dimension is not None:
            try:
                known.bind(self.dimension, len(value))
            except ValueError as error:
                raise ValueError(f"there are {len(value)} {error}") from None
        for item in value:
            self.inner.check(item, known)

    def __str__(self) -> str:
        return f"a {self.kind.__name__}, each item of which is {self.inner}"


class Record(Fitted):
    """A tuple, or a dictionary, with one declaration for each place or key."""

    def __init__(self, *places: Fitted, **keys: Fitted) -> None:
        self.places, self.keys = places, keys

    def check(self, value: Any, known: Known) -> None:
        if self.places:
            _require(type(value) is tuple and len(value) == len(self.places), value)
            value, parts = dict(enumerate(value)), dict(enumerate(self.places))
        else:
            _require(type(value) is dict and set(value) == set(self.keys), value)
            parts = self.keys
        for key, part in parts.items():
            try:
                part.check(value[key], known)
            except ValueError as error:
                raise ValueError(f"its {key} must be {part}: {error}") from None

    def __str__(self) -> str:
        return f"a tuple of {len(self.places)}" if self.places else f"a dictionary with {', '.join(self.keys)}"


class Indexed(Fitted):
    """A dictionary from whole numbers below a dimension to things of one kind."""

    def __init__(self, below: str, inner: Fitted) -> None:
        self.below, self.inner = below, inner

    def check(self, value: Any, known: Known) -> None:
        _require(type(value) is dict, value)
        size = known.sizes.get(self.below, 0)
        for key, item in value.items():
            _require(type(key) is int and 0 <= key < size, key)
            self.inner.check(item, known)

    def __str__(self) -> str:
        return f"a dictionary by numbers below {self.below}, each item of which is {self.inner}"


class Options(Fitted):
    """A dictionary of anything by name, which only NumPy and scikit-learn are given."""

    def check(self, value: Any, known: Known) -> None:
        _require(type(value) is dict and all(isinstance(key, str) for key in value), value)

    def __str__(self) -> str:
        return "a dictionary by name"


class Anything(Fitted):
    """Any value, or any of the given types: what is never computed with, or checks itself."""

    def __init__(self, *types: type) -> None:
        self.types = types

    def check(self, value: Any, known: Known) -> None:
        _require(not self.types or isinstance(value, self.types), value)

    def __str__(self) -> str:
        return " or ".join(kind.__name__ for kind in self.types) or "anything"


class Model(Fitted):
    """A fitted estimator with the given methods; ``columns`` is the dimension that it takes."""

    def __init__(self, *methods: str, columns: str | None = None) -> None:
        self.methods, self.columns = methods, columns

    def check(self, value: Any, known: Known) -> None:
        able = not isinstance(value, type) and hasattr(value, "get_params")
        _require(able and all(hasattr(value, method) for method in self.methods), value)
        width = getattr(value, "n_features_in_", None)
        if self.columns is not None and width is not None:
            try:
                known.bind(self.columns, width)
            except ValueError as error:
                raise ValueError(f"one takes {width} columns {error}") from None

    def __str__(self) -> str:
        return f"a model with {' and '.join(self.methods) or 'parameters'}"


class Matrix(Fitted):
    """A sparse matrix of numbers with named dimensions; sparse matrices are checked when they are read."""

    def __init__(self, *dimensions: str, low: float = -math.inf) -> None:
        self.values = Floats("stored", low=low)
        self.dimensions = dimensions

    def check(self, value: Any, known: Known) -> None:
        _require(scipy.sparse.issparse(value), value)
        known.bind_shape(self.dimensions, value.shape)
        self.values.check(value.data, Known({}))

    def __str__(self) -> str:
        return f"a sparse matrix of shape ({', '.join(self.dimensions)})"


class TreesOf(Fitted):
    """Trees that are trees, over the columns that there are."""

    def __init__(self, columns: str = "d", outputs: str | None = None, trees: str | int = "trees") -> None:
        self.columns, self.outputs, self.trees = columns, outputs, trees

    def check(self, value: Any, known: Known) -> None:
        _require(isinstance(value, Trees), value)
        value.check(known.sizes.get(self.columns, 0))
        try:
            known.bind(self.trees, value.n_trees)
            if self.outputs is not None:
                known.bind(self.outputs, value.value.shape[1])
        except ValueError as error:
            raise ValueError(f"{value.n_trees} trees have {value.value.shape[1]} outputs {error}") from None

    def __str__(self) -> str:
        return "trees"


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


def _require(holds: bool, value: Any) -> None:
    if not holds:
        raise ValueError(f"it is {_shown(value)}")


def _shown(value: Any) -> str:
    text = f"an array of {value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
