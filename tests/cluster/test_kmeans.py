"""KMeans: scikit-learn's answers from the same start, and what it promises beyond."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans as Reference
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import corollary
from corollary.callbacks import TimeBudget
from corollary.cluster import KMeans, MiniBatchKMeans, SoftKMeans
from corollary.core.evidence import Kind, Status
from corollary.solvers.kmeans.lloyd import RISE


@pytest.fixture
def blobs():
    return make_blobs(700, 5, centers=9, cluster_std=2.0, random_state=0)[0]


@pytest.mark.parametrize("algorithm", ["auto", "lloyd", "elkan"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_equals_scikit_learn(blobs, algorithm, make):
    weights = np.random.default_rng(0).uniform(0, 2, 700)
    options = {"n_clusters": 9, "init": blobs[:9], "n_init": 1, "tol": 1e-3}
    ours = KMeans(algorithm=algorithm, **options).fit(make(blobs), sample_weight=weights)
    peer = Reference(**options).fit(blobs, sample_weight=weights)
    np.testing.assert_allclose(ours.cluster_centers_, peer.cluster_centers_, rtol=1e-10)
    np.testing.assert_allclose(ours.inertia_, peer.inertia_)
    np.testing.assert_array_equal(ours.labels_, peer.labels_)
    np.testing.assert_allclose(ours.transform(make(blobs)), peer.transform(blobs), atol=1e-10)
    np.testing.assert_allclose(ours.score(make(blobs), sample_weight=weights), -ours.inertia_)
    np.testing.assert_array_equal(ours.predict(make(blobs)), ours.labels_)
    np.testing.assert_array_equal(ours.get_feature_names_out(), [f"kmeans{j}" for j in range(9)])


def test_finds_the_species_of_iris():
    X, y = load_iris(return_X_y=True)
    model = KMeans(3, n_init=5, random_state=0).fit(X)
    assert abs(model.inertia_ - 78.8514414) < 1e-6
    assert adjusted_rand_score(y, model.labels_) > 0.7


def test_evidence(blobs):
    model = KMeans(9, random_state=0).fit(blobs)
    assert model.evidence_.holds
    assert model.evidence_.certificate.kind is Kind.STATIONARY
    assert model.evidence_.certificate.value <= model.evidence_.certificate.tolerance == model.tol
    assert model.evidence_.history["movement"][-1] <= model.tol
    assert model.evidence_.facts[RISE] == 0
    assert model.evidence_.history["objective"] == sorted(model.evidence_.history["objective"], reverse=True)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = KMeans(9, random_state=0, max_iter=1, tol=0).fit(blobs)
    assert model.evidence_.status is Status.MAX_ITER
    assert model.evidence_.certificate.value > model.evidence_.certificate.tolerance
    np.testing.assert_array_equal(model.predict(blobs), model.labels_)


def test_restarts_and_moves_lower_the_cost():
    X = make_blobs(1_500, 2, centers=30, cluster_std=0.4, random_state=3)[0]
    one = KMeans(30, init="random", n_init=1, random_state=1).fit(X)
    many = KMeans(30, init="random", n_init=10, random_state=1).fit(X)
    moved = KMeans(30, init="random", n_init=1, random_state=1, moves=True).fit(X)
    assert many.inertia_ < one.inertia_
    assert moved.inertia_ < many.inertia_
    assert "moves" in str(moved.evidence_)


def test_starts(blobs):
    def first_rows(X, k, random_state):
        return X[:k]

    with pytest.warns(RuntimeWarning, match="Explicit initial center position passed: performing only one init"):
        given = KMeans(4, init=blobs[:4], n_init=5).fit(blobs)
    called = KMeans(4, init=first_rows, n_init=2).fit(blobs)
    np.testing.assert_array_equal(given.cluster_centers_, called.cluster_centers_)
    with pytest.raises(ValueError, match="does not match the number of clusters 4: init must be 4 centres of 5"):
        KMeans(4, init=blobs[:3]).fit(blobs)
    with pytest.raises(ValueError, match="does not match the number of features of the data 5"):
        KMeans(4, init=blobs[:4, :3]).fit(blobs)


def test_one_cluster_needs_no_bounds(blobs):
    with pytest.warns(RuntimeWarning, match="algorithm='elkan' doesn't make sense for a single cluster"):
        bounded = KMeans(1, algorithm="elkan").fit(blobs)
    np.testing.assert_array_equal(bounded.cluster_centers_, KMeans(1).fit(blobs).cluster_centers_)


def test_rows_stay_as_they_are(blobs):
    before = blobs.copy()
    KMeans(3, copy_x=False, random_state=0).fit(blobs)
    np.testing.assert_array_equal(blobs, before)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_a_row_at_a_centre_is_at_distance_zero(blobs, make):
    centres = blobs[:6] + 1e3
    model = KMeans(6, init=centres, max_iter=1).fit(centres)
    near = centres + 1e-9
    found = model.transform(make(near))
    np.testing.assert_array_equal(np.diag(model.transform(make(centres))), 0.0)
    expected = np.sqrt(((near[:, None, :] - centres) ** 2).sum(axis=2))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_answer_does_not_depend_on_threads_or_order(blobs):
    one, two = (KMeans(6, random_state=0, n_jobs=jobs).fit(blobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    shuffled = KMeans(6, random_state=0).fit(blobs[::-1])
    np.testing.assert_allclose(shuffled.cluster_centers_, one.cluster_centers_, rtol=1e-9)


def test_quantisation(blobs):
    model = KMeans(12, random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.quantize(blobs), model.cluster_centers_[model.labels_])
    np.testing.assert_array_equal(model.inverse_transform(model.transform(blobs)), model.quantize(blobs))
    for wrong in ([0, 12], [0.5, 1.0], np.zeros((3, 4))):
        with pytest.raises(ValueError, match="must"):
            model.inverse_transform(wrong)


def test_too_many_clusters():
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4"):
        KMeans(4).fit(np.eye(3))
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        KMeans(3).fit(np.eye(5), sample_weight=[1, 0, 0, 2, 0])
    X = np.repeat(np.eye(3), 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found smaller than n_clusters \(6\)"):
        model = KMeans(6, random_state=0).fit(X)
    assert model.inertia_ == 0
    with pytest.warns(ConvergenceWarning, match="distinct"):
        assert KMeans(2).fit(np.full((9, 2), 7.0)).inertia_ == 0
    assert KMeans(1).fit(np.array([[3.0]])).cluster_centers_.tolist() == [[3.0]]


def test_empty_clusters_are_noted(blobs):
    start = blobs[:5].copy()
    start[4] = 1e6
    model = KMeans(5, init=start).fit(blobs)
    assert "empty cluster" in str(model.evidence_)
    assert len(np.unique(model.labels_)) == 5


def test_cosine_refuses_rows_without_a_direction(blobs):
    model = KMeans(5, metric="cosine", random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.labels_, model.transform(blobs).argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, model.transform(blobs).min(axis=1).sum())
    blobs[3] = 0
    with pytest.raises(ValueError, match="row 3 of X is zero"):
        KMeans(5, metric="cosine").fit(blobs)


def test_float32_frames_and_read_only_arrays(blobs):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(blobs.astype(np.float32), columns=list("abcde"))
    model = KMeans(4, random_state=0).set_output(transform="pandas").fit(frame)
    assert model.cluster_centers_.dtype == np.float32
    assert (model.transform(frame).dtypes == np.float32).all()
    assert list(model.feature_names_in_) == list("abcde")
    blobs.setflags(write=False)
    np.testing.assert_allclose(
        KMeans(4, random_state=0).fit(np.asfortranarray(blobs)).inertia_, model.inertia_, rtol=1e-5
    )


def test_a_callback_stops_it(blobs):
    model = KMeans(30, random_state=0, tol=0).set_callbacks(TimeBudget(seconds=1e-9))
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model.fit(blobs)
    assert model.evidence_.status is Status.BUDGET
    assert model.n_iter_ == 1


def test_a_failed_fit_leaves_no_trace(blobs):
    model = KMeans(3, random_state=0).fit(blobs)
    before = model.cluster_centers_
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan))
    assert model.cluster_centers_ is before
    with pytest.raises(ValueError, match="metric must be"):
        KMeans(3, metric="manhattan").fit(blobs)


@pytest.mark.parametrize("model", [KMeans(3, random_state=0), MiniBatchKMeans(3), SoftKMeans(3, stiffness=0.1)])
def test_saved_and_loaded(blobs, model, tmp_path):
    model.fit(blobs)
    model.save(tmp_path / "model.corollary")
    loaded = corollary.load(tmp_path / "model.corollary")
    np.testing.assert_array_equal(loaded.predict(blobs), model.predict(blobs))
    np.testing.assert_array_equal(loaded.transform(blobs), model.transform(blobs))


@pytest.mark.parametrize(("tol", "how"), [(0.0, "strict convergence"), (0.1, "center shift .* within tolerance 0.1")])
def test_verbose_in_the_words_of_k_means(blobs, capsys, tol, how):
    model = KMeans(9, init="random", n_init=1, tol=tol, random_state=0, verbose=1).fit(blobs)
    first, *steps, end, last = capsys.readouterr().out.splitlines()
    assert first == "KMeans: Initialization complete"
    assert steps[0].startswith("KMeans: Iteration 1, inertia ")
    assert re.fullmatch(f"KMeans: Converged at iteration {model.n_iter_}: {how}.*", end)
    assert last == f"KMeans: {model.evidence_}"
    quiet = KMeans(9, init="random", n_init=1, tol=tol, random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.cluster_centers_, quiet.cluster_centers_)
    assert capsys.readouterr().out == ""
