"""Least squares of all rows so far, when they come a few at a time and none of them is kept.

The triangular factor R of the rows √w (1, (x, y) − shift) is all that least squares, with or without an intercept and
at any penalty, needs of them: ‖√w (y − xᵀβ − b)‖ is the same for the rows of R as for the rows of the data. Nothing is
squared, and nothing is forgotten. R is rounded, though, and of rows that are gone no residual can be taken: what that
may cost is charged to the certificate (``RowsSoFar.rounding``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from corollary.core.design import Design
from corollary.core.double_double import Pair
from corollary.core.parallel import block_rows
from corollary.core.problem import EPS, FINEST, LEAST
from corollary.core.summary import Triangle
from corollary.core.types import Array
from corollary.solvers.least_squares.task import Answer, Task, share


@dataclass(frozen=True)
class RowsSoFar:
    """A summary: two with the same ``shift`` (any point near the means of X and Y) add up to that of all their rows.

    ``parts`` is how many factors were merged: each merge rounds.
    """

    shift: Array
    triangle: Triangle
    parts: int

    @classmethod
    def of(cls, design: Design, Y: Array, weights: Array, shift: Array) -> RowsSoFar:
        """Summarize rows of X (n × d) and Y (n × k). Cost: 2 n p² operations for p = d + k + 1 columns, one pass."""
        root, d = np.sqrt(weights), design.shape[1]

        def part(start: int, stop: int, rows: Array) -> Triangle:
            own = root[start:stop, None]
            return Triangle.of(np.hstack([own, rows, own * (Y[start:stop] - shift[d:])]))

        step = max(block_rows(len(Y), 8 * d), 2 * (len(shift) + 1))
        rows = design.view(centre=shift[:d], rows=root)
        return cls(shift, rows.sum_rows(part, step), -(-len(Y) // step))

    def __add__(self, other: RowsSoFar) -> RowsSoFar:
        return RowsSoFar(self.shift, self.triangle + other.triangle, self.parts + other.parts)

    @property
    def weight(self) -> float:
        """Σ w."""
        return float(self.triangle.R[0, 0] ** 2)

    @property
    def mean(self) -> Array:
        """The weighted means of X and Y, one after the other."""
        R = self.triangle.R
        return np.asarray(R[0, 1:] / R[0, 0] + self.shift)

    def task(self, columns: int, fit_intercept: bool, precision: float) -> Task:
        """A few rows, already centred if there is an intercept, with the coefficients of all; X has so many columns."""
        R, d = self.triangle.R, columns
        if len(R) == 1:  # of one row nothing is left about its mean
            R = np.vstack([R, np.zeros_like(R)])
        if fit_intercept:
            rows = R[1:, 1:].copy()
            norms = np.sqrt(np.einsum("ij,ij->j", rows[:, :d], rows[:, :d]))
            # less the shift, a constant column is as small as the rounding of its mean, and less that again nothing
            rows[:, :d][:, norms <= (64 * EPS) ** 2 * np.abs(self.mean[:d]) * np.sqrt(self.weight)] = 0.0
        else:
            rows = R[:, 1:] + np.outer(R[:, 0], self.shift)
        task = Task.of(rows[:, :d], rows[:, d:], np.ones(len(rows)), False)
        return replace(task, precision=precision, factored=True)

    def of_all(self, answer: Answer) -> Answer:
        """The answer of ``task`` with an intercept."""
        mean, spread = self.mean[: len(answer.coef)], 0.0
        if answer.inverse is not None:
            spread = float(np.sqrt(1 / self.weight + np.square(mean @ answer.inverse).sum()))
        return replace(answer, intercept=self.intercept(answer.coef), mean=mean, intercept_spread=spread)

    def intercept(self, coef: Array) -> Array:
        """ȳ − x̄ᵀβ, where the part that may cancel, level − shiftᵀβ, keeps its digits."""
        R, d = self.triangle.R, len(coef)
        near = (R[0, d + 1 :] - R[0, 1 : d + 1] @ coef) / R[0, 0]
        far = Pair.of(np.vstack([self.shift[None, d:], np.broadcast_to(self.shift[:d, None], coef.shape)]))
        return np.asarray((far.times(np.vstack([np.ones(coef.shape[1]), -coef])).sum() + Pair.of(near)).value)

    def rounding(self, task: Task, coef: Array, condition: float, *, fit_intercept: bool) -> float:
        """How much of the objective may be lost to rounding that the rows of ``task`` do not show.

        R is the exact factor of rows A + E, where E is rounding: ‖Eⱼ‖ ≤ c ε ‖Aⱼ‖ for column j, and c grows with the
        square roots of the columns and of the merges. What is optimal for these has, for the rows themselves, half its
        objective within ½ (‖E(−b, −β, 1)‖ + ‖E H^{−½}‖ ‖r‖)² of the minimum. The intercept is rounded besides, and
        predictions far from zero with it, as in ``rounded_level``. Cost: products of d × d.
        """
        R, d = self.triangle.R, len(coef)
        size = np.abs(coef)
        lengths, level = np.sqrt(np.einsum("ij,ij->j", R, R))[1:], np.zeros(coef.shape[1])
        least = task.yardstick
        if fit_intercept:
            level = 0.5 * EPS * (np.abs(self.intercept(coef)) + np.abs(self.mean[:d]) @ size)
            squares = np.einsum("ik,ik->k", task.Y, task.Y) + self.weight * self.mean[d:] ** 2
            least = np.maximum(least, LEAST * FINEST * EPS**2 * squares)
        else:
            lengths = lengths + np.sqrt(self.weight) * np.abs(self.shift)
        X = task.design.block(0, task.design.shape[0])
        left = task.Y - X @ coef
        squares = np.einsum("ik,ik->k", left, left)
        own = np.sqrt(np.einsum("ij,ij->j", X, X))
        stretch = np.max(lengths[:d][own > 0] / own[own > 0], initial=1.0)
        unit = EPS * np.sqrt(R.shape[1] * self.parts)
        moved = unit * (2 * (lengths[:d] @ size + lengths[d:]) + stretch * condition * np.sqrt(squares))
        gap = 0.5 * (moved**2 + self.weight * level**2)
        return share(gap, 0.5 * np.maximum(squares + task.penalty_value(coef), least))
