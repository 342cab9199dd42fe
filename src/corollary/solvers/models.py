"""The quadratic model of a smooth loss on a working set, with the intercept eliminated.

Around the current raw predictions the loss is gᵀδ + ½ δᵀHδ in the change δ of the coefficients, once the intercept is
always chosen best for δ. Two-class losses have one block; softmax has one block for all classes together, or, when
that would be too large, one per class with a curvature that bounds the true one from above (diag(p) ⪰ diag(p) − p pᵀ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.design import Design
from corollary.core.problem import Problem
from corollary.core.types import Array

FULL_BLOCK = 1500  # coefficients of all classes together, up to which their coupling is kept


@dataclass(frozen=True)
class Model:
    """``gradient`` has the shape of the coefficients (s,) or (s, k); ``blocks`` are pairs (columns of it, Hessian).

    ``floor`` is the decrease that the best intercept alone would bring; ``follow`` maps a step of the coefficients to
    the step of the intercept.
    """

    gradient: Array
    blocks: list[tuple[Any, Array]]
    tilt: float
    floor: float
    pull: Array
    border: Array  # d² loss / d intercept d coefficients, (k, s·k) or (s,)
    inverse: Array | float  # (generalised) inverse of the intercept's own curvature

    def follow(self, step: Array) -> Any:
        """The intercept's best answer to a step of the coefficients."""
        if step.ndim == 1:
            return -(self.pull + self.border @ step) * self.inverse
        return -self.inverse @ (self.pull + np.einsum("ksl,sl->k", self.border, step))  # type: ignore[operator]


def model_of(problem: Problem, part: Design, slope: Array, curve: Array | None) -> Model:
    """The model of ``problem`` restricted to the columns in ``part``."""
    if problem.loss.multiclass:
        return _class_model(problem, part, slope)
    assert curve is not None
    curve = np.maximum(curve, 1e-10 * curve.max(initial=1e-300))
    gradient, H, border, total = part.rmatvec(slope), part.gram(curve), part.rmatvec(curve), float(curve.sum())
    pull = float(slope.sum())
    if not problem.fit_intercept:
        return Model(gradient, [(slice(None), H)], 0.0, 0.0, np.float64(0.0), 0.0 * border, 0.0)
    gradient -= border * (pull / total)
    H -= np.outer(border, border / total)
    return Model(gradient, [(slice(None), H)], abs(pull), pull**2 / (2 * total), np.float64(pull), border, 1 / total)


def _class_model(problem: Problem, part: Design, slope: Array) -> Model:
    weights, k, s = problem.weights, problem.n_classes, part.shape[1]
    p = slope.copy()
    p[np.arange(len(p)), problem.y] += weights  # weight · probability
    share = p / np.where(weights > 0, weights, 1.0)[:, None]
    full = s * k <= FULL_BLOCK
    gradient, pull = part.rmatvec(slope), slope.sum(axis=0)
    H, border, own = np.zeros((k, s, k, s)) if full else None, np.zeros((k, s, k)), np.zeros((k, k))
    blocks = []
    for a in range(k):
        if H is None:
            block = part.gram(p[:, a])
            border[a, :, a] = part.rmatvec(p[:, a])
            own[a, a] = p[:, a].sum()
            if problem.fit_intercept and own[a, a] > 0:
                block -= np.outer(border[a, :, a], border[a, :, a] / own[a, a])
            blocks.append(((slice(None), a), block))
            continue
        H[a, :, a] = part.gram(p[:, a] * (1 - share[:, a]))
        own[a] = -p[:, a] @ share
        own[a, a] = p[:, a].sum() + own[a, a]
        for b in range(k):
            curve = p[:, a] * ((a == b) - share[:, b])
            border[a, :, b] = part.rmatvec(curve)
            if b < a:
                H[a, :, b] = -part.gram(-curve)
                H[b, :, a] = H[a, :, b]
    inverse = np.linalg.pinv(own, hermitian=True) if problem.fit_intercept else np.zeros((k, k))
    if problem.fit_intercept:
        gradient = gradient - np.einsum("ksl,k->sl", border, inverse @ pull)
    else:
        pull, border = np.zeros(k), np.zeros_like(border)
    if H is not None:
        square = H.transpose(1, 0, 3, 2).reshape(s * k, s * k)
        flat = border.reshape(k, s * k)
        blocks = [(None, square - flat.T @ inverse @ flat)]
    floor = 0.5 * float(pull @ inverse @ pull)
    return Model(gradient, blocks, float(np.abs(pull).max(initial=0.0)), floor, pull, border, inverse)
