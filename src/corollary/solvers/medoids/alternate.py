"""k-medoids by alternation: assign points to medoids, move each medoid to the best point of its cluster, repeat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.evidence import Certificate
from corollary.core.types import Array
from corollary.solvers.distance_tables import Distances
from corollary.solvers.loop import Algorithm, Measure
from corollary.solvers.medoids.swaps import Medoids, with_rounding


@dataclass(frozen=True)
class Alternation(Medoids):
    """Medoids, the best point of each cluster, and what moving there saves before points change sides."""

    moved: Array
    saved: float


class Alternate(Algorithm[Alternation]):
    """Alternate until no medoid gains more than the tolerance, as a share of the cost, by a move in its cluster."""

    name = "alternation"
    certificate_name = "relative gain of moving medoids within their clusters"

    def __init__(self, distances: Distances, weights: Array, medoids: Array) -> None:
        self.distances, self.weights, self.medoids = distances, weights, medoids

    def init(self) -> Alternation:
        return self._around(self.medoids)

    def step(self, state: Alternation) -> Alternation:
        return self._around(state.moved)

    def measure(self, state: Alternation) -> Measure:
        return Measure(state.cost, state.saved / state.cost if state.cost > 0 else 0.0)

    def certify(self, measure: Measure, tol: float) -> Certificate:
        return with_rounding(super().certify(measure, tol), self.distances.rounding)

    def _around(self, medoids: Array) -> Alternation:
        """Points with the nearest of the medoids, and where the medoids would go next."""
        table = self.distances.table(medoids)
        labels = np.argmin(table, axis=1).astype(np.int32)
        cost = float(self.weights @ table[np.arange(len(table)), labels])
        moved, saved = medoids.copy(), 0.0
        for slot, old in enumerate(medoids):
            members = np.flatnonzero((labels == slot) & (self.weights > 0))
            if len(members) == 0:  # a medoid that coincides with another has no points of its own
                continue
            totals = self.distances.among(members) @ self.weights[members]
            here = totals[members == old]
            best = int(np.argmin(totals))
            if len(here) and totals[best] < here[0]:
                moved[slot] = members[best]
                saved += float(here[0] - totals[best])
        return Alternation(medoids, labels, cost, moved, saved)
