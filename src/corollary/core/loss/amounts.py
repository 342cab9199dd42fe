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
    """μ²⁻ᵖ/(2−p) − y μ¹⁻ᵖ/(1−p) with μ = exp(f) and 1 ≤ p ≤ 2: half the Tweedie deviance, but for a constant.

    For amounts whose variance grows as μᵖ. Between the ends y is a sum of a Poisson number of gamma amounts, often
    exactly zero, as the claims of a policy are. p = 1 is the Poisson loss, p = 2 that of the gamma distribution,
    f + y exp(−f), for y > 0. Outside [1, 2] the loss is not convex in f.
    """

    name, code, task, link, self_concordant = "tweedie", codes.TWEEDIE, "regression", Log(), True
    domain = Real(low=0)
    limits: ClassVar[dict[str, Limit]] = {"power": Real(low=1, high=2)}
    power: float

    def __init__(self, power: float = 1.5) -> None:
        super().__init__(power=power)
        if power == 2:
            self.domain = Real(low=0, above=True)

    def _terms(self, y: Array, f: Array) -> tuple[Array, Array]:
        """μ²⁻ᵖ and y μ¹⁻ᵖ; where y is zero so is the second, however large μ¹⁻ᵖ is."""
        logs = np.log(y, out=np.full(np.shape(y), -np.inf), where=y > 0)
        return np.exp((2 - self.power) * f), np.exp(logs + (1 - self.power) * f)

    def value(self, y: Array, f: Array) -> Array:
        rise, fall = self._terms(y, f)
        first = rise / (2 - self.power) if self.power < 2 else f
        return first + (fall / (self.power - 1) if self.power > 1 else -y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        rise, fall = self._terms(y, f)
        return rise - fall

    def hessian(self, y: Array, f: Array) -> Array:
        rise, fall = self._terms(y, f)
        return (2 - self.power) * rise + (self.power - 1) * fall

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> Any:
        return Poisson().best_constant(y, weights)
