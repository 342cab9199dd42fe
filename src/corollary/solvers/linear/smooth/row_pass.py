"""One pass over X at some coefficients: the loss, its slopes, Xᵀ slope and, if asked, the weighted Gram matrix.

Rows that lie in memory one after the other go through one compiled call, in which threads meet; X is read once
(``_compiled/linear/row_pass.py``). Others go through :meth:`Design.sweep`, block by block. Chunks of rows have sums of
their own, as many numbers as a gradient has: 64 MiB in all, or 16 times that many numbers if this is more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.parallel import one_blas_thread, rows_per_part, run_team
from corollary.core.problem import SMALL, Problem
from corollary.core.types import Array

CHUNKS = 128  # of rows, for threads to share out; fewer where their sums are long
BLOCK = 1 << 14  # numbers of X that stay in the cache of a core while they are used again
GRAM_COLUMNS = 128  # up to which each chunk has a Gram matrix of its own
SHARE = 100.0  # microseconds of work that are worth a thread


@dataclass(frozen=True)
class RowPass:
    """Σ w ℓ, Xᵀ slope, Σ slope, and of losses with one raw prediction Σ w f² and the curvature w ℓ″ of each row.

    ``border`` is Xᵀ curve and ``total`` Σ curve; without them the curvature of the rows was not added up.
    """

    value: float
    gradient: Array
    gradient_sum: Any
    slope: Array
    square: float = 0.0
    curve: Array | None = None
    border: Array | None = None
    total: float = 0.0
    gram: Array | None = None


def in_one_call(problem: Problem) -> bool:
    """Whether the rows lie in memory and are many enough for a compiled call."""
    many = problem.design.shape[0] * max(1, problem.n_classes) > SMALL
    return many and problem.loss.code >= 0 and problem.design.plain_rows() is not None


def row_pass(problem: Problem, coef: Array, intercept: Any, *, gram: bool = False, exact: bool = False) -> RowPass:
    """``exact`` asks for the true curvature of losses with flat parts, zero there, instead of its majorant."""
    if not in_one_call(problem):
        return _by_blocks(problem, coef, intercept, gram, exact)
    if problem.n_classes:
        return _of_classes(problem, coef, intercept)
    return _compiled(problem, coef, intercept, gram, exact)


def _grid(problem: Problem, length: int) -> tuple[tuple[int, int], int]:
    """(rows of a chunk, rows of a block), and the number of chunks: all by the shape of X and the length of a sum."""
    n, d = problem.design.shape
    lines = max(16, BLOCK // max(1, d) // 8 * 8)
    size = rows_per_part(n, length, least=lines, most=CHUNKS)
    return (size, lines), -(-n // size)


def _compiled(problem: Problem, coef: Array, intercept: Any, gram: bool, exact: bool) -> RowPass:
    from corollary._compiled.linear.row_pass import HEAD, loss_pass

    n, d = problem.design.shape
    square = gram and d <= GRAM_COLUMNS
    width = HEAD + 2 * d + (d * d if square else 0)
    grid, chunks = _grid(problem, width)
    slope, curve, parts, total = np.empty(n), np.empty(n), np.empty((chunks, width)), np.empty(width)
    loss, majorant = problem.loss, problem.loss.flat and not exact
    work = n * (0.05 + 0.001 * d + (1e-4 * d * d if square else 0.0))  # microseconds
    with one_blas_thread():
        run_team(
            loss_pass, problem.design.plain_rows(), (coef, float(intercept)), (loss.code, loss.parameter, majorant),
            problem.y, problem.weights, grid, slope, curve, parts, total, most=max(1, int(work / SHARE)),
        )  # fmt: skip
    value, raw_square, tilt, weight = (float(number) for number in total[:HEAD])
    gradient, border = total[HEAD : HEAD + d], total[HEAD + d : HEAD + 2 * d]
    H = None
    if square:
        H = total[HEAD + 2 * d :].reshape(d, d)
        H = np.triu(H) + np.triu(H, 1).T
    elif gram:
        H = problem.design.gram(curve)
    return RowPass(value, gradient, tilt, slope, raw_square, curve, border, weight, H)


def _of_classes(problem: Problem, coef: Array, intercept: Any) -> RowPass:
    from corollary._compiled.linear.row_pass import softmax_pass

    (n, d), k = problem.design.shape, problem.n_classes
    width = 1 + (d + 1) * k
    grid, chunks = _grid(problem, width)
    slope, parts, total = np.empty((n, k)), np.empty((chunks, width)), np.empty(width)
    model = np.ascontiguousarray(coef), np.asarray(intercept, dtype=np.float64)
    work = n * k * (0.02 + 0.0005 * d)
    with one_blas_thread():
        run_team(
            softmax_pass, problem.design.plain_rows(), model, problem.y, problem.weights, grid, slope, parts, total,
            most=max(1, int(work / SHARE)),
        )  # fmt: skip
    return RowPass(float(total[0]), total[1 : 1 + d * k].reshape(d, k), total[1 + d * k :], slope)


def _by_blocks(problem: Problem, coef: Array, intercept: Any, gram: bool, exact: bool) -> RowPass:
    n = problem.design.shape[0]
    slope = np.empty((n, problem.n_classes) if problem.n_classes else n)
    curve = None if problem.n_classes else np.empty(n)
    squares: dict[int, float] = {}  # Σ w f² of each block

    def record(start: int, stop: int, raw: Array) -> tuple[float, Array, Array | None]:
        value, first, second = problem.pointwise(start, stop, raw)
        slope[start:stop] = first
        if curve is not None:
            if exact and problem.loss.flat:
                second = problem.weights[start:stop] * problem.loss.hessian(problem.y[start:stop], raw)
            assert second is not None
            curve[start:stop] = second
            squares[start] = _square(problem.weights[start:stop], raw)
        return value, first, second

    swept = problem.design.sweep(coef, intercept, record, gram=gram)
    total = float(sum(squares[start] for start in sorted(squares)))
    return RowPass(
        swept.value, swept.gradient, swept.gradient_sum, slope, total, curve, swept.gram_border, swept.gram_sum,
        swept.gram,
    )  # fmt: skip


def _square(weights: Array, raw: Array) -> float:
    """Σ w f², over rows with weight."""
    with np.errstate(over="ignore"):
        return float(weights @ np.square(raw if weights.all() else np.where(weights > 0, raw, 0.0)))
