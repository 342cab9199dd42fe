"""Lloyd's iteration: rows to their nearest centre, centres to the middle of their rows, until nothing moves.

The answer is exactly that of the plain algorithm in float64, with ties to the first centre; float32 and bounds decide
only where their error is too small to change what float64 would say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, honest
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import Bounds
from corollary.solvers.kmeans.rows import KMeansRows
from corollary.solvers.kmeans.sources import as_rows
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, Run, run

ROUNDING = 1e-12  # the cost is known to about 1e-16 of the total sum of squares, times a few operations
RISE = "largest rise of the cost as a share of the total sum of squares"


@dataclass
class Partition:
    """Centres, labels and sums that belong together, and what was seen on the way; changed in place.

    ``rise`` is the largest rise of the cost between iterations, relative to the total sum of squares; ``repaired``
    counts clusters that had lost all rows. The end adds ``off_mean``, the largest distance of a centre to the middle of
    its rows in standard deviations, and ``empty``, the number of clusters without rows.
    """

    centres: Array
    labels: Array
    sums: Array
    bounds: Bounds | None
    cost: float = np.inf
    movement: float = np.inf
    settled: bool = False
    rise: float = 0.0
    repaired: int = 0
    off_mean: float = 0.0
    empty: int = 0


class Lloyd(Algorithm[Partition]):
    """Until labels stay, or the squared movement of all centres is at most ``tol`` times the mean variance."""

    name = "Lloyd's iteration"
    certificate_name = "squared movement of the centres relative to the mean variance"

    def __init__(self, rows: KMeansRows, start: Array, bounded: bool = True) -> None:
        self.rows, self.start, self.bounded = rows, start, bounded
        self.end: tuple[Partition, float] | None = None  # the answer and its cost

    def init(self) -> Partition:
        rows, k = self.rows, len(self.start)
        centres = np.array(self.start, dtype=rows.dtype).astype(np.float64)
        if rows.angular:
            length = np.sqrt(np.einsum("ij,ij->i", centres, centres))
            centres = centres / np.where(length > 0, length, 1.0)[:, None]
        labels = np.full(rows.n, -1, dtype=np.int32)
        return Partition(centres, labels, np.zeros((k, rows.d + 2)), rows.bounds(k) if self.bounded else None)

    def step(self, state: Partition) -> Partition:
        rows = self.rows
        change = rows.assign(state.centres, state.labels, state.bounds)
        state.sums += change.sums
        empty = np.flatnonzero(state.sums[:, -1] == 0)
        state.sums[empty] = 0.0  # what is left there is rounding
        repaired = self._repair(state, empty) if len(empty) else 0
        cost = rows.cost(state.sums)
        if state.cost < np.inf:
            state.rise = max(state.rise, (cost - state.cost) / rows.total if rows.total > 0 else 0.0)
        state.cost, state.repaired = cost, state.repaired + repaired
        after = rows.centres(state.sums, state.centres)
        lengths = np.sqrt((((after - state.centres) * rows.scale) ** 2).sum(axis=1))
        if state.bounds is not None:
            state.bounds.drift(lengths)
        state.centres = after
        state.settled = change.moved == 0 and repaired == 0
        squared = float(lengths @ lengths)
        state.movement = squared / rows.spread if rows.spread > 0 else squared
        return state

    def _repair(self, state: Partition, empty: Array) -> int:
        """Give each empty cluster the row that costs most where it is: the cost falls by at least that much."""
        rows, counts = self.rows, state.sums[:, -1].copy()
        distances, _ = rows.review(rows.centres(state.sums, state.centres), state.labels)
        costs = distances * rows.weights
        moving: list[int] = []
        for row in np.argsort(-costs, kind="stable")[: 2 * len(empty) + 8].tolist():
            if len(moving) == len(empty) or not costs[row] > 1e-14 * rows.total / rows.n:
                break
            if counts[state.labels[row]] > 1:
                counts[state.labels[row]] -= 1
                moving.append(row)
        if moving:
            chosen, target = np.array(moving), empty[: len(moving)].astype(np.int32)
            state.sums += rows.exchange(chosen, state.labels[chosen], target, len(state.sums))
            state.labels[chosen] = target
            if state.bounds is not None:
                state.bounds.forget(chosen)
        return len(moving)

    def measure(self, state: Partition) -> Measure | None:
        if state.cost == np.inf:
            return None
        return Measure(self.rows.unscaled(state.cost), state.movement, done=state.settled)

    def snapshot(self, state: Partition) -> tuple[Array, Array]:
        """Centres and labels."""
        return state.centres, state.labels.copy()

    def settle(self, state: Partition) -> Partition:
        return replace(state, bounds=None, settled=False)  # bounds and labels may have been half renewed

    def finish(self, state: Partition, measure: Measure) -> tuple[Partition, Measure]:
        """Labels that belong to the final centres, and measurements in float64."""
        rows = self.rows
        if not state.settled:
            rows.assign(state.centres, state.labels, state.bounds)
        distances, sums = rows.review(state.centres, state.labels)
        off = np.sqrt((((rows.centres(sums, state.centres) - state.centres) * rows.scale) ** 2).sum(axis=1).max())
        off_mean = float(off / np.sqrt(rows.spread)) if rows.spread > 0 else 0.0
        squared = float(rows.weights @ distances)
        inertia = rows.unscaled(squared / 2 if rows.angular else squared)
        found = replace(state, sums=sums, bounds=None, off_mean=off_mean, empty=int((sums[:, -1] == 0).sum()))
        self.end = found, inertia
        return found, replace(measure, objective=inertia)


def lloyd(
    X: Any,
    weights: Array,
    centres: Array,
    *,
    max_iter: int,
    tol: float,
    observe: Observer | None = None,
    metric: str = "euclidean",
    bounded: bool = True,
) -> Run[Partition]:
    """k-means on X (dense or sparse) from given centres."""
    with one_blas_thread():
        rows = as_rows(X, weights, metric == "cosine")
    return run(Lloyd(rows, centres, bounded), Rules(max_iter, tol, observe))


def evidence_of(found: Run[Partition], notes: tuple[str, ...]) -> Evidence:
    """The evidence: the last movement of the centres, or, if the cost ever rose, a certificate that fails."""
    state = found.state
    if state.repaired:
        times = "time" if state.repaired == 1 else "times"
        notes = (f"An empty cluster was given the costliest row {state.repaired} {times}.", *notes)
    facts = {
        RISE: state.rise,
        "largest distance of a centre to the mean of its rows, in standard deviations": state.off_mean,
        "clusters without rows": float(state.empty),
    }
    if state.rise > ROUNDING:
        rising = Certificate(Kind.CHECKED, RISE, state.rise, ROUNDING)
        found = replace(found, certificate=rising, status=honest(found.status, rising))
    return found.evidence(facts=facts, notes=notes)
