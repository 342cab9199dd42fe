"""NearestNeighbors, KDTree and graphs: scikit-learn's answers, and what is asked of bad input."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.neighbors
from scipy import sparse
from sklearn.exceptions import NotFittedError

import corollary
from corollary import KDTree, NearestNeighbors, kneighbors_graph, radius_neighbors_graph

rng = np.random.default_rng(0)
X, Q = rng.normal(size=(300, 4)), rng.normal(size=(25, 4))
METRICS: list[dict[str, Any]] = [
    {},
    {"p": 1},
    {"p": 3.5},
    {"metric": "chebyshev"},
    {"metric": "cosine"},
    {"metric": "canberra"},
    {"metric": "seuclidean", "metric_params": {"V": np.array([1.0, 2.0, 3.0, 4.0])}},
    {"metric": "minkowski", "metric_params": {"w": np.array([1.0, 2.0, 0.0, 4.0])}},
    {"metric": lambda a, b: abs(a[0] - b[0]) + abs(a[1] - b[1])},
]


def names(parameters: dict[str, Any]) -> str:
    metric = parameters.get("metric", parameters.get("p", "default"))
    return "function" if callable(metric) else str(metric)


@pytest.mark.parametrize("parameters", METRICS, ids=names)
def test_agrees_with_scikit_learn(parameters: dict[str, Any]) -> None:
    ours = NearestNeighbors(n_neighbors=6, **parameters).fit(X)
    theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=6, algorithm="brute", **parameters).fit(X)
    for queries in (Q, None):
        for mine, yours in zip(ours.kneighbors(queries), theirs.kneighbors(queries), strict=True):
            np.testing.assert_allclose(mine, yours, atol=1e-12)
    radius = float(np.median(ours.kneighbors(Q)[0]))
    for queries in (Q, None):
        distances, rows = ours.radius_neighbors(queries, radius, sort_results=True)
        expected, expected_rows = theirs.radius_neighbors(queries, radius, sort_results=True)
        for i in range(len(rows)):
            np.testing.assert_array_equal(rows[i], expected_rows[i])
            np.testing.assert_allclose(distances[i], expected[i], atol=1e-12)
    assert ours.evidence_.holds


def test_precomputed_is_the_same_as_computed() -> None:
    from sklearn.metrics import pairwise_distances

    ours = NearestNeighbors(n_neighbors=4).fit(X)
    table = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(pairwise_distances(X))
    np.testing.assert_array_equal(table.kneighbors(return_distance=False), ours.kneighbors(return_distance=False))
    np.testing.assert_array_equal(table.kneighbors(pairwise_distances(Q, X))[1], ours.kneighbors(Q)[1])


def test_a_row_is_not_its_own_neighbour_even_among_equals() -> None:
    """The first of the others; of more equal rows than are asked for the first is one too many, as in scikit-learn."""
    same = np.vstack([np.zeros((8, 2)), np.ones((1, 2))])
    for algorithm in ("auto", "kd_tree", "brute"):
        rows = NearestNeighbors(n_neighbors=3, algorithm=algorithm).fit(same).kneighbors(return_distance=False)
        for i in range(8):
            np.testing.assert_array_equal(rows[i], [j for j in range(4) if j != i] if i < 4 else [1, 2, 3])
        theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=3, algorithm="brute").fit(same)
        np.testing.assert_array_equal(rows[:8], theirs.kneighbors(return_distance=False)[:8])
        np.testing.assert_array_equal(rows[8], [0, 1, 2])  # itself is the nearest, and left out


def test_rows_that_are_far_from_themselves_keep_the_nearest_of_the_others() -> None:
    gaps = np.array([[np.nan, np.nan], [0.0, 1.0], [np.nan, 2.0], [1.0, np.nan], [5.0, 5.0]])
    model = NearestNeighbors(n_neighbors=2, metric="nan_euclidean").fit(gaps)
    distances, rows = model.kneighbors()
    assert (rows != np.arange(5)[:, None]).all()
    every = model.kneighbors(gaps, 5)
    for i in range(5):
        others = [(d, j) for d, j in zip(every[0][i], every[1][i], strict=True) if j != i][:2]
        np.testing.assert_array_equal(distances[i], [d for d, _ in others])


def test_scikit_learn_knows_a_model_of_neighbours_when_it_is_given_one() -> None:
    model = NearestNeighbors(n_neighbors=3).fit(X)
    theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=3).fit(X)
    np.testing.assert_array_equal(
        sklearn.neighbors.kneighbors_graph(model, 3).toarray(), sklearn.neighbors.kneighbors_graph(theirs, 3).toarray()
    )
    np.testing.assert_array_equal(
        sklearn.neighbors.radius_neighbors_graph(model, 1.0).toarray(),
        sklearn.neighbors.radius_neighbors_graph(theirs, 1.0).toarray(),
    )


def test_threads_do_not_matter() -> None:
    wide = rng.normal(size=(3000, 3))
    one, two = (NearestNeighbors(n_jobs=jobs).fit(wide).kneighbors(wide) for jobs in (1, 2))
    np.testing.assert_array_equal(one[1], two[1])
    np.testing.assert_array_equal(one[0], two[0])


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("include_self", [True, False, "auto"])
def test_graphs_are_those_of_scikit_learn(mode: str, include_self: Any) -> None:
    options = {"mode": mode, "include_self": include_self}
    ours, theirs = kneighbors_graph(X, 5, **options), sklearn.neighbors.kneighbors_graph(X, 5, **options)
    assert sparse.isspmatrix_csr(ours)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), atol=1e-12)
    ours, theirs = (
        radius_neighbors_graph(X, 1.0, **options),
        sklearn.neighbors.radius_neighbors_graph(X, 1.0, **options),
    )
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), atol=1e-12)


def test_graph_of_a_fitted_model_and_of_sparse_rows() -> None:
    model = NearestNeighbors(metric="manhattan").fit(X)
    graph = kneighbors_graph(model, 3)
    assert graph.nnz == 3 * len(X)
    np.testing.assert_array_equal(graph.indices, kneighbors_graph(X, 3, metric="l1").indices)
    thin = sparse.random(80, 30, density=0.2, format="csc", random_state=0)
    np.testing.assert_array_equal(kneighbors_graph(thin, 3).toarray(), kneighbors_graph(thin.toarray(), 3).toarray())


def test_tree_is_that_of_scikit_learn() -> None:
    for metric, p in (("minkowski", 2), ("manhattan", 2), ("minkowski", 3)):
        ours = KDTree(X, leaf_size=7, metric=metric, p=p)
        options = {"p": p} if metric == "minkowski" else {}
        theirs = sklearn.neighbors.KDTree(X, metric=metric, **options)
        for mine, yours in zip(ours.query(Q, k=5), theirs.query(Q, k=5), strict=True):
            np.testing.assert_allclose(mine, yours)
        radii = np.linspace(0.2, 2.0, len(Q))
        np.testing.assert_array_equal(
            ours.query_radius(Q, radii, count_only=True), theirs.query_radius(Q, radii, count_only=True)
        )
        rows, distances = ours.query_radius(Q, 1.5, return_distance=True)
        expected, _ = theirs.query_radius(Q, 1.5, return_distance=True, sort_results=True)
        assert all((a == b).all() for a, b in zip(rows, expected, strict=True))
        assert all((np.diff(each) >= 0).all() for each in distances)
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.query(Q, return_distance=False), ours.query(Q, return_distance=False))


@pytest.mark.parametrize("rows", [X, sparse.csr_array(X), X.astype(np.float32)], ids=["dense", "sparse", "float32"])
def test_saved_models_answer_the_same(rows: Any, tmp_path: Path) -> None:
    model = NearestNeighbors(n_neighbors=3).fit(rows)
    model.save(tmp_path / "model")
    again = corollary.load(tmp_path / "model")
    for mine, yours in zip(model.kneighbors(Q), again.kneighbors(Q), strict=True):
        np.testing.assert_array_equal(mine, yours)
    assert "_search" not in pickle.loads(pickle.dumps(model)).__dict__


def test_a_forged_model_is_refused() -> None:
    model = pickle.loads(pickle.dumps(NearestNeighbors().fit(X)))
    model._fit_X = model._fit_X[:, :2]
    with pytest.raises(ValueError, match="shape"):
        model.kneighbors(X)


def test_bad_input() -> None:
    model = NearestNeighbors(n_neighbors=3).fit(X)
    with pytest.raises(ValueError, match="n_neighbors = 301"):
        model.kneighbors(Q, 301)
    with pytest.raises(ValueError, match="not its own"):
        model.kneighbors(n_neighbors=300)
    with pytest.raises(ValueError, match="n_neighbors > 0"):
        model.kneighbors(Q, 0)
    with pytest.raises(ValueError, match="radius must be"):
        model.radius_neighbors(Q, -1.0)
    with pytest.raises(ValueError, match="Unsupported mode"):
        model.kneighbors_graph(mode="weights")
    with pytest.raises(ValueError, match="square"):
        NearestNeighbors(metric="precomputed").fit(X)
    with pytest.raises(ValueError, match="must not be negative, but X has -1"):
        NearestNeighbors(metric="precomputed").fit(-np.ones((6, 6)))
    with pytest.raises(ValueError, match="kd_tree"):
        NearestNeighbors(algorithm="kd_tree", metric="canberra").fit(X)
    with pytest.raises(ValueError, match="metric_params"):
        NearestNeighbors(metric="mahalanobis").fit(X)
    with pytest.raises(ValueError, match="metric"):
        NearestNeighbors(metric="nonsense").fit(X)
    with pytest.raises(ValueError, match="negative"):
        NearestNeighbors(metric=lambda a, b: -1.0).fit(X)
    with pytest.raises(NotFittedError):
        NearestNeighbors().kneighbors(X)
    with pytest.raises(ValueError, match="k must be"):
        KDTree(X).query(Q, k=0)
    with pytest.raises(ValueError, match="columns"):
        KDTree(X).query(Q[:, :2])


def test_neighbour_lists_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary.core import memory

    model = NearestNeighbors().fit(X)
    monkeypatch.setattr(memory, "_free_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="nearest neighbours"):
        model.kneighbors(Q)
    with pytest.raises(MemoryError, match="smaller radius"):
        model.radius_neighbors(Q, 10.0)
