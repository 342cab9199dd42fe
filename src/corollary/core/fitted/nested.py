"""Values that hold others: lists, records, dictionaries, models and trees."""

from __future__ import annotations

from typing import Any

from corollary.core.fitted.base import Fitted, Known, require
from corollary.core.trees import Trees


class ListOf(Fitted):
    """A list (or tuple) of things of one kind, as many as the dimension is large."""

    def __init__(
        self, inner: Fitted, dimension: str | int | None = None, low: int = 0, *, kind: type[Any] = list
    ) -> None:
        self.inner, self.dimension, self.low, self.kind = inner, dimension, low, kind

    def check(self, value: Any, known: Known) -> None:
        require(type(value) is self.kind and len(value) >= self.low, value)
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
        parts: dict[Any, Fitted] = {**self.keys, **dict(enumerate(self.places))}
        if self.places:
            require(type(value) is tuple and len(value) == len(self.places), value)
            value = dict(enumerate(value))
        else:
            require(type(value) is dict and set(value) == set(self.keys), value)
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
        require(type(value) is dict, value)
        size = known.sizes.get(self.below, 0)
        for key, item in value.items():
            require(type(key) is int and 0 <= key < size, key)
            self.inner.check(item, known)

    def __str__(self) -> str:
        return f"a dictionary by numbers below {self.below}, each item of which is {self.inner}"


class Options(Fitted):
    """A dictionary of anything by name, which only NumPy and scikit-learn are given."""

    def check(self, value: Any, known: Known) -> None:
        require(type(value) is dict and all(isinstance(key, str) for key in value), value)

    def __str__(self) -> str:
        return "a dictionary by name"


class Model(Fitted):
    """A fitted estimator with the given methods; ``columns`` is the dimension that it takes."""

    def __init__(self, *methods: str, columns: str | None = None) -> None:
        self.methods, self.columns = methods, columns

    def check(self, value: Any, known: Known) -> None:
        able = not isinstance(value, type) and hasattr(value, "get_params")
        require(able and all(hasattr(value, method) for method in self.methods), value)
        width = getattr(value, "n_features_in_", None)
        if self.columns is not None and width is not None:
            try:
                known.bind(self.columns, width)
            except ValueError as error:
                raise ValueError(f"one takes {width} columns {error}") from None

    def __str__(self) -> str:
        return f"a model with {' and '.join(self.methods) or 'parameters'}"


class TreesOf(Fitted):
    """Trees that are trees, over the columns that there are."""

    def __init__(self, columns: str = "d", outputs: str | None = None, trees: str | int = "trees") -> None:
        self.columns, self.outputs, self.trees = columns, outputs, trees

    def check(self, value: Any, known: Known) -> None:
        require(isinstance(value, Trees), value)
        value.check(known.sizes.get(self.columns, 0))
        try:
            known.bind(self.trees, value.n_trees)
            if self.outputs is not None:
                known.bind(self.outputs, value.value.shape[1])
        except ValueError as error:
            raise ValueError(f"{value.n_trees} trees have {value.value.shape[1]} outputs {error}") from None

    def __str__(self) -> str:
        return "trees"
