"""Coordinate descent on a quadratic model along columns of X, where their products H would cost more.

It holds the slope of every row instead of H (``_compiled/linear/columns.py``). Most epochs visit non-zero coefficients
only and are extrapolated (Anderson); one over all columns precedes any claim that the conditions hold.
"""

from __future__ import annotations

import numpy as np

from corollary.core.design import Design
from corollary.core.penalty import Penalty
from corollary.core.summary import centre_gram
from corollary.core.types import Array
from corollary.solvers.linear.descent.cd import minimise_quadratic
from corollary.solvers.linear.descent.columns import Columns

AT_ONCE = 5  # rounds in one call, after which Ctrl-C is heard
FEW, ROUNDS = 256, 10  # columns whose products are soon formed, and rounds before that


def even_weight(curve: Array) -> float:
    """What all weights are, or zero if they differ."""
    return float(curve[0]) if (curve == curve[0]).all() else 0.0


def descend_columns(
    laid: Columns,
    columns: Array,
    bowls: tuple[Array, Array],
    curve: Array,
    slope: Array,
    w: Array,
    penalty: Penalty,
    tol: float,
    rounds: int,
) -> tuple[Array, bool]:
    """The minimiser, where so many rounds of twenty epochs suffice, and whether the conditions hold to within ``tol``.

    ``slope``, whose sum is zero if an intercept is free, moves along; ``bowls`` are the means of the columns (zero
    without an intercept) and their curvatures.
    """
    from corollary._compiled.linear import columns as kernels

    w = w.copy()
    given, s, n = (laid.data, laid.rows, laid.starts, columns, *bowls, curve, even_weight(curve)), len(w), len(slope)
    ends = kernels.HISTORY + 1
    scratch = np.empty(s, dtype=np.intp), np.empty((ends, s)), np.empty((ends, n))
    offset, reached = 0.0, False
    for done in range(0, rounds, AT_ONCE):
        reached, offset = kernels.descend(
            *given, slope, w, penalty.code, penalty.l1, penalty.l2, offset, tol, min(AT_ONCE, rounds - done), *scratch
        )
        if reached:
            break
    return w, reached


def minimise_columns(
    design: Design, wanted: Array, curve: Array, slope: Array, w: Array, penalty: Penalty, *, free: bool, tol: float
) -> Array:
    """The minimiser over a few columns of a design: by descent, and by their products where that crawls.

    ``free`` means that an intercept follows every step. Where X does not lie by columns, those are copied.
    """
    total = float(curve.sum())
    if free:
        slope = slope - curve * (slope.sum() / total)
    laid, at = Columns.some(design, wanted)
    bowls = laid.bowls(at, curve, free)
    found, reached = descend_columns(laid, at, bowls, curve, slope.copy(), w, penalty, tol, ROUNDS)
    if reached:
        return found
    # columns are nearly collinear, as one huge row makes them
    part = design.take(wanted)
    H = part.gram(curve)
    if free:
        centre_gram(H, part.rmatvec(curve), total)
    return minimise_quadratic(H, part.rmatvec(slope) + H @ (found - w), found, penalty, tol=tol)[0]
