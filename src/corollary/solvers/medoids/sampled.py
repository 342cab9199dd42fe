"""k-medoids of a table too long for all its distances: swaps within samples, judged on all rows (CLARA)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corollary.core.evidence import Status
from corollary.core.parallel import block_rows, map_blocks
from corollary.core.types import Array
from corollary.solvers.distances import checked
from corollary.solvers.loop import Observer
from corollary.solvers.medoids.distances import between, stored_distances
from corollary.solvers.medoids.start import first_medoids
from corollary.solvers.medoids.swaps import Log, Medoids, eager_swaps

SAMPLE_ROWS = 2000


def sampled_swaps(
    X: Any,
    weights: Array,
    k: int,
    *,
    metric: Any,
    options: Mapping[str, Any],
    init: Any,
    draws: int,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
    observe: Observer | None = None,
) -> Medoids:
    """Eager swaps within ``draws`` samples; the medoids with the lowest cost on all rows win.

    Every sample after the first holds the best medoids so far, so it can only improve on them.
    """
    possible = np.flatnonzero(weights > 0)
    size = min(len(possible), max(SAMPLE_ROWS, 50 * k))
    best: Medoids | None = None
    log = Log()
    for draw in range(draws):
        known = np.empty(0, dtype=np.int64) if best is None else best.points
        rest = random.permutation(np.setdiff1d(possible, known))[: size - len(known)]
        sample = np.sort(np.concatenate([known, rest]).astype(np.int64))
        distances = stored_distances(X[sample], metric, options)
        start = first_medoids(distances, weights[sample], k, init, random)
        found = eager_swaps(distances, weights[sample], start, tol=tol, max_iter=max_iter)
        points = sample[found.points]
        labels, cost = assigned(X, weights, X[points], metric, options)
        if best is None or cost < best.cost:
            best = Medoids(points, labels, cost, found.gain, found.status, found.passes, found.swaps)
        record = log.add(draw + 1, best.cost)
        if found.status is Status.INTERRUPTED:
            best.status = Status.INTERRUPTED
            break
        if observe is not None and observe(record, best.copy):
            best.status = Status.BUDGET
            break
    assert best is not None
    best.history = log.history
    if best.status is Status.EXACT:
        best.status = Status.CONVERGED
    return best


def assigned(X: Any, weights: Array, centers: Any, metric: Any, options: Mapping[str, Any]) -> tuple[Array, float]:
    """The nearest centre of each row and the total cost, in blocks."""
    size = block_rows(X.shape[0], 8 * (X.shape[1] + centers.shape[0]))
    labels = np.empty(X.shape[0], dtype=np.int32)

    def task(start: int, stop: int) -> float:
        table = checked(between(X[start:stop], centers, metric, options))
        labels[start:stop] = np.argmin(table, axis=1)
        return float(weights[start:stop] @ table.min(axis=1))

    return labels, sum(map_blocks(task, X.shape[0], size))
