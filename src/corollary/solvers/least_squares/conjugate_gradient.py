"""Least squares and ridge by conjugate gradients: for sparse data with too many rows and columns for any factor."""

from __future__ import annotations

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Status
from corollary.core.types import Array
from corollary.solvers.least_squares.dual import Rows
from corollary.solvers.least_squares.task import Answer, Task
from corollary.solvers.linear.driver import Log, State, snapshot


class _Descent:
    """Conjugate gradients on the normal equations, all outputs side by side; X is centred implicitly, stays sparse."""

    def __init__(self, task: Task) -> None:
        self.task, self.rows, self.alpha = task, Rows(task), task.alpha
        weights = self.rows.root**2
        self.level = weights @ task.Y / task.weight if task.fit_intercept else np.zeros(len(self.alpha))
        self.residual = self.rows.root[:, None] * (task.Y - self.level)
        squares = task.design.column_squares(self.rows.mean, weights)
        self.penalised = bool((self.alpha > 0).all())
        # a diagonal preconditioner would change which of many solutions is reached, so only a penalised fit gets one
        self.diagonal = squares[:, None] + self.alpha if self.penalised else np.ones((len(squares), 1))
        self.null = 0.5 * (weights @ task.Y**2)
        self.unit = np.sqrt(squares.sum() * np.square(self.residual).sum(axis=0))
        self.coef = np.zeros((len(squares), len(self.alpha)))
        self.slope = self.rows.transposed_times(self.residual)
        self.direction = self.slope / self.diagonal
        self.energy = np.einsum("jk,jk->k", self.slope, self.direction)

    @property
    def intercept(self) -> Array:
        return self.level - self.rows.mean @ self.coef if self.task.fit_intercept else self.level

    @property
    def objective(self) -> Array:
        return np.square(self.residual).sum(axis=0) + self.alpha * np.square(self.coef).sum(axis=0)

    def certificate(self, tol: float) -> Certificate:
        """For ridge the relative duality gap, which is at most ‖∇‖² / (2α); else ‖X̃ᵀr‖ / (‖X̃‖ ‖ỹ‖)."""
        squares = np.square(self.slope).sum(axis=0)
        if self.penalised:
            scale = np.maximum(np.maximum(0.5 * self.objective, 1e-6 * self.null), 1e-300)
            return Certificate("relative duality gap", float(np.max(squares / (2 * self.alpha) / scale)), tol)
        return Certificate("relative gradient", float(np.max(_ratio(np.sqrt(squares), self.unit))), tol)

    def step(self) -> None:
        image = self.rows.times(self.direction)
        curvature = np.square(image).sum(axis=0) + self.alpha * np.square(self.direction).sum(axis=0)
        length = _ratio(self.energy, curvature)
        # not in place: whoever watches may keep an iterate
        self.coef, self.residual = self.coef + length * self.direction, self.residual - length * image
        self.slope = self.rows.transposed_times(self.residual) - self.alpha * self.coef
        steepest = self.slope / self.diagonal
        previous, self.energy = self.energy, np.einsum("jk,jk->k", self.slope, steepest)
        self.direction = steepest + _ratio(self.energy, previous) * self.direction


def conjugate_gradient(task: Task, tol: float, max_iter: int | None) -> tuple[Answer, Evidence]:
    """Minimise Σ w (y − xᵀβ − b)² + α‖β‖².

    Without a penalty no bound on the gap is known that does not need a factor, so the certificate is the gradient; the
    iterates start at zero and stay in the range of X̃ᵀ, so they tend to the solution of minimum norm.
    Cost: two passes over X an iteration, memory for a few vectors.
    """
    log, descent = Log(), _Descent(task)
    limit = max_iter if max_iter is not None else max(1000, 2 * min(task.design.shape))
    status, iteration = Status.MAX_ITER, 0
    try:
        while True:
            certificate, half = descent.certificate(tol), 0.5 * float(descent.objective.sum())
            kept, residual = State(descent.coef, descent.intercept, half), descent.residual
            record = log.add(iteration, half, certificate.value)
            if certificate.holds:
                status = Status.CONVERGED
                break
            if task.observe is not None and task.observe(record, snapshot(kept)):
                status = Status.BUDGET
                break
            if iteration == limit:
                break
            descent.step()
            iteration += 1
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    evidence = Evidence(
        status=status,
        certificate=certificate,
        solver="conjugate gradients",
        n_iter=iteration,
        seconds=log.seconds,
        history=log.history,
        facts={"objective": 2 * half},
    )
    unknown = np.full(len(task.alpha), np.nan)
    answer = Answer(
        coef=kept.coef,
        intercept=kept.intercept,
        norm=np.sqrt(np.square(residual).sum(axis=0)),
        gap=unknown,
        rank=None,
        condition=np.nan,
        dof=unknown,
        solver=evidence.solver,
        passes=2 * iteration + 2,
    )
    return answer, evidence


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Zero for an output that is finished."""
    return np.where(denominator > 0, numerator / np.where(denominator > 0, denominator, 1.0), 0.0)
