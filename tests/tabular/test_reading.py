"""Every way a table can arrive gives the same table."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corollary.tabular.messages import InputError
from corollary.tabular.reading import read_table

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "ü", None], "c": [0.5, None, 1.5]})


def _excel() -> bytes:
    stream = io.BytesIO()
    FRAME.to_excel(stream, index=False)
    return stream.getvalue()


def _feather() -> bytes:
    stream = io.BytesIO()
    FRAME.to_feather(stream)
    return stream.getvalue()


def _stream() -> bytes:
    table = pyarrow.Table.from_pandas(FRAME)
    stream = io.BytesIO()
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


WRITERS: dict[str, Callable[[], bytes]] = {
    "csv": lambda: FRAME.to_csv(index=False).encode(),
    "tsv": lambda: FRAME.to_csv(index=False, sep="\t").encode(),
    "parquet": FRAME.to_parquet,
    "feather": _feather,
    "arrow": _stream,
    "jsonl": lambda: FRAME.to_json(orient="records", lines=True).encode(),
    "json": lambda: FRAME.to_json(orient="records").encode(),
    "xlsx": _excel,
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
ENDINGS = [*WRITERS, "csv.gz", "tsv.gz", "parquet.gz", "jsonl.gz", "csv.bz2", "csv.xz", "CSV"]


def _content(ending: str) -> bytes:
    first, _, packed = ending.lower().partition(".")
    content = WRITERS[first]()
    return PACKERS[packed](content) if packed else content


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_same_table(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(_content(ending))
    table = read_table(path)
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_zip_archive_of_one_table(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/t.tsv", _content("tsv"))
    pd.testing.assert_frame_equal(read_table(path).frame, FRAME, check_dtype=False)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("readme.txt", "x")
    with pytest.raises(InputError, match=r"holds 2 files \('folder/t.tsv', 'readme.txt'\); expected one table"):
        read_table(path)


@pytest.mark.parametrize("ending", [*WRITERS, "csv.gz"])
def test_standard_input_of_every_format(ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(_content(ending))))
    table = read_table("-")
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)
    assert table.source == "standard input"


def test_empty_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(InputError, match="standard input: is empty"):
        read_table("-")


def test_sheets(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as book:
        FRAME.to_excel(book, sheet_name="First", index=False, startrow=2, startcol=1)  # tables need not begin at A1
        FRAME.assign(a=["#N/A", 5, 6]).to_excel(book, sheet_name="Other one", index=False)
    first = read_table(path)
    pd.testing.assert_frame_equal(first.frame, FRAME, check_dtype=False)
    assert first.notes == ("read the first of 2 sheets, 'First'; another is read as FILE#Other one",)
    other = read_table(f"{path}#Other one")
    assert other.frame["a"].tolist()[1:] == [5, 6]
    assert other.frame["a"].isna()[0]
    assert other.notes == ("1 cells that hold an Excel error, such as #N/A, are missing values",)
    with pytest.raises(InputError, match="there is no sheet 'None'; the sheets are 'First', 'Other one'"):
        read_table(f"{path}#None")
    (tmp_path / "old.xls").write_bytes(b"x")
    with pytest.raises(InputError, match=r"save it as \.xlsx"):
        read_table(tmp_path / "old.xls")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"a": 1}\n{"a": \n', "line 2: not readable as JSON"),
        ('{"a": 1}\n\n[1]\n', "line 3 is a list; expected an object with names and values"),
        ("[1, 2]", "entry 1 is a int; expected an object"),
        ("\n\n", "is empty"),
        ("[" * 100_000, "not readable as JSON"),
    ],
)
def test_damaged_lines_of_json(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=said):
        read_table(path)


def test_rows_of_json_need_not_have_every_name(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_text('{"a": 1}\n{"b": {"c": [1]}, "a": null}\r\n')
    frame = read_table(path).frame
    assert frame["a"].tolist()[0] == 1
    assert frame.isna().sum().tolist() == [1, 1]


@pytest.mark.parametrize(
    ("ending", "package", "extra"), [("xlsx", "openpyxl", "excel"), ("arrow", "pyarrow", "parquet")]
)
def test_a_package_that_is_not_there(
    ending: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"x")
    with pytest.raises(InputError, match=rf'needs the package {package}; install it .* "corollary-learn\[{extra}\]"'):
        read_table(path)


@pytest.mark.parametrize("convert", [lambda f: f, polars.from_pandas, pyarrow.Table.from_pandas])
def test_data_frames_of_every_kind(convert: Any) -> None:
    table = read_table(convert(FRAME))
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)


def test_the_hash_depends_on_values_and_names() -> None:
    hashes = {
        read_table(FRAME).sha256,
        read_table(FRAME.rename(columns={"a": "z"})).sha256,
        read_table(FRAME.assign(a=[1, 2, 4])).sha256,
    }
    assert len(hashes) == 3
    assert read_table(FRAME.copy()).sha256 in hashes


def test_question_marks_and_blanks_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a, b ,c\n1, ?,x\n,2,\n?,3,?\n")
    frame = read_table(path).frame
    assert list(frame.columns) == ["a", "b", "c"]
    assert frame.isna().sum().tolist() == [2, 1, 2]
    assert frame["a"].dtype.kind == "f"


@pytest.mark.parametrize(("separator", "said"), [(";", "';'"), ("\t", "tabs"), ("|", "'|'")])
def test_another_separator_is_found_and_said(separator: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a{separator}b\n1{separator}2\n")
    table = read_table(path)
    assert list(table.frame.columns) == ["a", "b"]
    assert said in table.notes[0]


def test_decimal_commas_after_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;x\n-2,25;y\n")
    assert read_table(path).frame["a"].tolist() == [1.5, -2.25]


def test_quotes_in_tab_separated_text_are_only_characters(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text('a\tb\n1\tsay "hi\n2\tx\n')
    assert read_table(path).frame["b"].tolist() == ['say "hi', "x"]


def test_byte_order_mark_and_encodings(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffä,b\n1,2\n".encode())
    assert list(read_table(path).frame.columns) == ["ä", "b"]
    path.write_bytes("ä,b\n1,2\n".encode("utf-16"))
    assert list(read_table(path, encoding="utf-16").frame.columns) == ["ä", "b"]


def test_a_named_index_in_parquet_is_a_column(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    FRAME.set_index("a").to_parquet(path)
    assert list(read_table(path).frame.columns) == ["a", "b", "c"]


def test_anything_else_is_refused() -> None:
    with pytest.raises(InputError, match="expected a path or a pandas"):
        read_table([[1, 2]])
    with pytest.raises(InputError, match="more than once"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), ending=st.sampled_from([*ENDINGS[:-1], "zip"]))
def test_no_bytes_break_it(content: bytes, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(content)
    message = ""
    try:
        names = list(read_table(path).frame.columns)
    except InputError as error:
        message = str(error)
        names = []
    assert all(isinstance(name, str) for name in names)
    assert message == "" or (str(path) in message and "\n" not in message)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), ending=st.sampled_from(["parquet", "arrow", "feather", "xlsx", "jsonl", "csv.gz"]))
def test_no_damage_breaks_it(data: st.DataObject, ending: str, tmp_path: Path) -> None:
    content = bytearray(_content(ending))
    for _ in range(3):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / f"t.{ending}"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    message = ""
    try:
        read_table(path)
    except InputError as error:
        message = str(error)
    assert message == "" or (str(path) in message and "\n" not in message)
