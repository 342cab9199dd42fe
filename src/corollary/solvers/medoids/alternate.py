"""k-medoids by alternation: assign points to medoids, move each medoid to the best point of its cluster, repeat."""

from __future__ import annotations

import numpy as np

from corollary.core.evidence import Status
from corollary.core.types import Array
from corollary.solvers.loop import Observer
from corollary.solvers.medoids.distances import Distances
from corollary.solvers.medoids.swaps import Log, Medoids, best_single


def alternate(
    distances: Distances,
    weights: Array,
    medoids: Array,
    *,
    tol: float,
    max_iter: int,
    observe: Observer | None = None,
) -> Medoids:
    """Alternate until no medoid gains more than ``tol`` of the cost by a move within its cluster."""
    if len(medoids) == 1:
        return best_single(distances, weights)
    log, status, gain, iteration = Log(), Status.MAX_ITER, np.inf, 0
    best = _assigned(distances, weights, medoids)
    try:
        while True:
            record = log.add(iteration, best.cost)
            moved, saved = _moved(distances, weights, best)
            gain = saved / best.cost if best.cost > 0 else 0.0
            if observe is not None and observe(record, best.copy):
                status = Status.BUDGET
                break
            if gain <= tol:
                status = Status.CONVERGED
                break
            if iteration == max_iter:
                break
            best = _assigned(distances, weights, moved)
            iteration += 1
    except KeyboardInterrupt:
        status, gain = Status.INTERRUPTED, np.inf
    best.gain, best.status, best.passes, best.history = gain, status, iteration, log.history
    return best


def _assigned(distances: Distances, weights: Array, medoids: Array) -> Medoids:
    table = distances.table(medoids)
    labels = np.argmin(table, axis=1).astype(np.int32)
    cost = float(weights @ table[np.arange(len(table)), labels])
    return Medoids(medoids, labels, cost, np.inf, Status.MAX_ITER)


def _moved(distances: Distances, weights: Array, state: Medoids) -> tuple[Array, float]:
    """The best point of each cluster, and what moving there saves before points change sides."""
    medoids, saved = state.points.copy(), 0.0
    for slot, old in enumerate(state.points):
        members = np.flatnonzero((state.labels == slot) & (weights > 0))
        if len(members) == 0:  # a medoid that coincides with another has no points of its own
            continue
        totals = distances.among(members) @ weights[members]
        here = totals[members == old]
        best = int(np.argmin(totals))
        if len(here) and totals[best] < here[0]:
            medoids[slot] = members[best]
            saved += float(here[0] - totals[best])
    return medoids, saved
