"""Kernels of agglomeration against plain NumPy twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from corollary._compiled.codes import CHEBYSHEV, EUCLIDEAN, MANHATTAN
from corollary._compiled.linkage import connected as linkage_connected
from corollary._compiled.linkage import labels as linkage_labels
from corollary._compiled.linkage import spanning_tree
from corollary._compiled.linkage import tree as linkage_tree
from corollary._compiled.linkage import triangle as linkage_triangle
from corollary._compiled.linkage.centroid import DESK, DONE, merge_centres
from corollary.core.parallel import run_team, threads
from corollary.solvers.linkage.centres import CentreTree

METRICS = {
    EUCLIDEAN: "sqeuclidean",
    MANHATTAN: "cityblock",
    CHEBYSHEV: "chebyshev",
}
NOTHING = linkage_triangle.NOTHING


def rows(n: int, d: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


def lower(D: Any) -> Any:
    """Rows of the lower triangle, one after the other."""
    return D[np.tril_indices(len(D), -1)].copy()


@pytest.mark.parametrize("d", [1, 3, 4, 9])
@pytest.mark.parametrize("metric", METRICS)
def test_rows_of_the_triangle(metric: int, d: int) -> None:
    X = rows(300, d)
    D = squareform(pdist(X, METRICS[metric]))
    triangle = np.empty(300 * 299 // 2)
    best, near = np.full((3, 300), NOTHING), np.full((3, 300), -1)
    shape, bits = linkage_triangle.PLAIN, triangle.view(np.int64)
    with threads(3):
        run_team(linkage_triangle.fill, np.ascontiguousarray(X.T), metric, shape, triangle, bits, best, near)
    best, near = best[0], near[0]
    np.testing.assert_allclose(triangle, lower(D), rtol=1e-12)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(near, D.argmin(axis=1))
    np.testing.assert_allclose(best.view(np.float64), D.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("linkage", [linkage_triangle.COMPLETE, linkage_triangle.AVERAGE, linkage_triangle.SINGLE])
def test_merged_rows(linkage: int) -> None:
    n = 90
    D = squareform(pdist(rows(n, 3)))
    rng = np.random.default_rng(1)
    pairs = np.sort(rng.permutation(n)[:40].reshape(20, 2), axis=1)
    partner, share = np.full(n, -1), np.ones(n)
    partner[pairs[:, 0]], share[pairs[:, 0]] = pairs[:, 1], rng.uniform(0.1, 0.9, 20)
    one = np.delete(np.arange(n), pairs[:, 1])
    other, share = partner[one], share[one]

    def join(x: Any, y: Any, s: Any) -> Any:
        if linkage == linkage_triangle.AVERAGE:
            return s * x + (1 - s) * y
        return np.maximum(x, y) if linkage == linkage_triangle.COMPLETE else np.minimum(x, y)

    columns = np.where(other >= 0, join(D[:, one], D[:, other], share), D[:, one])
    expected = np.where(other[:, None] >= 0, join(columns[one], columns[other], share[:, None]), columns[one])
    m = len(one)
    triangle, merged, buffer = lower(D), np.flatnonzero(other >= 0), np.empty(5 * m)  # several bands
    best, near = np.full((3, m), NOTHING), np.full((3, m), -1)
    with threads(3):
        run_team(
            linkage_triangle.merge_round, triangle, one, merged, other, share, linkage, buffer, buffer.view(np.int64),
            best, near,
        )  # fmt: skip
    np.testing.assert_allclose(triangle[: m * (m - 1) // 2], lower(expected), rtol=1e-12)
    np.fill_diagonal(expected, np.inf)
    np.testing.assert_array_equal(near[0], expected.argmin(axis=1))


def naive_spanning_tree(D: Any) -> Any:
    inside, lengths = [0], []
    outside = list(range(1, len(D)))
    while outside:
        block = D[np.ix_(inside, outside)]
        j = outside[int(block.min(axis=0).argmin())]
        lengths.append(block.min())
        inside.append(j)
        outside.remove(j)
    return np.sort(lengths)


@pytest.mark.parametrize("n", [2, 3, 300])
def test_spanning_trees(n: int) -> None:
    X = rows(n, 3)
    D = squareform(pdist(X))
    expected = naive_spanning_tree(D)
    best, parent = np.full(n, NOTHING), np.zeros(n, dtype=np.int64)
    left, right, bits = (np.empty(n - 1, dtype=np.int64) for _ in range(3))
    state = np.ascontiguousarray(X.T), EUCLIDEAN, np.arange(n), best, parent
    with threads(3):
        run_team(spanning_tree.grow_points, *state, left, right, bits, np.zeros((3, DESK), dtype=np.int64))
    lengths = np.sqrt(bits.view(np.float64))
    np.testing.assert_allclose(np.sort(lengths), expected, rtol=1e-12)
    np.testing.assert_allclose(lengths, D[left, right], rtol=1e-12)
    best, parent, newest, lengths = np.full(n, NOTHING), np.zeros(n, dtype=np.int64), 0, []
    for _ in range(n - 1):
        newest = spanning_tree.grow_table(D[newest].view(np.int64), newest, best, parent)
        lengths.append(D[parent[newest], newest])
    np.testing.assert_allclose(np.sort(lengths), expected, rtol=1e-12)


@pytest.mark.parametrize("ward", [True, False])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (33, 2), (500, 2), (700, 6)])
def test_neighbours_in_a_tree(n: int, d: int, ward: bool) -> None:
    X, weights = rows(n, d), np.random.default_rng(2).uniform(0.2, 3.0, n)
    D = squareform(pdist(X, "sqeuclidean"))
    if ward:
        D *= weights[:, None] * weights / (weights[:, None] + weights)
    np.fill_diagonal(D, np.inf)
    tree = CentreTree.of(X, weights)
    assert sorted(tree.order) == list(range(n))
    asking = np.random.default_rng(3).random(n) < 0.7
    asking[0] = True
    best, near, second = tree.neighbours(asking, ward=ward)
    np.testing.assert_array_equal(near, D[asking].argmin(axis=1))
    np.testing.assert_allclose(best, D[asking].min(axis=1), rtol=1e-12)
    if not ward:
        np.testing.assert_allclose(second, np.sort(D[asking], axis=1)[:, 1], rtol=1e-12)


def test_boxes_hold_their_places() -> None:
    X, weights = rows(300, 2), np.random.default_rng(2).uniform(0.2, 3.0, 300)
    tree = CentreTree.of(X, weights)
    np.testing.assert_array_equal(tree.low[0], X.min(axis=0))
    np.testing.assert_array_equal(tree.high[0], X.max(axis=0))
    assert tree.light[0] == weights.min()
    for leaf, node in enumerate(tree.node_of):
        inside = X[tree.order[leaf * linkage_tree.WIDE : (leaf + 1) * linkage_tree.WIDE]]
        np.testing.assert_array_equal(tree.low[node], inside.min(axis=0))
        np.testing.assert_array_equal(tree.high[node], inside.max(axis=0))


def test_lifted_heights() -> None:
    left, right, heights = np.array([0, 2, 0]), np.array([1, 3, 2]), np.array([1.0, 2.0, 1.5])
    assert linkage_labels.raise_heights(left, right, heights, np.arange(4), np.zeros(4)) == pytest.approx(0.25)
    np.testing.assert_array_equal(heights, [1.0, 2.0, 2.0])


def test_edges_merge_shortest_first() -> None:
    """A path of four with a shortcut: single linkage by hand."""
    ends = np.array([[0, 1], [1, 2], [2, 3], [0, 2]])
    lengths = np.array([3.0, 1.0, 4.0, 2.0])
    left, right, heights = np.empty(3, dtype=np.int64), np.empty(3, dtype=np.int64), np.empty(3)
    done = linkage_connected.merge_edges(
        4, ends, lengths, np.argsort(lengths), linkage_triangle.SINGLE, np.empty((4, 0)), np.ones(4), 3, left, right,
        heights,
    )  # fmt: skip
    assert done == 3
    np.testing.assert_array_equal(heights, [1.0, 2.0, 4.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_kernel_follows_a_comparison_that_failed(bad: float) -> None:
    """Where every distance is NaN or infinite the merges that were made are counted, and no index is made up."""
    left, right, heights = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64), np.zeros(4)
    links, steps = np.zeros(5, dtype=np.int64), np.empty(5)
    triangle = np.full(10, bad)
    done = linkage_triangle.chain(
        triangle, np.ones(5), linkage_triangle.AVERAGE, np.arange(5), links, steps, left, right, heights
    )
    assert done == 0
    tree = CentreTree.of(rows(5, 2), np.full(5, bad))
    desk = tree.desk()
    assert linkage_tree.ward_chain(*tree.parts, True, tree.node_of, links, steps, left, right, heights, *desk) == 0
    columns, bits, squares = np.full((2, 5), bad), np.full(5, NOTHING), np.zeros(4, dtype=np.int64)
    place = np.concatenate([np.arange(5), np.full(5, -1)])
    desks = np.zeros((4, DESK), dtype=np.int64)
    state = np.ones(5), np.arange(5), np.arange(5), bits, np.full(5, -1), bits.copy(), place
    with threads(3):
        run_team(merge_centres, columns, *state, left, right, squares, desks)
    assert desks[-1, DONE] == 0 or np.isnan(squares.view(np.float64)).all()
