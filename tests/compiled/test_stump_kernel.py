"""Kernels of binned AdaBoost against plain NumPy twins."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from corollary._compiled.trees import stump

rng = np.random.default_rng(0)
N, D, K = 200, 5, 3
N_BINS = np.array([4, 9, 1, 2, 30])
OFFSETS = np.concatenate([[0], np.cumsum(N_BINS + 1)[:-1]])
BINS = int((N_BINS + 1).sum())
CODES = np.stack([rng.integers(0, bins + (bins != 9), N) for bins in N_BINS]).astype(np.uint8)  # column 1: none missing
LABELS = rng.integers(0, K, N).astype(np.int32)
WEIGHTS = rng.uniform(0.1, 3.0, N)


def histogram_twin(rows: Any, amounts: Any) -> Any:
    out = np.zeros((BINS, K))
    for f in range(D):
        np.add.at(out, (OFFSETS[f] + CODES[f, rows], LABELS[rows]), amounts)
    return out


def filled() -> Any:
    return histogram_twin(np.arange(N), WEIGHTS)


def test_add_rows_reads_its_segments_and_no_others() -> None:
    rows, amounts = rng.permutation(N).astype(np.int32), rng.uniform(size=N)
    starts, stops = np.array([0, 50, 120]), np.array([20, 50, 200])
    found = np.zeros((BINS, K))
    for first, last in ((0, 2), (2, 5)):
        stump.add_rows(CODES, OFFSETS, rows, LABELS[rows], amounts, starts, stops, first, last, found)
    listed = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
    np.testing.assert_allclose(found, histogram_twin(rows[listed], amounts[listed]), rtol=1e-13)


def impurity(sums: Any, criterion: int) -> float:
    """Weight times Gini impurity or entropy."""
    weight = sums.sum()
    shares = sums[sums > 0] / weight
    return float(weight * (1 - (shares**2).sum() if criterion == stump.GINI else -(shares * np.log2(shares)).sum()))


def decrease(f: int, left_bins: Any, missing_left: bool, criterion: int) -> float:
    """By how much sending these bins left lowers the impurity; −inf if a side is empty."""
    left = np.where(CODES[f] == N_BINS[f], missing_left, np.isin(CODES[f], list(left_bins)))
    sides = [np.bincount(LABELS[side], weights=WEIGHTS[side], minlength=K) for side in (left, ~left)]
    if min(side.sum() for side in sides) == 0:
        return -np.inf
    return impurity(sum(sides), criterion) - sum(impurity(side, criterion) for side in sides)


def best_twin(f: int, criterion: int) -> float:
    """The best decrease over all thresholds of column f."""
    cuts = [(range(b + 1), side) for b in range(N_BINS[f]) for side in (False, True)]
    return max(decrease(f, bins, side, criterion) for bins, side in cuts)


def found_splits(categorical: Any, criterion: int) -> tuple[Any, ...]:
    gains, sides = np.empty(D), np.empty(D, dtype=bool)
    counts, labels = np.empty(D, dtype=np.int64), np.empty(D, dtype=np.int64)
    total = np.bincount(LABELS, weights=WEIGHTS, minlength=K)
    out = (gains, counts, labels, sides)
    for first, last in ((0, 3), (3, D)):
        stump.best_splits(filled(), OFFSETS, N_BINS, categorical, total, criterion, first, last, *out)
    return (*out, total)


@pytest.mark.parametrize("criterion", [stump.GINI, stump.ENTROPY])
def test_best_splits_of_numbers_are_the_best(criterion: int) -> None:
    gains, counts, labels, sides, total = found_splits(np.zeros(D, dtype=bool), criterion)
    best = [best_twin(f, criterion) for f in range(D)]
    for f in range(D):
        assert decrease(f, range(counts[f]), sides[f], criterion) == pytest.approx(best[f], rel=1e-9)
    assert (labels == -1).all()
    assert stump.first_best(gains, total.sum()) == int(np.argmax(best))


@pytest.mark.parametrize("criterion", [stump.GINI, stump.ENTROPY])
def test_best_splits_of_categories_are_the_best_of_every_order(criterion: int) -> None:
    _, counts, labels, sides, _ = found_splits(np.ones(D, dtype=bool), criterion)
    for f in range(D):
        sums = np.zeros((N_BINS[f] + 1, K))
        np.add.at(sums, (CODES[f], LABELS), WEIGHTS)
        orders = [np.argsort(sums[:-1, k] / sums[:-1].sum(axis=1), kind="stable") for k in range(K)]
        best = max(
            decrease(f, order[:m], side, criterion)
            for order in orders
            for m in range(1, len(order) + 1)
            for side in (False, True)
        )
        chosen = decrease(f, orders[labels[f]][: counts[f]], sides[f], criterion)
        assert chosen == pytest.approx(best, rel=1e-9)


def test_two_classes_of_categories_are_split_as_well_as_can_be() -> None:
    """No set of categories does better than the best cut of their order."""
    sums = np.random.default_rng(1).uniform(0.1, 3.0, (6, 2))
    sums[-1] = 0.0  # none is missing
    total = sums.sum(axis=0)
    out = (np.empty(1), np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64), np.empty(1, dtype=bool))
    stump.best_splits(sums, np.array([0]), np.array([5]), np.array([True]), total, stump.GINI, 0, 1, *out)

    def gain(chosen: Any) -> float:
        left = sums[list(chosen)].sum(axis=0)
        return float((left**2).sum() / left.sum() + ((total - left) ** 2).sum() / (total - left).sum())

    sets = [chosen for m in range(1, 5) for chosen in combinations(range(5), m)]
    assert out[0][0] == pytest.approx(max(map(gain, sets)))


def test_category_order() -> None:
    sums, order = np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 3.0], [2.0, 2.0], [1.0, 3.0]]), np.empty(5, dtype=np.int64)
    assert stump.category_order(sums, 0, 5, 0, np.empty(5), order) == 4
    assert order[:4].tolist() == [2, 4, 3, 0]
    many = np.random.default_rng(3).integers(1, 20, (500, 2)).astype(float)
    order = np.empty(500, dtype=np.int64)
    assert stump.category_order(many, 0, 500, 1, np.empty(500), order) == 500
    np.testing.assert_array_equal(order, np.argsort(many[:, 1] / many.sum(axis=1), kind="stable"))


def test_a_column_that_cannot_split_has_no_gain() -> None:
    histogram = np.array([[2.0, 1.0, 4.0], [0.0, 0.0, 0.0]])
    for categorical in (False, True):
        out = (np.empty(1), np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64), np.empty(1, dtype=bool))
        where = (np.array([0]), np.array([1]), np.array([categorical]))
        stump.best_splits(histogram, *where, histogram[0], stump.GINI, 0, 1, *out)
        assert out[1][0] == 0
        assert stump.first_best(out[0], 7.0) == -1


def test_equal_splits_are_decided_by_their_place_not_by_rounding() -> None:
    assert stump.first_best(np.array([1.0, 1.0 + 1e-13, 1.0 - 1e-13]), 1.0) == 0
    assert stump.first_best(np.array([-1e300, 0.5, 1.0]), 1.0) == 2


def test_route() -> None:
    leaf, table = rng.integers(0, 3, N).astype(np.uint8), np.array([True, False, True, False, True])
    expected = np.where(leaf == 2, np.where(table[CODES[0]], 3, 4), leaf)
    stump.route(CODES[0], 2, table, 3, leaf)
    np.testing.assert_array_equal(leaf, expected)


def test_leaf_sums() -> None:
    leaf, found = rng.integers(0, 4, N).astype(np.uint8), np.zeros((4, K + 1))
    stump.leaf_sums(leaf, LABELS, WEIGHTS, found)
    expected = np.zeros((4, K + 1))
    np.add.at(expected, (leaf, LABELS), WEIGHTS)
    expected[:, K] = np.bincount(leaf, minlength=4)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_wrong_weight() -> None:
    said = rng.integers(0, K, N).astype(np.int32)
    np.testing.assert_allclose(
        stump.wrong_weight(said, LABELS, WEIGHTS), (WEIGHTS[said != LABELS].sum(), WEIGHTS.sum()), rtol=1e-13
    )


def test_reweigh() -> None:
    weights, base = WEIGHTS.copy(), WEIGHTS / WEIGHTS.sum()
    votes, leader = np.zeros((N, K)), np.zeros(N, dtype=np.int32)
    rows, labels, growth = np.empty(N, dtype=np.int32), np.empty(N, dtype=np.int32), np.empty(N)
    expected_votes, expected_weights = np.zeros((N, K)), WEIGHTS.copy()
    for alpha in (0.5, 0.25, 0.25, 1.0):
        said, before, errors = rng.integers(0, K, N).astype(np.int32), weights.copy(), 0.0
        listed = []
        for start, stop in ((0, 90), (90, N)):
            state = (weights, base, votes, leader)
            count, error = stump.reweigh(start, stop, said, LABELS, alpha, *state, rows, labels, growth)
            listed += list(range(start, start + count))
            errors += error
        expected_votes[np.arange(N), said] += alpha
        expected_weights[said != LABELS] *= np.exp(alpha)
        np.testing.assert_allclose(weights, expected_weights, rtol=1e-13)
        np.testing.assert_array_equal(votes, expected_votes)
        np.testing.assert_array_equal(leader, expected_votes.argmax(axis=1))
        assert errors == pytest.approx(base[expected_votes.argmax(axis=1) != LABELS].sum())
        np.testing.assert_array_equal(np.sort(rows[listed]), np.flatnonzero(said != LABELS))
        np.testing.assert_array_equal(labels[listed], LABELS[rows[listed]])
        np.testing.assert_allclose(growth[listed], (weights - before)[rows[listed]], rtol=1e-12)
