"""The problem a solver solves: minimise Σᵢ wᵢ ℓ(yᵢ, xᵢᵀβ + b) + Ω(β).

Its Fenchel dual, with one variable θᵢ per row, is to maximise −Σᵢ wᵢ ℓ*(yᵢ, −θᵢ/wᵢ) − Ω*(Xᵀθ), subject to Σᵢ θᵢ = 0 if
there is an intercept. Any feasible θ bounds how much better any coefficients could be: that is the duality gap, the
certificate of every convex model here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from corollary.core.design import Design
from corollary.core.loss import Loss
from corollary.core.loss.classification import of_classes
from corollary.core.parallel import map_blocks, run_team
from corollary.core.penalty import Penalty
from corollary.core.summary import weighted_mean
from corollary.core.types import Array

SMALL = 4096  # up to this many raw predictions NumPy is as quick as a kernel, and Numba need not be loaded
ROWS = 1 << 12  # rows per block of pointwise work that threads share out in compiled code ...
PYTHON_ROWS = 1 << 15  # ... and in Python
SHARE = 1 << 14  # numbers whose logarithms are worth a thread
EPS = float(np.finfo(np.float64).eps)
LEAST = 1e-6  # of the null model's objective: what an objective is at least taken for
FINEST = 1e14  # times the rounding of the targets: what the null model's objective is at least taken for


def most_for(numbers: int) -> int:
    """How many threads to spend on logarithms of so many numbers: starting one takes as long as some thousands."""
    return max(1, numbers // SHARE)


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
        if raw.size > SMALL and loss.code >= 0:
            part = replace(self, y=y, weights=w)
            return part.derivatives(raw)
        if not w.all():  # a row of weight zero must not overflow either
            raw = np.where((w > 0)[:, None] if raw.ndim > 1 else w > 0, raw, 0.0)
        value = float(w @ loss.value(y, raw))
        if loss.multiclass:
            return value, w[:, None] * loss.gradient(y, raw), None
        slope = w * loss.gradient(y, raw)
        return value, slope, self._majorant(slope, raw - y, w) if loss.flat else w * loss.hessian(y, raw)

    def _majorant(self, slope: Array, residual: Array, weights: Array) -> Array:
        """Curvature of the parabola through a point that lies above a loss with flat parts: ℓ′(r)/r, and 1 at r = 0."""
        return np.where(residual == 0, weights, slope / np.where(residual == 0, 1.0, residual))

    def derivatives(self, raw: Array) -> tuple[float, Array, Array | None]:
        """``pointwise`` for all rows, on threads."""
        loss, n = self.loss, len(raw)
        if loss.code < 0 or raw.size <= SMALL:  # without a kernel, however many rows there are
            return self._joined(raw)
        from corollary._compiled import losses

        slope, sums = np.empty(raw.shape), np.empty(-(-n // ROWS))
        if loss.multiclass:
            run_team(losses.softmax_rows, self.y, raw, self.weights, ROWS, slope, sums, most=most_for(raw.size))
            return float(sums.sum()), slope, None
        curve, of_loss = np.empty(n), (loss.code, loss.parameter, loss.flat)
        args = (*of_loss, self.y, raw, self.weights, ROWS, slope, curve, sums)
        run_team(losses.loss_rows, *args, most=most_for(n))
        return float(sums.sum()), slope, curve

    def _joined(self, raw: Array) -> tuple[float, Array, Array | None]:
        parts = list(map_blocks(lambda a, b: self.pointwise(a, b, raw[a:b]), len(raw), PYTHON_ROWS))
        value = float(sum(part[0] for part in parts))
        slope = np.concatenate([part[1] for part in parts])
        curves = [part[2] for part in parts if part[2] is not None]
        return value, slope, np.concatenate(curves) if curves else None

    def loss_value(self, raw: Array) -> float:
        """Σ w ℓ."""
        return self.derivatives(raw)[0]

    def loss_of_constant(self, constant: Any) -> float:
        """Σ w ℓ(y, c) for one raw prediction c (or one of each class) of all rows."""
        if self.loss.task == "regression":
            return self.loss_value(np.full(len(self.y), constant, dtype=np.float64))
        kinds, weights = self._by_class
        raw = np.tile(np.asarray(constant, dtype=np.float64), (len(kinds), *(1,) * np.ndim(constant)))
        live = weights > 0
        return float(weights[live] @ self.loss.value(kinds[live], raw[live]))

    @cached_property
    def _by_class(self) -> tuple[Array, Array]:
        """All that y can be, and the weight of the rows of each: rows of a class differ in nothing else."""
        if self.loss.multiclass:
            return np.arange(self.n_classes), np.bincount(self.y, weights=self.weights, minlength=self.n_classes)
        return np.array([1.0, -1.0]), np.array(of_classes(self.y, self.weights))

    def conjugate_sum(self, slope: Array) -> float:
        """Σ w ℓ*(slope / w), where slope plays the part of −θ; inf if a row of weight zero has one.

        At the edge of its domain a conjugate forgives rounding. Where the least loss is zero and is not reached, that
        edge is zero itself, and what is forgiven may be more than all there is: there nothing is.
        """
        loss, n, strict = self.loss, len(slope), self.loss.unattained
        if loss.code < 0 or slope.size <= SMALL:
            if strict and self._points_away(slope):
                return np.inf
            return float(sum(map_blocks(lambda a, b: self._conjugates(a, b, slope[a:b]), n, PYTHON_ROWS)))
        from corollary._compiled import losses

        sums = np.empty(-(-n // ROWS))
        args, most = (self.y, slope, self.weights, strict, ROWS, sums), most_for(slope.size)
        if loss.multiclass:
            run_team(losses.softmax_conjugate_rows, *args, most=most)
        else:
            run_team(losses.conjugate_rows, loss.code, loss.parameter, *args, most=most)
        return float(sums.sum())

    def conjugate_of_zero(self) -> float:
        """Σ w ℓ*(0)."""
        if self.loss.task == "regression":
            return self.conjugate_sum(np.zeros(len(self.y)))
        kinds, weights = self._by_class
        live = weights > 0
        return float(weights[live] @ self.loss.conjugate(kinds[live], np.zeros((live.sum(), *self.coef_shape[1:]))))

    def _conjugates(self, start: int, stop: int, slope: Array) -> float:
        y, w = self.y[start:stop], self.weights[start:stop]
        live = w > 0
        if slope[~live].any():
            return np.inf
        scaled = slope[live] / (w[live][:, None] if self.loss.multiclass else w[live])
        return float(w[live] @ self.loss.conjugate(y[live], scaled))

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
        if self.fit_intercept and (self.in_units_of_y or self.loss.task == "classification"):
            with np.errstate(all="ignore"):  # where only one class weighs anything, its constant is infinite
                of_rows = self._by_class if self.loss.task == "classification" else (self.y, self.weights)
                best = self.loss.best_constant(*of_rows, self.n_classes)
                constants = [best]
                if self.in_units_of_y:  # halving comes near a target that has most of the weight, but not to it
                    constants.append(self.y[np.argmin(np.where(self.weights > 0, np.abs(self.y - best), np.inf))])
                value = min(self.loss_of_constant(constant) for constant in constants)
            if np.isfinite(value):
                return value + self.offset
        return self.loss_of_constant(self.null_intercept()) + self.offset

    def terms(self) -> float:
        """Σ w |ℓ(y, 0)|: how large the terms of the dual objective are, however small its value.

        Conjugates at the slopes of rows that are fitted well are nearly −ℓ(y, 0) + u·f with both parts of that size.
        """
        return self.loss_of_constant(self.null_intercept())

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
