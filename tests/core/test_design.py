"""Every operation of every kind of design against plain NumPy, whatever the layout."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from corollary.core import parallel
from corollary.core.blocks import BlockSource
from corollary.core.design import BlockDesign, DenseDesign, Design, SparseDesign, as_design, gather
from corollary.core.summary import Moments, Triangle

RNG = np.random.default_rng(0)
X = RNG.standard_normal((97, 7)) * (RNG.random((97, 7)) < 0.6)
X[5] = 0.0
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


# how the rows are cut -> the layout of each block
PARTITIONS = {
    "one block": ([0, 97], "C"),
    "uneven blocks": ([0, 1, 60, 61, 97], "Fortran"),
    "single rows": (list(range(98)), "float32"),
    "sparse blocks": ([0, 30, 31, 97], "CSR"),
    "sparse and dense blocks": ([0, 30, 31, 97], "mixed"),
}


def in_blocks(name: str, executor: str = "serial") -> BlockDesign:
    cuts, layout = PARTITIONS[name]
    parts = [(LAYOUTS["C" if layout == "mixed" else layout][a:b], W[a:b], W[a:b]) for a, b in pairwise(cuts)]
    if layout == "mixed":
        parts[0] = (sparse.csr_array(parts[0][0]), *parts[0][1:])
    return gather(BlockSource(parts, executor=executor))[0]


@pytest.fixture(params=[*LAYOUTS, *PARTITIONS, "threads"])
def design(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Design:
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1024)  # several blocks even here
    if request.param in LAYOUTS:
        return as_design(LAYOUTS[request.param])
    return in_blocks("uneven blocks", "threads") if request.param == "threads" else in_blocks(request.param)


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
    if not design.resident:
        return
    assert np.shares_memory(
        turned.X.data if turned.is_sparse else turned.X, design.X.data if design.is_sparse else design.X
    )


def test_rows_in_any_order_and_several_times(design: Design) -> None:
    for index in (np.array([90, 3, 3, 50]), np.arange(97)[W > 0.1], np.arange(96, -1, -1)):
        part = design.rows(index)
        assert part.shape == (len(index), 7)
        close(part.matvec(np.arange(7.0)), X[index] @ np.arange(7.0))
        close(part.gram(W[index]), X[index].T @ (W[index][:, None] * X[index]))


def test_blocks_of_rows_cover_all_in_order(design: Design) -> None:
    parts = list(design.map_rows(lambda start, stop, rows: (start, stop, rows.copy()), 13))
    assert [start for start, _, _ in parts] == [0, *(stop for _, stop, _ in parts[:-1])]
    close(np.concatenate([rows for _, _, rows in parts]), X)
    assert all(stop - start <= 64 for start, stop, _ in parts)
    close(design.sum_rows(lambda start, stop, rows: rows.T @ W[start:stop]), X.T @ W)


def test_extremes(design: Design) -> None:
    close(design.column_largest(), np.abs(X).max(axis=0))
    close(design.matrix().toarray() if sparse.issparse(design.matrix()) else design.matrix(), X)


CENTRE, SCALE, ROWS = RNG.standard_normal(7), np.exp(RNG.standard_normal(7)), RNG.random(97) - 0.3
VIEWS = {
    "centred": ({"centre": CENTRE}, X - CENTRE),
    "scaled": ({"scale": SCALE}, X * SCALE),
    "rows scaled": ({"rows": ROWS}, ROWS[:, None] * X),
    "all": ({"centre": CENTRE, "scale": SCALE, "rows": ROWS}, ROWS[:, None] * (X - CENTRE) * SCALE),
}


def resident(design: Design) -> list[np.ndarray]:
    """The arrays that hold X."""
    X = design.matrix()
    return [X.data, X.indices] if sparse.issparse(X) else [X]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_the_matrix_that_it_stands_for(design: Design, view: str) -> None:
    """Every operation, dense, sparse and in blocks; X itself is neither changed nor copied."""
    parts, A = VIEWS[view]
    seen = design.view(**parts)
    v, coef = np.arange(7.0), RNG.standard_normal((7, 2))
    close(seen.matvec(coef), A @ coef)
    close(seen.matvec(v), A @ v)
    close(seen.rmatvec(Y), A.T @ Y)
    close(seen.rmatvec(W), A.T @ W)
    close(seen.gram(), A.T @ A)
    close(seen.gram(W), A.T @ (W[:, None] * A))
    close(seen.block(10, 20), A[10:20])
    close(seen.matrix(), A)
    close(np.concatenate(list(seen.map_rows(lambda a, b, rows: rows.copy(), 20))), A)
    close(seen.column_means(W), W @ A / W.sum())
    close(seen.column_squares(v, W), W @ (A - v) ** 2)
    for shift in (None, v):
        moments, mean, mean_y = seen.moments(Y, W, shift), W @ A / W.sum(), W @ Y / W.sum()
        close(moments.mean_x, mean)
        close(moments.xx, (A - mean).T @ (W[:, None] * (A - mean)))
        close(moments.xy, (A - mean).T @ (W[:, None] * (Y - mean_y)))
    close(seen.take(np.array([5, 0])).matvec(np.array([1.0, 2.0])), A[:, [5, 0]] @ [1.0, 2.0])
    close(seen.rows(np.array([3, 90, 4])).matvec(v), A[[3, 90, 4]] @ v)
    close(seen.view(scale=SCALE, centre=v).matvec(v), (A - v) * SCALE @ v)
    turned = seen.transposed()
    close(turned.matvec(W), A.T @ W)
    close(turned.rmatvec(v), A @ v)
    close(turned.gram(), A @ A.T)
    close(turned.gram(v), A @ (v[:, None] * A.T))
    close(turned.column_squares(W), ((A.T - W) ** 2).sum(axis=0))
    if design.resident:
        assert all(np.shares_memory(a, b) for a, b in zip(resident(design), resident(seen.base), strict=True))


@pytest.mark.parametrize("view", VIEWS)
def test_sweep_of_a_view(design: Design, view: str) -> None:
    parts, A = VIEWS[view]
    coef = RNG.standard_normal((7, 2))

    def pointwise(start: int, stop: int, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (raw**2).sum(axis=0), raw - Y[start:stop], W[start:stop]

    swept, raw = design.view(**parts).sweep(coef, 0.5, pointwise, gram=True), A @ coef + 0.5
    close(swept.value, (raw**2).sum(axis=0))
    close(swept.gradient, A.T @ (raw - Y))
    close(swept.gradient_sum, (raw - Y).sum(axis=0))
    close(swept.gram, A.T @ (W[:, None] * A))


def test_a_centred_view_of_sparse_columns_with_a_huge_mean_loses_no_digits() -> None:
    far = X + 1e8
    seen = as_design(sparse.csr_array(far)).view(centre=far.mean(axis=0))
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(seen.gram(), centred.T @ centred, rtol=1e-6, atol=1e-6)


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


class Counted:
    """Blocks that are made when they are read, and know how many of them are alive and how often they were read."""

    def __init__(self, *cuts: int) -> None:
        self.cuts, self.passes, self.alive, self.most = cuts, 0, 0, 0

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        self.passes += 1
        for start, stop in pairwise(self.cuts):
            rows = X[start:stop].copy()
            self.alive += 1
            self.most = max(self.most, self.alive)
            weakref.finalize(rows, self._gone)
            yield rows, Y[start:stop], W[start:stop]
            del rows

    def _gone(self) -> None:
        self.alive -= 1


def test_one_block_at_a_time_and_one_pass_an_operation() -> None:
    blocks = Counted(0, 20, 50, 97)
    gc.disable()  # references alone decide how long a block lives
    try:
        design, y, w = gather(BlockSource(blocks))
        np.testing.assert_array_equal(y, Y)
        np.testing.assert_array_equal(w, W)
        assert blocks.passes == 1
        centred = design.view(centre=X.mean(axis=0), rows=W)

        def pointwise(start: int, stop: int, raw: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            return 0.0, raw, np.ones(stop - start)

        operations = [
            lambda d: d.matvec(np.ones(7)),
            lambda d: d.rmatvec(W),
            lambda d: d.gram(W),
            lambda d: d.moments(Y, W),
            lambda d: d.sweep(np.ones(7), 0.0, pointwise, gram=True),
            lambda d: d.column_means(W),
            lambda d: d.column_squares(np.zeros(7), W),
            lambda d: d.column_largest(),
            lambda d: d.take(np.array([1, 3])),
            lambda d: d.rows(np.array([4, 2])),
            lambda d: d.sum_rows(lambda a, b, rows: rows.sum()),
            lambda d: d.rows(np.arange(3, 97)).matvec(np.ones(7)),
        ]
        for operation in operations:
            for each in (design, centred):
                before = blocks.passes
                operation(each)
                assert blocks.passes == before + 1
                assert blocks.alive == 0
    finally:
        gc.enable()
    assert blocks.most == 1


def test_copies_of_a_part_have_the_kind_and_type_of_their_blocks() -> None:
    dense, thin = in_blocks("single rows"), in_blocks("sparse blocks")
    assert isinstance(dense.rows(np.array([1, 0])), DenseDesign)
    assert dense.rows(np.array([1, 0])).dtype == np.float32
    assert dense.take(np.array([0])).X.flags.f_contiguous
    assert isinstance(thin.take(np.array([0])), SparseDesign)


def test_large_parts_in_order_are_not_copied(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.core.design.blocks.SAMPLE_BYTES", 1)
    every = np.flatnonzero(W > 0.3)
    part = design.rows(every)
    assert design.resident or isinstance(part, BlockDesign)
    v = np.arange(7.0)
    close(part.matvec(v), X[every] @ v)
    close(part.rmatvec(W[every]), X[every].T @ W[every])
    close(part.rows(np.array([0, 5])).matvec(v), X[every[[0, 5]]] @ v)
    close(part.rows(np.array([5, 0])).matvec(v), X[every[[5, 0]]] @ v)
    close(part.view(centre=v, rows=W[every]).gram(), ((X[every] - v).T * W[every] ** 2) @ (X[every] - v))


def test_blocks_that_change_are_noticed() -> None:
    parts = [(X[:50], Y[:50], W[:50]), (X[50:], Y[50:], W[50:])]
    design, *_ = gather(BlockSource(parts))
    parts.pop()
    with pytest.raises(ValueError, match="had 97 rows when they were first read and 50 now"):
        design.gram()


def test_a_part_that_does_not_fit_says_so_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    design = in_blocks("uneven blocks")
    monkeypatch.setattr("corollary.core.memory._free_memory", lambda: 100)
    for ask in (lambda: design.take(np.array([0, 1])), lambda: design.rows(np.array([1, 0])), design.transposed):
        with pytest.raises(MemoryError, match=r"would take .* GB"):
            ask()
