"""Least squares of all rows so far, when they come a few at a time and none of them is kept.

The triangular factor R of the rows √w (1, x − shift, y) is all that least squares, with or without an intercept and at
any penalty, needs of them: ‖√w (y − xᵀβ − b)‖ is the same for the rows of R as for the rows of the data. Nothing is
squared, and nothing is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from corollary.core.design import Design
from corollary.core.parallel import block_rows
from corollary.core.problem import EPS
from corollary.core.summary import Triangle
from corollary.core.types import Array
from corollary.solvers.least_squares.task import Answer, Task


@dataclass(frozen=True)
class RowsSoFar:
    """A summary: two with the same ``shift`` (any point near the mean of X) add up to that of all their rows."""

    shift: Array
    triangle: Triangle

    @classmethod
    def of(cls, design: Design, Y: Array, weights: Array, shift: Array) -> RowsSoFar:
        """Summarize rows of X (n × d) and Y (n × k). Cost: 2 n p² operations for p = d + k + 1 columns, one pass."""
        root = np.sqrt(weights)

        def part(start: int, stop: int, rows: Array) -> Triangle:
            own = root[start:stop, None]
            return Triangle.of(np.hstack([own, rows, own * Y[start:stop]]))

        (n, d), columns = design.shape, design.shape[1] + Y.shape[1] + 1
        rows = design.view(centre=shift, rows=root)
        return cls(shift, rows.sum_rows(part, max(block_rows(n, 8 * d), 2 * columns)))

    def __add__(self, other: RowsSoFar) -> RowsSoFar:
        return RowsSoFar(self.shift, self.triangle + other.triangle)

    @property
    def weight(self) -> float:
        """Σ w."""
        return float(self.triangle.R[0, 0] ** 2)

    @property
    def mean(self) -> Array:
        """The weighted means of X and Y, one after the other."""
        R = self.triangle.R
        mean = R[0, 1:] / R[0, 0]
        mean[: len(self.shift)] += self.shift
        return mean

    def task(self, fit_intercept: bool, precision: float) -> Task:
        """A few rows, already centred if there is an intercept, with the coefficients of all of them."""
        R, d = self.triangle.R, len(self.shift)
        if len(R) == 1:  # of one row nothing is left about its mean
            R = np.vstack([R, np.zeros_like(R)])
        if fit_intercept:
            X, Y = R[1:, 1 : d + 1].copy(), R[1:, d + 1 :]
            norms = np.sqrt(np.einsum("ij,ij->j", X, X))
            # less the shift, a constant column is as small as the rounding of its mean, and less that again nothing
            X[:, norms <= (64 * EPS) ** 2 * np.abs(self.mean[:d]) * np.sqrt(self.weight)] = 0.0
        else:
            X, Y = R[:, 1 : d + 1] + np.outer(R[:, 0], self.shift), R[:, d + 1 :]
        return replace(Task.of(X, Y, np.ones(len(Y)), False), precision=precision, factored=True)

    def of_all(self, answer: Answer) -> Answer:
        """The answer of ``task`` with an intercept."""
        mean, spread = self.mean[: len(self.shift)], 0.0
        if answer.inverse is not None:
            spread = float(np.sqrt(1 / self.weight + np.square(mean @ answer.inverse).sum()))
        return replace(answer, intercept=self.intercept(answer.coef), mean=mean, intercept_spread=spread)

    def intercept(self, coef: Array) -> Array:
        """ȳ − x̄ᵀβ."""
        mean, d = self.mean, len(self.shift)
        return np.asarray(mean[d:] - mean[:d] @ coef)
