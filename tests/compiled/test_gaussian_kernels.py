"""The kernels of Gaussian mixtures against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from corollary._compiled._jit import kernel
from corollary._compiled.em import dense, diagonal, shares
from corollary._compiled.em.shares import CHUNK
from corollary.core.types import Array

RNG = np.random.default_rng(0)


@kernel
def turn(*args):  # which, as all of these, only kernels can call
    return shares.turn(*args)


@kernel
def relative(*args):
    return shares.relative(*args)


@kernel
def settle(*args):
    return shares.settle(*args)


@kernel
def whiten(*args):
    return dense.whiten(*args)


@kernel
def distances(*args):
    return dense.distances(*args)


@kernel
def add_products(*args):
    return dense.add_products(*args)


@kernel
def pack(*args):
    return dense.pack(*args)


@kernel
def diagonal_squares(*args):
    return diagonal.diagonal_squares(*args)


@kernel
def diagonal_moments(*args):
    return diagonal.diagonal_moments(*args)


@pytest.mark.parametrize("n", [1, 9, CHUNK])
def test_turn(n: int) -> None:
    X, centre, inverse = RNG.normal(size=(n + 5, 4)), RNG.normal(size=4), 2.0 ** np.arange(4)
    turned = np.full(4 * CHUNK, 7.0)
    turn(X, 3, 3 + n, centre, inverse, turned)
    expected = np.zeros((4, CHUNK))
    expected[:, :n] = ((X[3 : 3 + n] - centre) * inverse).T
    np.testing.assert_array_equal(turned.reshape(4, CHUNK), expected)


@pytest.mark.parametrize("d", [4, 8, 20])
def test_whiten_and_distances(d: int) -> None:
    z, root, centre = RNG.normal(size=(d, CHUNK)), np.triu(RNG.normal(size=(d, d))), RNG.normal(size=d)
    y, squares = np.empty(d * CHUNK), np.empty(CHUNK)
    whiten(z.ravel(), root, y)
    np.testing.assert_allclose(y.reshape(d, CHUNK), root.T @ z, rtol=1e-12, atol=1e-13)
    distances(y, centre, squares)
    np.testing.assert_allclose(squares, ((root.T @ z - centre[:, None]) ** 2).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("d", [4, 12])
@pytest.mark.parametrize("kept", [16, CHUNK])
def test_add_products(d: int, kept: int) -> None:
    packed, roots = RNG.normal(size=(d, CHUNK)), RNG.uniform(size=CHUNK)
    second, first = np.ones((d, d)), np.ones(d)
    add_products(packed.ravel(), roots, kept, second, first)
    own = packed[:, :kept]
    np.testing.assert_allclose(np.triu(second), np.triu(1 + own @ own.T), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(first, 1 + own @ roots[:kept], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("density", [0.02, 0.6, 1.0])
def test_pack(density: float) -> None:
    d, padded, chunks = 3, 4, 3
    mean = RNG.normal(size=d)
    Z = np.zeros((chunks, padded, CHUNK))
    Z[:, :d] = RNG.normal(size=(chunks, d, CHUNK))
    share = RNG.uniform(size=(chunks, CHUNK)) * (RNG.uniform(size=(chunks, CHUNK)) < density)
    chosen, packed, roots = np.empty(CHUNK, dtype=np.int64), np.zeros(padded * CHUNK), np.zeros(CHUNK)
    second, first, filled = np.zeros((padded, padded)), np.zeros(padded), 0
    for c in range(chunks):
        last = c == chunks - 1
        filled = pack(Z[c].ravel(), share[c], mean, chosen, packed, roots, filled, last, second, first)
    assert filled == 0
    moved = Z[:, :d] - mean[:, None]
    expected = np.einsum("cin,cjn,cn->ij", moved, moved, share)
    np.testing.assert_allclose(np.triu(second[:d, :d]), np.triu(expected), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(first[:d], np.einsum("cin,cn->i", moved, share), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", [1, 4, 7])
def test_diagonal_squares(d: int) -> None:
    k = 3
    z, centres, roots = RNG.normal(size=(d, CHUNK)), RNG.normal(size=(k, d)), RNG.uniform(1, 2, size=(k, d))
    squares = np.empty((k, CHUNK))
    diagonal_squares(z.ravel(), centres, roots, squares)
    expected = ((z.T[None] * roots[:, None] - centres[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares, expected, rtol=1e-12)


def settled(squares: Array, cut: float, labels: Array, weights: Array) -> tuple[float, Array, Array, Array]:
    """Posteriors (n, k), log densities and counts; chunks have room for more rows than there are."""
    k, n = squares.shape
    shares, top, logs, factors, counts = np.zeros((k, CHUNK)), *np.empty((3, CHUNK)), np.zeros((k, 2))
    shares[:, :n] = squares
    relative(shares, np.log(np.arange(1.0, k + 1)), np.full(k, cut), 0.5, labels, top, logs)
    total = settle(shares, top, weights, labels, logs, factors, counts)
    np.testing.assert_array_equal(shares[:, n:], 0.0)
    return total, shares[:, :n].T, logs[:n], counts[:, 0]


def test_exponentials_are_exact_to_the_last_bits() -> None:
    x = -np.concatenate([[1e-300, 1e-9, 699.9], RNG.exponential(30.0, 5000), RNG.uniform(0, 1, 5000)])
    for start in range(0, len(x), CHUNK):
        own = x[start : start + CHUNK]
        squares, top, none = np.zeros((2, CHUNK)), np.empty(CHUNK), np.empty(0, dtype=np.int32)
        squares[1, : len(own)] = -2 * own
        relative(squares, np.zeros(2), np.full(2, -745.0), 0.5, none, top, np.empty(CHUNK))
        np.testing.assert_array_equal(squares[0], 1.0)
        np.testing.assert_allclose(squares[1, : len(own)], np.exp(own), rtol=5e-16)
    far = np.zeros((2, CHUNK))
    far[1, :3] = 1402.0, 2e6, np.inf
    relative(far, np.zeros(2), np.full(2, -745.0), 0.5, none, top, np.empty(CHUNK))
    np.testing.assert_array_equal(far[1, :3], 0.0)


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


def test_diagonal_moments() -> None:
    k, d = 2, 3
    z, means, shares = RNG.normal(size=(d, CHUNK)), RNG.normal(size=(k, d)), RNG.uniform(size=(k, CHUNK))
    shares[0, ::3] = 0.0
    first, second = np.ones((k, d)), np.ones((k, d))
    diagonal_moments(z.ravel(), shares, means, first, second)
    steps = z.T[:, None] - means
    np.testing.assert_allclose(first, 1 + np.einsum("kn,nkd->kd", shares, steps), rtol=1e-12)
    np.testing.assert_allclose(second, 1 + np.einsum("kn,nkd->kd", shares, steps**2), rtol=1e-12)
