"""Split and merge: leave a local optimum of k-means by joining two clusters and parting a third.

A move is kept only if the cost after it, with all centres settled again, is lower. So the cost never rises.
"""

from __future__ import annotations

import numpy as np

from corollary.core.evidence import Status
from corollary.core.types import Array
from corollary.solvers.kmeans.dense import DenseRows
from corollary.solvers.kmeans.lloyd import Clustering, iterate
from corollary.solvers.kmeans.rows import Rows
from corollary.solvers.loop import Observer

MISSES = 3  # rejected moves in a row after which there is little hope
SAMPLE = 4096  # rows of a cluster that tell how to part it
PARTED = 4  # costliest clusters whose splits are tried in each round


def improve(
    rows: Rows,
    found: Clustering,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    observe: Observer | None = None,
    bounded: bool = True,
) -> tuple[Clustering, int, int]:
    """The clustering after all moves that pay, how many were kept, and how many were tried."""
    kept = tried = misses = 0
    hopeless: set[int] = set()
    while misses < MISSES and found.status not in (Status.INTERRUPTED, Status.BUDGET) and len(found.centres) > 2:
        move = _best_move(rows, found, hopeless, rng)
        if move is None:
            break
        source, centres = move
        after = iterate(rows, centres, max_iter=max_iter, tol=tol, observe=observe, bounded=bounded)
        tried += 1
        if after.inertia < found.inertia * (1 - 1e-9):
            found, misses, hopeless = after, 0, set()
            kept += 1
        else:
            misses += 1
            hopeless.add(source)
            if after.status in (Status.INTERRUPTED, Status.BUDGET):
                break
    return found, kept, tried


def _best_move(
    rows: Rows, found: Clustering, hopeless: set[int], rng: np.random.RandomState
) -> tuple[int, Array] | None:
    """The split and the merge that together promise the lowest cost: the cluster parted, and the new centres."""
    distances, sums = rows.review(found.centres, found.labels)
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


def _merging(rows: Rows, sums: Array) -> Array:
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


def _part(rows: Rows, members: Array, rng: np.random.RandomState) -> tuple[Array, float]:
    """Two centres for the rows of one cluster, and their (scaled) cost."""
    mass = float(rows.weights[members].sum())
    if len(members) > SAMPLE:  # a sample says where to cut, and its cost stands for all
        members = rng.choice(members, SAMPLE, replace=False)
    weights = rows.weights[members]
    inside = DenseRows(rows.take(members), weights, rows.angular)
    middle = (weights / weights.sum()) @ inside.X
    far = inside.X[np.argmax(((inside.X - middle) ** 2).sum(axis=1))]
    start = np.stack([far, inside.X[np.argmax(((inside.X - far) ** 2).sum(axis=1))]])
    halves = iterate(inside, start, max_iter=20, tol=1e-3, bounded=False)
    cost = halves.inertia * mass / float(weights.sum())
    return halves.centres, cost if rows.angular else cost * rows.scale * rows.scale
