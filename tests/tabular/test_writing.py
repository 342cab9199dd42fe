"""A file is there in full or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corollary.tabular.messages import InputError
from corollary.tabular.writing import check_output, write_text


def test_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "ä\n")
    write_text(path, "b\n")
    assert path.read_bytes() == b"b\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new\ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_interruption_while_renaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "a.txt", "new")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    assert check_output(tmp_path / "a.txt", "--out") == tmp_path / "a.txt"
    assert os.listdir(tmp_path) == []
    with pytest.raises(InputError, match="is a folder"):
        check_output(tmp_path, "--out")
    with pytest.raises(InputError, match="does not exist; create it first"):
        check_output(tmp_path / "b" / "a.txt", "--out")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="--out"):
        check_output(tmp_path / "file" / "a.txt", "--out")


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "a.txt")
    write_text(tmp_path / "link.txt", "x")
    assert (tmp_path / "real" / "a.txt").read_text() == "x"
    assert (tmp_path / "link.txt").is_symlink()
