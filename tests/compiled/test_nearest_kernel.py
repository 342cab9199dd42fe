"""Heaps, exact distances and screening against plain NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary._compiled.neighbors import nearest, products

rng = np.random.default_rng(0)
N, M, D = 150, 12, 7


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


def candidates_of(chosen: Any) -> tuple[Any, Any]:
    lists, counts = np.zeros(chosen.shape, dtype=np.int32), chosen.sum(axis=1)
    for i in range(len(chosen)):
        lists[i, : counts[i]] = np.flatnonzero(chosen[i])
    return lists, counts


def test_dense_and_sparse_distances_are_the_same_to_the_last_bit() -> None:
    X, Q = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.4), rng.normal(size=(M, D)) * (rng.random((M, D)) < 0.4)
    lists, counts = candidates_of(rng.random((M, N - 5)) < 0.3)
    dense, thin = np.zeros(lists.shape), np.zeros(lists.shape)
    for i in range(M):
        for at in range(0, counts[i], 4):
            pairs, four = np.full((2, 4), i), np.empty(4)
            pairs[0] = 5 + np.resize(lists[i, at : min(at + 4, counts[i])], 4)
            products.measure_four(X, Q, pairs, 0, four)
            dense[i, at : at + 4] = four[: lists.shape[1] - at]
        dense[i, counts[i] :] = 0.0
    q, x = sparse.csr_array(Q), sparse.csr_array(X)
    parts = [part for each in (q, x) for part in (each.data, each.indices, each.indptr.astype(np.int64))]
    nearest.measure_sparse_block(*parts, 0, 5, lists, counts, thin)
    np.testing.assert_array_equal(dense, thin)
    for i in range(M):
        rows = 5 + lists[i, : counts[i]]
        np.testing.assert_allclose(dense[i, : counts[i]], ((X[rows] - Q[i]) ** 2).sum(axis=1), rtol=1e-14)


def test_candidates_are_settled_like_whole_blocks() -> None:
    table = rng.integers(0, 9, (M, N)).astype(float)
    lists, counts = candidates_of(np.ones((M, N), dtype=bool))
    found, expected = heaps(5), heaps(5)
    nearest.settle_block(0, lists, counts, table, *found)
    nearest.offer_block(table, 0, *expected)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 63, 64, 130])
def test_screening_lists_what_is_below_the_cut(dtype: Any, width: int) -> None:
    products = rng.normal(size=(M, width)).astype(dtype)
    halves, norms, slack = (rng.random(size).astype(dtype) for size in (width, width, M))
    cut = rng.normal(size=M).astype(dtype)
    cut[0], cut[1] = np.inf, -np.inf
    lists, counts = np.zeros((M, width), dtype=np.int32), np.zeros(M, dtype=np.int64)
    nearest.screen_block(products, halves, norms, slack, cut, lists, counts)
    inside = (halves - products) - slack[:, None] * norms <= cut[:, None]
    for i in range(M):
        np.testing.assert_array_equal(lists[i, : counts[i]], np.flatnonzero(inside[i]))
