"""Squared loss along a path of penalties: data prepared once, each strength starting from the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from corollary.core.design import Design, as_design
from corollary.core.evidence import Evidence
from corollary.core.loss import Squared
from corollary.core.penalty import ElasticNet as ElasticNetPenalty
from corollary.core.penalty import Penalty, PositiveElasticNet
from corollary.core.problem import LEAST, Problem, relative_gap
from corollary.core.types import Array
from corollary.linear.folds import uninterrupted
from corollary.linear.rounding import blur, relative, rounded, still
from corollary.solvers.linear.compress import Compressed, compress, worth_compressing
from corollary.solvers.linear.descent.cd import descend_products, minimise_quadratic
from corollary.solvers.linear.descent.gram_descent import EPOCHS, PARTS, GramDescent
from corollary.solvers.linear.descent.prox_newton import ProxNewton
from corollary.solvers.linear.driver import Solution, State, solve
from corollary.solvers.loop import Observer

AT_ONCE = 400  # columns of dense data, up to which all their products cost no more than a few passes over X
FINER = 1e-3  # of the gap asked for: coefficients, and errors on rows left out, go with its root


def penalty_of(alpha: float, l1_ratio: float, positive: bool) -> Penalty:
    """alpha · (l1_ratio ‖w‖₁ + ½ (1 − l1_ratio) ‖w‖²), on w ≥ 0 if asked."""
    kind = PositiveElasticNet if positive else ElasticNetPenalty
    return kind(l1=alpha * l1_ratio, l2=alpha * (1 - l1_ratio))


class SquaredPath:
    """The squared-loss problem of one target for any number of penalties: data prepared once, warm starts shared."""

    def __init__(
        self, design: Design, y: Array, weights: Array, fit_intercept: bool, compressed: Compressed | None = None
    ) -> None:
        total = float(weights.sum())
        self.compressed = compressed
        if compressed is None:
            self.data: tuple[Any, ...] = (design, y, weights / total)
            self.offset, self.fit_intercept = 0.0, fit_intercept
        else:
            rows, y = as_design(compressed.R), compressed.y
            self.data = (rows, y, np.full(rows.shape[0], 1 / total))
            self.offset, self.fit_intercept = compressed.rest / (2 * total), False
            self.products = compressed.xx / total, compressed.xy / total, float(y @ y) / total
        self.solver = ProxNewton()
        self.state: State | None = None

    def problem(self, penalty: Penalty) -> Problem:
        design, y, weights = self.data
        return Problem(design, y, weights, Squared(), penalty, self.fit_intercept, offset=self.offset)

    def alpha_max(self, l1_ratio: float, positive: bool = False) -> float:
        """The smallest alpha at which every coefficient is zero."""
        design, y, weights = self.data
        centred = y - (weights @ y / weights.sum() if self.fit_intercept else 0.0)
        return penalty_of(1.0, l1_ratio, positive).null_strength(-design.rmatvec(weights * centred))

    def solve(self, penalty: Penalty, *, tol: float, max_iter: int, observe: Observer | None = None) -> Solution:
        known = self.compressed is not None and not penalty.absent
        solver = GramDescent(*self.products) if known else self.solver
        found = solve(solver, self.problem(penalty), tol=tol, max_iter=max_iter, start=self.state, observe=observe)
        self.state = found.state
        return found

    def intercept(self, found: Solution | State) -> float:
        if self.compressed is not None:
            return self.compressed.intercept(found.coef)
        return float(found.intercept)

    def rounded(self, penalty: Penalty, found: Solution, intercept: float, dtype: Any) -> Evidence | None:
        """The evidence of the coefficients rounded to that type (see ``rounding.py``); None if it does not hold."""
        coef, start, problem = rounded(found.coef, dtype), float(rounded(intercept, dtype)), self.problem(penalty)
        raw, off, level = problem.raw(coef, 0.0), 0.0, 0.0
        if self.compressed is None:
            raw = raw + start
        else:  # rows are about the means
            off, level = self.compressed.intercept(coef) - start, float(self.compressed.mean_x @ coef) + start
        _, _, weights = self.data
        wide = blur(dtype) * (float(weights @ raw**2) + level**2)
        rise = problem.primal_value(problem.loss_value(raw) + 0.5 * (off**2 + wide), coef)
        rise -= found.evidence.facts["objective"]
        return still(found.evidence, relative(rise, found.evidence, problem.null_objective()))

    def walk(self, penalties: Iterable[Penalty], *, tol: float, max_iter: int) -> Iterator[tuple[Array, float, bool]]:
        """Coefficients, intercept and whether ``tol`` was reached for each penalty in turn, warm-started.

        On compressed data every step stays in d dimensions: the Gram matrix is formed once, and neither the solver's
        bookkeeping nor its history is needed.
        """
        if self.compressed is None:
            for penalty in penalties:
                found = uninterrupted(self.solve(penalty, tol=tol, max_iter=max_iter))
                yield found.coef, self.intercept(found), found.evidence.holds
            return
        H, pull, square = self.products
        null, w, gradient = self.offset + 0.5 * square, np.zeros(len(pull)), np.empty(len(pull))
        for penalty in penalties:
            small = FINER * tol, LEAST * null
            primal, dual = descend_products(H, pull, square, self.offset, gradient, w, penalty, *small, EPOCHS)
            gap = relative_gap(primal, dual, null)
            for part in PARTS:  # where descent alone is slow: as exact as the gap asks
                if gap <= FINER * tol:
                    break
                w, _ = minimise_quadratic(H, gradient, w, penalty, tol=part * tol * max(penalty.l1, 1e-300))
                primal, dual = descend_products(H, pull, square, self.offset, gradient, w, penalty, *small, 0)
                gap = relative_gap(primal, dual, null)
            yield w.copy(), self.compressed.intercept(w), gap <= tol


def squared_paths(
    X: Any, Y: Array, weights: Array, fit_intercept: bool, *, once: bool = False
) -> Iterator[SquaredPath]:
    """One ``SquaredPath`` per column of Y; tall data are compressed in one pass for all of them.

    ``once`` says that there is one strength: then products of all columns cost more than the few that a fit looks at,
    unless there are few columns, or rows have to be read again for each pass.
    """
    design = as_design(X)
    n, d = design.shape
    thin = (
        design.is_sparse and design.matrix().nnz < n * d / 2
    )  # fuller columns may be far from zero: about their means then
    wide = once and design.resident and (thin or d > AT_ONCE)
    plain = None if (weights == 1.0).all() else weights
    moments = design.moments(Y, plain) if worth_compressing(design.shape) and not wide else None
    for target in range(Y.shape[1]):
        small = None if moments is None else compress(moments, target, fit_intercept=fit_intercept)
        yield SquaredPath(design, np.ascontiguousarray(Y[:, target]), weights, fit_intercept, small)


def alpha_grid(alpha_max: float, eps: float, n_alphas: int) -> Array:
    """``n_alphas`` strengths from ``alpha_max`` down to ``eps · alpha_max``, evenly spaced in their logarithm."""
    least = float(np.finfo(float).resolution)
    if not alpha_max > least:  # nothing correlates with y: any strength gives zero
        return np.full(n_alphas, least)
    return np.geomspace(alpha_max, eps * alpha_max, n_alphas)


def absolute_gap(evidence: Evidence) -> float:
    """Objective minus dual objective."""
    return max(float(evidence.facts["objective"] - evidence.facts["dual objective"]), 0.0)
