"""k-medoids of a table too long for all its distances: swaps within samples, judged on all rows (CLARA)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate
from corollary.core.parallel import block_rows, map_blocks
from corollary.core.types import Array
from corollary.solvers.distance_tables import stored_distances
from corollary.solvers.distances import between, checked
from corollary.solvers.loop import Algorithm, Measure, Rules, Run, run
from corollary.solvers.medoids.start import first_medoids
from corollary.solvers.medoids.swaps import EagerSwaps, Medoids, best_single, with_rounding

SAMPLE_ROWS = 2000


@dataclass(frozen=True)
class Draws(Medoids):
    """The best medoids of the samples so far, and the largest relative gain of any swap within their sample."""

    gain: float


class Sampled(Algorithm[Draws]):
    """Eager swaps within one sample after the other; the medoids with the lowest cost on all rows are kept.

    Every sample after the first holds the best medoids so far, so it can only improve on them. ``rules`` are those of
    the search within a sample.
    """

    name = "eager swaps within samples"

    def __init__(
        self,
        X: Any,
        weights: Array,
        k: int,
        *,
        metric: Any,
        options: Mapping[str, Any],
        init: Any,
        rules: Rules,
        random: np.random.RandomState,
    ) -> None:
        self.X, self.weights, self.k, self.metric, self.options = X, weights, k, metric, options
        self.how, self.rules, self.random, self.rounding = init, rules, random, 0.0
        self.possible = np.flatnonzero(weights > 0)
        self.size = min(len(self.possible), max(SAMPLE_ROWS, 50 * k))
        other = "other medoid" if k == 1 else "swap"
        self.certificate_name = f"relative gain of any {other} within the sample"

    def init(self) -> Draws:
        none = np.empty(0, dtype=np.int64)
        return Draws(none, none, np.inf, np.inf)

    def step(self, state: Draws) -> Draws:
        known = state.points
        rest = self.random.permutation(np.setdiff1d(self.possible, known))[: self.size - len(known)]
        sample = np.sort(np.concatenate([known, rest]).astype(np.int64))
        found = self._within(sample).uninterrupted()  # what earlier samples gave is kept
        points = sample[found.state.answer().points]
        labels, cost = self._judged(self.X[points])
        if len(known) and not cost < state.cost:
            return state
        return Draws(points, labels, cost, float(found.certificate.value) - self.rounding)

    def _within(self, sample: Array) -> Run[Any]:
        distances, weights = stored_distances(self.X[sample], self.metric, self.options), self.weights[sample]
        self.rounding = distances.rounding
        if self.k == 1:
            return best_single(distances, weights, self.rules.tol)
        start = first_medoids(distances, weights, self.k, self.how, self.random)
        return run(EagerSwaps(distances, weights, start, self.rules.tol), self.rules)

    def _judged(self, centers: Any) -> tuple[Array, float]:
        """The nearest centre of each row and the total cost, in blocks."""
        X, weights = self.X, self.weights
        labels = np.empty(X.shape[0], dtype=np.int32)

        def task(start: int, stop: int) -> float:
            table = checked(between(X[start:stop], centers, self.metric, self.options))
            labels[start:stop] = np.argmin(table, axis=1)
            return float(weights[start:stop] @ table.min(axis=1))

        return labels, sum(map_blocks(task, X.shape[0], block_rows(X.shape[0], 8 * (X.shape[1] + centers.shape[0]))))

    def measure(self, state: Draws) -> Measure | None:
        """More samples may help however good the last one was, so the gain within it decides at the end only."""
        return Measure(state.cost) if len(state.points) else None

    def finish(self, state: Draws, measure: Measure) -> tuple[Draws, Measure]:
        return state, replace(measure, residual=state.gain)

    def certify(self, measure: Measure, tol: float) -> Certificate:
        return with_rounding(super().certify(measure, tol), self.rounding)
