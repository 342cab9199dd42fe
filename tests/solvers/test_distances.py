"""Tables of distances have their digits at any scale and offset, by exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary.solvers.distances import between, distances_to

RNG = np.random.default_rng(0)


def rows_of(kind: str, d: int) -> Any:
    X = RNG.normal(size=(12, d))
    if kind == "offset":
        return X + 1e9
    if kind == "one huge row":
        X[3] *= 1e250
    if kind == "one large row":
        X[3] *= 1e12
    return X * {"huge": 1e250, "small": 1e-250}.get(kind, 1.0)


def exact(a: Any, b: Any, metric: str) -> Fraction:
    """The squared distance, or 1 − cos² of the angle, without rounding."""
    a, b = ([Fraction(float(v)) for v in side] for side in (a, b))
    if metric == "euclidean":
        return sum(((v - w) ** 2 for v, w in zip(a, b, strict=True)), Fraction(0))
    dot = sum(v * w for v, w in zip(a, b, strict=True))
    return 1 - dot * dot / (sum(v * v for v in a) * sum(v * v for v in b))


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("kind", ["normal", "offset", "huge", "small", "one huge row", "one large row"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_euclidean(kind: str, d: int, storage: Any) -> None:
    X = rows_of(kind, d)
    for found in (between(storage(X), storage(X), "euclidean", {}), distances_to(storage(X), "l2", {})(storage(X))):
        for i in range(len(X)):
            for j in range(len(X)):
                square, got = exact(X[i], X[j], "euclidean"), Fraction(float(found[i, j])) ** 2
                assert abs(got - square) <= Fraction(2e-9) * square, (i, j)


@pytest.mark.parametrize("kind", ["normal", "offset", "one large row"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_cosine(kind: str, storage: Any) -> None:
    X = rows_of(kind, 6)
    found = between(storage(X), storage(X), "cosine", {})
    for i in range(len(X)):
        for j in range(len(X)):
            near = Fraction(float(found[i, j]))
            assert abs((2 - near) * near - exact(X[i], X[j], "cosine")) <= Fraction(1e-9) * near + Fraction(1e-60)
