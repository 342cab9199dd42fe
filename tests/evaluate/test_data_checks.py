"""The checks find what they look for, and only that."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from corollary.evaluate.data_checks import Check, run_checks
from corollary.tabular.roles import find_roles
from corollary.tabular.target import read_target

RNG = np.random.default_rng(5)
ROWS = 300


def _checks(y: object, **columns: object) -> dict[str, Check]:
    frame = pd.DataFrame(columns)
    target = read_target(pd.Series(y, name="y"), "auto", "t")
    return {check.title: check for check in run_checks(frame, target, find_roles(frame, "t"), seed=0)}


def test_clean_data_pass_everything() -> None:
    y = np.where(RNG.random(ROWS) < 0.5, "a", "b")
    found = _checks(y, x=RNG.normal(size=ROWS), z=RNG.choice(["u", "v"], ROWS))
    assert all(check.fine for check in found.values()), found


@pytest.mark.parametrize("kind", ["number", "category", "date"])
def test_a_column_that_knows_the_answer_is_suspected(kind: str) -> None:
    y = RNG.random(ROWS) < 0.4
    leaks = {
        "number": y * 100 + RNG.random(ROWS),
        "category": np.where(y, "boat", "none"),
        "date": np.where(y, "2024-05-01", "2023-01-02"),
    }
    check = _checks(y, x=RNG.normal(size=ROWS), leak=leaks[kind])["Leakage"]
    assert not check.fine
    assert "'leak'" in check.detail
    assert "'x'" not in check.detail


def test_leakage_in_regression() -> None:
    y = RNG.normal(size=ROWS)
    assert not _checks(y, leak=3 * y + 1, x=RNG.normal(size=ROWS))["Leakage"].fine
    assert _checks(y, good=y + RNG.normal(size=ROWS))["Leakage"].fine


def test_rare_classes_repeated_rows_constants_and_gaps() -> None:
    y = np.where(np.arange(ROWS) % 50 == 0, "rare", "usual")
    x = np.where(np.arange(ROWS) < 60, 1.0, RNG.normal(size=ROWS))
    found = _checks(y, x=x, same=np.ones(ROWS), gone=np.where(np.arange(ROWS) < 200, np.nan, 1.0))
    assert "'rare', is only 2.00%" in found["Class balance"].detail
    assert "58 rows" in found["Repeated rows"].detail
    assert found["Empty or constant columns"].detail == "Left out: 'same'."
    assert "'gone' (66.7%)" in found["Missing values"].detail
    assert not any(check.fine for title, check in found.items() if title != "Leakage")


def test_nested_values_are_not_counted() -> None:
    found = _checks(RNG.normal(size=ROWS), x=RNG.normal(size=ROWS), lists=[[1]] * ROWS)
    assert "Not counted" in found["Repeated rows"].detail
