"""The referee of k-medoids: every swap is tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.delivered import wrong_labels, wrong_total
from corollary.referee.directions import cosine_rounding
from corollary.referee.neighbors import distances
from corollary.referee.rows import EPS, LONG, ROUNDED, Array, dense
from corollary.referee.verdict import Verification, measured

MOST = 600  # rows beyond which trying everything takes too long


def swaps(
    X: Any,
    weights: Array,
    medoids: Array,
    metric: str,
    tolerance: float,
    labels_: Any = None,
    inertia_: float | None = None,
    centres: Any = None,
) -> Verification:
    """The largest gain of exchanging one medoid for another row of positive weight, over Σ w d(x, nearest medoid).

    The centres must be the rows of the medoids, labels those of the nearest, and the inertia the cost.
    """
    X, medoids = dense(X), np.asarray(medoids)
    if len(X) > MOST:
        return Verification(None, f"trying every swap of more than {MOST} rows would take too long")
    right = medoids.ndim == 1 and len(set(medoids.tolist())) == len(medoids) > 0
    if not right or not ((medoids >= 0) & (medoids < len(X))).all():
        return Verification(False, "medoid_indices_ are not numbers of different rows")
    if centres is not None and not np.array_equal(np.asarray(centres, dtype=LONG), X[medoids]):
        return Verification(False, "cluster_centers_ are not the rows of the medoids")
    with np.errstate(all="ignore"):
        D = X if metric == "precomputed" else distances(X, X, metric)
    if D is None:
        return Verification(None, f"the referee does not know the metric {metric!r}")
    heaviest = LONG(np.max(weights))
    w = np.asarray(weights, dtype=LONG) / heaviest
    near, live = D[:, medoids], w > 0
    cost = (w * near.min(axis=1)).sum()
    if labels_ is not None and len(labels_) != len(X):
        return Verification(False, f"there are {len(labels_)} labels of {len(X)} rows")
    if metric == "cosine":  # angles do not know how long rows are
        blur = 64 * EPS * near + cosine_rounding(near)
    else:
        blur = 64 * EPS * near + 64 * EPS * (EPS * np.abs(X).sum(axis=1, keepdims=True) + np.finfo(np.float64).tiny)
    wrong = None if labels_ is None else wrong_labels(near[live], np.asarray(labels_)[live], blur[live])
    if wrong is None and inertia_ is not None:
        wrong = wrong_total("inertia_", inertia_, heaviest * cost, heaviest * (w @ blur.max(axis=1)))
    if wrong is not None:
        return wrong
    lowest = cost
    for out in range(len(medoids)):
        rest = np.delete(near, out, axis=1)
        left = rest.min(axis=1) if rest.shape[1] else np.full(len(X), np.inf, LONG)
        lowest = min(lowest, (w @ np.minimum(left[:, None], D[:, w > 0])).min())
    if metric == "cosine":  # angles of parallel rows are rounding here, of which no share is a gain
        lowest = min(cost, lowest + 2 * w.sum() * cosine_rounding(cost / w.sum()))
    gain = float((cost - lowest) / cost) if cost > 0 else 0.0
    return measured(gain, tolerance * ROUNDED + 8 * EPS, "the relative gain of the best swap of a medoid")
