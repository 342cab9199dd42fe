"""Double-double residuals: the kernel, its NumPy twin, and rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from corollary.core.design import as_design
from corollary.core.double_double import Pair, two_product, two_sum
from corollary.core.parallel import threads
from corollary.solvers.least_squares import double_double
from corollary.solvers.least_squares.double_double import gradient, numpy_block


def _case(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, Pair, Pair]:
    """Data that cancel almost wholly: y is X β + b up to 1e-12."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-6, 6, d)
    beta, start = rng.standard_normal((d, k)), rng.standard_normal(k)
    Y = X @ beta + start + 1e-12 * rng.standard_normal((n, k))
    return X, Y, rng.random(n), Pair(beta, 1e-17 * beta), Pair(start, 1e-17 * start)


@pytest.mark.parametrize("block", [numpy_block, double_double._compiled_block])
def test_agrees_with_rational_arithmetic(block) -> None:
    X, Y, w, coef, start = _case(23, 3, 2)
    found = block(X, Y, w, coef, start)
    for c in range(2):
        beta = [Fraction(h) + Fraction(low) for h, low in zip(coef.high[:, c], coef.low[:, c], strict=True)]
        b = Fraction(start.high[c]) + Fraction(start.low[c])
        residuals = [
            Fraction(y) - b - sum(Fraction(x) * t for x, t in zip(row, beta, strict=True))
            for row, y in zip(X, Y[:, c], strict=True)
        ]
        columns = [*X.T, np.ones(len(X))]
        for j, column in enumerate(columns):
            terms = [Fraction(x) * Fraction(v) * r for x, v, r in zip(column, w, residuals, strict=True)]
            value = Fraction(found.slope.high[j, c]) + Fraction(found.slope.low[j, c])
            scale = float(max(abs(Fraction(y)) for y in Y[:, c])) * float(np.abs(column).max())
            assert abs(float(value - sum(terms))) <= 1e-29 * scale * len(X)
        exact = float(sum(Fraction(v) * r * r for v, r in zip(w, residuals, strict=True)))
        assert found.squares[c] == pytest.approx(exact, rel=1e-13)


def test_kernel_equals_its_twin() -> None:
    X, Y, w, coef, start = _case(301, 7, 3)
    fast, plain = double_double._compiled_block(X, Y, w, coef, start), numpy_block(X, Y, w, coef, start)
    scale = np.append(np.abs(X).max(axis=0), 1.0)[:, None] * np.abs(Y).max() * len(X)
    assert (np.abs((fast.slope + -plain.slope).value) <= 1e-30 * scale).all()
    np.testing.assert_allclose(fast.squares, plain.squares, rtol=1e-13)


def test_error_free_transformations() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 100)) * 10.0 ** rng.integers(-12, 12, (2, 100))
    for combine, exact in ((two_sum, Fraction.__add__), (two_product, Fraction.__mul__)):
        high, low = combine(a, b)
        for x, y, h, e in zip(a, b, high, low, strict=True):
            assert Fraction(h) + Fraction(e) == exact(Fraction(x), Fraction(y))


@pytest.mark.parametrize("order", ["C", "F"])
def test_pass_over_blocks_does_not_depend_on_threads(order: str) -> None:
    X, Y, w, coef, start = _case(20_000, 20, 1)  # above the size where the kernel takes over
    results = []
    for n in (1, 2, 3):
        with threads(n):
            results.append(gradient(as_design(np.asarray(X, order=order)), Y, w, coef, start))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].slope.high, other.slope.high)
        np.testing.assert_array_equal(results[0].slope.low, other.slope.low)
        np.testing.assert_array_equal(results[0].squares, other.squares)
