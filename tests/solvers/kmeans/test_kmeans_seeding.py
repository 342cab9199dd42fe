"""Starts: rows that are drawn as their weights say, in any order of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import kmeans_plusplus

from corollary.solvers.kmeans.seeding import plus_plus, random_rows


@pytest.mark.parametrize("draw", [plus_plus, random_rows])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_weights_are_repetitions_in_any_order(draw, make):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 4)), rng.integers(0, 4, 60)
    repeated = np.repeat(X, weights, axis=0)[rng.permutation(weights.sum())]
    one = draw(make(X), weights.astype(float), 7, np.random.RandomState(3))
    other = draw(make(repeated), np.ones(len(repeated)), 7, np.random.RandomState(3))
    np.testing.assert_array_equal(one, other)


def test_centres_are_different_rows():
    X = np.random.default_rng(1).normal(size=(200, 3))
    for draw in (plus_plus, random_rows):
        centres = draw(X, np.ones(200), 20, np.random.RandomState(0))
        assert len(np.unique(centres, axis=0)) == 20
        assert all((centre == X).all(axis=1).any() for centre in centres)


def test_few_values_are_all_found():
    X = np.repeat(np.array([[0.0, 0], [1, 0], [1, 1]]), [500, 5, 1], axis=0)
    for draw in (plus_plus, random_rows):
        assert len(np.unique(draw(X, np.ones(506), 3, np.random.RandomState(0)), axis=0)) == 3
        assert draw(X, np.ones(506), 5, np.random.RandomState(0)).shape == (5, 2)


def test_zero_weights_are_never_drawn():
    X, weights = np.arange(50.0)[:, None], np.zeros(50)
    weights[[3, 30, 44]] = 0.1
    for draw in (plus_plus, random_rows):
        assert sorted(draw(X, weights, 3, np.random.RandomState(1)).ravel()) == [3, 30, 44]


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_the_cost_is_as_low_as_the_reference(offset):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 6))[rng.integers(0, 30, 3_000)] * 5 + rng.normal(size=(3_000, 6)) + offset

    def cost(centres):
        return ((X[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()

    ours = [cost(plus_plus(X, np.ones(3_000), 30, np.random.RandomState(s))) for s in range(8)]
    peer = [cost(kmeans_plusplus(X - offset, 30, random_state=s)[0] + offset) for s in range(8)]
    assert np.mean(ours) < 1.1 * np.mean(peer)


def test_first_draw_follows_the_weights():
    X, weights = np.array([[0.0], [1.0]]), np.array([1.0, 3.0])
    rng = np.random.RandomState(0)
    assert abs(np.mean([plus_plus(X, weights, 1, rng)[0, 0] for _ in range(2_000)]) - 0.75) < 0.04
