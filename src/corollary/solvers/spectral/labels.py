"""From eigenvectors to clusters: k-means, a rotation to indicators, or pivoted QR; or from components of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr
from sklearn.metrics import pairwise_distances_argmin_min

from corollary.core.types import Array
from corollary.solvers.kmeans.lloyd import Lloyd, Partition
from corollary.solvers.kmeans.seeding import plus_plus
from corollary.solvers.kmeans.sources import as_rows
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, Run, best_of

TOL = 1e-4  # of k-means


def by_kmeans(vectors: Array, k: int, n_init: int, random: Any, observe: Observer | None = None) -> Run[Partition]:
    """The best of ``n_init`` runs of k-means on the rows."""
    weights = np.ones(len(vectors))
    rows = as_rows(vectors, weights)
    starts = (Lloyd(rows, plus_plus(vectors, weights, k, random), tol=TOL) for _ in range(n_init))
    return best_of(starts, Rules(max_iter=300, tol=TOL, observe=observe))


@dataclass(frozen=True)
class Turned:
    """A rotation, the largest entry of each turned row, and how well indicators of these agree with the rows."""

    turn: Array
    labels: Array
    agreement: float = -1.0
    gained: float = np.inf


class Rotation(Algorithm[Turned]):
    """Turn the eigenvectors towards indicators (Yu and Shi, 2003).

    Alternates between the nearest indicators of the rows, by the largest entry, and the nearest rotation, by an SVD.
    The objective is the squared distance of the turned rows to indicators.
    """

    name = "rotation to indicators"
    certificate_name = "change of the agreement with indicators"

    def __init__(self, rows: Array, start: Array) -> None:
        self.rows, self.start = rows, start

    def init(self) -> Turned:
        return Turned(self.start, np.zeros(len(self.rows), dtype=np.int32))

    def step(self, state: Turned) -> Turned:
        chosen = np.argmax(self.rows @ state.turn, axis=1)
        U, singular, Vt = np.linalg.svd(np.eye(self.rows.shape[1])[chosen].T @ self.rows)
        agreement = float(singular.sum())
        return Turned((U @ Vt).T, chosen.astype(np.int32), agreement, abs(agreement - state.agreement))

    def measure(self, state: Turned) -> Measure | None:
        if state.gained == np.inf:
            return None
        return Measure(2.0 * (len(self.rows) - state.agreement), state.gained / len(self.rows))

    def snapshot(self, state: Turned) -> tuple[Array, Array]:
        """The rotation and the labels."""
        return state.turn, state.labels


def by_rotation(vectors: Array, random: Any, observe: Observer | None = None) -> Run[Turned]:
    """The best of ten rotations, each from other rows."""
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(norm > 0, norm, 1.0)
    return best_of(_rotations(rows, 10, random), Rules(max_iter=100, tol=1e-12, observe=observe))


def _rotations(rows: Array, count: int, random: Any) -> Iterator[Rotation]:
    """From k rows as columns: one at random, then each time the one that is least along those taken so far."""
    k = rows.shape[1]
    for _ in range(count):
        turn = np.empty((k, k))
        turn[:, 0] = rows[random.randint(len(rows))]
        along = np.zeros(len(rows))
        for j in range(1, k):
            along += np.abs(rows @ turn[:, j - 1])
            turn[:, j] = rows[np.argmin(along)]
        yield Rotation(rows, turn)


def by_pivots(vectors: Array) -> Array:
    """Pivoted QR picks a row for each cluster; the polar factor of those turns the rest (Damle, Minden, Ying, 2019)."""
    k = vectors.shape[1]
    pivots = qr(vectors.T, pivoting=True, mode="r")[1][:k]
    U, _, Vt = np.linalg.svd(vectors[pivots].T)
    return np.argmax(np.abs(vectors @ (U @ Vt)), axis=1).astype(np.int32)


def by_components(components: Array, k: int, X: Any | None) -> Array:
    """Labels 0 … k − 1: the k largest components (numbered by size) stay, each other one joins the nearest of them.

    Nearest is the component of the nearest row of X; without rows, the largest one.
    """
    labels = components.astype(np.int32)
    loose = np.flatnonzero(components >= k)
    if len(loose) == 0:
        return labels
    if X is None:
        labels[loose] = 0
        return labels
    kept = np.flatnonzero(components < k)
    nearest, distance = pairwise_distances_argmin_min(X[loose], X[kept])
    order = np.lexsort((distance, components[loose]))
    _, first = np.unique(components[loose][order], return_index=True)
    target = dict(zip(components[loose][order][first], components[kept[nearest[order][first]]], strict=True))
    labels[loose] = [target[c] for c in components[loose]]
    return labels
