r"""k-medoids by eager swaps: a candidate replaces a medoid as soon as that lowers the cost.

The cost is :math:`\sum_i w_i \min_m d(x_i, x_m)`. One pass over a candidate's row of distances gives the change of the
cost for all k medoids it could replace. When every candidate in turn was refused, no single swap lowers the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from corollary._compiled.medoids.swaps import assign, exchange, first_improvement
from corollary.core.evidence import Certificate, Kind, Status
from corollary.core.parallel import block_rows, n_threads, together
from corollary.core.types import Array
from corollary.solvers.distance_tables import Distances
from corollary.solvers.loop import Algorithm, Measure, Run

_QUIET = 64  # candidates without a swap after which the next ones are tried on several threads
HIDDEN = 1e-12  # rounding below this share of the cost is not worth telling
LARGEST, POLISHING = 200_000_000, 50  # distances times medoids of a pass that is made beside a huge distance; swaps
_BATCH = 4_000_000  # distances that are worth a round of threads


@dataclass(frozen=True)
class Medoids:
    """An answer: the medoids, which of them is nearest to each point, and the cost."""

    points: Array
    labels: Array
    cost: float

    def answer(self) -> Medoids:
        return self


class SwapSearch:
    """The state of a search: the medoids, and for each point its nearest and next nearest of them.

    ``refused`` counts the candidates since the last swap and ``largest`` is the largest relative gain among them: when
    all were refused, no swap gains more than that. ``broken`` says that Ctrl-C came in the middle of a pass, ``idle``
    that a pass made swaps that gained nothing: rounding said otherwise.
    """

    def __init__(self, distances: Distances, weights: Array, medoids: Array) -> None:
        self.distances, self.weights = distances, weights
        self.medoids = medoids.astype(np.int64)
        self.allowed = weights > 0
        self.swaps = self.refused = 0
        self.largest, self.broken, self.idle = 0.0, False, False
        self.settle()

    def settle(self) -> None:
        """Everything that follows from the medoids, from scratch."""
        n, k = self.distances.n, len(self.medoids)
        self.allowed[:] = self.weights > 0
        self.allowed[self.medoids] = False
        self.near, self.next_near = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        self.first, self.second, self.removal = np.empty(n), np.empty(n), np.empty(k)
        self.table = self.distances.table(self.medoids)
        assign(self.table, self.near, self.next_near, self.first, self.second, 0, n)
        self._put(self.table[:, 0].copy(), 0)

    def _put(self, row: Array, slot: int) -> None:
        self.cost = exchange(
            row, slot, self.table, self.near, self.next_near, self.first, self.second, self.weights, self.removal
        )

    def swap(self, candidate: int, slot: int, row: Array) -> None:
        """Let the candidate take the place of a medoid."""
        self.allowed[self.medoids[slot]] = self.weights[self.medoids[slot]] > 0
        self.allowed[candidate] = False
        self.medoids[slot] = candidate
        self._put(row.astype(np.float64), slot)
        self.swaps += 1

    def scan(self, rows: Array, offset: int, start: int, stop: int, enough: float) -> tuple[int, int, float]:
        """The first candidate that gains more than ``enough``, its slot, and the largest gain seen (of no use then).

        While swaps are frequent one thread looks; later several look at parts of a batch, and the earliest find of all
        is taken. That is the candidate which one thread alone would have found.
        """
        largest, position = 0.0, start
        size = max(_QUIET, _BATCH // len(self.near))
        alone = n_threads() == 1
        while position < stop:
            quiet = position - start < _QUIET
            last = min(stop, position + (_QUIET if quiet else size)) if not alone else stop
            parts = 1 if alone or quiet or last - position < size else n_threads()
            bounds = np.linspace(position, last, parts + 1).astype(int)
            looks = [partial(self._look, rows, offset, *pair, enough) for pair in pairwise(bounds.tolist())]
            found = together(partial(_call, looks), parts)
            largest = max(largest, *(gain for _, _, gain in found))
            for k, (candidate, slot, _) in enumerate(found):
                if candidate < bounds[k + 1]:
                    return candidate, slot, largest
            position = last
        return stop, 0, largest

    def _look(self, rows: Array, offset: int, start: int, stop: int, enough: float) -> tuple[int, int, float]:
        return first_improvement(
            rows, offset, start, stop, self.allowed, enough, self.near, self.first, self.second, self.weights,
            self.removal,
        )  # fmt: skip

    def look_again(self, tol: float) -> None:
        """One pass: every candidate in turn takes the place of a medoid if that gains more than ``tol`` of the cost."""
        for start, stop, rows in self.distances.blocks():
            position = start
            while position < stop:
                limit = min(stop, position + self.distances.n - self.refused)
                candidate, slot, gain = self.scan(rows, start, position, limit, tol * self.cost)
                if candidate < limit:
                    self.swap(candidate, slot, rows[candidate - start])
                    self.refused, self.largest, position = 0, 0.0, candidate + 1
                    continue
                self.refused += limit - position
                self.largest = max(self.largest, gain / self.cost if self.cost > 0 else 0.0)
                position = limit
                if self.complete:
                    return

    @property
    def complete(self) -> bool:
        """Whether every candidate was refused since the last swap."""
        return self.refused >= self.distances.n

    def answer(self) -> Medoids:
        """A copy of what was found so far; later swaps do not change it."""
        return Medoids(self.medoids.copy(), self.near.copy(), float(self.cost))

    def blur(self) -> float:
        """What rounding of the sums may hide of a gain: beside one huge distance all others are none."""
        removal = self.removal[np.isfinite(self.removal)].max(initial=0.0)
        hidden = 8 * float(np.finfo(np.float64).eps) * float(removal) / self.cost if self.cost > 0 else 0.0
        return hidden if hidden > HIDDEN else 0.0

    def polish(self, tol: float) -> float:
        """Swap on, with costs that are summed afresh for every swap, and return the gain of the best that is left.

        Sums of distances, and not of differences, keep all their digits beside a huge one. They take k passes for a
        swap: only what one thread does in about a second is tried, and infinity is returned for the rest.
        """
        if self.cost <= 0:
            return 0.0
        for _ in range(POLISHING):
            if not self.distances.stored or self.distances.n**2 * len(self.medoids) > LARGEST:
                break
            cost, candidate, slot = min(self._cheapest(slot) for slot in range(len(self.medoids)))
            gain = 1.0 - cost / self.cost
            if gain <= max(tol, 4 * self.distances.n * float(np.finfo(np.float64).eps)):
                return max(gain, 0.0)
            self.swap(candidate, slot, self.distances.row(candidate))
        return float(np.inf)

    def _cheapest(self, slot: int) -> tuple[float, int, int]:
        """The least cost of any candidate in the place of a medoid, the candidate, and that place."""
        rest, best = np.where(self.near == slot, self.second, self.first), (float(np.inf), 0, slot)
        size = block_rows(self.distances.n, 8 * self.distances.n)
        for start, stop, rows in self.distances.blocks():
            for first in range(start, stop, size):
                part = slice(first, min(first + size, stop))
                costs = np.minimum(rows[part.start - start : part.stop - start], rest) @ self.weights
                costs = np.where(self.allowed[part], costs, np.inf)
                best = min(best, (float(costs.min()), first + int(costs.argmin()), slot))
        return best

    def largest_gain(self) -> float:
        """The most that any swap lowers the cost, as a share of it."""
        gains = [self.scan(rows, start, start, stop, np.inf)[2] for start, stop, rows in self.distances.blocks()]
        return max(gains) / self.cost if self.cost > 0 else 0.0


def _call(tasks: Sequence[Callable[[], tuple[int, int, float]]], k: int) -> tuple[int, int, float]:
    return tasks[k]()


class EagerSwaps(Algorithm[SwapSearch]):
    """Swap until no swap gains more than ``tol`` of the cost; a pass looks at every candidate once."""

    name = "eager swaps"
    certificate_name = "relative gain of any swap"

    def __init__(self, distances: Distances, weights: Array, medoids: Array, tol: float) -> None:
        self.distances, self.weights, self.medoids, self.tol = distances, weights, medoids, tol

    def init(self) -> SwapSearch:
        return SwapSearch(self.distances, self.weights, self.medoids)

    def step(self, state: SwapSearch) -> SwapSearch:
        before = state.cost
        state.look_again(self.tol)
        state.idle = not state.complete and not state.cost < before
        return state

    def measure(self, state: SwapSearch) -> Measure:
        """The gain of swaps is known when a pass has refused them all, so it is no column of the history."""
        return Measure(float(state.cost), done=state.complete or state.idle, more={"swaps": float(state.swaps)})

    def snapshot(self, state: SwapSearch) -> Medoids:
        return state.answer()

    def settle(self, state: SwapSearch) -> SwapSearch:
        state.settle()  # a swap may have been half done
        state.broken = True
        return state

    def finish(self, state: SwapSearch, measure: Measure) -> tuple[SwapSearch, Measure]:
        if (state.complete or state.idle) and not state.broken:
            gain = state.largest if state.complete else np.inf
            left = state.polish(self.tol) if gain + state.blur() > self.tol else np.inf
            if left < np.inf:
                return state, replace(measure, objective=float(state.cost), residual=left)
        else:  # the search was stopped: all swaps are tried once more if that needs no new distances
            gain = state.largest_gain() if state.distances.stored and not state.broken else np.inf
        return state, replace(measure, objective=float(state.cost), residual=gain + state.blur())

    def certify(self, measure: Measure, tol: float) -> Certificate:
        return with_rounding(super().certify(measure, tol), self.distances.rounding)


def with_rounding(certificate: Certificate, rounding: float) -> Certificate:
    """A gain, with what the rounding of stored distances may add to it; the tolerance makes room for that."""
    return replace(certificate, value=certificate.value + rounding, tolerance=certificate.tolerance + rounding)


def best_single(distances: Distances, weights: Array, tol: float) -> Run[Medoids]:
    """The medoid of all points: every candidate is tried; those that rounding cannot tell apart, again in float64."""
    largest = float(weights.max())  # float32 may not have room for the weights themselves
    shares = weights / largest
    totals = np.concatenate([rows @ shares.astype(rows.dtype) for _, _, rows in distances.blocks()])
    slack = 4 * distances.n * float(np.finfo(totals.dtype).eps)
    totals = np.where(weights > 0, totals.astype(np.float64), np.inf)
    close = np.flatnonzero(totals <= totals.min() * (1 + slack))
    sums = np.array([shares @ distances.row(int(i)) for i in close])
    best, cost = int(close[np.argmin(sums)]), float(sums.min()) * largest
    return Run(
        state=Medoids(np.array([best]), np.zeros(distances.n, dtype=np.int32), cost),
        measure=Measure(cost, 0.0),
        status=Status.EXACT,
        certificate=with_rounding(
            Certificate(Kind.EXACT, "relative gain of any other medoid", 0.0, tol), distances.rounding
        ),
        solver="trial of every row",
        n_iter=1,
        seconds=0.0,
        history={"iteration": [1.0], "objective": [cost]},
    )
