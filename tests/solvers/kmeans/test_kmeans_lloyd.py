"""Lloyd's iteration: the plain algorithm in float64, whatever is skipped on the way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans as Reference

from corollary.core.evidence import Status
from corollary.core.parallel import threads
from corollary.solvers.kmeans.dense import DenseRows
from corollary.solvers.kmeans.lloyd import Lloyd, lloyd
from corollary.solvers.kmeans.seeding import plus_plus
from corollary.solvers.loop import Rules, run


def mixture(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, d)) * 2
    return centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def naive(X, weights, centres, iterations):
    """Lloyd in six lines."""
    for _ in range(iterations):
        labels = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        for j in range(len(centres)):
            if weights[labels == j].sum() > 0:
                centres[j] = np.average(X[labels == j], axis=0, weights=weights[labels == j])
    return centres, ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_matrix])
def test_equals_the_naive_iteration(make, bounded):
    X = mixture(400, 3, 5)
    weights = np.random.default_rng(1).integers(0, 4, 400).astype(float)
    found = lloyd(make(X), weights, X[:5], max_iter=6, tol=0, bounded=bounded)
    centres, labels = naive(X, weights, X[:5].copy(), found.n_iter)
    np.testing.assert_allclose(found.state.centres, centres, rtol=1e-12)
    np.testing.assert_array_equal(found.state.labels, labels)
    np.testing.assert_allclose(found.measure.objective, weights @ ((X - centres[labels]) ** 2).sum(axis=1))


@pytest.mark.parametrize(("n", "d", "k"), [(20_000, 6, 24), (6_000, 40, 70)])
def test_bounds_change_nothing(n, d, k):
    X = mixture(n, d, k)
    start = X[np.random.default_rng(5).choice(n, k, replace=False)]
    rows = DenseRows(X, np.ones(n))
    assert rows.bounds(k) is not None
    rules = Rules(max_iter=40, tol=0)
    with_bounds, without = run(Lloyd(rows, start), rules), run(Lloyd(rows, start, bounded=False), rules)
    np.testing.assert_array_equal(with_bounds.state.labels, without.state.labels)
    np.testing.assert_array_equal(with_bounds.state.centres, without.state.centres)
    assert with_bounds.history["objective"] == without.history["objective"]
    peer = Reference(k, init=start, n_init=1, max_iter=40, tol=0).fit(X)
    np.testing.assert_allclose(with_bounds.measure.objective, peer.inertia_, rtol=1e-12)
    assert with_bounds.n_iter == peer.n_iter_


def test_threads_change_nothing():
    X = mixture(30_000, 4, 16)
    runs = []
    for n_jobs in (1, 2, 3):
        with threads(n_jobs):
            runs.append(lloyd(X, np.ones(len(X)), X[:16], max_iter=20, tol=0))
    for other in runs[1:]:
        np.testing.assert_array_equal(other.state.centres, runs[0].state.centres)
        np.testing.assert_array_equal(other.state.labels, runs[0].state.labels)


def test_the_cost_never_rises_and_ends_at_rest():
    X = mixture(3_000, 8, 12)
    found = lloyd(X, np.ones(3_000), X[:12], max_iter=300, tol=0)
    costs = found.history["objective"]
    assert all(after <= before * (1 + 1e-13) for before, after in itertools.pairwise(costs))
    assert found.status is Status.CONVERGED
    assert found.state.rise <= 1e-15
    assert found.state.off_mean <= 1e-13
    np.testing.assert_allclose(costs[-1], found.measure.objective, rtol=1e-12)


def test_ties_go_to_the_first_centre_on_a_lattice():
    X = np.array([[x, y] for x in range(-40, 41) for y in range(-40, 41)], dtype=float)
    centres = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]] * 4)
    found = lloyd(X, np.ones(len(X)), centres, max_iter=1, tol=0, bounded=True)
    final = ((X[:, None] - found.state.centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.state.labels, final.argmin(axis=1))


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
def test_a_far_mean_keeps_its_digits(offset):
    X = np.round(mixture(500, 3, 4) * 64) / 64  # exact beside the offset
    plain = lloyd(X, np.ones(500), X[:4], max_iter=100, tol=0)
    far = lloyd(X + offset, np.ones(500), X[:4] + offset, max_iter=100, tol=0)
    np.testing.assert_array_equal(far.state.labels, plain.state.labels)
    np.testing.assert_allclose(far.measure.objective, plain.measure.objective, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e140])
def test_scales_change_no_label(scale):
    X = mixture(300, 3, 4)
    plain = lloyd(X, np.ones(300), X[:4], max_iter=100, tol=0)
    np.testing.assert_array_equal(
        lloyd(X * scale, np.ones(300), X[:4] * scale, max_iter=100, tol=0).state.labels, plain.state.labels
    )


def test_overflow_is_refused():
    X = mixture(30, 3, 4) * 1e200
    with pytest.raises(ValueError, match="overflow"):
        lloyd(X, np.ones(30), X[:4], max_iter=10, tol=0)


def test_outlier_far_beyond_float32():
    X = mixture(2_000, 3, 20)
    X[7] = 1e30
    start = X[np.r_[7:27]]
    found = lloyd(X, np.ones(2_000), start, max_iter=30, tol=0)
    D = ((X[:, None] - found.state.centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.state.labels, D.argmin(axis=1))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_empty_clusters_are_repaired(make):
    X = mixture(800, 3, 6)
    start = X[:6].copy()
    start[3:] = 1e4
    found = lloyd(make(X), np.ones(800), start, max_iter=200, tol=0)
    assert found.state.repaired > 0
    assert found.state.empty == 0
    assert found.state.rise <= 1e-12
    assert len(np.unique(found.state.labels)) == 6


def test_equal_points_leave_clusters_empty():
    found = lloyd(np.ones((10, 2)), np.ones(10), np.ones((3, 2)), max_iter=10, tol=0)
    assert (found.measure.objective, found.state.empty, found.status) == (0.0, 2, Status.CONVERGED)


def test_float32_rows_give_float32_centres():
    X = mixture(500, 4, 5).astype(np.float32)
    found = lloyd(X, np.ones(500), X[:5], max_iter=100, tol=0)
    np.testing.assert_array_equal(found.state.centres, found.state.centres.astype(np.float32))
    double = lloyd(X.astype(np.float64), np.ones(500), X[:5], max_iter=100, tol=0)
    np.testing.assert_allclose(found.measure.objective, double.measure.objective, rtol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_cosine_is_k_means_on_the_sphere(make):
    X = mixture(600, 4, 5) + 0.5
    found = lloyd(
        make(X * np.linspace(0.1, 9, 600)[:, None]), np.ones(600), X[:5], max_iter=200, tol=0, metric="cosine"
    )
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    cosines = unit @ found.state.centres.T
    np.testing.assert_allclose(np.linalg.norm(found.state.centres, axis=1), 1.0)
    np.testing.assert_array_equal(found.state.labels, cosines.argmax(axis=1))
    np.testing.assert_allclose(found.measure.objective, (1 - cosines.max(axis=1)).sum())
    assert found.state.rise <= 1e-14
    for j in range(5):
        mean = unit[found.state.labels == j].sum(axis=0)
        np.testing.assert_allclose(found.state.centres[j], mean / np.linalg.norm(mean), atol=1e-12)


def test_an_interrupt_keeps_what_there_is():
    X = mixture(1_000, 3, 8)

    def interrupt(record, snapshot):
        raise KeyboardInterrupt

    found = lloyd(X, np.ones(1_000), X[:8], max_iter=100, tol=0, observe=interrupt)
    assert found.status is Status.INTERRUPTED
    D = ((X[:, None] - found.state.centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.state.labels, D.argmin(axis=1))


@pytest.mark.parametrize("piece", [1 << 18, 0])
@pytest.mark.parametrize("make", [np.asarray, np.float32, np.asfortranarray, sparse.csr_array])
def test_teams_of_any_size_change_nothing(make, piece, monkeypatch):
    """Seeding and iterations, with a thread for every few rows; ``piece`` decides whether kernels read all rows."""
    monkeypatch.setattr("corollary.solvers.kmeans.dense.PIECE", piece)
    for name in ("dense.READ", "dense.TRIED", "sparse.TRIED", "seeding.SHARE"):
        monkeypatch.setattr(f"corollary.solvers.kmeans.{name}", 1000)
    X = mixture(6_000, 5, 60)
    X[X < -1] = 0.0
    given, weights = make(X), np.random.default_rng(3).uniform(0, 2, 6_000)
    runs = []
    for n_jobs in (1, 2, 3, 7, 16):
        with threads(n_jobs):
            start = plus_plus(given, weights, 50, np.random.RandomState(0))
            runs.append((start, lloyd(given, weights, start, max_iter=20, tol=0)))
    for start, found in runs[1:]:
        np.testing.assert_array_equal(start, runs[0][0])
        np.testing.assert_array_equal(found.state.centres, runs[0][1].state.centres)
        np.testing.assert_array_equal(found.state.labels, runs[0][1].state.labels)
        assert found.history["objective"] == runs[0][1].history["objective"]
