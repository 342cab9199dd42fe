"""Where k-medoids begins: greedily, at random with chances by distance, or at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled.medoids.swaps import cost_saved
from corollary.core.parallel import each_block
from corollary.core.types import Array
from corollary.solvers.distance_tables import Distances
from corollary.solvers.draws import places

SOME = 64  # rows of distances that are copied together


def build(distances: Distances, weights: Array, k: int) -> Array:
    """Add, k times, the medoid that lowers the cost most (the BUILD phase of PAM).

    What a point would save can only fall as medoids are added, so old savings are upper bounds: after two passes only
    the points with the largest bounds are looked at again.
    """
    possible = weights > 0
    shares = weights / weights.max()  # float32 may not have room for the weights themselves
    totals = np.concatenate([rows @ shares.astype(rows.dtype) for _, _, rows in distances.blocks()])
    medoids = [int(np.argmin(np.where(possible, totals, np.inf)))]
    first = distances.table(medoids)[:, 0].copy()
    bounds = np.full(distances.n, -1.0)
    if k > 1:
        for start, stop, rows in distances.blocks():
            bounds[start:stop] = _saved(rows, first, weights)
        bounds[~possible] = -1.0
    fresh = np.ones(distances.n, dtype=bool)
    while len(medoids) < k:
        bounds[medoids[-1]] = -1.0
        best = _largest(distances, weights, first, bounds, fresh)
        medoids.append(best)
        np.minimum(first, distances.table([best])[:, 0], out=first)
        fresh[:] = False
    return np.array(medoids)


def _saved(rows: Array, first: Array, weights: Array) -> Array:
    saved = np.empty(len(rows))
    each_block(lambda a, b: cost_saved(rows[a:b], first, weights, saved[a:b]), len(rows), 256)
    return saved


def _largest(distances: Distances, weights: Array, first: Array, bounds: Array, fresh: Array) -> int:
    """The point that saves most (the first of equals); ``bounds`` are made exact only where it matters."""
    batch = min(4, len(bounds))
    while True:
        order = np.argpartition(bounds, -batch)[-batch:]  # which of them are looked at changes no answer
        stale = order[~fresh[order] & (bounds[order] >= 0)]  # below zero: medoids, and rows of no weight
        best = int(np.argmax(np.where(fresh, bounds, -np.inf))) if fresh.any() else -1
        if best >= 0 and not (~fresh & (bounds >= bounds[best])).any():
            return best
        if len(stale):
            bounds[stale] = _saved_by(distances, stale, first, weights)
            fresh[stale] = True
        batch = min(2 * batch, len(bounds))


def _saved_by(distances: Distances, points: Array, first: Array, weights: Array) -> Array:
    """What each of these points would save; their rows are taken a few at a time, since all may be asked for."""
    saved = np.empty(len(points))

    def task(start: int, stop: int) -> None:
        cost_saved(np.ascontiguousarray(distances.rows(points[start:stop])), first, weights, saved[start:stop])

    each_block(task, len(points), SOME)
    return saved


def plus_plus(distances: Distances, weights: Array, k: int, random: np.random.RandomState) -> Array:
    """Draw medoids one after the other, with chances by weight and distance to those drawn before.

    Of a few draws the one that lowers the cost most is taken. When all points coincide with medoids, any other will do.
    """
    medoids = [_draw(weights, 1, random)[0]]
    first = distances.table(medoids)[:, 0].copy()
    trials = 2 + int(np.log(k))
    while len(medoids) < k:
        chances = weights * first
        if not chances.sum() > 0:
            chances = (weights > 0).astype(np.float64)
            chances[medoids] = 0.0
        drawn = np.unique(_draw(chances, trials, random))
        rows = np.ascontiguousarray(distances.rows(drawn))
        best = int(np.argmax(_saved(rows, first, weights)))
        medoids.append(int(drawn[best]))
        np.minimum(first, rows[best], out=first)
    return np.array(medoids)


def at_random(weights: Array, k: int, random: np.random.RandomState) -> Array:
    """k different points, with chances by weight."""
    chances, chosen = weights.copy(), []
    for _ in range(k):
        chosen.append(int(_draw(chances, 1, random)[0]))
        chances[chosen[-1]] = 0.0
    return np.array(chosen)


def _draw(chances: Array, count: int, random: np.random.RandomState) -> Array:
    """Positions on the running total of the chances: a row of weight 2 is drawn as two equal rows would be."""
    return places(np.cumsum(chances), random.uniform(size=count))


def first_medoids(distances: Distances, weights: Array, k: int, init: Any, random: np.random.RandomState) -> Array:
    """The start that ``init`` names, or the user's own."""
    if not isinstance(init, str):
        return np.asarray(init)
    if init == "build":
        return build(distances, weights, k)
    return plus_plus(distances, weights, k, random) if init == "k-medoids++" else at_random(weights, k, random)
