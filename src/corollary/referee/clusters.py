"""The referee of clusterings: distances from exact differences, means from exact sums, in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.delivered import blurred, wrong_labels, wrong_total
from corollary.referee.rows import LONG, ROUNDED, Array, dense, unit
from corollary.referee.verdict import Verification

LARGEST = 5_000_000  # rows × columns × centres beyond which this takes too long


def squared_distances(X: Array, centres: Array) -> Array:
    """‖x − c‖² of every row and centre, from differences, so that nothing cancels."""
    found = np.empty((len(X), len(centres)), LONG)
    for j, centre in enumerate(centres):
        away = X - centre
        found[:, j] = (away * away).sum(axis=1)
    return found


def k_means(
    X: Array,
    weights: Array,
    centres: Array,
    tolerance: float,
    labels_: Any,
    inertia_: float,
    angular: bool = False,
) -> Verification:
    """Whether a Lloyd step, rows to their nearest centres and then centres to the means of their rows, gains anything.

    Refuted where it lowers the cost by more than ``tolerance`` of it. (That rows might then go to other centres is the
    next step.) The best move of a single row to another cluster, with both means following, is told besides. Labels
    must be those of the nearest centres, and the inertia the cost.
    """
    dtype = np.asarray(centres).dtype
    X, centres = dense(X), np.asarray(centres, dtype=LONG)
    if X.size * len(centres) > LARGEST:
        return Verification(None, "there are too many rows and centres for this arithmetic")
    if not np.isfinite(centres).all():
        return Verification(False, "centres are not finite")
    live = np.asarray(weights) > 0
    X, weights = X[live], np.asarray(weights, dtype=LONG)[live]
    heaviest = weights.max()
    weights = weights / heaviest
    if angular:
        X, centres = unit(X), unit(centres)
    D = squared_distances(X, centres)
    if len(labels_) != len(live):
        return Verification(False, f"there are {len(labels_)} labels of {len(live)} rows")
    allowed = blurred(X, centres, dtype, D)
    wrong = wrong_labels(D, np.asarray(labels_)[live], allowed)
    labels, cost = D.argmin(axis=1), (weights * D.min(axis=1)).sum()
    scale = heaviest / (2 if angular else 1)  # 1 − cos of an angle is half a squared distance on the sphere
    allowed = scale * (weights * allowed.max(axis=1)).sum()
    if wrong := wrong or wrong_total("inertia_", inertia_, scale * cost, allowed):
        return wrong
    means, mass = _means(X, weights, labels, centres)
    if angular:
        means = unit(means)
    away = X - means[labels]
    after = (weights * (away * away).sum(axis=1)).sum()
    spread = X - (weights @ X) / weights.sum()
    total = (weights @ (spread * spread)).sum()
    rounding = 64 * np.finfo(np.float64).eps ** 2 * (weights @ (X * X)).sum() + 64 * np.finfo(LONG).eps * total
    gain = float(max(cost - after - rounding, 0) / cost) if cost > rounding else 0.0
    told = f"one exact iteration lowers the cost by {gain:.2g} of it"
    single = _best_single(X, weights, labels, means, mass, after)
    if gain > tolerance * ROUNDED + 1e-12:
        return Verification(False, f"{told}, where {tolerance:.2g} was claimed", gain)
    return Verification(True, f"{told}; moving a single row to another cluster would by {single:.2g}", gain)


def _best_single(X: Array, weights: Array, labels: Array, means: Array, mass: Array, cost: Any) -> float:
    """The largest relative gain of moving one row to another cluster, means following."""
    if cost <= 0:
        return 0.0
    D = squared_distances(X, means)
    own = mass[labels]
    with np.errstate(divide="ignore", invalid="ignore"):
        leave = np.where(own > weights, own * weights / (own - weights), 0) * D[np.arange(len(X)), labels]
        join = mass[None, :] * weights[:, None] / (mass[None, :] + weights[:, None]) * D
    join[np.arange(len(X)), labels] = np.inf
    return float(max((leave - join.min(axis=1)).max(), 0) / cost) if len(means) > 1 else 0.0


def _means(X: Array, weights: Array, labels: Array, centres: Array) -> tuple[Array, Array]:
    """Weighted means of clusters (the centre itself where there are no rows), summed about the centres."""
    means, mass = centres.copy(), np.zeros(len(centres), LONG)
    for j in range(len(centres)):
        own = labels == j
        mass[j] = weights[own].sum()
        if mass[j] > 0:
            means[j] = centres[j] + (weights[own] @ (X[own] - centres[j])) / mass[j]
    return means, mass
