"""The referee of k-medoids and of merges: every swap is tried, every merge is worked out from its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.neighbors import distances
from corollary.referee.verdict import Verification, measured

Array = Any
LONG = np.longdouble
MOST = 600  # rows beyond which trying everything takes too long


def swaps(X: Any, weights: Array, medoids: Array, metric: str, tolerance: float) -> Verification:
    """The largest gain of exchanging one medoid for another row of positive weight, over Σ w d(x, nearest medoid)."""
    X = (X.toarray() if hasattr(X, "toarray") else np.asarray(X)).astype(LONG)
    if len(X) > MOST:
        return Verification(None, f"trying every swap of more than {MOST} rows would take too long")
    with np.errstate(all="ignore"):
        D = X if metric == "precomputed" else distances(X, X, metric)
    if D is None:
        return Verification(None, f"the referee does not know the metric {metric!r}")
    w = np.asarray(weights, dtype=LONG) / np.max(weights)
    near = D[:, medoids]
    cost = (w * near.min(axis=1)).sum()
    lowest = cost
    for out in range(len(medoids)):
        rest = np.delete(near, out, axis=1)
        left = rest.min(axis=1) if rest.shape[1] else np.full(len(X), np.inf, LONG)
        lowest = min(lowest, (w @ np.minimum(left[:, None], D[:, w > 0])).min())
    gain = float((cost - lowest) / cost) if cost > 0 else 0.0
    rounding = 8 * float(np.finfo(np.float64).eps)
    return measured(gain, tolerance * 1.01 + rounding, "the relative gain of the best swap of a medoid")


def merges(
    X: Any, sizes: Array, children: Array, heights: Array, linkage: str, metric: str, greedy: bool
) -> Verification:
    """Every merge from the rows on its two sides; and, where ``greedy``, whether a nearer pair was passed over.

    A row of weight zero has no say: its merge is at height zero, and the cluster is afterwards what it was before.
    """
    X = (X.toarray() if hasattr(X, "toarray") else np.asarray(X)).astype(LONG)
    n = len(X)
    if n > MOST or linkage not in ("single", "complete", "average", "ward", "centroid"):
        return Verification(None, f"the referee does not work out {linkage} merges of {n} rows")
    central = linkage in ("ward", "centroid")
    with np.errstate(all="ignore"):
        D = None if central else (X if metric == "precomputed" else distances(X, X, metric))
    if D is None and not central:
        return Verification(None, f"the referee does not know the metric {metric!r}")
    X = X - np.median(X, axis=0)
    w = np.asarray(sizes, dtype=LONG)  # as they are: Ward's heights go with their root, and long doubles hold them
    absent = set(np.flatnonzero(w == 0).tolist())
    mass, centres = list(w), list(X)
    between = np.full((2 * n - 1, 2 * n - 1), np.inf, LONG)  # heights between nodes that are alive
    for i in range(n):
        others = _central(linkage, mass[i], centres[i], w[:i], X[:i]) if central else D[i, :i]  # type: ignore[index]
        between[i, :i] = between[:i, i] = others
    between[list(absent)] = between[:, list(absent)] = np.inf
    alive, wrong, passed = list(range(n)), LONG(0), LONG(0)
    size = np.max(between[np.isfinite(between)], initial=LONG(0))
    floor = max(16 * LONG(np.finfo(np.float64).eps) * size, LONG(np.finfo(np.float64).tiny))
    for t, (a, b) in enumerate(np.asarray(children, dtype=np.intp).tolist()):
        if a not in alive or b not in alive or a == b:
            return Verification(False, f"merge {t} joins nodes that are not there to be joined")
        new, said = n + t, LONG(heights[t])
        if a in absent or b in absent:
            kept = b if a in absent else a
            if said != 0:
                return Verification(False, f"merge {t} has a row of weight zero, and a height of {said:.2g}", 1.0)
            alive = [node for node in alive if node not in (a, b)] + [new]
            mass.append(mass[kept])
            centres.append(centres[kept])
            between[new], between[:, new] = between[kept], between[:, kept]
            between[kept] = between[:, kept] = np.inf
            absent |= {new} if kept in absent else set()
            continue
        own = between[a, b]
        wrong = max(wrong, max(abs(own - said) - floor, 0) / max(own, said, floor))
        if greedy:
            least = between[np.ix_(alive, alive)].min()
            passed = max(passed, (own - least - floor) / max(own, floor))
        alive = [node for node in alive if node not in (a, b)]
        mass.append(mass[a] + mass[b])
        centres.append((mass[a] * centres[a] + mass[b] * centres[b]) / mass[-1])
        if alive:
            rest = np.array(alive)
            if central:
                masses, places = np.array([mass[i] for i in alive]), np.array([centres[i] for i in alive])
                joined = _central(linkage, mass[-1], centres[-1], masses, places)
            elif linkage == "average":
                joined = (mass[a] * between[a, rest] + mass[b] * between[b, rest]) / mass[-1]
            else:
                joined = (np.minimum if linkage == "single" else np.maximum)(between[a, rest], between[b, rest])
            between[new, rest] = between[rest, new] = joined
        alive.append(new)
    if wrong > 1e-7 or passed > 1e-7:
        what = f"a height is off by {wrong:.2g}" if wrong > 1e-7 else f"a pair nearer by {passed:.2g} was passed over"
        return Verification(False, f"{what} (relative)", float(max(wrong, passed)))
    return Verification(
        True, f"all {len(heights)} merges were worked out again: off by {wrong:.2g} at most", float(wrong)
    )


def _central(linkage: str, mass: Any, centre: Array, masses: Array, centres: Array) -> Array:
    away = np.sqrt(((centres - centre) ** 2).sum(axis=1))
    both = mass + masses
    return away * np.sqrt(2 * mass * masses / np.where(both > 0, both, 1)) if linkage == "ward" else away
