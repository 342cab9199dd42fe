"""Hierarchies: against agglomeration by the definition alone, and the parts that number, cut and check them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from corollary.solvers.linkage.check import check
from corollary.solvers.linkage.fit import merge
from corollary.solvers.linkage.leaves import points, read_leaves
from corollary.solvers.linkage.tree import Hierarchy, hierarchy, with_absent

LINKAGES = ("single", "complete", "average", "ward", "centroid")


def distance(X: Any, w: Any, A: list[int], B: list[int], linkage: str) -> float:
    D = cdist(X[A], X[B])
    if linkage in ("single", "complete"):
        return float(D.min() if linkage == "single" else D.max())
    if linkage == "average":
        return float(w[A] @ D @ w[B] / (w[A].sum() * w[B].sum()))
    gap = np.linalg.norm(np.average(X[A], axis=0, weights=w[A]) - np.average(X[B], axis=0, weights=w[B]))
    factor = 2 * w[A].sum() * w[B].sum() / (w[A].sum() + w[B].sum()) if linkage == "ward" else 1.0
    return float(np.sqrt(factor) * gap)


def by_definition(X: Any, w: Any, linkage: str) -> list[tuple[float, frozenset[int]]]:
    """(height, rows) of each merge: the nearest of all pairs of clusters, worked out from their rows every time."""
    clusters, merges = [[i] for i in range(len(X))], []
    while len(clusters) > 1:
        pairs = [(i, j) for j in range(len(clusters)) for i in range(j)]
        heights = [distance(X, w, clusters[i], clusters[j], linkage) for i, j in pairs]
        i, j = pairs[int(np.argmin(heights))]
        merges.append((min(heights), frozenset(clusters[i] + clusters[j])))
        clusters = [c for k, c in enumerate(clusters) if k not in (i, j)] + [clusters[i] + clusters[j]]
    return merges


def nodes(tree: Hierarchy) -> list[frozenset[int]]:
    found = [frozenset([i]) for i in range(tree.n)]
    for a, b in tree.children:
        found.append(found[a] | found[b])
    return found[tree.n :]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_trees_are_what_the_definition_says(linkage: str, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(22, 2)), rng.uniform(0.5, 3.0, 22) if weighted else np.ones(22)
    rows = read_leaves(X, "euclidean", w > 0)
    tree = merge(rows, w, linkage, None, 22).tree
    expected = by_definition(X, w, linkage)
    np.testing.assert_allclose(tree.heights, [height for height, _ in expected], rtol=1e-9)
    assert nodes(tree) == [members for _, members in expected]


@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_check_finds_a_wrong_height(linkage: str) -> None:
    X, w = np.random.default_rng(0).normal(size=(60, 2)), np.ones(60)
    merged = merge(read_leaves(X, "euclidean", w > 0), w, linkage, None, 60)
    assert check(merged.tree, merged.rows, w, linkage).error < 1e-12
    wrong = replace(merged.tree, heights=merged.tree.heights * (1 + 1e-6))
    assert check(wrong, merged.rows, w, linkage).error > 1e-7


def test_numbers_counts_and_leaves() -> None:
    tree = hierarchy(5, np.array([3, 0, 2, 0]), np.array([4, 1, 3, 2]), np.array([2.0, 1.0, 3.0, 4.0]))
    np.testing.assert_array_equal(tree.children, [[0, 1], [3, 4], [2, 6], [5, 7]])
    np.testing.assert_array_equal(tree.counts, [2, 2, 3, 5])
    order, first = tree.ordered()
    for t, members in enumerate(nodes(tree)):
        start = first[5 + t]
        assert frozenset(order[start : start + tree.counts[t]].tolist()) == members
    np.testing.assert_array_equal(tree.into(2), [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(tree.below(2.0), [0, 0, 1, 2, 3])


def test_absent_rows_come_first() -> None:
    tree = hierarchy(2, np.array([0]), np.array([1]), np.array([7.0]))
    whole = with_absent(tree, np.array([1, 3]), np.array([0, 2]), np.array([0, 0]))
    np.testing.assert_array_equal(whole.children, [[0, 1], [2, 4], [3, 5]])
    np.testing.assert_array_equal(whole.counts, [2, 3, 4])
    np.testing.assert_array_equal(whole.heights, [0.0, 0.0, 7.0])


def test_what_rows_share_is_taken_away_exactly() -> None:
    X = np.array([[1e8 + 1, 1.0], [1e8 + 2, -5.0], [1e8 + 4, 2.0]])
    read = points(X, "euclidean")
    np.testing.assert_array_equal(np.ldexp(read.columns, read.exponent), [[0.0, 1.0, 3.0], [1.0, -5.0, 2.0]])


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single", "centroid"])
def test_the_check_says_what_a_sample_can(linkage: str) -> None:
    """With so many wrong merges as the name allows for, a draw as large as this one finds one in 95 of 100 cases."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    ones = np.ones(500)
    leaves = read_leaves(X, "euclidean", ones > 0)
    merged = merge(leaves, ones, linkage, None, 499)
    found = check(merged.tree, merged.rows, ones, linkage)
    assert found.error < 1e-12
    assert found.drawn == 64
    assert found.doubt == pytest.approx(1 - 0.05 ** (1 / 64))
    assert f"% of the {found.few} merges" in found.notes[0]
    assert "64 of them were drawn" in found.notes[0]
    assert "fewer than 4.6 %" in found.notes[0]
    assert found.few > 480
    rng, seen = np.random.default_rng(1), 0
    for _ in range(40):
        heights = merged.tree.heights.copy()
        heights[rng.choice(480, int(np.ceil(found.doubt * 499)), replace=False)] *= 1.01
        seen += check(replace(merged.tree, heights=heights), merged.rows, ones, linkage).error > 1e-7
    assert seen >= 34
    few = merge(read_leaves(X[:40], "euclidean", ones[:40] > 0), ones[:40], "ward", None, 39)
    all_of_them = check(few.tree, few.rows, ones[:40], "ward")
    assert all_of_them.notes == ()
    assert all_of_them.merges == 39
