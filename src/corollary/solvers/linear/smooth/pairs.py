"""What the last steps have shown of the curvature, on top of a guess at it: the two loops of L-BFGS.

A pair is a step of (coefficients, intercept), by how much it changed their gradient, and the product of the two.
Reference: Nocedal (1980), *Updating quasi-Newton matrices with limited storage*, Mathematics of Computation 35.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from corollary.core.types import Array

Vector = tuple[Array, Any]  # (coefficients, intercept)
Precondition = Callable[[Array, Any], Vector]  # about the inverse Hessian times (coefficients' gradient, intercept's)
Pairs = list[tuple[Vector, Vector, float]]

MOST = 10


def added(pairs: Pairs, step: Vector, change: Vector) -> Pairs:
    """The latest pairs with this one, if there is curvature along its step."""
    curvature = float(np.vdot(step[0], change[0]) + np.vdot(step[1], change[1]))
    if not curvature > 1e-14 * float(np.vdot(change[0], change[0])) ** 0.5:
        return pairs
    return [*pairs, (step, change, curvature)][-MOST:]


def along(pairs: Pairs, precondition: Precondition, gradient: Array, tilt: Any) -> Vector:
    """The direction of a quasi-Newton step: minus the inverse Hessian, as the pairs correct it, times the gradient."""
    q, t = gradient.copy(), tilt
    weights = []
    for s, y, curvature in reversed(pairs):
        a = (np.vdot(s[0], q) + np.vdot(s[1], t)) / curvature
        q, t = q - a * y[0], t - a * y[1]
        weights.append(a)
    p, shift = precondition(q, t)
    if pairs:
        _, y, curvature = pairs[-1]
        py, pt = precondition(*y)
        guess = float(np.vdot(y[0], py) + np.vdot(y[1], pt))
        ratio = curvature / guess if guess > 0 else 1.0  # the squares of tiny slopes vanish
        p, shift = ratio * p, ratio * shift
    for (s, y, curvature), a in zip(pairs, reversed(weights), strict=True):
        b = a - (np.vdot(y[0], p) + np.vdot(y[1], shift)) / curvature
        p, shift = p + b * s[0], shift + b * s[1]
    return -p, -shift
