"""PCA against scikit-learn, its identities, and data that are hard."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA as Reference
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import corollary
from corollary import Blocks, Status
from corollary.callbacks import TimeBudget
from corollary.decomposition import PCA
from corollary.solvers.pca.spectrum import missed_share

SOLVERS = ("auto", "full", "covariance_eigh", "randomized", "arpack")
NAMES = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_")


def rows(n: int = 200, d: int = 7, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) * np.linspace(3, 0.5, d) @ turn + rng.normal(size=d)


def compare(model: Any, other: Any, rtol: float = 1e-7) -> None:
    for name in (*NAMES, "noise_variance_"):
        np.testing.assert_allclose(getattr(model, name), getattr(other, name), rtol=rtol, atol=1e-8, err_msg=name)


@parametrize_with_checks([PCA(), PCA(2, svd_solver="randomized")])
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("whiten", [False, True])
def test_equals_scikit_learn(solver: str, k: int | None, whiten: bool) -> None:
    X = rows()
    model, other = (
        PCA(k, svd_solver=solver, whiten=whiten).fit(X),
        Reference(k or 7 - (solver == "arpack"), svd_solver="full", whiten=whiten).fit(X),
    )
    compare(model, other)
    assert model.evidence_.holds
    assert model.n_components_ == other.n_components_
    scores = model.transform(X)
    np.testing.assert_allclose(scores, other.transform(X), atol=1e-7)
    np.testing.assert_allclose(model.inverse_transform(scores), other.inverse_transform(scores), atol=1e-7)
    if whiten:  # scikit-learn's density then depends on the unit of the coordinates; a density of rows does not
        other = Reference(other.n_components_, svd_solver="full").fit(X)
    np.testing.assert_allclose(model.score_samples(X), other.score_samples(X), rtol=1e-7)
    np.testing.assert_allclose(model.score(X), other.score(X))
    np.testing.assert_allclose(model.get_covariance(), other.get_covariance(), atol=1e-7)
    np.testing.assert_allclose(model.get_precision(), other.get_precision(), atol=1e-7)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh"])
def test_share_of_the_variance(share: float, solver: str) -> None:
    X = rows()
    compare(PCA(share, svd_solver=solver).fit(X), Reference(share, svd_solver="full").fit(X))


@pytest.mark.parametrize("true", [1, 3, 6])
def test_evidence_finds_the_dimension(true: int) -> None:
    rng = np.random.default_rng(true)
    X = rng.standard_normal((500, true)) @ rng.standard_normal((true, 12)) * 3 + 0.3 * rng.standard_normal((500, 12))
    model = PCA("mle").fit(X)
    assert model.n_components_ == true == Reference("mle").fit(X).n_components_


def test_a_share_needs_the_whole_spectrum() -> None:
    with pytest.raises(ValueError, match="needs all eigenvalues"):
        PCA(0.5, svd_solver="randomized").fit(rows())
    with pytest.raises(ValueError, match="n_components='mle' is only supported if n_samples >= n_features"):
        PCA("mle").fit(rows(5, 9))
    with pytest.raises(ValueError, match="n_components='mle' cannot be a string with svd_solver='arpack'"):
        PCA("mle", svd_solver="arpack").fit(rows())


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_number_that_cannot_be(solver: str) -> None:
    direct = "full" if solver == "auto" else solver
    few = rf"must be between [01] and min\(n_samples, n_features\)=7 with svd_solver='{direct}'"
    with pytest.raises(ValueError, match=few):
        PCA(9, svd_solver=solver).fit(rows())
    if solver in ("randomized", "arpack"):
        with pytest.raises(ValueError, match=few):
            PCA(0, svd_solver=solver).fit(rows())
    if solver == "arpack":
        with pytest.raises(ValueError, match="must be strictly less than min"):
            PCA(7, svd_solver=solver).fit(rows())


@pytest.mark.parametrize("solver", SOLVERS[:3])
@pytest.mark.parametrize("whiten", [False, True])
def test_no_components(solver: str, whiten: bool, tmp_path: Path) -> None:
    X = rows()
    model = PCA(0, svd_solver=solver, whiten=whiten).fit(X)
    assert model.evidence_.holds
    assert model.evidence_.verify(X).stands
    assert model.components_.shape == (0, 7)
    assert model.transform(X).shape == (200, 0)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), np.tile(X.mean(axis=0), (200, 1)))
    np.testing.assert_allclose(model.noise_variance_, X.var(axis=0, ddof=1).mean())
    np.testing.assert_allclose(model.get_covariance(), model.noise_variance_ * np.eye(7), atol=1e-12)
    np.testing.assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(7), atol=1e-12)
    other = Reference(0, svd_solver="full").fit(X)
    np.testing.assert_allclose(model.score(X), other.score(X))
    assert len(model.get_feature_names_out()) == 0
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(PCA.load(tmp_path / "model").mean_, model.mean_)
    grown = PCA(0).partial_fit(X[:90]).partial_fit(X[90:])
    np.testing.assert_allclose(grown.noise_variance_, model.noise_variance_)
    assert grown.evidence_.holds


def test_evidence_of_rounding_is_none() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 1)) @ rng.standard_normal((1, 20))
    assert PCA("mle").fit(X).n_components_ == 1


@pytest.mark.parametrize("shape", [(60, 60), (12, 30), (30, 12)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_any_shape(shape: tuple[int, int], solver: str) -> None:
    X = rows(*shape)
    model, other = PCA(5, svd_solver=solver).fit(X), Reference(5, svd_solver="full").fit(X)
    compare(model, other, 1e-6)
    everything = PCA(svd_solver=solver).fit(X)
    V = everything.components_
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-12)
    if solver == "arpack":
        assert len(V) == min(shape) - 1
    else:
        np.testing.assert_allclose(everything.inverse_transform(everything.transform(X)), X, atol=1e-10)
    assert everything.evidence_.holds


def test_signs_do_not_depend_on_the_solver() -> None:
    for solver in SOLVERS:
        V = PCA(4, svd_solver=solver).fit(rows()).components_
        assert (V[np.arange(4), np.argmax(np.abs(V), axis=1)] > 0).all()


def test_no_linear_autoencoder_does_better() -> None:
    """Eckart and Young: the plane of the components has the least squared error of all planes of its dimension."""
    X = rows(150, 6)
    model = PCA(2).fit(X)
    error = model.reconstruction_error(X).sum()
    np.testing.assert_allclose(error, ((X - model.inverse_transform(model.transform(X))) ** 2).sum())
    np.testing.assert_allclose(error, np.linalg.svd(X - X.mean(0))[1][2:] @ np.linalg.svd(X - X.mean(0))[1][2:])
    centred = X - X.mean(axis=0)
    rng = np.random.default_rng(1)
    encoder = rng.standard_normal((6, 2)) / 3
    for _ in range(300):  # a linear autoencoder trained by alternating least squares
        decoder = np.linalg.lstsq(centred @ encoder, centred, rcond=None)[0]
        encoder = np.linalg.pinv(decoder)
        assert ((centred - centred @ encoder @ decoder) ** 2).sum() >= error * (1 - 1e-12)
    np.testing.assert_allclose(((centred - centred @ encoder @ decoder) ** 2).sum(), error, rtol=1e-8)
    plane = np.linalg.qr(decoder.T)[0]
    np.testing.assert_allclose(plane @ plane.T, model.components_.T @ model.components_, atol=1e-6)


def test_variances_add_up() -> None:
    X = rows()
    model = PCA(3).fit(X)
    total = X.var(axis=0, ddof=1).sum()
    np.testing.assert_allclose(model.explained_variance_.sum() + 4 * model.noise_variance_, total)
    np.testing.assert_allclose(model.transform(X).var(axis=0, ddof=1), model.explained_variance_)
    np.testing.assert_allclose(PCA(3, whiten=True).fit_transform(X).var(axis=0, ddof=1), 1.0)
    np.testing.assert_allclose(model.get_covariance() @ model.get_precision(), np.eye(7), atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(40, 6), (8, 20)])
def test_weights_are_repetitions(solver: str, shape: tuple[int, int]) -> None:
    X = rows(*shape)
    weights = np.random.default_rng(2).integers(0, 4, len(X))
    options = {"svd_solver": solver, "random_state": 0}
    model, other = PCA(3, **options).fit(X, sample_weight=weights), PCA(3, **options).fit(np.repeat(X, weights, axis=0))
    compare(model, other, 1e-6)
    held = sparse.csr_array(X) if solver != "full" else X
    compare(PCA(3, **options).fit(held, sample_weight=weights), other, 1e-6)


def test_weights_that_sum_to_one_are_refused() -> None:
    with pytest.raises(ValueError, match="counts how many times"):
        PCA().fit(rows(10), sample_weight=np.full(10, 0.1))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("solver", [each for each in SOLVERS if each != "full"])
def test_sparse_equals_dense(kind: Any, solver: str) -> None:
    X = rows(80, 10)
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    model, other = PCA(4, svd_solver=solver).fit(kind(X)), PCA(4).fit(X)
    compare(model, other, 1e-6)
    for method in ("transform", "reconstruction_error", "score_samples", "outlier_score"):
        np.testing.assert_allclose(getattr(model, method)(kind(X)), getattr(other, method)(X), atol=1e-6)


def test_a_full_decomposition_is_of_dense_rows() -> None:
    with pytest.raises(TypeError, match="PCA only support sparse inputs"):
        PCA(2, svd_solver="full").fit(sparse.csr_array(rows()))


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_stays(solver: str) -> None:
    X = rows().astype(np.float32)
    model = PCA(3, svd_solver=solver).fit(X)
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    assert model.inverse_transform(model.transform(X)).dtype == np.float32
    compare(model, PCA(3).fit(X.astype(np.float64)), 1e-5)


@pytest.mark.parametrize("parts", [1, 2, 7, 40])
def test_blocks_are_the_whole(parts: int) -> None:
    X = rows(160) + 1e6
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    model = PCA(3)
    for block, w in zip(np.array_split(X, parts), np.array_split(weights, parts), strict=True):
        model.partial_fit(block, sample_weight=w + 1)
    compare(model, PCA(3).fit(X, sample_weight=weights + 1), 1e-7)
    assert model.evidence_.holds
    assert model.n_samples_ == 160


def cut(X: Any, weights: Any, size: int) -> list[Any]:
    return [(X[i : i + size], None, weights[i : i + size]) for i in range(0, X.shape[0], size)]


@pytest.mark.parametrize("shape", [(160, 7), (30, 12), (12, 30)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_fit_of_blocks_is_fit_of_the_whole(solver: str, shape: tuple[int, int]) -> None:
    X = rows(*shape) + 1e3
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    weights[:5] = 0.0  # a whole block without weight, in one of the cuts
    options = {"svd_solver": solver, "random_state": 0}
    whole = PCA(3, **options).fit(X, sample_weight=weights)
    for size in (5, 11, 1000):
        model = PCA(3, **options).fit(Blocks(cut(X, weights, size)))
        compare(model, whole, 1e-6)
        assert model.evidence_.holds
        assert model.n_samples_ == whole.n_samples_
        assert model.n_features_in_ == shape[1]
    compare(PCA(3, **options).fit(Blocks(cut(X, weights, 11), executor="threads")), whole, 1e-6)
    compare(PCA(3, **options).fit([X[:9], X[9:]]), PCA(3, **options).fit(X), 1e-6)
    held = sparse.csr_array(np.where(np.abs(X - 1e3) < 1, 0.0, X - 1e3))
    sparse_blocks = PCA(3, **options).fit(Blocks(cut(held, weights, 7)))
    whole = held.toarray() if solver == "full" else held
    compare(sparse_blocks, PCA(3, **options).fit(whole, sample_weight=weights), 1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150])
def test_blocks_in_extreme_units(scale: float) -> None:
    X = rows(50, 4)
    for solver in SOLVERS:
        parts = PCA(2, svd_solver=solver, random_state=0).fit([X[:20] * scale, X[20:] * scale])
        whole = PCA(2, svd_solver=solver, random_state=0).fit(X * scale)
        np.testing.assert_allclose(parts.singular_values_ / scale, whole.singular_values_ / scale, rtol=1e-9)
        np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-6)


def test_blocks_share_a_type_and_are_checked() -> None:
    X = rows().astype(np.float32)
    assert PCA(2).fit([X[:50], X[50:]]).components_.dtype == np.float32
    assert PCA(2).fit([X[:50], X[50:].astype(np.float64)]).components_.dtype == np.float64
    spoiled = X.copy()
    spoiled[77, 1] = np.nan
    for blocks, message in (
        ([X, spoiled], "contains NaN"),
        ([X, X[:, :2]], "features"),
        (Blocks([]), "no rows"),
        ([X[:1]], "more than one"),
        (iter([X]), "read more than once"),
    ):
        with pytest.raises(ValueError, match=message):
            PCA(2).fit(blocks)


def test_one_row_at_a_time() -> None:
    X = rows(30, 4)
    model = PCA(2)
    for row in X:
        model.partial_fit(row[None])
    compare(model, PCA(2).fit(X))
    model.fit(X[:10])
    model.partial_fit(X)
    compare(model, PCA(2).fit(X))
    assert "earlier fit" in str(model.evidence_)


def test_memory_map_and_orders(tmp_path: Path) -> None:
    X = rows(3000, 40)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    plain = PCA(4).fit(X)
    for held in (mapped, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        for solver in ("covariance_eigh", "arpack", "full"):
            compare(PCA(4, svd_solver=solver).fit(held), plain)


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_for_any_number_of_threads(solver: str) -> None:
    X = rows(30_000, 20)
    one, *others = (PCA(3, svd_solver=solver, random_state=0, n_jobs=j).fit(X) for j in (1, 2, 7, 16))
    for name in NAMES:
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for other in others), name


def test_huge_means_keep_digits() -> None:
    X = np.round(rows(500, 5), 3)
    moved = X + 2.0**33  # both are exact to 1e-6
    moved = (moved - 2.0**33) + 2.0**33
    exact = PCA(3).fit(moved - 2.0**33)
    for solver in SOLVERS:
        model = PCA(3, svd_solver=solver).fit(moved)
        np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(model.transform(moved), exact.transform(moved - 2.0**33), atol=1e-5)


def test_small_eigenvalues_keep_digits() -> None:
    rng = np.random.default_rng(0)
    n, scale = 400, 10.0 ** -np.arange(0, 12, 2.0)
    U = np.linalg.qr(rng.standard_normal((n, 6)) - 0.0)[0]
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    X = U * scale @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    model = PCA().fit(X)
    np.testing.assert_allclose(model.singular_values_, scale, rtol=1e-4)
    assert "lose digits" in str(model.evidence_)
    np.testing.assert_allclose(PCA(svd_solver="full").fit(X).singular_values_, scale, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-150, 1e100, 1e150])
@pytest.mark.parametrize("solver", SOLVERS)
def test_extreme_units(scale: float, solver: str) -> None:
    X = rows(50, 4)
    model, plain = PCA(2, svd_solver=solver, random_state=0).fit(X * scale), PCA(2).fit(X)
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-6 if scale > 1e-305 else 1e-2)
    np.testing.assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-3)
    np.testing.assert_allclose(model.singular_values_, plain.singular_values_ * scale, rtol=1e-3)
    assert model.evidence_.holds
    assert np.isfinite(model.transform(X * scale)).all()
    if solver != "full":
        held = PCA(2, svd_solver=solver, random_state=0).fit(sparse.csr_array(X * scale))
        np.testing.assert_allclose(held.singular_values_, plain.singular_values_ * scale, rtol=1e-3)


def test_a_variance_beyond_float64_is_refused() -> None:
    for solver in SOLVERS:
        with pytest.raises(ValueError, match="too large for float64"):
            PCA(2, svd_solver=solver).fit(rows(50, 4) * 1e200)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(solver: str, bad: float) -> None:
    X = rows()
    X[17, 3] = bad
    for held in (X,) if solver == "full" else (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match=r"Input X contains"):
            PCA(2, svd_solver=solver).fit(held)
    with pytest.raises(ValueError, match=r"Input X contains"):
        PCA(2).partial_fit(X)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_variance(solver: str) -> None:
    X = np.full((9, 3), 7.0)
    model = PCA(svd_solver=solver).fit(X)
    assert model.evidence_.holds
    assert not model.explained_variance_.any()
    k = 3 - (solver == "arpack")
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-12)
    assert not model.transform(X).any()
    assert not PCA(2, whiten=True).fit_transform(X).any()
    with pytest.raises(ValueError, match="no inverse"):
        model.get_precision()


def test_rank_deficient_rows_and_whitening() -> None:
    X = rows(60, 5)
    X = np.hstack([X, X[:, :2], np.ones((60, 1))])
    model = PCA(whiten=True).fit(X)
    assert np.isfinite(model.transform(X)).all()
    assert int(model.evidence_.facts["rank"]) == 5
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)
    assert np.isfinite(PCA().fit(X).score_samples(X)).all()
    assert np.isinf(PCA().fit(X).score_samples(X + np.arange(8.0))).all()
    assert np.isinf(PCA(5).fit(X).outlier_score(X + np.arange(8.0))).all()


def test_outliers_score_high() -> None:
    X = rows(400, 7)
    model = PCA(3).fit(X)
    assert abs(model.outlier_score(X).mean() - 7) < 0.2
    odd = X.mean(axis=0) + 20 * model.components_[0] @ np.diag([1, -1] * 3 + [1])
    assert model.outlier_score(odd[None])[0] > model.outlier_score(X).max()
    z = PCA().fit(X)
    expected = np.einsum("ij,jk,ik->i", X - X.mean(0), np.linalg.inv(np.cov(X.T)), X - X.mean(0))
    np.testing.assert_allclose(z.outlier_score(X), expected)


def test_iteration_goes_on_until_it_is_proved() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 600)) * np.linspace(1.3, 1, 600)  # hardly any gap
    model = PCA(4, svd_solver="randomized", random_state=0).fit(X)
    exact = PCA(4, svd_solver="covariance_eigh").fit(X)
    assert model.evidence_.holds
    assert model.evidence_.n_iter > 5
    assert model.evidence_.facts["largest eigen-residual over the first eigenvalue"] <= 1e-7
    cosines = np.abs(np.einsum("ij,ij->i", model.components_, exact.components_))
    assert np.sqrt(np.maximum(1 - cosines**2, 0.0)).max() <= model.evidence_.certificate.value + 1e-7 <= 1e-4
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-9)
    one = PCA(4, random_state=0).fit(X)
    np.testing.assert_allclose(one.explained_variance_, exact.explained_variance_, rtol=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short = PCA(4, svd_solver="randomized", iterated_power=2, random_state=0).fit(X)
    assert short.evidence_.status is Status.MAX_ITER


def test_what_an_iteration_may_have_missed_is_bounded() -> None:
    """Residuals show eigenpairs; that no larger one was missed is shown where little variance is left over."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 40)) @ rng.standard_normal((40, 600))
    name = "share of the variance that other directions could add"
    model = PCA(40, svd_solver="randomized", random_state=0).fit(X)
    assert model.evidence_.claim == "Stationary"
    assert model.evidence_.facts[name] <= 1e-7
    assert "No other directions" in str(model.evidence_)
    noise = PCA(3, svd_solver="randomized", random_state=0).fit(rng.standard_normal((700, 600)))
    assert noise.evidence_.facts[name] > 0.1
    assert "No other directions" not in str(noise.evidence_)
    assert PCA(3).fit(X[:, :9]).evidence_.claim == "Exact"


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_bound_on_what_was_missed_is_a_bound(k: int) -> None:
    rng = np.random.default_rng(k)
    for trial in range(200):
        A = rng.standard_normal((9, 6)) * 10.0 ** rng.uniform(-2, 1, 6)
        C = A.T @ A
        V = np.linalg.eigh(C)[1][:, rng.permutation(6)[:k]] + rng.choice([0, 1e-3, 1]) * rng.standard_normal((6, k))
        V = np.linalg.qr(V)[0]
        total = np.trace(C)
        gain = (np.linalg.eigvalsh(C)[-k:].sum() - np.trace(V.T @ C @ V)) / total
        assert gain <= missed_share(V, C @ V, total) + 1e-12, trial


def test_wide_iteration() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((520, 8)) @ rng.standard_normal((8, 700)) + 0.1 * rng.standard_normal((520, 700))
    model, other = PCA(5, random_state=0).fit(X), Reference(5, svd_solver="full").fit(X)
    assert model.evidence_.solver == "block Lanczos iteration"
    compare(model, other, 1e-6)


def test_a_callback_stops_an_iteration() -> None:
    X = np.random.default_rng(0).standard_normal((700, 600))
    model = PCA(4, svd_solver="randomized", random_state=0).set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert model.evidence_.status is Status.BUDGET
    assert model.transform(X).shape == (700, 4)


def test_saved_and_loaded(tmp_path: Path) -> None:
    X = rows()
    for model in (PCA(3).fit(X), PCA(3).partial_fit(X)):
        model.save(tmp_path / "model.corollary")
        again = corollary.load(tmp_path / "model.corollary")
        assert np.array_equal(again.transform(X), model.transform(X))
    again.partial_fit(X)
    assert again.n_samples_ == 400


def test_names_and_frames() -> None:
    model = PCA(2).fit(rows())
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]
    assert list(model.set_output(transform="pandas").transform(rows()).columns) == ["pca0", "pca1"]


def test_pictures() -> None:
    import matplotlib.pyplot as plt

    X = rows()
    model = PCA(4).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = [model.plot(), model.plot_biplot(X), model.plot_biplot(X, np.arange(200) % 3, (1, 2))]
        axes.append(model.plot_biplot(X, X[:, 0]))
        for ax in axes:
            ax.figure.canvas.draw()
    assert "component 2" in axes[2].get_xlabel()
    ends = [text.xy for text in axes[1].texts]
    assert all(axes[1].viewLim.contains(*end) for end in ends)  # matplotlib leaves out an arrow that ends outside
    with pytest.raises(ValueError, match="components must be two"):
        model.plot_biplot(X, components=(0, 4))
    plt.close("all")


@pytest.mark.parametrize("heavy", [-13.168128, 0.0])
def test_one_row_with_nearly_all_the_weight_leaves_a_variance(heavy: float) -> None:
    X, weights = np.array([[heavy], [11.79], [-1.5], [130.0]]), np.array([1e30, 1e-24, 1e-64, 0.0])
    model = PCA().fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.explained_variance_, [1e-54 * (11.79 - heavy) ** 2], rtol=1e-9)
    assert model.evidence_.verify(X, sample_weight=weights)


def test_whitened_float32_beyond_its_range() -> None:
    X = np.array([[1.0], [1.25], [300.0]], dtype=np.float32)
    model = PCA(whiten=True).fit(X, sample_weight=np.array([1e30, 1e-50, 0.0]))
    np.testing.assert_allclose(model.transform(X)[:, 0], (X[:, 0].astype(float) - 1.0) * 4e40, rtol=1e-6)
