"""Parameter limits accept what they say and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils import check_random_state

from corollary.core.limits import RANDOM_STATE, ArrayLike, Boolean, Choice, Integer, Limit, Real


@pytest.mark.parametrize(
    ("limit", "good", "bad", "text"),
    [
        (Real(low=0), [0, 1.5, np.float32(2), np.inf], [-1, "1", True, None, np.nan, 1j], "a number ≥ 0"),
        (Real(low=0, high=1, above=True), [0.5, 1], [0, 1.1], "a number > 0 and ≤ 1"),
        (Real(high=3), [-5, 3], [4], "a number ≤ 3"),
        (Integer(1), [1, np.int64(3)], [0, 1.0, True, "2"], "a whole number ≥ 1"),
        (Boolean(), [True, np.bool_(False)], [0, 1, "yes"], "True or False"),
        (Choice(None, "auto"), [None, "auto", np.str_("auto")], ["other", 0], "None or 'auto'"),
        (Choice(True, "auto"), [True], [1, 1.0, "True"], "True or 'auto'"),
        (Integer(), [-3, 0], [0.5, None], "a whole number"),
        (ArrayLike(), [[1.0], (1,), np.ones(2)], ["text", 3, {}], "an array of numbers"),
        (Choice("auto") | Integer(0), ["auto", 3], [-1, "x"], "'auto' or a whole number ≥ 0"),
    ],
)
def test_limits(limit: Limit, good: list[Any], bad: list[Any], text: str) -> None:
    assert [limit.accepts(value) for value in good] == [True] * len(good)
    assert [limit.accepts(value) for value in bad] == [False] * len(bad)
    assert str(limit) == text


STATES = [None, 0, np.int64(7), 2**32 - 1, np.random.RandomState(0), np.random.default_rng(0), -1, 2**32, 1.5, "seed"]


@pytest.mark.parametrize("value", STATES, ids=str)
def test_random_states_are_those_that_scikit_learn_can_use(value: Any) -> None:
    try:
        check_random_state(value)
        usable = True
    except ValueError:
        usable = False
    assert RANDOM_STATE.accepts(value) == usable
    assert not RANDOM_STATE.accepts(True)  # Python calls it a number, but as a seed it is a mistake


def test_whole_numbers_in_a_range() -> None:
    limit = Integer(2, 5)
    assert [limit.accepts(value) for value in (1, 2, 5, 6)] == [False, True, True, False]
    assert str(limit) == "a whole number ≥ 2 and ≤ 5"
