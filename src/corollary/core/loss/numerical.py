"""What can be computed for any convex loss from its values and slopes alone: the best constant, and the conjugate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corollary.core.types import Array

if TYPE_CHECKING:
    from corollary.core.loss.base import Loss

DOUBLINGS = 60  # of a bracket, before it is clear that there is nothing to be found
ROUNDS = 200  # bisections need 60 to 120, Newton's steps about 10
EDGE = 1e-12  # by so much may u lie outside the domain of a conjugate, through rounding


def best_shift(loss: Loss, y: Array, raw: Array, weights: Array, l1: float, l2: float) -> float:
    """The v that minimises Σ w ℓ(y, raw + v) + l1 |v| + ½ l2 v². Its slope rises: a bracket is widened, then halved."""
    reach = loss.reach(y, raw)
    if loss.code >= 0:
        from corollary._compiled import losses

        found: float = losses.best_shift(loss.code, loss.parameter, y, raw, weights, l1, l2, reach)
        return found

    def slope(v: float) -> float:
        return float(weights @ loss.gradient(y, raw + v)) + l2 * v + (l1 if v >= 0 else -l1)

    low, high = -reach, reach
    with np.errstate(over="ignore"):
        for _ in range(DOUBLINGS):
            if slope(low) <= 0:
                break
            low *= 2
        for _ in range(DOUBLINGS):
            if slope(high) >= 0:
                break
            high *= 2
        while high - low > 1e-12 * max(abs(low), abs(high), 1e-18 * reach):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


def conjugate(loss: Loss, y: Array, u: Array) -> Array:
    """ℓ*(y, u) = sup over f of u f − ℓ(y, f), element by element; inf where there is no supremum.

    The slope u − ℓ′(f) falls with f. A bracket of its zero is widened, then narrowed by Newton's steps and bisections.
    What is returned is the height at the best point plus what the tangent there allows up to the end of the bracket, so
    it is not below the supremum.
    """
    if loss.multiclass:
        raise TypeError(f"the {loss.name} loss has several raw predictions a row: it must define its own conjugate.")
    y, u = (np.array(part, dtype=np.float64) for part in np.broadcast_arrays(y, u))
    shape, y, u = u.shape, y.ravel(), u.ravel()
    with np.errstate(all="ignore"):
        low, high, found = _bracket(loss, y, u)
        rest = np.flatnonzero(~found)
        edge = loss.gradient(y[rest], low[rest])  # as far out as was tried
        near = np.abs(u[rest] - edge) <= EDGE * (1 + np.abs(edge))
        rest = rest[near]
        u[rest] = edge[near]
        low[rest], high[rest], found[rest] = _bracket(loss, y[rest], u[rest])
        value = np.full(len(u), np.inf)
        value[found] = _height(loss, y[found], u[found], low[found], high[found])
    return value.reshape(shape)


def _bracket(loss: Loss, y: Array, u: Array) -> tuple[Array, Array, Array]:
    """Ends between which u − ℓ′(f) changes sign, and whether there are such ends."""
    centre = y.copy() if loss.link.in_units_of_y and loss.task == "regression" else np.zeros_like(y)
    low, high = centre.copy(), centre.copy()
    slope = u - loss.gradient(y, centre)
    rising, found = slope > 0, slope == 0  # the maximum lies above the centre, or is there
    length = np.ones_like(y)
    for _ in range(DOUBLINGS):
        rest = np.flatnonzero(~found)
        if rest.size == 0:
            break
        up = rising[rest]
        end = centre[rest] + np.where(up, length[rest], -length[rest])
        slope = u[rest] - loss.gradient(y[rest], end)
        found[rest] = np.where(up, slope <= 0, slope >= 0)
        high[rest] = np.where(up, end, high[rest])
        low[rest] = np.where(up, low[rest], end)
        # an end that is not far enough is the other end of the next bracket
        short = rest[~found[rest]]
        low[short] = np.where(rising[short], high[short], low[short])
        high[short] = np.where(rising[short], high[short], low[short])
        length[short] *= 2
    return low, high, found


def _height(loss: Loss, y: Array, u: Array, low: Array, high: Array) -> Array:
    """The supremum of u f − ℓ(y, f) between two ends, not underestimated."""
    f = 0.5 * (low + high)
    best = np.full(len(u), np.inf)
    for turn in range(ROUNDS):
        slope, value = u - loss.gradient(y, f), u * f - loss.value(y, f)
        low, high = np.where(slope > 0, f, low), np.where(slope < 0, f, high)
        room = np.where(slope > 0, slope * (high - f), slope * (low - f))
        room = np.where(slope == 0, 0.0, room)
        best = np.fmin(best, value + room)
        if (room <= 1e-15 * (np.abs(u * f) + np.abs(value))).all():
            break
        newton = f + slope / loss.hessian(y, f)
        inside = (newton > low) & (newton < high) & (turn % 3 != 2)
        f = np.where(inside, newton, 0.5 * (low + high))
    return best
