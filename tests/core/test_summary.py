"""Summaries: merging in any order and any partition gives the whole; weights are repetitions; no digits lost."""

from __future__ import annotations

import pickle
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest

from corollary.core.design import as_design
from corollary.core.summary import Moments, Triangle

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4)) * [1.0, 10.0, 0.1, 1.0] + np.array([0.0, 100.0, -3.0, 1e4])
Y = RNG.standard_normal((120, 2)) + np.array([5.0, -1e3])
W = RNG.random(120) * (RNG.random(120) < 0.8)


def of(rows: slice, weights: np.ndarray | None = W, shift: float = 0.0) -> Moments:
    return Moments.of(X[rows], Y[rows], None if weights is None else weights[rows], np.full(4, shift))


def assert_same(a: Moments, b: Moments, rtol: float = 1e-9) -> None:
    for name in ("weight", "mean_x", "mean_y", "xx", "xy", "yy"):
        scale = np.abs(getattr(b, name)).max()
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=rtol * scale, err_msg=name)


@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("cuts", [[0, 120], [0, 1, 120], [0, 7, 8, 60, 119, 120], list(range(121))], ids=len)
def test_any_partition_gives_the_whole(cuts: list[int], weights: np.ndarray | None) -> None:
    parts = [of(slice(a, b), weights) for a, b in pairwise(cuts)]
    whole = of(slice(None), weights)
    assert_same(reduce(add, parts), whole)
    assert_same(reduce(add, parts[::-1]), whole)
    while len(parts) > 1:  # as a tree
        parts = [reduce(add, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    assert_same(parts[0], whole)


def test_merging_is_associative_and_commutative() -> None:
    a, b, c = of(slice(0, 30)), of(slice(30, 31)), of(slice(31, 120))
    assert_same((a + b) + c, a + (b + c), rtol=1e-12)
    assert_same(a + c, c + a, rtol=1e-12)


def test_blocks_without_weight_change_nothing() -> None:
    nothing = Moments.of(X[:5], Y[:5], np.zeros(5), np.zeros(4))
    assert nothing.weight == 0.0
    some = of(slice(5, 60))
    assert_same(some + nothing, some, rtol=1e-14)
    assert_same(nothing + some, some, rtol=1e-12)
    assert (nothing + nothing).weight == 0.0
    assert np.isfinite((nothing + nothing).xx).all()


def test_weights_are_repetitions() -> None:
    times = RNG.integers(0, 4, 120)
    repeated = Moments.of(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0), None, X.mean(axis=0))
    assert_same(Moments.of(X, Y, times.astype(float), X.mean(axis=0)), repeated, rtol=1e-11)


def test_second_moments_are_those_of_the_definition() -> None:
    whole, mean = of(slice(None)), W @ X / W.sum()
    mean_y = W @ Y / W.sum()
    np.testing.assert_allclose(whole.xx, (X - mean).T @ (W[:, None] * (X - mean)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(whole.xy, (X - mean).T @ (W[:, None] * (Y - mean_y)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(whole.yy, W @ (Y - mean_y) ** 2, rtol=1e-9)
    xx, xy, yy = whole.about_zero()
    np.testing.assert_allclose(xx, X.T @ (W[:, None] * X), rtol=1e-12)
    np.testing.assert_allclose(xy, X.T @ (W[:, None] * Y), rtol=1e-11)
    np.testing.assert_allclose(yy, W @ Y**2, rtol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 1e6, 1e12])
def test_a_huge_mean_costs_no_digits(mean: float) -> None:
    column = mean + RNG.integers(-50, 50, 200).astype(float)  # exact in float64, so fractions know the answer
    exact = [Fraction(value) for value in column]
    centre = sum(exact) / 200
    truth = float(sum((value - centre) ** 2 for value in exact))
    found = as_design(column[:, None]).moments(np.zeros((200, 1)))
    assert found.xx[0, 0] == pytest.approx(truth, rel=1e-12)
    halves = [Moments.of(part[:, None], np.zeros((100, 1)), None, part[:1]) for part in (column[:100], column[100:])]
    assert (halves[0] + halves[1]).xx[0, 0] == pytest.approx(truth, rel=1e-12 + 1e-17 * mean)


def test_summaries_are_values() -> None:
    """They keep nothing of the rows, survive pickling, and merging leaves both parts as they were."""
    buffer = np.empty((200, 5))
    a, b = of(slice(0, 60)), Moments.of(X[60:], Y[60:], W[60:], np.zeros(4), buffer)
    before = a.xx.copy(), b.xx.copy()
    buffer[:] = np.nan
    merged = a + b
    assert (a.xx == before[0]).all()
    assert (b.xx == before[1]).all()
    assert_same(merged, of(slice(None)))
    assert (pickle.loads(pickle.dumps(merged)).xx == merged.xx).all()


def test_an_overflow_is_seen_in_the_result_not_as_a_warning() -> None:
    huge = Moments.of(np.array([[1e200], [-1e200]]), np.zeros((2, 1)), None, np.zeros(1))
    assert not np.isfinite(huge.xx).all()


@pytest.mark.parametrize("cuts", [[0, 120], [0, 2, 120], [0, 1, 2, 3, 50, 120]], ids=len)
def test_triangles_of_any_partition_factor_the_whole(cuts: list[int]) -> None:
    A = np.hstack([X, Y]) / 100
    parts = [Triangle.of(A[a:b]) for a, b in pairwise(cuts)]  # some have fewer rows than columns
    R = reduce(add, parts).R
    np.testing.assert_allclose(np.tril(R, -1), 0.0, atol=1e-12)
    np.testing.assert_allclose(R.T @ R, A.T @ A, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(np.linalg.svd(R, compute_uv=False), np.linalg.svd(A, compute_uv=False), rtol=1e-10)
