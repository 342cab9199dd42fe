"""The referee of boosted leaves: the slope that the step of each leaf leaves behind, worked out from its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.referee.linear.losses import SMOOTH, pieces
from corollary.referee.rows import LONG

Array = Any
CAPPED = ("logistic", "softmax", "exponential", "poisson", "tweedie")  # |ℓ‴| ≤ ℓ″: steps no longer than log(1 + |s|)
SUMMED = 2.0**-60  # of the largest slope and of n: as documented, leaves are sums of whole numbers of 61 bits


@dataclass(frozen=True)
class Steps:
    """How leaves step: ``rate`` times Newton's step, or the exact minimum, under penalties in units of the weights.

    Rounds before ``first`` are of an earlier fit, whose rows may have been others.
    """

    rate: float
    l1: float
    l2: float
    newton: bool
    first: int = 0


def derivatives(loss: tuple[str, Any], y: Array, raw: Array, output: int) -> tuple[Array, Array]:
    """(slope, curvature) of the loss of each row in one raw prediction; from the right where there is a kink."""
    name, parameter = loss
    if name == "softmax":
        e = np.exp(raw - raw.max(axis=1, keepdims=True))
        own, others = e[:, output] / e.sum(axis=1), np.delete(e, output, axis=1).sum(axis=1) / e.sum(axis=1)
        return np.where(y == output, -others, own), own * others
    f, y = raw[:, output], y.astype(LONG)
    if name in SMOOTH:
        return SMOOTH[name](y, f, parameter)[1:]
    parts = [np.where(f < centre, low, high) for centre, low, high in pieces(name, y, parameter) or ()]
    return np.sum(parts, axis=0), np.zeros_like(f)


def slope_left(
    loss: tuple[str, Any], y: Array, w: Array, raw: Array, start: Array, leaf: Array, value: Array, output: int,
    steps: Steps,
) -> tuple[float, int, int]:  # fmt: skip
    """The largest slope that a step leaves in a leaf, relative to its rows' slopes at the start; leaves judged; leaves.

    ``raw`` are predictions before the round, ``leaf`` is where each row ends and ``value`` what each node adds. What
    the last bits of raw predictions and sums, which are float64, come to is no slope.
    """
    live = w > 0
    y, w, raw = y[live], w[live], raw[live]
    _, group, rows = np.unique(leaf[live], return_inverse=True, return_counts=True)
    order, ends = np.argsort(group, kind="stable"), np.concatenate([[0], np.cumsum(rows)[:-1]])

    def summed(numbers: Array) -> Array:
        return np.add.reduceat(numbers[order], ends)

    added = np.asarray(value, dtype=LONG)[leaf[live][order[ends]]]
    dim = np.zeros(len(rows), dtype=bool)  # leaves that cannot be judged
    size = summed(w * np.abs(derivatives(loss, y, np.broadcast_to(start, raw.shape), output)[0]))
    if steps.newton:
        slope, curve = (w * part for part in derivatives(loss, y, raw, output))
        g, bend = summed(slope), summed(curve) + steps.l2
        step = -np.copysign(np.maximum(np.abs(g) - steps.l1, 0), g) / np.where(bend > 0, bend, 1) * (bend > 0)
        best = steps.rate * step
        if loss[0] in CAPPED:
            best = np.copysign(np.minimum(np.abs(best), np.log1p(np.abs(step))), step)
        rounding = summed(curve * np.abs(raw).max(axis=1) + np.abs(slope)) + bend * np.abs(added)
        left = bend * np.abs(added - best) / steps.rate - 1e-12 * rounding
        # as documented, a leaf's sums are whole numbers on a grid of the largest: those that it does not tell to nine
        # digits (of rows that weigh next to nothing, or of which the model is certain) are not judged
        grid = 16e9 * SUMMED * len(y) * rows
        dim = (summed(np.abs(slope)) < grid * np.abs(slope).max()) | (summed(curve) < grid * curve.max())
        dim |= np.minimum(summed(np.abs(slope)), summed(curve)) < 1e-200  # near the end of the range of float64
        dim |= (summed(w) < 1e-12 * w.sum()) | (np.ptp(np.log(w)) > 230)  # or weights of more than a hundred decades
    else:
        v = added / steps.rate
        away = np.abs(y - raw[:, output]) if loss[0] not in ("hinge", "squared_hinge") else np.ones(len(y), LONG)
        near = 1e-9 * (np.abs(v) + np.maximum.reduceat(away[order], ends)) + 1e-12 * np.abs(raw).max()
        near = np.maximum(near, np.finfo(np.float64).tiny)  # below which numbers of the fit have few digits, or none

        def pull(at: Array) -> Array:
            slopes = derivatives(loss, y, raw + at[group][:, None], output)[0]
            return summed(w * slopes) + steps.l2 * at + np.copysign(steps.l1, at)

        left = np.maximum(pull(v - near), -pull(v + near)) - 1e-12 * summed(w)
    relative = np.where(dim, 0, np.maximum(left, 0) / np.where(size > 0, size, 1))
    return float(relative.max(initial=0)), int(len(rows) - dim.sum()), len(rows)
