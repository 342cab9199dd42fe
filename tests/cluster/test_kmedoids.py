"""k-medoids: swap-optimal answers, the same from every road, and clear refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning

from corollary import KMedoids, Status, load
from corollary.cluster import kmedoids
from corollary.core import parallel
from corollary.solvers.distance_tables import ComputedDistances, StoredDistances
from corollary.solvers.distances import between
from corollary.solvers.loop import Rules, run
from corollary.solvers.medoids.start import build
from corollary.solvers.medoids.swaps import EagerSwaps

BLOBS, TRUTH = make_blobs(240, centers=5, cluster_std=1.5, random_state=3)


def cost(D: Any, medoids: Any, weights: Any = 1.0) -> float:
    return float((weights * D[np.asarray(medoids)].min(axis=0)).sum())


def best_of_all(D: Any, k: int) -> float:
    return min(cost(D, list(chosen)) for chosen in itertools.combinations(range(len(D)), k))


@pytest.mark.parametrize("init", ["build", "k-medoids++", "random"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_no_swap_lowers_the_cost(init: str, metric: str) -> None:
    model = KMedoids(5, init=init, metric=metric, random_state=0).fit(BLOBS)
    D = between(BLOBS, BLOBS, metric, {})
    medoids = model.medoid_indices_.tolist()
    assert model.inertia_ == pytest.approx(cost(D, medoids))
    for slot, j in itertools.product(range(5), range(len(D))):
        assert cost(D, [*medoids[:slot], j, *medoids[slot + 1 :]]) >= model.inertia_ * (1 - 1e-9)
    np.testing.assert_array_equal(model.labels_, np.argmin(D[medoids], axis=0))
    assert model.evidence_.holds
    assert model.evidence_.status is Status.CONVERGED
    assert (np.diff(model.evidence_.history["objective"]) <= 0).all()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_small_problems_are_solved_exactly(k: int) -> None:
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(14, 2))
        D = cdist(X, X)
        model = KMedoids(k, init="random", n_init=30, random_state=seed).fit(X)
        assert model.inertia_ == pytest.approx(best_of_all(D, k))
        assert model.evidence_.status is (Status.EXACT if k == 1 else Status.CONVERGED)


def test_the_answer_of_the_reference_from_the_same_start() -> None:
    peer = pytest.importorskip("kmedoids")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3))
    D = cdist(X, X)
    start = rng.choice(600, 7, replace=False)
    ours = KMedoids(7, metric="precomputed", init=start).fit(D)
    theirs = peer.fasterpam(D, start.copy(), n_cpu=1)
    assert ours.inertia_ == pytest.approx(theirs.loss)
    assert sorted(ours.medoid_indices_) == sorted(theirs.medoids)
    naive = peer.pam_build(D, 7)
    assert build(StoredDistances(D), np.ones(600), 7).tolist() == [int(m) for m in naive.medoids]


def test_matrix_and_rows_stored_and_computed_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    D = cdist(BLOBS, BLOBS)
    stored = KMedoids(4).fit(BLOBS)
    for layout in (D, np.asfortranarray(D), D.astype(np.float32)):
        given = KMedoids(4, metric="precomputed").fit(layout)
        assert given.medoid_indices_.tolist() == stored.medoid_indices_.tolist()
        assert given.cluster_centers_ is None
        np.testing.assert_array_equal(given.predict(layout), given.labels_)
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1)
    monkeypatch.setattr("corollary.core.memory._free_memory", lambda: 50_000)
    computed = KMedoids(4).fit(BLOBS)
    assert computed.medoid_indices_.tolist() == stored.medoid_indices_.tolist()
    assert "computed anew" in str(computed.evidence_)
    assert KMedoids(4, method="alternate").fit(BLOBS[:60]).evidence_.holds


def test_threads_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.solvers.medoids.swaps._BATCH", 1)
    one, three = (KMedoids(9, init="random", random_state=2, n_jobs=jobs).fit(BLOBS) for jobs in (1, 3))
    assert one.medoid_indices_.tolist() == three.medoid_indices_.tolist()
    assert one.inertia_ == three.inertia_


def test_many_columns_and_nearly_coinciding_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 60)) + 1000.0
    X[1], X[2] = X[0], X[0] + 1e-9
    exact = cdist(X, X)
    np.testing.assert_allclose(between(X, X, "euclidean", {}), exact, rtol=1e-7, atol=1e-15)
    S = sparse.csr_array(np.where(rng.random((80, 60)) < 0.1, X, 0.0))
    np.testing.assert_allclose(between(S, S, "euclidean", {}), cdist(S.toarray(), S.toarray()), rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_any_scale(scale: float) -> None:
    plain, scaled = KMedoids(5).fit(BLOBS), KMedoids(5).fit(BLOBS * scale)
    assert scaled.medoid_indices_.tolist() == plain.medoid_indices_.tolist()
    assert scaled.inertia_ / scale == pytest.approx(plain.inertia_)


@pytest.mark.parametrize("method", ["fasterpam", "alternate"])
def test_weights_are_repetitions(method: str) -> None:
    weights = np.random.default_rng(5).integers(0, 4, len(BLOBS))
    repeated = np.repeat(np.arange(len(BLOBS)), weights)
    for init in ("build", "k-medoids++"):
        a = KMedoids(5, init=init, method=method, random_state=1).fit(BLOBS, sample_weight=weights)
        b = KMedoids(5, init=init, method=method, random_state=1).fit(BLOBS[repeated])
        np.testing.assert_array_equal(BLOBS[a.medoid_indices_], BLOBS[repeated][b.medoid_indices_])
        assert a.inertia_ == pytest.approx(b.inertia_)
        assert (weights[a.medoid_indices_] > 0).all()


def test_alternation_is_what_it_says() -> None:
    model = KMedoids(5, method="alternate", init="random", random_state=0).fit(BLOBS)
    D = cdist(BLOBS, BLOBS)
    for slot, medoid in enumerate(model.medoid_indices_):
        members = np.flatnonzero(model.labels_ == slot)
        totals = D[np.ix_(members, members)].sum(axis=1)
        assert totals[members == medoid][0] == pytest.approx(totals.min())
    assert model.inertia_ >= KMedoids(5).fit(BLOBS).inertia_ * (1 - 1e-9)


def test_samples_come_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.solvers.medoids.sampled.SAMPLE_ROWS", 100)
    X, _ = make_blobs(3000, centers=6, random_state=0)
    whole, sampled = KMedoids(6).fit(X), KMedoids(6, method="clara", random_state=0).fit(X)
    assert sampled.inertia_ < 1.03 * whole.inertia_
    assert sampled.inertia_ == pytest.approx(-sampled.score(X))
    assert "within the sample" in str(sampled.evidence_)
    monkeypatch.setattr(kmedoids, "_ALL_DISTANCES", 2000)
    assert "samples" in str(KMedoids(6, random_state=0).fit(X).evidence_)


def test_any_callable_and_its_options() -> None:
    X = BLOBS[:50]

    def metric(a: Any, b: Any, power: float = 1.0) -> float:
        return float((np.abs(a - b) ** power).sum())

    by_function = KMedoids(3, metric=metric, metric_params={"power": 1.0}).fit(X)
    by_name = KMedoids(3, metric="manhattan").fit(X)
    assert by_function.medoid_indices_.tolist() == by_name.medoid_indices_.tolist()
    np.testing.assert_allclose(by_function.transform(X), by_name.transform(X))


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "minkowski", "correlation"])
def test_metrics_that_need_variances_take_those_of_all_rows(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(100, 4)) * [1, 10, 100, 3]
    D = between(X, X, metric, {})
    assert KMedoids(4, metric=metric).fit(X).inertia_ == pytest.approx(
        KMedoids(4, metric="precomputed").fit(np.maximum(D, D.T)).inertia_
    )
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1)
    model = KMedoids(4, metric=metric).fit(X)
    np.testing.assert_allclose(model.transform(X[:5]), D[:5, model.medoid_indices_], atol=1e-12)
    with pytest.raises(ValueError, match="metric must be 'precomputed' or"):
        KMedoids(metric="eucledian").fit(X)


def test_sparse_rows() -> None:
    X = np.where(np.abs(BLOBS) < 2, 0.0, BLOBS)
    dense, thin = KMedoids(4).fit(X), KMedoids(4).fit(sparse.csr_array(X))
    assert dense.inertia_ == pytest.approx(thin.inertia_)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(X)), dense.predict(X))
    with pytest.raises(ValueError, match="sparse"):
        KMedoids(2, metric="chebyshev").fit(sparse.csr_array(X))


def test_bad_input_is_refused_in_words() -> None:
    D = cdist(BLOBS[:30], BLOBS[:30])
    crooked, negative, gap = D.copy(), D.copy(), D.copy()
    crooked[3, 7] *= 2
    negative[2, 5] = negative[5, 2] = -1.0
    gap[1, 2] = np.nan
    for matrix, words in ((crooked, "symmetric.*row 3 to row 7"), (negative, "negative"), (gap, "NaN")):
        with pytest.raises(ValueError, match=words):
            KMedoids(3, metric="precomputed").fit(matrix)
    with pytest.raises(ValueError, match="square"):
        KMedoids(3, metric="precomputed").fit(D[:20])
    with pytest.raises(ValueError, match="symmetric"):
        KMedoids(2, metric=lambda a, b: float(max(a[0] - b[0], 0.0))).fit(BLOBS[:20])
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4"):
        KMedoids(4).fit(BLOBS[:3])
    with pytest.raises(ValueError, match="positive weight=2"):
        KMedoids(3).fit(BLOBS[:9], sample_weight=[0, 0, 0, 1, 0, 0, 1, 0, 0])
    for init in ([0, 0], [1, 99], [0.5, 1.5], [1, 2, 3]):
        with pytest.raises(ValueError, match="different row numbers"):
            KMedoids(2, init=init).fit(BLOBS[:9])
    with pytest.raises(ValueError, match="rows that vary, but row 0 has the same value"):
        KMedoids(2, metric="correlation").fit(np.ones((6, 3)))


def test_fewer_distinct_rows_than_clusters_are_noted() -> None:
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 6, axis=0)
    for init in ("build", "k-medoids++", "random"):
        model = KMedoids(4, init=init, random_state=0).fit(X)
        assert model.inertia_ == 0
        assert len(set(model.medoid_indices_.tolist())) == 4
        assert "Only 2 of the 4 medoids differ" in str(model.evidence_)


def test_stopping_early_is_said_aloud() -> None:
    X, _ = make_moons(300, noise=0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = KMedoids(12, init=np.arange(12), max_iter=1).fit(X)
    assert model.evidence_.certificate.value > 1e-9
    with pytest.warns(ConvergenceWarning, match="relative gain of any swap"):
        KMedoids(12, init=np.arange(12), max_iter=0).fit(X)


def test_an_interrupted_search_keeps_its_best(monkeypatch: pytest.MonkeyPatch) -> None:
    D, ones = StoredDistances(cdist(BLOBS, BLOBS)), np.ones(len(BLOBS))

    def interrupt(record: dict[str, float], snapshot: Any) -> bool:
        raise KeyboardInterrupt

    found = run(EagerSwaps(D, ones, np.arange(5), 1e-9), Rules(9, 1e-9, interrupt))
    assert found.status is Status.INTERRUPTED
    assert found.measure.objective == pytest.approx(cost(D.matrix, found.state.answer().points))


def test_round_trip_and_output(tmp_path: Any) -> None:
    model = KMedoids(3).fit(BLOBS)
    model.save(tmp_path / "m.corollary")
    again = load(tmp_path / "m.corollary")
    np.testing.assert_array_equal(again.predict(BLOBS), model.labels_)
    frame = model.set_output(transform="pandas").transform(BLOBS)
    assert frame.columns.tolist() == ["kmedoids0", "kmedoids1", "kmedoids2"]
    assert model.transform(BLOBS.astype(np.float32)).dtypes.iloc[0] == np.float32


def test_computed_rows_are_those_of_the_matrix() -> None:
    computed = ComputedDistances(BLOBS, "euclidean", {})
    np.testing.assert_allclose(computed.rows(slice(3, 9)), cdist(BLOBS[3:9], BLOBS))
    np.testing.assert_allclose(computed.table([1, 5]), cdist(BLOBS, BLOBS[[1, 5]]))


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300])
@pytest.mark.parametrize("far", [0.0, 1e3])
def test_the_best_single_medoid_of_float32_rows_is_the_best(size, far):
    """Sums in float32 cannot tell close candidates apart, and have no room for large weights."""
    rng = np.random.default_rng(0)
    X = (far + rng.normal(size=(400, 2))).astype(np.float32)
    weights = rng.uniform(size=400)
    model = KMedoids(1).fit(X, sample_weight=weights * size)
    exact = X.astype(np.longdouble)
    costs = (np.sqrt(((exact[:, None] - exact) ** 2).sum(axis=2)) * weights).sum(axis=1)
    gain = float((costs[model.medoid_indices_[0]] - costs.min()) / costs.min())
    assert gain <= model.evidence_.certificate.value
    assert model.evidence_.holds


@pytest.mark.parametrize("method", ["fasterpam", "alternate", "clara"])
def test_float32_distances_claim_no_more_than_they_know(method):
    X = np.random.default_rng(1).normal(size=(300, 2)).astype(np.float32)
    single, double = (KMedoids(4, method=method, random_state=0).fit(rows) for rows in (X, X.astype(np.float64)))
    rounding = float(np.finfo(np.float32).eps)
    assert single.evidence_.holds
    assert single.evidence_.certificate.value >= rounding
    assert double.evidence_.certificate.tolerance == 1e-9


def test_the_greedy_start_copies_few_rows_of_distances_at_a_time() -> None:
    """All rows may have to be looked at again: together they would be the matrix once more."""
    asked: list[int] = []

    class Counted(StoredDistances):
        def rows(self, points: Any) -> np.ndarray:
            asked.append(len(points))
            return super().rows(points)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 16)) + 4 * np.eye(16)[0] * rng.integers(0, 8, (600, 1))
    matrix = cdist(X, X)
    chosen = build(Counted(matrix), np.ones(600), 12)
    assert sum(asked) > 600
    assert max(asked) <= 64
    first = matrix[:, chosen[:1]].min(axis=1)
    for medoid in chosen[1:]:  # each is the best that can be added
        assert medoid == np.argmin(np.minimum(matrix, first).sum(axis=1))
        first = np.minimum(first, matrix[medoid])
