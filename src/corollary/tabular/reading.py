"""Reading a table from CSV, TSV or Parquet (each also gzipped) or from a data frame; whatever is wrong is one line."""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib.util
import io
import os
import re
import warnings
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from corollary.tabular.messages import InputError, listed, shown
from corollary.tabular.values import all_numbers

_SEPARATORS = {"csv": ",", "txt": ",", "tsv": "\t", "tab": "\t"}
_PARQUET = ("parquet", "pq")
_PYARROW = 'Parquet needs the package pyarrow; install it with: pip install "corollary-learn[parquet]"'


@dataclass(frozen=True)
class Table:
    """A data frame with text column names, what to call its source, and the SHA-256 of what was read."""

    frame: Any
    source: str
    sha256: str
    notes: tuple[str, ...] = ()


def read_table(data: Any, *, header: bool = True, encoding: str = "utf-8") -> Table:
    """Read ``data``: a path to CSV, TSV or Parquet (also ``.gz``), or a pandas, polars or pyarrow table.

    Parameters
    ----------
    data : path or data frame
    header : bool
        Whether the first row of a text file holds the column names; if not, they are ``column_1``, ``column_2`` ...
    encoding : str
        Of a text file.

    Raises
    ------
    InputError
        If the file is missing, unreadable, damaged, not in ``encoding``, ragged, or repeats a column name.
    """
    if not isinstance(data, str | os.PathLike):
        return _from_frame(data)
    path = Path(data)
    ending = _ending(path)
    raw = _bytes_of(path)
    digest = hashlib.sha256(raw).hexdigest()
    if path.suffix.lower() == ".gz":
        raw = _decompressed(raw, path)
    notes: tuple[str, ...] = ()
    if ending in _PARQUET:
        frame = _parquet(raw, path)
    else:
        frame, notes = _text(raw, path, _SEPARATORS[ending], header, encoding)
    return Table(_with_text_names(frame, str(path)), str(path), digest, notes)


def _ending(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    ending = name.rsplit(".", 1)[-1] if "." in name else ""
    if ending not in _SEPARATORS and ending not in _PARQUET and path.exists() and not path.is_dir():
        raise InputError(f"{path}: cannot tell the format; expected .csv, .tsv or .parquet, each also with .gz")
    return ending


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; give a CSV, TSV or Parquet file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def _decompressed(raw: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not a readable gzip file ({error}); it may be damaged or cut off") from None


def _parquet(raw: bytes, path: Path) -> Any:
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"{path}: {_PYARROW}")
    try:
        frame = pd.read_parquet(io.BytesIO(raw))
    except Exception as error:  # pyarrow raises many kinds for damaged files
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: not a readable Parquet file ({reason[:120]})") from None
    named_index = any(name is not None for name in frame.index.names)
    return frame.reset_index(drop=not named_index)


def _text(raw: bytes, path: Path, separator: str, header: bool, encoding: str) -> tuple[Any, tuple[str, ...]]:
    text = _decoded(raw, path, encoding)
    first = _first_line(text, path)
    notes: tuple[str, ...] = ()
    if separator not in first and (other := _other_separator(first)):
        separator = other
        notes = (f"columns are separated by {'tabs' if other == chr(9) else shown(other)}",)
    # Tab-separated text has no quoting of its own: a lone " in it must not swallow lines.
    quoting = csv.QUOTE_NONE if separator == "\t" and '"' not in first else csv.QUOTE_MINIMAL
    comma_decimals = separator == ";" and re.search(r"(?m)(?:^|;)-?\d+,\d+(?:;|$)", text[:100_000])
    if header:
        _refuse_repeated(_header(text, separator, quoting), str(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text), sep=separator, header=0 if header else None, index_col=False, quoting=quoting,
                na_values=["?"], skipinitialspace=True, low_memory=False, decimal="," if comma_decimals else ".",
            )  # fmt: skip
    except pd.errors.ParserWarning:
        raise InputError(f"{path}: the rows have more fields than the first line has column names") from None
    except (pd.errors.ParserError, ValueError, csv.Error) as error:
        reason = str(error).replace("Error tokenizing data. C error: ", "").strip()
        raise InputError(f"{path}: not a regular table ({reason})") from None
    if not header:
        frame.columns = [f"column_{index + 1}" for index in range(frame.shape[1])]
    return frame, notes


def _decoded(raw: bytes, path: Path, encoding: str) -> str:
    if b"\x00" in raw[:4096] and not encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        raise InputError(f"{path}: is not text (it holds zero bytes); is it another format, or UTF-16?")
    try:
        return raw.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise InputError(f"--encoding {encoding}: unknown encoding; try utf-8, latin-1 or cp1252") from None
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}: line {line} is not {encoding} (byte 0x{raw[error.start]:02x}); name its encoding, for instance "
            "--encoding latin-1"
        ) from None


def _first_line(text: str, path: Path) -> str:
    for line in io.StringIO(text):
        if line.strip():
            return line
    raise InputError(f"{path}: is empty")


def _other_separator(line: str) -> str:
    counts = {separator: line.count(separator) for separator in (",", ";", "\t", "|")}
    best = max(counts, key=lambda separator: counts[separator])
    return best if counts[best] else ""


def _header(text: str, separator: str, quoting: Any) -> list[str]:
    reader = csv.reader(io.StringIO(text), delimiter=separator, quoting=quoting, skipinitialspace=True)
    try:
        return next(([name.strip() for name in row] for row in reader if row), [])
    except csv.Error:
        return []  # pandas reports what is wrong with the line number


def _refuse_repeated(names: list[str], source: str) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1 and name]
    if repeated:
        advice = "rename them in the file"
        if all_numbers(names):
            advice = "this looks like data, not names; if it is, add --no-header"
        raise InputError(f"{source}: column names appear more than once: {listed(repeated)}; {advice}")


def _from_frame(data: Any) -> Table:
    frame = data
    if not isinstance(data, pd.DataFrame):
        if not hasattr(data, "to_pandas"):
            kind = type(data).__name__
            raise InputError(f"data: expected a path or a pandas, polars or pyarrow table, got {kind}")
        try:
            frame = data.to_pandas()
        except ImportError:
            raise InputError(f"data: {_PYARROW.replace('Parquet', 'a polars table')}") from None
    frame = _with_text_names(frame.reset_index(drop=True), "data")
    digest = hashlib.sha256("\x00".join(frame.columns).encode())
    for name in frame.columns:
        column = frame[name]
        try:
            hashes = pd.util.hash_pandas_object(column, index=False)
        except TypeError:  # lists and other unhashable values
            hashes = pd.util.hash_pandas_object(column.astype(str), index=False)
        digest.update(hashes.to_numpy().tobytes())
    return Table(frame, "data", digest.hexdigest())


def _with_text_names(frame: Any, source: str) -> Any:
    names = [str(name).strip() for name in frame.columns]
    _refuse_repeated(names, source)
    return frame.set_axis(names, axis=1)
