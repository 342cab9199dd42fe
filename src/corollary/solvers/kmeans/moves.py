"""Split and merge: leave a local optimum of k-means by joining two clusters and parting a third.

Each move is one more start of the iteration, and the best of all starts is kept: so the cost never rises.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corollary.core.types import Array
from corollary.solvers.kmeans.dense import DenseRows
from corollary.solvers.kmeans.lloyd import Lloyd, Partition
from corollary.solvers.kmeans.rows import KMeansRows
from corollary.solvers.loop import Rules, run

MISSES = 3  # rejected moves in a row after which no more are tried
SAMPLE = 4096  # rows of a cluster that tell how to part it
PARTED = 4  # costliest clusters whose splits are tried in each round


class Moves:
    """Starts that moves from the best answer so far give; ``kept`` of the ``tried`` ones lowered the cost."""

    def __init__(self, rows: KMeansRows, rng: np.random.RandomState, bounded: bool = True, tol: float = 0.0) -> None:
        self.rows, self.rng, self.bounded, self.tol = rows, rng, bounded, tol
        self.kept = self.tried = 0

    def starts(self, found: Partition, cost: float) -> Iterator[Lloyd]:
        """From an answer and its cost, until no move promises anything or several in a row have failed."""
        misses, hopeless = 0, set[int]()
        while misses < MISSES and len(found.centres) > 2:
            move = _best_move(self.rows, found, hopeless, self.rng)
            if move is None:
                return
            source, centres = move
            start = Lloyd(self.rows, centres, self.bounded, self.tol)
            yield start
            assert start.end is not None
            self.tried += 1
            if start.end[1] < cost * (1 - 1e-9):
                (found, cost), misses, hopeless = start.end, 0, set()
                self.kept += 1
            else:
                misses += 1
                hopeless.add(source)


def starts_and_moves(starts: Iterator[Lloyd], moves: Moves) -> Iterator[Lloyd]:
    """All starts, and then the moves from the best of them."""
    best: tuple[Partition, float] | None = None
    for start in starts:
        yield start
        assert start.end is not None
        if best is None or start.end[1] < best[1]:
            best = start.end
    if best is not None:
        yield from moves.starts(*best)


def _best_move(
    rows: KMeansRows, found: Partition, hopeless: set[int], rng: np.random.RandomState
) -> tuple[int, Array] | None:
    """The split and the merge that together promise the lowest cost: the cluster parted, and the new centres."""
    distances, sums = rows.review(found.centres, found.labels)
    sums = rows.about_shift(found.centres, sums)
    costs: Array = np.bincount(found.labels, distances * rows.weights, len(found.centres))
    if rows.angular:
        costs = costs / 2
    rises = _merging(rows, sums)
    best: tuple[float, int, Array] | None = None
    for source in np.argsort(-costs)[:PARTED].tolist():
        members = np.flatnonzero((found.labels == source) & (rows.weights > 0))
        if source in hopeless or len(members) < 2 or not costs[source] > 0:
            continue
        pair, cost = _part(rows, members, rng)
        others = rises.copy()
        others[source] = others[:, source] = np.inf
        a, b = np.unravel_index(int(np.argmin(others)), others.shape)
        gain = costs[source] - cost - float(others[a, b])
        if gain > 1e-9 * costs.sum() and (best is None or gain > best[0]):
            centres = found.centres.copy()
            joined = sums.copy()
            joined[a] += joined[b]
            centres[a] = rows.centres(joined, found.centres)[a]
            centres[[source, b]] = pair
            best = (gain, source, centres)
    return None if best is None else (best[1], best[2])


def _merging(rows: KMeansRows, sums: Array) -> Array:
    """By how much the (scaled) cost rises if clusters a and b become one; infinite where that is not possible."""
    weight, totals = sums[:, rows.d], sums[:, : rows.d]
    squares = np.einsum("ij,ij->i", totals, totals)
    if rows.angular:
        lengths = np.sqrt(squares)
        joined = squares[:, None] + squares + 2 * totals @ totals.T
        rises = lengths[:, None] + lengths - np.sqrt(np.maximum(joined, 0.0))
    else:
        means = totals / np.where(weight > 0, weight, 1.0)[:, None]
        norms = np.einsum("ij,ij->i", means, means)
        gaps = np.maximum(norms[:, None] + norms - 2 * means @ means.T, 0.0)
        both = weight[:, None] + weight
        rises = weight[:, None] * weight / np.where(both > 0, both, 1.0) * gaps
    rises[np.tril_indices(len(rises))] = np.inf
    return np.asarray(rises)


def _part(rows: KMeansRows, members: Array, rng: np.random.RandomState) -> tuple[Array, float]:
    """Two centres for the rows of one cluster, and their (scaled) cost."""
    mass = float(rows.weights[members].sum())
    if len(members) > SAMPLE:  # a sample says where to cut, and its cost stands for all
        members = rng.choice(members, SAMPLE, replace=False)
    weights = rows.weights[members]
    inside = DenseRows(rows.take(members), weights, rows.angular)
    middle = (weights / weights.sum()) @ inside.X
    far = inside.X[np.argmax(((inside.X - middle) ** 2).sum(axis=1))]
    start = np.stack([far, inside.X[np.argmax(((inside.X - far) ** 2).sum(axis=1))]])
    halves = run(Lloyd(inside, start, False, 1e-3, ahead=20), Rules(max_iter=20, tol=1e-3)).uninterrupted()
    cost = halves.state.cost * mass / float(weights.sum())
    return halves.state.centres, cost if rows.angular else cost * (rows.scale / inside.scale) ** 2
