"""Angles between rows of float64 by the referee, against many digits; and neighbours that only those can tell apart."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from corollary import NearestNeighbors
from corollary.referee.directions import cosine_distances, cosine_rounding
from corollary.referee.rows import dense

RNG = np.random.default_rng(0)
ROWS = {
    "usual": RNG.normal(size=(8, 3)),
    "parallel": np.outer([1.0, 3.0, 7.0, -5.0], [1.0, 3.0]),
    "far from zero": 1e9 + 1e-6 * RNG.normal(size=(8, 4)),
    "neighbouring floats": np.where(RNG.random((8, 3)) < 0.5, 1e7, np.nextafter(1e7, 2e7)),
    "small": 1e-300 * RNG.normal(size=(6, 3)),
    "large": 1e307 * RNG.normal(size=(6, 3)),
}


def exact(x: Any, y: Any) -> Fraction:
    """(1 − cos²) of an angle, without rounding."""
    a, b = [Fraction(v) for v in x.tolist()], [Fraction(v) for v in y.tolist()]
    products = [sum(u * v for u, v in zip(p, q, strict=True)) for p, q in ((a, b), (a, a), (b, b))]
    return 1 - products[0] ** 2 / (products[1] * products[2])


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_angles(rows: Any) -> None:
    D = cosine_distances(dense(rows), dense(rows))
    for i, x in enumerate(rows):
        for j, y in enumerate(rows):
            d = D[i, j]
            square, slack = float(exact(x, y)), 2 * float(cosine_rounding(d))  # 1 − cos² = (1 − cos)(1 + cos)
            assert float(d * (2 - d)) == pytest.approx(square, rel=1e-12, abs=slack)


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_parallel_rows_are_at_no_distance(scale: float) -> None:
    rows = np.round(3 * RNG.normal(size=(138, 2))) + scale
    model = NearestNeighbors(metric="cosine").fit(rows)
    assert model.evidence_.verify(rows).stands


def test_a_farther_neighbour_is_still_refuted() -> None:
    rows = 1e9 + np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 4.0]]) * 1e-6
    model = NearestNeighbors(n_neighbors=2, metric="cosine").fit(rows)
    assert model.evidence_.verify(rows).stands
    right = model._nearest
    model._nearest = lambda Q, k: tuple(part[:, [0, -1]] for part in right(Q, 3))
    assert model.evidence_.verify(rows).stands is False
