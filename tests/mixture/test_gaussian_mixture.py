"""Gaussian mixtures against scikit-learn and SciPy, from the same start and in the same places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.mixture
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import corollary
from corollary import Status
from corollary.core.types import Array
from corollary.mixture import GaussianMixture

KINDS = ("full", "tied", "diag", "spherical")


def blobs(n: int = 200, d: int = 3, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    centres = 4 * rng.normal(size=(3, d))
    return np.concatenate([rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + centre for centre in centres])


def start(X: Array, kind: str, k: int = 3) -> dict[str, Any]:
    """Means at rows, equal weights, unit covariances."""
    d = X.shape[1]
    precisions = {"full": np.repeat(np.eye(d)[None], k, 0), "tied": np.eye(d), "diag": np.ones((k, d))}
    return {
        "n_components": k,
        "covariance_type": kind,
        "means_init": X[:: len(X) // k][:k],
        "weights_init": np.full(k, 1 / k),
        "precisions_init": precisions.get(kind, np.ones(k)),
    }


@parametrize_with_checks([GaussianMixture(), GaussianMixture(2, covariance_type="diag", random_state=0)])
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kind", KINDS)
def test_same_as_scikit_learn_iteration_by_iteration(kind: str) -> None:
    X = blobs()
    options = start(X, kind) | {"tol": 0.0, "max_iter": 7, "reg_covar": 0.0}
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        ours = GaussianMixture(**options).fit(X)
    with pytest.warns(ConvergenceWarning):
        theirs = sklearn.mixture.GaussianMixture(**options).fit(X)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10, err_msg=name)
    for name in ("predict", "predict_proba", "score_samples"):
        np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), rtol=1e-8, atol=1e-10)
    for name in ("score", "bic", "aic"):
        assert getattr(ours, name)(X) == pytest.approx(getattr(theirs, name)(X), rel=1e-10)
    np.testing.assert_allclose(ours.lower_bounds_[:-1], theirs.lower_bounds_[1:], rtol=1e-12)
    assert ours.n_iter_ == 7
    assert ours.lower_bound_ == pytest.approx(ours.score(X), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random_from_data"])
def test_starts_lead_to_the_clusters(kind: str, init: str) -> None:
    rng, truth = np.random.default_rng(0), np.repeat([0, 1, 2], 200)
    X = rng.normal(size=(600, 3)) + np.array([[0, 0, 0], [6, 0, 0], [0, 6, 0]])[truth]
    model = GaussianMixture(3, covariance_type=kind, init_params=init, n_init=4, random_state=0).fit(X)
    assert model.evidence_.holds
    assert model.converged_
    assert adjusted_rand_score(truth, model.predict(X)) > 0.97
    assert model.means_.shape == (3, 3)
    twice = GaussianMixture(3, covariance_type=kind, init_params=init, n_init=4, random_state=0)
    np.testing.assert_array_equal(twice.fit_predict(X), model.predict(X))


def test_a_random_start_climbs() -> None:
    X = blobs()
    model = GaussianMixture(3, init_params="random", random_state=0, tol=1e-9, max_iter=2000).fit(X)
    assert model.evidence_.holds
    assert adjusted_rand_score(np.repeat([0, 1, 2], 200), model.predict(X)) > 0.8


def test_the_density_is_the_weighted_sum() -> None:
    X = blobs(50, 2)
    model = GaussianMixture(3, random_state=0).fit(X)
    parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
    density = sum(weight * multivariate_normal(mean, covariance).pdf(X) for weight, mean, covariance in parts)
    np.testing.assert_allclose(model.score_samples(X), np.log(density), rtol=1e-10)
    np.testing.assert_array_equal(model.outlier_score(X), -model.score_samples(X))
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_one_component_is_mean_and_covariance() -> None:
    X = blobs(40)
    model = GaussianMixture(reg_covar=0.25).fit(X)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.covariances_[0], np.cov(X.T, bias=True) + 0.25 * np.eye(3), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_moments(kind: str) -> None:
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(blobs())
    X, components = model.sample(40_000)
    assert (np.diff(components) >= 0).all()
    for k in range(2):
        own = X[components == k]
        covariance = model.covariances_ if kind == "tied" else model.covariances_[k]
        covariance = covariance * np.eye(3) if kind == "spherical" else covariance
        covariance = np.diag(covariance) if kind == "diag" else covariance
        scale = np.sqrt(np.trace(covariance))
        np.testing.assert_allclose(own.mean(axis=0), model.means_[k], atol=0.05 * scale)
        np.testing.assert_allclose(np.cov(own.T), covariance, atol=0.05 * scale**2)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)
    with pytest.raises(NotFittedError):
        GaussianMixture().sample()


def test_bic_finds_the_number_of_components() -> None:
    X = blobs()
    scores = [GaussianMixture(k, random_state=0, n_init=2, max_iter=500).fit(X).bic(X) for k in range(1, 6)]
    assert int(np.argmin(scores)) == 2


def test_iris() -> None:
    X, y = load_iris(return_X_y=True)
    model = GaussianMixture(3, random_state=0, n_init=5, tol=1e-6, max_iter=500).fit(X)
    # the best optimum known for three full components, where one species makes up each
    assert model.score(X) * len(X) == pytest.approx(-180.19, abs=0.2)
    assert adjusted_rand_score(y, model.predict(X)) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_goes_on(kind: str) -> None:
    X = blobs()
    model = GaussianMixture(**start(X, kind), max_iter=2, tol=1e-8, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    first = model.lower_bound_
    model.set_params(max_iter=1000).fit(X)
    assert model.lower_bounds_[0] >= first
    assert model.evidence_.history["objective"][0] == pytest.approx(-first, rel=1e-10)
    whole = GaussianMixture(**start(X, kind), max_iter=1000, tol=1e-8).fit(X)
    np.testing.assert_allclose(model.means_, whole.means_, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[:, :2])


@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_change_the_answer(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.solvers.em.gaussian.SHARE", 1)  # so that these few rows are worth sixteen threads
    X = blobs(9000)
    labels = np.where(np.arange(len(X)) % 9 == 0, 0, -1)
    one, *others = (
        GaussianMixture(3, covariance_type=kind, random_state=0, n_jobs=n_jobs).fit(X, labels)
        for n_jobs in (1, 2, 3, 7, 16)
    )
    for many in others:
        np.testing.assert_array_equal(one.covariances_, many.covariances_)
        np.testing.assert_array_equal(one.predict_proba(X), many.predict_proba(X))
        assert one.lower_bounds_ == many.lower_bounds_


@pytest.mark.parametrize("kind", KINDS)
def test_float32_and_layouts(kind: str) -> None:
    X = blobs()
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    single = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X.astype(np.float32))
    np.testing.assert_allclose(single.means_, model.means_, rtol=1e-3, atol=1e-3)
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    other = GaussianMixture(3, covariance_type=kind, random_state=0).fit(frozen)
    np.testing.assert_allclose(other.means_, model.means_, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_saving(kind: str, tmp_path: Path) -> None:
    X = blobs()
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    model.save(tmp_path / "model.corollary")
    loaded = corollary.load(tmp_path / "model.corollary")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.evidence_.status is Status.CONVERGED


def test_stopping_is_never_silent() -> None:
    X = blobs()
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model = GaussianMixture(3, random_state=0).set_callbacks(corollary.TimeBudget(1e-9)).fit(X)
    assert not model.converged_
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        started = GaussianMixture(3, random_state=0, max_iter=0).fit(X)
    assert started.n_iter_ == 0


def test_without_iterations_the_model_is_its_start() -> None:
    X, means = blobs(), [[40.0, 50.0, 60.0], [60.0, 50.0, 0.0]]
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        started = GaussianMixture(2, means_init=means, max_iter=0, random_state=0).fit(X)
    np.testing.assert_allclose(started.means_, means)
    from sklearn.datasets import load_iris

    near = GaussianMixture(2, max_iter=0, random_state=0).fit(load_iris().data)  # a start whose next step is short
    assert near.evidence_.holds
    assert near.converged_ is False  # as in scikit-learn


def test_words_of_a_fit_that_did_not_converge() -> None:
    with pytest.warns(ConvergenceWarning, match="Best performing initialization did not converge"):
        GaussianMixture(3, init_params="random", max_iter=1, random_state=0).fit(blobs())


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_rows_that_do_not_spread_need_regularisation(kind: str) -> None:
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    with pytest.raises(ValueError, match="ill-defined empirical covariance"):
        GaussianMixture(2, covariance_type=kind, reg_covar=0.0, random_state=0).fit(X)
    assert GaussianMixture(2, covariance_type=kind, random_state=0).fit(X).evidence_.holds
    with pytest.raises(ValueError, match="Invalid value for 'n_samples': 0"):
        GaussianMixture(2, covariance_type=kind, random_state=0).fit(X).sample(0)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 700}, "n_components = 700, n_samples = 600"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"reg_covar": -1.0}, "reg_covar"),
        ({"weights_init": [0.5, 0.2]}, "'weights' should be normalized"),
        ({"weights_init": [1.5, -0.5]}, "in the range .0, 1., but got min value -0.50000, max value 1.50000"),
        ({"weights_init": [1.0]}, "'weights' should have the shape of"),
        ({"means_init": [[0.0]]}, "'means' should have the shape of"),
        ({"means_init": np.full((2, 3), np.nan)}, "means_init must be finite"),
        ({"precisions_init": np.ones((2, 3))}, "'full precision' should have the shape of"),
        ({"precisions_init": -np.repeat(np.eye(3)[None], 2, 0)}, "is not positive-definite"),
        ({"precisions_init": np.repeat(np.triu(np.ones((3, 3)))[None] + np.eye(3), 2, 0)}, "not symmetric"),
        ({"precisions_init": np.zeros((2, 3)), "covariance_type": "diag"}, "should be positive"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        GaussianMixture(**({"n_components": 2} | parameters)).fit(blobs())
