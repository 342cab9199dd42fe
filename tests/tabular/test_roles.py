"""Columns are used for what they are; what is left out is left out for a stated reason."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from corollary.tabular.messages import InputError
from corollary.tabular.roles import Role, find_roles, tally

ROWS = 40
I = np.arange(ROWS)  # noqa: E741


CASES: dict[str, tuple[Any, Role, str]] = {
    "integers": (I % 7, Role.NUMBER, ""),
    "floats with gaps": (np.where(I % 5, I / 3, np.nan), Role.NUMBER, ""),
    "numbers as text": ([str(i / 2) for i in I], Role.NUMBER, ""),
    "decimals": ([Decimal(i) / 4 for i in range(ROWS)], Role.NUMBER, ""),
    "infinite": (np.where(I == 3, np.inf, I * 1.5), Role.NUMBER, "1 infinite value treated as missing"),
    "durations": (pd.to_timedelta(I, unit="h"), Role.NUMBER, ""),
    "nullable integers": (pd.array([None, *range(1, ROWS)], dtype="Int64"), Role.NUMBER, ""),
    "booleans": (I % 2 == 0, Role.BOOLEAN, ""),
    "booleans with gaps": ([None if i % 9 == 0 else bool(i % 2) for i in I], Role.BOOLEAN, ""),
    "yes and no": (np.where(I % 3, "Yes", "no"), Role.BOOLEAN, ""),
    "words": (np.array(["red", "green", "blue"])[I % 3], Role.CATEGORY, ""),
    "categories of numbers": (pd.Categorical(I % 4), Role.CATEGORY, ""),
    "codes with letters": (np.array(["1", "2", "A"])[I % 3], Role.CATEGORY, ""),
    "dates": (pd.date_range("2020-01-01", periods=ROWS), Role.DATE, ""),
    "date objects": ([datetime.date(2020, 1, 1 + i % 28) for i in range(ROWS)], Role.DATE, ""),
    "ISO text": ([f"2020-01-{1 + i % 28:02d}" for i in I], Role.DATE, ""),
    "ISO times": ([f"2020-01-{1 + i % 28:02d}T0{i % 9}:15:00Z" for i in I], Role.DATE, ""),
    "German dates": ([f"{1 + i % 28}.03.2021" for i in I], Role.DATE, ""),
    "day first": ([f"{1 + i % 28}/03/2021" for i in I], Role.DATE, ""),
    "either first": ([f"0{1 + i % 9}/0{1 + i % 8}/2021" for i in I], Role.DATE, "month/day/year"),
    "words in dates": ([f"{1 + i % 28} Mar 2021" for i in I], Role.DATE, ""),
    "names": ([f"person {i} of many" for i in I], Role.TEXT, "free text, used by its words"),
    "codes": ([f"K{i:05d}" for i in I], Role.UNUSED, "identifier"),
    "row numbers": (I, Role.UNUSED, "identifier"),
    "constant": (["same"] * ROWS, Role.UNUSED, "constant (always 'same')"),
    "all missing": ([None] * ROWS, Role.UNUSED, "every value is missing"),
    "blanks": (["?", ""] * (ROWS // 2), Role.UNUSED, "every value is missing"),
    "constant with gaps": (np.where(I % 2, 1.0, np.nan), Role.NUMBER, ""),
    "lists": ([[i] for i in range(ROWS)], Role.UNUSED, "nested"),
    "complex": (I * 1j, Role.UNUSED, "complex"),
}


@pytest.mark.parametrize("case", CASES)
def test_roles(case: str) -> None:
    values, role, note = CASES[case]
    name = "row_id" if case == "row numbers" else "c"
    frame = pd.DataFrame({"other": I, name: pd.Series(values)})
    column = find_roles(frame, "t")[1]
    assert column.role is role
    assert note in column.note
    assert (column.note == "") == (note == "")


def test_a_number_that_only_counts_is_kept_under_another_name() -> None:
    assert find_roles(pd.DataFrame({"year": 1947 + I}), "t")[0].role is Role.NUMBER


def test_missing_and_distinct_are_counted() -> None:
    column = find_roles(pd.DataFrame({"c": ["a", "?", None, "b", "a", ""]}), "t")[0]
    assert (column.missing, column.distinct) == (3, 2)


def test_the_row_of_a_stranger_is_the_row_of_the_file() -> None:
    frame = pd.DataFrame({"c": [str(i) for i in range(60)]})
    frame.loc[41, "c"] = "n.n."
    with pytest.raises(InputError, match=r"t: column 'c' holds numbers, but 'n.n.' in row 42 is not a number"):
        find_roles(frame.iloc[10:], "t")


def test_the_tally() -> None:
    frame = pd.DataFrame({"a": I, "b": CASES["words"][0], "c": CASES["blanks"][0]})
    assert tally(find_roles(frame, "t")) == "1 number, 1 category, 1 left out"
