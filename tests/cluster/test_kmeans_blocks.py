"""k-means of data that come in blocks: the answer of the whole, however they are cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from corollary import Blocks
from corollary.cluster import KMeans, MiniBatchKMeans
from corollary.cluster import kmeans as kmeans_module
from corollary.core.evidence import Status
from corollary.solvers.draws import Reservoir

X = make_blobs(1_500, 4, centers=6, cluster_std=2.0, random_state=0)[0] + 50.0
WEIGHTS = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
CUTS = [0, 7, 400, 401, 1_200, 1_500]


def blocks(table=X, weights=None, cuts=CUTS, **options):
    weights = np.ones(len(X)) if weights is None else weights
    return Blocks([(table[a:b], None, weights[a:b]) for a, b in itertools.pairwise(cuts)], **options)


def agree(parts, whole, rtol=1e-10):
    np.testing.assert_allclose(parts.cluster_centers_, whole.cluster_centers_, rtol=rtol)
    np.testing.assert_array_equal(parts.labels_, whole.labels_)
    np.testing.assert_allclose(parts.inertia_, whole.inertia_, rtol=1e-8)
    assert parts.n_iter_ == whole.n_iter_
    assert parts.cluster_centers_.dtype == whole.cluster_centers_.dtype
    assert parts.evidence_.holds == whole.evidence_.holds


@pytest.mark.parametrize("executor", ["serial", "threads"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
def test_blocks_are_the_whole(make, metric, executor):
    options = {"n_clusters": 6, "init": X[:6], "metric": metric, "tol": 1e-8}
    parts = KMeans(**options).fit(blocks(make(X) if make is not sparse.csc_array else make(X).tocsr(), WEIGHTS,
                                         executor=executor))  # fmt: skip
    agree(parts, KMeans(**options).fit(make(X), sample_weight=WEIGHTS))
    np.testing.assert_array_equal(parts.predict(X), parts.labels_)


def test_tables_without_tuples_and_float32():
    narrow = X.astype(np.float32)
    parts = KMeans(5, init=narrow[:5]).fit([narrow[:700], narrow[700:]])
    agree(parts, KMeans(5, init=narrow[:5]).fit(narrow), rtol=1e-6)


def test_a_start_that_is_drawn_is_the_same_while_all_rows_fit():
    for init in ("k-means++", "random"):
        options = {"n_clusters": 8, "init": init, "n_init": 3, "random_state": 4}
        agree(KMeans(**options).fit(blocks()), KMeans(**options).fit(X))


def test_a_start_from_a_sample(monkeypatch):
    monkeypatch.setattr(kmeans_module, "SAMPLE", 300)
    models = [KMeans(6, random_state=0).fit(blocks(cuts=cuts)) for cuts in (CUTS, [0, 1_500], [0, 300, 301, 1_500])]
    for model in models:
        assert "300 of 1,500 rows" in str(model.evidence_)
        np.testing.assert_allclose(model.cluster_centers_, models[0].cluster_centers_)
        assert model.inertia_ < 1.2 * KMeans(6, n_init=5, random_state=0).fit(X).inertia_


def test_empty_clusters_and_moves():
    start = X[:6].copy()
    start[4:] = 1e4
    agree(KMeans(6, init=start).fit(blocks()), KMeans(6, init=start).fit(X))
    moved = KMeans(6, init=X[:6], moves=True, random_state=0).fit(blocks())
    assert moved.inertia_ <= KMeans(6, init=X[:6]).fit(X).inertia_ * (1 + 1e-12)
    assert "moves" in str(moved.evidence_)


def test_a_block_without_weight_has_labels():
    weights = WEIGHTS.copy()
    weights[400:1_200] = 0.0
    for cls in (KMeans, MiniBatchKMeans):
        parts = cls(5, init=X[:5]).fit(blocks(weights=weights))
        np.testing.assert_array_equal(parts.labels_, parts.predict(X))
    agree(KMeans(5, init=X[:5]).fit(blocks(weights=weights)), KMeans(5, init=X[:5]).fit(X, sample_weight=weights))
    with pytest.raises(ValueError, match="n_samples=0 should be >= n_clusters=5"):
        KMeans(5, init=X[:5]).fit(blocks(weights=np.zeros(len(X))))


def test_bad_blocks():
    with pytest.raises(ValueError, match="sample_weight must come in them"):
        KMeans(3).fit(blocks(), sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        KMeans(5).fit(Blocks([X[:2], X[2:4]]))
    with pytest.raises(ValueError, match="empty after one pass"):
        KMeans(3).fit(iter([X]))
    with pytest.raises(ValueError, match="no rows"):
        KMeans(3).fit(Blocks([]))
    with pytest.raises(ValueError, match="features"):
        KMeans(3).fit(Blocks([X, X[:, :2]]))
    with pytest.raises(ValueError, match="NaN"):
        KMeans(3).fit(Blocks([X, np.full((3, 4), np.nan)]))

    class Growing:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter([X] * self.passes)

    with pytest.raises(ValueError, match="rows when they were first read, and"):
        KMeans(3).fit(Blocks(Growing()))


def test_mini_batches_do_not_depend_on_the_cuts():
    shuffled = X[np.random.default_rng(1).permutation(len(X))]
    options = {"n_clusters": 6, "batch_size": 128, "random_state": 0}
    models = [MiniBatchKMeans(**options).fit(blocks(shuffled, WEIGHTS, cuts=cuts)) for cuts in (CUTS, [0, 1_500])]
    np.testing.assert_allclose(models[0].cluster_centers_, models[1].cluster_centers_, rtol=1e-10)
    np.testing.assert_allclose(models[0].counts_, models[1].counts_)
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    whole = KMeans(6, n_init=5, random_state=0).fit(shuffled, sample_weight=WEIGHTS)
    assert models[0].inertia_ < 1.1 * whole.inertia_
    assert models[0].evidence_.holds
    thin = MiniBatchKMeans(**options).fit(blocks(sparse.csr_array(shuffled), WEIGHTS))
    np.testing.assert_allclose(thin.cluster_centers_, models[0].cluster_centers_, rtol=1e-6)


def test_one_pass_of_mini_batches_is_partial_fit():
    options = {"n_clusters": 5, "init": X[:5], "batch_size": 100, "reassignment_ratio": 0}
    streamed = MiniBatchKMeans(**options, max_iter=1, max_no_improvement=None).fit(blocks(weights=WEIGHTS))
    parts = MiniBatchKMeans(**options)
    for start in range(0, len(X), 100):
        parts.partial_fit(X[start : start + 100], sample_weight=WEIGHTS[start : start + 100])
    np.testing.assert_allclose(streamed.cluster_centers_, parts.cluster_centers_)
    np.testing.assert_allclose(streamed.counts_, parts.counts_)
    assert streamed.n_steps_ == parts.n_steps_ == 15
    assert streamed.n_iter_ == 1


def test_interrupted_between_blocks():
    class Impatient:
        passes = 0

        def __iter__(self):
            self.passes += 1
            yield X[:700]
            if self.passes == 5:
                raise KeyboardInterrupt
            yield X[700:]

    model = KMeans(6, init=X[:6], tol=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(Blocks(Impatient()))
    assert model.evidence_.status is Status.INTERRUPTED
    assert not model.evidence_.holds
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_reservoir_keeps_every_row_or_draws_evenly():
    rows, ones = np.arange(90.0)[:, None], np.ones(90)
    whole = Reservoir(90, np.random.RandomState(0))
    whole.add(rows[:50], ones[:50])
    whole.add(rows[50:], ones[50:])
    np.testing.assert_array_equal(whole.rows()[0], rows)
    seen, samples = np.zeros(90), []
    for seed in range(300):
        for cuts in ([0, 90], [0, 10, 35, 36, 90]):
            kept = Reservoir(12, np.random.RandomState(seed))
            for a, b in itertools.pairwise(cuts):
                kept.add(rows[a:b], ones[a:b])
            samples.append(kept.rows()[0].ravel())
        np.testing.assert_array_equal(samples[-1], samples[-2])
        seen[samples[-1].astype(int)] += 1
    assert seen.sum() == 300 * 12
    assert abs(seen - 40).max() < 25
