"""Reading a table from a file, from standard input or from a data frame; whatever is wrong is one line."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pandas as pd

from corollary.tabular.formats import need, read_arrow, read_excel, read_json, read_parquet
from corollary.tabular.messages import InputError, listed, shown
from corollary.tabular.sources import read_source
from corollary.tabular.values import all_numbers


@dataclass(frozen=True)
class Table:
    """A data frame with text column names, what to call its source, and the SHA-256 of what was read."""

    frame: Any
    source: str
    sha256: str
    notes: tuple[str, ...] = ()


def read_table(data: Any, *, header: bool = True, encoding: str = "utf-8") -> Table:
    """Read ``data``: a path to a file, ``"-"`` for standard input, or a pandas, polars or pyarrow table.

    Parameters
    ----------
    data : path or data frame
        CSV, TSV, JSON lines (``.jsonl``, ``.ndjson``), Parquet, Arrow or Feather, each also packed (``.gz``, ``.bz2``,
        ``.xz``, ``.zip``), or Excel: the first sheet, or that of ``"book.xlsx#Sheet"``.
    header : bool
        Whether the first row of a text file or a sheet holds the column names; if not, they are ``column_1``,
        ``column_2`` ...
    encoding : str
        Of a text file.

    Raises
    ------
    InputError
        If the file is missing, unreadable, damaged, not in ``encoding``, ragged, or repeats a column name.
    """
    if not isinstance(data, str | os.PathLike):
        return _from_frame(data)
    source = read_source(data)
    notes: tuple[str, ...] = ()
    if source.kind == "Parquet":
        frame = read_parquet(source)
    elif source.kind == "Arrow":
        frame = read_arrow(source)
    elif source.kind == "Excel":
        frame, notes = read_excel(source, header)
    elif source.kind == "JSON":
        frame = read_json(source, encoding)
    else:
        frame, notes = _text(source.raw, source.name, source.separator, header, encoding)
    return Table(_with_text_names(frame, source.name), source.name, hashlib.sha256(source.packed).hexdigest(), notes)


def _text(raw: bytes, path: str, separator: str, header: bool, encoding: str) -> tuple[Any, tuple[str, ...]]:
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
        _refuse_repeated(_header(text, separator, quoting), path)
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


def _decoded(raw: bytes, path: str, encoding: str) -> str:
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


def _first_line(text: str, path: str) -> str:
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
        need("pyarrow", f"a {type(data).__module__.split('.')[0]} table", "data")
        frame = data.to_pandas()
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
