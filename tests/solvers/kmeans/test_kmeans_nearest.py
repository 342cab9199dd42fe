"""Labels, distances and summaries for given centres; split-and-merge moves."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse

from corollary.core.evidence import Status
from corollary.solvers.kmeans.lloyd import Lloyd, lloyd
from corollary.solvers.kmeans.moves import Moves, starts_and_moves
from corollary.solvers.kmeans.nearest import distances_to, nearest, summarize
from corollary.solvers.kmeans.sources import as_rows
from corollary.solvers.loop import Rules, best_of, run


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 4)) + 100
    return X, rng.integers(0, 3, 1_000).astype(float), X[:9] + 0.1


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_nearest(data, make):
    X, _, C = data
    labels, squared = nearest(make(X), C)
    D = ((X[:, None] - C) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels, D.argmin(axis=1))
    np.testing.assert_allclose(squared, D.min(axis=1), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(distances_to(make(X), C), np.sqrt(D), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_nearest_direction(data, make):
    X, C = data[0] - 100, data[2] - 100
    cosines = (X / np.linalg.norm(X, axis=1)[:, None]) @ (C / np.linalg.norm(C, axis=1)[:, None]).T
    np.testing.assert_allclose(distances_to(make(X), C, True), 1 - cosines, atol=1e-12)
    unit = C / np.linalg.norm(C, axis=1)[:, None]
    labels, distances = nearest(make(X), unit, True)
    np.testing.assert_array_equal(labels, cosines.argmax(axis=1))
    np.testing.assert_allclose(distances, 1 - cosines.max(axis=1), atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_blocks_are_the_whole(data, make):
    X, weights, C = data
    cuts = [0, 1, 300, 777, 1_000]
    parts = [summarize(make(X[a:b]), weights[a:b], C) for a, b in itertools.pairwise(cuts) if weights[a:b].any()]
    merged = pickle.loads(pickle.dumps(parts[0]))
    for part in parts[1:]:
        merged = merged + part
    whole = summarize(make(X), weights, C)
    np.testing.assert_allclose(merged.weight, whole.weight)
    np.testing.assert_allclose(merged.finish(C), whole.finish(C), rtol=1e-13)
    np.testing.assert_allclose(merged.cost, whole.cost, rtol=1e-10)
    one = lloyd(make(X), weights, C, max_iter=1, tol=0)
    np.testing.assert_allclose(whole.finish(C), one.state.centres, rtol=1e-12)


@pytest.mark.parametrize("angular", [False, True])
def test_moves_only_improve(angular):
    rng = np.random.default_rng(1)
    spots = np.array([[0, 0], [10, 0], [0, 10], [10, 10], [50, 50], [60, 40]], dtype=float) + 5
    X = np.repeat(spots, 100, axis=0) + rng.normal(size=(600, 2))
    rows = as_rows(X, np.ones(600), angular)
    start = X[[0, 1, 2, 3, 500, 501]]  # a bad one: four centres in one spot
    rules, moves = Rules(max_iter=100, tol=0), Moves(rows, np.random.RandomState(0))
    found = run(Lloyd(rows, start), rules)
    better = best_of(starts_and_moves(iter([Lloyd(rows, start)]), moves), rules)
    assert better.measure.objective <= found.measure.objective
    assert 0 <= moves.kept <= moves.tried
    assert len(better.ends) == 1 + moves.tried
    if not angular:
        assert moves.kept > 0
        assert better.measure.objective < 1_400
        assert better.status is Status.CONVERGED
