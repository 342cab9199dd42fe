"""What a mixture certifies, worked out again in long doubles from the fitted attributes: the length of an EM step."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_blobs

from corollary import Status
from corollary.cluster import SoftKMeans
from corollary.core.types import Array
from corollary.mixture import GaussianMixture

KINDS = ("full", "tied", "diag", "spherical")
LONG = np.longdouble


def matrices(values: Any, kind: str, k: int, d: int) -> Array:
    """Covariances of all components as k matrices."""
    values = np.asarray(values, dtype=LONG)
    if kind == "tied":
        return np.repeat(values[None], k, axis=0)
    if kind == "full":
        return values
    return np.array([np.diag(np.broadcast_to(each, d)) for each in values])


def lower(A: Array) -> Array:
    """The Cholesky factor, in long doubles."""
    L = np.zeros_like(A)
    for j in range(len(A)):
        L[j, j] = np.sqrt(A[j, j] - (L[j, :j] ** 2).sum())
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


def solved(L: Array, B: Array) -> Array:
    """L⁻¹ B, by forward substitution."""
    out = np.zeros_like(B)
    for i in range(len(L)):
        out[i] = (B[i] - L[i, :i] @ out[:i]) / L[i, i]
    return out


def step_length(model: Any, X: Any, weights: Any = None) -> float:
    kind, (k, d) = model.covariance_type, model.means_.shape
    X, w = (
        np.asarray(X, dtype=LONG),
        np.ones(len(X), dtype=LONG) if weights is None else np.asarray(weights, dtype=LONG),
    )
    pi, means = model.weights_.astype(LONG), model.means_.astype(LONG)
    sigma = matrices(model.covariances_, kind, k, d)
    halves = [lower(each) for each in sigma]
    logs = np.empty((len(X), k), dtype=LONG)
    for j, L in enumerate(halves):
        trace = (solved(L, np.eye(d, dtype=LONG)) ** 2).sum()
        square = (solved(L, (X - means[j]).T) ** 2).sum(axis=0) + model.reg_covar * trace
        logs[:, j] = np.log(pi[j]) - np.log(np.diag(L)).sum() - square / 2
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    share *= (w / share.sum(axis=1))[:, None]
    counts = share.sum(axis=0)
    new = np.array([(share[:, j, None] * (X - means[j])).sum(axis=0) / counts[j] for j in range(k)]) + means
    parts = [((share[:, j, None] * (X - new[j])).T @ (X - new[j])) for j in range(k)]
    if kind == "tied":
        scatter = np.repeat(sum(parts)[None] / counts.sum(), k, axis=0)
    else:
        scatter = np.array([part / count for part, count in zip(parts, counts, strict=True)])
    if kind in ("diag", "spherical"):
        scatter = scatter * np.eye(d)
    if kind == "spherical":
        scatter = np.array([np.eye(d) * np.trace(each) / d for each in scatter])
    change = scatter + model.reg_covar * np.eye(d) - sigma
    square = ((counts / counts.sum() - pi) ** 2 / pi).sum()
    for j, L in enumerate(halves):
        square += pi[j] * (solved(L, (new - means)[j][:, None]) ** 2).sum()
        square += pi[j] / 2 * (solved(L, solved(L, change[j]).T) ** 2).sum()
    return float(np.sqrt(square))


def rows(n: int = 150) -> Array:
    return make_blobs(n, 3, centers=3, cluster_std=1.5, random_state=0)[0]


def fitted(X: Any, kind: str, weights: Any = None, **parameters: Any) -> GaussianMixture:
    model = GaussianMixture(3, covariance_type=kind, random_state=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, sample_weight=weights)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-12])
def test_the_next_step_is_as_long_as_is_claimed(kind: str, tol: float) -> None:
    X = rows()
    for reg_covar in (1e-6, 0.5):
        model = fitted(X, kind, tol=tol, max_iter=2000, reg_covar=reg_covar)
        assert model.evidence_.certificate.value == pytest.approx(step_length(model, X), rel=1e-5, abs=1e-9)
        assert model.evidence_.holds
        assert model.evidence_.certificate.tolerance == max(np.sqrt(tol), 1e-7)


def placed(offset: float, scale: float, dtype: Any) -> Any:
    return (scale * rows() + offset).astype(dtype)


PLACES = [
    place
    for place in itertools.product([0.0, 1e6, 1e9], [1e-8, 1.0, 1e8], [np.float64, np.float32])
    if len(np.unique(placed(*place), axis=0)) >= 100  # of the others rounding leaves next to nothing
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("offset", "scale", "dtype"), PLACES)
def test_wherever_the_rows_lie(kind: str, offset: float, scale: float, dtype: Any) -> None:
    X = placed(offset, scale, dtype)
    model = fitted(X, kind, reg_covar=1e-6 * scale**2)
    length, claimed = step_length(model, X), model.evidence_.certificate.value
    assert length <= 1.01 * claimed + 1e-6
    assert claimed == pytest.approx(length, rel=1e-2, abs=1e-6) or offset > 1e9 * scale  # where means are rounded


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e-12, 1e12, 1e150])
def test_weights_of_any_size(kind: str, size: float) -> None:
    X, weights = rows(), np.random.default_rng(0).uniform(size=150)
    model = fitted(X, kind, weights * size)
    assert model.evidence_.certificate.value == pytest.approx(step_length(model, X, weights), rel=1e-5)


def test_a_fit_that_stopped_too_soon_says_so() -> None:
    X = load_wine().data
    with pytest.warns(Warning, match="Not shown to be stationary: length of the next EM step"):
        few = GaussianMixture(3, covariance_type="spherical", random_state=0, max_iter=1).fit(X)
    assert few.evidence_.status is Status.MAX_ITER
    assert not few.converged_
    slow = GaussianMixture(3, covariance_type="tied", random_state=0).fit(X)
    assert "to go: lower tol" in str(slow.evidence_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
@pytest.mark.parametrize("far", [False, True])
def test_the_next_step_of_soft_k_means(dtype: Any, offset: float, far: bool) -> None:
    X = (10 * rows() + offset).astype(dtype)
    if far:
        X[0] = 1e12
    model = SoftKMeans(3, stiffness=0.01, random_state=0).fit(X)
    exact, centres = X.astype(LONG), model.cluster_centers_.astype(LONG)
    logs = -LONG(0.01) * ((exact[:, None] - centres) ** 2).sum(axis=2)
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    after = np.array(
        [(own[:, None] * (exact - c)).sum(axis=0) / own.sum() for own, c in zip(share.T, centres, strict=True)]
    )
    usual = np.median(((exact - np.median(exact, axis=0)) ** 2).sum(axis=1)) / 3
    spread = min(exact.var(axis=0).mean(), 16 * usual)
    moved = float((after**2).sum() / spread)
    assert moved <= 1.01 * model.evidence_.certificate.value + 1e-12
    assert model.evidence_.holds
    assert (model.predict(X) == model.labels_).all()
