"""The referee of clusters, mixtures and components: what is true stands, what is not is refuted, at any scale."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from corollary import (
    PCA,
    AgglomerativeClustering,
    GaussianMixture,
    KMeans,
    KMedoids,
    KNeighborsClassifier,
    KNeighborsRegressor,
    MiniBatchKMeans,
    SoftKMeans,
    SpectralClustering,
)

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3)) + 6 * (np.arange(60) % 3)[:, None]
SPREAD = 10.0 ** RNG.uniform(-300, 300, 60)  # weights, most of which are none beside the largest


@pytest.mark.parametrize("linkage", ["ward", "average", "complete", "centroid"])
@pytest.mark.parametrize("weights", [RNG.uniform(0.1, 3, 60), np.full(60, 1e300), np.full(60, 1e-320), SPREAD])
def test_merges_in_the_weights_of_the_user(linkage: str, weights: Any) -> None:
    model = AgglomerativeClustering(3, linkage=linkage).fit(X, sample_weight=weights)
    assert model.evidence_.verify(X, sample_weight=weights).stands
    model.distances_ = model.distances_ * 1.001
    assert model.evidence_.verify(X, sample_weight=weights).stands is False


ONE_WAY = {
    "whole numbers": np.cumsum(np.ones((10, 3)), axis=0),
    "rounded": np.outer(RNG.uniform(1, 5, 20), [1.1, 2.3, 0.7]),
    "two ways": np.r_[np.outer(np.arange(1.0, 11), [1, 2, 3]), np.outer(np.arange(1.0, 11), [3, -2, 1])],
}


@pytest.mark.parametrize("rows", ONE_WAY.values(), ids=ONE_WAY)
@pytest.mark.parametrize("scale", [1.0, 2.0**-990, 2.0**900])
def test_rows_of_one_direction(rows: Any, scale: float) -> None:
    """Angles between them are the referee's own rounding, or that of the data: no share of it refutes."""
    medoids = KMedoids(2, metric="cosine", random_state=0).fit(rows * scale)
    assert medoids.evidence_.verify(rows * scale).stands
    for linkage in ("single", "average", "complete"):
        model = AgglomerativeClustering(2, linkage=linkage, metric="cosine").fit(rows * scale)
        assert model.evidence_.verify(rows * scale).stands


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("spread", [1e-9, 1e-6, 1.0])
def test_small_angles_are_still_judged(scale: float, spread: float) -> None:
    rows = scale * (np.array([1.0, 2.0, 3.0]) + spread * RNG.normal(size=(30, 3)))
    medoids = KMedoids(2, metric="cosine", random_state=0).fit(rows)
    assert medoids.evidence_.verify(rows).stands
    medoids.labels_ = 1 - medoids.labels_
    assert medoids.evidence_.verify(rows).stands is False
    merged = AgglomerativeClustering(2, linkage="average", metric="cosine").fit(rows)
    assert merged.evidence_.verify(rows).stands
    merged.distances_ = merged.distances_ * 1.001
    assert merged.evidence_.verify(rows).stands is False


def test_weights_that_are_none_are_told() -> None:
    lost = int((SPREAD / SPREAD.max() < 1e-125).sum())
    notes = " ".join(KMeans(2, random_state=0).fit(X, sample_weight=SPREAD).evidence_.notes)
    number = int(notes.split(" weights are so far below")[0].split()[-1])
    assert lost <= number < 60


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_the_length_of_a_step_of_em(kind: str) -> None:
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    assert model.evidence_.verify(X).stands
    model.means_ = model.means_ + np.array([0.3, 0.0, 0.0])
    assert model.evidence_.verify(X).stands is False


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_components_that_are_held_from_narrowing(kind: str) -> None:
    far = np.r_[1e7 * X, np.full((30, 3), 1e10)]
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(far)
    assert "widened" in str(model.evidence_)
    assert model.evidence_.verify(far).stands


def test_k_means_claims_one_step_and_not_the_labels_after_it() -> None:
    rows = np.array([[0.0], [1.0], [2.2], [3.0], [9.0]])
    model = KMeans(2, init=np.array([[0.0], [9.0]]), max_iter=300, tol=1e-4).fit(rows)
    assert model.evidence_.verify(rows).stands
    model.cluster_centers_ = model.cluster_centers_ + 0.5
    assert model.evidence_.verify(rows).stands is False


def test_mini_batches_and_graphs_are_judged() -> None:
    batches = MiniBatchKMeans(3, random_state=0).fit(X)
    assert batches.evidence_.verify(X).stands
    batches.cluster_centers_ = batches.cluster_centers_ + 1.0
    assert batches.evidence_.verify(X).stands is False
    for affinity in ("rbf", "nearest_neighbors"):
        graph = SpectralClustering(3, affinity=affinity, gamma=0.02, random_state=0).fit(X)
        assert graph.evidence_.verify(X).stands
        graph.embedding_ = graph.embedding_[::-1].copy()
        if graph.evidence_.certificate.kind.name == "CHECKED":
            assert graph.evidence_.verify(X).stands is False


@pytest.mark.parametrize("options", [
    {"gamma": 0.02}, {"affinity": "nearest_neighbors"}, {"affinity": "radius", "radius": 2.5},
])  # fmt: skip
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_a_graph_is_that_of_the_rows(options: dict[str, Any], wrap: Any) -> None:
    """Clusters that are whole components of some other graph were called optimal for any rows."""
    model = SpectralClustering(3, random_state=0, **options).fit(wrap(X))
    assert model.evidence_.verify(wrap(X)).stands
    assert model.evidence_.verify(wrap(X[::-1].copy())).stands is False
    W = model.affinity_matrix_
    given = SpectralClustering(3, affinity="precomputed", random_state=0).fit(W)
    assert given.evidence_.verify(W).stands
    assert given.evidence_.verify(2 * W).stands is False


def test_a_graph_of_equal_rows_may_join_any_of_them() -> None:
    rows = np.repeat(X[:12], 5, axis=0)
    with pytest.warns(UserWarning, match="not fully connected"):
        model = SpectralClustering(3, affinity="nearest_neighbors", n_neighbors=3, random_state=0).fit(rows)
    assert model.evidence_.verify(rows).stands
    more = model.affinity_matrix_.toarray()
    more[0, 1:5] = more[1:5, 0] = 1.0
    model.affinity_matrix_ = sparse.csr_array(more)
    assert model.evidence_.verify(rows).stands is False


def test_an_affinity_without_a_second_opinion_is_not_decided() -> None:
    model = SpectralClustering(3, affinity="laplacian", random_state=0).fit(X)
    assert model.evidence_.verify(X).stands is None


def test_the_number_found_is_that_of_the_claim() -> None:
    """Not the largest of all numbers, which are of different things: a cut, a residual, an error of an affinity."""
    cut = SpectralClustering(3, affinity="nearest_neighbors", random_state=0).fit(X).evidence_.verify(X)
    assert "Optimal: normalised cut" in cut.claim
    assert cut.words.startswith("the normalised cut is 0")
    assert cut.found == 0
    residual = SpectralClustering(3, gamma=0.02, random_state=0).fit(X).evidence_.verify(X)
    assert residual.words.startswith("the largest residual of an eigenvector")
    assert residual.found < 1e-7


@pytest.mark.parametrize("rows", [sparse.csr_array(X + 1e6), np.r_[X, [[1e12, 0.0, 0.0]]]])
def test_gaussian_affinities_of_rows_far_from_zero(rows: Any) -> None:
    model = SpectralClustering(2, gamma=0.02, random_state=0).fit(rows)
    true = np.exp(-0.02 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(model.affinity_matrix_[:60, :60], true, atol=1e-7)
    assert model.evidence_.verify(rows).stands


@pytest.mark.parametrize("weight", [1e300, 1e30])
def test_heavy_weights_leave_components_their_variance(weight: float) -> None:
    columns = X * [1e-6, 1.0, 1e6]
    plain, heavy = PCA().fit(columns), PCA().fit(columns, sample_weight=np.full(60, weight))
    np.testing.assert_allclose(heavy.explained_variance_ * 60 / 59, plain.explained_variance_, rtol=1e-9)
    assert heavy.evidence_.verify(columns, sample_weight=np.full(60, weight)).stands


def test_one_row_with_nearly_all_the_weight() -> None:
    weights = np.r_[1e40, np.full(59, 1e10)]
    model = PCA(1).fit(X, sample_weight=weights)
    assert model.evidence_.verify(X, sample_weight=weights).stands
    weights = np.r_[1e90, np.full(59, 1e10)]  # rounding of the mean is more than the variance
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PCA(1).fit(X + 1e9, sample_weight=weights)
    assert model.evidence_.verify(X + 1e9, sample_weight=weights).stands is not False


def test_soft_centres_that_float64_cannot_hold() -> None:
    rows = 1e-8 * RNG.normal(size=(9, 8))
    rows[:, 0] = np.where(np.arange(9) % 2, 1e7, np.nextafter(1e7, np.inf))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoftKMeans(2, stiffness=0.1, random_state=0).fit(rows)
    assert model.evidence_.verify(rows).stands is not False


@pytest.mark.parametrize("weight", [1.0, 1e-30, 1e-320])
def test_medoids_of_tiny_distances(weight: float) -> None:
    weights = np.full(60, weight)
    model = KMedoids(3, metric="manhattan").fit(1e-300 * X, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, KMedoids(3, metric="manhattan").fit(X).labels_)
    assert model.evidence_.verify(1e-300 * X, sample_weight=weights).stands


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e152])
def test_distances_to_centres_at_any_scale(scale: float) -> None:
    rows = X * scale
    model = KMeans(3, random_state=0).fit(rows)
    away = np.linalg.norm((rows[:, None] / scale - model.cluster_centers_[None] / scale), axis=2)
    np.testing.assert_allclose(model.transform(rows) / scale, away, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e160])
def test_batches_whose_squares_are_out_of_reach(scale: float) -> None:
    with pytest.raises(ValueError, match=r"power of two|overflow"):
        MiniBatchKMeans(3, random_state=0).fit(X * scale)


@pytest.mark.parametrize("solver", ["auto", "randomized"])
def test_components_that_are_mixed_with_their_neighbours(solver: str) -> None:
    rows = load_breast_cancer().data
    model = PCA(12, svd_solver=solver, tol=1e-13 if solver == "randomized" else 0.0, random_state=0).fit(rows)
    assert model.evidence_.verify(rows).stands
    a, b = model.components_[10].copy(), model.components_[11].copy()
    model.components_[10], model.components_[11] = (a + b) / np.sqrt(2), (a - b) / np.sqrt(2)
    assert model.evidence_.verify(rows).stands is False


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"])
def test_what_is_told_beside_the_components(name: str, dtype: Any) -> None:
    rows = X.astype(dtype)
    model = PCA(2).fit(rows)
    assert model.evidence_.verify(rows).stands
    setattr(model, name, getattr(model, name) * (1 + 1e-4))
    assert model.evidence_.verify(rows).stands is False
    model = PCA(2).fit(rows)
    model.noise_variance_ *= 1.01
    assert model.evidence_.verify(rows).stands is False


def test_equal_variances_are_judged_as_a_span() -> None:
    rows = np.r_[np.eye(4), -np.eye(4)] * [2.0, 1.0, 1.0, 0.5]
    model = PCA().fit(rows)
    a, b = model.components_[1].copy(), model.components_[2].copy()
    model.components_[1], model.components_[2] = 0.6 * a + 0.8 * b, 0.8 * a - 0.6 * b
    assert model.evidence_.verify(rows).stands
    model.components_[:2] = model.components_[1::-1].copy()
    assert model.evidence_.verify(rows).stands is False


@pytest.mark.parametrize("weight", [1e-1, 1e12, 1e15, 1e18])
def test_the_scale_of_weights_is_no_doubt_about_components(weight: float) -> None:
    plain, heavy = PCA().fit(X), PCA().fit(X, sample_weight=np.full(60, weight))
    assert heavy.evidence_.certificate.value <= 10 * plain.evidence_.certificate.value
    assert heavy.evidence_.notes == plain.evidence_.notes


def test_the_share_of_the_variance_beside_a_heavy_row() -> None:
    wide, weights = RNG.normal(size=(8, 12)), np.r_[1.0, 1e22, np.full(6, 1e-3)]
    model = PCA(2).fit(wide, sample_weight=weights)
    away = wide - wide[1]
    share = (weights[:, None] * away).T @ away
    best = np.linalg.eigvalsh(share)[-2:].sum() / np.trace(share)
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), best, rtol=1e-6)
    assert model.evidence_.verify(wide, sample_weight=weights).stands


@pytest.mark.parametrize("model", [KMeans(3, random_state=0), KMeans(3, metric="cosine", random_state=0)])
def test_labels_and_inertia_of_centres(model: Any) -> None:
    model.fit(X)
    assert model.evidence_.verify(X).stands
    labels, inertia = model.labels_, model.inertia_
    for wrong in (np.roll(labels, 1), labels + 1):
        model.labels_ = wrong
        assert model.evidence_.verify(X).stands is False
    model.labels_ = labels[:-1]
    with pytest.raises(ValueError, match="X must be the 59 rows of the fit"):
        model.evidence_.verify(X)
    model.labels_, model.inertia_ = labels, 1.001 * inertia
    assert model.evidence_.verify(X).stands is False


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_mixtures_hold_by_default(kind: str) -> None:
    """A gain below tol alone used to end EM, where the next step was longer than what is certified."""
    rows = StandardScaler().fit_transform(load_breast_cancer().data)
    assert GaussianMixture(3, covariance_type=kind, random_state=1).fit(rows).evidence_.holds


@pytest.mark.parametrize("name", ["means_", "covariances_", "weights_"])
def test_mixtures_that_were_changed(name: str) -> None:
    model = GaussianMixture(2, random_state=0).fit(X)
    assert model.evidence_.verify(X).stands
    changed = {
        "means_": model.means_ + 0.2,
        "covariances_": model.covariances_ * 1.2,
        "weights_": np.array([0.3, 0.7])[np.argsort(-model.weights_)],
    }
    setattr(model, name, changed[name])
    assert model.evidence_.verify(X).stands is False


def refuted(model: Any, name: str, wrong: Any, *targets: Any) -> bool:
    """Whether the claim of a fitted model stands, and does not with another attribute."""
    right = getattr(model, name)
    assert model.evidence_.verify(X, *targets).stands
    setattr(model, name, wrong)
    found = model.evidence_.verify(X, *targets).stands
    setattr(model, name, right)
    return found is False


def test_what_medoids_deliver() -> None:
    model = KMedoids(3, random_state=0).fit(X)
    assert refuted(model, "labels_", np.roll(model.labels_, 1))
    assert refuted(model, "inertia_", 1.001 * model.inertia_)
    assert refuted(model, "cluster_centers_", model.cluster_centers_ + 1e-6)
    assert refuted(model, "medoid_indices_", model.medoid_indices_ + 1000)


@pytest.mark.parametrize("cut", [{"n_clusters": 3}, {"n_clusters": None, "distance_threshold": 4.0}])
@pytest.mark.parametrize("linkage", ["ward", "centroid", "single"])
def test_labels_of_a_hierarchy(linkage: str, cut: dict[str, Any]) -> None:
    model = AgglomerativeClustering(linkage=linkage, **cut).fit(X)
    wrong = model.labels_.copy()
    wrong[0] = wrong.max() + 1
    assert refuted(model, "labels_", wrong)
    assert model.evidence_.certificate.name == "largest relative error of merges worked out again"


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_parameters_of_mixtures_that_cannot_be(kind: str) -> None:
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    assert refuted(model, "precisions_", 1.01 * model.precisions_)
    assert refuted(model, "precisions_cholesky_", 1.01 * model.precisions_cholesky_)
    assert refuted(model, "means_", np.full_like(model.means_, np.nan))
    assert refuted(model, "weights_", np.array([-0.5, 1.5]))


def test_soft_labels_and_targets_that_neighbours_keep() -> None:
    soft = SoftKMeans(3, stiffness=0.5, random_state=0).fit(X)
    assert refuted(soft, "labels_", np.roll(soft.labels_, 1))
    labels, numbers = np.array(["a", "b", "c"])[np.arange(60) % 3], X[:, 0]
    for model, y in ((KNeighborsClassifier(), labels), (KNeighborsRegressor(), numbers)):
        model.fit(X, y)
        assert refuted(model, "_y", model._y[::-1].copy(), y)


@pytest.mark.parametrize("far", [1e17, 1e100, 1e200])
@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
@pytest.mark.parametrize("init", ["build", "random"])
def test_swaps_beside_one_huge_row(far: float, metric: str, init: str) -> None:
    """Differences of sums with a distance of 1e17 have no digits for gains of one; sums themselves have all."""
    rows = np.r_[1e6 + X[:40], [[far, far, far]]]
    for k in (2, 3, 5):
        model = KMedoids(k, metric=metric, init=init, random_state=0).fit(rows)
        assert model.evidence_.verify(rows).stands


def test_swaps_beside_a_huge_distance_that_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary.solvers.medoids import swaps

    monkeypatch.setattr(swaps, "LARGEST", 10)
    rows = np.r_[1e6 + X[:12], [[1e17, 1e17, 1e17]]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMedoids(2, metric="manhattan").fit(rows)
    assert not model.evidence_.holds


def test_batches_whose_cost_overflows_by_their_weights() -> None:
    with pytest.raises(ValueError, match="overflow"):
        MiniBatchKMeans(3, random_state=0).fit(1e150 * X, sample_weight=np.full(60, 1e12))
