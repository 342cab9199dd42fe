"""Least squares and ridge by conjugate gradients: for sparse data with too many rows and columns for any factor."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from corollary.core.evidence import Evidence, Kind
from corollary.core.problem import EPS
from corollary.core.types import Array
from corollary.solvers.least_squares.task import SMALL, Answer, Task, relative_gap, rounded_level
from corollary.solvers.loop import Algorithm, Measure, Rules, run


@dataclass(frozen=True)
class _Iterate:
    """Coefficients and all that the next step needs, for all outputs side by side."""

    coef: Array
    intercept: Array
    residual: Array
    slope: Array
    direction: Array
    energy: Array


class _ConjugateGradients(Algorithm[_Iterate]):
    """Conjugate gradients on the normal equations; X is centred implicitly and stays sparse."""

    name = "conjugate gradients"
    patience = 100  # below rounding, directions are noise and the iterates drift away

    def __init__(self, task: Task, tol: float) -> None:
        self.task, self.rows, self.alpha, self.tol = task, task.centred, task.alpha, tol
        weights = task.root**2
        self.squares = task.design.column_squares(task.mean, weights)
        self.varies = (self.squares > 0)[:, None]
        penalised = bool((self.alpha > 0).all())
        self.kind = Kind.OPTIMAL if penalised else Kind.STATIONARY
        self.certificate_name = "relative duality gap" if penalised else "relative gradient"
        # a diagonal preconditioner would change which of many solutions is reached, so only a fit whose penalty is more
        # than rounding gets one
        felt = penalised and bool((self.alpha > EPS * self.squares.max()).all())
        self.diagonal = self.squares[:, None] + self.alpha if felt else np.ones((len(self.squares), 1))

    def init(self) -> _Iterate:
        residual = self._target()
        self.unit = np.sqrt(self.squares.sum() * np.square(residual).sum(axis=0))
        slope = self._pull(residual)
        direction = slope / self.diagonal
        self.first = np.einsum("jk,jk->k", slope, direction)
        coef = np.zeros((len(self.squares), len(self.alpha)))
        level = self.task.level if self.task.fit_intercept else np.zeros(len(self.alpha))
        return _Iterate(coef, level, residual, slope, direction, self.first)

    def _target(self) -> Array:
        return self.task.balanced(self.task.root[:, None] * (self.task.Y - self.task.level))

    def _pull(self, residual: Array) -> Array:
        """X̃ᵀ residual; of a constant column, however large, exactly nothing."""
        return np.where(self.varies, self.rows.rmatvec(residual), 0.0)

    def step(self, state: _Iterate) -> _Iterate:
        image = self.task.balanced(self.rows.matvec(state.direction))
        curvature = np.square(image).sum(axis=0) + self.alpha * np.square(state.direction).sum(axis=0)
        length = _ratio(state.energy, curvature)
        coef, residual = state.coef + length * state.direction, state.residual - length * image
        slope = self._pull(residual) - self.alpha * coef
        steepest = slope / self.diagonal
        energy = np.einsum("jk,jk->k", slope, steepest)
        intercept = self.task.level - self.task.mean @ coef
        direction = steepest + _ratio(energy, state.energy) * state.direction
        return _Iterate(coef, intercept, residual, slope, direction, energy)

    def better(self, new: Measure, old: Measure) -> bool:
        return bool(new.residual is not None and old.residual is not None and new.residual <= old.residual)

    def measure(self, state: _Iterate) -> Measure:
        """For ridge the relative duality gap, which is at most ‖∇‖² / (2α); else ‖X̃ᵀr‖ / (‖X̃‖ ‖ỹ‖)."""
        objective = np.square(state.residual).sum(axis=0) + self.alpha * np.square(state.coef).sum(axis=0)
        squares = np.square(state.slope).sum(axis=0)
        if self.kind is Kind.OPTIMAL:
            gap = squares / (2 * self.alpha) + rounded_level(self.task, state.coef, state.intercept, self.task.mean)
            residual = relative_gap(self.task, gap, objective)
        else:
            residual = float(np.max(_ratio(np.sqrt(squares), self.unit)))
        return Measure(0.5 * float(objective.sum()), residual)

    def finish(self, state: _Iterate, measure: Measure) -> tuple[_Iterate, Measure]:
        """Steps carry the residual along, and its rounding: what is claimed is worked out from the coefficients.

        Two passes; each entry of a gradient may be off by the rounding of its sum. Small data that have converged are
        brought to rounding besides, as a factor would bring them: their passes cost next to nothing.
        """
        kept = self._measured(state)
        converged = measure.residual is not None and measure.residual <= self.tol
        if not converged or self.task.size > SMALL:
            return kept
        for _ in range(self.patience):
            if (state.energy <= EPS**2 * self.first).all():
                break
            state = self.step(state)
        refined = self._measured(state)
        return refined if self.better(refined[1], kept[1]) else kept

    def _measured(self, state: _Iterate) -> tuple[_Iterate, Measure]:
        residual = self.task.balanced(self._target() - self.rows.matvec(state.coef))
        blur = EPS * np.outer(np.abs(self.task.mean), np.abs(self.task.root[:, None] * residual).sum(axis=0))
        slope = np.abs(self._pull(residual) - self.alpha * state.coef) + self.varies * blur
        fresh = replace(state, residual=residual, slope=slope, intercept=self.task.intercept(state.coef))
        return fresh, self.measure(fresh)


def conjugate_gradient(task: Task, tol: float, max_iter: int | None) -> tuple[Answer, Evidence]:
    """Minimise Σ w (y − xᵀβ − b)² + α‖β‖².

    Without a penalty no bound on the gap is known that does not need a factor, so the certificate is the gradient; the
    iterates start at zero and stay in the range of X̃ᵀ, so they tend to the solution of minimum norm.
    Cost: two passes over X an iteration, memory for a few vectors.
    """
    limit = max_iter if max_iter is not None else max(1000, 2 * min(task.design.shape))
    found = run(_ConjugateGradients(task, tol), Rules(limit, tol, task.observe))
    state, unknown = found.state, np.full(len(task.alpha), np.nan)
    answer = Answer(
        coef=state.coef,
        intercept=state.intercept,
        norm=np.sqrt(np.square(state.residual).sum(axis=0)),
        gap=unknown,
        rank=None,
        condition=np.nan,
        dof=unknown,
        solver=found.solver,
        passes=2 * found.n_iter + 2,
    )
    return answer, found.evidence(facts={"objective": 2 * found.measure.objective})


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Zero for an output that is finished."""
    return np.where(denominator > 0, numerator / np.where(denominator > 0, denominator, 1.0), 0.0)
