"""A model as a tree of JSON values and a list of arrays.

None, booleans, integers, finite floats, text and lists stand for themselves. Everything else is an object with one
entry, ``{kind: content}``; ``decode.py`` and ``values.py`` list the kinds.
"""

from __future__ import annotations

import base64
import functools
import math
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse
from scipy.interpolate import BSpline
from sklearn.utils.metadata_routing import MetadataRequest

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.part import Part
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.io import classes
from corollary.io.errors import ModelFileError
from corollary.io.header import Json, is_storable
from corollary.io.places import Place, describe, is_named, of_element
from corollary.io.values import LABELS

DEPTH_LIMIT = 64
_INTEGER_LIMIT = 10**38

_Handler = Callable[["Encoder", Any, Place], Json]


class Encoder:
    """Encodes one model; ``arrays`` fills up with its arrays, each stored once however often it is used."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        # original arrays stay referenced so that no two can have the same id
        self._numbers: dict[int, tuple[int, Any]] = {}
        self._open: list[int] = []

    def encode(self, value: Any, place: Place = ()) -> Json:
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            if abs(value) >= _INTEGER_LIMIT:
                raise _refusal(place, f"an integer of {value.bit_length()} bits is too large for a model file")
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        handler = _HANDLERS.get(type(value)) or _handler_of_family(value)
        if id(value) in self._open:
            raise _refusal(place, "it contains itself; a model file cannot hold a reference cycle")
        if len(self._open) >= DEPTH_LIMIT:
            raise _refusal(place, f"it is nested more than {DEPTH_LIMIT} levels deep")
        self._open.append(id(value))
        try:
            return handler(self, value, place)
        finally:
            self._open.pop()

    def all_of(self, values: Iterable[Any], place: Place) -> list[Json]:
        return [self.encode(item, of_element(place, index, item)) for index, item in enumerate(values)]

    def mapping(self, value: Any, place: Place) -> Json:
        if all(type(key) is str for key in value):
            return {"dict": {key: self.encode(item, (*place, f"[{key!r}]")) for key, item in value.items()}}
        pairs = ((key, item, (*place, f"[{key!r}]")) for key, item in value.items())
        return {"items": [[self.encode(key, at), self.encode(item, at)] for key, item, at in pairs]}

    def tuple_(self, value: tuple[Any, ...], place: Place) -> Json:
        if is_named(value):  # ("clf", model) is already called by its name
            return {"tuple": [self.encode(item, place) for item in value]}
        return {"tuple": self.all_of(value, place)}

    def array(self, value: Array, place: Place) -> Json:
        if value.dtype.hasobject:
            if value.dtype.kind != "O":
                raise _refusal(place, f"arrays of dtype {value.dtype} cannot be stored")
            return {"objects": [list(value.shape), self.all_of(value.ravel().tolist(), place)]}
        if not is_storable(value.dtype.str):
            raise _refusal(place, f"arrays of dtype {value.dtype} cannot be stored; convert it to float64 or text")
        if id(value) not in self._numbers:
            self._numbers[id(value)] = (len(self.arrays), value)
            contiguous = value.flags.c_contiguous or value.flags.f_contiguous
            self.arrays.append(np.asarray(value) if contiguous else np.array(value, order="C"))
        return {"array": self._numbers[id(value)][0]}

    def scalar(self, value: np.generic, place: Place) -> Json:
        if isinstance(value, np.str_):
            return {"scalar": ["str", str(value)]}
        if value.dtype.name in classes.SCALARS:
            return {"scalar": [value.dtype.name, self.encode(value.item(), place)]}
        return {"scalar": ["array", self.array(np.asarray(value), place)]}

    def sparse(self, value: Any, place: Place) -> Json:
        parts = ("data", "row", "col") if value.format == "coo" else ("data", "indices", "indptr")
        flavour = "matrix" if isinstance(value, scipy.sparse.spmatrix) else "array"
        arrays = [self.encode(getattr(value, part), (*place, part)) for part in parts]
        return {"sparse": [value.format, flavour, list(map(int, value.shape)), *arrays]}

    def frame(self, value: Any, place: Place) -> Json:
        values, (index, columns) = value.to_numpy(), (axis.tolist() for axis in value.axes)
        if values.dtype.kind not in "biuf" or any(type(label) not in LABELS for label in (*columns, *index)):
            raise _refusal(place, "only frames of numbers whose rows and columns have plain names can be stored")
        return {"frame": [self.all_of(columns, place), self.all_of(index, place), self.encode(values, place)]}

    def spline(self, value: Any, place: Place) -> Json:
        if value.axis != 0:
            raise _refusal(place, "only splines along the first axis can be stored")
        return {"spline": [self.encode(part, place) for part in (value.t, value.c, int(value.k), value.extrapolate)]}

    def random_state(self, value: np.random.RandomState, place: Place) -> Json:
        name, key, position, has_gauss, gauss = value.get_state(legacy=True)
        if name != "MT19937":
            raise _refusal(place, f"a RandomState of {name} cannot be stored; use an integer seed")
        return {"random_state": [self.encode(np.asarray(key), place), int(position), int(has_gauss), float(gauss)]}

    def function(self, value: Any, place: Place) -> Json:
        function_id = classes.identify_function(value)
        if function_id is None:
            name = getattr(value, "__qualname__", repr(value))
            raise _refusal(
                place, f"the function {name} cannot be stored: a file that could name any function could run any code"
            )
        return {"function": function_id}

    def type_object(self, value: type[Any], place: Place) -> Json:
        name = classes.identify_type(value)
        if name is None:
            raise _refusal(place, f"the class {value.__module__}.{value.__qualname__} cannot be stored as a value")
        return {"type": name}

    def dtype_object(self, value: np.dtype[Any], place: Place) -> Json:
        if not is_storable(value.str) and value.kind != "O":
            raise _refusal(place, f"the dtype {value} cannot be stored")
        return {"dtype": value.str}

    def record(self, value: Any, place: Place) -> Json:
        content = {field.name: getattr(value, field.name) for field in fields(value)}
        return {type(value).__name__.lower(): self._named(content, place)}

    def part(self, value: Part, place: Place) -> Json:
        cls = type(value)
        part_id = classes.identify_part(cls)
        if part_id is None:
            raise _refusal(
                place,
                f"the {cls.kind} {cls.__name__} is not one of corollary's, and a file cannot hold its code; call "
                f"corollary.register_part({cls.__name__}) here and in every process that loads the file",
            )
        return {"part": {"class": part_id, "parameters": self._named(value.parameters, place)}}

    def _named(self, values: dict[str, Any], place: Place) -> dict[str, Json]:
        return {name: self.encode(item, (*place, name)) for name, item in values.items()}

    def estimator(self, value: Any, place: Place) -> Json:
        cls = type(value)
        attributes = {}
        for name, item in vars(value).items():
            if name in classes.RUNTIME_ONLY or isinstance(getattr(cls, name, None), functools.cached_property):
                continue
            at = (*place, name)
            attributes[name] = routing(item) if isinstance(item, MetadataRequest) else self.encode(item, at)
        return {"estimator": {"class": classes.identify_class(cls), "attributes": attributes}}


def routing(request: Any) -> Json:
    """What ``set_fit_request(sample_weight=True)`` and its sisters left behind; plain flags and names."""
    methods = {name: method for name, method in vars(request).items() if name != "owner"}
    return {"routing": {name: dict(method.requests) for name, method in methods.items() if method.requests}}


def _refusal(place: Place, reason: str) -> ModelFileError:
    return ModelFileError(f"{describe(place)}: {reason}")


def _handler_of_family(value: Any) -> _Handler:
    """The handler of what is recognised by more than its exact type."""
    if isinstance(value, np.generic):
        return Encoder.scalar
    if isinstance(value, np.dtype):
        return Encoder.dtype_object
    if isinstance(value, type):
        return Encoder.type_object
    if isinstance(value, Part):
        return Encoder.part
    if classes.identify_class(type(value)) is not None:
        return Encoder.estimator
    if callable(value) and not hasattr(value, "get_params"):
        return Encoder.function
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        if isinstance(value, pandas.Index):  # names of columns, for which scikit-learn takes a list just as well
            return lambda encoder, index, place: encoder.all_of(index.tolist(), place)
        if isinstance(value, pandas.DataFrame):
            return Encoder.frame
        if value is pandas.NA or value is pandas.NaT:
            return lambda encoder, missing, place: {"missing": "NA" if missing is pandas.NA else "NaT"}
    return _refuse


def _refuse(encoder: Encoder, value: Any, place: Place) -> Json:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if not hasattr(value, "get_params"):
        raise _refusal(place, f"a value of type {name} cannot be stored in a model file")
    raise _refusal(
        place,
        f"{name} cannot be stored: model files hold corollary's estimators and the transformers of scikit-learn "
        "listed in docs/saving.md; replace that part, or pickle the model if only you will load it",
    )


_HANDLERS: dict[type[Any], _Handler] = {
    list: Encoder.all_of,
    tuple: Encoder.tuple_,
    dict: Encoder.mapping,
    types.MappingProxyType: Encoder.mapping,
    set: lambda encoder, value, place: {"set": encoder.all_of(sorted(value, key=repr), place)},
    frozenset: lambda encoder, value, place: {"frozenset": encoder.all_of(sorted(value, key=repr), place)},
    slice: lambda encoder, value, place: {"slice": encoder.all_of((value.start, value.stop, value.step), place)},
    range: lambda encoder, value, place: {"range": [value.start, value.stop, value.step]},
    bytes: lambda encoder, value, place: {"bytes": base64.b64encode(value).decode("ascii")},
    complex: lambda encoder, value, place: {"complex": encoder.all_of((value.real, value.imag), place)},
    np.ndarray: Encoder.array,
    np.memmap: Encoder.array,
    np.random.RandomState: Encoder.random_state,
    BSpline: Encoder.spline,
    Kind: lambda encoder, value, place: {"kind": value.name},
    Status: lambda encoder, value, place: {"status": value.name},
    Certificate: Encoder.record,
    Evidence: Encoder.record,
    Trees: Encoder.record,
}
for _kind in ("csr", "csc", "coo"):
    for _flavour in ("array", "matrix"):
        _HANDLERS[getattr(scipy.sparse, f"{_kind}_{_flavour}")] = Encoder.sparse
