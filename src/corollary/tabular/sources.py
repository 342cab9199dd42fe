"""Where a table comes from: a file or standard input, unpacked, and in which format it is."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath

from corollary.tabular.messages import InputError, listed

TEXT = {"csv": ",", "txt": ",", "tsv": "\t", "tab": "\t"}
_KINDS = {
    **dict.fromkeys(TEXT, "text"),
    **dict.fromkeys(("parquet", "pq"), "Parquet"),
    **dict.fromkeys(("arrow", "feather", "ipc"), "Arrow"),
    **dict.fromkeys(("jsonl", "ndjson", "json"), "JSON"),
    **dict.fromkeys(("xlsx", "xlsm"), "Excel"),
}
_UNPACK: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gz": ("gzip", gzip.decompress), "bz2": ("bzip2", bz2.decompress), "xz": ("xz", lzma.decompress),
}  # fmt: skip
_MAGIC = {
    b"PAR1": "Parquet", b"ARROW1": "Arrow", b"FEA1": "Arrow", b"\xff\xff\xff\xff": "Arrow", b"PK\x03\x04": "Excel",
}  # fmt: skip
_EXPECTED = "expected .csv, .tsv, .parquet, .arrow, .feather, .jsonl or .xlsx, each also with .gz"
_STDIN = "standard input"


@dataclass(frozen=True)
class Source:
    """What was read: its name for people, the bytes as they came and unpacked, and their format.

    ``kind`` is ``"text"``, ``"Parquet"``, ``"Arrow"``, ``"JSON"`` or ``"Excel"``; ``separator`` is what is expected
    between the fields of text; ``part`` is the sheet that was asked for.
    """

    name: str
    packed: bytes
    raw: bytes
    kind: str
    separator: str = ","
    part: str = ""


def read_source(data: str | os.PathLike[str]) -> Source:
    """The bytes of a file (``-`` is standard input, ``book.xlsx#Sheet`` a sheet) and their format."""
    if str(data) == "-":
        return _standard_input()
    path, part = _sheet(Path(data))
    ending, packing = _endings(path)
    raw = packed = _bytes_of(path)
    if packing == "zip":
        raw, inner = _unzipped(packed, path)
        ending = inner or ending
    elif packing:
        raw = _unpacked(packed, str(path), packing)
    return Source(str(data), packed, raw, _KINDS[ending], TEXT.get(ending, ","), part)


def _sheet(path: Path) -> tuple[Path, str]:
    """``book.xlsx#Sheet`` as the file and the sheet, unless there is a file of that name."""
    before, mark, part = str(path).rpartition("#")
    if mark and not path.exists() and _KINDS.get(before.rpartition(".")[2].lower()) == "Excel":
        return Path(before), part
    return path, ""


def _endings(path: PurePath) -> tuple[str, str]:
    """The ending that tells the format, and that of how it is packed."""
    *_, first, last = ["", "", *path.name.lower().split(".")]
    packing = last if last in (*_UNPACK, "zip") else ""
    ending = first if packing else last
    if ending not in _KINDS and packing != "zip" and isinstance(path, Path) and path.exists() and not path.is_dir():
        old = " (this is the old Excel format: save it as .xlsx)" if ending == "xls" else ""
        raise InputError(f"{path}: cannot tell the format; {_EXPECTED}{old}")
    return ending if ending in _KINDS else "csv", packing


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; give a file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _unpacked(raw: bytes, name: str, packing: str) -> bytes:
    kind, unpack = _UNPACK[packing]
    try:
        return unpack(raw)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{name}: not a readable {kind} file ({error}); it may be damaged or cut off") from None


def _unzipped(raw: bytes, path: Path) -> tuple[bytes, str]:
    """The one file in a zip archive, and the ending of its name."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
            if len(names) != 1:
                raise InputError(f"{path}: holds {len(names)} files ({listed(names, 3)}); expected one table")
            ending = PurePath(names[0]).name.lower().rpartition(".")[2]
            if ending not in _KINDS:
                raise InputError(f"{path}: cannot tell the format of {names[0]!r} in it; {_EXPECTED}")
            return archive.read(names[0]), ending
    except InputError:
        raise
    except Exception as error:  # zipfile raises many kinds for damaged and encrypted files
        raise InputError(f"{path}: not a readable zip file ({error}); it may be damaged or cut off") from None


def _standard_input() -> Source:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("-: nothing is piped in; give a file, or a table as in: cat table.csv | corollary … -")
    raw = packed = sys.stdin.buffer.read()
    if not packed:
        raise InputError(f"{_STDIN}: is empty")
    for magic, packing in ((b"\x1f\x8b", "gz"), (b"BZh", "bz2"), (b"\xfd7zXZ", "xz")):
        if packed.startswith(magic):
            raw = _unpacked(packed, _STDIN, packing)
    kind = next((kind for magic, kind in _MAGIC.items() if raw.startswith(magic)), "")
    if not kind:
        kind = "JSON" if raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else "text"
    return Source(_STDIN, packed, raw, kind)
