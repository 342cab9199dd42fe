"""Differences of log-gamma functions: against products of whole numbers of factors, and against their derivative."""

from __future__ import annotations

from math import fsum, log, log1p

import numpy as np
import pytest
from scipy.special import digamma

from corollary.core.log_gamma import log_evidence, log_orders, log_rising

STARTS = [1e-300, 1e-20, 1e-5, 0.3, 1.0, 2.5, 15.9, 16.0, 100.0, 1e8, 1e15, 1e30]


@pytest.mark.parametrize("x", STARTS)
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_whole_steps_are_products(x: float, n: int) -> None:
    assert float(log_rising(x, n)) == pytest.approx(fsum(log(x + i) for i in range(n)), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("x", STARTS[2:-1])
@pytest.mark.parametrize("n", [1e-300, 1e-20, 1e-12])
def test_short_steps_are_derivatives(x: float, n: float) -> None:
    assert float(log_rising(x, n)) / n == pytest.approx(float(digamma(x)), rel=1e-6 if n / x > 1e-8 else 1e-11)


def test_no_step_is_nothing() -> None:
    assert log_rising(STARTS, 0.0).tolist() == [0.0] * len(STARTS)


def test_a_count_that_outweighs_all_others() -> None:
    """The chance of one row beside 1e18 of another state: (1 / (1e18 + 1)) · 1 / (1e18 + 2)."""
    found = log_evidence(np.array([[1e18, 1.0], [1.0, 1e18]]), 1.0)
    np.testing.assert_allclose(found, -2 * log(1e18), rtol=1e-14)
    assert float(log_evidence(np.array([[1e18, 0.0]]), 1.0)[0]) == pytest.approx(-log(1e18), rel=1e-14)


def test_light_counts_are_worth_their_share() -> None:
    light = log_evidence(np.array([[1e-12, 3e-12], [1e-200, 3e-200]]), 2.0)
    per_weight = 4 * (digamma(2.0) - digamma(4.0))
    np.testing.assert_allclose(light / [1e-12, 1e-200], per_weight, rtol=1e-11)


def test_orders() -> None:
    many = 1e15
    found = log_orders(np.array([[2.0, 1.0, 1.0], [many, 2.0, 0.0]]))
    np.testing.assert_allclose(found, [log(12), 2 * log(many) + log1p(2 / many) + log1p(1 / many) - log(2)], rtol=1e-14)
