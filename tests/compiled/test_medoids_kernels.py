"""The kernels of k-medoids against plain NumPy: costs of all swaps, exchanges, savings, faults of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from corollary._compiled.medoids.swaps import cost_saved, first_improvement, square_faults
from corollary.solvers.distance_tables import StoredDistances
from corollary.solvers.medoids.swaps import SwapSearch


def problem(seed: int, dtype: Any = np.float64, n: int = 70, k: int = 5) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 2)).astype(float)  # a grid: ties and duplicates
    weights = rng.integers(0, 4, n).astype(float)
    medoids = rng.choice(np.flatnonzero(weights), k, replace=False)
    return cdist(X, X).astype(dtype), weights, medoids


def cost(D: Any, weights: Any, medoids: Any) -> float:
    return float(weights @ D[medoids].min(axis=0).astype(np.float64))


def swap_changes(D: Any, weights: Any, medoids: Any, candidate: int) -> list[float]:
    before = cost(D, weights, medoids)
    return [cost(D, weights, [*medoids[:m], candidate, *medoids[m + 1 :]]) - before for m in range(len(medoids))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(3))
def test_best_swap_of_every_candidate(seed: int, dtype: Any) -> None:
    D, weights, medoids = problem(seed, dtype)
    search = SwapSearch(StoredDistances(D), weights, medoids)
    assert search.cost == pytest.approx(cost(D, weights, medoids))
    for j in np.flatnonzero(search.allowed):
        changes = swap_changes(D, weights, medoids, j)
        found, slot, gain = search._look(D, 0, j, j + 1, -np.inf)
        assert found == j
        assert gain == pytest.approx(max(0.0, -min(changes)), abs=1e-4 if dtype == np.float32 else 1e-9)
        assert changes[slot] == pytest.approx(min(changes), abs=1e-4 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_swap_leaves_the_state_of_a_fresh_start(seed: int) -> None:
    D, weights, medoids = problem(seed)
    search = SwapSearch(StoredDistances(D), weights, medoids)
    rng = np.random.default_rng(seed)
    for _ in range(12):
        j, slot = int(rng.choice(np.flatnonzero(search.allowed))), int(rng.integers(len(medoids)))
        search.swap(j, slot, D[j])
        fresh = SwapSearch(StoredDistances(D), weights, search.medoids)
        for name in ("first", "second", "removal", "allowed", "table"):
            np.testing.assert_allclose(getattr(search, name), getattr(fresh, name), atol=1e-12, err_msg=name)
        assert search.cost == pytest.approx(fresh.cost)
        np.testing.assert_array_equal(D[search.medoids[search.near], np.arange(len(D))], fresh.first)


def test_the_first_improvement_is_the_first() -> None:
    D, weights, medoids = problem(7)
    search = SwapSearch(StoredDistances(D), weights, medoids)
    gains = [-min(swap_changes(D, weights, medoids, j)) if search.allowed[j] else 0.0 for j in range(len(D))]
    enough = float(np.median([gain for gain in gains if gain > 0])) + 1e-9
    first = next(j for j, gain in enumerate(gains) if gain > enough)
    arguments = (search.near, search.first, search.second, weights, search.removal)
    assert first_improvement(D, 0, 0, len(D), search.allowed, enough, *arguments)[0] == first
    # a block of rows that starts later
    assert first_improvement(D[first:], first, first, len(D), search.allowed, enough, *arguments)[0] == first


def test_threads_find_what_one_thread_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary.core.parallel import threads

    monkeypatch.setattr("corollary.solvers.medoids.swaps._QUIET", 2)
    monkeypatch.setattr("corollary.solvers.medoids.swaps._BATCH", 1)
    D, weights, medoids = problem(11, n=90)
    search = SwapSearch(StoredDistances(D), weights, medoids)
    for enough in (0.0, 10.0, 20.0, 30.0, 1e9):
        with threads(1):
            alone = search.scan(D, 0, 0, len(D), enough)
        with threads(3):
            assert search.scan(D, 0, 0, len(D), enough)[:2] == alone[:2]


def test_savings() -> None:
    D, weights, medoids = problem(3)
    first = D[medoids].min(axis=0)
    saved = np.empty(len(D))
    cost_saved(D, first, weights, saved)
    np.testing.assert_allclose(saved, np.maximum(first - D, 0.0) @ weights)


@pytest.mark.parametrize("n", [3, 64, 150])
def test_faults_of_a_matrix_are_counted(n: int) -> None:
    D = cdist(np.arange(n)[:, None], np.arange(n)[:, None])
    assert square_faults(D, 0, n, 1e-8) == (0, 0)
    D[0, n - 1] += 1.0
    D[n - 1, n - 2] *= 1 + 1e-7
    assert square_faults(D, 0, n, 1e-8)[1] >= 2
    assert square_faults(D, 0, n, 0.9) == (0, 0)
    D[1, 2], D[2, 0] = np.nan, -1.0
    assert square_faults(D, 0, n, 1e-8)[0] == 2
