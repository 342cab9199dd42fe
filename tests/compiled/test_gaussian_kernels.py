"""The kernels of Gaussian mixtures against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from corollary._compiled.em import gaussian as kernels
from corollary.core.types import Array

RNG = np.random.default_rng(0)


def test_enter() -> None:
    X, centre, inverse, Z = RNG.normal(size=(9, 4)), RNG.normal(size=4), 2.0 ** np.arange(4), np.empty((9, 4))
    kernels.enter(X, centre, inverse, Z)
    np.testing.assert_array_equal(Z, (X - centre) * inverse)


@pytest.mark.parametrize("d", [1, 4, 7])
@pytest.mark.parametrize("tied", [False, True])
def test_whitened_squares(d: int, tied: bool) -> None:
    k, n = 3, 11
    Y, centres, squares = RNG.normal(size=(d if tied else k * d, n)), RNG.normal(size=(k, d)), np.empty((k, n))
    kernels.whitened_squares(Y, centres, 0 if tied else d, squares)
    stacked = np.broadcast_to(Y, (k, d, n)) if tied else Y.reshape(k, d, n)
    np.testing.assert_allclose(squares, ((stacked - centres[:, :, None]) ** 2).sum(axis=1), rtol=1e-13)


@pytest.mark.parametrize("d", [1, 4, 7])
@pytest.mark.parametrize("n", [3, 8, 21])
def test_diagonal_squares(d: int, n: int) -> None:
    k = 3
    Z, centres, roots = RNG.normal(size=(n, d)), RNG.normal(size=(k, d)), RNG.uniform(1, 2, size=(k, d))
    turned, squares = np.empty((d, n)), np.empty((k, n))
    kernels.diagonal_squares(Z, turned, centres, roots, squares)
    expected = ((Z[None] * roots[:, None] - centres[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares, expected, rtol=1e-13)


def settled(squares: Array, cut: float, labels: Array, weights: Array) -> tuple[float, Array, Array, Array]:
    k, n = squares.shape
    posterior, logs, counts = np.empty((n, k)), np.empty(n), np.zeros(k)
    offsets = np.log(np.arange(1.0, k + 1))
    shares, top = squares.copy(), np.empty(n)
    kernels.joint(shares, offsets, labels, top, logs)
    kernels.exponentials(shares, top, np.full(k, cut))
    total = kernels.settle(shares, top, weights, labels, posterior, logs, counts)
    return total, posterior, logs, counts


def test_exponentials_are_exact_to_the_last_bits() -> None:
    x = -np.concatenate([[0.0, 1e-300, 1e-9, 699.9], RNG.exponential(30.0, 5000), RNG.uniform(0, 1, 5000)])[None]
    found = x.copy()
    kernels.exponentials(found, np.zeros(x.shape[1]), np.array([-745.0]))
    np.testing.assert_allclose(found, np.exp(x), rtol=5e-16)
    assert found[0, 0] == 1.0
    far = np.array([[-701.0, -1e6, -np.inf]])
    kernels.exponentials(far, np.zeros(3), np.array([-745.0]))
    np.testing.assert_array_equal(far, 0.0)


def test_settle() -> None:
    k, n = 4, 50
    squares, weights = RNG.uniform(0, 80, size=(k, n)), RNG.uniform(0.5, 2, size=n)
    labels = np.full(n, -1, dtype=np.int32)
    labels[::7] = 2
    total, posterior, logs, counts = settled(squares, -745.0, labels, weights)
    joint = np.log(np.arange(1.0, k + 1))[:, None] - squares / 2
    expected = np.where(labels == 2, joint[2], logsumexp(joint, axis=0))
    shares = np.where(labels == 2, np.eye(k)[2][:, None], np.exp(joint - logsumexp(joint, axis=0))) * weights
    np.testing.assert_allclose(logs, expected, rtol=1e-13)
    np.testing.assert_allclose(posterior, shares.T, rtol=1e-12)
    np.testing.assert_allclose(counts, shares.sum(axis=1), rtol=1e-12)
    assert total == pytest.approx(weights @ expected, rel=1e-13)


def test_settle_leaves_out_what_no_sum_notices() -> None:
    squares = np.array([[0.0, 0.0], [200.0, 1.0]])
    labels, weights = np.full(2, -1, dtype=np.int32), np.ones(2)
    faint, exact = (settled(squares, cut, labels, weights) for cut in (-46.0, -745.0))
    assert faint[1][0, 1] == 0.0 < exact[1][0, 1] < 1e-40
    np.testing.assert_array_equal(faint[2], exact[2])
    np.testing.assert_array_equal(faint[1][1], exact[1][1])


def test_settle_far_from_everything() -> None:
    total, posterior, logs, _ = settled(np.full((2, 1), np.inf), -745.0, np.full(1, -1, dtype=np.int32), np.ones(1))
    assert total == logs[0] == -np.inf
    np.testing.assert_array_equal(posterior, [[0.5, 0.5]])


def test_pack() -> None:
    n, d = 20, 3
    Z, mean = RNG.normal(size=(n, d)), RNG.normal(size=d)
    posterior = RNG.uniform(size=(n, 2)) * (RNG.uniform(size=(n, 2)) < 0.6)
    packed = np.empty((n, d))
    kept = kernels.pack(Z, posterior, 1, mean, packed)
    share = posterior[:, 1]
    assert kept == (share > 0).sum()
    expected = np.sqrt(share[share > 0])[:, None] * (Z - mean)[share > 0]
    np.testing.assert_allclose(packed[:kept], expected, rtol=1e-13)


@pytest.mark.parametrize("n", [3, 20, 22])
def test_diagonal_moments(n: int) -> None:
    k, d = 2, 3
    Z, means, posterior = RNG.normal(size=(n, d)), RNG.normal(size=(k, d)), RNG.uniform(size=(n, k))
    posterior[::3, 0] = 0.0
    posterior[4:12] = 0.0
    first, second = np.ones((k, d)), np.ones((k, d))
    kernels.diagonal_moments(Z, posterior, means, first, second)
    steps = Z[:, None] - means
    np.testing.assert_allclose(first, 1 + np.einsum("nk,nkd->kd", posterior, steps), rtol=1e-12)
    np.testing.assert_allclose(second, 1 + np.einsum("nk,nkd->kd", posterior, steps**2), rtol=1e-12)
