"""Components are as near to the true ones as the evidence says, by decompositions with 60 digits."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary import PCA, Blocks
from corollary.solvers.pca.angles import Group, Levels, angle_bounds

mpmath = pytest.importorskip("mpmath")

RNG = np.random.default_rng(5)
N, D = 24, 5
U, W = np.linalg.qr(RNG.normal(size=(N, D)))[0], np.linalg.qr(RNG.normal(size=(D, D)))[0]
Z = RNG.normal(size=(N, D))
CROSS = np.vstack([np.eye(D), -np.eye(D)])
HOSTILE = {
    "variances down to 1e-10": U * 10.0 ** np.linspace(0, -5, D) @ W.T,
    "variances down to 1e-16": U * 10.0 ** np.linspace(0, -8, D) @ W.T,
    "variances down to 1e-32": U * 10.0 ** np.linspace(0, -16, D) @ W.T,
    "small and close": U * np.r_[1, 1e-5 * np.linspace(2, 1, D - 1)] @ W.T,
    "offset": Z + 1e9,
    "offset of small variances": U * 10.0 ** np.linspace(3, -2, D) @ W.T + 1e9,
    "units": Z * 10.0 ** np.linspace(-8, 8, D),
    "fewer rows than columns": Z[:4],
    "equal rows": np.repeat(Z[:4], 6, axis=0),
    "constant column": np.c_[Z[:, 1:], np.full(N, 1e9 / 3)],
    "ties": CROSS * np.r_[[2.0] * (D - 1), 1],
    "almost ties": CROSS * (1 + 1e-12 * np.arange(D)[::-1]),
    "one huge row": np.vstack([Z, 1e8 * Z[:1]]),
    "float32": Z.astype(np.float32),
    "float32 offset": (Z + 1e6).astype(np.float32),
}
WAYS = ("auto", "full", "covariance_eigh", "randomized", "arpack", "sparse", "blocks", "partial_fit", "whiten")


def fitted(X: Any, way: str, k: int) -> PCA:
    solver = way if way in WAYS[:5] else "auto"
    model = PCA(k, svd_solver=solver, whiten=way == "whiten", random_state=0)
    halves = [X[: len(X) // 2], X[len(X) // 2 :]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not proved is no fault here
        if way == "partial_fit":
            for half in halves:
                model.partial_fit(half)
            return model
        return model.fit(sparse.csr_array(X) if way == "sparse" else Blocks(halves) if way == "blocks" else X)


def truth(X: Any) -> tuple[Any, Any]:
    """Variances and components (as columns) with 60 digits."""
    n, d = X.shape
    A = mpmath.matrix([[mpmath.mpf(float(x)) for x in row] for row in X])
    for j in range(d):
        mean = mpmath.fsum(A[i, j] for i in range(n)) / n
        for i in range(n):
            A[i, j] -= mean
    values, vectors = mpmath.eigsy(A.T * A / (n - 1))
    order = sorted(range(d), key=lambda i: -values[i])
    return [values[i] for i in order], mpmath.matrix([[vectors[j, i] for i in order] for j in range(d)])


def spans(model: PCA, d: int) -> list[tuple[int, int]]:
    """For each component the true ones whose span is claimed for it, from the sentences of the evidence."""
    out = [(i, i + 1) for i in range(len(model.components_))]
    for first, last, rest in re.findall(r"Components? (\d+)(?: to (\d+))? ([^.]*)\.", " ".join(model.evidence_.notes)):
        start, stop = int(first) - 1, int(last or first)
        out[start:stop] = [(start, stop if "each of them" in rest else d)] * (stop - start)
    return out


@pytest.mark.parametrize("kind", HOSTILE)
def test_claimed_angles_and_variances_hold(kind: str) -> None:
    X = HOSTILE[kind]
    with mpmath.workdps(60):
        values, vectors = truth(X)
        for way in WAYS:
            for k in (1, min(X.shape) - (way == "arpack")):
                model = fitted(X, way, k)
                if model.evidence_.holds:
                    check(model, values, vectors, f"{way}, {k} components: {model.evidence_}")


def check(model: PCA, values: Any, vectors: Any, what: str) -> None:
    d = len(values)
    for i, (start, stop) in enumerate(spans(model, d)):
        v = mpmath.matrix([mpmath.mpf(float(x)) for x in model.components_[i]])
        away = v.copy()
        for j in range(start, stop):
            away -= vectors[:, j] * (vectors[:, j].T * v)[0]
        assert mpmath.norm(away) <= 1.001 * model.evidence_.certificate.value + 1e-15, what
        error = abs(mpmath.mpf(float(model.explained_variance_[i])) - values[i])
        assert error <= 1e-7 * values[0], what
        if stop - start == 1:  # one that is told apart has a variance with digits, too
            assert error <= 1e-2 * values[i], what


@pytest.mark.parametrize("way", ["auto", "full", "covariance_eigh", "partial_fit"])
def test_units_of_columns_cost_no_digits(way: str) -> None:
    X = HOSTILE["units"]
    model = fitted(X, way, D)
    with mpmath.workdps(60):
        expected = [float(value) for value in truth(X)[0]]
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-9)
    assert model.evidence_.holds
    assert fitted(X[:, ::2], way, 3).evidence_.notes == ()


def test_a_saved_model_goes_on_where_it_was(tmp_path: Path) -> None:
    X = HOSTILE["offset"]
    model = PCA().partial_fit(X[:10]).partial_fit(X[10:16])
    model.save(tmp_path / "model")
    again = PCA.load(tmp_path / "model").partial_fit(X[16:])
    np.testing.assert_array_equal(again.explained_variance_, model.partial_fit(X[16:]).explained_variance_)
    np.testing.assert_allclose(again.explained_variance_, fitted(X, "full", D).explained_variance_, rtol=1e-9)


def test_what_cannot_be_told_apart_is_said() -> None:
    assert "Component 1 has a variance too close to others not kept" in str(
        fitted(HOSTILE["ties"], "auto", 1).evidence_
    )
    ties = str(fitted(HOSTILE["ties"], "auto", D).evidence_)
    assert f"Components 1 to {D - 1} have variances too close to be told apart" in ties
    equal = str(fitted(HOSTILE["equal rows"], "auto", D).evidence_)
    assert "Components 4 to 5 have variances that cannot be told from 0" in equal
    assert fitted(Z, "auto", D).evidence_.notes == ()


def test_rounding_to_float32_counts() -> None:
    single, double = fitted(Z.astype(np.float32), "auto", 2), fitted(Z.astype(np.float32).astype(float), "auto", 2)
    assert 1e-9 < single.evidence_.certificate.value < 1e-6
    assert double.evidence_.certificate.value < 1e-12


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_variances_beyond_float32_are_kept(scale: float) -> None:
    X = Z.astype(np.float32) * np.float32(scale)
    model = PCA(2, whiten=True).fit(X)
    np.testing.assert_allclose(model.explained_variance_, PCA(2).fit(X.astype(float)).explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(model.transform(X).std(axis=0, ddof=1), 1.0, rtol=1e-5)


def test_bounds_are_bounds_for_random_matrices() -> None:
    for trial in range(200):
        rng = np.random.default_rng(trial)
        exact = np.sort(10.0 ** rng.uniform(-6, 0, 6))[::-1]
        Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        E = rng.standard_normal((6, 6)) * 10.0 ** rng.uniform(-12, -2)
        C = (Q * exact) @ Q.T
        values, V = np.linalg.eigh(C + (E + E.T) / 2)
        values, V = values[::-1], V[:, ::-1]
        left = np.linalg.norm(C @ V - V * values, axis=0) + 1e-15
        k = int(rng.integers(1, 7))
        found = angle_bounds(Levels(values, left, left, whole=True), k, 1e-3)
        spans = [(i, i + 1) for i in range(k)]
        for group in found.groups:
            spans[group.start : group.stop] = [(group.start, 6 if group.more else group.stop)] * (
                group.stop - group.start
            )
        for i, (start, stop) in enumerate(spans):
            away = V[:, i] - Q[:, start:stop] @ (Q[:, start:stop].T @ V[:, i])
            assert np.linalg.norm(away) <= found.largest + 1e-13, trial


@pytest.mark.parametrize("solver", ["randomized", "arpack"])
@pytest.mark.parametrize("last", [1.0, 1e-4])
def test_an_iteration_that_sees_a_part_of_the_spectrum(solver: str, last: float) -> None:
    """The next eigenvalues, which it has not found to the same precision, say how far apart the last component is."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        left, right = np.linalg.qr(rng.standard_normal((200, 90)))[0], np.linalg.qr(rng.standard_normal((90, 90)))[0]
        sizes = np.r_[9.0, 5.0, last * np.linspace(4.0, 2.0, 88) ** 2]
        sizes[3] = sizes[2] * (1 - 10.0 ** -rng.uniform(2, 9))
        X = left * sizes @ right.T
        X -= X.mean(axis=0)
        true = np.linalg.svd(X)[2]
        for k in (1, 2, 3):
            model = PCA(k, svd_solver=solver, n_oversamples=2, random_state=seed).fit(X)
            assert model.evidence_.holds
            for i, (start, stop) in enumerate(spans(model, 90)):
                away = model.components_[i] - true[start:stop].T @ (true[start:stop] @ model.components_[i])
                assert np.linalg.norm(away) <= model.evidence_.certificate.value + 1e-9, model.evidence_


def test_groups() -> None:
    still = np.full(4, 1e-9)
    values = np.array([5.0, 2.0, 2.0, 1.0])
    assert angle_bounds(Levels(values, still, still, whole=True), 4, 1e-3).groups == (Group(1, 3, more=False),)
    assert angle_bounds(Levels(values, still, still, whole=True), 2, 1e-3).groups == (Group(1, 2, more=True),)
    assert angle_bounds(Levels(values, still, still, whole=False), 4, 1e-3).groups[-1] == Group(3, 4, more=True)
    assert angle_bounds(Levels(values[1:3], still[:2], still[:2], whole=False), 1, 1e-3).largest == 1.0
