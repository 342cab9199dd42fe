"""What k-means claims, worked out again in long doubles from the fitted attributes, on data that try to break it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from corollary import Blocks
from corollary.cluster import KMeans, MiniBatchKMeans


def step(X: Any, centres: Any, weights: Any = None) -> tuple[float, float, Any]:
    """(cost, the share of it that one exact Lloyd step saves, labels) in long doubles."""
    X, centres = np.asarray(X, dtype=np.longdouble), np.asarray(centres, dtype=np.longdouble)
    w = np.ones(len(X), dtype=np.longdouble) if weights is None else np.asarray(weights, dtype=np.longdouble)
    squares = ((X[:, None] - centres) ** 2).sum(axis=2)
    labels, cost, after = squares.argmin(axis=1), (w * squares.min(axis=1)).sum(), np.longdouble(0)
    for j in range(len(centres)):
        own = labels == j
        if w[own].sum() > 0:
            mean = (w[own, None] * X[own]).sum(axis=0) / w[own].sum()
            after += (w[own] * ((X[own] - mean) ** 2).sum(axis=1)).sum()
    return float(cost), float((cost - after) / cost) if cost > 0 else 0.0, labels


def claimed(model: Any, X: Any, *, exactly: bool = True) -> None:
    """The claim is true; ``exactly``: it is also no more careful than it must be."""
    cost, share, _ = step(X, model.cluster_centers_)
    np.testing.assert_allclose(model.inertia_, cost, rtol=1e-9)
    certificate = model.evidence_.certificate
    assert share <= 1.001 * certificate.value + 1e-12
    assert not exactly or certificate.value == pytest.approx(share, rel=1e-3, abs=1e-12)
    assert not exactly or certificate.holds == (share <= certificate.tolerance)


def blobs(n: int = 200, d: int = 3, spread: float = 0.3) -> Any:
    return make_blobs(n, d, centers=3, cluster_std=spread, random_state=0)[0]


@pytest.mark.parametrize("k", [2, 3, 4, 6])
@pytest.mark.parametrize("n", [60, 200, 2000])
def test_one_row_far_away(n, k):
    """It once hid the others: the variance was that row's, and beside it no movement counted."""
    X = blobs(n)
    X[0] = 1e12
    model = KMeans(k, random_state=0).fit(X)
    claimed(model, X)
    assert model.evidence_.holds
    plain = KMeans(k - 1, random_state=0).fit(X[1:]) if k > 1 else None
    assert plain is None or model.inertia_ <= 3 * plain.inertia_  # starts differ, but no cluster is missing
    assert len(np.unique(model.labels_)) == k


def test_float32_far_from_zero_has_centres_that_keep_the_claim():
    X = (1e7 + np.random.default_rng(0).integers(0, 4, size=(200, 2))).astype(np.float32)
    model = KMeans(3, random_state=0).fit(X)
    claimed(model, X)
    assert model.evidence_.holds
    assert model.cluster_centers_.dtype == np.float64
    assert (model.predict(X) == model.labels_).all()
    assert model.transform(X).dtype == np.float32
    assert KMeans(3, random_state=0).fit(X - np.float32(1e7)).cluster_centers_.dtype == np.float32


def test_mini_batches_in_float32_far_from_zero():
    X = (1e7 + np.random.default_rng(0).integers(0, 4, size=(200, 2))).astype(np.float32)
    model = MiniBatchKMeans(3, random_state=0, batch_size=64).fit(X)
    claimed(model, X)
    near = MiniBatchKMeans(3, random_state=0, batch_size=64).fit(blobs().astype(np.float32))
    assert near.cluster_centers_.dtype == np.float32


def test_entries_of_the_same_place_are_added():
    X = blobs(300, 4)
    S = sparse.csr_matrix(X)
    twice = sparse.csr_matrix((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    assert not twice.has_canonical_format
    for model in (KMeans(3, random_state=0), MiniBatchKMeans(3, random_state=0)):
        claimed(model.fit(twice), X)
    assert twice.nnz == 2 * S.nnz  # the user's matrix is left as it was


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda X: Blocks([X[:77], X[77:]])])
def test_the_claim_is_true_wherever_the_rows_lie(offset, scale, make):
    X = blobs() * scale + offset
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(4, random_state=0).fit(make(X))
    claimed(model, X, exactly=make is not sparse.csr_array or offset < 1e6 * scale)


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e12, 1e300])
def test_the_claim_is_true_with_weights_of_any_size(size):
    X, weights = blobs(), np.random.default_rng(0).uniform(size=200)
    model = KMeans(4, random_state=0).fit(X, sample_weight=weights * size)
    _, share, _ = step(X, model.cluster_centers_, weights)
    assert model.evidence_.certificate.value == pytest.approx(share, abs=1e-12)
    assert model.evidence_.holds


@pytest.mark.parametrize("k", [2, 5, 12])
def test_the_best_move_of_one_row_is_a_fact(k):
    """By trial of every row in every other cluster."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = KMeans(k, random_state=0, tol=0).fit(X)
    best, labels = 0.0, model.labels_

    def cost(labels: Any) -> float:
        return sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in np.unique(labels))

    for i in range(40):
        for j in range(k):
            if (labels == labels[i]).sum() > 1:
                moved = labels.copy()
                moved[i] = j
                best = max(best, 1 - cost(moved) / model.inertia_)
    told = model.evidence_.facts["share of the cost that moving the best single row saves"]
    assert told == pytest.approx(best, abs=1e-9)


def test_more_clusters_than_rows_that_differ():
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 20, axis=0)
    for far in (0.0, 1e9):
        with pytest.warns(Warning, match="distinct clusters"):
            model = KMeans(9, random_state=0).fit(X + far)
        assert len(np.unique(model.labels_)) == 5
    assert KMeans(100, random_state=0).fit(np.random.default_rng(0).normal(size=(100, 2))).inertia_ == 0
