"""A text that tells a value from every other that would give other results: what a file of finished fits is about."""

from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import sys
from collections.abc import Iterator, Mapping, Set
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any

import joblib
import numpy as np

_PLAIN = (type(None), bool, int, float, complex, str, bytes, slice, range)
_LIBRARIES = ("corollary", "sklearn", "numpy", "scipy")


def versions() -> str:
    """Of Python and of the libraries that fits depend on."""
    found = {name: getattr(sys.modules.get(name), "__version__", "–") for name in _LIBRARIES}
    return ", ".join(f"{name} {version}" for name, version in {"python": sys.version.split()[0], **found}.items())


def identity(value: Any) -> str:
    """The same text in every process for what is the same, and another for what is not.

    Of arrays and tables it is their hash, of models and other objects their class and what they hold, of functions
    their code with the values that it reads from outside; what belongs to a library goes by name and version.
    """
    return _Describing().of(value)


class _Describing:
    def __init__(self) -> None:
        self.open: list[int] = []  # what is being described, so that what refers to itself comes to an end

    def of(self, value: Any) -> str:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, _PLAIN):
            return repr(value)
        if not isinstance(value, (ModuleType, type)) and (hasattr(value, "dtype") or hasattr(value, "iloc")):
            return f"{type(value).__name__} {joblib.hash(value)}"
        if id(value) in self.open:
            return f"↑{len(self.open) - self.open.index(id(value))}"
        self.open.append(id(value))
        try:
            return self._whole(value)
        finally:
            self.open.pop()

    def _whole(self, value: Any) -> str:
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{self.of(key)}: {self.of(each)}" for key, each in value.items()) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(self.of, value)) + "]"
        if isinstance(value, Set):
            return "{" + ", ".join(sorted(map(self.of, value))) + "}"
        if isinstance(value, (ModuleType, type, BuiltinFunctionType, np.ufunc)) or inspect.isroutine(value):
            return self._named(value)
        return f"{self.of(type(value))}({self._held(value)})"

    def _named(self, value: Any) -> str:
        """Of what has a name: where it comes from; and what it does, unless a version says that."""
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, ModuleType):
            return f"{self.of(owner)}.{value.__name__}"
        name = f"{getattr(value, '__module__', None) or ''}.{getattr(value, '__qualname__', value.__name__)}"
        version = _version(value)
        if version is not None:
            return f"{name} {version}".strip()
        if isinstance(value, type):
            inside = {key: _function_in(each) for key, each in sorted(vars(value).items())}
            kept = {key: each for key, each in inside.items() if each is not None}
            return f"{name}{self.of(value.__bases__)}{self.of(kept)}"
        return f"{name} {self._function(value)}" if inspect.isfunction(value) else name

    def _function(self, value: Any) -> str:
        codes = list(_codes(value.__code__))
        outside = {name: value.__globals__[name] for name in _read_names(codes) if name in value.__globals__}
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        constants = [[each for each in code.co_consts if not isinstance(each, CodeType)] for code in codes]
        does = joblib.hash([(code.co_code, code.co_names, code.co_varnames) for code in codes])
        return f"{does} {self.of([constants, value.__defaults__, value.__kwdefaults__, cells, outside])}"

    def _held(self, value: Any) -> str:
        """What an object is made of."""
        if hasattr(value, "get_params"):
            return self.of(dict(sorted(value.get_params(deep=False).items())))
        if isinstance(value, functools.partial):
            return self.of([value.func, value.args, value.keywords])
        if isinstance(value, np.random.Generator):
            return self.of(value.bit_generator.state)
        if isinstance(value, np.random.RandomState):
            return self.of(value.get_state(legacy=False))
        if hasattr(value, "dist") and hasattr(value, "kwds"):  # a distribution of SciPy, with its arguments
            return self.of([value.dist.name, value.args, value.kwds])
        if hasattr(value, "py_func"):  # compiled by Numba
            return self.of(value.py_func)
        if dataclasses.is_dataclass(value):
            return self.of({each.name: getattr(value, each.name) for each in dataclasses.fields(value)})
        if getattr(type(value), "__repr__", None) is not object.__repr__ and not callable(value):
            return repr(value)
        if hasattr(value, "__dict__"):
            return self.of(dict(sorted(vars(value).items())))
        raise ValueError(
            f"resume: a {type(value).__name__} cannot be told from others of its kind; leave resume out, or pass a "
            "function or an object with get_params."
        )


def _version(value: Any) -> str | None:
    """Of the library that this belongs to; empty for Python's own; None for the user's."""
    top = (value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or "").split(".")[0]
    if isinstance(value, np.ufunc):
        top = "numpy"
    if top != "__main__" and top in sys.stdlib_module_names:
        return ""
    return getattr(sys.modules.get(top), "__version__", None)


def _function_in(member: Any) -> Any:
    """What a member of a class does, or its value if it is a plain one; None for the rest."""
    for name in ("__func__", "fget", "fn"):  # static and class methods, properties, methods that depend on parameters
        member = getattr(member, name, member)
    return member if inspect.isfunction(member) or isinstance(member, (int, float, tuple)) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _read_names(codes: list[CodeType]) -> list[str]:
    """Of the global variables that code reads."""
    return sorted({str(step.argval) for code in codes for step in dis.get_instructions(code)
                   if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")})  # fmt: skip
