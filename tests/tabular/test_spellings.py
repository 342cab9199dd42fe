"""Numbers as people write them, and what is said about how they were read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.tabular.columns import preparation
from corollary.tabular.messages import InputError
from corollary.tabular.roles import Role, find_roles
from corollary.tabular.spellings import find_spelling, written_number
from corollary.tabular.target import read_target

READ = [
    (["$3,750", "$12"], [3750, 12], "'$3,750' is 3750"),
    (["€1.200,50", "€3"], [1200.5, 3], "'€1.200,50' is 1200.5"),
    (["€1.200", "€950"], [1200, 950], "'€1.200' is 1200"),
    (["12.3%", "5%"], [12.3, 5], "'12.3%' is 12.3"),
    (["1,234,567", "12"], [1234567, 12], "'1,234,567' is 1234567"),
    (["(1,200.50)", "3"], [-1200.5, 3], "'(1,200.50)' is -1200.5"),
    (["12,5", "3,75"], [12.5, 3.75], "'12,5' is 12.5"),
    (["1 234,50 €", "−3 €"], [1234.5, -3], "'1 234,50 €' is 1234.5"),
    (["CHF 1'200", "-CHF 3"], [1200, -3], "is 1200"),
    (["0,123", "0,5"], [0.123, 0.5], "'0,123' is 0.123"),
    (["1,234", "999"], [1234, 999], "(if '1,234' is not 1234 but 1.234, write it so)"),
]
NOT_READ = [
    (["$5", "€5"], "different currencies ($, €)"),
    (["5%", "7"], "some values have a % sign and some have none"),
    (["(1)", "(2)"], "every value is in brackets"),
    (["1,2,3", "4"], ""),
    (["1,23,456", "4"], ""),
    (["1,234.5", "1.234,5"], ""),
    (["$ 5 $", "4"], ""),
    (["(-5)", "4"], ""),
    (["1.5m", "4"], ""),
]


@pytest.mark.parametrize(("texts", "values", "said"), READ)
def test_what_is_read(texts: list[str], values: list[float], said: str) -> None:
    spelling = find_spelling(np.array(texts, dtype=object))
    assert [written_number(text, spelling.decimal) for text in texts] == values
    assert said in spelling.note
    assert spelling.note.startswith("read as numbers: ")


@pytest.mark.parametrize(("texts", "said"), NOT_READ)
def test_what_is_not(texts: list[str], said: str) -> None:
    spelling = find_spelling(np.array(texts, dtype=object))
    assert spelling.decimal == ""
    assert spelling.note == (f"not read as numbers: {said}" if said else "")


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=2, unique=True))
def test_what_is_written_is_read_again(values: list[float]) -> None:
    english = np.array([f"${value:,.2f}" for value in values], dtype=object)
    german = np.array([text.translate(str.maketrans(".,", ",.")) + " €" for text in english.tolist()], dtype=object)
    german = np.array([text.replace("$", "") for text in german], dtype=object)
    for texts in (english, german):
        spelling = find_spelling(texts)
        np.testing.assert_array_equal(
            [written_number(text, spelling.decimal) for text in texts], np.array(values, float)
        )


def test_a_column_of_prices_is_a_number_in_every_fold() -> None:
    frame = pd.DataFrame({"price": [f"€{i}.{i % 10}00,5" for i in range(1, 61)] + [None]})
    column = find_roles(frame, "t")[0]
    assert (column.role, column.decimal, column.missing) == (Role.NUMBER, ",", 1)
    prepare = preparation([column], 61, native=True).fit(frame)
    np.testing.assert_array_equal(
        prepare.transform(pd.DataFrame({"price": ["€1.234", "7", "1,5"]})).ravel(), [1234, 7, 1.5]
    )
    with pytest.raises(ValueError, match="column 'price': 'cheap' in row 1 is not a number"):
        prepare.transform(pd.DataFrame({"price": ["cheap"]}))


def test_a_stranger_among_prices_is_refused_by_its_row() -> None:
    frame = pd.DataFrame({"price": [f"${i},000" for i in range(1, 61)]})
    frame.loc[17, "price"] = "on request"
    with pytest.raises(InputError, match="column 'price' holds numbers, but 'on request' in row 18 is not a number"):
        find_roles(frame, "t")


def test_a_target_of_money_is_regression() -> None:
    target = read_target(pd.Series([f"${i},{100 + i}" for i in range(1, 50)], name="y"), "auto", "t")
    assert (target.task, target.values[2]) == ("regression", 3103)
    assert "(read as numbers: '$10,110' is 10110)" in target.reason
    few = read_target(pd.Series(["10%", "20%"] * 20, name="y"), "auto", "t")
    assert few.classes is not None
    assert few.classes.tolist() == ["10%", "20%"]
