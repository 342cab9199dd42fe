"""Least squares and ridge in closed form, with a certificate: the route is chosen by shape and conditioning.

| data | factor | passes over X |
|---|---|---|
| n ≥ d, condition number ≤ 200 | Cholesky of the centred moments (small data: corrected from the residuals) | 1 (2) |
| n ≥ d, up to 1e6, not small | the same, corrected from the residuals | 2 to 4 |
| n ≥ d, worse | orthogonal, corrected from residuals in double-double | 4 to 6 |
| n < d | Cholesky of X Xᵀ, else its singular values | 3 to 5 |
| thousands of columns and rows, sparse | none: conjugate gradients | many |
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corollary.core.design import BlockDesign, Design, as_design
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.scaling import exponents_of
from corollary.core.types import Array
from corollary.solvers.least_squares.conjugate_gradient import conjugate_gradient
from corollary.solvers.least_squares.dual import solve_dual
from corollary.solvers.least_squares.primal import solve_primal
from corollary.solvers.least_squares.task import (
    Answer,
    OutOfRange,
    Task,
    check_magnitudes,
    relative_gap,
    rounded_level,
    steady_algebra,
)

SPARSE, DENSE = 4096, 20_000  # min(n, d) beyond which a factor costs more than conjugate gradients


def solve(
    task: Task, *, method: str = "auto", tol: float = 1e-8, max_iter: int | None = None
) -> tuple[Answer, Evidence]:
    """The answer to a task, and its evidence.

    ``method`` is "auto" (whatever the data need), "cholesky" (a factor of the moments), "svd" (an orthogonal one) or
    "cg": conjugate gradients, for which ``max_iter`` is. Without a penalty, and where X is rank deficient, the answer
    is that of minimum norm.

    Cost: n d min(n, d) operations; memory for a few min(n, d)² matrices and some megabytes of blocks; X is not copied.
    """
    design = task.design
    if method == "cg" or (method == "auto" and min(design.shape) > (SPARSE if design.is_sparse else DENSE)):
        return conjugate_gradient(task, tol, max_iter)
    with steady_algebra(design):
        try:
            check_magnitudes(task)
            answer, gap = _solve(task, method)
        except OutOfRange:
            answer, gap = _within_range(task, method)
    return answer, _evidence(task, answer, Certificate(Kind.OPTIMAL, "relative duality gap", gap, tol))


def _solve(task: Task, method: str) -> tuple[Answer, float]:
    """The answer and its relative duality gap, the largest among the outputs."""
    n, d = task.design.shape
    answer = solve_primal(task, method) if n >= d else solve_dual(task.in_memory(), method)
    gap = answer.gap
    if answer.mean is not None:
        gap = gap + rounded_level(task, answer.coef, answer.intercept, answer.mean)
    return answer, relative_gap(task, gap, answer.norm**2 + task.penalty_value(answer.coef))


def _evidence(task: Task, answer: Answer, certificate: Certificate) -> Evidence:
    with np.errstate(over="ignore"):
        objective = answer.norm**2 + task.penalty_value(answer.coef)
    facts = {
        "condition number": answer.condition,
        "rank": float(answer.rank or 0),
        "objective": float(objective.sum()),
    }
    if (task.alpha > 0).any():
        facts["effective dof"] = float(answer.dof.mean())
    return Evidence(Status.EXACT, certificate, answer.solver, facts=facts, notes=answer.notes)


def _within_range(task: Task, method: str) -> tuple[Answer, float]:
    try:
        return _rescaled(task, method)
    except OutOfRange:
        raise ValueError(
            "Squares of the data leave the range of float64 even with X and y rescaled: sample_weight or alpha is "
            "extreme. Bring them to magnitudes between 1e-100 and 1e100."
        ) from None


def _scale_columns(design: Design, exponents: Array) -> Design:
    """A copy of X (of each block) with column j multiplied by 2 to the power −exponents[j], exactly."""

    def scaled(start: int, part: Design) -> tuple[int, Design]:
        X = part.matrix()
        if not part.is_sparse:
            return start, as_design(np.ldexp(X, -exponents, dtype=np.float64))
        X = X.tocsr().astype(np.float64, copy=True)
        X.data = np.ldexp(X.data, -exponents[X.indices])
        return start, as_design(X)

    return design.changed(scaled) if isinstance(design, BlockDesign) else scaled(0, design)[1]


def _rescaled(task: Task, method: str) -> tuple[Answer, float]:
    """Take powers of two out of the columns and out of Y, solve, and put them back: exact, unless the answer overflows.

    With fewer rows than columns the norm of β decides, so all columns share one power. This copies X.
    """
    n, d = task.design.shape
    exponents = exponents_of(task.design.column_largest())
    if n < d:
        exponents = np.full(d, exponents.max())
    levels = exponents_of(np.abs(task.Y).max(axis=0))
    with np.errstate(over="ignore", under="ignore"):
        shape = np.ldexp(1.0, -2 * exponents)
        scaled = replace(task, design=_scale_columns(task.design, exponents), Y=np.ldexp(task.Y, -levels), shape=shape)
        if n < d:
            scaled = replace(scaled, alpha=scaled.penalties[0], shape=1.0)  # columns share the power
        answer, gap = _solve(scaled, method)
        coef = np.ldexp(answer.coef, levels - exponents[:, None])
        intercept = np.ldexp(answer.intercept, levels)
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            "The coefficients leave the range of float64 (1e308): the columns of X are too small for this y, or y too "
            "large. Rescale X or y (StandardScaler does)."
        )
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        answer = replace(
            answer,
            coef=coef,
            intercept=intercept,
            norm=np.ldexp(answer.norm, levels),
            gap=np.ldexp(answer.gap, 2 * levels),
            mean=None if answer.mean is None else np.ldexp(answer.mean, exponents),
            inverse=None if answer.inverse is None else np.ldexp(answer.inverse, -exponents[:, None]),
            spread=None if answer.spread is None else np.ldexp(answer.spread, -exponents),
            singular=None,
            notes=(*answer.notes, "Columns of X or y were rescaled by powers of two, which is exact."),
        )
    return answer, gap
