"""Each kernel of k-means against a plain NumPy twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from corollary._compiled._jit import kernel
from corollary._compiled.kmeans import dense as kmeans
from corollary._compiled.kmeans import passes
from corollary._compiled.kmeans import sparse as kmeans_sparse
from corollary.core.parallel import run_team


@kernel
def nearest_in_tile(*args):  # which only kernels can call
    return kmeans.nearest_in_tile(*args)


@kernel
def unsettled_rows(*args):
    return kmeans.unsettled_rows(*args)


@kernel
def tighten(*args):
    return kmeans.tighten(*args)


@kernel
def nearest_sparse(*args):
    return kmeans_sparse.nearest_sparse(*args)


@kernel
def own_distances(*args):
    return kmeans_sparse.own_distances(*args)


@kernel
def move_sparse(*args):
    return kmeans_sparse.move_sparse(*args)


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 5)), rng.normal(size=(13, 5))


def distances(X, C):
    return np.sqrt(((X[:, None] - C) ** 2).sum(axis=2))


def tile(X, C, size):
    X32, C32 = X.astype(np.float32), C.astype(np.float32)
    n, k, groups = len(X), len(C), -(-len(C) // size)
    labels, upper = np.full(n, -1, np.int32), np.zeros(n, np.float32)
    lower = np.zeros((n, groups), np.float32)
    doubtful = np.zeros(n + 1, np.int32)
    half = ((C32.astype(float) ** 2).sum(axis=1) / 2).astype(np.float32)
    norms = np.sqrt((X32.astype(float) ** 2).sum(axis=1)).astype(np.float32)
    buffers = np.empty((2, groups + 1, n), np.float32)
    grown, shrunk = np.linspace(0, 1, k).astype(np.float32), np.linspace(0, 2, groups).astype(np.float32)
    rows = np.random.default_rng(1).permutation(n).astype(np.int32)
    errors, bounds = (1e-5, 1e-5, 1e-6, 1.0), (upper, lower, grown, shrunk, np.empty(0))
    known = nearest_in_tile(
        C32 @ X32[rows].T, half, size, rows, norms, tuple(map(np.float32, errors)), labels, bounds, doubtful, 0,
        buffers[0], buffers[1], np.empty((2, n), np.int32),
    )  # fmt: skip
    return labels, upper + grown[labels], (lower - shrunk).T, doubtful[:known]


@pytest.mark.parametrize("size", [1, 4, 5, 16])
def test_tile_labels_and_bounds(points, size):
    X, C = points
    labels, upper, lower, doubtful = tile(X, C, size)
    D = distances(X, C)
    sure = np.setdiff1d(np.arange(len(X)), doubtful)
    assert len(sure) > 80
    np.testing.assert_array_equal(labels[sure], D.argmin(axis=1)[sure])
    assert (upper >= D.min(axis=1))[sure].all()
    np.testing.assert_allclose(upper[sure], D.min(axis=1)[sure], atol=1e-3)
    for g, first in enumerate(range(0, 13, size)):
        members = np.arange(first, min(13, first + size))
        others = np.where(members == labels[:, None], np.inf, D[:, members]).min(axis=1)
        assert (lower[g] <= others).all()
        known = sure[np.isfinite(others[sure])]
        np.testing.assert_allclose(lower[g][known], others[known], atol=1e-3)


def test_tile_doubts_equal_distances():
    X, C = np.array([[0.0, 1.0], [3.0, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    labels, upper, lower, doubtful = tile(X, C, 1)
    assert doubtful.tolist() == [0]
    assert upper[0] == np.inf
    assert labels[1] == 0
    assert (lower[:, 0] <= np.sqrt(2)).all()


def test_unsettled_rows():
    rng = np.random.default_rng(2)
    n, k, groups = 50, 4, 3
    labels = rng.integers(0, k, n).astype(np.int32)
    upper, lower = rng.random(n).astype(np.float32), rng.random((n, groups)).astype(np.float32) + np.float32(0.5)
    grown, shrunk = rng.random(k).astype(np.float32) / 2, rng.random(groups).astype(np.float32) / 4
    rows = np.empty(40, np.int32)
    count = unsettled_rows(10, 50, labels, upper, lower, grown, shrunk, np.float32(0.01), rows)
    wanted = upper + grown[labels] + 0.01 >= (lower - shrunk).min(axis=1)
    np.testing.assert_array_equal(rows[:count], [i for i in range(10, 50) if wanted[i]])


def test_tighten(points):
    X, C = (part.astype(np.float32) for part in points)
    D = distances(X.astype(float), C.astype(float))
    labels = D.argmin(axis=1).astype(np.int32)
    k, n = len(C), len(X)
    others = np.where(np.arange(k) == labels[:, None], np.inf, D).min(axis=1)
    lower = (others[:, None] - 0.1).astype(np.float32)
    grown, shrunk = np.zeros(k, np.float32), np.zeros(1, np.float32)
    upper, rows = np.full(n, 99, np.float32), np.arange(n, dtype=np.int32)
    state = (labels, upper, lower, grown, shrunk, np.float32(1e-6))
    kept = tighten(rows, X, C, *state, np.float32(1 + 1e-6))
    assert (upper >= D.min(axis=1)).all()
    np.testing.assert_allclose(upper, D.min(axis=1), rtol=1e-4)
    np.testing.assert_array_equal(rows[:kept], np.flatnonzero(D.min(axis=1) >= others - 0.1))


def test_exact_distances(points):
    X, C = points
    labels, own = np.empty(len(X), np.int32), np.empty(len(X))
    kmeans.nearest_exactly(np.arange(len(X), dtype=np.int32), X, C, 4.0, labels)
    np.testing.assert_array_equal(labels, distances(X, C).argmin(axis=1))
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    sums, twin = np.zeros((13, 7)), np.zeros((13, 7))
    parts = np.empty((3, 13, 7)), np.empty((3, 13), bool)
    run_team(passes.review, 30, X, C, 4.0, weights, labels, own, *parts, sums)
    np.testing.assert_allclose(own, 16 * distances(X, C).min(axis=1) ** 2)
    for x, w, label in zip(X, weights, labels, strict=True):
        twin[label] += [*(4 * w * (x - C[label])), w, w > 0]
    np.testing.assert_allclose(sums, twin, atol=1e-12)


def test_moves_of_rows(points):
    X, _C = points
    rng = np.random.default_rng(3)
    old, new = rng.integers(-1, 13, 90).astype(np.int32), rng.integers(0, 13, 90).astype(np.int32)
    weights = rng.integers(0, 3, 90).astype(float)
    shift = rng.normal(size=5)
    sums = np.zeros((13, 7))
    moved = kmeans.move_rows(0, 90, X, shift, 2.0, weights, old, new, sums, np.ones(13, bool))
    assert moved == (old != new).sum()
    twin = np.zeros((13, 7))
    for x, w, a, b in zip(X, weights, old, new, strict=True):
        for label, sign in ((a, -1), (b, 1)):
            if label >= 0:
                twin[label] += sign * np.array([*(w * 2 * (x - shift)), w, w > 0])
    np.testing.assert_allclose(sums, twin, atol=1e-12)


def test_sparse_kernels(points):
    X, C = points
    X = np.where(np.abs(X) > 1, X, 0.0)
    S = sparse.csr_array(X)
    entries = (S.data, S.indices.astype(np.int32), S.indptr.astype(np.int64), 2.0)
    half = ((2 * C) ** 2).sum(axis=1) / 2
    labels, own, squares = np.full(90, -1, np.int32), np.zeros(90), 4 * (X**2).sum(axis=1)
    memory = np.empty(13), np.zeros(5)
    nearest_sparse(0, 90, *entries, np.ascontiguousarray(2 * C.T), half, squares, labels, *memory)
    D = distances(X, C)
    np.testing.assert_array_equal(labels, D.argmin(axis=1))
    own_distances(0, 90, *entries, 2 * C, half, squares, labels, own, np.empty(5))
    np.testing.assert_allclose(own, 4 * D.min(axis=1) ** 2, atol=1e-12)
    weights = np.random.default_rng(4).integers(0, 3, 90).astype(float)
    old = np.roll(labels, 1)
    old[:5] = -1
    sums, twin = np.zeros((13, 7)), np.zeros((13, 7))
    move_sparse(0, 90, *entries, weights, old, labels, sums)
    kmeans.move_rows(0, 90, X, np.zeros(5), 2.0, weights, old, labels, twin, np.ones(13, bool))
    np.testing.assert_allclose(sums, twin, atol=1e-12)


def test_sparse_distances_keep_their_digits_far_from_zero():
    rng = np.random.default_rng(5)
    C = np.full((2, 3), 1e8)
    X = C[0] + rng.integers(-4, 5, size=(20, 3))
    S, half = sparse.csr_array(X), (C**2).sum(axis=1) / 2
    entries = (S.data, S.indices.astype(np.int32), S.indptr.astype(np.int64), 1.0)
    own, labels = np.empty(20), np.zeros(20, dtype=np.int32)
    own_distances(0, 20, *entries, C, half, (X**2).sum(axis=1), labels, own, np.empty(3))
    np.testing.assert_array_equal(own, ((X - C[0]) ** 2).sum(axis=1))
    C += rng.integers(-3, 4, size=C.shape)
    columns, half = np.ascontiguousarray(C.T), (C**2).sum(axis=1) / 2
    nearest_sparse(0, 20, *entries, columns, half, (X**2).sum(axis=1), labels, np.empty(2), np.zeros(3))
    np.testing.assert_array_equal(labels, ((X[:, None] - C) ** 2).sum(axis=2).argmin(axis=1))
