"""The referee of neighbours: brute force, by exact differences in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.directions import cosine_distances, cosine_rounding
from corollary.referee.rows import LONG, ROUNDED, Array, dense
from corollary.referee.verdict import Verification

ROWS = 64  # queries that are looked up


def distances(X: Array, Q: Array, metric: str) -> Array | None:
    """Distances of every row of Q to every row of X, or None for a metric that the referee does not know."""
    if metric == "cosine":
        return cosine_distances(X, Q)
    if metric == "haversine":
        return _on_sphere(X, Q)
    powers = {"euclidean": 2, "sqeuclidean": 2, "l2": 2, "manhattan": 1, "cityblock": 1, "l1": 1}
    if metric != "chebyshev" and metric not in powers:
        return None
    found = np.empty((len(Q), len(X)), LONG)
    for i, q in enumerate(Q):
        away = np.abs(X - q)
        found[i] = away.max(axis=1) if metric == "chebyshev" else (away ** powers[metric]).sum(axis=1)
    return np.sqrt(found) if metric in ("euclidean", "l2") else found


def _on_sphere(X: Array, Q: Array) -> Array:
    """Angles between places given by latitude and longitude, from the sines of halves of both gaps."""
    (u, v), (x, y) = Q.astype(LONG).T[..., None], X.astype(LONG).T
    part = np.sin((u - x) / 2) ** 2 + np.cos(u) * np.cos(x) * np.sin((v - y) / 2) ** 2
    rest = np.sin((u + x) / 2) ** 2 + np.cos(u) * np.cos(x) * np.cos((v - y) / 2) ** 2
    return np.asarray(2 * np.arctan2(np.sqrt(np.maximum(part, 0)), np.sqrt(np.maximum(rest, 0))))


def nearest(X: Any, Q: Any, answers: Array, said: Array, metric: str, tolerance: float) -> Verification:
    """Whether ``answers``, row numbers of X for each row of Q with distances ``said``, are the nearest ones.

    What counts is by how much an answer is farther than the one that should be in its place, relative to that one, and
    beyond what the rounding of the two distances here can be.
    """
    X, Q = dense(X), dense(Q)
    with np.errstate(all="ignore"):
        D = distances(X, Q, metric)
        if D is None:
            return Verification(None, f"the referee does not know the metric {metric!r}")
        judged = Q.any(axis=1) | (metric != "cosine")
        Q, D, answers, said = Q[judged], D[judged], answers[judged], said[judged]
        k = answers.shape[1]
        true = np.sort(D, axis=1)[:, :k]
        own = np.sort(np.take_along_axis(D, np.asarray(answers, dtype=np.intp), axis=1), axis=1)
        twice = any(len(set(row)) < k for row in answers.tolist())
        tiny = np.finfo(np.float64).tiny
        rounding = cosine_rounding(own) + cosine_rounding(true) if metric == "cosine" else 64 * np.finfo(LONG).eps * own
        excess = float(np.max((own - true - rounding) / np.maximum(true, tiny), initial=0))
        off = float(np.max((np.abs(np.sort(said, axis=1) - own) - rounding) / np.maximum(own, tiny), initial=0))
    if twice:
        return Verification(False, "a row is named twice among the neighbours of another")
    limit = max(tolerance, 4 * float(np.finfo(np.asarray(said).dtype).eps)) * ROUNDED
    words = f"of {len(Q)} rows looked up by brute force, no neighbour is farther than the true one by more than"
    if excess > limit:
        return Verification(False, f"a row is called a neighbour although another is nearer by {excess:.2g}", excess)
    if off > 1e-5:
        return Verification(None, f"{words} {excess:.2g}, but a distance is off by {off:.2g}", excess)
    return Verification(True, f"{words} {excess:.2g} (relative)", excess)
