"""The residual of naive Bayes: every single sum is taken again, so that no two of them can change places."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from corollary.core.blocks import BlockSource
from corollary.core.distribution import (
    Bernoulli,
    Categorical,
    Columns,
    Distribution,
    Exponential,
    Gaussian,
    Multinomial,
    Poisson,
)
from corollary.solvers.bayes.naive import TOLERANCE, labelled, residual

rng = np.random.default_rng(0)
N, D, K = 200, 4, 3
CODES, WEIGHTS = rng.integers(K, size=N), rng.uniform(0.1, 2.0, size=N)
COUNTS = rng.poisson(1.0 + np.arange(D), size=(N, D)).astype(float)
GAPS = np.where(rng.random((N, D)) < 0.1, np.nan, 1.0)
CASES: dict[str, tuple[Distribution, Any]] = {
    "bernoulli": (Bernoulli(), (COUNTS > 2).astype(float) * GAPS),
    "multinomial": (Multinomial(), COUNTS),
    "sparse": (Multinomial(), csr_array(COUNTS)),
    "poisson": (Poisson(), COUNTS * GAPS),
    "exponential": (Exponential(), COUNTS + 0.3),
    "categorical": (Categorical([20] * D), COUNTS * GAPS),
    "gaussian": (Gaussian(), COUNTS * GAPS),
}


def swapped(statistics: Any, name: str, axis: int) -> Any:
    """The statistics with the first two numbers along an axis in each other's place: all totals stay the same."""
    values = getattr(statistics, name)
    order = np.arange(values.shape[axis])
    order[:2] = 1, 0
    return replace(statistics, **{name: np.take(values, order, axis=axis)})


@pytest.mark.parametrize("case", CASES)
def test_sums_that_changed_places_are_seen(case: str) -> None:
    distribution, X = CASES[case]
    source = BlockSource([(X[:90], CODES[:90], WEIGHTS[:90]), (X[90:], CODES[90:], WEIGHTS[90:])])
    summary = labelled(distribution, K, source)
    assert residual(distribution, summary, source) < TOLERANCE
    for field in fields(summary.statistics):
        values = getattr(summary.statistics, field.name)
        for axis in range(values.ndim):
            if values.shape[axis] > 1:
                wrong = replace(summary, statistics=swapped(summary.statistics, field.name, axis))
                assert residual(distribution, wrong, source) > TOLERANCE, (field.name, axis)


def test_of_columns_of_different_kinds() -> None:
    both = Columns([([0, 2], Categorical([20, 20])), ([1, 3], Poisson())])
    source = BlockSource([(COUNTS, CODES, WEIGHTS)])
    summary = labelled(both, K, source)
    assert residual(both, summary, source) < TOLERANCE
    states, totals = summary.statistics.parts
    wrong = replace(summary.statistics, parts=(swapped(states, "states", 1), totals))
    assert residual(both, replace(summary, statistics=wrong), source) > TOLERANCE
