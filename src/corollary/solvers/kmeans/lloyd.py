"""Lloyd's iteration: rows to their nearest centre, centres to the middle of their rows, until nothing moves.

The answer is exactly that of the plain algorithm in float64, with ties to the first centre; float32 and bounds decide
only where they can prove what float64 would say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.evidence import Status
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array
from corollary.solvers.kmeans.dense import DenseRows
from corollary.solvers.kmeans.old_log import Log
from corollary.solvers.kmeans.rows import Rows
from corollary.solvers.kmeans.sparse import SparseRows
from corollary.solvers.loop import Observer


@dataclass(frozen=True)
class Clustering:
    """What Lloyd's iteration found, and what was seen on the way.

    ``rise`` is the largest rise of the cost between iterations and ``off_mean`` the largest distance of a centre to
    the middle of its rows, both relative to the spread of the data; ``repaired`` counts clusters that had lost all
    rows, ``empty`` those that have none in the end.
    """

    centres: Array
    labels: Array
    inertia: float
    n_iter: int
    history: dict[str, list[float]]
    status: Status
    rise: float
    off_mean: float
    movement: float
    repaired: int
    empty: int


def as_rows(X: Any, weights: Array, angular: bool = False) -> Rows:
    """Wrap a validated array or SciPy sparse matrix."""
    return SparseRows(X, weights, angular) if sparse.issparse(X) else DenseRows(np.asarray(X), weights, angular)


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
) -> Clustering:
    """k-means on X (dense or sparse) from given centres; see :func:`iterate`."""
    with one_blas_thread():
        rows = as_rows(X, weights, metric == "cosine")
        return iterate(rows, centres, max_iter=max_iter, tol=tol, observe=observe, bounded=bounded)


def iterate(
    rows: Rows, centres: Array, *, max_iter: int, tol: float, observe: Observer | None = None, bounded: bool = True
) -> Clustering:
    """Run until labels stay, or the squared movement of all centres is at most ``tol`` times the mean variance."""
    state = _State(rows, centres, bounded)
    log, status = Log(), Status.MAX_ITER
    try:
        for iteration in range(1, max_iter + 1):
            movement = state.step()
            record = log.add(iteration, rows.unscaled(state.cost), movement)
            if state.settled or movement <= tol:
                status = Status.CONVERGED
                break
            if observe is not None and observe(record, lambda: state.centres):
                status = Status.BUDGET
                break
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        state.bounds = None  # they may have been half renewed
        state.settled = False
    return state.finish(log, status)


class _State:
    """Centres, labels and sums that belong together."""

    def __init__(self, rows: Rows, centres: Array, bounded: bool) -> None:
        self.rows = rows
        self.centres = np.array(centres, dtype=rows.X.dtype).astype(np.float64)
        if rows.angular:
            length = np.sqrt(np.einsum("ij,ij->i", self.centres, self.centres))
            self.centres = self.centres / np.where(length > 0, length, 1.0)[:, None]
        self.labels = np.full(rows.n, -1, dtype=np.int32)
        self.sums = np.zeros((len(centres), rows.d + 2))
        self.bounds = rows.bounds(len(centres)) if bounded else None
        self.cost, self.rise, self.repaired, self.movement = np.inf, 0.0, 0, np.inf
        self.settled = False

    def step(self) -> float:
        """One iteration; how far all centres moved, squared, relative to the mean variance of the columns."""
        rows = self.rows
        change, moved = rows.assign(self.centres, self.labels, self.bounds)
        self.sums += change
        empty = np.flatnonzero(self.sums[:, -1] == 0)
        self.sums[empty] = 0.0  # what is left there is rounding
        repaired = self._repair(empty) if len(empty) else 0
        cost = rows.cost(self.sums)
        if self.cost < np.inf:
            self.rise = max(self.rise, (cost - self.cost) / rows.total if rows.total > 0 else 0.0)
        self.cost, self.repaired = cost, self.repaired + repaired
        after = rows.centres(self.sums, self.centres)
        lengths = np.sqrt((((after - self.centres) * rows.scale) ** 2).sum(axis=1))
        if self.bounds is not None:
            self.bounds.drift(lengths)
        self.centres = after
        self.settled = moved == 0 and repaired == 0
        squared = float(lengths @ lengths)
        self.movement = squared / rows.spread if rows.spread > 0 else squared
        return self.movement

    def _repair(self, empty: Array) -> int:
        """Give each empty cluster the row that costs most where it is: the cost falls by at least that much."""
        rows = self.rows
        distances, _ = rows.review(rows.centres(self.sums, self.centres), self.labels)
        costs = distances * rows.weights
        repaired = 0
        for row in np.argsort(-costs, kind="stable")[: 2 * len(empty) + 8]:
            if repaired == len(empty) or not costs[row] > 1e-14 * rows.total / rows.n:
                break
            own = self.labels[row]
            if self.sums[own, -1] <= 1:
                continue
            moving, target = np.array([row]), np.array([empty[repaired]], dtype=np.int32)
            self.sums += rows.exchange(moving, self.labels[moving], target, len(self.sums))
            self.labels[row] = target[0]
            if self.bounds is not None:
                self.bounds.forget(moving)
            repaired += 1
        return repaired

    def finish(self, log: Log, status: Status) -> Clustering:
        """Labels that belong to the final centres, and measurements in float64."""
        rows = self.rows
        if not self.settled:
            rows.assign(self.centres, self.labels, self.bounds)
        distances, sums = rows.review(self.centres, self.labels)
        off = np.sqrt((((rows.centres(sums, self.centres) - self.centres) * rows.scale) ** 2).sum(axis=1).max())
        squared = float(rows.weights @ distances)
        return Clustering(
            centres=self.centres,
            labels=self.labels,
            inertia=rows.unscaled(squared / 2 if rows.angular else squared),
            n_iter=len(log.history["iteration"]),
            history=log.history,
            status=status,
            rise=self.rise,
            off_mean=float(off / np.sqrt(rows.spread)) if rows.spread > 0 else 0.0,
            movement=self.movement,
            repaired=self.repaired,
            empty=int((sums[:, -1] == 0).sum()),
        )
