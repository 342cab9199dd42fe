"""The problem a solver solves: minimise Σᵢ wᵢ ℓ(yᵢ, xᵢᵀβ + b) + Ω(β).

Its Fenchel dual, with one variable θᵢ per row, is to maximise −Σᵢ wᵢ ℓ*(yᵢ, −θᵢ/wᵢ) − Ω*(Xᵀθ), subject to Σᵢ θᵢ = 0 if
there is an intercept. Any feasible θ bounds how much better any coefficients could be: that is the duality gap, the
certificate of every convex model here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.design import Design
from corollary.core.loss import Loss
from corollary.core.parallel import map_blocks
from corollary.core.penalty import Penalty
from corollary.core.summary import weighted_mean
from corollary.core.types import Array

SMALL = 4096  # up to this many raw predictions NumPy is as quick as a kernel, and Numba need not be loaded
ROWS = 1 << 15  # rows per block of pointwise work
EPS = float(np.finfo(np.float64).eps)
LEAST = 1e-6  # of the null model's objective: what an objective is at least taken for
FINEST = 1e14  # times the rounding of the targets: what the null model's objective is at least taken for


@dataclass(frozen=True)
class Problem:
    """Design, targets, weights, loss and penalty. ``weights`` already carry 1/n, C and the like."""

    design: Design
    y: Array
    weights: Array
    loss: Loss
    penalty: Penalty
    fit_intercept: bool = True
    offset: float = 0.0  # a constant of the objective, left over when rows were compressed
    n_classes: int = 0  # columns of raw predictions for multi-class losses, else 0

    @property
    def has_dual(self) -> bool:
        """Whether a bound on all objectives exists: loss and penalty are convex, and the penalty has a conjugate."""
        return self.loss.convex and self.penalty.has_conjugate

    @property
    def coef_shape(self) -> tuple[int, ...]:
        d = self.design.shape[1]
        return (d, self.n_classes) if self.n_classes else (d,)

    def null_intercept(self) -> Any:
        """A zero intercept of the right shape."""
        return np.zeros(self.n_classes) if self.n_classes else 0.0

    def raw(self, coef: Array, intercept: Any) -> Array:
        """Xβ + b."""
        return self.design.matvec(coef) + intercept

    def pointwise(self, start: int, stop: int, raw: Array) -> tuple[float, Array, Array | None]:
        """Σ w ℓ, w ℓ′ and w ℓ″ for rows start:stop (ℓ″ is None for multi-class losses)."""
        y, w, loss = self.y[start:stop], self.weights[start:stop], self.loss
        if not w.all():  # a row of weight zero must not overflow either
            raw = np.where((w > 0)[:, None] if raw.ndim > 1 else w > 0, raw, 0.0)
        if raw.size <= SMALL or loss.code < 0:  # without a kernel, however many rows there are
            value = float(w @ loss.value(y, raw))
            if loss.multiclass:
                return value, w[:, None] * loss.gradient(y, raw), None
            slope = w * loss.gradient(y, raw)
            return value, slope, self._majorant(slope, raw - y, w) if loss.flat else w * loss.hessian(y, raw)
        from corollary._compiled import losses

        slope = np.empty_like(raw)
        if loss.multiclass:
            return float(losses.softmax_block(y, raw, w, slope)), slope, None
        curve = np.empty_like(raw)
        value = float(losses.loss_block(loss.code, loss.parameter, y, raw, w, slope, curve))
        return value, slope, self._majorant(slope, raw - y, w) if loss.flat else curve

    def _majorant(self, slope: Array, residual: Array, weights: Array) -> Array:
        """Curvature of the parabola through a point that lies above a loss with flat parts: ℓ′(r)/r, and 1 at r = 0."""
        return np.where(residual == 0, weights, slope / np.where(residual == 0, 1.0, residual))

    def derivatives(self, raw: Array) -> tuple[float, Array, Array | None]:
        """``pointwise`` for all rows, on threads."""
        parts = list(map_blocks(lambda a, b: self.pointwise(a, b, raw[a:b]), len(raw), ROWS))
        value = float(sum(part[0] for part in parts))
        slope = np.concatenate([part[1] for part in parts])
        curves = [part[2] for part in parts if part[2] is not None]
        return value, slope, np.concatenate(curves) if curves else None

    def loss_value(self, raw: Array) -> float:
        """Σ w ℓ."""
        return self.derivatives(raw)[0]

    def conjugate_sum(self, slope: Array) -> float:
        """Σ w ℓ*(slope / w), where slope plays the part of −θ; inf if a row of weight zero has one.

        At the edge of its domain a conjugate forgives rounding. Where the least loss is zero and is not reached, that
        edge is zero itself, and what is forgiven may be more than all there is: there nothing is.
        """
        if self.loss.unattained and self._points_away(slope):
            return np.inf

        def part(start: int, stop: int) -> float:
            y, w, u = self.y[start:stop], self.weights[start:stop], slope[start:stop]
            if u.size <= SMALL or self.loss.code < 0:
                live = w > 0
                if u[~live].any():
                    return np.inf
                scaled = u[live] / (w[live][:, None] if self.loss.multiclass else w[live])
                return float(w[live] @ self.loss.conjugate(y[live], scaled))
            from corollary._compiled import losses

            if self.loss.multiclass:
                return float(losses.softmax_conjugate_block(y, u, w))
            return float(losses.conjugate_block(self.loss.code, self.loss.parameter, y, u, w))

        return float(sum(map_blocks(part, len(slope), ROWS)))

    def _points_away(self, slope: Array) -> bool:
        """Whether a slope has the wrong sign: no prediction of a row's class has it."""
        if not self.loss.multiclass:
            return bool((slope * self.y > 0).any())
        wrong = slope < 0
        wrong[np.arange(len(slope)), self.y] = slope[np.arange(len(slope)), self.y] > 0
        return bool(wrong.any())

    def null_objective(self) -> float:
        """Σ w ℓ(y, c) for a constant c: a yardstick below which relative gaps stop being meaningful.

        Where an intercept is fitted c is the best one: neither where zero lies on the scale of y nor how rare a class
        is must decide how small a gap looks. Without an intercept, and where raw predictions are logarithms, c = 0.
        """
        raw = np.zeros((len(self.y), *self.coef_shape[1:]))
        if self.fit_intercept and (self.in_units_of_y or self.loss.task == "classification"):
            with np.errstate(all="ignore"):  # where only one class weighs anything, its constant is infinite
                best = self.loss.best_constant(self.y, self.weights, self.n_classes)
                constants = [best]
                if self.in_units_of_y:  # halving comes near a target that has most of the weight, but not to it
                    constants.append(self.y[np.argmin(np.where(self.weights > 0, np.abs(self.y - best), np.inf))])
                value = min(self.loss_value(raw + constant) for constant in constants)
            if np.isfinite(value):
                return value + self.offset
        return self.loss_value(raw) + self.offset

    def terms(self) -> float:
        """Σ w |ℓ(y, 0)|: how large the terms of the dual objective are, however small its value.

        Conjugates at the slopes of rows that are fitted well are nearly −ℓ(y, 0) + u·f with both parts of that size.
        """
        return self.loss_value(np.zeros((len(self.y), *self.coef_shape[1:])))

    @property
    def in_units_of_y(self) -> bool:
        """Whether raw predictions are."""
        return self.loss.task == "regression" and self.loss.link.in_units_of_y

    def rounding(self) -> float:
        """Σ w ℓ(y, y + ε|y|), where predictions are in units of y: so much the rounding of the targets may matter.

        Of losses with straight sides, whose slopes are at most 1, ε Σ w |y|: theirs may begin at some distance from y.
        """
        if not self.in_units_of_y:
            return 0.0
        off = EPS * np.abs(self.y)
        return float(self.weights @ off) if self.loss.piecewise_linear else self.loss_value(self.y + off)

    @property
    def level(self) -> float:
        """The weighted mean of y."""
        return float(weighted_mean(self.y, self.weights))

    def dual_value(self, slope: Array, gradient: Array) -> float:
        """The dual objective at θ = −c·slope, for gradient = Xᵀ slope and the largest feasible c ≤ 1.

        The caller makes Σ slope = 0 when there is an intercept. For a penalty with an l2 part every θ is feasible.
        """
        scale = self.penalty.feasible_scale(-gradient) * self.loss.shrink(slope, self.weights)
        scaled = slope if scale == 1.0 else scale * slope
        return self.offset - self.conjugate_sum(scaled) - self.penalty.conjugate(-scale * gradient)

    def primal_value(self, loss_value: float, coef: Array) -> float:
        """The objective, given its loss part."""
        return self.offset + loss_value + self.penalty.value(coef)

    def balance(self, slope: Array, curve: Array | None) -> Array:
        """The slope nearest (in the metric of the curvature) to ``slope`` that is feasible for a free intercept."""
        if not self.fit_intercept:
            return slope
        if self.loss.simplex:
            return self._balance_classes(slope)
        excess = slope.sum(axis=0)
        if not np.any(excess):
            return slope
        share = self.weights if curve is None or not curve.sum() > 0 else curve
        return slope - np.multiply.outer(share, excess / share.sum())

    def _balance_classes(self, slope: Array) -> Array:
        """Move probabilities along their own covariance, which keeps every row on the simplex."""
        w = self.weights
        p = slope.copy()
        p[np.arange(len(p)), self.y] += w
        share = p / np.where(w > 0, w, 1.0)[:, None]
        curvature = np.diag(p.sum(axis=0)) - p.T @ share
        move = inverse_of_classes(curvature) @ slope.sum(axis=0)
        balanced: Array = slope - p * (move - (share @ move)[:, None])
        return balanced


def inverse_of_classes(own: Array) -> Array:
    """A generalised inverse of Σ w (diag(p) − p pᵀ), which the same step of all intercepts does not see.

    Off the diagonal nothing cancels, and rows sum to zero; so the null vector is known, and is not left to rounding.
    """
    own = own - np.diag(np.diag(own))
    sums = -own.sum(axis=1)
    own[np.diag_indices_from(own)] = sums
    scale = np.where(sums > 0, 1 / np.sqrt(np.where(sums > 0, sums, 1.0)), 0.0)
    unit, null = own * scale * scale[:, None], np.sqrt(np.maximum(sums, 0.0))
    unit += np.outer(null, null) / max(float(null @ null), 1e-300)
    inverse: Array = np.linalg.pinv(unit, rcond=1e-12, hermitian=True) * scale * scale[:, None]
    return inverse


def relative_gap(primal: float, dual: float, null: float, terms: float = 0.0) -> float:
    """(P − D) / P, with P not taken below a millionth of the null model's objective (exact fits have P = 0).

    Callers raise ``null`` to ``FINEST`` times the rounding of the targets: a constant y is fitted exactly by its null
    model, and a gap below that rounding says nothing. At a tolerance of 1e-8 just that much passes.
    No objective lies below a dual value. Where D is above P by no more than the rounding of their sums, that rounding
    is the gap; where it is above by more, the dual point was not feasible, and nothing is known: inf. What the sums
    add may cancel: ``terms`` is the size of that (``Problem.terms``), and the rounding is theirs if it has to be.
    """
    gap = primal - dual
    rounding = EPS * (64 * max(abs(primal), abs(dual)) + abs(null))
    if gap < 0:
        within = (error for error in (rounding, rounding + 64 * EPS * terms) if -gap <= error)
        gap = next(within, np.inf)
    scale = max(abs(primal), LEAST * abs(null))
    return gap / scale if scale > 0 else (0.0 if gap == 0 else np.inf)
