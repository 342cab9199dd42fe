"""Heaps, exact distances and screening against plain NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary._compiled._jit import kernel
from corollary._compiled.neighbors import nearest, products
from corollary._compiled.neighbors.sparse import measure_sparse

rng = np.random.default_rng(0)
N, M, D = 150, 12, 7


@kernel
def measure_four(*args):  # which only kernels can call
    return products.measure_four(*args)


def heaps(k: int) -> tuple[Any, Any]:
    return np.full((M, k), np.inf), np.full((M, k), -1, dtype=np.int64)


@pytest.mark.parametrize("k", [1, 2, 9, N])
def test_heaps_keep_the_smallest_and_of_equal_ones_the_first(k: int) -> None:
    table = rng.integers(0, 6, (M, N)).astype(float)
    distances, rows = heaps(k)
    for first in (64, 0, 128):  # in whatever order blocks come
        nearest.offer_block(np.ascontiguousarray(table[:, first : first + 64]), first, distances, rows)
    nearest.sort_heaps(distances, rows)
    order = np.argsort(table, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(rows, order)
    np.testing.assert_array_equal(distances, np.take_along_axis(table, order, axis=1))


def test_lists_of_any_length_are_sorted() -> None:
    places = np.cumsum([0, 0, 1, 2, 7, 40])
    distances, rows = rng.integers(0, 4, places[-1]).astype(float), rng.permutation(places[-1])
    expected = [np.lexsort((rows[a:b], distances[a:b])) + a for a, b in pairwise(places)]
    order = np.concatenate(expected)
    sorted_distances, sorted_rows = distances.copy(), rows.copy()
    nearest.sort_lists(sorted_distances, sorted_rows, places, 0, len(places) - 1)
    np.testing.assert_array_equal(sorted_distances, distances[order])
    np.testing.assert_array_equal(sorted_rows, rows[order])


def test_dense_and_sparse_distances_are_the_same_to_the_last_bit() -> None:
    X, Q = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.4), rng.normal(size=(M, D)) * (rng.random((M, D)) < 0.4)
    q, x = ((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)) for A in map(sparse.csr_array, (Q, X)))
    for i in range(M):
        for row in range(0, N - 4, 4):
            pairs, four = np.full((2, 4), i), np.empty(4)
            pairs[0] = row + np.arange(4)
            measure_four(X, Q, pairs, 0, four)
            np.testing.assert_array_equal(four, [measure_sparse(q, i, x, r) for r in pairs[0]])
            np.testing.assert_allclose(four, ((X[pairs[0]] - Q[i]) ** 2).sum(axis=1), rtol=1e-14)
