"""What boosting lowers: a loss on rows, its derivatives there, and the best constant to add to some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.codes import LOGISTIC
from corollary._compiled.losses import loss_block
from corollary._compiled.trees.boosting import gradients
from corollary.core.loss import Loss
from corollary.core.parallel import sum_blocks
from corollary.core.types import Array

_BLOCK = 1 << 16


@dataclass(frozen=True)
class Objective:
    """A loss on data: y is numbers, ±1 or class numbers; ``n_outputs`` raw predictions per row."""

    loss: Loss
    y: Array
    weights: Array
    n_outputs: int

    @property
    def newton(self) -> bool:
        """Whether curvatures may be used as they are."""
        return self.loss.multiclass or (self.loss.curved and self.loss.smooth and not self.loss.flat)

    def start(self) -> Array:
        """The best constant prediction, one number per output."""
        if self.loss.multiclass:
            share = np.bincount(self.y, weights=self.weights, minlength=self.n_outputs) / self.weights.sum()
            logs = np.log(np.maximum(share, np.finfo(float).tiny))
            return logs - logs.mean()
        mean = float(np.average(self.y, weights=self.weights))
        if self.loss.name == "squared":
            return np.array([mean])
        if self.loss.name == "logistic":  # y is ±1, and both are there
            return np.array([np.log1p(mean) - np.log1p(-mean)])
        if self.loss.name == "poisson" and mean > 0:
            return np.array([np.log(mean)])
        rows = np.flatnonzero(self.weights > 0)
        return np.array([self.constant(rows, np.zeros(len(self.y)), 0.0, 0.0)])

    def constant(self, rows: Array, raw: Array, l1: float, l2: float) -> float:
        """The best number to add to the raw predictions of ``rows``."""
        loss = self.loss
        if loss.code >= 0:
            reach = 1.0
            if loss.task == "regression" and loss.name != "poisson":
                reach = float(np.max(np.abs(self.y[rows] - raw[rows]), initial=1e-300))
            return gradients.best_constant(
                loss.code, loss.parameter, rows, 0, len(rows), self.y, raw, self.weights, l1, l2, reach
            )
        return _best_constant_of(loss, self.y[rows], raw[rows], self.weights[rows], l1, l2)

    def derivatives(self, raw: Array, gradient: Array, hessian: Array) -> float:
        """Fill gradients and curvatures (outputs, rows); returns the mean loss."""
        loss, y, w = self.loss, self.y, self.weights

        def block(start: int, stop: int) -> float:
            own = slice(start, stop)
            if loss.multiclass:
                return gradients.softmax_gradients(y, raw, w, start, stop, gradient, hessian)
            if loss.code == LOGISTIC:
                return gradients.logistic_gradients(y[own], raw[0, own], w[own], gradient[0, own], hessian[0, own])
            if loss.code >= 0:
                return loss_block(
                    loss.code, loss.parameter, y[own], raw[0, own], w[own], gradient[0, own], hessian[0, own]
                )
            gradient[0, own] = w[own] * loss.gradient(y[own], raw[0, own])
            hessian[0, own] = w[own] * loss.hessian(y[own], raw[0, own])
            return float(w[own] @ loss.value(y[own], raw[0, own]))

        total = sum_blocks(block, len(y), _BLOCK)
        if not self.newton:
            hessian[0] = w
        return float(total) / float(w.sum())

    def mean_loss(self, raw: Array) -> float:
        """The mean loss alone (validation sets are small)."""
        scratch = np.empty_like(raw), np.empty_like(raw)
        return self.derivatives(raw, *scratch)


def _best_constant_of(loss: Loss, y: Array, raw: Array, w: Array, l1: float, l2: float) -> float:
    """As ``gradients.best_constant``, for a loss that only NumPy knows."""

    def slope(v: float) -> float:
        return float(w @ loss.gradient(y, raw + v)) + l2 * v + (l1 if v >= 0 else -l1)

    low, high = -1.0, 1.0
    for _ in range(60):
        if slope(low) <= 0:
            break
        low *= 2
    for _ in range(60):
        if slope(high) >= 0:
            break
        high *= 2
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 0.5 * (low + high)
