"""The referee of votes on held-out rows: errors and intervals worked out again from what members said of them."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import betaincinv

from corollary.referee.rows import LONG
from corollary.referee.verdict import Verification

Array = Any
CLOSE = 1e-9  # of the size of errors, by which what is told may be off


def vote(said: Array, shares: Array, truth: Array, weights: Array, error: float, excess: Array) -> Verification:
    """Whether ``error`` is that of the vote, and ``excess`` (m × 3) by how much it is above that of each member.

    ``said`` is (m, n, k) for class numbers, whose error is the share of wrong ones, or (m, n) for numbers, whose error
    is the mean square; ``excess`` has means and the ends of intervals that hold for all m at once with 95 % confidence.
    """
    m, n = len(said), len(truth)
    if said.ndim not in (2, 3) or said.shape[1] != n or np.shape(excess) != (m, 3) or len(shares) != m or not n:
        return Verification(False, "what is kept of held-out rows does not fit together")
    parts, share = said.astype(LONG), np.asarray(shares, dtype=LONG)
    w = np.asarray(weights, dtype=LONG) / np.max(weights)
    if not (np.isfinite(parts).all() and w.min() > 0):
        return Verification(None, "held-out predictions are not finite, or of rows without weight")
    w, rows = w / w.sum(), (w.sum() ** 2 / (w @ w))
    whole = np.tensordot(share / share.sum(), parts, axes=1)
    if said.ndim == 3:
        losses = [(each.argmax(axis=1) != truth).astype(LONG) for each in (whole, *said)]
        # ties that rounding decides may go either way; those of whole votes, which add up without rounding, may not
        ahead = np.diff(np.sort(whole, axis=1)[:, -2:], axis=1).min(axis=1, initial=np.inf)
        unsure = (ahead <= 1e-12) & ((ahead > 0) | ~np.isin(said, (0, 1)).all())
        size, slack = LONG(1), 4 * (w @ unsure.astype(LONG))
    else:
        losses = [(each - truth.astype(LONG)) ** 2 for each in (whole, *parts)]
        size, slack = max(w @ each for each in losses), LONG(0)
    apart = [_apart(losses[0], each, w, rows, 0.025 / m, said.ndim == 3) for each in losses[1:]]
    told = [float(error), *np.asarray(excess, dtype=np.float64).ravel()]
    mine = [w @ losses[0], *(end for ends in apart for end in ends)]
    off = max(_off(a, b, size, slack) for a, b in zip(told, mine, strict=True))
    if not off <= CLOSE:
        return Verification(False, f"held-out errors of the vote or its members are told wrong, by {off:.2g}", off)
    return Verification(True, f"held-out errors and intervals are those of what members said ({off:.2g})", off)


def _apart(own: Array, other: Array, w: Array, rows: Any, tail: float, shares: bool) -> tuple[Any, Any, Any]:
    """(mean, low, high) of the differences of losses; weights have sum one."""
    d = own - other
    mean = w @ d
    if shares:  # Bonett and Price: one more row of either kind
        plus, minus = ((rows * (w @ (d == sign).astype(LONG)) + 1) / (rows + 2) for sign in (1, -1))
        half = LONG(NormalDist().inv_cdf(1 - tail)) * np.sqrt((plus + minus - (plus - minus) ** 2) / (rows + 2))
        middle = plus - minus
        return mean, max(LONG(-1), min(mean, middle - half)), min(LONG(1), max(mean, middle + half))
    if rows < 2:
        return mean, -LONG(np.inf), LONG(np.inf)
    free = float(rows - 1)  # Student's quantile is √(ν (1 − x) / x) with x that of the incomplete beta function
    x = betaincinv(free / 2, 0.5, 2 * tail)
    spread = np.sqrt((w * w) @ ((d - mean) ** 2) * rows / (rows - 1))
    half = np.sqrt(LONG(free * (1 - x)) / LONG(x)) * spread
    return mean, mean - half, mean + half


def _off(told: float, mine: Any, size: Any, slack: Any) -> float:
    """How far a number is off, relative to the size of errors; one that float64 does not have is told as infinite."""
    if not np.isfinite(told):
        beyond = abs(mine) > np.finfo(np.float64).max / 2
        return 0.0 if beyond and not np.isnan(told) and (told > 0) == (mine > 0) else float("inf")
    return float(max(abs(LONG(told) - mine) - slack, 0) / max(size, abs(mine), np.finfo(np.float64).tiny))
