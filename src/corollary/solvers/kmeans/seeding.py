"""Where k-means starts: greedy k-means++, or rows drawn at random.

Rows are drawn at a level of the cumulative weight in an order that depends on their values alone. So a row of weight
w is drawn exactly as w rows would be, and shuffling X changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from corollary._compiled.kmeans.seeding import seed
from corollary._compiled.kmeans.sparse_seeding import COINCIDE, seed_sparse
from corollary.core.parallel import block_rows, map_blocks, n_threads, one_blas_thread, run_team, stop_if_ended
from corollary.core.types import Array
from corollary.solvers.draws import places
from corollary.solvers.kmeans.dense import SMALL, DenseRows
from corollary.solvers.kmeans.rows import KMeansRows, key_factors
from corollary.solvers.kmeans.sparse import SparseRows

TYPICAL = 256  # rows whose medians are a place in the middle
BLOCK = 1024  # rows that a thread takes at a time
UNKNOWN = 1e30  # more than any squared distance of rows whose numbers are below one
SHARE = 1 << 18  # numbers of rows and trials that are worth another thread
CALL = 1 << 30  # and those after which Python looks up


def plus_plus(
    X: Any, weights: Array, n_clusters: int, rng: Any, n_trials: int | None = None, rows: KMeansRows | None = None
) -> Array:
    """Rows of X (dense or CSR) as starting centres: each new one is drawn with probability ∝ weight × squared distance.

    ``n_trials`` rows (2 + ln k if None) are drawn for each centre and the one that lowers the cost most is kept. The
    ``rows`` of X may be given, if they are there; a float32 copy of dense X is made otherwise.
    """
    trials = 2 + int(np.log(n_clusters)) if n_trials is None else n_trials
    levels = np.zeros((n_clusters, trials))
    levels[0, 0] = rng.uniform(size=1)[0]
    levels[1:] = rng.uniform(size=(n_clusters - 1, trials))
    with one_blas_thread():
        if rows is None or rows.angular:
            rows = SparseRows(X, weights) if sparse.issparse(X) else DenseRows(X, weights)
        if isinstance(rows, SparseRows):
            return rows_of(X, _sparse_rows(rows, levels))
        assert isinstance(rows, DenseRows)
        if not rows.resolved:
            return rows_of(X, _by_products(X, weights, levels))
        if X.size <= SMALL:
            return rows_of(X, _by_products((X - rows.shift) * rows.scale, weights, levels, rows.order[0]))
        return rows_of(X, _dense_rows(rows, levels))


def _dense_rows(rows: DenseRows, levels: Array) -> Array:
    """The rows that are drawn, where float32 tells them apart."""
    (k, trials), n, single = levels.shape, rows.n, np.float32
    blocks, work = -(-n // BLOCK), n * rows.d * trials
    workers = max(1, min(n_threads(), work // SHARE))
    order, place = rows.order
    state = np.full(n, UNKNOWN, dtype=single), np.zeros(n, dtype=np.int32), rows.weights[order]
    scratch = (
        np.empty(blocks),
        np.empty(k, dtype=single),
        np.empty((workers, trials), dtype=np.int64),
        np.empty(n + blocks, dtype=np.int32),
        np.empty(blocks, dtype=np.int64),
        np.empty((n, trials), dtype=single),
        np.empty((blocks, trials)),
    )
    seen = rows.single, rows.weights, order, place, levels
    return _called(seed, workers, work, k, *seen, state=state, scratch=scratch)


def _sparse_rows(rows: SparseRows, levels: Array) -> Array:
    """The rows that are drawn, where they are sparse."""
    (k, trials), n = levels.shape, rows.n
    blocks, work = -(-n // BLOCK), len(rows.data) * trials
    workers = max(1, min(n_threads(), work // SHARE))
    order, place = rows.order
    state = np.full(n, UNKNOWN), rows.weights[order]
    scratch = (
        np.empty(blocks),
        np.empty(trials, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros((rows.d, trials)),
        np.empty((n, trials)),
        np.empty((blocks, trials)),
    )
    seen = rows.entries, rows.squares, rows.weights, order, place, levels
    return _called(seed_sparse, workers, work, k, *seen, state=state, scratch=scratch)


def _called(
    kernel: Callable[..., None], workers: int, work: int, k: int, *seen: Any, state: Any, scratch: Any
) -> Array:
    """The rows that a kernel chooses, in calls of a fraction of a second: Python must be free to hear Ctrl-C."""
    chosen, step = np.empty(k, dtype=np.int64), max(1, CALL // max(1, work))
    for first in range(0, k, step):
        stop_if_ended()
        run_team(kernel, first, min(k, first + step), BLOCK, *seen, chosen, state, scratch, most=workers)
    return chosen


def _by_products(X: Array, weights: Array, levels: Array, order: Array | None = None) -> Array:
    """The rows that are drawn, with distances to all rows by products with them: of few, or such as lie close."""
    points, lottery = _Points(X, weights), Lottery(X, weights, order)
    chosen = [int(lottery.draw(levels[0, :1])[0])]
    nearest, _ = points.improve(np.array(chosen), np.full(points.n, np.inf))
    for row in levels[1:]:
        lottery.reweight(weights * nearest)
        candidates = lottery.draw(row)
        if len(candidates) == 0:  # every row coincides with a centre
            lottery.reweight(weights)
            candidates = lottery.draw(row[:1])
        nearest, best = points.improve(candidates, nearest)
        chosen.append(int(candidates[best]))
    return np.array(chosen)


def random_rows(X: Any, weights: Array, n_clusters: int, rng: Any) -> Array:
    """Different rows of X, drawn with probability ∝ weight; equal ones only if there are too few that differ."""
    lottery = Lottery(X, weights)
    order, key = lottery.order, lottery.key
    chosen: list[int] = []
    taken: set[float] = set()
    for row in lottery.draw(rng.uniform(size=16 * n_clusters + 64)):
        if float(key[row]) not in taken and len(chosen) < n_clusters:
            taken.add(float(key[row]))
            chosen.append(int(row))
    if len(chosen) < n_clusters:  # few values, or rare ones: take what differs, heaviest first, then anything
        rest = order[np.argsort(-weights[order], kind="stable")]
        _, firsts = np.unique(key[rest], return_index=True)
        different = [int(row) for row in rest[np.sort(firsts)] if float(key[row]) not in taken and weights[row] > 0]
        chosen += (different + [chosen[0]] * n_clusters)[: n_clusters - len(chosen)]
    return rows_of(X, np.array(chosen))


def rows_of(X: Any, rows: Array) -> Array:
    """Some rows, dense."""
    taken = X[rows]
    return np.asarray(taken.toarray() if sparse.issparse(taken) else taken)


class Lottery:
    """Draws rows with probability ∝ mass, in an order of the rows that depends on their values alone."""

    def __init__(self, X: Any, mass: Array, order: Array | None = None) -> None:
        if order is None:
            self.key = np.asarray(X @ key_factors(X.shape[1]).astype(X.dtype))
            order = np.argsort(self.key, kind="stable")
        self.order = order
        self.reweight(mass)

    def reweight(self, mass: Array) -> None:
        """Draw by other masses from now on."""
        self.ends = np.cumsum(mass[self.order])

    def draw(self, levels: Array) -> Array:
        """Rows at these levels (in [0, 1)) of the cumulative mass; none if there is no mass."""
        if not 0 < self.ends[-1] < np.inf:
            return np.empty(0, dtype=np.int64)
        return np.asarray(self.order[places(self.ends, levels)])


class _Points:
    """Squared distances from all rows to some of them, by one matrix product, in float64 about their middle.

    Far from zero there would be no digits left for the distances, nor far from a mean that one row has moved.
    """

    def __init__(self, X: Array, weights: Array) -> None:
        self.X, self.weights, self.n = X, weights, X.shape[0]
        self.middle = np.median(X[:: max(1, self.n // TYPICAL)], axis=0).astype(np.float64)
        self.squares = np.concatenate(list(self._each(self._square)))

    def _each(self, task: Any) -> Any:
        return map_blocks(task, self.n, block_rows(self.n, self.X.shape[1] * 8))

    def _square(self, start: int, stop: int) -> Array:
        moved = self.X[start:stop] - self.middle
        return np.einsum("ij,ij->i", moved, moved)

    def improve(self, candidates: Array, nearest: Array) -> tuple[Array, int]:
        """The candidate that lowers the cost most, and every row's distance to its nearest centre with it."""
        moved = self.X[candidates] - self.middle
        own = np.einsum("ij,ij->i", moved, moved)

        def task(start: int, stop: int) -> tuple[Array, Array]:
            distances = own[:, None] + self.squares[start:stop] - 2 * moved @ (self.X[start:stop] - self.middle).T
            np.clip(distances, 0.0, nearest[start:stop], out=distances)
            return distances, distances @ self.weights[start:stop]

        parts = list(self._each(task))
        best = int(np.argmin(sum(part[1] for part in parts)))
        found = np.concatenate([part[0][best] for part in parts])
        found[found <= COINCIDE * (self.squares + own[best])] = 0.0  # rounding must not be drawn as if it were distance
        return found, best
