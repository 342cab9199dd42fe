r"""k-medoids by eager swaps: a candidate replaces a medoid as soon as that lowers the cost.

The cost is :math:`\sum_i w_i \min_m d(x_i, x_m)`. One pass over a candidate's row of distances gives the change of the
cost for all k medoids it could replace. When every candidate in turn was refused, no single swap lowers the cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from corollary._compiled.medoids.swaps import assign, exchange, first_improvement
from corollary.core.evidence import Status
from corollary.core.parallel import n_threads, together
from corollary.core.types import Array
from corollary.solvers.loop import Observer
from corollary.solvers.medoids.distances import Distances

_QUIET = 64  # candidates without a swap after which the next ones are tried on several threads
_BATCH = 4_000_000  # distances that are worth a round of threads


@dataclass
class Medoids:
    """An answer: the medoids, who is nearest to which, the cost, and what is known about it."""

    points: Array
    labels: Array
    cost: float
    gain: float  # the largest relative gain of any swap that was looked for
    status: Status
    passes: int = 0
    swaps: int = 0
    history: dict[str, list[float]] = field(default_factory=dict)

    def copy(self) -> Medoids:
        """For an observer: what comes later does not change it."""
        return replace(self)


class SwapSearch:
    """The state of a search: the medoids, and for each point its nearest and next nearest of them."""

    def __init__(self, distances: Distances, weights: Array, medoids: Array) -> None:
        self.distances, self.weights = distances, weights
        self.medoids = medoids.astype(np.int64)
        self.allowed = weights > 0
        self.swaps = 0
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

    def largest_gain(self) -> float:
        """The most that any swap lowers the cost, as a share of it."""
        gains = [self.scan(rows, start, start, stop, np.inf)[2] for start, stop, rows in self.distances.blocks()]
        return max(gains) / self.cost if self.cost > 0 else 0.0


def _call(tasks: Sequence[Callable[[], tuple[int, int, float]]], k: int) -> tuple[int, int, float]:
    return tasks[k]()


def eager_swaps(
    distances: Distances,
    weights: Array,
    medoids: Array,
    *,
    tol: float,
    max_iter: int,
    observe: Observer | None = None,
) -> Medoids:
    """Swap until no swap gains more than ``tol`` of the cost; a pass looks at every candidate once."""
    if len(medoids) == 1:
        return best_single(distances, weights)
    log = Log()
    search = SwapSearch(distances, weights, medoids)
    status, proof, iteration = Status.MAX_ITER, _Proof(distances.n), 0
    try:
        while True:
            record = log.add(iteration, search.cost, swaps=search.swaps)
            if proof.complete:
                status = Status.CONVERGED
                break
            if observe is not None and observe(record, lambda: _answer(search, np.inf)):
                status = Status.BUDGET
                break
            if iteration == max_iter:
                break
            _one_pass(search, proof, tol)
            iteration += 1
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        search.settle()  # a swap may have been half done
    gain = proof.largest
    if status is not Status.CONVERGED:
        gain = search.largest_gain() if distances.stored else np.inf
        status = Status.CONVERGED if status is Status.MAX_ITER and gain <= tol else status
    answer = _answer(search, gain)
    answer.status, answer.passes, answer.history = status, iteration, log.history
    return answer


class Log:
    """The history of a search, one record a pass."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.history: dict[str, list[float]] = {}

    def add(self, iteration: int, cost: float, **more: float) -> dict[str, float]:
        """Keep and return the record of this pass."""
        seconds = time.perf_counter() - self.began
        record = {"iteration": float(iteration), "objective": float(cost), "seconds": seconds}
        record |= {name: float(value) for name, value in more.items()}
        for name, value in record.items():
            self.history.setdefault(name, []).append(value)
        return record


class _Proof:
    """Counts candidates that were refused since the last swap, and keeps the largest relative gain among them."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.begin()

    def begin(self) -> None:
        self.refused, self.largest = 0, 0.0

    @property
    def complete(self) -> bool:
        return self.refused >= self.n


def _one_pass(search: SwapSearch, proof: _Proof, tol: float) -> None:
    for start, stop, rows in search.distances.blocks():
        position = start
        while position < stop:
            limit = min(stop, position + proof.n - proof.refused)
            candidate, slot, gain = search.scan(rows, start, position, limit, tol * search.cost)
            if candidate == limit:
                proof.refused += limit - position
                proof.largest = max(proof.largest, gain / search.cost if search.cost > 0 else 0.0)
                position = limit
                if proof.complete:
                    return
            else:
                search.swap(candidate, slot, rows[candidate - start])
                proof.begin()
                position = candidate + 1


def _answer(search: SwapSearch, gain: float) -> Medoids:
    cost = float(search.cost)
    return Medoids(search.medoids.copy(), search.near.copy(), cost, gain, Status.CONVERGED, swaps=search.swaps)


def best_single(distances: Distances, weights: Array) -> Medoids:
    """The one medoid of all points: every candidate is tried, so it is the best there is."""
    totals = np.concatenate([rows @ weights.astype(rows.dtype) for _, _, rows in distances.blocks()]).astype(np.float64)
    best = int(np.argmin(np.where(weights > 0, totals, np.inf)))
    cost = float(distances.table([best])[:, 0] @ weights)
    history = {"iteration": [1.0], "objective": [cost]}
    labels = np.zeros(distances.n, dtype=np.int32)
    return Medoids(np.array([best]), labels, cost, 0.0, Status.EXACT, passes=1, history=history)
