"""Kernels on columns, dense and sparse, against plain NumPy twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary._compiled.codes import ELASTIC, POSITIVE
from corollary._compiled.linear import columns as kernels
from corollary.core.design import as_design
from corollary.core.parallel import threads
from corollary.solvers.linear.descent.columns import Columns, Pulls

RNG = np.random.default_rng(0)
X = np.asfortranarray(RNG.normal(size=(20, 6)) * (RNG.random((20, 6)) < 0.7))
CURVE = RNG.uniform(0.1, 1.0, 20)
SLOPE = RNG.normal(size=20)
LAYOUTS = {"dense": lambda A: A, "sparse": sparse.csc_array, "float32": lambda A: A.astype(np.float32)}


def laid(A: Any) -> Columns:
    found = Columns.of(as_design(A))
    assert found is not None
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_and_sums(layout: str) -> None:
    columns, A = laid(LAYOUTS[layout](X)), LAYOUTS[layout](X)
    plain = np.asarray(A.toarray() if layout == "sparse" else A, dtype=float)
    asked, out = np.array([4, 1, 5]), np.full(6, 9.0)
    columns.products(asked, SLOPE, out)
    np.testing.assert_allclose(out[asked], plain[:, asked].T @ SLOPE, atol=1e-12)
    assert (out[[0, 2, 3]] == 9.0).all()
    assert columns.entries(asked) == (np.count_nonzero(X[:, asked]) if layout == "sparse" else 60)
    moved = np.ones(20)
    columns.move(asked, np.array([0.5, 0.0, -2.0]), moved)
    np.testing.assert_allclose(moved, 1 + 0.5 * plain[:, 4] - 2 * plain[:, 5], atol=1e-12)
    centre, norms = np.empty(3), np.empty(3)
    kernels.curvatures(columns.data, columns.rows, columns.starts, asked, CURVE, True, centre, norms)
    np.testing.assert_allclose(centre, CURVE @ plain[:, asked] / CURVE.sum(), atol=1e-12)
    np.testing.assert_allclose(norms, CURVE @ (plain[:, asked] - centre) ** 2, atol=1e-12)


def test_rows_in_c_order_do_not_lie_by_columns() -> None:
    assert Columns.of(as_design(np.ascontiguousarray(X))) is None


def twin(A: Any, curve: Any, slope: Any, w: Any, code: int, l1: float, l2: float) -> None:
    """Two thousand plain epochs about the means that A has lost already."""
    for _ in range(2000):
        for j in range(len(w)):
            h = curve @ A[:, j] ** 2
            z = h * w[j] - A[:, j] @ slope
            size = max((z if code == POSITIVE else abs(z)) - l1, 0.0) / (h + l2)
            new = size if code == POSITIVE else np.sign(z) * size
            slope += (new - w[j]) * curve * A[:, j]
            w[j] = new


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("code", [ELASTIC, POSITIVE], ids=["elastic", "positive"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_descent_ends_where_the_twin_ends(layout: str, code: int, free: bool, even: bool) -> None:
    columns, asked = laid(LAYOUTS[layout](X)), np.array([0, 2, 3, 5])
    curve = np.full(20, 0.5) if even else CURVE
    slope = SLOPE - curve * (SLOPE.sum() / curve.sum()) if free else SLOPE.copy()
    given = columns.data, columns.rows, columns.starts, asked
    centre, norms, w, now = np.empty(4), np.empty(4), np.zeros(4), slope.copy()
    kernels.curvatures(*given, curve, free, centre, norms)
    scratch = np.empty(4, dtype=np.intp), np.empty((6, 4)), np.empty((6, 20))
    reached, offset = kernels.descend(
        *given, centre, norms, curve, 0.5 if even else 0.0, now, w, code, 0.3, 0.05, 0.0, 1e-13, 200, *scratch
    )
    assert reached
    theirs, A = np.zeros(4), X[:, asked] - centre
    twin(A, curve, slope, theirs, code, 0.3, 0.05)
    np.testing.assert_allclose(w, theirs, atol=1e-11)
    np.testing.assert_allclose(now - offset * curve, slope, atol=1e-11)
    assert w.any()


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_pulls_are_exact_where_they_matter(layout: str) -> None:
    rng = np.random.default_rng(1)
    A = np.asfortranarray(rng.normal(size=(300, 1000)) * (rng.random((300, 1000)) < 0.6) + 0.3)
    pulls = Pulls(laid(LAYOUTS[layout](A)), A.shape, centred=True)
    slope, skipped = rng.normal(size=300), 0
    for step in range(12):
        slope = slope + 0.5**step * rng.normal(size=300)
        slope -= slope.mean()
        true, strength, used = A.T @ slope, 25.0, np.array([3, 7])
        known = pulls.at(slope, strength, used)
        matters = np.union1d(np.flatnonzero(np.abs(true) >= strength), used)
        np.testing.assert_allclose(known[matters], true[matters], rtol=1e-12, atol=1e-10)
        assert (np.abs(known[np.abs(true) < strength]) < strength).all()
        skipped += int((np.abs(known - true) > 1e-9).sum())
    assert skipped > 1000


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_the_number_of_threads_changes_no_bit(layout: str) -> None:
    rng = np.random.default_rng(2)
    A = np.asfortranarray(rng.normal(size=(1000, 1500)))
    columns, slopes, found = laid(LAYOUTS[layout](A)), rng.normal(size=(3, 1000)), []
    for count in (1, 2, 3, 7):
        with threads(count):
            pulls = Pulls(columns, A.shape, centred=False)
            found.append([pulls.at(slope, 0.5, np.arange(2)) for slope in slopes])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
