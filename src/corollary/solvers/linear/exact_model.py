"""Squared loss on a working set, where the quadratic model is the loss itself: by columns, or by their products.

An epoch of coordinate descent along columns costs two visits of their entries, and most fits need a few dozen of them.
Where columns are nearly collinear they need thousands; then the products of the columns are formed (once, for a whole
path of penalties) and the end is exact. Which it is shows on the way: descent gets as many epochs as the products cost.
"""

from __future__ import annotations

from typing import Any

from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.linear.cd import GRAM_COLUMNS, descend_columns, even_weight, minimise_quadratic
from corollary.solvers.linear.columns import Columns, Pulls
from corollary.solvers.linear.gram_cache import GramCache

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
        plain = problem.penalty.separable and problem.penalty.l1 > 0
        laid = Columns.of(problem.design) if plain and problem.design.resident else None
        n, d = problem.design.shape
        exact = self.crawls or n * d * min(n, d) <= SMALL
        if laid is None or (exact and self._few_products(problem, laid, wanted)):
            coef, raw = self._by_products(problem, state, wanted, local)
        else:
            coef, raw = self._by_columns(problem, state, laid, wanted, pulls)
        intercept = state.intercept
        if problem.fit_intercept:
            shift = problem.weights @ (problem.y - raw) / problem.weights.sum()
            raw += shift
            intercept = intercept + shift
        return coef, intercept, raw

    def _few_products(self, problem: Problem, laid: Columns, wanted: Array) -> bool:
        """Whether the products of the columns may be formed at all."""
        s = len(wanted)
        thin = problem.design.is_sparse and s**2 > max(SQUARE, THIN * laid.entries(wanted))
        return s <= GRAM_COLUMNS and not thin

    def _by_columns(
        self, problem: Problem, state: Any, laid: Columns, wanted: Array, pulls: Pulls | None
    ) -> tuple[Array, Array]:
        memory, weights, w = state.memory, problem.weights, state.coef[wanted]
        even = even_weight(weights)
        if pulls is not None and even > 0:
            bowls = pulls.bowls(wanted, even)
        else:
            bowls = laid.bowls(wanted, weights, problem.fit_intercept)
        local = PART * float(memory["violation"].max(initial=0.0))
        rounds = FIRST + len(wanted) // WORTH if self._few_products(problem, laid, wanted) else ROUNDS
        slope = memory["slope"].copy()
        new, reached = descend_columns(laid, wanted, bowls, weights, slope, w, problem.penalty, local, rounds)
        self.crawls |= not reached
        coef, raw = state.coef.copy(), memory["raw"].copy()
        coef[wanted] = new
        laid.move(wanted, new - w, raw)
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
