"""The objective of a linear model in the user's own coordinates, in long doubles: written for Clarabel's answers alone.

It shares nothing with the referee's, nor with the library's: a fault in one of them does not deceive both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

Array = Any
LONG = np.longdouble
EPS = LONG(np.finfo(np.float64).eps)
CLASSES = ("logistic", "hinge", "squared_hinge")
LEAST = LONG(1e-6)  # of the null model's objective: relative to less than that nothing is measured
FINEST = LONG(1e8)  # times what the rounding of y may change: nor relative to less than that


def loss(name: str, parameter: float, y: Array, f: Array) -> Array:
    """ℓ(y, f), case by case as in a textbook."""
    r, m, p = y - f, y * f, LONG(parameter)
    if name == "huber":
        return np.where(abs(r) <= p, r * r / 2, p * abs(r) - p * p / 2)
    if name == "quantile":
        return np.where(r >= 0, p * r, (p - 1) * r)
    if name == "logistic":
        return np.where(m > 0, np.log1p(np.exp(-abs(m))), np.log1p(np.exp(-abs(m))) - m)
    short = np.where(m < 1, 1 - m, 0)
    tube = np.where(abs(r) > p, abs(r) - p, 0)
    plain = {"squared": r * r / 2, "absolute": abs(r), "hinge": short, "squared_hinge": short * short}
    return plain[name] if name in plain else {"epsilon_insensitive": tube}[name]


@dataclass
class Plain:
    """Σ w ℓ(y, Xβ + b) + l1 ‖β‖₁ + ½ l2 ‖β‖², over the rows with weight."""

    X: Array
    y: Array
    weights: Array
    loss: str
    parameter: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    fit_intercept: bool = True
    positive: bool = False

    def __post_init__(self) -> None:
        X = self.X.toarray() if hasattr(self.X, "toarray") else np.asarray(self.X)
        live = np.asarray(self.weights) > 0
        self.X, self.y, self.weights = (np.asarray(part)[live].astype(LONG) for part in (X, self.y, self.weights))

    def _sum(self, f: Array) -> Any:
        return (self.weights * loss(self.loss, self.parameter, self.y, f)).sum()

    def value(self, beta: Array, start: Any) -> Any:
        penalty = LONG(self.l1) * np.abs(beta).sum() + LONG(self.l2) * (beta * beta).sum() / 2
        outside = self.positive and (beta < 0).any()
        return LONG(np.inf) if outside else self._sum(self.X @ beta + start) + penalty

    def rounding(self, beta: Array, start: Any) -> Any:
        """What rounding every coefficient to float64, twice over, may add to the losses: each row moved both ways."""
        f, off = self.X @ beta + start, 2 * EPS * (np.abs(self.X) @ np.abs(beta) + abs(start))
        here, *moved = (loss(self.loss, self.parameter, self.y, g) for g in (f, f - off, f + off))
        return (self.weights * np.maximum(*(np.maximum(there - here, 0) for there in moved))).sum()

    def yardstick(self) -> Any:
        """What an objective is at least taken for, as the documentation of the evidence has it."""
        off, finest = EPS * np.abs(self.y), LONG(0)
        if self.loss not in CLASSES:
            smooth = self.loss in ("squared", "huber")
            finest = (self.weights * (loss(self.loss, self.parameter, self.y, self.y + off) if smooth else off)).sum()
        return max(LEAST * self._null(), FINEST * finest)

    def _null(self) -> Any:
        """The objective of the best constant, to some digits; of zero without an intercept."""
        if not self.fit_intercept:
            return self._sum(np.zeros_like(self.y))
        ends = (LONG(-50), LONG(50)) if self.loss in CLASSES else (self.y.min(), self.y.max())

        def at(part: float) -> float:
            return float(self._sum(ends[0] + LONG(part) * (ends[1] - ends[0])) / self.weights.sum())

        return LONG(minimize_scalar(at, bounds=(0, 1), method="bounded").fun) * self.weights.sum()
