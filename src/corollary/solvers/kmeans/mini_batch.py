"""Centres as running means over batches of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.kmeans.batches import Batches
from corollary.solvers.kmeans.nearest import ClusterSums, summarize
from corollary.solvers.kmeans.seeding import rows_of
from corollary.solvers.loop import Algorithm, Measure

BATCHES = 10  # whose movements are averaged
SETTLED = 0.05  # the share of the cost that one exact iteration may still save


@dataclass(frozen=True)
class Running:
    """Centres, each the mean of the ``counts`` rows that it was given in so many ``steps``.

    ``cost`` (a unit of weight) is averaged over about ten batches, since one says little, and ``movement`` (squared, of
    all centres, relative to the mean variance) over the ``recent`` ten: the first are far larger. ``waited`` counts
    batches since the least cost so far, ``best``. ``fed`` counts rows since centres that hardly any rows come to were
    last given a new place. The end adds the labels.
    """

    centres: Array
    counts: Array
    steps: int = 0
    last: ClusterSums | None = None
    cost: float = np.inf
    movement: float = np.inf
    recent: tuple[float, ...] = ()
    best: float = np.inf
    waited: int = 0
    fed: int = 0
    labels: Array | None = None

    def learn(self, X: Any, weights: Array, variance: float = 1.0) -> Running:
        """Move the centres by one batch."""
        summary = summarize(X, weights, self.centres)
        counts = self.counts + summary.weight
        moves = summary.offsets / np.where(counts > 0, counts, 1.0)[:, None]
        squared, cost = float((moves * moves).sum()) / (variance or 1.0), summary.cost / (float(weights.sum()) or 1.0)
        recent = (*self.recent[1 - BATCHES :], squared)
        smooth = cost if self.cost == np.inf else 0.9 * self.cost + 0.1 * cost
        return Running(
            centres=self.centres + moves,
            counts=counts,
            steps=self.steps + 1,
            last=summary,
            cost=smooth,
            movement=float(np.mean(recent)),
            recent=recent,
            best=min(self.best, smooth),
            waited=0 if smooth < self.best else self.waited + 1,
            fed=self.fed + X.shape[0],
        )

    def reassigned(self, X: Any, ratio: float, rng: np.random.RandomState) -> Running:
        """From time to time, move centres that get hardly any rows to rows of this batch."""
        if self.fed < 10 * len(self.counts):
            return self
        poor = np.flatnonzero(self.counts < ratio * self.counts.max())[: X.shape[0] // 2]
        if len(poor) == 0:
            return replace(self, fed=0)
        centres, counts = self.centres.copy(), self.counts.copy()
        centres[poor] = rows_of(X, np.sort(rng.choice(X.shape[0], len(poor), replace=False)))
        # as if it had seen as many rows as the poorest of the others: it may still move quickly
        counts[poor] = counts[np.setdiff1d(np.arange(len(counts)), poor)].min()
        return replace(self, centres=centres, counts=counts, fed=0)


class MiniBatch(Algorithm[Running]):
    """Batch after batch, until the centres move less than ``still`` or the cost has not fallen for ``patience``.

    What a step costs is known of its batch only, so the certificate is worked out at the end, for the centres that are
    delivered: from all rows if these are labelled, else from one more batch.
    """

    name = "mini-batch k-means"

    def __init__(
        self,
        batches: Batches,
        start: Array,
        rng: np.random.RandomState,
        *,
        still: float,
        waiting: int | None,
        ratio: float,
        label: bool,
    ) -> None:
        self.batches, self.start, self.rng, self.variance = batches, start, rng, 1.0
        self.still, self.waiting, self.ratio, self.label = still, waiting, ratio, label
        where = "" if label else ", in one more batch"
        self.certificate_name = f"share of the cost that the means of their rows would save{where}"

    def init(self) -> Running:
        self.variance = self.batches.mean_variance()
        return Running(self.start, np.zeros(len(self.start)))

    def step(self, state: Running) -> Running:
        X, weights = self.batches.draw()
        return state.learn(X, weights, self.variance).reassigned(X, self.ratio, self.rng)

    def measure(self, state: Running) -> Measure | None:
        if state.last is None:
            return None
        objective = state.last.cost / (float(state.last.weight.sum()) or 1.0) * self.batches.mass
        done = self.idle(state) or self.tired(state)
        return Measure(objective, done=done, more={"movement": state.movement})

    def idle(self, state: Running) -> bool:
        """Whether the centres hardly move."""
        return self.still > 0 and state.movement <= self.still

    def tired(self, state: Running) -> bool:
        """Whether the cost has not fallen for too long."""
        return self.waiting is not None and state.waited >= self.waiting

    def snapshot(self, state: Running) -> Array:
        """The centres."""
        return state.centres

    def finish(self, state: Running, measure: Measure) -> tuple[Running, Measure]:
        """The centres in the dtype of the rows, unless rounding them would cost what is claimed."""
        narrow = state.centres.astype(self.batches.dtype).astype(np.float64)
        judge = self._judged if self.label else self._sampled
        found, cost, saving = judge(state, narrow)
        if saving > SETTLED and (narrow != state.centres).any():
            found, cost, saving = judge(state, state.centres)
        return found, replace(measure, objective=measure.objective if cost is None else cost, residual=saving)

    def _judged(self, state: Running, centres: Array) -> tuple[Running, float | None, float]:
        labels, cost, sums = self.batches.judge(centres)
        return replace(state, centres=centres, labels=labels), cost, sums.saving

    def _sampled(self, state: Running, centres: Array) -> tuple[Running, float | None, float]:
        return replace(state, centres=centres), None, summarize(*self.batches.draw(), centres).saving
