"""Replace tall data by d rows that have the same least-squares geometry.

‖W^½ (y − Xβ − b)‖² depends on the data through second moments only. With XᵀWX = RᵀR (about the means, when there is an
intercept) it equals ‖ỹ − Rβ‖² + constant, so a squared-loss problem with a million rows becomes one with d rows, after
a single pass over X. Moments add, so the folds of a cross-validation are sums of the same parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from corollary.core.summary import Moments
from corollary.core.types import Array

MAX_COLUMNS = 2000  # the Gram matrix has to be small beside X, and its factorisation beside the pass over X
FARTHEST = 1e-9  # of its mean, below which a column's deviation loses too many digits to the intercept's rounding
WORST_CONDITION = 1e6  # squaring the data squares its condition number; beyond this too many digits would be lost


@dataclass(frozen=True)
class Compressed:
    """‖ỹ − Rβ‖² + rest for one target, with the means that give the intercept back; ``xx`` is RᵀR, ``xy`` Rᵀỹ."""

    R: Array
    y: Array
    rest: float
    xx: Array
    xy: Array
    mean_x: Array
    mean_y: float

    def intercept(self, coef: Array) -> float:
        return float(self.mean_y - self.mean_x @ coef)


def worth_compressing(shape: tuple[int, int]) -> bool:
    """Whether the rows are many and the columns few enough."""
    n, d = shape
    return d <= MAX_COLUMNS and n > 2 * d


def compress(moments: Moments, target: int, *, fit_intercept: bool) -> Compressed | None:
    """The compressed problem for one column of Y; None if it would not be exact.

    Columns that are too nearly collinear, or too far from zero for how little they vary, need their rows.
    """
    if fit_intercept:
        xx, xy, yy = moments.xx, moments.xy[:, target], float(moments.yy[target])
        mean_x, mean_y = moments.mean_x, float(moments.mean_y[target])
    else:
        xx, all_xy, all_yy = moments.about_zero()
        xy, yy = all_xy[:, target], float(all_yy[target])
        mean_x, mean_y = np.zeros(len(xx)), 0.0
    diagonal = np.diag(xx)
    if fit_intercept and (moments.weight * (FARTHEST * mean_x) ** 2 > diagonal)[diagonal > 0].any():
        return None
    live = diagonal > 0  # of a constant column nothing is left about its mean, not even rounding
    scale = np.where(live, np.sqrt(np.maximum(diagonal, 0.0)), 1.0)
    if not live.all():
        xx, xy = np.where(live & live[:, None], xx, 0.0), np.where(live, xy, 0.0)
    unit = xx / scale
    unit /= scale[:, None]
    factor, pivots, rank, _ = lapack.dpstrf(unit.T, tol=1e-15, overwrite_a=1)  # it is symmetric: no copy by columns
    order = pivots - 1
    upper = np.triu(factor)[:rank]
    if rank == 0 or rank < live.sum() or abs(upper[0, 0]) > WORST_CONDITION * abs(upper[rank - 1, rank - 1]):
        return None
    R = np.empty((rank, len(xx)), order="F")
    R[:, order] = upper * scale[order]
    y = solve_triangular(upper[:, :rank], (xy / scale)[order][:rank], trans="T", check_finite=False)
    return Compressed(R, y, max(yy - float(y @ y), 0.0), xx, xy, mean_x, mean_y)
