"""Every operation of every kind of design against plain NumPy, whatever the layout."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from corollary.core import parallel
from corollary.core.design import Design, as_design
from corollary.core.summary import Moments, Triangle

RNG = np.random.default_rng(0)
X = RNG.standard_normal((97, 7)) * (RNG.random((97, 7)) < 0.6)
W = RNG.random(97)
Y = RNG.standard_normal((97, 2))


def _strided() -> np.ndarray:
    wide = np.zeros((194, 14))
    wide[::2, ::2] = X
    return wide[::2, ::2]


def _frozen() -> np.ndarray:
    copy = X.copy()
    copy.flags.writeable = False
    return copy


def _long_indices() -> sparse.csr_array:
    made = sparse.csr_array(X)
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


LAYOUTS = {
    "C": X,
    "Fortran": np.asfortranarray(X),
    "float32": X.astype(np.float32),
    "strided": _strided(),
    "read-only": _frozen(),
    "CSR": sparse.csr_array(X),
    "CSC": sparse.csc_array(X),
    "CSR matrix": sparse.csr_matrix(X),
    "float32 CSC matrix": sparse.csc_matrix(X.astype(np.float32)),
    "int64 indices": _long_indices(),
}


@pytest.fixture(params=LAYOUTS)
def design(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Design:
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1024)  # several blocks even here
    return as_design(LAYOUTS[request.param])


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual, expected, rtol=2e-6, atol=2e-6)


def test_products(design: Design) -> None:
    coef = RNG.standard_normal((7, 3))
    close(design.matvec(coef), X @ coef)
    close(design.matvec(coef[:, 0]), X @ coef[:, 0])
    close(design.rmatvec(Y), X.T @ Y)
    close(design.rmatvec(W), X.T @ W)
    close(design.gram(), X.T @ X)
    close(design.gram(W), X.T @ (W[:, None] * X))
    close(design.block(10, 20), X[10:20])


def test_parts(design: Design) -> None:
    chosen = np.array([5, 0, 2])
    close(design.take(chosen).matvec(np.ones(3)), X[:, chosen].sum(axis=1))
    close(design.rows(np.array([3, 90])).matvec(np.ones(7)), X[[3, 90]].sum(axis=1))
    close(design.take(chosen).cross(design.take(np.array([1])), W), X[:, chosen].T @ (W[:, None] * X[:, [1]]))


def test_transposed_is_a_view_with_every_operation(design: Design) -> None:
    turned = design.transposed()
    v = np.arange(7.0)
    assert turned.shape == (7, 97)
    close(turned.matvec(W), X.T @ W)
    close(turned.rmatvec(v), X @ v)
    close(turned.gram(v), X @ (v[:, None] * X.T))
    assert np.shares_memory(
        turned.X.data if turned.is_sparse else turned.X, design.X.data if design.is_sparse else design.X
    )


def test_unweighted_statistics(design: Design) -> None:
    close(design.column_means(), X.mean(axis=0))
    close(design.column_squares(np.zeros(7)), (X**2).sum(axis=0))
    close(design.moments(Y).xx, (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)))


def test_column_statistics(design: Design) -> None:
    mean = W @ X / W.sum()
    close(design.column_means(W), mean)
    close(design.column_squares(mean, W), W @ (X - mean) ** 2)
    moments = design.moments(Y, W)
    mean_y = W @ Y / W.sum()
    close(moments.xx, (X - mean).T @ (W[:, None] * (X - mean)))
    close(moments.xy, (X - mean).T @ (W[:, None] * (Y - mean_y)))
    close(moments.yy, W @ (Y - mean_y) ** 2)
    xx, xy, yy = moments.about_zero()
    close(xx, X.T @ (W[:, None] * X))
    close(xy, X.T @ (W[:, None] * Y))
    close(yy, W @ Y**2)


def test_sweep_is_one_pass_for_value_gradient_and_gram(design: Design) -> None:
    coef = RNG.standard_normal(7)

    def pointwise(start: int, stop: int, raw: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        return float(np.sum(raw**2)), 2 * raw, W[start:stop]

    swept = design.sweep(coef, 0.5, pointwise, gram=True)
    raw = X @ coef + 0.5
    assert swept.value == pytest.approx(float(raw @ raw), rel=1e-5)
    close(swept.gradient, 2 * X.T @ raw)
    close(swept.gradient_sum, np.float64(2 * raw.sum()))
    assert swept.gram is not None
    assert swept.gram_border is not None
    close(swept.gram, X.T @ (W[:, None] * X))
    close(swept.gram_border, X.T @ W)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_number_of_threads_changes_no_bit(threads: int, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1024)
    design = as_design(np.asarray(X, order=order))
    with parallel.threads(1):
        alone = design.rmatvec(W), design.gram(W), design.moments(Y, W).xx
    with parallel.threads(threads):
        together = design.rmatvec(W), design.gram(W), design.moments(Y, W).xx
    for a, b in zip(alone, together, strict=True):
        assert (a == b).all()


def test_moments_merge_to_the_whole() -> None:
    shift = np.zeros(7)
    parts = [Moments.of(X[a:b], Y[a:b], W[a:b], shift) for a, b in ((0, 10), (10, 60), (60, 97))]
    whole = Moments.of(X, Y, W, shift)
    for merged in (parts[0] + parts[1] + parts[2], parts[0] + (parts[1] + parts[2]), parts[2] + parts[0] + parts[1]):
        np.testing.assert_allclose(merged.xx, whole.xx, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(merged.xy, whole.xy, rtol=1e-12, atol=1e-12)
        assert merged.weight == pytest.approx(whole.weight)


def test_moments_treat_weights_as_repetition() -> None:
    counts = RNG.integers(0, 4, 97)
    repeated = Moments.of(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0), None, np.zeros(7))
    weighted = Moments.of(X, Y, counts.astype(float), np.zeros(7))
    np.testing.assert_allclose(weighted.xx, repeated.xx, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weighted.mean_x, repeated.mean_x, rtol=1e-12)


def test_a_huge_mean_costs_no_digits() -> None:
    far = as_design(X + 1e9)
    np.testing.assert_allclose(far.moments(Y).xx, as_design(X).moments(Y).xx, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("weight", [1.0, 0.0], ids=["plain", "an empty row without weight"])
def test_a_huge_mean_costs_no_digits_in_sparse_columns_either(layout, weight: float) -> None:
    """Two columns have an entry in every row that counts; the others are as sparse as ever."""
    far, weights = X.copy(), W.copy()
    far[:, 1], far[:, 4] = X[:, 1] + 1e9, X[:, 4] - 3e9
    weights[3] = weight
    far[3] *= weight
    design = as_design(layout(far))
    moments = design.moments(Y, weights)
    L, w = far.astype(np.longdouble), weights.astype(np.longdouble)
    mean = w @ L / w.sum()
    np.testing.assert_allclose(moments.xx, (L - mean).T @ (w[:, None] * (L - mean)), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(moments.xy, (L - mean).T @ (w[:, None] * (Y - w @ Y / w.sum())), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(moments.mean_x, mean, rtol=1e-14)
    squares = design.column_squares(design.column_means(weights), weights)
    np.testing.assert_allclose(squares, w @ (L - mean) ** 2, rtol=1e-9)


def test_entries_given_in_parts_are_their_sum() -> None:
    split = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3, 3])), shape=(3, 2))
    whole, centre = np.array([[3.0, 0.0], [0.0, 5.0], [0.0, 0.0]]), np.array([1.0, 2.0])
    np.testing.assert_allclose(as_design(split).column_squares(centre), ((whole - centre) ** 2).sum(axis=0))
    np.testing.assert_allclose(as_design(split).moments(np.ones((3, 1))).xx, np.cov(whole.T, ddof=0) * 3)
    assert split.nnz == 3  # the input is left as it was


def test_triangles_merge_to_the_factor_of_the_whole() -> None:
    merged = Triangle.of(X[:50]) + Triangle.of(X[50:])
    np.testing.assert_allclose(merged.R.T @ merged.R, X.T @ X, rtol=1e-12, atol=1e-12)
