"""Tables in formats that know their types: Parquet, Arrow and Feather, Excel, JSON lines."""

from __future__ import annotations

import importlib.util
import io
import json
import warnings
from typing import Any

import pandas as pd

from corollary.tabular.messages import InputError, listed, one_line, shown
from corollary.tabular.sources import Source

_EXTRAS = {"pyarrow": "parquet", "openpyxl": "excel"}
_EXCEL_ERRORS = {"#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"}


def need(package: str, what: str, source: str) -> None:
    """Refuse what an optional package is needed for, if it is not there."""
    if importlib.util.find_spec(package) is None:
        extra = f'"corollary-learn[{_EXTRAS[package]}]"'
        raise InputError(f"{source}: {what} needs the package {package}; install it with: pip install {extra}")


def read_parquet(source: Source) -> Any:
    """The table in a Parquet file."""
    need("pyarrow", "Parquet", source.name)
    try:
        return _with_index(pd.read_parquet(io.BytesIO(source.raw)))
    except Exception as error:  # pyarrow raises many kinds for damaged files
        raise _damaged(source, "Parquet", error) from None


def read_arrow(source: Source) -> Any:
    """The table in an Arrow or Feather file, or in an Arrow stream."""
    need("pyarrow", "Arrow", source.name)
    import pyarrow

    try:
        if source.raw.startswith(b"FEA1"):
            table = importlib.import_module("pyarrow.feather").read_table(io.BytesIO(source.raw))
        else:
            is_file = source.raw.startswith(b"ARROW1")
            opened = (pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream)(io.BytesIO(source.raw))
            table = opened.read_all()
        table.validate(full=True)  # what is damaged must not be walked through
        return _with_index(table.to_pandas())
    except Exception as error:
        raise _damaged(source, "Arrow or Feather", error) from None


def _with_index(frame: Any) -> Any:
    named = any(name is not None for name in frame.index.names)
    return frame.reset_index(drop=not named)


def _damaged(source: Source, kind: str, error: Exception) -> InputError:
    return InputError(f"{source.name}: not a readable {kind} file ({one_line(error)[:120]})")


def read_json(source: Source, encoding: str) -> Any:
    """Lines of JSON, or one list of them: each an object with the names and values of a row."""
    try:
        text = source.raw.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise InputError(f"--encoding {encoding}: unknown encoding; try utf-8, latin-1 or cp1252") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{source.name}: is not {encoding} ({error.reason}); name its encoding") from None
    if text.lstrip()[:1] == "[":
        rows = _parsed(text, source.name, "")
        where = [f"entry {index + 1:,}" for index in range(len(rows))]
    else:
        lines = [(f"line {index + 1:,}", line) for index, line in enumerate(text.split("\n")) if line.strip()]
        rows = [_parsed(line, source.name, f"{place}: ") for place, line in lines]
        where = [place for place, _ in lines]
    if not rows:
        raise InputError(f"{source.name}: is empty")
    for place, row in zip(where, rows, strict=True):
        if not isinstance(row, dict):
            kind = type(row).__name__
            raise InputError(f"{source.name}: {place} is a {kind}; expected an object with names and values")
    return pd.DataFrame(rows)


def _parsed(text: str, name: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: {place}not readable as JSON ({one_line(error)[:120]})") from None


def read_excel(source: Source, header: bool) -> tuple[Any, tuple[str, ...]]:
    """A sheet of an Excel file, the first by default, and what to say about it."""
    need("openpyxl", "Excel", source.name)
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fonts and the like
        try:
            book = openpyxl.load_workbook(io.BytesIO(source.raw), read_only=True, data_only=True)
            sheets = book.sheetnames
        except Exception as error:  # of zipfile, of XML and of openpyxl
            raise _damaged(source, "Excel", error) from None
        sheet = source.part or next(iter(sheets), "")
        if sheet not in sheets:
            there = f"the sheets are {listed(sheets, 8)}"
            raise InputError(f"{source.name}: there is no sheet {shown(sheet)}; {there}")
        try:
            rows = [list(row) for row in book[sheet].values if any(cell not in (None, "") for cell in row)]
        except Exception as error:
            raise _damaged(source, "Excel", error) from None
    notes = []
    if len(sheets) > 1 and not source.part:
        other = next(name for name in sheets if name != sheet)
        notes.append(f"read the first of {len(sheets)} sheets, {shown(sheet)}; another is read as FILE#{other}")
    if not rows:
        raise InputError(f"{source.name}: sheet {shown(sheet)} is empty")
    wrong = sum(cell in _EXCEL_ERRORS for row in rows for cell in row if isinstance(cell, str))
    if wrong:
        notes.append(f"{wrong:,} cells that hold an Excel error, such as #N/A, are missing values")
    return _sheet_frame(rows, header), tuple(notes)


def _sheet_frame(rows: list[list[Any]], header: bool) -> Any:
    width = max(len(row) for row in rows)
    rows = [[_cell(cell) for cell in (*row, *[None] * (width - len(row)))] for row in rows]
    names = [f"column_{index + 1}" for index in range(width)]
    if header:
        names = [name if cell is None else str(cell) for name, cell in zip(names, rows.pop(0), strict=True)]
    columns = [pd.Series([row[index] for row in rows], dtype=object).infer_objects() for index in range(width)]
    empty = [header and name == f"column_{i + 1}" and columns[i].isna().all() for i, name in enumerate(names)]
    kept = [index for index in range(width) if not empty[index]]  # spaces around a table are no columns
    frame = pd.concat([columns[index] for index in kept], axis=1) if kept else pd.DataFrame()
    return frame.set_axis([names[index] for index in kept], axis=1)


def _cell(cell: Any) -> Any:
    if isinstance(cell, str):
        return None if cell.strip() in ("", "?") or cell in _EXCEL_ERRORS else cell
    return cell
