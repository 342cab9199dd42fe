"""Where compiled kernels are kept: a cache on disk, and machine code that came with the package.

**The cache** is Numba's, read before all that only compiling needs is loaded (0.2 s). Numba looks for changes in a
kernel's own file only; kernels hold code of the kernels that they call, in other files too, so here an edit to a file
makes all kernels compile anew whose files mention it, directly or through others. Kernels that only kernels call
(``@inner_kernel``) have no files: their code is kept inside those that call them. A cache that cannot be read or
written is no reason to fail.

**Shipped code** lies in the folder ``shipped`` beside this file, if there is one: ``corollary warmup --package`` makes
it. It is for any processor of a level (x86-64-v3, which is AVX2 and FMA; any aarch64), for the Python and the Numba it
was made with, and for these very sources; where one of these differs it is not used. What the cache has comes first.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import platform
import re
from contextlib import suppress
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, InTreeCacheLocator
from numba.core.runtime import rtsys

TOP = os.path.dirname(__file__)
_MENTIONED = re.compile(rb"\b(corollary\._compiled(?:\.\w+)*)(?:[ \t]+import[ \t]*(\([^)]*\)|[^\n]*))?")
_NAME = re.compile(rb"\w+")
SHIPPED = os.path.join(TOP, "shipped")
SHIP = "COROLLARY_SHIP"  # the variable that names a folder to which compiled kernels are written as well
# by machine: the level, as the compiler calls it, and what a processor must have
LEVELS = {
    "x86_64": ("x86-64-v3", ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "xsave")),
    "aarch64": ("generic", ()),
}


def _look() -> dict[str, tuple[bytes, list[str]]]:
    """Every source file of compiled code: its hash, and the modules that it mentions. Takes a few ms."""
    found = {}
    for folder, folders, files in os.walk(TOP):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb") as source:
                    content = source.read()
                found[os.path.relpath(path, TOP)] = hashlib.sha256(content).digest(), _mentioned(content)
    return found


def _mentioned(content: bytes) -> list[str]:
    """Files that this source may import, by their places below ``TOP``; not all of them need to be there."""
    found = []
    for place, names in _MENTIONED.findall(content):
        base = place.decode().split(".")[2:]
        for module in (base, *([*base, name.decode()] for name in _NAME.findall(names))):
            path = os.path.join("", *module)
            found += [f"{path}.py", os.path.join(path, "__init__.py")]
    return found


_seen = functools.cache(_look)  # the sources that this process runs


def _stamp(start: str, sources: dict[str, tuple[bytes, list[str]]]) -> str:
    """A hash of the file ``start`` and of all that it mentions, that these mention, and so on: names and contents.

    A kernel holds code of these and of no others. Empty where there are none to see, as in a zip archive.
    """
    met, waiting = set[str](), [start]
    while waiting:
        path = waiting.pop()
        if path in sources and path not in met:
            met.add(path)
            waiting += sources[path][1]
    found = hashlib.sha256()
    for path in sorted(met):
        found.update(sources[path][0])
        found.update(path.encode())
    return found.hexdigest() if met else ""


def machine() -> str:
    """The kind of processor, by one name for each."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


@functools.cache
def _level() -> str | None:
    """The level of shipped code that this processor runs; None if there is no such code, or if it cannot."""
    name, needed = LEVELS.get(machine(), (None, ()))
    if name is None or not os.path.isdir(SHIPPED):
        return None
    has = llvm.get_host_cpu_features()
    return name if all(has.get(feature) for feature in needed) else None


class _FilePerSignature(IndexDataCacheFile):
    """A file for each signature of a kernel, named after it.

    Numba numbers these files in an index. Two processes that compile two signatures at once can take the same
    number, and one of them later runs the machine code of the other. A file ends with a hash of what is before it,
    so that damaged machine code is compiled anew and never run.
    """

    def _name(self, key: Any) -> str:
        number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8])
        return self._data_name(number)

    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name(key), (self._version, self._source_stamp, key, data))

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + hashlib.sha256(content).digest()  # which those who unpickle the content do not see

    def load(self, key: Any) -> Any:
        try:
            with open(self._data_path(self._name(key)), "rb") as file:
                content = file.read()
            if hashlib.sha256(content[:-32]).digest() != content[-32:]:
                return None
            version, stamp, kept, data = pickle.loads(content)  # as Numba reads it
        except Exception:  # not there, or not readable: then it is compiled, and written anew
            return None
        return data if (version, stamp, kept) == (self._version, self._source_stamp, key) else None


class _Nowhere(InTreeCacheLocator):
    """Where no folder can be written to: shipped code is still read."""

    def ensure_cache_path(self) -> None:
        raise OSError("There is no folder for compiled code.")

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file) if os.path.exists(py_file) else None


class _Places(CompileResultCacheImpl):
    _locator_classes = (*CompileResultCacheImpl._locator_classes, _Nowhere)


class KernelCache(FunctionCache):
    """What is kept of one kernel."""

    _impl_class = _Places

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        name = self._impl.filename_base
        self._file = os.path.relpath(function.__code__.co_filename, TOP)
        stamp = _stamp(self._file, _seen())
        self._cache_file = _FilePerSignature(self._cache_path, name, (self._impl.locator.get_source_stamp(), stamp))
        folder = os.path.dirname(self._file)
        self._shipped = _FilePerSignature(os.path.join(SHIPPED, folder), name, stamp)
        target = os.environ.get(SHIP)
        self._to_ship = None if not target else _FilePerSignature(os.path.join(target, folder), name, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # of sources edited while this process runs, it may hold some old and some new
            if _stamp(self._file, _look()) == _stamp(self._file, _seen()):
                super().save_overload(sig, data)
                if self._to_ship is not None and self._impl.check_cachable(data):
                    os.makedirs(self._to_ship._cache_path, exist_ok=True)
                    self._to_ship.save(self._index_key(sig, data.codegen), self._impl.reduce(data))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with suppress(OSError):
            found = self._load_overload(sig, target_context) or self._load_shipped(sig, target_context)
            return found or super().load_overload(sig, target_context)
        return None

    def _load_shipped(self, sig: Any, target_context: Any) -> Any:
        level = _level()
        if level is None or SHIP in os.environ:
            return None
        sig, (triple, _, _), code = self._index_key(sig, target_context.codegen())
        data = self._shipped.load((sig, (triple, level, ""), code))
        return None if data is None else self._impl.rebuild(target_context, data)
