"""What a mixture certifies: the objective never falls, digits survive far means, what is degenerate is repaired."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary import Status
from corollary.core.types import Array
from corollary.mixture import GaussianMixture

KINDS = ("full", "tied", "diag", "spherical")
RNG = np.random.default_rng(3)
ROUND, TALL = RNG.normal(size=(200, 2)), RNG.normal(size=(200, 2)) * [0.5, 2.0]


def objectives(model: GaussianMixture) -> Array:
    return -np.asarray(model.evidence_.history["objective"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6, 0.3, 10.0])
def test_the_objective_never_falls(kind: str, reg_covar: float) -> None:
    """Also with a regularisation as large as the data, where adding it in the M step alone is no ascent."""
    X = np.concatenate([ROUND, 0.3 * TALL + 1.5])
    for seed in range(3):
        model = GaussianMixture(
            4, covariance_type=kind, reg_covar=reg_covar, init_params="random_from_data", tol=1e-9, max_iter=3000,
            random_state=seed,
        ).fit(X)  # fmt: skip
        assert np.diff(objectives(model)).min() >= -1e-12
        assert model.evidence_.facts["largest fall"] <= 1e-12
        assert model.evidence_.claim == "Stationary"
        assert model.evidence_.certificate.value <= model.evidence_.certificate.tolerance == np.sqrt(model.tol)
        assert model.evidence_.history["gain"][-1] <= model.tol


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_what_the_docstring_says(kind: str) -> None:
    X = np.concatenate([ROUND, TALL + 3])
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0.2, random_state=0).fit(X)
    precisions = {"tied": np.repeat(model.precisions_[None], 2, 0), "full": model.precisions_}.get(kind)
    if precisions is None:
        diagonal = model.precisions_ if kind == "diag" else model.precisions_[:, None]
        precisions = diagonal[:, :, None] * np.eye(2)
    parts = []
    for weight, mean, precision in zip(model.weights_, model.means_, precisions, strict=True):
        square = np.einsum("ni,ij,nj->n", X - mean, precision, X - mean) + 0.2 * np.trace(precision)
        parts.append(weight * np.sqrt(np.linalg.det(precision)) / (2 * np.pi) * np.exp(-square / 2))
    assert model.lower_bound_ == pytest.approx(np.log(np.sum(parts, axis=0)).mean(), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_components_a_hundred_million_apart_keep_their_digits(kind: str) -> None:
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0.0, random_state=0)
    model.fit(np.concatenate([ROUND, TALL + 1e8]))
    model_apart = GaussianMixture(2, covariance_type=kind, reg_covar=0.0, random_state=0)
    model_apart.fit(np.concatenate([ROUND, TALL + 1e3]))
    order, order_apart = np.argsort(model.means_[:, 0]), np.argsort(model_apart.means_[:, 0])
    ours, theirs = model.covariances_, model_apart.covariances_
    if kind != "tied":
        ours, theirs = ours[order], theirs[order_apart]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert model.evidence_.holds


@pytest.mark.parametrize("kind", KINDS)
def test_the_origin_does_not_matter(kind: str) -> None:
    X = np.concatenate([ROUND, TALL + 3])
    plain, moved = (GaussianMixture(2, covariance_type=kind, random_state=0, tol=1e-9, max_iter=2000) for _ in "ab")
    plain.fit(X), moved.fit(X + 1e8)
    np.testing.assert_allclose(moved.covariances_, plain.covariances_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(moved.means_ - 1e8, plain.means_, atol=1e-5)


@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
def test_units_of_columns_do_not_matter(kind: str) -> None:
    X, scale = np.concatenate([ROUND, TALL + 3]), np.array([1e-30, 1e40])
    plain, scaled = (GaussianMixture(2, covariance_type=kind, random_state=0, reg_covar=0.0) for _ in "ab")
    plain.fit(X), scaled.fit(X * scale)
    np.testing.assert_allclose(scaled.means_ / scale, plain.means_, rtol=1e-6)
    np.testing.assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_component_on_one_row_is_widened_and_reported(kind: str) -> None:
    X = np.concatenate([ROUND, [[50.0, 50.0]]])
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0.0, random_state=0).fit(X)
    assert model.evidence_.holds
    assert np.isfinite(model.precisions_).all()
    if kind != "tied":
        assert "The covariance of 1 of 2 components is singular" in str(model.evidence_)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_follow_from_others(kind: str) -> None:
    X = np.concatenate([ROUND, TALL + 3])
    X = np.column_stack([X, X.sum(axis=1), np.full(len(X), 7.0)])
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0.0, random_state=0, tol=1e-8, max_iter=1000).fit(X)
    assert model.evidence_.facts["largest fall"] <= 1e-10
    assert np.isfinite(model.score_samples(X)).all()
    plain = GaussianMixture(2, covariance_type="full", random_state=0, tol=1e-8, max_iter=1000).fit(X[:, :2])
    if kind == "full":
        np.testing.assert_array_equal(model.predict(X), plain.predict(X[:, :2]))
        assert "singular" in str(model.evidence_)


def test_more_components_than_distinct_rows() -> None:
    model = GaussianMixture(4, random_state=0).fit(np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0))
    assert model.evidence_.holds
    assert "Of 4 components 2 are empty" in str(model.evidence_)
    assert np.isfinite(model.predict_proba([[0.4, 0.6]])).all()


def test_a_component_that_died_out_is_placed_again() -> None:
    """A start so far away that no row has any share in it."""
    X = np.concatenate([ROUND, TALL + 8, 0.5 * ROUND - 8])
    away = {"means_init": [[0, 0], [8, 8], [1e6, 1e6]], "weights_init": [0.4, 0.4, 0.2]}
    model = GaussianMixture(3, **away, precisions_init=np.repeat(np.eye(2)[None], 3, 0), max_iter=500).fit(X)
    assert "1 component had died out" in str(model.evidence_)
    assert model.weights_.min() > 0.2
    np.testing.assert_allclose(model.means_[2], 0.5 * ROUND.mean(axis=0) - 8, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_squares_beyond_float64_are_refused(kind: str, factor: float) -> None:
    with pytest.raises(ValueError, match="beyond the range of float64"):
        GaussianMixture(2, covariance_type=kind, reg_covar=0.0, random_state=0).fit(ROUND * factor)


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_covariances_that_do_not_fit_are_refused_before_they_are_made(kind: str) -> None:
    with pytest.raises(MemoryError, match=r"covariance_type=.diag."):
        GaussianMixture(covariance_type=kind).fit(np.zeros((2, 200_000)))


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    model = GaussianMixture(2, random_state=0).fit(ROUND)
    before = model.predict_proba(ROUND)
    for bad in (ROUND * 1e300, np.full((5, 2), np.nan), np.zeros((1, 2))):
        with pytest.raises(ValueError, match=r".{30}"):
            model.fit(bad)
    np.testing.assert_array_equal(model.predict_proba(ROUND), before)


def test_control_c_keeps_the_best_so_far() -> None:
    class Press:
        def setup(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any) -> bool:
            if fitted_estimator is not None:
                assert np.isfinite(fitted_estimator.score_samples(ROUND)).all()
                raise KeyboardInterrupt
            return False

        def teardown(self, estimator: Any, context: Any) -> None: ...

    model = GaussianMixture(2, random_state=0).set_callbacks(Press())
    with pytest.raises(KeyboardInterrupt, match="interrupted from the keyboard"):
        model.fit(ROUND)
    assert model.evidence_.status is Status.INTERRUPTED
    assert np.isfinite(model.predict_proba(ROUND)).all()
