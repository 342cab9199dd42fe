"""The referee of hierarchies: every merge is worked out from its rows, and the cut from the merges."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.directions import rounded_rows
from corollary.referee.neighbors import distances
from corollary.referee.rows import LONG, Array, dense
from corollary.referee.verdict import Verification

MOST = 600  # rows beyond which working everything out takes too long


def cut(children: Array, heights: Array, clusters: int | None, threshold: float | None, labels: Any) -> Verification:
    """Whether ``labels`` are the clusters that are left without the last merges, or those at ``threshold`` or above.

    Where a merge is lower than one below it (an inversion), the higher one counts.
    """
    children, labels = np.asarray(children, dtype=np.intp), np.asarray(labels)
    n = len(children) + 1
    if labels.shape != (n,):
        return Verification(False, f"there are {len(labels)} labels of {n} rows")
    peaks, below = np.zeros(2 * n - 1), [{i} for i in range(n)]
    groups = {i: {i} for i in range(n)}
    for t, (a, b) in enumerate(children.tolist()):
        below.append(below[a] | below[b])
        peaks[n + t] = max(float(heights[t]), peaks[a], peaks[b])
        if t < n - clusters if clusters is not None else peaks[n + t] < threshold:
            for part in (a, b):
                groups.pop(part, None)
            groups[n + t] = below[-1]
    found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}
    if found != {frozenset(group) for group in groups.values()}:
        return Verification(False, "labels_ are not the clusters that the merges leave", 1.0)
    return Verification(True, "labels are the clusters that the merges leave", 0.0)


def merges(
    X: Any, sizes: Array, children: Array, heights: Array, linkage: str, metric: str, greedy: bool
) -> Verification:
    """Every merge from the rows on its two sides; and, where ``greedy``, whether a nearer pair was passed over.

    A row of weight zero has no say: its merge is at height zero, and the cluster is afterwards what it was before.
    """
    X = dense(X)
    n = len(X)
    if n > MOST:
        return Verification(None, f"working out the merges of more than {MOST} rows would take too long")
    if linkage not in ("single", "complete", "average", "ward", "centroid"):
        return Verification(None, f"the referee does not work out {linkage} merges")
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
    # means of rows are rounded; distances between rows are not, nor are they hidden by larger ones
    least = max(16 * LONG(np.finfo(np.float64).eps) * size if central else LONG(0), LONG(np.finfo(np.float64).tiny))
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
        # angles are those of rows that were brought to length one, in the digits that data have
        floor = max(least, rounded_rows(own)) if metric == "cosine" else least
        wrong = max(wrong, max(abs(own - said) - floor, 0) / max(own, said, floor))
        if greedy:
            nearest = between[np.ix_(alive, alive)].min()
            passed = max(passed, (own - nearest - floor) / max(own, floor))
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
    beyond = " beyond the rounding of the rows" if metric == "cosine" else ""
    return Verification(
        True, f"all {len(heights)} merges were worked out again: off by {wrong:.2g} at most{beyond}", float(wrong)
    )


def _central(linkage: str, mass: Any, centre: Array, masses: Array, centres: Array) -> Array:
    away = np.sqrt(((centres - centre) ** 2).sum(axis=1))
    both = mass + masses
    return away * np.sqrt(2 * mass * masses / np.where(both > 0, both, 1)) if linkage == "ward" else away
