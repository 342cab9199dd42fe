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
        return self.loss.multiclass or (self.loss.curved and self.loss.smooth and not self.loss.fading)

    def start(self) -> Array:
        """The best constant prediction, one number per output."""
        return np.atleast_1d(self.loss.best_constant(self.y, self.weights, self.n_outputs))

    def constant(self, rows: Array, raw: Array, l1: float, l2: float) -> float:
        """The best number to add to the raw predictions of ``rows``."""
        return self.loss.best_shift(self.y[rows], raw[rows], self.weights[rows], l1, l2)

    def derivatives(self, raw: Array, gradient: Array, hessian: Array) -> float:
        """Fill gradients and curvatures (outputs, rows); returns the mean loss."""
        total = sum_blocks(lambda a, b: self._block(a, b, raw, gradient, hessian), len(self.y), _BLOCK)
        if not self.newton:
            hessian[0] = self.weights
        return float(total) / float(self.weights.sum())

    def _block(self, start: int, stop: int, raw: Array, gradient: Array, hessian: Array) -> float:
        loss, own = self.loss, slice(start, stop)
        y, w = self.y[own], self.weights[own]
        if loss.multiclass and loss.code >= 0:
            return gradients.softmax_gradients(self.y, raw, self.weights, start, stop, gradient, hessian)
        if loss.code == LOGISTIC:
            return gradients.logistic_gradients(y, raw[0, own], w, gradient[0, own], hessian[0, own])
        if loss.code >= 0:
            return loss_block(loss.code, loss.parameter, y, raw[0, own], w, gradient[0, own], hessian[0, own])
        f = raw[:, own].T if loss.multiclass else raw[0, own]
        curves = loss.hessian(y, f)
        gradient[:, own] = w * loss.gradient(y, f).T
        hessian[:, own] = w * (np.einsum("ikk->ki", curves) if loss.multiclass else curves)
        return float(w @ loss.value(y, f))

    def mean_loss(self, raw: Array) -> float:
        """The mean loss alone (validation sets are small)."""
        scratch = np.empty_like(raw), np.empty_like(raw)
        return self.derivatives(raw, *scratch)
