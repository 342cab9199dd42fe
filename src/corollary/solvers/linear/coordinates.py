"""The same problem in coordinates in which float64 does not lose what matters, and the way back.

Columns far from zero (1e9 ± 1) and targets far from zero are moved near it, which changes no penalty: the intercept
makes up for it. Where nothing is penalised, nearly collinear columns are replaced by a basis of what they span. A dual
value bounds the objective in any coordinates, but what is certified is the answer that is delivered: its objective is
worked out again from the coefficients for X as it was given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np

from corollary.core.design import BlockDesign, DenseDesign, Design
from corollary.core.design.dense import DenseView
from corollary.core.double_double import Pair, two_product, two_sum
from corollary.core.problem import EPS, Problem
from corollary.core.scaling import powers_above
from corollary.core.summary import Triangle
from corollary.core.types import Array
from corollary.solvers.least_squares.double_double import product
from corollary.solvers.least_squares.seen import seen_by_rows

FAR = 1e3  # a column (or y) whose mean is so many standard deviations from zero is moved
SAMPLE = 256  # rows that are looked at
LIGHTEST = 1e-6  # share of the weight of rows that see a direction, however short, for which it is kept
NUMBERS = 1 << 25  # a basis of more than so many numbers is not made
STEEP = 1e-4  # directions shorter than this part of the longest need more digits than float64 has
ROWS = 4096  # a block of rows of the basis
ROUNDING = 8.0  # ε of a row's length, and √d ε: what is left of a row that lies in a span (a half of it was measured)


@dataclass(frozen=True)
class Coordinates:
    """β = basis γ (or β = γ), b = c + level − originᵀγ, for coefficients γ and the intercept c of ``here``."""

    given: Problem
    here: Problem
    level: float = 0.0
    origin: Array | None = None
    basis: Array | None = None
    forward: Array | None = None  # γ = forward β
    whole: bool = True  # whether the columns of ``here`` span those that were given, in every row

    def back(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        """β and b."""
        if self.origin is not None:
            intercept = intercept - self.origin @ coef
        return coef if self.basis is None else self.basis @ coef, intercept + self.level

    def into(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        """γ and c."""
        if self.forward is not None:
            coef = self.forward @ coef
        moved = intercept - self.level
        return coef, moved if self.origin is None else moved + self.origin @ coef

    def raw(self, coef: Array, intercept: Any) -> Array:
        """Xβ + b − level, of the user's X, as exact as if only the result were rounded."""
        if self.basis is not None:
            high, low = two_sum(np.atleast_1d(intercept), np.atleast_1d(-self.level))
            return product(self.given.design, coef, Pair(high, low)).value
        return self.here.raw(coef, self._intercept_here(coef, intercept))

    def _intercept_here(self, coef: Array, intercept: Any) -> Any:
        """b + originᵀβ − level without an error but the last rounding."""
        if self.origin is None:
            return intercept - self.level
        columns = coef.reshape(len(coef), -1)
        high, low = two_product(columns, self.origin[:, None])
        sums = [fsum([*high[:, c], *low[:, c], b, -self.level]) for c, b in enumerate(np.atleast_1d(intercept))]
        return np.array(sums) if coef.ndim > 1 else sums[0]


class Moved(DenseView):
    """A view whose products with vectors are worked out from moved rows: corrected ones would lose the digits."""

    def matvec(self, coef: Array) -> Array:
        return np.concatenate(list(self.map_rows(lambda a, b, rows: rows @ coef)))

    def rmatvec(self, rows: Array) -> Array:
        return self.sum_rows(lambda a, b, block: block.T @ rows[a:b])


def near_zero(problem: Problem) -> Coordinates:
    """Columns and targets that are far from zero are moved near it, if there is an intercept to make up for it."""
    same = Coordinates(problem, problem)
    if not problem.fit_intercept or problem.design.shape[0] < 2:
        return same
    level = _level(problem)
    origin = _origin(problem.design, problem.weights)
    if level == 0.0 and origin is None:
        return same
    design = problem.design if origin is None else _moved(problem.design, origin)
    y = problem.y - level if level else problem.y  # classes are numbers of another kind
    return Coordinates(problem, replace(problem, design=design, y=y), level, origin)


def _level(problem: Problem) -> float:
    """One of the targets, if all are far from zero and the loss sees differences from the prediction only."""
    loss, y = problem.loss, problem.y
    if loss.code < 0 or not problem.in_units_of_y:
        return 0.0
    mean = problem.level
    if abs(mean) <= FAR * float(np.sqrt(problem.weights @ (y - mean) ** 2 / problem.weights.sum())):
        return 0.0
    return float(y[np.argmin(np.abs(y - mean))])  # differences of neighbours are exact


def _origin(design: Design, weights: Array) -> Array | None:
    """Where the columns are, if a sample of rows says that some of them are far from zero."""
    if design.is_sparse:
        return None
    n = design.shape[0]
    if design.resident:
        sample = np.arange(0, n, max(1, n // SAMPLE))
        rows = design.rows(sample).block(0, len(sample))
    else:
        rows = design.block(0, min(n, SAMPLE))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = rows.mean(axis=0)
        far = (np.abs(mean) > FAR * rows.std(axis=0)) & (mean != 0)
    if not far.any():
        return None
    return np.where(far, design.middle(weights), 0.0)


def _moved(design: Design, origin: Array) -> Design:
    if isinstance(design, BlockDesign):
        return design.changed(lambda start, part: (start, Moved(part, centre=origin)))
    return Moved(design, centre=origin)


def fits_basis(problem: Problem) -> bool:
    """Whether a basis of the columns may be made."""
    n, d = problem.design.shape
    return n * min(n, d) <= NUMBERS and min(n, d) > 0


def in_basis(before: Coordinates) -> Coordinates:
    """Coordinates in which the columns are orthonormal in the metric of the weights.

    With √w (X − mean) = QR by blocks and R = U S Vᵀ, the columns of (X − mean) V S⁻¹ are orthonormal. Those of short
    directions are sums that cancel: they are worked out in double-double, so that the basis spans what X spans.
    """
    problem = before.given
    d = problem.design.shape[1]
    w, root = problem.weights, np.sqrt(problem.weights)
    centre = problem.design.middle(w) if problem.fit_intercept else np.zeros(d)
    size = max(ROWS, d)
    R = problem.design.sum_rows(lambda a, b, rows: Triangle.of((rows - centre) * root[a:b, None]), size).R
    scale = powers_above(np.sqrt(np.einsum("ij,ij->j", R, R)))
    _, lengths, right = np.linalg.svd(R / scale, full_matrices=False)
    keep = lengths > 16 * np.sqrt(d) * EPS  # shorter ones are rounding, and no reasonable coefficients make them long
    if not keep.all():  # unless it is that of one huge row
        hidden = (right[~keep] / scale).T
        keep[~keep] = seen_by_rows(problem.design, w, hidden, centred=problem.fit_intercept) > LIGHTEST
        lengths = np.maximum(lengths, EPS)
    if keep.any():
        lengths, right = lengths[keep], right[keep]
    else:  # all columns are constant: one of zeros stands for them
        lengths, right = np.ones(1), np.zeros((1, d))
    basis, forward = (right / lengths[:, None]).T / scale[:, None], lengths[:, None] * right * scale
    B, origin = _spanned(problem, basis, centre, lengths < STEEP * lengths[0])
    here, moved = replace(before.here, design=DenseDesign(B)), origin if problem.fit_intercept else None
    whole = bool(keep.all() and len(keep) == d) or _spans(problem, right, centre, scale)
    return replace(before, here=here, origin=moved, basis=basis, forward=forward, whole=whole)


def _spans(problem: Problem, right: Array, centre: Array, scale: Array) -> bool:
    """Whether each row with weight lies in the span of these orthonormal directions, up to the rounding of a row.

    R is a sum over rows. One that weighs little beside the others, or is small beside them, does not show in it.
    """

    def part(start: int, stop: int, rows: Array) -> Array:
        unit = (rows - centre) / scale
        rest = unit - (unit @ right.T) @ right
        return np.stack([np.linalg.norm(rest, axis=1), np.linalg.norm(unit, axis=1)], axis=1)

    live = problem.weights > 0
    rest, size = np.concatenate(list(problem.design.map_rows(part, ROWS)))[live].T
    return bool((rest <= (ROUNDING + np.sqrt(len(centre))) * EPS * (size + np.median(size))).all())


def _spanned(problem: Problem, basis: Array, centre: Array, short: Array) -> tuple[Array, Array]:
    """(X − 1 centreᵀ) basis, and what was taken from each column of X basis."""
    origin = centre @ basis
    parts = problem.design.map_rows(lambda a, b, rows: (rows - centre) @ basis, ROWS)
    B = np.concatenate(list(parts))
    if short.any():
        exact = product(problem.design, basis[:, short], Pair.of(np.zeros(int(short.sum()))))
        if problem.fit_intercept:
            origin[short] = problem.weights @ exact.high / problem.weights.sum()
        high, low = two_sum(exact.high, -origin[short])
        B[:, short] = high + (low + exact.low)
    return B, origin
