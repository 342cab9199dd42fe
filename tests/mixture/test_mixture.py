"""Mixtures of any distributions: a twin in plain NumPy, GaussianMixture, blocks, weights, labels, gaps, the referee."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone

import corollary
from corollary import Blocks, GaussianMixture, Mixture
from corollary.core.distribution import (
    Bernoulli,
    Categorical,
    Distribution,
    Exponential,
    Gaussian,
    Multinomial,
    Poisson,
)
from corollary.core.distribution.totals import summed
from corollary.core.distribution.weighted_gaussians import Gaussians, Units
from corollary.solvers.em import ArraySource, em
from corollary.solvers.em.gaussian import GaussianModel
from corollary.solvers.em.mixture import MixtureModel, Weighted

RNG = np.random.RandomState(0)
N = 300
CODES = np.arange(N) % 3
PLACES = np.array([[0.0, 0, 0, 0], [4, 4, 0, 0], [0, 4, 4, -4]])
NUMBERS = RNG.normal(size=(N, 4)) + PLACES[CODES]
BITS = (RNG.uniform(size=(N, 6)) < np.array([[0.9] * 3 + [0.1] * 3, [0.1] * 3 + [0.9] * 3, [0.5] * 6])[CODES]).astype(
    float
)
STATES = np.where(RNG.uniform(size=(N, 4)) < 0.8, CODES[:, None], RNG.randint(3, size=(N, 4))).astype(float)
COUNTS = RNG.poisson(np.array([[1.0, 9, 5, 2], [8, 1, 2, 5], [3, 3, 9, 9]])[CODES]).astype(float)
TIMES = RNG.exponential(np.array([[1.0, 9, 5, 2], [8, 1, 2, 5], [3, 3, 0.2, 9]])[CODES])
MIXED = np.column_stack([NUMBERS[:, :2], BITS[:, 0], STATES[:, 0], COUNTS[:, 0], TIMES[:, 0]])
KINDS = {
    "gaussian": ("gaussian", NUMBERS),
    "full": (Gaussian("full", 1e-6), NUMBERS),
    "tied": (Gaussian("tied", 1e-6), NUMBERS),
    "spherical": (Gaussian("spherical", 1e-6), NUMBERS),
    "bernoulli": (Bernoulli(0.5), BITS),
    "latent classes": ("categorical", STATES),
    "smooth latent classes": (Categorical([4, 3, 3, 3], 0.5), STATES),
    "multinomial": (Multinomial(0.1), COUNTS),
    "poisson": (Poisson(0.5, 0.1), COUNTS),
    "exponential": (Exponential(0.5, 0.1), TIMES),
    "mixed": (["gaussian", "gaussian", "bernoulli", "categorical", "poisson", "exponential"], MIXED),
}
GAPS = [name for name in KINDS if name not in ("full", "tied", "multinomial")]
every = pytest.mark.parametrize("name", KINDS)


def gappy(X):
    return np.where(np.random.RandomState(1).uniform(size=X.shape) < 0.15, np.nan, X)


def made(name, **options):
    part, X = KINDS[name]
    return Mixture(part, 3, **{"random_state": 0, "tol": 1e-10, "max_iter": 2000, **options}), X


def assert_same(a, b, rtol=1e-7):
    np.testing.assert_allclose(a.weights_, b.weights_, rtol=rtol)
    for name, value in a.params_.items():
        np.testing.assert_allclose(value, b.params_[name], rtol=rtol, atol=1e-9, err_msg=name)


@every
@pytest.mark.parametrize("holes", [False, True])
def test_the_referee_agrees(name, holes):
    if holes and name not in GAPS:
        return
    model, X = made(name, tol=1e-6)
    X = gappy(X) if holes else X
    weights = np.random.RandomState(3).uniform(0.5, 2, size=N)
    model.fit(X, sample_weight=weights)
    assert model.evidence_.holds
    found = model.evidence_.verify(X, sample_weight=weights)
    assert found.stands, found
    assert found.found == pytest.approx(model.evidence_.certificate.value, rel=1e-3, abs=1e-7)
    model.params_ = {key: value * 1.05 for key, value in model.params_.items()}
    assert not model.evidence_.verify(X, sample_weight=weights)


def twin(X, params, weights, n_iter, log_prob, learn):
    """EM for rows, written down once more."""
    for _ in range(n_iter):
        joint = np.array([[np.log(w) + log_prob(x, p) for p, w in zip(params, weights, strict=True)] for x in X])
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        weights = shares.mean(axis=0)
        params = [learn(X, shares[:, k]) for k in range(len(weights))]
    return weights, np.array(params)


@pytest.mark.parametrize(
    ("part", "X", "log_prob", "learn", "told"),
    [
        (
            Bernoulli(0.5),
            BITS[:60],
            lambda x, p: stats.bernoulli(p).logpmf(x).sum(),
            lambda X, s: (s @ X + 0.5) / (s.sum() + 1.0),
            lambda params: np.exp(params["log_one"]),
        ),
        (
            Poisson(),
            COUNTS[:60],
            lambda x, p: stats.poisson(p).logpmf(x).sum(),
            lambda X, s: s @ X / s.sum(),
            lambda params: params["rate"],
        ),
        (
            Exponential(0.0, 0.0),
            TIMES[:60],
            lambda x, p: stats.expon(scale=p).logpdf(x).sum(),
            lambda X, s: s @ X / s.sum(),
            lambda params: 1 / params["rate"],
        ),
        (
            Multinomial(0.5),
            COUNTS[:60],
            lambda x, p: stats.multinomial(int(x.sum()), p).logpmf(x),
            lambda X, s: (s @ X + 0.5) / (s @ X + 0.5).sum(),
            lambda params: np.exp(params["log"]),
        ),
    ],
    ids=["bernoulli", "poisson", "exponential", "multinomial"],
)
def test_a_twin_in_plain_numpy_takes_the_same_steps(part, X, log_prob, learn, told):
    shares = np.random.RandomState(5).dirichlet(np.ones(3), size=len(X))
    begin = Weighted(shares.mean(axis=0), part.finish(part.summarize(X, shares)))
    block = X, np.ones(len(X)), np.full(len(X), -1)
    found = em(MixtureModel(part), ArraySource(*block, size=17), [begin], tol=0.0, max_iter=6)
    first = [learn(X, shares[:, k]) for k in range(3)]
    weights, params = twin(X, first, begin.weights, found.evidence.n_iter, log_prob, learn)
    np.testing.assert_allclose(found.params.weights, weights, rtol=1e-9)
    np.testing.assert_allclose(told(found.params.params), params, rtol=1e-9)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_gaussians_take_the_steps_of_gaussian_mixture(kind):
    part, shares = Gaussian(kind, 1e-3), np.random.RandomState(5).dirichlet(np.ones(3) / 3, size=N)
    begin = Weighted(shares.mean(axis=0), part.finish(part.summarize(NUMBERS, shares)))
    block = NUMBERS, np.ones(N), np.full(N, -1, dtype=np.int32)
    ours = em(MixtureModel(part), ArraySource(*block, size=50), [begin], tol=0.0, max_iter=8)
    units = Units(np.zeros(4), np.ones(4))
    model = GaussianModel(units, np.full(4, 1e-3))
    start = model.assigned(NUMBERS, shares, np.zeros((3, 4)), kind)
    theirs = em(model, ArraySource(*block, size=N), [start], tol=0.0, max_iter=8)
    np.testing.assert_allclose(ours.params.weights, theirs.params.weights, rtol=1e-9)
    np.testing.assert_allclose(ours.params.params["mean"], theirs.params.means, rtol=1e-8, atol=1e-10)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-12)
    assert ours.evidence.certificate.value == pytest.approx(theirs.evidence.certificate.value, rel=1e-6)
    assert isinstance(theirs.params, Gaussians)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_gaussians_rest_where_gaussian_mixture_rests(kind):
    ours = Mixture(Gaussian(kind, 1e-6), 3, init=PLACES, tol=1e-12, max_iter=3000).fit(NUMBERS)
    theirs = GaussianMixture(3, covariance_type=kind, means_init=PLACES, tol=1e-12, max_iter=3000).fit(NUMBERS)
    np.testing.assert_allclose(ours.params_["mean"], theirs.means_, rtol=1e-4, atol=1e-4)
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, abs=1e-8)
    assert ours.bic(NUMBERS) == pytest.approx(theirs.bic(NUMBERS), rel=1e-7)
    assert ours.aic(NUMBERS) == pytest.approx(theirs.aic(NUMBERS), rel=1e-7)
    np.testing.assert_array_equal(ours.predict(NUMBERS), theirs.predict(NUMBERS))


@every
def test_blocks_are_the_whole_and_weights_are_repetitions(name):
    model, X = made(name, init=KINDS[name][1][:3], tol=1e-4)
    whole = clone(model).fit(X)
    parts = [X[:50], X[50:51], X[51:]]
    assert_same(clone(model).fit(Blocks(parts)), whole)
    weights = np.random.RandomState(0).randint(0, 3, size=N)
    again = np.repeat(X, weights, axis=0)
    assert_same(clone(model).fit(X, sample_weight=weights), clone(model).fit(again))
    if model.distribution in ("gaussian", "categorical"):  # a prior counts rows, so that it would be another problem
        assert_same(clone(model).fit(X, sample_weight=weights * 1e-290), clone(model).fit(again), rtol=1e-6)
    assert (np.diff(whole.lower_bounds_) >= -1e-10).all()


@pytest.mark.parametrize("kind", [csr_array, csc_array])
@pytest.mark.parametrize("name", ["bernoulli", "multinomial", "poisson"])
def test_sparse_rows_are_rows(name, kind):
    model, X = made(name, tol=1e-5)
    plain, sparse = clone(model).fit(X), clone(model).fit(kind(X))
    assert_same(sparse, plain)
    np.testing.assert_allclose(sparse.predict_proba(kind(X)), plain.predict_proba(X), rtol=1e-6, atol=1e-12)
    assert sparse.bic(kind(X)) == pytest.approx(plain.bic(X))
    assert sparse.evidence_.verify(kind(X))


@every
def test_components_are_found(name):
    model, X = made(name, tol=1e-5, n_init=5)
    found = model.fit_predict(X)
    same = found[:, None] == found
    truth = CODES[:, None] == CODES
    assert (same == truth).mean() > (0.6 if name == "bernoulli" else 0.75)
    rows, members = model.sample(500)
    assert rows.shape == (500, X.shape[1])
    assert (np.diff(members) >= 0).all()
    assert np.isfinite(model.score_samples(rows)).all()


def test_labelled_rows_say_which_component_is_which():
    model, X = made("poisson")
    y = np.full(N, -1)
    y[:6] = [2, 0, 1, 2, 0, 1]
    model.fit(X, y)
    assert (model.predict(X) == (CODES + 2) % 3).mean() > 0.9
    assert model.component_labels_.tolist() == [0, 1, 2]
    certain = Mixture("poisson", 3).fit(X, CODES)
    np.testing.assert_allclose(certain.params_["rate"], [X[k == CODES].mean(axis=0) for k in range(3)])
    assert certain.evidence_.certificate.value < 1e-7


@every
def test_a_saved_model_says_the_same(name, tmp_path):
    model, X = made(name, tol=1e-3)
    model.fit(X)
    model.save(tmp_path / "m")
    again = corollary.load(tmp_path / "m")
    assert again.distribution_ == model.distribution_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.evidence_.verify(X)


def test_a_file_with_other_parameters_is_refused(tmp_path):
    model, X = made("bernoulli", tol=1e-3)
    model.fit(X)
    model.params_["log_one"] = model.params_["log_one"][:, :2]
    with pytest.raises(corollary.io.ModelFileError, match="log_one of Bernoulli must be float64 of shape"):
        model.save(tmp_path / "m")


def test_warm_starts_and_what_cannot_be_one():
    model, X = made("poisson", warm_start=True)
    rested = model.fit(X).lower_bound_
    model.fit(X)
    assert model.n_iter_ <= 1
    assert model.lower_bound_ == pytest.approx(rested, abs=1e-9)
    with pytest.raises(ValueError, match="warm_start: the last fit has 3 components"):
        model.set_params(n_components=2).fit(X)


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (Mixture("bernoulli"), [[0.0], [2.0]], "zeros and ones, but column 0 of X has 2"),
        (Mixture("categorical"), [[0.0], [-1.0]], "states coded"),
        (Mixture(Categorical([2])), [[0.0], [2.0]], "column 0 has states 0 to 1, but X has 2"),
        (Mixture("exponential"), [[0.0], [0.0]], "Give beta > 0"),
        (Mixture(Gaussian(), 1), [[1.0], [1.0]], "Give regular > 0"),
        (Mixture("gaussian", 3), [[1.0], [2.0]], "n_components = 3, n_samples = 2"),
        (Mixture(["gaussian", "poisson"]), [[1.0], [2.0]], "each of the 1 columns must be in one group"),
        (Mixture("gaussian", 2, init=[[1.0]]), [[1.0], [2.0]], "init must be 'seeds', 'random' or rows of shape"),
        (Mixture("poisson", 1, init=[[0.5]]), [[1.0], [2.0]], "init: Poisson needs whole numbers"),
        (Mixture("gamma"), [[1.0], [2.0]], "distribution must be 'gaussian' or"),
        (Mixture(Gaussian("full")), [[1.0], [np.nan]], "NaN"),
        (Mixture("gaussian"), [[1e200], [-1e200]], "overflow float64"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_words(model, X, words):
    with pytest.raises(ValueError, match=words):
        model.fit(np.array(X))


def test_rows_that_cannot_be_have_no_density_and_tell_nothing():
    model = Mixture("poisson", 1).fit(np.zeros((5, 1)))
    assert model.score_samples([[1.0]]) == -np.inf
    assert model.predict_proba([[1.0]]).tolist() == [[1.0]]


def test_states_that_the_sample_lacks_are_not_impossible(monkeypatch):
    monkeypatch.setattr("corollary.mixture.mixture_run.SAMPLE", 64)
    rng = np.random.RandomState(0)
    X = rng.randint(2, size=(5000, 3)).astype(float)
    X[rng.choice(5000, 3, replace=False)] = 7.0
    for kind in ("categorical", "poisson", "multinomial"):
        model = Mixture(kind, 2, random_state=0).fit(X)
        assert np.isfinite(model.lower_bound_)
        assert (np.diff(model.lower_bounds_) >= -1e-10).all()


def test_far_clusters_are_found_from_seeds():
    codes = np.arange(2000) % 4
    X = np.random.RandomState(0).normal(size=(2000, 8)) + 5 * codes[:, None]
    for kind in ("diag", "full", "tied", "spherical"):
        found = Mixture(Gaussian(kind, 1e-6), 4, random_state=0).fit_predict(X)
        assert len(set(zip(found.tolist(), codes.tolist(), strict=True))) == 4


class Geometric(Distribution):
    """Throws until the first success: what a user may write."""

    name = "geometric"
    discrete = True

    def check(self, X):
        if not (X >= 1).all():
            raise ValueError("Geometric needs numbers ≥ 1.")

    def summarize(self, X, shares):
        return summed(X, shares)

    def finish(self, statistics):
        return {"p": statistics.present / statistics.totals}

    def log_prob(self, X, params):
        return (X - 1) @ np.log1p(-params["p"]).T + np.log(params["p"]).sum(axis=1)

    def sample(self, params, members, rng):
        return rng.geometric(params["p"][members]).astype(float)

    def distance(self, params, after, shares):
        p = params["p"]
        return float(np.sqrt((shares[:, None] * (after["p"] - p) ** 2 / (p**2 * (1 - p))).sum()))

    def n_free(self, params):
        return params["p"].size

    def check_params(self, params, k, d):
        if params["p"].shape != (k, d):
            raise ValueError("p has another shape")


def test_a_distribution_of_your_own(tmp_path):
    codes = np.arange(4000) % 2
    X = np.random.RandomState(0).geometric(np.array([[0.05, 0.6], [0.7, 0.1]])[codes]).astype(float)
    model = Mixture(Geometric(), 2, random_state=0, tol=1e-8, max_iter=500).fit(X)
    assert model.evidence_.holds
    assert model.evidence_.verify(X).stands is None
    order = model.params_["p"][:, 0].argsort()
    np.testing.assert_allclose(model.params_["p"][order], [[0.05, 0.6], [0.7, 0.1]], rtol=0.1)
    with pytest.raises(corollary.io.ModelFileError, match="register_part"):
        model.save(tmp_path / "m")
    corollary.register_part(Geometric)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(corollary.load(tmp_path / "m").predict(X), model.predict(X))
