"""Losses for amounts that are not negative and whose mean is exp(f): counts, rain, claims."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from corollary._compiled import codes
from corollary.core.limits import Limit, Real
from corollary.core.link import Log
from corollary.core.loss.base import SLACK, Loss, inside
from corollary.core.types import Array


class Poisson(Loss):
    """exp(f) − y f, for counts y ≥ 0 with mean exp(f)."""

    name, code, task, link, self_concordant = "poisson", codes.POISSON, "regression", Log(), True
    domain = Real(low=0)

    def value(self, y: Array, f: Array) -> Array:
        return np.exp(f) - y * f

    def gradient(self, y: Array, f: Array) -> Array:
        return np.exp(f) - y

    def hessian(self, y: Array, f: Array) -> Array:
        return np.exp(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        v = u + y
        return inside(v >= -SLACK * (1 + y), xlogy(np.maximum(v, 0), np.maximum(v, 0)) - v)

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> Any:
        mean = float(np.average(y, weights=weights))
        return float(np.log(mean)) if mean > 0 else super().best_constant(y, weights)


class Tweedie(Loss):
    """Half the Tweedie deviance of y from the mean μ = exp(f), for amounts whose variance grows as μᵖ, 1 ≤ p ≤ 2.

    y²⁻ᵖ/((1−p)(2−p)) − y μ¹⁻ᵖ/(1−p) + μ²⁻ᵖ/(2−p), or y²⁻ᵖ ((eᵃᵈ − 1)/a + (e⁻ᵇᵈ − 1)/b) with d = f − log y, a = 2 − p
    and b = p − 1. Between the ends y is a sum of a Poisson number of gamma amounts, often exactly zero, as the claims
    of a policy are. p = 1 is the Poisson loss but for a constant; p = 2 is that of the gamma distribution, for y > 0.
    Outside [1, 2] the loss is not convex in f.
    """

    name, code, task, link, self_concordant = "tweedie", codes.TWEEDIE, "regression", Log(), True
    domain = Real(low=0)
    limits: ClassVar[dict[str, Limit]] = {"power": Real(low=1, high=2)}
    power: float

    def __init__(self, power: float = 1.5) -> None:
        super().__init__(power=power)
        if power == 2:
            self.domain = Real(low=0, above=True)

    def _terms(self, y: Array, f: Array) -> tuple[Array, Array, Array, Array]:
        """d, y²⁻ᵖ, eᵃᵈ − 1 and e⁻ᵇᵈ − 1; where y is zero, what makes the formulas below true there."""
        some = y > 0
        logs = np.log(np.where(some, y, 1.0))
        d, a, b = f - logs, 2 - self.power, self.power - 1
        return d, np.exp(a * logs), np.expm1(a * d), np.where(some, np.expm1(np.where(some, -b * d, 0.0)), -1.0)

    def value(self, y: Array, f: Array) -> Array:
        (d, size, rise, fall), a, b = self._terms(y, f), 2 - self.power, self.power - 1
        above, below = rise / a if a > 0 else d, fall / b if b > 0 else -d
        return np.where(y > 0, size * (above + below), (1 + rise) / (a or 1.0))

    def gradient(self, y: Array, f: Array) -> Array:
        _, size, rise, fall = self._terms(y, f)
        return size * (rise - fall)

    def hessian(self, y: Array, f: Array) -> Array:
        _, size, rise, fall = self._terms(y, f)
        return size * ((2 - self.power) * (1 + rise) + (self.power - 1) * (1 + fall))

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> Any:
        return Poisson().best_constant(y, weights)
