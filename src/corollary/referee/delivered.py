"""What is delivered beside the answer itself: labels and totals must be those of the answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.rows import EPS, LONG, Array
from corollary.referee.verdict import Verification

DIGITS = 1e-6  # of a total, relatively: ten times what float32 holds


def blurred(X: Array, centres: Array, dtype: Any, D: Array) -> Array:
    """What the rounding of centres to their type, and of rows to float64, may do to squared distances D (n × k)."""
    reach = np.sqrt((X * X).sum(axis=1)) + np.sqrt((centres * centres).sum(axis=1)).max()
    grain = max(float(np.finfo(dtype).eps), EPS)
    return 16 * grain * reach[:, None] * np.sqrt(D) + (16 * grain * reach[:, None]) ** 2


def wrong_labels(D: Array, labels: Any, allowed: Array) -> Verification | None:
    """Refuted where a row has the label of a centre although another is nearer; D and ``allowed`` are n × k."""
    labels = np.asarray(labels)
    if labels.shape != (len(D),) or not ((labels >= 0) & (labels < D.shape[1])).all():
        return Verification(False, "labels_ are not one number of a cluster for each row")
    rows = np.arange(len(D))
    own, nearest = D[rows, labels], D.min(axis=1)
    bad = own - nearest > allowed[rows, labels] + 1e-9 * own
    return Verification(False, f"{bad.sum()} labels are not those of the nearest centre", 1.0) if bad.any() else None


def wrong_total(name: str, given: float, true: Any, allowed: Any) -> Verification | None:
    """Refuted where a sum over rows is off by more than ``DIGITS`` of it, and what is ``allowed``."""
    if true > np.finfo(np.float64).max / 2 and not np.isfinite(given):
        return None  # float64 has no number for it
    off = abs(LONG(given) - true)
    if off <= DIGITS * true + allowed + np.finfo(np.float64).tiny:
        return None
    return Verification(False, f"{name} is {given:.6g}, but {float(true):.6g} by the rows", float(off / max(true, off)))
