"""Values of a model file that are built from text or from a list of simpler values, each checked before use."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse
from scipy.interpolate import BSpline

from corollary.core.evidence import Kind, Status
from corollary.core.types import Array
from corollary.io import classes
from corollary.io.errors import ModelFileError, short
from corollary.io.header import is_count, is_storable


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ModelFileError(f"it holds {short(value)} where text is expected")
    return value


def line(value: Any, limit: int = 1_000) -> str:
    """Text that is shown to people as it is: one line, of sensible length, that no terminal takes for commands."""
    if len(text(value)) > limit:
        raise ModelFileError(f"it holds {len(value):,} characters where at most {limit:,} are expected: {short(value)}")
    if any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in value):
        raise ModelFileError(f"it holds control characters where a line of text is expected: {short(value)}")
    return str(value)


def number(value: Any) -> Any:
    if not isinstance(value, Real):
        raise ModelFileError(f"it holds {short(value)} where a number is expected")
    return value


def whole(value: Any) -> int:
    if not is_count(value):
        raise ModelFileError(f"it holds {short(value)} where a non-negative integer is expected")
    return int(value)


def _one_of(value: Any, known: Any, what: str) -> Any:
    if not isinstance(value, str) or value not in known:
        raise ModelFileError(f"it names the {what} {short(value)}, which this version of corollary does not know")
    return value


LABELS = (str, int, float, bool)  # of the rows and columns of a frame


def _dtype(name: str) -> np.dtype[Any]:
    if name != "|O" and not is_storable(name):
        raise ModelFileError(f"it names the dtype {short(name)}")
    return np.dtype(name)


def _missing(name: str) -> Any:
    import pandas

    return getattr(pandas, _one_of(name, ("NA", "NaT"), "missing value"))


FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "bytes": lambda code: base64.b64decode(code, validate=True),
    "dtype": _dtype,
    "float": lambda name: float(_one_of(name, ("nan", "inf", "-inf"), "float")),
    "function": classes.resolve_function,
    "missing": _missing,
    "kind": lambda name: Kind[_one_of(name, Kind.__members__, "kind")],
    "status": lambda name: Status[_one_of(name, Status.__members__, "status")],
    "type": lambda name: classes.TYPES[_one_of(name, classes.TYPES, "type")],
}


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(number(real), number(imaginary))


def _range(start: Any, stop: Any, step: Any) -> range:
    if not all(type(part) is int for part in (start, stop, step)):
        raise ModelFileError(f"it holds a range of {short((start, stop, step))}")
    return range(start, stop, step)


def _objects(shape: Any, items: Any) -> Array:
    if not isinstance(shape, list) or not isinstance(items, list):
        raise ModelFileError("it holds an array of objects without a shape or without its items")
    flat = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        flat[index] = item
    return flat.reshape([whole(size) for size in shape])


def _scalar(name: Any, value: Any) -> Any:
    if name == "str":
        return np.str_(text(value))
    if name == "array" and isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    dtype = np.dtype(_one_of(name, classes.SCALARS, "scalar type"))
    if type(value) is not {"b": bool, "f": float}.get(dtype.kind, int):
        raise ModelFileError(f"it holds {short(value)} where a {name} is expected")
    return dtype.type(value)


def _sparse(form: Any, flavour: Any, shape: Any, *arrays: Any) -> Any:
    if form not in ("csr", "csc", "coo") or flavour not in ("array", "matrix") or not isinstance(shape, list):
        raise ModelFileError(f"it holds a sparse matrix of unknown kind {short((form, flavour, shape))}")
    if len(arrays) != 3 or not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in arrays):
        raise ModelFileError("it holds a sparse matrix without its three arrays")
    data, first, second = arrays
    if first.dtype.kind != "i" or second.dtype.kind != "i" or data.dtype.kind not in "biufc":
        raise ModelFileError("it holds a sparse matrix whose indices are not integers")
    parts = (data, (first, second)) if form == "coo" else (data, first, second)
    # compiled code trusts these indices, and SciPy's own check subtracts them in their type, where they may overflow
    if form != "coo" and not (second.size and second[0] == 0 and np.all(second[1:] >= second[:-1])):
        raise ModelFileError("it holds a sparse matrix whose rows or columns do not follow each other")
    matrix = getattr(scipy.sparse, f"{form}_{flavour}")(parts, shape=tuple(map(whole, shape)))
    if form != "coo":
        matrix.check_format(full_check=True)
    return matrix


def _frame(columns: Any, index: Any, values: Any) -> Any:
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ModelFileError("it holds a frame that is not a table of numbers")
    for labels, size in ((columns, values.shape[1]), (index, values.shape[0])):
        if not isinstance(labels, list) or len(labels) != size or any(type(each) not in LABELS for each in labels):
            raise ModelFileError(f"it holds a frame whose rows or columns are called {short(labels)}")
    import pandas

    return pandas.DataFrame(values, index=index, columns=columns)


def _spline(knots: Any, coefficients: Any, degree: Any, extrapolate: Any) -> Any:
    if not isinstance(extrapolate, bool) and extrapolate != "periodic":
        raise ModelFileError(f"it holds a spline that extrapolates by {short(extrapolate)}")
    return BSpline(knots, coefficients, whole(degree), extrapolate)


def _random_state(key: Any, position: Any, has_gauss: Any, gauss: Any) -> np.random.RandomState:
    if not isinstance(key, np.ndarray) or key.dtype != np.uint32 or key.shape != (624,):
        raise ModelFileError("it holds a random state that is not 624 numbers")
    if whole(position) > 624 or whole(has_gauss) > 1:
        raise ModelFileError("it holds a random state at an impossible position")
    state = np.random.RandomState()
    state.set_state(("MT19937", key, position, has_gauss, float(number(gauss))))
    return state


FROM_VALUES: dict[str, Callable[..., Any]] = {
    "complex": _complex,
    "frame": _frame,
    "objects": _objects,
    "random_state": _random_state,
    "range": _range,
    "scalar": _scalar,
    "slice": lambda start, stop, step: slice(start, stop, step),
    "sparse": _sparse,
    "spline": _spline,
    "tuple": lambda *items: items,
}
