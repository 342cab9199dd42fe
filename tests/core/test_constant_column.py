"""X with one more column of one number: every operation is that of the array it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary.core.design import Design, as_design, with_constant
from corollary.core.design.blocks import BlockDesign

RNG = np.random.default_rng(3)
X, W = RNG.normal(size=(50, 4)), RNG.uniform(0, 2, 50)
WHOLE = np.column_stack([X, np.full(50, 0.7)])


def _blocks(X: Any) -> BlockDesign:
    parts = [(0, as_design(X[:20])), (20, as_design(X[20:]))]
    return BlockDesign(parts, X.shape, X.dtype, nbytes=X.nbytes, is_sparse=False)


@pytest.fixture(params=[as_design, lambda X: as_design(np.asfortranarray(X)), lambda X: as_design(sparse.csr_array(X)),
                        lambda X: as_design(X.astype(np.float32)), _blocks],
                ids=["rows", "columns", "sparse", "float32", "blocks"])  # fmt: skip
def design(request: Any) -> Design:
    found: Design = with_constant(request.param(X.astype(np.float32).astype(np.float64)), 0.7)
    return found


@pytest.mark.parametrize("k", [(), (3,)])
def test_products(design: Design, k: tuple[int, ...]) -> None:
    coef, rows = RNG.normal(size=(5, *k)), RNG.normal(size=(50, *k))
    np.testing.assert_allclose(design.matvec(coef), WHOLE @ coef, atol=1e-5)
    np.testing.assert_allclose(design.rmatvec(rows), WHOLE.T @ rows, atol=1e-5)


def test_parts_and_squares(design: Design) -> None:
    dense = [lambda d: d.block(0, d.shape[0]), lambda d: as_design(d.matrix()).block(0, d.shape[0])]
    for of in dense:
        np.testing.assert_allclose(of(design), WHOLE, atol=1e-6)
        np.testing.assert_allclose(of(design.take(np.array([4, 1]))), WHOLE[:, [4, 1]], atol=1e-6)
        np.testing.assert_allclose(of(design.rows(np.arange(0, 50, 7))), WHOLE[::7], atol=1e-6)
    np.testing.assert_allclose(design.gram(W), (WHOLE * W[:, None]).T @ WHOLE, atol=1e-5)
    np.testing.assert_allclose(design.column_squares(np.zeros(5), W), W @ WHOLE**2, atol=1e-5)
    np.testing.assert_allclose(design.view(scale=np.arange(5.0)).matvec(np.ones(5)), WHOLE @ np.arange(5.0), atol=1e-5)
    np.testing.assert_allclose(design.transposed().matvec(W), WHOLE.T @ W, atol=1e-5)


def test_moments(design: Design) -> None:
    Y = RNG.normal(size=(50, 2))
    found, mean = design.moments(Y, W), W @ WHOLE / W.sum()
    np.testing.assert_allclose(found.mean_x, mean, atol=1e-5)
    np.testing.assert_allclose(found.xx, ((WHOLE - mean) * W[:, None]).T @ (WHOLE - mean), atol=1e-5)
    np.testing.assert_allclose(found.xy, ((WHOLE - mean) * W[:, None]).T @ (Y - W @ Y / W.sum()), atol=1e-5)
