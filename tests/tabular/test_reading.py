"""Every way a table can arrive gives the same table."""

from __future__ import annotations

import gzip
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


def _write(path: Path) -> None:
    writers = {
        ".csv": lambda: FRAME.to_csv(index=False).encode(),
        ".tsv": lambda: FRAME.to_csv(index=False, sep="\t").encode(),
        ".parquet": lambda: FRAME.to_parquet(),
    }
    name = path.name.removesuffix(".gz")
    content = writers[Path(name).suffix]()
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "csv.gz", "tsv.gz", "parquet.gz", "CSV"])
def test_every_format_gives_the_same_table(ending: str, tmp_path: Path) -> None:
    lower = tmp_path / f"t.{ending.lower()}"
    _write(lower)
    path = lower.rename(tmp_path / f"t.{ending}")
    table = read_table(path)
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)
    assert len(table.sha256) == 64


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
@given(content=st.binary(max_size=200), ending=st.sampled_from(["csv", "tsv", "csv.gz", "parquet"]))
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
