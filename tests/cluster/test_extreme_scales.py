"""Clusters of rows and weights near the ends of float64: numbers are right, or nothing is claimed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary.cluster import AgglomerativeClustering, KMeans, KMedoids, MiniBatchKMeans, SoftKMeans

RNG = np.random.default_rng(3)
X = np.concatenate([RNG.normal(size=(20, 3)), RNG.normal(size=(20, 3)) + 9, RNG.normal(size=(20, 3)) - 9])
FAR = np.concatenate([X, [[1e200, 0.0, 0.0]]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("moves", [False, True])
def test_large_weights_of_small_rows(form: Any, moves: bool) -> None:
    """Squares of 1e-300 vanish unless their weights of 1e300 are counted at once."""
    usual, weights = KMeans(4, init=X[:4], moves=moves).fit(form(X)), np.full(60, 2.0**997)
    model = KMeans(4, init=X[:4] * 2.0**-997, moves=moves).fit(form(X * 2.0**-997), sample_weight=weights)
    assert moves or model.inertia_ == usual.inertia_ * 2.0**-997
    assert model.inertia_ > 0
    assert model.evidence_.verify(form(X * 2.0**-997), sample_weight=weights)


@pytest.mark.parametrize("power", [-996, -997, 996, 997])
def test_wards_heights_go_with_the_root_of_the_weights(power: int) -> None:
    rows, weights = X * 2.0 ** (-power if power > 0 else 0), np.full(60, 2.0**power)
    model = AgglomerativeClustering(3).fit(rows, sample_weight=weights)
    usual = AgglomerativeClustering(3).fit(X)
    exponent = (power // 2 if power < 0 else power // 2 - power) + (0.5 if power % 2 else 0.0)
    np.testing.assert_allclose(np.log2(model.distances_), np.log2(usual.distances_) + exponent, rtol=1e-13)


@pytest.mark.parametrize("seed", [8, 20])
def test_wards_heights_of_small_rows_with_weights_of_any_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, weights = rng.normal(size=(17, 1)) * 1e-300, 10.0 ** rng.uniform(190, 290, 17)
    model = AgglomerativeClustering(2).fit(rows, sample_weight=weights)
    assert model.evidence_.verify(rows, sample_weight=weights)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e150, 1e200, 1e300, 1e-200])
def test_directions_of_rows_of_any_length(form: Any, scale: float) -> None:
    usual = KMeans(3, metric="cosine", random_state=0).fit(form(X))
    model = KMeans(3, metric="cosine", random_state=0, init=usual.cluster_centers_).fit(form(X * scale))
    assert model.evidence_.holds
    assert (model.predict(form(X * scale)) == usual.labels_).all()
    np.testing.assert_allclose(model.transform(form(X * scale)), usual.transform(form(X)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("method", ["auto", "alternate", "clara"])
@pytest.mark.parametrize("scale", [1e-15, 1e-20, 1e-160, 1e-200, 1e-300, 1e160, 1e300])
def test_medoids_of_rows_of_any_length(metric: str, method: str, scale: float) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    forms = [np.asarray, sparse.csr_array] if metric == "cosine" else [np.asarray]
    for form in forms:
        usual, model = (
            KMedoids(3, metric=metric, method=method, random_state=0).fit(form(rows * size)) for size in (1, scale)
        )
        assert model.inertia_ == pytest.approx(usual.inertia_, rel=1e-12)
        assert (model.medoid_indices_ == usual.medoid_indices_).all()
        assert (model.predict(form(rows * scale)) == usual.labels_).all()
        np.testing.assert_allclose(model.transform(form(rows * scale)), usual.transform(form(rows)), atol=1e-13)
        assert model.evidence_.verify(form(rows * scale)).stands is not False


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 40])
@pytest.mark.parametrize("scale", [2.0**-700, 2.0**-360, 2.0**360, 2.0**700])
def test_medoids_by_powers_that_leave_float64(p: float, scale: float) -> None:
    usual, model = (KMedoids(3, metric="minkowski", metric_params={"p": p}).fit(X * size) for size in (1, scale))
    assert model.inertia_ / scale == pytest.approx(usual.inertia_, rel=1e-12)
    assert (model.medoid_indices_ == usual.medoid_indices_).all()


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize("scale", [1e-155, 1e-160, 1e-200, 1e160])
def test_variances_that_leave_float64_are_refused(metric: str, scale: float) -> None:
    with pytest.raises(ValueError, match="Multiply X by a power of two"):
        KMedoids(3, metric=metric).fit(X * scale)


@pytest.mark.parametrize("scale", [1e-160, 1e-300, 1e300])
def test_merges_by_correlation_of_rows_of_any_length(scale: float) -> None:
    usual, model = (
        AgglomerativeClustering(3, linkage="average", metric="correlation").fit(X * size) for size in (1, scale)
    )
    np.testing.assert_allclose(model.distances_, usual.distances_, rtol=1e-10, atol=1e-15)


def test_starts_among_directions_of_huge_rows() -> None:
    model = KMeans(3, metric="cosine", random_state=0).fit(X * 1e160)
    assert model.evidence_.verify(X * 1e160)
    assert np.isfinite(model.transform(X * 1e160)).all()


@pytest.mark.parametrize("seed", [4, 6, 8, 11, 14, 15])
def test_the_length_of_a_direction_does_not_count(seed: int) -> None:
    """Float32 centres are off length one by 1e-8, which is no part of the cost, nor of what a step can save of it."""
    rng = np.random.default_rng(seed)
    rng.normal(size=17), rng.uniform(size=17)
    rows = sparse.csr_array((np.array([1e9, 0.0, 1e3, 1e9, 1e3]) + rng.normal(size=(60, 5))).astype(np.float32))
    weights = 10.0 ** rng.uniform(-40, 40, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(3, metric="cosine", random_state=0).fit(rows, sample_weight=weights)
    assert model.evidence_.verify(rows, sample_weight=weights).stands is not False


@pytest.mark.parametrize("weight", [1.0, 0.0])
@pytest.mark.parametrize("make", [KMeans, SoftKMeans, MiniBatchKMeans])
def test_one_row_beside_which_all_squares_vanish(make: Any, weight: float) -> None:
    weights = np.append(np.ones(60), weight)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(3, random_state=0).fit(FAR, sample_weight=weights)
    except ValueError:
        return
    if make is KMeans:
        assert not model.evidence_.holds
    assert model.evidence_.verify(FAR, sample_weight=weights).stands is not False


def test_answers_do_not_depend_on_other_rows() -> None:
    model = KMeans(4, random_state=0).fit(X)
    assert (model.predict(FAR)[:-1] == model.labels_).all()
    assert (SoftKMeans(3, random_state=0).fit(X).predict(FAR)[:-1] == KMeans(3, random_state=0).fit_predict(X)).all()


@pytest.mark.parametrize("seed", [0, 13, 19, 31])
def test_soft_labels_beside_a_row_far_away(seed: int) -> None:
    """To 1e-9 all memberships may be alike; the nearest centre is known better than that."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(29, 1)) * 10.0 ** rng.uniform(-6, -2)
    rows[3] = 10.0 ** rng.uniform(-1, 4)
    model = SoftKMeans(3, random_state=0).fit(rows)
    away = np.abs(rows - model.cluster_centers_.T)
    assert (away[np.arange(29), model.labels_] == away.min(axis=1)).all()
    assert (model.predict(rows) == model.labels_).all()


def test_soft_shares_of_rows_whose_squares_overflow() -> None:
    rows, weights = np.concatenate([X * 1e150, [[1e162] * 3]]), np.append(np.ones(60), 0.0)
    model = SoftKMeans(3, random_state=0).fit(rows, sample_weight=weights)
    shares = model.predict_proba(rows)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="overflow"):
        model.score(rows)


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single", "centroid"])
def test_a_column_that_all_rows_share_hides_no_distance(linkage: str) -> None:
    rows = np.column_stack([X[:, 0] * 1e-300, np.full(60, 1e9)])
    model = AgglomerativeClustering(3, linkage=linkage).fit(rows)
    usual = AgglomerativeClustering(3, linkage=linkage).fit(X[:, :1])
    np.testing.assert_allclose(model.distances_, usual.distances_ * 1e-300, rtol=1e-9)
    assert model.evidence_.verify(rows)


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single", "centroid"])
def test_heights_that_vanish_beside_a_row_far_away_are_not_claimed(linkage: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AgglomerativeClustering(3, linkage=linkage).fit(FAR)
    assert not model.evidence_.holds


def test_a_small_height_beside_a_large_one_is_judged() -> None:
    rows = np.concatenate([X, [[1e30, 0.0, 0.0]]])
    model = AgglomerativeClustering(3, linkage="complete").fit(rows)
    assert model.evidence_.verify(rows)
    model.distances_[0] *= 1.01
    assert model.evidence_.verify(rows).stands is False


def test_distances_to_centres_beside_a_row_far_away() -> None:
    centres = KMeans(3, random_state=0).fit(X)
    np.testing.assert_allclose(centres.transform(FAR)[:-1], centres.transform(X), rtol=1e-9)
    np.testing.assert_allclose(centres.transform(FAR)[-1], 1e200)
    rows = np.column_stack([X[:, 0] * 1e-300, X[:, 1] * 1e-8])
    together = KMeans(2, init=np.array([[0.0, 0.0], [1e-300, 0.0]]), max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(together.fit(rows).transform(rows)).all()
    single = KMeans(3, random_state=0).fit((X * 1e37).astype(np.float32))
    assert np.isfinite(single.transform(np.full((1, 3), 3e38, dtype=np.float32))).all()
