"""Coefficients in the type of X, unless what was shown of them would not survive the rounding.

Solvers work in float64 whatever X is. Float32 coefficients are a little off, and so are float32 predictions: by
δ = Xδβ + δb and by half a unit of the last place. At an optimum the objective rises with the square of that, which
mostly vanishes beside the tolerance; where columns are far from zero it does not. So the objective is worked out at
the coefficients that would be delivered. If the certificate holds for them they are delivered, with the certificate
that they have; if not, coefficients and predictions stay float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corollary.core.evidence import Evidence
from corollary.core.problem import LEAST, Problem
from corollary.core.types import Array
from corollary.solvers.least_squares.rows_so_far import RowsSoFar
from corollary.solvers.least_squares.task import Task, share
from corollary.solvers.linear.driver import Solution

KEPT = "Coefficients are float64: rounded to float32 like X, they would miss the tolerance."


def rounded(values: Any, dtype: Any) -> Any:
    """The nearest numbers of that type, in float64; infinite beyond its range."""
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float64).astype(dtype).astype(np.float64)


def rounded_difference(values: Any, dtype: Any) -> Any:
    """Of two classes, where only the difference is kept."""
    return np.stack([values[..., 0], values[..., 0] + rounded(values[..., 1] - values[..., 0], dtype)], axis=-1)


def blur(dtype: Any) -> float:
    """(ε/2)²: the square of the relative error of a prediction in that type."""
    return float(0.25 * np.finfo(dtype).eps ** 2)


def still(evidence: Evidence, excess: float) -> Evidence | None:
    """The evidence after the objective rose by that share of it; None if the rounding decides that it fails."""
    certificate = evidence.certificate
    if evidence.status.cut_short:  # nothing is claimed
        return evidence
    value = certificate.value + excess
    if not (value <= certificate.tolerance or excess <= 0.1 * certificate.value):
        return None
    objective = evidence.facts["objective"]
    facts = {**evidence.facts, "objective": objective + excess * abs(objective)}
    return replace(evidence, certificate=replace(certificate, value=value), facts=facts)


def narrowest(dtype: Any, exact: Sequence[Evidence], judged: Sequence[Evidence | None]) -> tuple[Any, list[Evidence]]:
    """The type to keep coefficients in, that of X if all parts allow it, and the evidence of each part then."""
    if np.dtype(dtype) == np.float64:
        return dtype, list(exact)
    kept = [evidence for evidence in judged if evidence is not None]
    if len(kept) == len(exact):
        return dtype, kept
    return np.float64, [replace(evidence, notes=(*evidence.notes, KEPT)) for evidence in exact]


def in_type_of(
    dtype: Any, parts: Sequence[tuple[Problem, Solution]], how: Callable[[Any, Any], Any] = rounded
) -> tuple[Any, list[Evidence]]:
    """The same for solutions of problems; ``how`` gives what a solution is once it was rounded to a type.

    Cost: a pass over X for each part if X is float32, else nothing.
    """
    exact = [found.evidence for _, found in parts]
    if np.dtype(dtype) == np.float64:
        return dtype, exact
    return narrowest(dtype, exact, [_judged(problem, found, dtype, how) for problem, found in parts])


def _judged(problem: Problem, found: Solution, dtype: Any, how: Callable[[Any, Any], Any]) -> Evidence | None:
    coef, intercept = how(found.coef, dtype), how(found.intercept, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        raw = problem.raw(coef, intercept)
        value, _, curve = problem.derivatives(raw)
        if curve is None:
            curve = problem.weights[:, None]
        live = problem.weights > 0
        value += 0.5 * blur(dtype) * float(np.sum((curve * raw**2)[live]))
        rise = problem.primal_value(value, coef) - found.evidence.facts["objective"]
    return still(found.evidence, relative(rise, found.evidence, problem.null_objective()))


def relative(rise: float, evidence: Evidence, null: float) -> float:
    """The rise beside the objective, which is not taken below a millionth of the null model's."""
    scale = max(abs(evidence.facts["objective"]), LEAST * abs(null))
    return max(rise, 0.0) / scale if scale > 0 else (0.0 if rise <= 0 else np.inf)


def least_squares_in_type_of(
    dtype: Any, task: Task, coef: Array, intercept: Array, so_far: RowsSoFar | None, evidence: Evidence
) -> tuple[Any, Evidence]:
    """The same for a task of least squares: from its moments if they are known, else by one pass over its rows.

    ``so_far`` are the rows that the task stands for if its own are centred already, without an intercept.
    """
    if np.dtype(dtype) == np.float64:
        return dtype, evidence
    step, shift = rounded(coef, dtype) - coef, rounded(intercept, dtype) - intercept
    with np.errstate(over="ignore", invalid="ignore"):
        if so_far is not None:
            rise, objective, squares = _by_rows(task, coef, 0.0 * intercept, step, 0.0 * shift)
            rise = rise + so_far.weight * (so_far.intercept(coef + step) - intercept - shift) ** 2
            squares = squares + so_far.weight * so_far.mean[len(coef) :] ** 2
        else:
            known = "moments" in task.__dict__
            rise, objective, squares = (_by_moments if known else _by_rows)(task, coef, intercept, step, shift)
        rise = rise + task.penalty_value(coef + step) - task.penalty_value(coef) + blur(dtype) * squares
        objective = objective + task.penalty_value(coef)
        excess = share(np.maximum(rise, 0.0), np.maximum(objective, task.yardstick))
    kept, found = narrowest(dtype, [evidence], [still(evidence, excess if np.isfinite(excess) else np.inf)])
    return kept, found[0]


def _by_moments(task: Task, coef: Array, intercept: Array, step: Array, shift: Array) -> tuple[Array, Array, Array]:
    """By how much Σ w r² rises, Σ w r² itself, and Σ w f² of the predictions f, of each output."""
    m = task.moments
    pull, level = m.xx @ coef - m.xy, m.mean_x @ coef + intercept
    off = m.mean_y - level
    lean = m.mean_x @ step + shift
    rise = np.einsum("jk,jk->k", step, m.xx @ step + 2 * pull) + m.weight * lean * (lean - 2 * off)
    spread = np.einsum("jk,jk->k", coef, m.xx @ coef)
    inner = np.maximum(m.yy + np.einsum("jk,jk->k", coef, pull - m.xy), 0.0)
    return rise, inner + m.weight * off**2, spread + m.weight * level**2


def _by_rows(task: Task, coef: Array, intercept: Array, step: Array, shift: Array) -> tuple[Array, Array, Array]:
    both = task.design.matvec(np.hstack([coef, step]))
    raw, change = both[:, : coef.shape[1]] + intercept, both[:, coef.shape[1] :] + shift
    residual = task.Y - raw
    squares = task.root[:, None] ** 2

    def total(values: Array) -> Array:
        return np.asarray((squares * values).sum(axis=0))

    return total(change * (change - 2 * residual)), total(residual**2), total(raw**2)
