"""MiniBatchKMeans: running means, near the cost of k-means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from corollary.cluster import KMeans, MiniBatchKMeans


@pytest.fixture
def blobs():
    return make_blobs(6_000, 4, centers=7, cluster_std=1.5, random_state=0)[0]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_near_the_cost_of_k_means(blobs, make):
    model = MiniBatchKMeans(7, batch_size=256, random_state=0).fit(make(blobs))
    assert model.inertia_ < 1.05 * KMeans(7, n_init=5, random_state=0).fit(blobs).inertia_
    np.testing.assert_array_equal(model.labels_, model.predict(make(blobs)))
    assert model.evidence_.holds
    assert model.n_steps_ == len(model.evidence_.history["objective"])


def test_centres_are_running_means(blobs):
    model = MiniBatchKMeans(3, init=blobs[:3])
    sums, counts = np.zeros((3, 4)), np.zeros(3)
    centres = blobs[:3].copy()
    weights = np.random.default_rng(0).uniform(0, 2, 6_000)
    for start in range(0, 6_000, 1_000):
        part = slice(start, start + 1_000)
        labels = ((blobs[part, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        for j in range(3):
            sums[j] += weights[part][labels == j] @ blobs[part][labels == j]
            counts[j] += weights[part][labels == j].sum()
        centres = sums / counts[:, None]
        model.partial_fit(blobs[part], sample_weight=weights[part])
        assert model.evidence_.holds
    np.testing.assert_allclose(model.cluster_centers_, centres)
    np.testing.assert_allclose(model.counts_, counts)
    assert model.n_steps_ == 6


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(80, 3)), rng.integers(0, 4, 80)
    order = rng.permutation(weights.sum())
    options = {"n_clusters": 5, "batch_size": 128, "random_state": 0, "reassignment_ratio": 0}
    one = MiniBatchKMeans(**options).fit(X, sample_weight=weights)
    other = MiniBatchKMeans(**options, max_iter=one.n_iter_).fit(np.repeat(X, weights, axis=0)[order])
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_)


def test_options(blobs):
    without = MiniBatchKMeans(4, compute_labels=False, random_state=0).fit(blobs)
    assert not hasattr(without, "labels_")
    assert not hasattr(without, "inertia_")
    short = MiniBatchKMeans(4, max_iter=1, batch_size=1_000, max_no_improvement=None, random_state=0).fit(blobs)
    assert (short.n_iter_, short.n_steps_) == (1, 6)
    early = MiniBatchKMeans(4, batch_size=100, tol=0.5, random_state=0).fit(blobs)
    assert early.n_steps_ < 20
    compared = MiniBatchKMeans(7, init="random", n_init=8, init_size=500, random_state=0).fit(blobs)
    assert compared.inertia_ > 0


def test_poor_centres_get_a_new_place(blobs):
    start = blobs[:7].copy()
    start[5:] = 1e5
    model = MiniBatchKMeans(7, init=start, batch_size=256, random_state=0, max_no_improvement=None, max_iter=20)
    model.fit(blobs)
    assert len(np.unique(model.labels_)) == 7


def test_bad_batches(blobs):
    model = MiniBatchKMeans(5)
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        model.partial_fit(blobs[:4])
    model.partial_fit(blobs[:50])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(blobs[:50, :2])


def test_passes_and_batches(blobs):
    model = MiniBatchKMeans(3, batch_size=30, max_no_improvement=None, max_iter=10, random_state=0).fit(blobs)
    assert model.n_iter_ == 10
    assert model.n_steps_ == 10 * len(blobs) // 30
    larger = MiniBatchKMeans(3, batch_size=10 * len(blobs), max_no_improvement=None, max_iter=2, random_state=0)
    assert larger.fit(blobs).n_steps_ == 2


def test_starts_from_too_few_rows(blobs):
    with pytest.warns(RuntimeWarning, match="init_size=2 should be larger than n_clusters=5"):
        model = MiniBatchKMeans(5, init_size=2, random_state=0).fit(blobs)
    assert len(model.cluster_centers_) == 5
    with pytest.warns(RuntimeWarning, match="performing only one init"):
        MiniBatchKMeans(5, init=blobs[:5], n_init=3, random_state=0).partial_fit(blobs)


def test_verbose_tells_why_it_stopped(blobs, capsys):
    options = {"n_clusters": 4, "batch_size": 100, "random_state": 0, "verbose": 1}
    MiniBatchKMeans(**options, tol=1e-2, max_no_improvement=None).fit(blobs)
    assert "Converged (small centers change)" in capsys.readouterr().out
    MiniBatchKMeans(**options).fit(blobs)
    assert "Converged (lack of improvement in inertia)" in capsys.readouterr().out
