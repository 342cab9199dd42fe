"""All ways to find neighbours give those of plain NumPy, ties included."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from plain_neighbors import distance_table, nearest, reduced_table, within
from scipy import sparse

from corollary.core import parallel
from corollary.solvers.neighbors import index, panels, sparse_products
from corollary.solvers.neighbors.check import check_search
from corollary.solvers.neighbors.products import Products
from corollary.solvers.neighbors.search import make_search

ALGORITHMS = ("kd_tree", "brute", "auto")
HARD = ("normal", "grid", "equal", "offset", "two scales", "float32", "outlier")


def rows_of(kind: str, n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(n, d)), rng.normal(size=(30, d))
    if kind == "grid":
        return np.round(X), np.round(Q)
    if kind == "equal":
        return np.repeat(X[:1], n, axis=0), np.vstack([Q[:15], np.repeat(X[:1], 15, axis=0)])
    if kind == "offset":
        return X + 1e7, Q + 1e7
    if kind == "two scales":
        X[::2] += 1e6
        return X, Q
    if kind == "outlier":
        X[n // 2] *= 1e9
        Q[3] *= 1e12
        return X, Q
    return (X.astype(np.float32), Q.astype(np.float32)) if kind == "float32" else (X, Q)


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize(("n", "d"), [(700, 3), (1500, 20), (5, 2), (1, 1)])
def test_euclidean_neighbours_are_exact(kind: str, n: int, d: int) -> None:
    X, Q = rows_of(kind, n, d)
    reduced, table = reduced_table(Q, X), distance_table(Q, X)
    searches = [make_search(X, "euclidean", 2, None, each, 30, 5) for each in ALGORITHMS]
    searches.append(make_search(sparse.csr_array(X), "l2", 2, None, "auto", 30, 5))
    radius = np.median(table, axis=1)
    radius[::3] = table[::3, 0]  # exactly at a row: it belongs
    for search in searches:
        for k in {1, min(7, n), n}:
            distances, rows = search.nearest(Q, k)
            expected, order = nearest(reduced, k)
            np.testing.assert_array_equal(rows, order, err_msg=search.name)
            np.testing.assert_array_equal(distances, np.sqrt(expected), err_msg=search.name)
        places, distances, rows = search.within(Q, radius)
        for i in range(len(Q)):
            np.testing.assert_array_equal(rows[places[i] : places[i + 1]], within(reduced[i], table[i], radius[i]))
        np.testing.assert_array_equal(distances[: places[1]], table[0, rows[: places[1]]])


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "minkowski"])
@pytest.mark.parametrize("kind", ["normal", "grid", "equal"])
def test_other_metrics_are_exact(metric: str, kind: str) -> None:
    X, Q = rows_of(kind, 600, 5)
    table = distance_table(Q, X, metric)
    for algorithm in ALGORITHMS:
        distances, rows = make_search(X, metric, 3.0, None, algorithm, 20, 5).nearest(Q, 12)
        expected, order = nearest(table, 12)
        np.testing.assert_allclose(distances, expected, rtol=1e-13)
        if metric != "minkowski":  # powers round as the library likes
            np.testing.assert_array_equal(rows, order)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_scale_overflows_or_vanishes(scale: float, algorithm: str) -> None:
    X, Q = rows_of("normal", 300, 4)
    near = make_search(X * scale, "euclidean", 2, None, algorithm, 30, 5).nearest(Q * scale, 6)
    plain = nearest(distance_table(Q, X), 6)
    np.testing.assert_allclose(near[0] / scale if scale > 1e-308 else near[0] * 1e300 / 1e-10, plain[0], rtol=1e-5)
    np.testing.assert_array_equal(near[1], plain[1])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_queries_out_of_all_proportion(algorithm: str) -> None:
    search = make_search(np.array([[0.0], [1.0], [3e200]]), "euclidean", 2, None, algorithm, 30, 1)
    distances, rows = search.nearest(np.array([[2e200], [1e300], [-1e300]]), 1)
    np.testing.assert_array_equal(rows, [[2], [0], [0]])  # 1e300 − 3e200 is 1e300 to float64: a tie
    np.testing.assert_allclose(distances.ravel(), [1e200, 1e300, 1e300])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_cosine_and_rows_of_zeros(algorithm: str) -> None:
    from sklearn.metrics.pairwise import cosine_distances

    X, Q = rows_of("normal", 200, 6)
    X[4], X[7], Q[3] = 0.0, X[8] * 1e-200, 0.0
    for rows_, queries in ((X, Q), (sparse.csr_array(X), sparse.csr_array(Q))):
        if sparse.issparse(rows_) and algorithm == "kd_tree":
            continue
        distances, rows = make_search(rows_, "cosine", 2, None, algorithm, 10, 5).nearest(queries, 200)
        unit = X / np.abs(X).max(axis=1, initial=1e-300)[:, None]
        table = cosine_distances(Q, unit)
        np.testing.assert_allclose(distances, np.take_along_axis(table, rows, axis=1), atol=1e-14)
        assert (np.diff(distances, axis=1) >= 0).all()
        np.testing.assert_allclose(distances[3], 1.0, rtol=1e-15)


def test_the_size_of_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Q = rows_of("grid", 900, 6)
    for rows, queries in ((X, Q), (sparse.csr_array(X), sparse.csr_array(Q))):
        whole = make_search(rows, "euclidean", 2, None, "brute", 30, 5).nearest(queries, 9)
        with monkeypatch.context() as patch:
            patch.setattr(index, "PAIRS", 64)
            patch.setattr(panels, "_AT_ONCE", 8)
            patch.setattr(panels, "_GRAIN", 1)
            patch.setattr(sparse_products, "_WORTH", 1)
            patch.setattr(parallel, "BLOCK_BYTES", 1)
            parts = make_search(rows, "euclidean", 2, None, "brute", 30, 5).nearest(queries, 9)
        np.testing.assert_array_equal(whole[1], parts[1])
        np.testing.assert_array_equal(whole[0], parts[0])


def test_float64_screens_where_float32_cannot() -> None:
    """Two far clusters: in float32 every row of the own cluster looks equally near."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 20))
    X[1500:] += 1e6
    both, one = Products(X), Products(X[:1500])
    for search in (both, one):
        distances, rows = search.nearest(X[:100], 5)
        expected, order = nearest(reduced_table(X[:100], search.X), 5)
        np.testing.assert_array_equal(rows, order)
        np.testing.assert_array_equal(distances, expected)
    assert "_double" in vars(both)
    del vars(both)["_double"]
    for search in (both, one):
        table = reduced_table(X[:100], search.X)
        places, _, rows = search.within(X[:100], np.full(100, 9.0))
        for i in range(100):
            np.testing.assert_array_equal(rows[places[i] : places[i + 1]], within(table[i], table[i], 9.0))
    assert "_double" in vars(both)
    assert "_double" not in vars(one)


def test_sparse_products_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_products, "_WORTH", 1)
    rng = np.random.default_rng(4)
    X, Q = (np.round(2 * rng.normal(size=(n, 9))) * (rng.random((n, 9)) < 0.3) for n in (500, 61))
    table = reduced_table(Q, X)
    expected, order = nearest(table, 13)
    for count in (1, 2, 3, 7, 16):
        with parallel.threads(count):
            search = sparse_products.SparseProducts(sparse.csr_array(X))
            distances, rows = search.nearest(sparse.csr_array(Q), 13)
            lists = search.within(sparse.csr_array(Q), np.full(61, 4.0))
        np.testing.assert_array_equal(rows, order)
        np.testing.assert_array_equal(distances, expected)
        for i in range(61):
            own = slice(lists[0][i], lists[0][i + 1])
            np.testing.assert_array_equal(lists[2][own], within(table[i], table[i], 4.0))


@pytest.mark.parametrize("m", [3, 250])  # with few queries, threads share out the rows
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_do_not_depend_on_the_number_of_threads(m: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "_GRAIN", 1)
    rng = np.random.default_rng(3)
    X, Q = np.round(2 * rng.normal(size=(1111, 5))).astype(dtype), np.round(2 * rng.normal(size=(m, 5)))
    expected, order = nearest(reduced_table(Q, X), 13)
    for count in (1, 2, 3, 7, 16):
        with parallel.threads(count):
            search = Products(X)
            distances, rows = search.nearest(Q, 13)
            lists = search.within(Q, np.full(m, 4.0))
        np.testing.assert_array_equal(rows, order)
        np.testing.assert_array_equal(distances, expected)
        for i in range(m):
            own = slice(lists[0][i], lists[0][i + 1])
            np.testing.assert_array_equal(lists[2][own], within(reduced_table(Q, X)[i], reduced_table(Q, X)[i], 4.0))


def test_auto_takes_the_tree_where_it_pays() -> None:
    rng = np.random.default_rng(2)
    few, many = rng.normal(size=(9000, 3)), rng.normal(size=(9000, 40))
    line = rng.normal(size=(9000, 1)) * np.ones(40)
    assert make_search(few, "euclidean", 2, None, "auto", 30, 5).name == "k-d tree"
    assert make_search(many, "euclidean", 2, None, "auto", 30, 5).name == "blocked matrix products"
    assert make_search(line, "euclidean", 2, None, "auto", 30, 5).name == "k-d tree"


def test_sparse_queries_of_dense_rows_and_dense_queries_of_sparse_rows() -> None:
    X, Q = rows_of("grid", 100, 5)
    expected = nearest(distance_table(Q, X), 4)[1]
    for rows, queries in ((X, sparse.csr_array(Q)), (sparse.csr_array(X), Q)):
        found = make_search(rows, "euclidean", 2, None, "auto", 30, 4).nearest(queries, 4)[1]
        np.testing.assert_array_equal(found, expected)


def test_the_check_takes_less_memory_than_a_copy_of_the_rows() -> None:
    X = np.random.default_rng(0).normal(size=(40_000, 64)).astype(np.float32)
    search = make_search(X, "euclidean", 2, None, "brute", 30, 5)
    check_search(search, X, 5)  # the index keeps what it works out at first
    tracemalloc.start()
    found = check_search(search, X, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.certificate.holds
    assert peak < 8 * X.size
