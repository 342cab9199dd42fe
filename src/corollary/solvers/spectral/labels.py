"""From eigenvectors to clusters: k-means, a rotation to indicators, or pivoted QR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import qr

from corollary.core.evidence import Status
from corollary.core.types import Array
from corollary.solvers.kmeans.lloyd import lloyd
from corollary.solvers.kmeans.seeding import plus_plus

Watch = Callable[[int, float, Array], bool]  # (restart, objective, labels) -> stop


def by_kmeans(
    vectors: Array, k: int, n_init: int, random: Any, watch: Watch | None = None
) -> tuple[Array, list[float], Status]:
    """Labels of the best of ``n_init`` runs of k-means on the rows, the inertia of each run, and how they ended."""
    weights = np.ones(len(vectors))
    best: Any = None
    costs: list[float] = []
    try:
        for restart in range(n_init):
            found = lloyd(vectors, weights, plus_plus(vectors, weights, k, random), max_iter=300, tol=1e-4)
            costs.append(float(found.measure.objective))
            if best is None or found.measure.objective < best.measure.objective:
                best = found
            if watch is not None and watch(restart + 1, float(best.measure.objective), np.asarray(best.state.labels)):
                return np.asarray(best.state.labels), costs, Status.BUDGET
    except KeyboardInterrupt:
        if best is None:
            raise
        return np.asarray(best.state.labels), costs, Status.INTERRUPTED
    return np.asarray(best.state.labels), costs, Status.CONVERGED


def by_rotation(vectors: Array, random: Any, max_iter: int = 100, restarts: int = 10) -> tuple[Array, float]:
    """Turn the eigenvectors towards indicators (Yu and Shi, 2003); labels, and how far from indicators they stay.

    Alternates between the nearest indicators of the rows, by the largest entry, and the nearest rotation, by an SVD.
    """
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(norm > 0, norm, 1.0)
    k = rows.shape[1]
    best, labels = np.inf, np.zeros(len(rows), dtype=np.int32)
    for _ in range(restarts):
        turn = _spread_rows(rows, k, random)
        last = -1.0
        for _ in range(max_iter):
            chosen = np.argmax(rows @ turn, axis=1)
            U, singular, Vt = np.linalg.svd(np.eye(k)[chosen].T @ rows)
            agreement = float(singular.sum())
            turn = (U @ Vt).T
            if abs(agreement - last) <= 1e-12 * len(rows):
                break
            last = agreement
        distance = 2.0 * (len(rows) - agreement)
        if distance < best:
            best, labels = distance, chosen.astype(np.int32)
    return labels, best


def _spread_rows(rows: Array, k: int, random: Any) -> Array:
    """k rows as columns: one at random, then each time the one that is least along those taken so far."""
    turn = np.empty((rows.shape[1], k))
    turn[:, 0] = rows[random.randint(len(rows))]
    along = np.zeros(len(rows))
    for j in range(1, k):
        along += np.abs(rows @ turn[:, j - 1])
        turn[:, j] = rows[np.argmin(along)]
    return turn


def by_pivots(vectors: Array) -> Array:
    """Pivoted QR picks a row for each cluster; the polar factor of those turns the rest (Damle, Minden, Ying, 2019)."""
    k = vectors.shape[1]
    pivots = qr(vectors.T, pivoting=True, mode="r")[1][:k]
    U, _, Vt = np.linalg.svd(vectors[pivots].T)
    return np.argmax(np.abs(vectors @ (U @ Vt)), axis=1).astype(np.int32)
