"""Lloyd's iteration: rows to their nearest centre, centres to the middle of their rows, until nothing moves.

The answer is exactly that of the plain algorithm in float64, with ties to the first centre; float32 and bounds decide
only where their error is too small to change what float64 would say.

The iteration keeps sums about a common shift, from which rows are taken and to which they are added: quick, but a row
far from all others leaves its rounding there. What is claimed is therefore measured at the end, for the centres that
are delivered, from all rows: how much of the cost one exact step more would save. Where the iteration had come to rest
and this is more than the tolerance, exact steps follow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary._compiled.kmeans.lloyd import ROUNDING
from corollary.core.evidence import Certificate, Evidence, Kind, honest
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import Bounds
from corollary.solvers.kmeans.rows import KMeansRows
from corollary.solvers.kmeans.sources import as_rows
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, Run, run

LEAST = 1e-9  # a smaller saving is not asked for: the centres themselves are rounded
VANISHED = 2.0**-900  # squares of this mean size, in units of the farthest row, have lost digits
EXACT_STEPS = 50  # at most
COINCIDE = 1e-24  # squared, relative to the distance from zero: what the rounding of a mean can amount to
RISE = "largest rise of the cost as a share of the total sum of squares"


@dataclass
class Partition:
    """Centres, labels and sums that belong together, and what was seen on the way; changed in place.

    ``saved`` is what the last iteration took off the (scaled) cost, ``movement`` the squared movement of all centres
    relative to the mean variance. ``rise`` is the largest rise of the cost between iterations, relative to the total
    sum of squares; ``repaired`` counts clusters that had lost all rows. The end adds ``off_mean``, the largest distance
    of a centre to the middle of its rows in standard deviations, and ``empty``, the number of clusters without rows.
    """

    centres: Array
    labels: Array
    sums: Array
    bounds: Bounds | None
    cost: float = np.inf
    movement: float = np.inf
    saved: float = np.inf
    settled: bool = False
    rise: float = 0.0
    repaired: int = 0
    off_mean: float = 0.0
    empty: int = 0


class Lloyd(Algorithm[Partition]):
    """Until labels stay, or hardly anything moves. As many iterations as are ``ahead`` may be taken at once.

    That is when the squared movement of all centres is at most ``tol`` times the mean variance, and saved at most that
    share of the cost: beside a single row far away any movement is small relative to the variance.
    """

    name = "Lloyd's iteration"
    certificate_name = "share of the cost that one more exact Lloyd step saves"

    def __init__(self, rows: KMeansRows, start: Array, bounded: bool = True, tol: float = 0.0, ahead: int = 1) -> None:
        self.rows, self.start, self.bounded, self.tol = rows, start, bounded, tol
        self.ahead, self.known = ahead, deque[list[float]]()  # of iterations that were taken already
        self.end: tuple[Partition, float] | None = None  # the answer and its cost

    def init(self) -> Partition:
        rows, k = self.rows, len(self.start)
        centres = rows.heads(np.array(self.start, dtype=rows.dtype, order="C").astype(np.float64))
        labels = np.full(rows.n, -1, dtype=np.int32)
        return Partition(centres, labels, np.zeros((k, rows.d + 2)), rows.bounds(k) if self.bounded else None)

    def step(self, state: Partition) -> Partition:
        if not self.known:
            taken = state.centres, state.sums, state.labels, state.bounds
            found = self.rows.advance(self.ahead, self.tol, *taken)
            if found is None:
                change = self.rows.assign(state.centres, state.labels, state.bounds)
                state.sums += change.sums
                return self._moved(state, change.moved)
            self.known.extend(found.tolist())
            self.ahead = max(1, self.ahead - len(found))
        cost, movement, saved, moved, empty, _ = self.known.popleft()
        if empty:
            return self._moved(state, int(moved))
        self._note(state, cost)
        state.movement, state.saved, state.settled = movement, saved, moved == 0
        return state

    def _note(self, state: Partition, cost: float) -> None:
        total = self.rows.total
        if state.cost < np.inf:
            state.rise = max(state.rise, (cost - state.cost) / total if total > 0 else 0.0)
        state.cost = cost

    def _moved(self, state: Partition, moved: int) -> Partition:
        """Centres to the middle of their rows, of which so many have moved."""
        rows = self.rows
        empty = np.flatnonzero(state.sums[:, -1] == 0)
        state.sums[empty] = 0.0  # what is left there is rounding
        repaired = self._repair(state, empty) if len(empty) else 0
        self._note(state, rows.cost(state.sums))
        state.repaired += repaired
        after = rows.centres(state.sums, state.centres)
        lengths = np.sqrt((((rows.heads(after) - rows.heads(state.centres)) * rows.scale) ** 2).sum(axis=1))
        if state.bounds is not None:
            state.bounds.drift(lengths)
        state.centres = after
        state.settled = moved == 0 and repaired == 0
        squared, state.saved = float(lengths @ lengths), float(state.sums[:, rows.d] @ (lengths * lengths))
        state.movement = squared / rows.spread if rows.spread > 0 else squared
        return state

    def _repair(self, state: Partition, empty: Array) -> int:
        """Give each empty cluster the row that costs most where it is: the cost falls by at least that much."""
        rows, counts = self.rows, state.sums[:, -1].copy()
        distances, _ = rows.review(rows.centres(state.sums, state.centres), state.labels)
        costs = distances * rows.weights
        far = COINCIDE * np.einsum("ij,ij->i", state.centres * rows.scale, state.centres * rows.scale)
        moving: list[int] = []
        for row in np.argsort(-costs, kind="stable")[: 2 * len(empty) + 8].tolist():
            if len(moving) == len(empty) or not costs[row] > rows.weights[row] * far[state.labels[row]]:
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
        done = state.settled or self._at_rest(state)
        return Measure(self.rows.unscaled(state.cost), done=done, more={"movement": state.movement})

    def _at_rest(self, state: Partition) -> bool:
        known = state.cost - ROUNDING * self.rows.total  # a cost below its rounding is not known
        return state.movement <= self.tol and state.saved <= self.tol * max(known, 0.0)

    def snapshot(self, state: Partition) -> tuple[Array, Array]:
        """Centres and labels."""
        return state.centres.copy(), state.labels.copy()

    def settle(self, state: Partition) -> Partition:
        return replace(state, bounds=None, settled=False)  # bounds and labels may have been half renewed

    def finish(self, state: Partition, measure: Measure) -> tuple[Partition, Measure]:
        """Labels that belong to the final centres, and measurements in float64."""
        rows = self.rows
        if not state.settled:
            rows.assign(state.centres, state.labels, state.bounds)
        seen = _Seen.at(rows, state.centres, state.labels)
        if state.settled or self._at_rest(state):
            seen = self._polished(seen)
        away = (rows.means(seen.centres, seen.sums) - rows.heads(seen.centres)) * rows.scale
        off = np.sqrt((away**2).sum(axis=1).max())
        found = replace(
            state,
            centres=seen.centres,
            labels=seen.labels,
            sums=seen.sums,
            bounds=None,
            cost=seen.cost / 2 if rows.angular else seen.cost,
            off_mean=float(off / np.sqrt(rows.spread)) if rows.spread > 0 else 0.0,
            empty=int((seen.sums[:, -1] == 0).sum()),
        )
        self.end = found, rows.unscaled(found.cost)
        return found, replace(measure, objective=self.end[1], residual=seen.share)

    def certify(self, measure: Measure, tol: float) -> Certificate:
        return super().certify(measure, max(tol, LEAST))

    def _polished(self, seen: _Seen) -> _Seen:
        """After exact steps in float64, as long as one saves more than the tolerance; few fits need any."""
        for _ in range(EXACT_STEPS):
            if seen.share <= max(self.tol, LEAST):
                break
            centres, labels = self.rows.means(seen.centres, seen.sums), seen.labels.copy()
            self.rows.assign(centres, labels, None)
            after = _Seen.at(self.rows, centres, labels)
            if not after.cost < seen.cost:
                break
            seen = after
        return seen


@dataclass(frozen=True)
class _Seen:
    """Centres and labels with what a review of all rows says: the sums about the centres and the (scaled) cost.

    ``share`` of the cost would be saved by moving the centres to the means of their rows. It is not known where the
    squares of all that is left vanish beside a single row so far away.
    """

    centres: Array
    labels: Array
    sums: Array
    cost: float
    share: float

    @classmethod
    def at(cls, rows: KMeansRows, centres: Array, labels: Array) -> _Seen:
        distances, sums = rows.review(centres, labels)
        cost, saving = float(rows.weights @ distances), rows.saving(centres, sums)
        if not cost > VANISHED * rows.mass and (sums[:, : rows.d] != 0).any():
            return cls(centres, labels, sums, cost, np.inf)
        return cls(centres, labels, sums, cost, saving / cost if cost != 0 else 0.0)


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
    ahead = max_iter if observe is None else 1
    return run(Lloyd(rows, centres, bounded, tol, ahead), rules(max_iter, tol, observe))


def rules(max_iter: int, tol: float, observe: Observer | None = None) -> Rules:
    """When to stop: the tolerance of the certificate is ``tol``, but no less than what rounding leaves."""
    return Rules(max_iter, max(tol, LEAST), observe)


def evidence_of(found: Run[Partition], notes: tuple[str, ...], more: Mapping[str, float] | None = None) -> Evidence:
    """The evidence: what one more step would save, or, if the cost ever rose, a certificate that fails."""
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
    return found.evidence(facts=facts | dict(more or {}), notes=notes)
