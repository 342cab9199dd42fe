"""Votes of neighbours against plain NumPy, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from corollary.core import parallel
from corollary.solvers.neighbors import votes

rng = np.random.default_rng(0)
ROWS, VOTES = rng.integers(0, 50, (101, 7)), rng.random((101, 7)) + 0.1


def test_shares_of_votes_are_those_of_plain_sums() -> None:
    codes = rng.integers(0, 4, (50, 2))
    expected = np.stack([(VOTES * (codes[ROWS, 1] == c)).sum(axis=1) for c in range(4)], axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    found = []
    for count in (1, 2, 3, 7, 16):
        shares = np.zeros((101, 4))
        with parallel.threads(count):
            votes.count_votes(ROWS, VOTES, codes, 1, shares)
        np.testing.assert_allclose(shares, expected, rtol=1e-14)
        found.append(shares)
    assert all((shares == found[0]).all() for shares in found)


def test_means_are_those_of_numpy() -> None:
    y = rng.normal(size=(50, 3))
    expected = np.stack([np.average(y[ROWS, o], axis=1, weights=VOTES) for o in range(3)], axis=1)
    found = []
    for count in (1, 2, 3, 7, 16):
        means = np.empty((101, 3))
        with parallel.threads(count):
            votes.average(ROWS, VOTES, y, means)
        np.testing.assert_allclose(means, expected, rtol=1e-13, atol=1e-15)
        found.append(means)
    assert all((means == found[0]).all() for means in found)


def test_numbers_that_lead_beyond_a_table_are_refused() -> None:
    codes = np.zeros((50, 1), dtype=np.int64)
    codes[ROWS[3, 2]] = 4
    with pytest.raises(ValueError, match="do not fit together"):
        votes.count_votes(ROWS, VOTES, codes, 0, np.zeros((101, 4)))
    with pytest.raises(ValueError, match="do not fit together"):
        votes.average(ROWS, VOTES, np.zeros((ROWS.max(), 1)), np.zeros((101, 1)))
