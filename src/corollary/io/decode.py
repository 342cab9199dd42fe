"""From the tree in ``model.json`` back to a model.

Every function here treats its input as hostile. Nothing is imported, constructed or called that is not named in this
file, ``values.py`` or ``classes.py``; an estimator is made without its ``__init__`` and given its attributes as data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.io import classes, invariants
from corollary.io.encode import DEPTH_LIMIT
from corollary.io.errors import ModelFileError, short
from corollary.io.header import Header, Json
from corollary.io.values import FROM_TEXT, FROM_VALUES, line, number, text, whole

_EASY_KEY_LIMIT = 2**60
_HARD_KEY_COUNT = 4_096
_NOTES, _NOTE = 1_000, 10_000  # notes in evidence, and characters in one of them
_EVIDENCE = {"status": Status, "certificate": Certificate, "solver": str, "n_iter": Integral, "seconds": Real}
_EVIDENCE |= {"history": dict, "facts": dict, "notes": tuple}


def decode_model(header: Header, array: Callable[[int], Array]) -> tuple[Any, set[str]]:
    """The model that a header describes, and the ids of its classes; ``array(n)`` gives its n-th array."""
    decoder = Decoder(array)
    model = decoder.decode(header.model)
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"it holds a {type(model).__name__} where an estimator is expected")
    if decoder.used != set(range(len(header.arrays))):
        raise ModelFileError("it holds arrays that the model does not use")
    return model, decoder.class_ids


class Decoder:
    """Decodes the values of one file."""

    def __init__(self, array: Callable[[int], Array]) -> None:
        self.used: set[int] = set()
        self.class_ids: set[str] = set()
        self._array = array
        self._depth = 0
        self._hard_keys = 0

    def decode(self, node: Json) -> Any:
        if node is None or isinstance(node, bool | int | float | str):
            return node
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise ModelFileError(f"its values are nested more than {DEPTH_LIMIT} levels deep")
        value = self._all_of(node) if isinstance(node, list) else self._tagged(node)
        self._depth -= 1
        return value

    def _tagged(self, node: dict[str, Json]) -> Any:
        kind, content = next(iter(node.items())) if len(node) == 1 else (None, None)
        if kind in FROM_TEXT:
            return FROM_TEXT[kind](text(content))
        if kind in FROM_VALUES:
            return FROM_VALUES[kind](*self._all_of(content))
        if kind in self._KINDS:
            return self._KINDS[kind](self, content)
        raise ModelFileError(f"it holds a value of unknown kind {short(list(node))}")

    def _all_of(self, content: Json) -> list[Any]:
        return [self.decode(item) for item in _list(content)]

    def _array_number(self, content: Json) -> Array:
        self.used.add(whole(content))
        return self._array(content)

    def _key(self, node: Json) -> Any:
        """A key of a dictionary or set. Text cannot be chosen to collide in a hash table; other keys can, so few."""
        key = self.decode(node)
        easy = isinstance(key, str | bytes | None) or (isinstance(key, Integral) and abs(int(key)) < _EASY_KEY_LIMIT)
        self._hard_keys += not easy
        if self._hard_keys > _HARD_KEY_COUNT:
            raise ModelFileError(f"it holds more than {_HARD_KEY_COUNT} keys that are neither text nor integers")
        return key

    def _dict(self, content: Json) -> dict[str, Any]:
        return {key: self.decode(item) for key, item in _object(content).items()}

    def _items(self, content: Json) -> dict[Any, Any]:
        pairs = _list(content)
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ModelFileError(f"it holds {short(content)} where pairs of keys and values are expected")
        found = {self._key(key): self.decode(item) for key, item in pairs}
        if len(found) != len(pairs):
            raise ModelFileError("it holds a dictionary with the same key twice")
        return found

    def _set(self, content: Json) -> set[Any]:
        return {self._key(item) for item in _list(content)}

    def _record(self, cls: Any, content: Json) -> dict[str, Any]:
        if not set(_object(content)) <= {field.name for field in fields(cls)}:
            raise ModelFileError(f"it holds {cls.__name__.lower()} with the entries {short(sorted(content))}")
        return self._dict(content)

    def _certificate(self, content: Json) -> Certificate:
        values = self._record(Certificate, content)
        name, kind = line(values["name"]), values.get("kind")
        if kind is None:  # version 0.1 did not say: claim no more than its name does
            kind = Kind.OPTIMAL if name == "relative duality gap" else Kind.CHECKED
        if not isinstance(kind, Kind):
            raise ModelFileError(f"it holds a certificate whose kind is {short(kind)}")
        value, tolerance = _real(values["value"]), _real(values["tolerance"])
        # a measure is not negative, but for its rounding; NaN and infinity are those of a fit that failed
        if not 0 <= tolerance < math.inf or value < -tolerance:
            raise ModelFileError(f"it holds a certificate of {short(value)} with the tolerance {short(tolerance)}")
        return Certificate(kind, name, value, tolerance)

    def _evidence(self, content: Json) -> Evidence:
        evidence = Evidence(**self._record(Evidence, content))
        for name, kind in _EVIDENCE.items():
            if not isinstance(getattr(evidence, name), kind):
                raise ModelFileError(f"it holds evidence whose {name} is {short(getattr(evidence, name))}")
        line(evidence.solver)
        if len(evidence.notes) > _NOTES:
            raise ModelFileError(f"it holds evidence with {len(evidence.notes):,} notes; the limit is {_NOTES:,}")
        for note in evidence.notes:
            line(note, _NOTE)
        for name, value in {**evidence.facts, **evidence.history}.items():
            line(name)
            if name in evidence.history or not isinstance(value, Real):
                _column(value)
        if not 0 <= _real(evidence.n_iter) <= 2**53 or not 0 <= _real(evidence.seconds) < math.inf:
            told = f"{short(evidence.n_iter)} iterations in {short(evidence.seconds)} s"
            raise ModelFileError(f"it holds evidence of {told}")
        return replace(evidence, n_iter=int(evidence.n_iter))

    def _trees(self, content: Json) -> Trees:
        values = self._record(Trees, content)
        try:
            # walks are compiled for arrays in C order, and would be compiled anew for others
            trees = Trees(**{name: np.ascontiguousarray(value) for name, value in values.items()})
            trees.check()
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            raise ModelFileError(f"it holds trees that are not trees: {error}") from None
        return trees

    def _part(self, content: Json) -> Any:
        """A loss, a penalty or the like: its own ``__init__`` holds the parameters against their limits."""
        if set(_object(content)) != {"class", "parameters"}:
            raise ModelFileError(f"it holds a part with the entries {short(sorted(content))}")
        cls = classes.resolve_part(content["class"])
        parameters = self._dict(content["parameters"])
        if not set(parameters) <= set(cls.parameter_names()):
            raise ModelFileError(f"it holds a {cls.__name__} with the parameters {short(sorted(parameters))}")
        try:
            return cls(**parameters)
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"it holds a {cls.__name__} that cannot be: {error}") from None

    def _estimator(self, content: Json) -> Any:
        if set(_object(content)) != {"class", "attributes"}:
            raise ModelFileError(f"it holds an estimator with the entries {short(sorted(content))}")
        class_id = content["class"]
        cls = classes.resolve_class(class_id)
        self.class_ids.add(class_id)
        model = object.__new__(cls)
        for name, node in _object(content["attributes"]).items():
            classes.check_attribute(cls, name)
            vars(model)[name] = _routing(node, model) if name == "_metadata_request" else self.decode(node)
        invariants.fill_in_parameters(model)
        invariants.check(class_id, model)
        return model

    _KINDS: dict[str, Callable[[Decoder, Json], Any]] = {  # noqa: RUF012 - never changed
        "array": _array_number,
        "certificate": _certificate,
        "dict": _dict,
        "estimator": _estimator,
        "evidence": _evidence,
        "trees": _trees,
        "frozenset": lambda self, content: frozenset(self._set(content)),
        "items": _items,
        "part": _part,
        "set": _set,
    }


def _routing(node: Json, owner: Any) -> Any:
    request = MetadataRequest(owner=owner)
    for method, flags in _object(_object(node).get("routing")).items():
        if method == "owner" or method not in vars(request):
            raise ModelFileError(f"it routes metadata to the unknown method {short(method)}")
        for name, alias in _object(flags).items():
            vars(request)[method].add_request(param=name, alias=alias)
    return request


def _real(value: Any) -> Any:
    if isinstance(value, bool):
        raise ModelFileError(f"it holds {value} where a number is expected")
    return number(value)


def _column(values: Any) -> None:
    """A column of a history, or a fact of many numbers: in a list, a tuple or an array."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "iuf":
            raise ModelFileError(f"it holds a history of {values.dtype} of shape {values.shape}")
    elif isinstance(values, list | tuple):
        for value in values:
            _real(value)
    else:
        raise ModelFileError(f"it holds a history of {short(values)}")


def _object(node: Json) -> dict[str, Json]:
    if not isinstance(node, dict):
        raise ModelFileError(f"it holds {short(node)} where named values are expected")
    return node


def _list(node: Json) -> list[Json]:
    if not isinstance(node, list):
        raise ModelFileError(f"it holds {short(node)} where a list is expected")
    return node
