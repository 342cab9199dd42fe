"""Coordinate-descent kernels against plain NumPy twins, epoch by epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary._compiled.codes import COUNT, ELASTIC, POSITIVE
from corollary._compiled.linear import cd

CODES = {"elastic": ELASTIC, "count": COUNT, "positive": POSITIVE}
RNG = np.random.default_rng(0)
X = np.asfortranarray(RNG.normal(size=(20, 6)) * (RNG.random((20, 6)) < 0.7))
CURVE = RNG.uniform(0.1, 1.0, 20)
SLOPE = RNG.normal(size=20)


def minimiser(code: int, z: float, h: float, l1: float, l2: float) -> float:
    """argmin of ½ h w² − z w + ½ l2 w² + (l1 |w|, l1 [w ≠ 0], or l1 w on w ≥ 0), by its cases."""
    if code == COUNT:
        w = z / (h + l2)
        return w if (h + l2) * w**2 / 2 > l1 else 0.0
    if code == POSITIVE:
        return max(z - l1, 0.0) / (h + l2)
    return float(np.sign(z) * max(abs(z) - l1, 0.0) / (h + l2))


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_one_coordinate_against_a_fine_grid(code: int) -> None:
    grid = np.linspace(-6, 6, 120_001)
    for z in (-3.0, -0.2, 0.0, 0.4, 2.5):
        for h, l1, l2 in ((1.0, 0.5, 0.0), (2.0, 0.3, 0.7), (0.5, 0.0, 0.1)):
            cost = 0.5 * (h + l2) * grid**2 - z * grid
            cost += l1 * (grid != 0) if code == COUNT else l1 * np.abs(grid)
            if code == POSITIVE:
                cost = np.where(grid < 0, np.inf, cost)
            expected = grid[cost.argmin()]
            assert cd._minimiser(code, z, h, l1, l2) == pytest.approx(expected, abs=1e-4)
            assert minimiser(code, z, h, l1, l2) == pytest.approx(expected, abs=1e-4)


def gram_twin(H: Any, gradient: Any, w: Any, code: int, l1: float, l2: float, epochs: int) -> float:
    worst = 0.0
    for _ in range(epochs):
        worst = 0.0
        for j in range(len(w)):
            if H[j, j] + l2 <= 0:
                continue
            new = minimiser(code, H[j, j] * w[j] - gradient[j], H[j, j], l1, l2)
            change, w[j] = new - w[j], new
            gradient += change * H[j]
            worst = max(worst, abs(change) * (H[j, j] + l2))
    return worst


@pytest.mark.parametrize("epochs", [1, 5])
@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_gram_epochs(code: int, epochs: int) -> None:
    H, g = (X.T * CURVE) @ X, X.T @ SLOPE
    H[3], H[:, 3] = 0.0, 0.0  # a column of zeros is passed over
    w = np.zeros(6) if code == POSITIVE else RNG.normal(size=6)
    mine, theirs = (H, g.copy(), w.copy()), (H, g.copy(), w.copy())
    worst = cd.gram_epochs(*mine, code, 0.4, 0.1 if code != COUNT else 0.0, epochs, 0.0)
    assert worst == pytest.approx(gram_twin(*theirs, code, 0.4, 0.1 if code != COUNT else 0.0, epochs))
    np.testing.assert_allclose(mine[2], theirs[2], atol=1e-12)
    np.testing.assert_allclose(mine[1], theirs[1], atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("code", [ELASTIC, POSITIVE], ids=["elastic", "positive"])
def test_gram_fit_knows_its_duality_gap(code: int, ridge: float) -> None:
    H, pull, square, l1 = X.T @ X, X.T @ SLOPE, float(SLOPE @ SLOPE), 1.5
    w, gradient = np.zeros(6), np.empty(6)
    primal, dual = cd.gram_fit(H, pull, square, 0.25, gradient, w, code, l1, ridge, 1e-9, 0.0, 1000)
    residual = X @ w - SLOPE
    loss = 0.5 * residual @ residual
    np.testing.assert_allclose(gradient, X.T @ residual, atol=1e-12)
    assert primal == pytest.approx(0.25 + loss + l1 * np.abs(w).sum() + 0.5 * ridge * w @ w, rel=1e-12)
    pulls = np.maximum(-gradient, 0.0) if code == POSITIVE else np.abs(gradient)
    scale = 1.0 if ridge else min(1.0, l1 / pulls.max())
    price = (np.maximum(pulls - l1, 0.0) ** 2).sum() / (2 * ridge) if ridge else 0.0
    assert dual == pytest.approx(0.25 - scale**2 * loss - scale * SLOPE @ residual - price, rel=1e-12)
    assert 0 <= primal - dual <= 1e-9 * primal
    assert w.any()


def test_group_epochs() -> None:
    H, g = (X.T * CURVE) @ X, X.T @ SLOPE
    starts, strength = np.array([0, 2, 3, 6]), np.array([0.2, 0.5, 0.3])
    curvature = np.array([np.linalg.eigvalsh(H[a:b, a:b])[-1] for a, b in ((0, 2), (2, 3), (3, 6))])
    w, gradient = np.zeros(6), g.copy()
    cd.group_epochs(H, gradient, w, starts, curvature, strength, np.empty(6), 4, 0.0)
    twin, slope = np.zeros(6), g.copy()
    for _ in range(4):
        for b in range(3):
            at = slice(starts[b], starts[b + 1])
            point = twin[at] - slope[at] / curvature[b]
            size = np.linalg.norm(point)
            new = max(0.0, 1 - strength[b] / (curvature[b] * size)) * point if size > 0 else 0 * point
            slope += H[:, at] @ (new - twin[at])
            twin[at] = new
    np.testing.assert_allclose(w, twin, atol=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-12)
