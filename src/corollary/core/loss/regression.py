"""Losses for numbers whose raw prediction is the prediction itself."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from corollary._compiled import codes
from corollary.core.limits import Limit, Real
from corollary.core.loss.base import SLACK, Loss, inside
from corollary.core.types import Array


class Squared(Loss):
    """½ (f − y)²."""

    name, aliases, code, task = "squared", ("squared_error",), codes.SQUARED, "regression"
    constant_curvature, lipschitz, deviance = True, 1.0, 2.0

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * (f - y) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        return f - y

    def hessian(self, y: Array, f: Array) -> Array:
        return np.ones_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return u * (0.5 * u + y)

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> float:
        return float(np.average(y, weights=weights))


class Absolute(Loss):
    """|f − y|."""

    name, aliases, code, task = "absolute", ("absolute_error",), codes.ABSOLUTE, "regression"
    smooth, curved, piecewise_linear = False, False, True

    def value(self, y: Array, f: Array) -> Array:
        return np.abs(f - y)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.sign(f - y)

    def hessian(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return inside(np.abs(u) <= 1 + SLACK, u * y)

    def best_shift(self, y: Array, raw: Array, weights: Array, l1: float = 0.0, l2: float = 0.0) -> float:
        """Without penalties the weighted median of y − raw, as the quantile 0.5 has it."""
        return super().best_shift(y, raw, weights, l1, l2) if l1 or l2 else _middle_of_quantile(y - raw, weights, 0.5)


class Huber(Loss):
    """½ r² for |r| ≤ δ, else δ|r| − ½ δ², with r = f − y."""

    name, code, task, lipschitz, flat, fading = "huber", codes.HUBER, "regression", 1.0, True, True
    limits: ClassVar[dict[str, Limit]] = {"delta": Real(low=0, above=True, finite=True)}
    delta: float

    def __init__(self, delta: float = 1.35) -> None:
        super().__init__(delta=delta)

    @classmethod
    def for_alpha(cls, alpha: float, y: Array, weights: Array) -> Self:
        """Residuals of the median beyond their ``alpha`` quantile count as outliers."""
        middle = np.quantile(y, 0.5, weights=weights, method="inverted_cdf")
        away = np.quantile(np.abs(y - middle), min(alpha, 1.0), weights=weights, method="inverted_cdf")
        # most targets may be equal; residuals below the last bits of y, times weights, would vanish from every slope
        bits = float(np.finfo(float).eps) * float(np.max(np.abs(y[weights > 0]), initial=0.0))
        return cls(max(float(away), bits, float(np.finfo(float).tiny)))

    def shrink(self, slope: Array, weights: Array) -> float:
        live = weights > 0
        largest = float(np.max(np.abs(slope[live]) / weights[live], initial=0.0))
        return 1.0 if largest <= self.delta else self.delta / largest

    def value(self, y: Array, f: Array) -> Array:
        r, delta = np.abs(f - y), self.delta
        return np.where(r <= delta, 0.5 * r**2, delta * (r - 0.5 * delta))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.clip(f - y, -self.delta, self.delta)

    def hessian(self, y: Array, f: Array) -> Array:
        return (np.abs(f - y) <= self.delta).astype(float)

    def conjugate(self, y: Array, u: Array) -> Array:
        return inside(np.abs(u) <= self.delta * (1 + SLACK), u * (0.5 * u + y))


class Quantile(Loss):
    """τ (y − f) above the prediction, (1 − τ)(f − y) below it."""

    name, code, task = "quantile", codes.QUANTILE, "regression"
    smooth, curved, piecewise_linear = False, False, True
    limits: ClassVar[dict[str, Limit]] = {"quantile": Real(low=0, high=1, above=True)}
    quantile: float

    def __init__(self, quantile: float = 0.5) -> None:
        super().__init__(quantile=quantile)

    @classmethod
    def for_alpha(cls, alpha: float, y: Array, weights: Array) -> Self:
        return cls(alpha)

    def value(self, y: Array, f: Array) -> Array:
        r = y - f
        return np.maximum(self.quantile * r, (self.quantile - 1) * r)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.where(y > f, -self.quantile, np.where(y < f, 1 - self.quantile, 0.0))

    def hessian(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return inside((u >= -self.quantile - SLACK) & (u <= 1 - self.quantile + SLACK), u * y)

    def best_shift(self, y: Array, raw: Array, weights: Array, l1: float = 0.0, l2: float = 0.0) -> float:
        """Without penalties the weighted quantile of y − raw."""
        if l1 or l2:
            return super().best_shift(y, raw, weights, l1, l2)
        return _middle_of_quantile(y - raw, weights, self.quantile)


def _middle_of_quantile(left: Array, weights: Array, share: float) -> float:
    """A weighted quantile, and the middle where a whole interval is one.

    That neither the order of the rows nor rows repeated in place of weights may decide: halving an interval on which
    the slope is zero but for rounding goes to either end of it.
    """
    order = np.argsort(left, kind="stable")
    reach = np.cumsum(weights[order])
    goal, slack = share * reach[-1], 1e-12 * reach[-1]
    ends = (np.searchsorted(reach, goal - slack, side="left"), np.searchsorted(reach, goal + slack, side="right"))
    low, high = (left[order[min(int(end), len(order) - 1)]] for end in ends)
    return float(0.5 * low + 0.5 * high)


class EpsilonInsensitive(Loss):
    """max(0, |f − y| − ε)."""

    name, code, task = "epsilon_insensitive", codes.EPSILON_INSENSITIVE, "regression"
    smooth, curved, piecewise_linear = False, False, True
    limits: ClassVar[dict[str, Limit]] = {"epsilon": Real(low=0, finite=True)}
    epsilon: float

    def __init__(self, epsilon: float = 0.1) -> None:
        super().__init__(epsilon=epsilon)

    @classmethod
    def for_alpha(cls, alpha: float, y: Array, weights: Array) -> Self:
        return cls(alpha)

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(0.0, np.abs(f - y) - self.epsilon)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.where(np.abs(f - y) <= self.epsilon, 0.0, np.sign(f - y))

    def hessian(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return inside(np.abs(u) <= 1 + SLACK, u * y + self.epsilon * np.abs(u))
