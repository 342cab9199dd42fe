"""Squared loss on a working set, where the quadratic model is the loss itself: by columns, or by their products.

An epoch of coordinate descent along columns costs two visits of their entries, and most fits need a few dozen of them.
Where columns are nearly collinear they need thousands; then the products of the columns are formed (once, for a whole
path of penalties) and the end is exact. Which it is shows on the way: descent gets as many epochs as the products cost.
"""

from __future__ import annotations

from typing import Any

from corollary.core.design import Design
from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.linear.descent.cd import GRAM_COLUMNS, minimise_quadratic
from corollary.solvers.linear.descent.column_descent import descend_columns, even_weight
from corollary.solvers.linear.descent.columns import Columns, Pulls
from corollary.solvers.linear.descent.gram_cache import GramCache

SMALL = 1 << 22  # multiplications for all products of columns: fewer take less than a millisecond
SQUARE, THIN = 1 << 15, 4  # more products than the one, or the other times the entries of sparse columns, are too many
ROUNDS = 100  # of descent, where there is no other way
FIRST, WORTH = 10, 256  # rounds at least, and columns whose products cost as much as another
PART = 0.3  # of the largest violation: how exactly a working set is solved along its columns


class ExactModel:
    """Steps to the minimum over a working set."""

    def __init__(self) -> None:
        self.cache: GramCache | None = None
        self.crawls = False  # whether descent along columns was found to be slow

    def step(
        self, problem: Problem, state: Any, wanted: Array, local: float, pulls: Pulls | None
    ) -> tuple[Array, Any, Array]:
        """Coefficients, intercept and raw predictions; by products to within ``local``."""
        design = problem.design
        n, d = design.shape
        exact = self.crawls or n * d * min(n, d) <= SMALL or not design.resident
        few = self._few_products(design, wanted)
        plain = problem.penalty.separable and problem.penalty.l1 > 0
        if not plain or (exact and few):
            coef, raw = self._by_products(problem, state, wanted, local)
        else:
            rounds = FIRST + len(wanted) // WORTH if few else ROUNDS
            coef, raw = self._by_columns(problem, state, wanted, pulls, rounds)
        intercept = state.intercept
        if problem.fit_intercept:
            shift = problem.weights @ (problem.y - raw) / problem.weights.sum()
            raw += shift
            intercept = intercept + shift
        return coef, intercept, raw

    def _few_products(self, design: Design, wanted: Array) -> bool:
        """Whether the products of the columns may be formed at all."""
        s = len(wanted)
        if s > GRAM_COLUMNS:
            return False
        laid = Columns.of(design) if design.is_sparse and s**2 > SQUARE else None
        return laid is None or s**2 <= THIN * laid.entries(wanted)

    def _by_columns(
        self, problem: Problem, state: Any, wanted: Array, pulls: Pulls | None, rounds: int
    ) -> tuple[Array, Array]:
        """Descent along the wanted columns."""
        memory, weights, w = state.memory, problem.weights, state.coef[wanted]
        laid, at = Columns.some(problem.design, wanted)
        even = even_weight(weights)
        if pulls is not None and even > 0:
            bowls = pulls.bowls(wanted, even)
        else:
            bowls = laid.bowls(at, weights, problem.fit_intercept)
        local = PART * float(memory["violation"].max(initial=0.0))
        slope = memory["slope"].copy()
        new, reached = descend_columns(laid, at, bowls, weights, slope, w, problem.penalty, local, rounds)
        self.crawls |= not reached
        coef, raw = state.coef.copy(), memory["raw"].copy()
        coef[wanted] = new
        laid.move(at, new - w, raw)
        return coef, raw

    def _by_products(self, problem: Problem, state: Any, wanted: Array, local: float) -> tuple[Array, Array]:
        if self.cache is None:
            self.cache = GramCache(problem)
        at, H = self.cache.gram(wanted)
        old = state.coef[at]
        gradient, rank = state.memory["gradient"][at], problem.design.shape[0]
        new, _ = minimise_quadratic(H, gradient, old, problem.penalty.restrict(at), tol=local, rank=rank)
        coef = state.coef.copy()
        coef[at] = new
        return coef, state.memory["raw"] + self.cache.product(at, new - old)
