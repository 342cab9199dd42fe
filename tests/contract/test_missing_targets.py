"""A label or a target that is missing is refused at the door, with the number of its row, whatever holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from instances import FIRST, Case, every
from sklearn.utils._testing import ignore_warnings

from corollary import Blocks
from corollary.core.door.target import refuse_missing

AT = 3


def with_gap(values: Any, gap: Any) -> list[Any]:
    """Values as a list of Python objects, one of which is missing."""
    values = list(values.tolist())
    values[AT] = gap
    return values


def broken_targets(y: Any, classifier: bool) -> dict[str, Any]:
    """The same y in containers that can hold a gap, with one."""
    whole, texts = np.asarray(y).round(), np.array([f"class {value:g}" for value in y])
    gaps: dict[str, Any] = {
        "None among objects": np.array(with_gap(whole, None), dtype=object),
        "NaN among objects": np.array(with_gap(whole, np.nan), dtype=object),
        "infinity among objects": np.array(with_gap(whole, np.inf), dtype=object),
        "NaN among numbers": np.array(with_gap(whole.astype(float), np.nan)),
        "infinity among numbers": np.array(with_gap(whole.astype(float), -np.inf)),
        "nullable Int64": pd.Series(with_gap(whole.astype(int), pd.NA), dtype="Int64"),
        "nullable Float64": pd.Series(with_gap(whole.astype(float), pd.NA), dtype="Float64"),
        "nullable boolean": pd.Series(with_gap(whole > whole.mean(), pd.NA), dtype="boolean"),
        "polars numbers": pl.Series(with_gap(whole.astype(int), None)),
        "masked": np.ma.masked_array(whole, np.arange(len(y)) == AT),
        "a list": with_gap(whole, None),
    }
    if classifier:
        del gaps["infinity among objects"]  # refused for its type
        gaps |= {
            "None among texts": np.array(with_gap(texts, None), dtype=object),
            "NaN among texts": np.array(with_gap(texts, np.nan), dtype=object),
            "a list of texts with None": with_gap(texts, None),
            "a list of texts with NaN": with_gap(texts, np.nan),
            "pandas string": pd.Series(with_gap(texts, pd.NA), dtype="string"),
            "pandas category": pd.Series(with_gap(texts, None), dtype="category"),
            "polars text": pl.Series(with_gap(texts, None)),
            "NaT": pd.to_datetime(pd.Series(with_gap(whole.astype(int), pd.NaT))),
        }
    return gaps


@every(FIRST)
def test_a_missing_target_is_refused_with_its_row(case: Case) -> None:
    X, y = case.data()
    for what, broken in broken_targets(y, case.classifier).items():
        model = case.make()
        before = dict(vars(model))
        with ignore_warnings(), pytest.raises(ValueError, match=f"y contains .*row {AT} .*answer is not known"):
            print(what, model.fit(X, broken))  # shown if it was accepted
        assert vars(model) == before


@every([case for case in FIRST if case.linear])
def test_a_missing_target_in_a_block_is_refused(case: Case) -> None:
    X, y = case.data()
    broken = np.array(with_gap(y, None), dtype=object)
    with pytest.raises(ValueError, match=f"Block 1: .*row {AT} "):
        case.make().fit(Blocks([(X, y), (X, broken)]))


def test_whole_targets_pass() -> None:
    for y in (
        np.array(["a", "b"], dtype=object),
        ["a", "b"],
        pd.Series([1, 2], dtype="Int64"),
        np.array([1.0, 2.0]),
        np.array([[1, "a"], [2, "b"]], dtype=object),
        np.array([1e308, 1e308]),  # the sum is infinite, the entries are not
    ):
        refuse_missing(y, numeric=False)


def test_the_first_of_several_rows_is_named() -> None:
    y = np.ones((5, 2))
    y[2, 1] = y[4, 0] = np.nan
    with pytest.raises(ValueError, match=r"row 2 \(counted from 0\) is NaN, and so are 1 more"):
        refuse_missing(y, numeric=True)
