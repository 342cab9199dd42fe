"""Haar kernels against plain NumPy: integral images, responses, codes, gains, the cascade's verdict."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corollary._compiled.trees.haar import (
    cascade_block,
    codes_block,
    even_codes_block,
    gains_block,
    integral_block,
    responses_block,
)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_integral_is_a_double_cumulative_sum(squared: bool, dtype: type) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 5, 7)).astype(dtype)
    found = np.full((3, 6, 8), np.nan)
    integral_block(images, squared, 0, 3, found)
    pixels = images.astype(np.float64) ** (2 if squared else 1)
    expected = np.pad(pixels.cumsum(axis=1).cumsum(axis=2), ((0, 0), (1, 0), (1, 0)))
    np.testing.assert_array_equal(found, expected)


def test_blocks_of_integrals_touch_nothing_else() -> None:
    images, found = np.ones((4, 2, 2)), np.full((4, 3, 3), -1.0)
    integral_block(images, False, 1, 3, found)
    assert (found[[0, 3]] == -1).all()
    assert found[1, 2, 2] == found[2, 2, 2] == 4


def random_corners(rng: np.random.Generator, m: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places, coefficients = rng.integers(0, p, (m, 9)), rng.integers(-4, 5, (m, 9)).astype(float)
    counts = rng.choice([6, 8, 9], m)
    coefficients[np.arange(9) >= counts[:, None]] = 0.0
    return places, coefficients, counts


def dense(places: np.ndarray, coefficients: np.ndarray, p: int) -> np.ndarray:
    matrix = np.zeros((len(places), p))
    for row, (place, coefficient) in enumerate(zip(places, coefficients, strict=True)):
        np.add.at(matrix[row], place, coefficient)
    return matrix


def test_responses_are_a_matrix_product() -> None:
    rng = np.random.default_rng(1)
    places, coefficients, counts = random_corners(rng, 12, 30)
    columns = rng.integers(-50, 50, (30, 17)).astype(float)
    found = np.empty((5, 17))
    responses_block(columns, places, coefficients, counts, 4, 9, found)
    np.testing.assert_array_equal(found, (dense(places, coefficients, 30) @ columns)[4:9])


def test_codes_are_a_search() -> None:
    rng = np.random.default_rng(2)
    responses = rng.integers(0, 40, (6, 50)).astype(float)
    edges = np.sort(rng.integers(0, 40, (6, 11)).astype(float), axis=1)
    found = np.empty((6, 50), dtype=np.uint8)
    codes_block(responses, edges, found)
    for row in range(6):
        np.testing.assert_array_equal(found[row], np.searchsorted(edges[row], responses[row], side="left"))


def test_even_codes_are_whole_parts() -> None:
    responses = np.random.default_rng(6).normal(size=(4, 90)) * 3
    lows, steps = np.array([-1.0, -9.0, 0.0, 0.0]), np.array([100.0, 10.0, 0.0, 1e300])
    found = np.empty((4, 90), dtype=np.uint8)
    even_codes_block(responses, lows, steps, found)
    expected = np.floor(np.clip((responses - lows[:, None]) * steps[:, None], 0, 255))
    np.testing.assert_array_equal(found, expected)
    assert not found[2].any()


def test_gains_are_the_best_of_all_cuts() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 9, (8, 60)).astype(np.uint8)
    codes[5] = 7  # says nothing: both classes on one side of every cut
    codes[6], codes[7] = 255, np.where(np.arange(60) < 20, 0, 255)
    weights = rng.random(60)
    signs = np.where(np.arange(60) < 20, 1.0, -1.0)
    found = np.empty(8)
    gains_block(codes, 20, weights, 0, 8, found)
    for f in range(8):
        best = 0.0
        for cut in range(255):
            left = codes[f] <= cut
            if left.any() and not left.all():
                best = max(best, sum((weights * signs)[s].sum() ** 2 / weights[s].sum() for s in (left, ~left)))
        assert found[f] == pytest.approx(best, rel=1e-12)
    assert found[5] == found[6] == 0
    assert found[7] == pytest.approx(weights.sum())  # a perfect split explains everything


def test_verdicts_follow_the_stages() -> None:
    rng = np.random.default_rng(4)
    m, p, n = 7, 30, 40
    places, coefficients, counts = random_corners(rng, m, p)
    windows = rng.integers(-9, 9, (n, p)).astype(float)
    cuts, lefts, rights = rng.normal(size=m), rng.normal(size=m), rng.normal(size=m)
    scales, parts = rng.random(n), [(0, 2), (2, 3), (3, 7)]
    responses = windows @ dense(places, coefficients, p).T * scales[:, None]
    votes = np.where(responses <= cuts, lefts, rights)
    thresholds = np.array([np.quantile(votes[:, a:b].sum(axis=1), 0.4) - 1e-6 for a, b in parts])
    ends = np.array([2, 3, 7], dtype=np.int32)
    found = np.empty(n)
    cascade_block(
        windows.ravel(), np.arange(n) * p, scales, places, coefficients, counts, cuts, lefts, rights, ends, thresholds,
        0, n, found,
    )  # fmt: skip
    for i in range(n):
        expected = 1.0
        for k, (first, last) in enumerate(parts):
            margin = votes[i, first:last].sum() - thresholds[k]
            if margin < 0:
                expected = k - 3 + math.exp(margin)
                break
            expected += margin
        assert found[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert 0 < (found > 0).sum() < n
