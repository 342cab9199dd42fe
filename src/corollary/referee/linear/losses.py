"""The losses of the library, written a second time, in extended precision: (value, slope, curvature) of (y, f).

Losses with kinks are sums of *pieces*: ``weight · max(low · t, high · t)`` with t = f − centre.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
LONG = np.longdouble
Triple = tuple[Array, Array, Array]


def _squared(y: Array, f: Array, _: Any) -> Triple:
    r = f - y
    return r * r / 2, r, np.ones_like(r)


def _huber(y: Array, f: Array, delta: Any) -> Triple:
    r = f - y
    inner = np.abs(r) <= delta
    return (
        np.where(inner, r * r / 2, delta * (np.abs(r) - delta / 2)),
        np.clip(r, -delta, delta),
        inner.astype(LONG),
    )


def _logistic(y: Array, f: Array, _: Any) -> Triple:
    m = y * f
    wrong, right = np.exp(-np.logaddexp(LONG(0), m)), np.exp(-np.logaddexp(LONG(0), -m))
    return np.logaddexp(LONG(0), -m), -y * wrong, wrong * right


def _squared_hinge(y: Array, f: Array, _: Any) -> Triple:
    short = np.maximum(LONG(0), 1 - y * f)
    return short * short, -2 * y * short, 2 * (short > 0).astype(LONG)


def _exponential(y: Array, f: Array, _: Any) -> Triple:
    e = np.exp(-y * f)
    return e, -y * e, e


def _poisson(y: Array, f: Array, _: Any) -> Triple:
    e = np.exp(f)
    return e - y * f, e - y, e


def _tweedie(y: Array, f: Array, power: Any) -> Triple:
    """Half the deviance: y²⁻ᵖ/((1−p)(2−p)) − y μ¹⁻ᵖ/(1−p) + μ²⁻ᵖ/(2−p), and its limits at p = 1 and 2."""
    p, some = LONG(power), y > 0
    logs = np.where(some, np.log(np.where(some, y, 1)), LONG(0))
    a, b, d = 2 - p, p - 1, f - logs
    up = np.expm1(a * d) / a if a > 0 else d
    down = np.expm1(-b * d) / b if b > 0 else -d
    size, mean = np.where(some, np.exp(a * logs), LONG(0)), np.exp(a * f)
    fall = np.where(some, y * np.exp(-b * f), LONG(0))
    value = np.where(some, size * (up + down), mean / a if a > 0 else LONG(1))
    return value, mean - fall, a * mean + b * fall


SMOOTH: dict[str, Callable[[Array, Array, Any], Triple]] = {
    "squared": _squared,
    "huber": _huber,
    "logistic": _logistic,
    "squared_hinge": _squared_hinge,
    "exponential": _exponential,
    "poisson": _poisson,
    "tweedie": _tweedie,
}


def softmax(y: Array, f: Array) -> tuple[Array, Array]:
    """log Σ exp(f) − f_y and the probabilities, a row for each row of f; y are class numbers."""
    top = f.max(axis=1, keepdims=True)
    e = np.exp(f - top)
    total = e.sum(axis=1)
    every = np.arange(len(y))
    others = np.where(np.arange(f.shape[1]) == y[:, None], 0, e).sum(axis=1)
    lead = (top[:, 0] - f[every, y]).astype(LONG)
    value = np.where(lead == 0, np.log1p(others / e[every, y]), np.log(total) + lead)
    return value, e / total[:, None]


def pieces(loss: str, y: Array, parameter: Any) -> list[Triple] | None:
    """The (centre, low, high) of the pieces of a loss with kinks, or None."""
    one, none = np.ones_like(y), np.zeros_like(y)
    if loss == "absolute":
        return [(y, -one, one)]
    if loss == "quantile":
        return [(y, -one * parameter, one * (1 - LONG(parameter)))]
    if loss == "epsilon_insensitive":
        return [(y + LONG(parameter), none, one), (y - LONG(parameter), -one, none)]
    if loss == "hinge":
        return [(y, np.where(y > 0, -one, none), np.where(y > 0, none, one))]
    return None


def least_constant(loss: str, y: Array, weights: Array, n_classes: int) -> Any | None:
    """The least Σ w ℓ(y, c) over constants c, of losses for classes, where it has a formula in their weights W.

    Logistic and softmax: Σ_k W_k log(W/W_k); exponential: 2 √(W₊W₋); hinge: 2 min W; squared hinge: 4 W₊W₋/(W₊ + W₋).
    No difference of large numbers is taken, so a class may weigh 1e-80 of another.
    """
    every = [y == code for code in range(n_classes)] if n_classes else [y > 0, y < 0]
    W = np.array([weights[rows].sum() for rows in every], dtype=LONG)
    W = W[W > 0]
    if loss in ("logistic", "softmax"):
        return sum(own * np.log1p(np.delete(W, at).sum() / own) for at, own in enumerate(W))
    if loss not in ("exponential", "hinge", "squared_hinge") or len(W) < 2:
        return None
    product = {"exponential": 2 * np.sqrt(W[0]) * np.sqrt(W[1]), "hinge": 2 * W.min()}
    return product.get(loss, 4 * W.min() * (W.max() / W.sum()))
