"""Distances that are given: sparse graphs answer as the rows they were made from, and as tables do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
import sklearn.metrics
import sklearn.model_selection
import sklearn.pipeline
from sklearn.neighbors import KNeighborsTransformer, sort_graph_by_row_values

import corollary
from corollary import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    SpectralClustering,
    kneighbors_graph,
    radius_neighbors_graph,
)

rng = np.random.default_rng(0)
X, Q = rng.normal(size=(60, 3)), rng.normal(size=(9, 3))
y = rng.integers(0, 3, 60)
ROWS = NearestNeighbors(n_neighbors=4).fit(X)
GRAPH = ROWS.kneighbors_graph(X, 8, mode="distance")  # rows are at distance zero from themselves, which is stored
QUERIES = ROWS.kneighbors_graph(Q, 8, mode="distance")


def _given(graph: Any) -> NearestNeighbors:
    return NearestNeighbors(n_neighbors=4, metric="precomputed").fit(graph)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
def test_a_graph_answers_as_the_rows(form: str) -> None:
    model = _given(GRAPH.asformat(form))
    assert model.evidence_.holds
    assert model.evidence_.solver == "a graph of distances"
    for queries, own in ((Q, QUERIES.asformat(form)), (None, None)):
        for mine, true in zip(model.kneighbors(own), ROWS.kneighbors(queries), strict=True):
            np.testing.assert_array_equal(mine, true)
    radius = float(GRAPH.data.max()) / 4
    for mine, true in zip(model.radius_neighbors(QUERIES, radius), ROWS.radius_neighbors(Q, radius), strict=True):
        for i, (some, all_) in enumerate(zip(mine, true, strict=True)):
            np.testing.assert_array_equal(some, all_[:8], err_msg=str(i))


def test_rows_of_a_graph_need_not_be_sorted_nor_dense() -> None:
    by_distance = sort_graph_by_row_values(GRAPH, copy=True, warn_when_not_sorted=False)
    by_number = GRAPH.copy()
    by_number.sort_indices()
    tables = [_given(graph).kneighbors() for graph in (by_distance, by_number)]
    np.testing.assert_array_equal(tables[0][1], tables[1][1])
    far = np.full(GRAPH.shape, 99.0)
    far[GRAPH.nonzero()] = GRAPH.data[GRAPH.data > 0]
    np.fill_diagonal(far, 0.0)
    np.testing.assert_array_equal(_given(GRAPH).kneighbors(far)[1], _given(GRAPH).kneighbors(GRAPH)[1])


@pytest.mark.parametrize("cls", [KNeighborsClassifier, KNeighborsRegressor])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_votes_over_a_graph(cls: Any, weights: str, tmp_path: Path) -> None:
    rows = cls(n_neighbors=4, weights=weights).fit(X, y)
    graph = cls(n_neighbors=4, weights=weights, metric="precomputed").fit(GRAPH, y)
    graph.save(tmp_path / "model")
    for model in (graph, corollary.load(tmp_path / "model")):
        np.testing.assert_array_equal(model.predict(QUERIES), rows.predict(Q))
        np.testing.assert_array_equal(model.predict(None), rows.predict(None))


def test_scikit_learns_transformer_in_front() -> None:
    chain = sklearn.pipeline.make_pipeline(
        KNeighborsTransformer(n_neighbors=6, mode="distance"), KNeighborsClassifier(n_neighbors=4, metric="precomputed")
    )
    np.testing.assert_array_equal(chain.fit(X, y).predict(Q), KNeighborsClassifier(n_neighbors=4).fit(X, y).predict(Q))


def test_cross_validation_takes_rows_and_columns_of_a_graph() -> None:
    graph = sparse.csr_array(sklearn.metrics.pairwise_distances(X))
    graph.setdiag(0.0)
    model = KNeighborsClassifier(n_neighbors=4)
    scores = [
        sklearn.model_selection.cross_val_score(model.set_params(metric=metric), rows, y, cv=3)
        for metric, rows in (("euclidean", X), ("precomputed", graph))
    ]
    np.testing.assert_array_equal(*scores)


def test_graphs_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ValueError, match="9 neighbors per samples are required, but some samples have only 8"):
        _given(GRAPH).kneighbors(QUERIES, 9)
    with pytest.raises(ValueError, match="square"):
        _given(QUERIES)
    with pytest.raises(TypeError, match="'dok' format is not supported"):
        _given(GRAPH.todok())
    negative = GRAPH.copy()
    negative.data[3] = -1.0
    with pytest.raises(ValueError, match="Negative values"):
        _given(negative)
    with pytest.raises(ValueError, match="Negative values"):
        _given(GRAPH).kneighbors(negative)
    assert _given(sparse.csr_array((3, 3))).evidence_.holds  # a graph without edges has nothing to say


def test_distances_from_a_row_need_not_be_those_back_to_it() -> None:
    table = np.array([[0.0, 1.0, 5.0], [9.0, 0.0, 2.0], [3.0, 4.0, 0.0]])
    rows = NearestNeighbors(n_neighbors=1, metric="precomputed").fit(table).kneighbors(return_distance=False)
    assert rows.ravel().tolist() == [1, 2, 0]


def test_graph_functions_take_models_and_say_when_metrics_differ() -> None:
    model = NearestNeighbors(metric="manhattan").fit(X)
    assert (kneighbors_graph(model, 3) != kneighbors_graph(X, 3, metric="manhattan")).nnz == 0
    with pytest.raises(ValueError, match="Got euclidean for metric, while the estimator has manhattan"):
        radius_neighbors_graph(model, 1.0, metric="euclidean")
    with sklearn.config_context(sparse_interface="sparray"):
        assert isinstance(kneighbors_graph(X, 3), sparse.csr_array)
    assert isinstance(kneighbors_graph(X, 3), sparse.csr_matrix)


@pytest.mark.parametrize("dense", [False, True])
def test_spectral_clusters_of_a_graph_of_distances(dense: bool) -> None:
    rows = SpectralClustering(3, affinity="nearest_neighbors", n_neighbors=8, random_state=0).fit(X)
    given = sklearn.metrics.pairwise_distances(X) if dense else GRAPH
    model = SpectralClustering(3, affinity="precomputed_nearest_neighbors", n_neighbors=8, random_state=0).fit(given)
    assert abs(model.affinity_matrix_ - rows.affinity_matrix_).max() == 0
    np.testing.assert_array_equal(model.labels_, rows.labels_)
