"""SoftKMeans: a free energy that falls, and k-means at infinite stiffness."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from corollary import Blocks
from corollary.cluster import KMeans, SoftKMeans
from corollary.core.evidence import Status
from corollary.solvers.em.soft_kmeans import SoftModel, responsibilities


@pytest.fixture
def blobs():
    return make_blobs(400, 3, centers=5, cluster_std=2.0, random_state=1)[0]


def naive_shares(X, centres, stiffness):
    scores = np.exp(-stiffness * ((X[:, None] - centres) ** 2).sum(axis=2))
    return scores / scores.sum(axis=1)[:, None], -np.log(scores.sum(axis=1)) / stiffness


def test_shares_and_energy(blobs):
    shares, energies = responsibilities(blobs, blobs[:5], 0.05)
    wanted, wanted_energies = naive_shares(blobs, blobs[:5], 0.05)
    np.testing.assert_allclose(shares, wanted, rtol=1e-9)
    np.testing.assert_allclose(energies, wanted_energies, atol=1e-9)


def test_a_fixed_point_of_falling_energy(blobs):
    weights = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    model = SoftKMeans(5, stiffness=0.1, random_state=0, tol=1e-18).fit(blobs, sample_weight=weights)
    shares, energies = naive_shares(blobs, model.cluster_centers_, 0.1)
    shares *= weights[:, None]
    np.testing.assert_allclose(shares.T @ blobs / shares.sum(axis=0)[:, None], model.cluster_centers_, atol=1e-6)
    np.testing.assert_allclose(model.free_energy_, weights @ energies)
    energy = model.evidence_.history["objective"]
    assert all(b <= a + 1e-12 * abs(a) for a, b in itertools.pairwise(energy))
    assert model.evidence_.holds
    np.testing.assert_allclose(model.score(blobs, sample_weight=weights), -model.free_energy_)


def test_infinite_stiffness_is_k_means(blobs):
    hard = KMeans(5, init=blobs[:5], tol=0).fit(blobs)
    soft = SoftKMeans(5, init=blobs[:5], stiffness=1e9, tol=0).fit(blobs)
    np.testing.assert_allclose(soft.cluster_centers_, hard.cluster_centers_, rtol=1e-9)
    np.testing.assert_allclose(soft.free_energy_, hard.inertia_, rtol=1e-6)
    np.testing.assert_array_equal(soft.labels_, hard.labels_)
    shares = soft.predict_proba(blobs)
    np.testing.assert_array_equal(np.sort(shares, axis=1)[:, -1], 1.0)


def test_soft_clusters_meet_at_the_mean(blobs):
    largest = np.linalg.eigvalsh(np.cov(blobs, rowvar=False, bias=True)).max()
    model = SoftKMeans(3, stiffness=0.4 / (2 * largest), random_state=0, tol=1e-20).fit(blobs)
    np.testing.assert_allclose(model.cluster_centers_, np.tile(blobs.mean(axis=0), (3, 1)), atol=1e-6)


def test_energy_lies_between_its_bounds(blobs):
    model = SoftKMeans(4, stiffness=0.3, random_state=0).fit(blobs)
    cost = (model.transform(blobs).min(axis=1) ** 2).sum()
    assert cost - 400 * np.log(4) / 0.3 <= model.free_energy_ <= cost


def test_predict_is_the_largest_share(blobs):
    model = SoftKMeans(5, stiffness=0.1, random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.predict(blobs), model.predict_proba(blobs).argmax(axis=1))
    np.testing.assert_array_equal(model.predict(blobs), model.labels_)
    np.testing.assert_allclose(model.predict_proba(blobs).sum(axis=1), 1.0)
    mixed = model.inverse_transform(model.predict_proba(blobs))
    assert mixed.shape == blobs.shape
    np.testing.assert_array_equal(model.inverse_transform([0, 2]), model.cluster_centers_[[0, 2]])
    with pytest.raises(ValueError, match="must have 5 columns"):
        model.inverse_transform(np.ones((2, 3)))


def test_summaries_of_blocks_add_up(blobs):
    weights, model = np.linspace(0, 2, 400), SoftModel(0.2)
    whole = model.e_step((blobs, weights), blobs[:6])
    merged = sum_of(model.e_step((blobs[part], weights[part]), blobs[:6]) for part in (slice(37), slice(37, None)))
    np.testing.assert_allclose(model.m_step(merged), model.m_step(whole), rtol=1e-12)
    np.testing.assert_allclose([merged.energy, merged.log_likelihood], [whole.energy, whole.log_likelihood])


def sum_of(parts):
    return functools.reduce(operator.add, parts)


def test_it_is_em_for_gaussians_of_one_known_variance(blobs):
    """The objective is minus the mean log density of the mixture, whose density SciPy knows."""
    model = SoftKMeans(4, stiffness=0.2, random_state=0).fit(blobs)
    parts = [multivariate_normal(centre, np.eye(3) / 0.4).pdf(blobs) for centre in model.cluster_centers_]
    expected = -np.log(np.mean(parts, axis=0)).mean()
    assert model.evidence_.facts["objective"] == pytest.approx(expected, rel=1e-10)
    assert model.evidence_.solver == "EM"
    assert model.evidence_.claim == "Stationary"
    assert model.evidence_.certificate.value == model.evidence_.history["certificate"][-1] <= model.tol


def test_blocks_are_the_whole(blobs):
    weights = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    weights[:50] = 0.0  # a whole block without weight
    whole = SoftKMeans(5, stiffness=0.3, random_state=0, n_init=2).fit(blobs, sample_weight=weights)
    for size in (50, 61, 1000):
        blocks = [(blobs[i : i + size], None, weights[i : i + size]) for i in range(0, 400, size)]
        for executor in ("serial", "threads"):
            parts = SoftKMeans(**whole.get_params()).fit(Blocks(blocks, executor=executor))
            np.testing.assert_allclose(parts.cluster_centers_, whole.cluster_centers_, rtol=1e-10)
            np.testing.assert_allclose(parts.free_energy_, whole.free_energy_)
            np.testing.assert_array_equal(parts.labels_, whole.labels_)
            assert parts.n_iter_ == whole.n_iter_
    with pytest.raises(ValueError, match="must come in them"):
        whole.fit([blobs[:9], blobs[9:]], sample_weight=weights)


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_scale_and_offset(blobs, scale):
    plain = SoftKMeans(5, init=blobs[:5], stiffness=0.1).fit(blobs)
    scaled = SoftKMeans(5, init=blobs[:5] * scale, stiffness=0.1 / scale**2).fit(blobs * scale)
    np.testing.assert_allclose(scaled.cluster_centers_ / scale, plain.cluster_centers_, rtol=1e-6)
    far = SoftKMeans(5, init=blobs[:5] + 1e8, stiffness=0.1).fit(blobs + 1e8)
    np.testing.assert_allclose(far.cluster_centers_ - 1e8, plain.cluster_centers_, atol=1e-5)


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr("corollary.solvers.em.gaussian.SHARE", 1)  # so that these few rows are worth sixteen threads
    X = make_blobs(9000, 3, centers=5, cluster_std=2.0, random_state=1)[0]
    one, *others = (SoftKMeans(5, stiffness=0.2, random_state=0, n_jobs=n).fit(X) for n in (1, 2, 3, 7, 16))
    for other in others:
        np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
        assert one.free_energy_ == other.free_energy_


def test_restarts_threads_and_limits(blobs):
    one, many = (SoftKMeans(5, stiffness=1.0, n_init=n, init="random", random_state=0).fit(blobs) for n in (1, 6))
    assert many.free_energy_ <= one.free_energy_
    again = SoftKMeans(5, stiffness=1.0, n_init=1, init="random", random_state=0, n_jobs=1).fit(blobs)
    np.testing.assert_array_equal(again.cluster_centers_, one.cluster_centers_)
    with pytest.raises(ValueError, match="stiffness must be a number > 0"):
        SoftKMeans(stiffness=0).fit(blobs)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert SoftKMeans(5, max_iter=1, stiffness=0.1).fit(blobs).evidence_.status is Status.MAX_ITER
