"""Whatever is wrong with the input is one line on stderr that says what and where; exit code 2; nothing is written."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

Run = Callable[..., Any]
NUMBERS = "\n".join(f"{i},{i * 7 % 13}" for i in range(30))


def refused(outcome: Any, *words: str) -> None:
    """One line, exit code 2, no traceback, and the words that say what and where."""
    assert outcome.code == 2
    assert outcome.out == ""
    lines = outcome.err.strip().split("\n")
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("corollary: ")
    for word in words:
        assert word in lines[0]


# name of the file, its content, and what the line must say
TABLES: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "unknown target": ("a.csv", b"x,price\n1,2\n", ("a.csv", "'y'", "'price'")),
    "near miss": ("a.csv", b"x,Y\n1,2\n", ("'y'", "did you mean 'Y'?")),
    "no header": ("a.csv", b"1,2\n3,4\n5,6\n", ("--no-header",)),
    "constant target": ("a.csv", b"x,y\n" + b"".join(b"%d,5\n" % i for i in range(9)), ("'y'", "constant", "'5'")),
    "missing target": (
        "a.csv",
        b"x,y\n1,2\n2,\n3,?\n4,1\n5,2\n6,1\n",
        ("'y'", "2 rows", "row 2", "--drop-missing-target"),
    ),
    "all targets missing": ("a.csv", b"x,y\n1,\n2,\n3,\n4,\n5,\n", ("'y'", "missing in every row")),
    "only the target": ("a.csv", b"y\n1\n2\n3\n4\n5\n", ("no column besides the target",)),
    "nothing usable": (
        "a.csv",
        b"c,e,y\n" + b"".join(b"1,,%d\n" % (i % 2) for i in range(9)),
        ("no usable column", "'c'", "constant", "'e'", "missing"),
    ),
    "mixed column": (
        "a.csv",
        b"x,y\n" + b"".join(b"%s,%d\n" % (b"oops" if i == 3 else b"%d" % i, i % 2) for i in range(40)),
        ("column 'x'", "'oops'", "row 4", "--drop x"),
    ),
    "mixed target": (
        "a.csv",
        b"x,y\n" + b"".join(b"%d,%s\n" % (i, b"oops" if i == 6 else b"%d.5" % i) for i in range(40)),
        ("target 'y'", "'oops'", "row 7"),
    ),
    "repeated data": ("a.csv", b"1,1,2\n3,4,5\n", ("'1'", "--no-header")),
    "repeated names": ("a.csv", b"x,x,y\n1,2,3\n", ("'x'", "more than once")),
    "latin-1": ("a.csv", "x,y\n1,2\nGrün,3\n".encode("latin-1"), ("line 3", "0xfc", "--encoding")),
    "binary": ("a.csv", b"\x00\x01\x02\x03" * 9, ("not text",)),
    "empty": ("a.csv", b"", ("empty",)),
    "blank": ("a.csv", b"\n \n\n", ("empty",)),
    "0 rows": ("a.csv", b"x,y\n", ("0 rows",)),
    "1 row": ("a.csv", b"x,y\n1,2\n", ("1 row ",)),
    "2 rows": ("a.csv", b"x,y\n1,2\n2,3\n", ("2 rows",)),
    "too many fields": ("a.csv", b"x,y\n1,2\n1,2,3\n", ("a.csv", "line 3")),
    "shifted header": ("a.csv", b"x,y\n1,2,3\n4,5,6\n", ("more fields than",)),
    "open quote": ("a.csv", b'x,y\n1,"2\n3,4\n', ("a.csv",)),
    "single member": (
        "a.csv",
        b"x,y\n" + b"".join(b"%d,%s\n" % (i, b"c" if i == 4 else b"ab"[i % 2 : i % 2 + 1]) for i in range(20)),
        ("'y'", "class 'c'", "1 row"),
    ),
    "every row its own class": (
        "a.csv",
        b"x,y\n" + b"".join(b"%d,n%d\n" % (i, i) for i in range(20)),
        ("'y'", "20 different values", "20 rows"),
    ),
    "unknown format": ("a.dat", b"x,y\n1,2\n", ("a.dat", ".csv", ".parquet")),
    "not gzip": ("a.csv.gz", b"x,y\n1,2\n", ("a.csv.gz", "gzip")),
    "cut gzip": ("a.csv.gz", gzip.compress(b"x,y\n" + b"1,2\n" * 999)[:-12], ("a.csv.gz", "gzip", "cut off")),
    "damaged gzip": ("a.csv.gz", gzip.compress(b"x,y\n" * 99)[:20] + b"garbage" * 9, ("a.csv.gz", "gzip")),
    "not parquet": ("a.parquet", b"PAR1 nonsense", ("a.parquet", "Parquet")),
    "infinite target": (
        "a.csv",
        b"x,y\n" + b"".join(b"%d,%s\n" % (i, b"inf" if i == 2 else b"%d.5" % i) for i in range(30)),
        ("'y'", "infinite", "row 3"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_a_bad_table_is_refused_in_one_line(case: str, run: Run, tmp_path: Path) -> None:
    name, content, words = TABLES[case]
    path = tmp_path / name
    path.write_bytes(content)
    report, model = tmp_path / "out.html", tmp_path / "out.corollary"
    refused(run("compare", path, "--target", "y", "--report", report, "--save", model), *words)
    assert sorted(each.name for each in tmp_path.iterdir()) == [name]


def test_a_missing_file_and_a_folder(run: Run, tmp_path: Path) -> None:
    refused(run("compare", tmp_path / "gone.csv", "-t", "y"), "gone.csv", "no such file")
    refused(run("compare", tmp_path, "-t", "y"), str(tmp_path), "folder")
    (tmp_path / "x.csv").mkdir()
    refused(run("compare", tmp_path / "x.csv", "-t", "y"), "folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(run: Run, people_csv: Path) -> None:
    people_csv.chmod(0)
    refused(run("compare", people_csv, "-t", "rich"), "people.csv", "Permission denied")


@pytest.mark.parametrize("option", ["--report", "--save"])
def test_outputs_are_checked_before_the_work(option: str, run: Run, people_csv: Path, tmp_path: Path) -> None:
    # the target does not exist either: that the output is named proves that it was looked at first
    refused(run("compare", people_csv, "-t", "nothing", option, tmp_path / "no" / "x"), option, "does not exist")
    refused(run("compare", people_csv, "-t", "nothing", option, tmp_path), option, "folder")
    refused(run("compare", people_csv, "-t", "nothing", option, people_csv / "x"), option)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--folds", "1"), ("--folds 1",)),
        (("--folds", "99"), ("too few for 99 folds", "--folds ")),
        (("--folds", "many"), ("--folds",)),
        (("--metric", "rmse"), ("--metric rmse", "log-loss")),
        (("--task", "both"), ("--task",)),
        (("--task", "regression"), ("'rich'", "is not a number", "--task classification")),
        (("--preset", "huge"), ("--preset",)),
        (("--drop", "shoe size"), ("--drop 'shoe size'",)),
        (("--drop", "rich"), ("--drop rich", "target")),
        (("--time-budget", "0"), ("--time-budget",)),
        (("--n-jobs", "0"), ("--n-jobs 0", "-1 for all cores")),
        (("--encoding", "klingon"), ("--encoding klingon",)),
        (("--nonsense",), ("--nonsense",)),
    ],
)
def test_bad_options(arguments: tuple[str, ...], words: tuple[str, ...], run: Run, people_csv: Path) -> None:
    refused(run("compare", people_csv, "-t", "rich", *arguments), *words)


def test_missing_arguments_and_unknown_commands(run: Run, people_csv: Path) -> None:
    refused(run("compare"), "FILE")
    refused(run("compare", people_csv), "--target")
    refused(run("frobnicate"), "frobnicate")


def test_parquet_without_pyarrow_names_the_extra(
    run: Run, people: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.parquet"
    people.to_parquet(path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused(run("compare", path, "-t", "rich"), "people.parquet", "corollary-learn[parquet]")


def test_hostile_names_stay_on_their_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "evil.csv"
    path.write_text('"a\n\x1b[31m[bold]b",y\n1,2\n')
    outcome = run("compare", path, "-t", "z")
    refused(outcome)
    assert "\x1b" not in outcome.err
