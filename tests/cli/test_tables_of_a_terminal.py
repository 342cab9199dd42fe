"""Tables hold at every width: no number is cut, no rank is lost, and what there is no room for is named."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len
from rich.console import Console

import corollary
from corollary.cli.grid import Column, drawn, fitted, plain, table_width
from corollary.cli.leaderboard import leaderboard_columns
from corollary.cli.show import show_data, show_result
from corollary.evaluate.comparison import Comparison

WIDTHS = (80, 100, 120, 130, 160)
LONG = "AModelOfMyOwnWhoseNameIsLongerThanAnyOther"


@pytest.fixture(scope="module", params=["classification", "regression"])
def comparison(request: pytest.FixtureRequest) -> Comparison:
    """Two models and the baseline, with wide numbers, a long name, settings and a tie."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    signal = frame["a"] + 0.3 * rng.normal(size=60)
    if request.param == "regression":
        frame["y"] = 1e8 * signal
        models = {"ridge": corollary.Ridge(), LONG: corollary.Lasso()}
    else:
        frame["y"] = np.where(signal > 0, "yes", "no")
        models = {"logistic": corollary.LogisticRegression(), LONG: corollary.LogisticRegression(C=0.5)}
    found = corollary.compare(frame, "y", models=models, folds=3)
    chosen = {"learning_rate": 0.031234, "max_depth": 6, "min_samples_leaf": 20}
    return replace(found, rows=tuple(replace(row, tried=7, settings=chosen) for row in found.rows))


def printed(comparison: Comparison, width: int, wide: bool = False) -> str:
    console = Console(width=width, file=io.StringIO())
    show_data(console, comparison)
    show_result(console, comparison, wide)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_and_ranks_are_whole_at_every_width(comparison: Comparison, width: int) -> None:
    text = printed(comparison, width)
    lines = text.splitlines()
    assert all(cell_len(line) <= width for line in lines)
    everything = {column.title: column.cells for column in leaderboard_columns(comparison)}
    metric = comparison.metric.title
    for rank, name, score in zip(everything["#"], everything["model"], everything[metric], strict=True):
        line = next(line for line in lines if line.startswith(f"{rank} ") and name[:16] in line)
        assert score in line
    shown = next(line for line in lines if line.startswith("#"))
    for title, cells in everything.items():  # a column is there with all of its cells, or named as missing
        if title in shown and title not in ("evidence", "model"):
            assert all(cell in text for cell in cells)
        elif title not in shown:
            assert title in text.partition("no room for: ")[2].partition(";")[0]
    assert "…" not in "".join(line for line in lines if "±" in line and "evidence" not in line and width >= 100)


def test_wide_shows_all(comparison: Comparison) -> None:
    text = printed(comparison, 80, wide=True)
    assert "no room for" not in text
    for column in leaderboard_columns(comparison):
        assert all(cell in text for cell in column.cells)
    assert "learning_rate=0.0312, max_depth=6, min_samples_leaf=20" in text


def test_the_least_important_goes_first_and_is_named() -> None:
    rows = ["1", "2"]
    columns = [Column("#", rows), Column("name", ["a" * 30, "b"], left=True, may_shrink=True), Column("x", rows, goes=1),
               Column("long title", rows, goes=2)]  # fmt: skip
    assert fitted(columns, 80) == (columns, [])
    kept, gone = fitted(columns, 40)
    assert ([column.title for column in kept], gone) == (["#", "name", "x"], ["long title"])
    kept, gone = fitted(columns, 30)
    assert gone == ["x", "long title"]
    assert table_width(kept) == 30
    assert kept[1].cells == ["a" * 26 + "…", "b"]
    narrowest, _ = fitted(columns, 5)
    assert [column.title for column in narrowest] == ["#", "name"]
    assert table_width(narrowest) == 19  # a name keeps 16 letters, whatever the width


def test_wide_letters_and_control_characters() -> None:
    text = drawn(plain(["名前", "n"], [["東京", "1"], ["a\x1b[31m\nb", "22"]])).plain
    first, rule, *rows = text.splitlines()
    assert {cell_len(line) for line in (first, rule, *rows)} == {cell_len(rule)}
    assert "\x1b" not in text
    assert len(rows) == 2
