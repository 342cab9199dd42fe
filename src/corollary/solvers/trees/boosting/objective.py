"""What boosting lowers: a loss on rows, its derivatives there, and the best constant to add to some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.codes import LOGISTIC, SOFTMAX, SQUARED
from corollary._compiled.losses import loss_rows
from corollary._compiled.trees.boosting.gradients import BLOCK
from corollary.core.loss import Loss
from corollary.core.parallel import map_blocks, run_team
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

    @property
    def code(self) -> int:
        """Of the losses that the kernel of a round differentiates by itself; −1 for others."""
        return self.loss.code if self.newton and self.loss.code in (SQUARED, LOGISTIC, SOFTMAX) else -1

    def mean(self, losses: Array) -> float:
        """The mean loss from the weighted losses of blocks of rows."""
        return float(losses.sum()) / float(self.weights.sum())

    def derivatives(self, raw: Array, gradient: Array, hessian: Array) -> float:
        """Fill gradients and curvatures (outputs, rows) of losses without ``code``; returns the mean loss."""
        if self.loss.code >= 0:
            losses = np.zeros(-(-len(self.y) // BLOCK))
            loss, into = (self.loss.code, self.loss.parameter, False), (gradient[0], hessian[0], losses)
            run_team(loss_rows, *loss, self.y, raw[0], self.weights, BLOCK, *into, most=len(losses))
        else:
            parts = map_blocks(lambda a, b: self._block(a, b, raw, gradient, hessian), len(self.y), _BLOCK)
            losses = np.array(list(parts))
        if not self.newton:
            hessian[0] = self.weights
        return self.mean(losses)

    def _block(self, start: int, stop: int, raw: Array, gradient: Array, hessian: Array) -> float:
        loss, own = self.loss, slice(start, stop)
        y, w = self.y[own], self.weights[own]
        f = raw[:, own].T if loss.multiclass else raw[0, own]
        curves = loss.hessian(y, f)
        gradient[:, own] = w * loss.gradient(y, f).T
        hessian[:, own] = w * (np.einsum("ikk->ki", curves) if loss.multiclass else curves)
        return float(w @ loss.value(y, f))
