"""``model.json``, the first member of a model file: what is in the file, and how each array must look.

Whatever a header says about an array (type, shape, order, hash) fixes the bytes of its ``.npy`` file completely, so
sizes are known before anything is allocated, and nothing in an ``.npy`` file needs to be interpreted.
"""

from __future__ import annotations

import functools
import json
import math
import re
from dataclasses import asdict, dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from corollary.io.card import ModelCard, parse_card
from corollary.io.errors import ModelFileError, short

Json: TypeAlias = Any

FORMAT = "corollary-model"
FORMAT_VERSION = 2  # 1: without a card, which is how files without one are still written
HEADER_LIMIT = 64 * 2**20
ARRAY_COUNT_LIMIT = 50_000
_DIGIT_LIMIT = 39  # of an integer: 128 bits
_DIMENSION_LIMIT = 32
_KEYS = {"format", "format_version", "created", "versions", "arrays", "model"}
_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c(8|16)|[SU][1-9]\d{0,8}|[mM]8(\[\d{0,9}[A-Za-z]{1,2}\])?)")


@dataclass(frozen=True)
class ArrayEntry:
    """One array of the file, as ``model.json`` declares it."""

    dtype: str
    shape: tuple[int, ...]
    fortran: bool
    sha256: str

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def prefix(self) -> bytes:
        return npy_prefix(self.dtype, self.shape, self.fortran)


@dataclass(frozen=True)
class Header:
    """The content of ``model.json``."""

    format_version: int
    created: str
    versions: dict[str, str]
    arrays: tuple[ArrayEntry, ...]
    model: Json
    card: ModelCard | None = None

    def to_bytes(self) -> bytes:
        content = {"format": FORMAT, **{name: getattr(self, name) for name in self.__dataclass_fields__}}
        content["arrays"] = [asdict(entry) for entry in self.arrays]
        if self.card is None:
            del content["card"]
        else:
            content["card"] = self.card.to_json()
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def npy_prefix(dtype: str, shape: tuple[int, ...], fortran: bool) -> bytes:
    """What stands before the data in an ``.npy`` file of version 1.0."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    length = -(-(10 + len(text) + 1) // 64) * 64 - 10  # the data begin at a multiple of 64 bytes
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + f"{text:<{length - 1}}\n".encode("ascii")


def is_storable(dtype: str) -> bool:
    return _DTYPE.fullmatch(dtype) is not None


def parse_header(data: bytes) -> Header:
    """Read and check ``model.json``; the tree under ``model`` is checked when it is decoded."""
    if len(data) > HEADER_LIMIT:
        raise ModelFileError(f"its description of the model takes {len(data):,} bytes; the limit is {HEADER_LIMIT:,}")
    content = parse_json(data)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError("it is a zip file, but not one that corollary wrote")
    version: Json = content.get("format_version")
    if not is_count(version) or version == 0:
        raise ModelFileError(f"its format version is {short(version)}, expected a positive integer")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"it has format version {version} and this corollary reads up to {FORMAT_VERSION}; upgrade corollary"
        )
    expected = _KEYS | ({"card"} if version > 1 else set())
    if set(content) != expected:
        raise ModelFileError(f"its header has the entries {short(sorted(content))}, expected {sorted(expected)}")
    created, versions, arrays = content["created"], content["versions"], content["arrays"]
    if not _is_label(created) or not isinstance(versions, dict) or not all(map(_is_label, versions.values())):
        raise ModelFileError("its header does not say when and with which versions it was written")
    if not {"corollary", "scikit-learn"} <= set(versions):
        raise ModelFileError("its header does not say when and with which versions it was written")
    if not isinstance(arrays, list) or len(arrays) > ARRAY_COUNT_LIMIT:
        raise ModelFileError(f"its header must list at most {ARRAY_COUNT_LIMIT} arrays")
    entries = tuple(_parse_entry(index, entry) for index, entry in enumerate(arrays))
    card = parse_card(content["card"]) if version > 1 else None
    return Header(version, created, versions, entries, content["model"], card)


def _is_label(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= 64 and value.isprintable()


def is_count(value: Json) -> bool:
    return type(value) is int and value >= 0


def _parse_entry(index: int, entry: Json) -> ArrayEntry:
    where = f"array {index}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "fortran", "sha256"}:
        raise ModelFileError(f"{where} must have a dtype, a shape, an order and a SHA-256")
    dtype, shape, fortran, sha256 = entry["dtype"], entry["shape"], entry["fortran"], entry["sha256"]
    if not isinstance(dtype, str) or not is_storable(dtype):
        raise ModelFileError(f"{where} has the dtype {short(dtype)}; only numbers, booleans, dates and text are read")
    if not isinstance(shape, list) or len(shape) > _DIMENSION_LIMIT or not all(map(is_count, shape)):
        raise ModelFileError(f"{where} has the shape {short(shape)}, expected a short list of non-negative integers")
    if not isinstance(fortran, bool) or not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):
        raise ModelFileError(f"{where} must have a boolean order and a SHA-256 of 64 hexadecimal digits")
    return ArrayEntry(dtype, tuple(shape), fortran, sha256)


def parse_json(data: bytes) -> Json:
    """Strict JSON: no NaN or Infinity, no repeated key, no number too large to be one."""
    try:
        return _load_json(data.decode("ascii"))
    except RecursionError:
        raise ModelFileError("its description of the model is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelFileError(f"its description of the model is not valid JSON: {error}") from None


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("its description of the model uses the same name twice")
    return found


def _integer(text: str) -> int:
    if len(text) > _DIGIT_LIMIT:
        raise ModelFileError(f"it holds an integer of {len(text)} digits; the limit is {_DIGIT_LIMIT}")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _constant(text)
    return value


def _constant(text: str) -> NoReturn:
    raise ModelFileError(f"it holds {short(text)} where a finite number is expected")


_load_json = functools.partial(
    json.loads, object_pairs_hook=_pairs, parse_int=_integer, parse_float=_float, parse_constant=_constant
)
