"""Ridge for a whole path of penalties, and its leave-one-out errors, from one decomposition of the data.

Leaving out row i changes its prediction error from rᵢ to rᵢ / (1 − hᵢ), where hᵢ is the row's own entry of the hat
matrix: exact, intercept included. Where weights are counts, a row of weight w stands for w rows, of which one is left
out: hᵢ is then that of one copy, the entry divided by w. Where they are not there are no copies, and the whole row is.
With X̃ = √W (X − 1 x̄ᵀ) = U S Vᵀ every α of the path shares U, S and V.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from corollary.core.design import Scratch
from corollary.core.parallel import block_rows
from corollary.core.types import Array
from corollary.solvers.least_squares.dual import outer_product
from corollary.solvers.least_squares.primal import factor_rows
from corollary.solvers.least_squares.task import SMALL, OutOfRange, Task, check_magnitudes

LARGEST = 20_000
EXACT = 2.0**53  # from here on every float is whole, and says nothing about what it counts

# receives (first row, last row, leave-one-out residuals (m, k, number of alphas))
Consumer = Callable[[int, int, Array], None]


class RidgePath(ABC):
    """Ridge at any number of alphas > 0 for the same data."""

    @abstractmethod
    def coefficients(self, alpha: float) -> tuple[Array, Array]:
        """β (d, k) and b (k,)."""

    @abstractmethod
    def leave_one_out(self, alphas: Array, consume: Consumer, *, counts: bool = True) -> None:
        """Hand the residuals yᵢ − prediction without row i to ``consume``, block by block, in order.

        ``counts``: of a row of weight w one of w copies is left out, and not all of it.
        """


def are_counts(weights: Array | None, unit: float = 1.0) -> bool:
    """Whether weights, which were multiplied by ``unit``, are whole numbers that can count rows."""
    return weights is None or (unit == 1.0 and bool((weights == np.floor(weights)).all() and weights.max() < EXACT))


def ridge_path(task: Task, method: str = "auto") -> RidgePath:
    """``method`` is "eigen" (of the moments or of XXᵀ), "svd" or "auto". Cost: that of one fit, and d³ or n³."""
    n, d = task.design.shape
    size = min(n, d)
    if size > LARGEST:
        raise ValueError(
            f"Leave-one-out for a whole path needs all eigenvectors of a {size} × {size} matrix "
            f"({3 * 8 * size**2 / 2**30:.0f} GiB). Search over Ridge(solver='sparse_cg') with GridSearchCV instead."
        )
    try:
        check_magnitudes(task)
        return _Tall(task, method) if n >= d else _Wide(task.in_memory())
    except OutOfRange:
        raise ValueError(
            "Squares of X or y leave the range of float64. Rescale them to magnitudes between 1e-100 and 1e100 "
            "(StandardScaler does)."
        ) from None


class _Tall(RidgePath):
    def __init__(self, task: Task, method: str) -> None:
        self.task = task
        if method == "svd" or (method == "auto" and task.size <= SMALL):
            self.mean, R, _ = factor_rows(task)
            _, values, right = np.linalg.svd(R, full_matrices=False)
            self.squares, self.vectors = values**2, right.T
            self.level = task.level
            slope = task.design.view(centre=self.mean).rmatvec(_weighted(task, task.Y - self.level))
        else:
            moments = task.moments
            xx, slope, _ = (moments.xx, moments.xy, moments.yy) if task.fit_intercept else moments.about_zero()
            if not np.isfinite(xx).all():
                raise OutOfRange
            values, self.vectors = np.linalg.eigh(xx)
            self.squares = np.maximum(values, 0.0)
            self.mean = moments.mean_x if task.fit_intercept else np.zeros(len(xx))
            self.level = moments.mean_y if task.fit_intercept else np.zeros(slope.shape[1])
        self.slope = self.vectors.T @ slope

    def coefficients(self, alpha: float) -> tuple[Array, Array]:
        coef = self.vectors @ (self.slope / (self.squares + alpha)[:, None])
        return coef, self.level - self.mean @ coef

    def leave_one_out(self, alphas: Array, consume: Consumer, *, counts: bool = True) -> None:
        task, shrink = self.task, 1.0 / (self.squares[:, None] + alphas)
        n, d = task.design.shape
        share = 1 / task.weight if task.fit_intercept else 0.0
        paths = [self.slope[:, c, None] * shrink for c in range(self.slope.shape[1])]
        size = block_rows(n, 16 * d)
        turned = Scratch(min(size, n), len(self.squares))

        def part(start: int, stop: int, rows: Array) -> tuple[int, int, Array]:
            rotated = np.matmul(rows, self.vectors, out=turned.rows[: len(rows)])
            residuals = task.Y[start:stop, :, None] - self.level[:, None]
            residuals = residuals - np.stack([rotated @ path for path in paths], axis=1)
            np.square(rotated, out=rotated)
            leverage = rotated @ shrink
            leverage += share
            if task.weights is not None:
                own = task.weights[start:stop, None]
                leverage *= np.minimum(own, 1.0) if counts else own
            return start, stop, residuals / _remaining(1 - leverage)[:, None, :]

        for start, stop, residuals in task.design.view(centre=self.mean).map_rows(part, size):
            consume(start, stop, residuals)


class _Wide(RidgePath):
    def __init__(self, task: Task) -> None:
        self.task, root = task, task.root
        K = outer_product(task)
        if task.fit_intercept:
            # √w, the intercept's direction, is a null vector; made the largest one, it is the last to come out
            K += (2 * np.trace(K) + 1.0) / task.weight * np.outer(root, root)
        values, self.vectors = np.linalg.eigh(K)
        self.squares = np.maximum(values, 0.0)
        self.projected = self.vectors.T @ task.balanced(root[:, None] * (task.Y - task.level))

    def coefficients(self, alpha: float) -> tuple[Array, Array]:
        coef = self.task.centred.rmatvec(self.vectors @ (self.projected / (self.squares + alpha)[:, None]))
        return coef, self.task.intercept(coef)

    def leave_one_out(self, alphas: Array, consume: Consumer, *, counts: bool = True) -> None:
        root = self.task.root
        live = root > 0
        # α / (λ + α) is what the fit leaves of a direction; it leaves nothing of the intercept's
        shrink = alphas / (self.squares[:, None] + alphas)
        if self.task.fit_intercept:
            shrink[-1] = 0.0
        left = np.square(self.vectors) @ shrink  # 1 − w h
        one = (1 / np.maximum(root, 1.0) ** 2)[:, None] if counts else 1.0  # the share of a row that is left out
        left = _remaining(one * left + (1 - one))
        residuals = np.stack([self.vectors @ (p[:, None] * shrink) for p in self.projected.T], axis=1)
        out = np.empty_like(residuals)
        out[live] = residuals[live] / root[live, None, None] / left[live, None, :]
        if not live.all():
            for a, alpha in enumerate(alphas):
                coef, intercept = self.coefficients(float(alpha))
                rest = self.task.design.rows(np.flatnonzero(~live))
                out[~live, :, a] = self.task.Y[~live] - rest.matvec(coef) - intercept
        consume(0, len(out), out)


def _remaining(left: Array) -> Array:
    """1 − h, which is positive for any alpha > 0, kept so in rounding."""
    return np.maximum(left, np.finfo(float).eps)


def _weighted(task: Task, rows: Array) -> Array:
    return rows if task.weights is None else rows * task.weights[:, None]
