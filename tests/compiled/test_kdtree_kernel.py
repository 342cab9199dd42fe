"""The k-d tree's parts: medians, boxes, leaves, and walks that skip nothing they must see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary._compiled import kdtree as kernels
from corollary._compiled._jit import kernel
from corollary._compiled.codes import CHEBYSHEV, EUCLIDEAN, MANHATTAN, MINKOWSKI
from corollary.core import parallel
from corollary.solvers import kdtree
from corollary.solvers.neighbors.metric import Metric
from corollary.solvers.neighbors.tree import Tree

rng = np.random.default_rng(0)


@kernel
def part(*args):  # which only kernels can call
    return kernels.part(*args)


METRICS = [Metric(EUCLIDEAN, 2.0), Metric(MANHATTAN, 1.0), Metric(CHEBYSHEV, np.inf), Metric(MINKOWSKI, 3.0)]


def reduced(Q: Any, X: Any, metric: Metric) -> Any:
    gap = np.abs(X[None] - Q[:, None])
    return gap.max(axis=2) if metric.code == CHEBYSHEV else (gap**metric.p).sum(axis=2)


@pytest.mark.parametrize("values", ["distinct", "few", "equal", "ascending"])
@pytest.mark.parametrize("n", [1, 2, 5, 200])
def test_parting_puts_the_median_in_its_place(values: str, n: int) -> None:
    X = {
        "distinct": rng.normal(size=(n, 2)),
        "few": rng.integers(0, 3, (n, 2)).astype(float),
        "equal": np.ones((n, 2)),
        "ascending": np.arange(2.0 * n).reshape(n, 2),
    }[values]
    for middle in range(n):
        order = rng.permutation(n)
        keys = X[order, 1].copy()
        part(keys, order, 0, n, middle)
        assert sorted(order) == list(range(n))
        np.testing.assert_array_equal(keys, X[order, 1])
        assert (X[order[:middle], 1] <= X[order[middle], 1]).all()
        assert (X[order[middle:], 1] >= X[order[middle], 1]).all()


def test_boxes_are_tight_and_the_widest_column_is_parted() -> None:
    X = rng.normal(size=(50, 3)) * [1.0, 5.0, 2.0]
    bounds = [np.array([0, 50]), np.array([0, 20, 50]), np.array([0, 10, 20, 35, 50])]
    order, boxes = kdtree.tree_order(X, bounds)
    for v, own in enumerate((order, order[:20], order[20:])):
        np.testing.assert_array_equal(boxes[v], [X[own].min(axis=0), X[own].max(axis=0)])
        half = [20, 10, 15][v]
        assert X[own[:half], 1].max() <= X[own[half:], 1].min()


@pytest.mark.parametrize("values", ["distinct", "few", "equal", "ascending"])
def test_many_rows_are_parted_by_threads_together_as_by_one(values: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kdtree, "_WORTH", 1)
    n, depth = 20_011, 6
    X = {
        "distinct": rng.normal(size=(n, 3)),
        "few": rng.integers(0, 3, (n, 3)).astype(float),
        "equal": np.ones((n, 3)),
        "ascending": np.arange(3.0 * n).reshape(n, 3),
    }[values]
    bounds = [(n * np.arange((1 << level) + 1)) >> level for level in range(depth + 1)]
    found = []
    for count in (1, 2, 3, 7, 16):
        with parallel.threads(count):
            found.append(kdtree.tree_order(X, bounds))
    order, boxes = found[0]
    assert sorted(order) == list(range(n))
    for other, same in found[1:]:
        np.testing.assert_array_equal(order, other)
        np.testing.assert_array_equal(boxes, same)
    for level in range(depth):
        for v in range(1 << level):
            first, middle, end = bounds[level][v], bounds[level + 1][2 * v + 1], bounds[level][v + 1]
            low, high = boxes[(1 << level) - 1 + v]
            np.testing.assert_array_equal(
                [low, high], [X[order[first:end]].min(axis=0), X[order[first:end]].max(axis=0)]
            )
            column = int(np.argmax(high - low))
            assert X[order[first:middle], column].max() <= X[order[middle:end], column].min()


@pytest.mark.parametrize("n", [1, 2, 31, 33, 1000])
@pytest.mark.parametrize("leaf_size", [1, 8, 30])
def test_every_row_lies_in_one_leaf_inside_its_boxes(n: int, leaf_size: int) -> None:
    X = rng.normal(size=(n, 3))
    tree = Tree.of(X, METRICS[0], leaf_size)
    assert sorted(tree.index) == list(range(n))
    sizes = np.diff(tree.starts)
    assert sizes.min() >= min(n, leaf_size)
    assert sizes.max() <= 2 * leaf_size
    np.testing.assert_array_equal(tree.points, X[tree.index])
    assert int(np.prod(tree.fans)) == len(tree.leaves)
    for leaf in range(len(tree.leaves)):
        rows = tree.index[tree.starts[leaf] : tree.starts[leaf + 1]]
        shifted = (X[rows] - tree.centre) * tree.scale
        assert np.abs(shifted).max() <= 1
        np.testing.assert_array_equal(tree.leaves[leaf, :, : len(rows)].T, shifted.astype(np.float32))
        node = leaf
        for level in range(len(tree.fans) - 1, -1, -1):
            node, child = divmod(node, int(tree.fans[level]))
            low, high = tree.groups[tree.offsets[level] + node, :, :, child]
            assert ((low <= X[rows]) & (X[rows] <= high)).all()


@pytest.mark.parametrize("metric", METRICS, ids=["L2", "L1", "L∞", "L3"])
@pytest.mark.parametrize("d", [1, 4, 6])
def test_walks_find_what_looking_everywhere_finds(metric: Metric, d: int) -> None:
    X, Q = np.round(rng.normal(size=(700, d)), 1), np.round(rng.normal(size=(40, d)), 1)  # with many ties
    tree, flat = Tree.of(X, metric, 8), Tree.of(X, metric, 64, prune=False)
    assert (tree.leaves.dtype == np.float32) == (metric.code == EUCLIDEAN)
    assert flat.leaves.dtype == np.float64
    for k in (1, 5, 700):
        found, everything = tree.nearest(Q, k), flat.nearest(Q, k)
        for ours, theirs in zip(found, everything, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_allclose(found[0], np.sort(reduced(Q, X, metric), axis=1)[:, :k], rtol=1e-12)
    limits = np.full(len(Q), 0.7)
    for ours, theirs in zip(tree.within(Q, limits), flat.within(Q, limits), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_tree_looks_into_few_leaves() -> None:
    X = rng.random((4000, 2))
    tree = Tree.of(X, METRICS[0], 16)
    Q = rng.random((50, 2))
    looked = tree.look(Q, np.empty((50, 3)), np.empty((50, 3), dtype=np.int64))
    assert looked < 50 * 10 < 50 * len(tree.leaves)
