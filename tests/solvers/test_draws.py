"""Draws depend on what rows are, not on where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary.solvers.draws import Urn, row_keys


def data(n: int = 50) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[np.abs(X) < 0.5] = 0.0
    return X, rng.integers(0, 2, n).astype(float)


def test_keys_do_not_depend_on_the_container_or_the_place() -> None:
    X, y = data()
    keys = row_keys(X, y)
    assert len(np.unique(keys)) == len(keys)
    np.testing.assert_array_equal(row_keys(sparse.csr_array(X), y), keys)
    np.testing.assert_array_equal(row_keys(np.asfortranarray(X), y), keys)
    np.testing.assert_array_equal(row_keys(np.where(X == 0, -0.0, X), y), keys)
    np.testing.assert_array_equal(row_keys(X[::-1], y[::-1]), keys[::-1])
    narrow = X.astype(np.float32)
    np.testing.assert_array_equal(row_keys(narrow, y), row_keys(narrow.astype(float), y))


def test_keys_of_objects_are_those_of_the_numbers_that_they_are() -> None:
    X, y = data()
    np.testing.assert_array_equal(row_keys(X.astype(object), y), row_keys(X, y))
    text = np.array([["1", 2.0], ["1.0", 2.0], ["a", 2.0], [None, 2.0]], dtype=object)
    assert len(np.unique(row_keys(text, np.zeros(4)))) == 4


def test_keys_see_every_cell_and_the_target() -> None:
    X, y = data()
    keys = row_keys(X, y)
    for other in (X[:, [1, 0, 2, 3]], X * (1 + 2.0**-52)):
        np.testing.assert_array_equal(row_keys(other, y) != keys, (other != X).any(axis=1))
    assert (row_keys(X, y + 1) != keys).all()


def test_text_has_keys() -> None:
    X = np.array([["a", 1], ["b", 2], ["a", 1]], dtype=object)
    keys = row_keys(X, np.zeros(3))
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize("method", ["draw", "subset"])
def test_a_weight_is_a_repetition(method: str) -> None:
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    rows = np.random.default_rng(2).permutation(rows)
    weighted = getattr(Urn.of(X, y, weights.astype(float)), method)(30, np.random.RandomState(3))
    repeated = getattr(Urn.of(X[rows], y[rows], np.ones(len(rows))), method)(30, np.random.RandomState(3))
    np.testing.assert_array_equal(np.bincount(rows, weights=repeated, minlength=len(y)), weighted)
    assert weighted.sum() == 30
    assert not weighted[weights == 0].any()


def test_draws_have_the_right_frequency() -> None:
    X, y = data(4)
    weights = np.array([1.0, 0.0, 2.5, 0.5])
    counts = Urn.of(X, y, weights).draw(40_000, np.random.RandomState(0))
    np.testing.assert_allclose(counts / 40_000, weights / 4, atol=0.01)


def test_a_subset_takes_no_more_of_a_row_than_there_is() -> None:
    X, y = data()
    weights = np.random.default_rng(4).uniform(0, 2, len(y))
    urn = Urn.of(X, y, weights)
    parts = urn.subset(20, np.random.RandomState(0))
    assert (parts <= weights + 1e-12).all()
    assert parts.min() >= 0
    assert parts.sum() == pytest.approx(20, abs=1)
    np.testing.assert_allclose(urn.subset(10**6, np.random.RandomState(0)), weights, atol=1e-9)


def test_listed_rows_repeat_by_count() -> None:
    X, y = data()
    urn = Urn.of(X, y, np.ones(len(y)))
    counts = urn.draw(50, np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(urn.listed(counts), minlength=len(y)), counts)
