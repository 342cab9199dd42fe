"""The least-squares problem and its answer, as the closed-form routes pass them around.

minimise  Σᵢ wᵢ (yᵢ − xᵢᵀβ − b)² + α Σⱼ sⱼ βⱼ²,  one α for each output.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from corollary.core.design import Design, Pass, as_design
from corollary.core.parallel import one_blas_thread
from corollary.core.problem import EPS, FINEST, LEAST
from corollary.core.summary import Moments, weighted_mean
from corollary.core.types import Array
from corollary.solvers.least_squares.root import Root
from corollary.solvers.loop import Observer

SMALL = 1 << 15  # products a pass up to which the exact route costs a few milliseconds, so it is always taken
SPECTRUM = 1024  # up to this size all singular values are found


class OutOfRange(Exception):
    """Squares of the data leave the range of float64; powers of two must be taken out first."""


@dataclass(frozen=True)
class Task:
    """Y is (n, k), alpha (k,); ``weights`` None means one each; ``precision`` is the rounding unit of X as given.

    ``observe`` is called after each iteration if the solution has any, with states of coefficients (d, k).
    """

    design: Design
    Y: Array
    weights: Array | None
    alpha: Array
    fit_intercept: bool
    precision: float = EPS
    shape: Array | float = 1.0  # relative penalty of each coefficient; not 1 only where columns were rescaled
    observe: Observer | None = None
    factored: bool = False  # whether the rows are a triangular factor of the user's: then sizes are not those of data

    @classmethod
    def of(cls, X: Any, y: Array, weights: Array, fit_intercept: bool, observe: Observer | None = None) -> Task:
        """Validated data, without a penalty; weights of one each are left out of the sums."""
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        known = None if (weights == 1.0).all() else weights
        precision = float(np.finfo(X.dtype).eps)
        return cls(as_design(X), Y, known, np.zeros(Y.shape[1]), fit_intercept, precision, observe=observe)

    @property
    def size(self) -> int:
        """How many products one pass over the data takes."""
        return self.design.shape[0] * self.design.shape[1] * self.Y.shape[1]

    @cached_property
    def weight(self) -> float:
        return float(len(self.Y)) if self.weights is None else float(self.weights.sum())

    @cached_property
    def moments(self) -> Moments:
        """One pass over X."""
        return self.design.moments(self.Y, self.weights)

    @cached_property
    def root(self) -> Array:
        """√w of each row."""
        return np.ones(len(self.Y)) if self.weights is None else np.sqrt(self.weights)

    @cached_property
    def mean(self) -> Array:
        """What X is centred about: near its weighted mean x̄, or zero without an intercept. One pass over X."""
        return self.design.middle(self.weights) if self.fit_intercept else np.zeros(self.design.shape[1])

    @cached_property
    def level(self) -> Array:
        """The same for Y."""
        return weighted_mean(self.Y, self.weights) if self.fit_intercept else np.zeros(self.Y.shape[1])

    @cached_property
    def yardstick(self) -> Array:
        """What an objective is at least taken for, when a gap is relative to it (see ``core.problem``)."""
        weights = np.ones(len(self.Y)) if self.weights is None else self.weights
        rounding = FINEST * EPS**2 * (weights @ self.Y**2)
        return np.asarray(LEAST * np.maximum(weights @ (self.Y - self.level) ** 2, rounding))

    @cached_property
    def centred(self) -> Design:
        """X̃ = √W (X − 1 x̄ᵀ), a view of X."""
        return self.design.view(centre=self.mean, rows=self.root)

    def balanced(self, rows: Array) -> Array:
        """P rows, where P leaves out the direction √w: what X̃ or Y has of it is the intercept's, not the coefficients'.

        The centre of X is near its mean only, by as much as a column's spread where that is below 1e-9 of the mean.
        """
        return rows - np.outer(self.root, self.root @ rows) / self.weight if self.fit_intercept else rows

    def intercept(self, coef: Array) -> Array:
        """The best intercepts b for coefficients (d, k). One pass over X."""
        if not self.fit_intercept:
            return np.zeros(self.Y.shape[1])
        left = self.root[:, None] * (self.Y - self.level) - self.centred.matvec(coef)
        return np.asarray(self.level + self.root @ left / self.weight - self.mean @ coef)

    def at(self, alpha: Any) -> Task:
        """The same data with another alpha (a number or one for each output); moments already known stay known."""
        other = replace(self, alpha=np.broadcast_to(np.asarray(alpha, dtype=np.float64), self.Y.shape[1:]).copy())
        if "moments" in self.__dict__:
            other.__dict__["moments"] = self.moments
        return other

    def in_memory(self) -> Task:
        """The same with an X for which products by columns are cheap."""
        return self if self.design.resident else replace(self, design=self.design.in_memory())

    @cached_property
    def groups(self) -> tuple[Array, Array]:
        """The different values of alpha, and which of them each output has."""
        if len(self.alpha) == 1:
            return self.alpha, np.zeros(1, dtype=np.intp)
        values, index = np.unique(self.alpha, return_inverse=True)
        return values, index

    def penalty(self, alpha: float) -> Array:
        """α s, one entry a coefficient, kept below overflow."""
        d = self.design.shape[1]
        return np.minimum(np.full(d, alpha) * self.shape, 1e280) if alpha > 0 else np.zeros(d)

    @cached_property
    def penalties(self) -> Array:
        """α s of each coefficient and output (d, k)."""
        if not self.alpha.any():
            return np.zeros((self.design.shape[1], len(self.alpha)))
        return np.stack([self.penalty(float(alpha)) for alpha in self.alpha], axis=1)

    def penalty_value(self, coef: Array) -> Array:
        """α Σ s β² of each output."""
        return np.einsum("jk,jk->k", self.penalties, coef**2) if self.alpha.any() else np.zeros(len(self.alpha))


def steady_algebra(design: Design) -> AbstractContextManager[None]:
    """One BLAS thread while the factors are small: no slower, and no bit depends on the machine's cores."""
    return one_blas_thread() if min(design.shape) <= SPECTRUM else nullcontext()


def check_magnitudes(task: Task) -> None:
    """Raise OutOfRange if squares could overflow or vanish. Tall data skip this pass: their moments show it."""
    n, d = task.design.shape
    if n >= d and task.size > SMALL:
        return
    for sizes in (task.design.column_largest(), np.abs(task.Y).max(axis=0)):
        used = sizes[sizes > 0]
        if used.size and (used.max() > 1e100 or used.min() < 1e-100):
            raise OutOfRange


@dataclass(frozen=True)
class Factor:
    """The centre of the data and one root of H for each different alpha.

    Columns that are not ``varied`` are zero about the centre: what their gradients show is rounding.
    """

    roots: list[Root]
    index: Array
    mean: Array
    varied: Array

    @property
    def condition(self) -> float:
        return max(root.condition for root in self.roots)

    def whiten(self, slope: Array) -> Array:
        """‖Mᵀ slope‖² of each output: how far from optimal a point with that gradient is."""
        return self.apply(slope, Root.whiten)

    def solve(self, slope: Array) -> Array:
        """H⁻¹ slope, output by output."""
        return self.apply(slope, Root.solve)

    def apply(self, slope: Array, function) -> Array:  # type: ignore[no-untyped-def]
        if len(self.roots) == 1:
            result: Array = function(self.roots[0], slope)
            return result
        columns = [function(self.roots[g], slope[:, c : c + 1]) for c, g in enumerate(self.index)]
        return np.concatenate(columns, axis=-1)


@dataclass(frozen=True)
class Answer:
    """The coefficients (d, k), intercepts (k,), and what is known about them."""

    coef: Array
    intercept: Array
    norm: Array  # √Σ w r² of each output
    gap: Array  # objective / 2 above its minimum, of each output
    rank: int | None  # None where no factor was made
    condition: float
    dof: Array  # effective degrees of freedom of each output, without the intercept
    solver: str
    passes: int = 0
    mean: Array | None = None
    inverse: Array | None = None  # M with M Mᵀ = (XᵀX + αI)⁻¹ about the mean
    spread: Array | None = None  # √diag of that inverse
    intercept_spread: float = 0.0
    singular: Array | None = None
    notes: tuple[str, ...] = ()


def plain_gradient(task: Task, mean: Array, coef: Array, level: Array | float, *, with_target: bool = True) -> Pass:
    """For r = Y − (X − mean) coef − level, or without Y, in float64: one pass over X.

    ``gradient`` is (X − mean)ᵀ W r, ``gradient_sum`` Σ W r and ``value`` Σ W r², of each output.
    """
    Y, weights = task.Y, task.weights

    def pointwise(start: int, stop: int, raw: Array) -> tuple[Array, Array, None]:
        residual = Y[start:stop] - raw if with_target else -raw
        weighted = residual if weights is None else residual * weights[start:stop, None]
        return np.einsum("ik,ik->k", residual, weighted), weighted, None

    design = task.design.view(centre=mean) if mean.any() else task.design
    return design.sweep(coef, level, pointwise)


def rounded_level(task: Task, coef: Array, intercept: Array, mean: Array) -> Array:
    """How much the rounding of intercepts may add to half the objective: far from zero they are large differences.

    Where all coefficients are zero the intercept is no difference, and how far it is from the best is seen.
    """
    if not task.fit_intercept:
        return np.zeros(coef.shape[1])
    shift = 0.5 * EPS * (np.abs(intercept) + np.abs(mean) @ np.abs(coef))
    alone = ~coef.any(axis=0)
    if alone.any():
        shift[alone] = np.abs(task.root**2 @ (task.Y[:, alone] - intercept[alone])) / task.weight
    return np.asarray(0.5 * task.weight * shift**2)


def relative_gap(task: Task, gap: Array, objective: Array) -> float:
    """The largest gap among the outputs, relative to half the objective.

    As ``core.problem.relative_gap``, without forming the difference of two nearly equal numbers.
    """
    return share(gap, 0.5 * np.maximum(objective, task.yardstick))


def share(part: Array, whole: Array) -> float:
    """The largest part / whole; nothing is no part of nothing, and anything else is infinitely much of it."""
    ratio = np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.where(part > 0, np.inf, 0.0))
    return float(np.max(ratio, initial=0.0))
