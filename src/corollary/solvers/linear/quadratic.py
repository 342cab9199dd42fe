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
from corollary.core.parallel import block_rows
from corollary.core.problem import Problem, inverse_of_classes
from corollary.core.summary import centre_gram
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
    pull: Any
    border: Array  # d² loss / d intercept d coefficients, (k, s·k) or (s,)
    inverse: Array | float  # (generalised) inverse of the intercept's own curvature

    def follow(self, step: Array) -> Any:
        """The intercept's best answer to a step of the coefficients."""
        if step.ndim == 1:
            return -(self.pull + self.border @ step) * self.inverse
        return -self.inverse @ (self.pull + np.einsum("ksl,sl->k", self.border, step))


def model_of(problem: Problem, part: Design, slope: Array, curve: Array | None) -> Model:
    """The model of ``problem`` restricted to the columns in ``part``."""
    if problem.loss.multiclass:
        return _class_model(problem, part, slope)
    assert curve is not None
    curve = np.maximum(curve, 1e-10 * curve.max(initial=1e-300))
    gradient, border, total = part.rmatvec(slope), part.rmatvec(curve), float(curve.sum())
    H, pull = part.gram(curve), float(slope.sum())
    if not problem.fit_intercept:
        return Model(gradient, [(slice(None), H)], 0.0, 0.0, 0.0, 0.0 * border, 0.0)
    gradient -= border * (pull / total)
    centre_gram(H, border, total)
    return Model(gradient, [(slice(None), H)], abs(pull), 0.5 * pull * (pull / total), pull, border, 1 / total)


def _class_model(problem: Problem, part: Design, slope: Array) -> Model:
    if part.shape[1] * problem.n_classes > FULL_BLOCK:
        return _separate_classes(problem, part, slope)
    k, s = problem.n_classes, part.shape[1]
    gradient, pull = part.rmatvec(slope), slope.sum(axis=0)
    H = class_hessian(problem, part, slope)
    square, flat, own = H[: s * k, : s * k], H[s * k :, : s * k], H[s * k :, s * k :]
    if not problem.fit_intercept:
        zero = np.zeros((k, s, k))
        return Model(gradient, [(None, square)], 0.0, 0.0, np.zeros(k), zero, np.zeros((k, k)))
    inverse = inverse_of_classes(own)
    lean = flat.T @ inverse
    gradient = gradient - (lean @ pull).reshape(s, k)
    reduced = square - lean @ flat
    constant = np.diag(reduced) <= 1e-12 * np.diag(square)  # the intercepts do all that such a column could
    reduced[constant], reduced[:, constant] = 0.0, 0.0
    gradient.ravel()[constant] = 0.0
    floor = 0.5 * float(pull @ inverse @ pull)
    tilt = float(np.abs(pull).max(initial=0.0))
    return Model(gradient, [(None, reduced)], tilt, floor, pull, flat.reshape(k, s, k), inverse)


def feasible_slope(problem: Problem, slope: Array, curve: Array | None) -> Array:
    """Without a penalty a dual point needs Xᵀθ = 0: the slopes after one Newton step of the linearised loss have it."""
    model = model_of(problem, problem.design, slope, curve)
    (_, H), shape = model.blocks[0], model.gradient.shape
    step = np.linalg.lstsq(H, -model.gradient.ravel(), rcond=None)[0].reshape(shape)
    change = problem.design.matvec(step) + (model.follow(step) if problem.fit_intercept else 0.0)
    if curve is not None:
        return slope + curve * change
    p = slope.copy()
    p[np.arange(len(p)), problem.y] += problem.weights
    share = p / np.where(problem.weights > 0, problem.weights, 1.0)[:, None]
    return slope + p * (change - np.einsum("ik,ik->i", share, change)[:, None])


def class_hessian(problem: Problem, part: Design, slope: Array) -> Array:
    """Hessian of the softmax loss in (coefficients by column then class, intercepts), of side (s + 1)·k.

    Σ w x̃x̃ᵀ ⊗ (diag(p) − p pᵀ), with x̃ = (x, 1): one product for −p pᵀ, then p (1 − p) class by class, where 1 − p of
    a row's own class is the slope itself, which is small where the row is nearly certain.
    """
    n, s = part.shape
    weights, k = problem.weights, problem.n_classes
    root, own = np.sqrt(np.where(weights > 0, weights, 1.0)), (np.arange(n), problem.y)
    p, left = slope.copy(), weights[:, None] - slope
    p[own] += weights  # weight · probability
    left[own] = -slope[own]

    def block(start: int, stop: int, rows: Array) -> Array:
        rows = np.column_stack([rows, np.ones(stop - start)])
        mass = p[start:stop] / root[start:stop, None]
        both = np.sqrt(np.maximum(mass * left[start:stop] / root[start:stop, None], 0.0))
        spread = (rows[:, :, None] * mass[:, None, :]).reshape(len(rows), -1)
        total = -(spread.T @ spread)
        view = total.reshape(s + 1, k, s + 1, k)
        for a in range(k):
            scaled = rows * both[:, a, None]
            view[:, a, :, a] = scaled.T @ scaled
        return total

    return part.sum_rows(block, block_rows(n, 8 * (s + 1) * (k + 1)))


def _separate_classes(problem: Problem, part: Design, slope: Array) -> Model:
    k, s = problem.n_classes, part.shape[1]
    p = slope.copy()
    p[np.arange(len(p)), problem.y] += problem.weights  # weight · probability
    gradient, pull = part.rmatvec(slope), slope.sum(axis=0)
    totals = np.where(p.sum(axis=0) > 0, p.sum(axis=0), 1.0)
    blocks: list[tuple[Any, Array]] = []
    border = np.zeros((k, s, k))
    for a in range(k):
        H = part.gram(p[:, a])
        if problem.fit_intercept:
            border[a, :, a] = edge = part.rmatvec(p[:, a])
            H -= np.outer(edge, edge / totals[a])
            gradient[:, a] -= edge * (pull[a] / totals[a])
        blocks.append(((slice(None), a), H))
    if not problem.fit_intercept:
        return Model(gradient, blocks, 0.0, 0.0, np.zeros(k), border, np.zeros((k, k)))
    floor = 0.5 * float((pull**2 / totals).sum())
    return Model(gradient, blocks, float(np.abs(pull).max(initial=0.0)), floor, pull, border, np.diag(1 / totals))
