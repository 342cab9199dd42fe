"""Merging along the edges of a graph: against scikit-learn's, and against the graph itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering as Reference
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from corollary.base import EvidenceWarning
from corollary.cluster import AgglomerativeClustering
from corollary.solvers.linkage.fit import grow
from corollary.solvers.linkage.leaves import read_leaves

LINKAGES = ("ward", "complete", "average", "single", "centroid")


def rows(n: int = 150, d: int = 3, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


def neighbours(X: Any, k: int = 12) -> Any:
    graph = kneighbors_graph(X, k)
    return graph + graph.T


@pytest.mark.parametrize("name", LINKAGES[:4])
def test_the_tree_is_scikit_learns(name: str) -> None:
    X = rows()
    graph = neighbours(X)
    model = AgglomerativeClustering(4, linkage=name, connectivity=graph).fit(X)
    expected = Reference(4, linkage=name, connectivity=graph, compute_distances=True).fit(X)
    np.testing.assert_allclose(model.distances_, expected.distances_, rtol=1e-10)
    assert adjusted_rand_score(model.labels_, expected.labels_) == 1.0
    assert model.evidence_.holds
    assert model.n_connected_components_ == 1


@pytest.mark.parametrize("name", LINKAGES)
def test_a_complete_graph_changes_nothing(name: str) -> None:
    X = rows(60)
    free = AgglomerativeClustering(4, linkage=name).fit(X)
    bound = AgglomerativeClustering(4, linkage=name, connectivity=np.ones((60, 60))).fit(X)
    np.testing.assert_allclose(bound.distances_, free.distances_, rtol=1e-10)
    np.testing.assert_array_equal(bound.labels_, free.labels_)


def test_single_linkage_is_the_spanning_tree_of_the_graph() -> None:
    X = rows()
    graph = neighbours(X)
    D = squareform(pdist(X))
    tree = minimum_spanning_tree(sparse.csr_array((graph > 0).multiply(D)))
    model = AgglomerativeClustering(linkage="single", connectivity=graph).fit(X)
    np.testing.assert_allclose(model.distances_, np.sort(tree.data), rtol=1e-12)
    table = AgglomerativeClustering(linkage="single", connectivity=graph, metric="precomputed").fit(D)
    np.testing.assert_allclose(table.distances_, model.distances_, rtol=1e-10)


@pytest.mark.parametrize("name", LINKAGES)
def test_pieces_are_reported_and_joined(name: str) -> None:
    X = np.concatenate([rows(40), rows(30) + 30.0, rows(20) + 90.0])
    model = AgglomerativeClustering(3, linkage=name, connectivity=kneighbors_graph(X, 12))
    with pytest.warns(UserWarning, match="3 > 1. Completing it to avoid stopping the tree early"):
        model.fit(X)
    assert model.n_connected_components_ == 3
    assert "3 connected components, of 40, 30, 20 rows; 2 shortest bridges" in str(model.evidence_)
    assert len(model.children_) == 89
    assert adjusted_rand_score(model.labels_, np.repeat([0, 1, 2], [40, 30, 20])) == 1.0
    assert model.evidence_.holds


def test_a_graph_without_edges_is_a_spanning_tree() -> None:
    X = rows()
    model = AgglomerativeClustering(4, linkage="single", connectivity=np.zeros((len(X), len(X))))
    with pytest.warns(UserWarning, match=f"connected components of the connectivity matrix is {len(X)} > 1"):
        model.fit(X)
    free = AgglomerativeClustering(4, linkage="single").fit(X)
    np.testing.assert_allclose(model.distances_, free.distances_)
    np.testing.assert_array_equal(model.labels_, free.labels_)


def test_trees_are_kept_in_a_folder(tmp_path: Any) -> None:
    X = rows()
    graph = neighbours(X)
    for options in ({}, {"connectivity": graph}, {"metric": "manhattan", "linkage": "average"}):
        for n_clusters in (4, 7):
            kept = AgglomerativeClustering(n_clusters, memory=str(tmp_path), **options).fit(X)
            plain = AgglomerativeClustering(n_clusters, **options).fit(X)
            np.testing.assert_array_equal(kept.linkage_matrix_, plain.linkage_matrix_)
            np.testing.assert_array_equal(kept.labels_, plain.labels_)
            assert kept.evidence_.holds
    assert len(list(tmp_path.rglob("output.pkl"))) == 3


class Cache:
    """Answers with what it is told to, whatever is asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def cache(self, function: Any) -> Any:
        return lambda *args, **kwargs: self.answer


def test_what_a_cache_mixes_up_is_not_proved() -> None:
    """The check is against the rows that were given, not against any that came out of the cache."""
    X = rows()
    kept = read_leaves(X[::-1] ** 3, "euclidean", np.ones(len(X), dtype=bool)).measure
    model = AgglomerativeClustering(
        3, linkage="average", memory=Cache(grow(kept, np.ones(len(X)), "average", None, 99))
    )
    with pytest.warns(EvidenceWarning, match="AgglomerativeClustering"):
        model.fit(X)
    assert not model.evidence_.holds


def test_what_is_no_tree_is_refused() -> None:
    X = rows()
    tree = grow(read_leaves(X, "euclidean", np.ones(len(X), dtype=bool)).measure, np.ones(len(X)), "single", None, 99)
    far = tree.children.copy()
    far[0, 0] = 10**9
    wrong = [
        {"a": 1},
        replace(tree, n=3),
        replace(tree, children=far),
        replace(tree, children=tree.children.astype(float)),
        replace(tree, heights=tree.heights[1:]),
        replace(tree, heights=np.full_like(tree.heights, np.nan)),
        replace(tree, counts=tree.counts + 1),
    ]
    assert AgglomerativeClustering(3, linkage="single", memory=Cache(tree)).fit(X).evidence_.holds
    for answer in wrong:
        with pytest.raises(ValueError, match="Delete the cache folder"):
            AgglomerativeClustering(3, linkage="single", memory=Cache(answer)).fit(X)


def test_stopping_early() -> None:
    X = rows()
    graph = neighbours(X)
    whole = AgglomerativeClustering(20, connectivity=graph).fit(X)
    early = AgglomerativeClustering(20, connectivity=graph, compute_full_tree=False).fit(X)
    assert len(whole.children_) == 149
    np.testing.assert_array_equal(early.children_, whole.children_[:130])
    np.testing.assert_array_equal(early.labels_, whole.labels_)
    assert early.evidence_.holds
    early.plot()


@pytest.mark.parametrize("name", LINKAGES)
def test_weights_along_a_graph(name: str) -> None:
    X, weights = rows(60), np.random.default_rng(1).integers(0, 3, 60).astype(float)
    graph = np.ones((60, 60))
    bound = AgglomerativeClustering(4, linkage=name, connectivity=graph).fit(X, sample_weight=weights)
    free = AgglomerativeClustering(4, linkage=name).fit(X, sample_weight=weights)
    np.testing.assert_allclose(bound.distances_, free.distances_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(bound.labels_, free.labels_)


def test_a_function_makes_the_graph() -> None:
    X = rows()
    made = AgglomerativeClustering(4, connectivity=neighbours).fit(X)
    given = AgglomerativeClustering(4, connectivity=neighbours(X)).fit(X)
    np.testing.assert_array_equal(made.linkage_matrix_, given.linkage_matrix_)
