"""Spectral clustering: against scikit-learn, brute-force eigenvectors, and graphs in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import SpectralClustering as Reference
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

import corollary
from corollary import Status
from corollary.callbacks import TimeBudget
from corollary.cluster.spectral import SpectralClustering
from corollary.core.parallel import one_blas_thread
from corollary.solvers.spectral.graph import Graph

SHAPES = Path(__file__).parents[2] / ".." / "shared" / "data" / "clustering"
WAYS = ("kmeans", "discretize", "cluster_qr")


def blobs(n: int = 300, k: int = 3, seed: int = 0) -> tuple[Any, Any]:
    X, y = make_blobs(n, n_features=2, centers=k, cluster_std=0.8, random_state=seed + 3)
    return X, y


@pytest.mark.filterwarnings("ignore:.*not fully connected")
@parametrize_with_checks(
    [SpectralClustering(2, random_state=0), SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=5)]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_equals_scikit_learn(way: str, affinity: str) -> None:
    X, _ = make_blobs(400, n_features=3, centers=4, cluster_std=2.0, random_state=1)
    options = {"affinity": affinity, "gamma": 0.1, "n_neighbors": 12, "assign_labels": way, "random_state": 0}
    model, other = SpectralClustering(4, **options).fit(X), Reference(4, **options).fit(X)
    assert adjusted_rand_score(model.labels_, other.labels_) > 0.99
    graph = Graph(model.affinity_matrix_)
    assert graph.normalised_cut(model.labels_) <= graph.normalised_cut(other.labels_) * 1.001
    assert model.evidence_.holds
    ours, theirs = (sparse.csr_array(each.affinity_matrix_).toarray() for each in (model, other))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("n", [120, 500, 1100])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_eigenvectors_by_brute_force(n: int, kind: str) -> None:
    X, _ = blobs(n, 4)
    W = rbf_kernel(X, gamma=0.05)
    if kind == "sparse":
        W[W < 0.2] = 0.0
        W = sparse.csr_array(W)
    model = SpectralClustering(5, affinity="precomputed", random_state=0).fit(W)
    A = W.toarray() if kind == "sparse" else W.copy()
    np.fill_diagonal(A, 0.0)
    d = A.sum(axis=1)
    with one_blas_thread():
        values, U = np.linalg.eigh(np.eye(n) - A / np.sqrt(np.outer(d, d)))
    np.testing.assert_allclose(model.eigenvalues_, values[:5], atol=1e-9)
    assert model.evidence_.certificate.value <= 1e-7
    if values[5] - values[4] > 1e-3:  # the span is then determined
        V = model.embedding_ * np.sqrt(d)[:, None]
        np.testing.assert_allclose(V @ V.T, U[:, :5] @ U[:, :5].T, atol=1e-4)
    facts = model.evidence_.facts
    assert facts["normalised cut"] >= facts["least possible cut"] - 1e-9


def test_crowded_eigenvalues_are_found_by_a_factor() -> None:
    n = 4000  # a ring: eigenvalues 1 − cos(2πj/n), each twice
    ring = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1]).tolil()
    ring[0, n - 1] = ring[n - 1, 0] = 1.0
    model = SpectralClustering(3, affinity="precomputed", random_state=0).fit(sparse.csr_array(ring))
    np.testing.assert_allclose(model.eigenvalues_, [0, *[1 - np.cos(2 * np.pi / n)] * 2], atol=1e-9)
    assert model.evidence_.holds
    assert "factor" in model.evidence_.solver
    assert len(np.unique(model.labels_)) == 3


def test_repeated_eigenvalues_are_all_found() -> None:
    corner = np.arange(2**10)  # the corners of a cube of 10 dimensions: 2j/10, as often as j of 10 can be chosen
    other = corner[:, None] ^ (1 << np.arange(10))
    W = sparse.csr_array((np.ones(other.size), (np.repeat(corner, 10), other.ravel())))
    model = SpectralClustering(6, affinity="precomputed", random_state=0).fit(W)
    np.testing.assert_allclose(model.eigenvalues_, [0.0, *[0.2] * 5], atol=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_shapes_that_k_means_cannot_find(way: str) -> None:
    for X, y in (
        make_moons(400, noise=0.05, random_state=0),
        make_circles(400, noise=0.04, factor=0.4, random_state=0),
    ):
        for options in ({"affinity": "nearest_neighbors"}, {"gamma": 40.0}, {"affinity": "radius", "radius": 0.25}):
            model = SpectralClustering(2, assign_labels=way, random_state=0, **options).fit(X)
            assert adjusted_rand_score(y, model.labels_) > 0.98, (options, str(model.evidence_))


@pytest.mark.filterwarnings("ignore:.*not fully connected")
def test_radius_graph() -> None:
    X, _ = blobs()
    model = SpectralClustering(2, affinity="radius", radius=1.5).fit(X)
    expected = radius_neighbors_graph(X, 1.5).toarray()
    np.fill_diagonal(expected, 0)
    got = model.affinity_matrix_.toarray()
    np.fill_diagonal(got, 0)
    np.testing.assert_array_equal(got, expected)


def test_precomputed_neighbours() -> None:
    X, y = blobs()
    distances = sparse.csr_array(kneighbors_graph(X, 30, mode="distance", include_self=False))
    model = SpectralClustering(3, affinity="precomputed_nearest_neighbors", n_neighbors=10, random_state=0).fit(
        distances
    )
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_as_many_pieces_as_clusters_are_the_clusters() -> None:
    X = np.concatenate([np.random.default_rng(j).normal(20 * j, 1, (40 + 5 * j, 2)) for j in range(3)])
    model = SpectralClustering(3, affinity="nearest_neighbors", random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1, 2], [40, 45, 50]), model.labels_) == 1.0
    np.testing.assert_array_equal(np.bincount(model.component_labels_), [50, 45, 40])
    assert "3 connected components, of 50, 45, 40 rows" in str(model.evidence_)
    assert model.evidence_.facts["normalised cut"] == 0.0
    assert not model.eigenvalues_.any()
    five = SpectralClustering(5, affinity="nearest_neighbors", random_state=0).fit(X)  # pieces that are cut further
    assert len(np.unique(five.labels_)) == 5
    assert (five.eigenvalues_[:3] == 0).all() or np.abs(five.eigenvalues_[:3]).max() < 1e-12
    for piece in range(5):
        assert len(np.unique(five.component_labels_[five.labels_ == piece])) == 1


def test_more_pieces_than_clusters_join_the_nearest() -> None:
    X = np.concatenate([np.random.default_rng(j).normal(c, 1, (40, 2)) for j, c in enumerate([0, 100])])
    X = np.concatenate([X, [[12.0, 12.0]], [[85.0, 85.0]]])
    with pytest.warns(UserWarning, match="not fully connected.*raise radius"):
        model = SpectralClustering(2, affinity="radius", radius=3.0, random_state=0).fit(X)
    assert model.component_labels_.max() > 1
    assert model.labels_[80] == model.labels_[0] != model.labels_[81] == model.labels_[79]
    assert "small components joined" in str(model.evidence_)
    W = Graph(model.affinity_matrix_).W
    with pytest.warns(UserWarning, match="more edges"):
        assert set(SpectralClustering(2, affinity="precomputed").fit(W).labels_) == {0, 1}


@pytest.mark.parametrize("affinity", ["rbf", "laplacian"])
def test_columns_that_are_not_scaled_are_told(affinity: str) -> None:
    """Every row is a piece of its own there: a cut of zero says nothing of clusters."""
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 1e4, 1e5]
    with pytest.warns(UserWarning, match="more than n_clusters=8.*lower gamma, or bring the columns") as told:
        SpectralClustering(affinity=affinity, random_state=0).fit(X)
    assert [each.filename for each in told] == [__file__]
    SpectralClustering(affinity=affinity, gamma=1e-12, random_state=0).fit(X)  # and says nothing


@pytest.mark.filterwarnings("ignore:.*not fully connected")
def test_no_edges_at_all() -> None:
    X = np.arange(6.0)[:, None] * 10
    model = SpectralClustering(2, affinity="radius", radius=1.0).fit(X)
    assert model.evidence_.holds
    assert set(model.labels_) <= {0, 1}
    assert model.evidence_.facts["connected components"] == 6
    assert set(SpectralClustering(2, affinity="precomputed").fit(np.zeros((4, 4))).labels_) == {0, 1}


def test_identical_rows() -> None:
    X = np.ones((30, 3))
    for options in ({}, {"affinity": "nearest_neighbors"}):
        model = SpectralClustering(2, random_state=0, **options).fit(X)
        assert len(model.labels_) == 30
        assert np.isfinite(model.embedding_).all()


def test_bad_affinities() -> None:
    with pytest.raises(ValueError, match="square"):
        SpectralClustering(2, affinity="precomputed").fit(np.ones((4, 3)))
    with pytest.raises(ValueError, match="must not be negative"):
        SpectralClustering(2, affinity="precomputed").fit(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    with pytest.raises(ValueError, match="must not be negative"):
        SpectralClustering(2, affinity="cosine").fit(np.array([[1.0, 0], [-1.0, 0.1], [0, 1]]))
    with pytest.raises(ValueError, match="n_clusters must be at most"):
        SpectralClustering(5).fit(np.ones((4, 2)))
    with pytest.raises(ValueError, match="n_neighbors must be at most"):
        SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=9).fit(np.ones((4, 2)))
    with pytest.raises(ValueError, match="landmarks are for"):
        SpectralClustering(2, affinity="nearest_neighbors", landmarks=3).fit(np.ones((40, 2)))
    with pytest.raises(ValueError, match="overflow"):
        SpectralClustering(2).fit(np.random.default_rng(0).normal(size=(30, 2)) * 1e200)
    with pytest.raises(ValueError, match="needs an eigenvector for each"):
        SpectralClustering(3, n_components=2, assign_labels="cluster_qr").fit(blobs()[0])


def test_an_affinity_that_is_not_symmetric_is_made_so() -> None:
    X, y = blobs()
    W = rbf_kernel(X, gamma=0.2)
    skew = W * (1 + 0.3 * np.random.default_rng(0).random(W.shape))
    for held in (skew, sparse.csr_array(skew)):
        model = SpectralClustering(3, affinity="precomputed", random_state=0).fit(held)
        assert "not symmetric" in str(model.evidence_)
        assert adjusted_rand_score(y, model.labels_) > 0.9


def test_an_affinity_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.core.memory._free_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match="nearest_neighbors"):
        SpectralClustering(2).fit(blobs()[0])


def test_kernels_and_functions() -> None:
    X = np.abs(blobs()[0])
    for affinity in ("laplacian", "polynomial", "linear", "chi2", lambda a, b: float(np.exp(-np.abs(a - b).sum()))):
        model = SpectralClustering(3, affinity=affinity, gamma=0.5, random_state=0).fit(X[:80])
        assert model.evidence_.holds


@pytest.mark.parametrize("count", [100, 300])
def test_landmarks(count: int) -> None:
    X, _y = blobs(600)
    exact = SpectralClustering(3, gamma=0.1, random_state=0).fit(X)
    model = SpectralClustering(3, gamma=0.1, landmarks=count, random_state=0).fit(X)
    assert adjusted_rand_score(exact.labels_, model.labels_) > 0.98
    assert model.evidence_.holds
    assert f"{count} landmarks" in str(model.evidence_)
    assert not hasattr(model, "affinity_matrix_")
    whole = SpectralClustering(3, gamma=0.1, landmarks=600, random_state=0).fit(X)  # then nothing is approximate
    A = rbf_kernel(X, gamma=0.1)
    d = A.sum(axis=1)
    np.testing.assert_allclose(
        whole.eigenvalues_, 1 - np.linalg.eigvalsh(A / np.sqrt(np.outer(d, d)))[::-1][:3], atol=1e-6
    )


def test_landmarks_are_used_beyond_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.cluster.spectral.MANY", 200)
    X, y = blobs(600)
    model = SpectralClustering(3, gamma=0.1, random_state=0).fit(X)
    assert "landmarks" in str(model.evidence_)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    graph = SpectralClustering(3, affinity="nearest_neighbors", random_state=0).fit(X)
    assert "landmarks" not in str(graph.evidence_)


def test_same_answer_again_and_for_any_number_of_threads() -> None:
    X, _ = make_blobs(1200, n_features=3, centers=4, cluster_std=3.0, random_state=1)
    for options in ({"gamma": 0.1}, {"affinity": "nearest_neighbors"}):
        a, b = (SpectralClustering(4, random_state=3, n_jobs=j, **options).fit(X) for j in (1, 2))
        assert np.array_equal(a.labels_, b.labels_)
        assert np.array_equal(a.embedding_, b.embedding_)


def test_sparse_rows() -> None:
    X, _ = blobs()
    for options in ({"gamma": 0.1}, {"affinity": "nearest_neighbors"}):
        dense = SpectralClustering(3, random_state=0, **options).fit(X)
        held = SpectralClustering(3, random_state=0, **options).fit(sparse.csr_array(X))
        assert adjusted_rand_score(dense.labels_, held.labels_) == 1.0


def test_a_callback_stops_the_restarts() -> None:
    X, _ = blobs()
    model = SpectralClustering(3, gamma=0.1, random_state=0).set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert model.evidence_.status is Status.BUDGET
    assert len(model.evidence_.history["objective"]) == 1


def test_saved_and_loaded(tmp_path: Path) -> None:
    X, _ = blobs()
    model = SpectralClustering(3, affinity="nearest_neighbors", random_state=0).fit(X)
    model.save(tmp_path / "model.corollary")
    assert np.array_equal(corollary.load(tmp_path / "model.corollary").labels_, model.labels_)


@pytest.mark.skipif(not SHAPES.is_dir(), reason="the shape sets lie in ../shared/data, which is absent")
@pytest.mark.parametrize(
    ("name", "k", "options", "least"),
    [
        ("aggregation", 7, {"affinity": "nearest_neighbors"}, 0.98),
        ("jain", 2, {"affinity": "nearest_neighbors"}, 0.98),
        ("flame", 2, {"gamma": 0.3}, 0.9),
        ("pathbased", 3, {"gamma": 1.0}, 0.65),
    ],
)
def test_shape_sets(name: str, k: int, options: dict[str, Any], least: float) -> None:
    table = np.genfromtxt(SHAPES / f"{name}.csv", delimiter=",", skip_header=1, dtype=str)
    X, y = table[:, :2].astype(float), table[:, 2]
    model = SpectralClustering(k, random_state=0, **options).fit(X)
    assert model.evidence_.holds
    assert adjusted_rand_score(y, model.labels_) >= least


def test_landmarks_that_are_all_alike_span_fewer_directions() -> None:
    X = (np.random.default_rng(0).normal(size=(14, 2)) + 1e9).astype(np.float32)
    model = SpectralClustering(2, n_components=4, landmarks=5, random_state=0).fit(X)
    assert model.embedding_.shape[1] == len(model.eigenvalues_)
    model._check_state()


@pytest.mark.parametrize(
    "options", [{"eigen_tol": 0}, {"eigen_solver": "amg"}, {"verbose": 1}, {"eigen_solver": "lobpcg"}]
)
def test_hints_do_not_change_the_answer(options: dict[str, Any]) -> None:
    X, _ = blobs()
    plain, hinted = (SpectralClustering(3, random_state=0, **some).fit(X) for some in ({}, options))
    assert hinted.evidence_.holds
    np.testing.assert_array_equal(hinted.labels_, plain.labels_)


def test_a_kernel_that_is_the_same_everywhere() -> None:
    model = SpectralClustering(2, gamma=0, random_state=0).fit(blobs(30)[0])
    assert (model.affinity_matrix_ == 1).all()


def test_a_matrix_of_numpys_is_refused_in_scikit_learns_words() -> None:
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[0.0, 2.0], [2.0, 0.0]])
    with pytest.raises(TypeError, match=r"np\.matrix is not supported"):
        SpectralClustering(2, affinity="precomputed").fit(matrix)
