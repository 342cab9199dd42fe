"""Counting kernels against NumPy: families, one column beside others, all pairs by bits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from corollary.core.parallel import threads
from corollary.solvers.graphical.learning.counts import (
    Coded,
    _packed,
    family_tables,
    joint_index,
    pair_tables,
    recounted,
    tables_beside,
)
from corollary.solvers.graphical.learning.text_codes import text_codes


def rows(n: int, missing: bool, seed: int = 0) -> tuple[np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
    cards = [2, 3, 4, 2, 7]
    codes = np.stack([rng.integers(0, card, size=n) for card in cards], axis=1).astype(np.int16)
    if missing:
        codes[rng.random(codes.shape) < 0.2] = -1
    return codes, cards


def counted(codes: np.ndarray, weights: np.ndarray, columns: list[int], cards: list[int]) -> np.ndarray:
    table = np.zeros([cards[j] for j in columns])
    for row, weight in zip(codes[:, columns], weights, strict=True):
        if (row >= 0).all():
            table[tuple(row)] += weight
    return table


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_are_those_of_numpy(missing: bool, weighted: bool) -> None:
    codes, cards = rows(1500, missing)
    weights = np.random.default_rng(1).random(1500) if weighted else np.ones(1500)
    data = Coded.of(codes, cards, weights)
    families = [[0], [1, 0], [2, 4, 1], [3, 2, 1, 0]]
    for family, table in zip(families, family_tables(data, families), strict=True):
        np.testing.assert_allclose(table, counted(codes, weights, family, cards), rtol=1e-13)
    base, size = joint_index(data, [1, 2])
    for j, table in zip([0, 4], tables_beside(data, base, size, [0, 4]), strict=True):
        np.testing.assert_allclose(table.reshape(3, 4, -1), counted(codes, weights, [1, 2, j], cards), rtol=1e-13)
    left, right = np.triu_indices(5, 1)
    for part, tables in pair_tables(data, left, right):
        for i, j, table in zip(left[part], right[part], tables, strict=True):
            np.testing.assert_allclose(table, counted(codes, weights, [i, j], cards), rtol=1e-13)


def test_bits_are_those_of_the_states() -> None:
    codes, cards = rows(200, True)
    bits, first, counts = _packed(Coded.of(codes, cards))
    for j, card in enumerate(cards):
        for state in range(card):
            unpacked = np.unpackbits(bits[first[j] + state].view(np.uint8), bitorder="little")[:200]
            np.testing.assert_array_equal(unpacked == 1, codes[:, j] == state)
            assert counts[first[j] + state] == (codes[:, j] == state).sum()


def test_many_parents_are_numbered_by_what_occurs() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, size=(300, 8)).astype(np.int16)
    codes[3, 2] = -1
    index, size = joint_index(Coded.of(codes, [9] * 8), range(8))
    assert size <= 300
    assert index.min() == -1
    assert index.max() == size - 1
    assert index[3] == -1
    same = (codes[:, None] == codes[None]).all(axis=2)
    np.testing.assert_array_equal((index[:, None] == index) & (index >= 0), same & (index >= 0))


def test_threads_change_no_bit() -> None:
    codes, cards = rows(200_000, True)
    data = Coded.of(codes, cards, np.random.default_rng(1).random(200_000))
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(family_tables(data, [[0, 1], [2, 3, 4], [1], [4, 0]]))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


WORDS = [
    "",
    "a",
    "ab",
    "abcdefgh",
    "abcdefghi",
    "abcdefghj",
    "xbcdefghi",
    "héé",
    "abcdefghijklmnopq",
    "abcdefghiiklmnopq",
]


@pytest.mark.parametrize("n", [1, 700, 5000])
def test_text_is_numbered_as_by_sorting(n: int) -> None:
    """Short and long strings, empty ones, some that come late, at the end of the memory that holds them."""
    words = np.array(WORDS)[np.random.default_rng(0).integers(0, len(WORDS), size=n)]
    words[n - n // 4 :] = "only late"
    for column in (pd.Series(words), pl.Series(words), pd.Series(np.append(["x", "y"], words))[2:]):
        found = text_codes(column)
        assert found is not None
        values, codes = np.unique(words, return_inverse=True)
        np.testing.assert_array_equal(found[0], codes)
        np.testing.assert_array_equal(found[1], values)


@pytest.mark.parametrize("count", [3, 40, 500])
def test_many_short_texts_keep_their_numbers(count: int) -> None:
    """More values than there are slots to keep apart, zero bytes at their fronts, and lengths on either side of 8."""
    rng = np.random.default_rng(count)
    letters = np.array(list("\x00\x01\x08ab"))
    values = sorted({"".join(rng.choice(letters, size=size)) + "x" for size in rng.integers(0, 10, size=count)})
    rows = [values[k] for k in rng.integers(0, len(values), size=4000)]
    found = text_codes(pd.Series(rows, dtype="str"))
    assert found is not None
    assert found[1].tolist() == sorted(set(rows))
    assert found[1][found[0]].tolist() == rows


def test_families_counted_together_are_those_counted_alone() -> None:
    """Some at once in a joint table, columns of one state among them, and by another route."""
    rng = np.random.default_rng(0)
    cards = [1] * 70 + rng.integers(2, 6, size=12).tolist()
    codes = np.stack([rng.integers(0, card, size=3000) for card in cards], axis=1).astype(np.int16)
    families = [[j] for j in range(70)] + [[j, j - 1, j - 2][: 1 + j % 3] for j in range(72, 82)]
    data = Coded.of(codes, cards)
    for family, one, two in zip(families, family_tables(data, families), recounted(data, families), strict=True):
        np.testing.assert_array_equal(one, counted(codes, np.ones(3000), family, cards))
        np.testing.assert_array_equal(one, two)


def test_rows_of_one_array_are_taken_as_they_are() -> None:
    room = np.zeros((2, 50), dtype=np.int16)
    weights, everything = np.ones(50), np.ones(50, dtype=bool)
    assert Coded.gather(list(room), [2, 2], weights, everything).codes is room
    for columns in ([room[1], room[0]], [room[0], room[1, ::-1]], [room[0], room[1].copy()], [room[0]]):
        found = Coded.gather(columns, [2] * len(columns), weights, everything).codes
        assert found is not room
        np.testing.assert_array_equal(found, np.stack(columns))


def test_text_with_gaps_or_too_many_values_is_left_to_others() -> None:
    assert text_codes(pd.Series(["a", None])) is None
    for n in (600, 2000, 5000):
        assert text_codes(pd.Series([f"value {i}" for i in range(n)])) is None
    assert text_codes(pd.Series(["one"] * 3000 + [f"value {i}" for i in range(600)])) is None
    assert text_codes(pd.Series([1.0, 2.0])) is None
