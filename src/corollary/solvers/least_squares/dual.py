"""Least squares with fewer rows than columns: an n × n factor of K = X Xᵀ, and β = Xᵀa.

With X̃ = √W (X − 1 x̄ᵀ) and ỹ = √W (y − ȳ), ridge solves (X̃X̃ᵀ + αI) a = ỹ; least squares of minimum norm is its limit.
Whatever a, half the objective at β = X̃ᵀa is within ½‖ρ‖² of its minimum, where ρ = ỹ − X̃β − αa is what is left over.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corollary.core.parallel import block_rows, sum_blocks
from corollary.core.summary import Triangle
from corollary.core.types import Array
from corollary.solvers.least_squares.root import Root, root_of_gram
from corollary.solvers.least_squares.task import EPS, SPECTRUM, Answer, Factor, Task

LIMIT = 1e5  # condition number of X up to which K is factorised as it is


class Rows:
    """X̃: the rows centred and weighted, never formed."""

    def __init__(self, task: Task) -> None:
        self.task, self.design = task, task.design
        n = task.design.shape[0]
        self.root = np.ones(n) if task.weights is None else np.sqrt(task.weights)
        self.mean = task.design.column_means(task.weights) if task.fit_intercept else np.zeros(task.design.shape[1])

    def times(self, coef: Array) -> Array:
        """X̃ coef."""
        return self.root[:, None] * (self.design.matvec(coef) - self.mean @ coef)

    def transposed_times(self, rows: Array) -> Array:
        """X̃ᵀ rows."""
        weighted = self.root[:, None] * rows
        return self.design.rmatvec(weighted) - np.outer(self.mean, weighted.sum(axis=0))

    def gram(self) -> Array:
        """X̃X̃ᵀ (n × n)."""
        columns = self.design.transposed()
        if self.design.is_sparse:
            cross = self.design.matvec(self.mean)
            K = columns.gram() - cross[:, None] - cross + self.mean @ self.mean
            return self.root[:, None] * K * self.root

        def part(start: int, stop: int) -> Array:
            block = (columns.block(start, stop) - self.mean[start:stop, None]) * self.root
            return block.T @ block

        return sum_blocks(part, *self._blocks())

    def triangle(self) -> Array:
        """R with RᵀR = X̃X̃ᵀ, without squaring."""
        columns = self.design.transposed()

        def part(start: int, stop: int) -> Triangle:
            return Triangle.of((columns.block(start, stop) - self.mean[start:stop, None]) * self.root)

        return sum_blocks(part, *self._blocks()).R

    def _blocks(self) -> tuple[int, int]:
        n, d = self.design.shape
        return d, max(block_rows(d, 8 * n), 2 * n)


def solve_dual(task: Task, method: str) -> Answer:
    """``method`` is "auto", "cholesky" (of K) or "svd" (orthogonal factor only)."""
    rows = Rows(task)
    level = np.zeros(task.Y.shape[1])
    if task.fit_intercept:
        level = (rows.root**2 @ task.Y) / task.weight
    target = rows.root[:, None] * (task.Y - level)
    if task.fit_intercept:
        target -= np.outer(rows.root, rows.root @ target) / task.weight  # rounding of the level
    factor, singular = _by_cholesky(task, rows) if method != "svd" else (None, None)
    name = "Cholesky factor of XXᵀ"
    if factor is None:
        if method == "cholesky":
            raise ValueError(
                "solver='cholesky' found XXᵀ + alpha·I too close to singular. Use solver='svd' (or 'auto'), or raise "
                "alpha."
            )
        name = "singular values"
        factor, singular = _by_svd(task, rows)
    return replace(_iterate(task, rows, factor, target, level), solver=name, singular=singular)


def _by_cholesky(task: Task, rows: Rows) -> tuple[Factor | None, Array | None]:
    K = rows.gram()
    singular = np.sqrt(np.linalg.eigvalsh(K)[::-1].clip(0.0)) if len(K) <= SPECTRUM else None
    typical = float(np.trace(K)) / len(K) or 1.0
    # centring makes √w a null vector, and a row of weight zero is one too: fill both in, the solution stays orthogonal
    if task.fit_intercept:
        K += typical * np.outer(rows.root, rows.root) / task.weight
    np.fill_diagonal(K, np.where(rows.root > 0, np.diagonal(K), typical))
    values, index = task.groups
    roots = []
    for alpha in values:
        root = root_of_gram(K + alpha * np.eye(len(K)))
        if root is None or root.condition > LIMIT:
            return None, None
        roots.append(root)
    return Factor(roots, index, rows.mean), singular


def _by_svd(task: Task, rows: Rows) -> tuple[Factor, Array]:
    _, singular, right = np.linalg.svd(rows.triangle())
    keep = singular > (16 * np.sqrt(len(singular)) * EPS + 2 * task.precision) * singular[0]
    values, vectors = singular[keep], right[: len(singular)][keep].T
    alphas, index = task.groups
    roots = []
    for alpha in alphas:
        shrunk = np.hypot(values, np.sqrt(alpha))
        condition = float(shrunk[0] / shrunk[-1]) if len(shrunk) else 1.0
        roots.append(Root(vectors / shrunk, shrunk[:, None] * vectors.T, condition))
    return Factor(roots, index, rows.mean), singular


def _iterate(task: Task, rows: Rows, factor: Factor, target: Array, level: Array) -> Answer:
    """a ← a + K⁻¹ρ until ρ stops shrinking."""
    dual, coef = np.zeros_like(target), np.zeros((task.design.shape[1], target.shape[1]))
    best, passes = np.full(target.shape[1], np.inf), 0
    while passes < 8:
        passes += 1
        residual = target - rows.times(coef)
        inside = _project(factor, residual - task.alpha * dual)
        gap = 0.5 * np.einsum("ik,ik->k", inside, inside)
        floor = 4 * EPS**2 * np.einsum("ik,ik->k", target, target)
        if (gap <= floor).all() or (gap > best / 4).all():
            break
        best, dual = gap, dual + factor.solve(inside)
        coef = rows.transposed_times(dual)
    alphas, index = task.groups
    rank, dof = _degrees(task, rows, factor)
    return Answer(
        coef=coef,
        intercept=level - rows.mean @ coef if task.fit_intercept else level,
        norm=np.sqrt(np.einsum("ik,ik->k", residual, residual)),
        gap=gap,
        rank=rank,
        condition=factor.condition,
        dof=np.array(dof)[index],
        solver="",
        passes=passes,
        mean=rows.mean,
        notes=_notes(task, rank, alphas),
    )


def _project(factor: Factor, rho: Array) -> Array:
    """The part of ρ that the factor can act on: all of it, or the range of X̃ where K is singular."""
    root = factor.roots[0]
    return rho if root.rank == len(rho) else root.forward.T @ (root.inverse.T @ rho)


def _degrees(task: Task, rows: Rows, factor: Factor) -> tuple[int, list[float]]:
    """Rank of X̃, and Σ λ / (λ + α) for each alpha."""
    alphas, _ = task.groups
    n, root = len(rows.root), factor.roots[0]
    if root.rank < n:
        return root.rank, [r.rank - r.penalty_share(a) for r, a in zip(factor.roots, alphas, strict=True)]
    live = rows.root > 0
    rank = int(live.sum()) - int(task.fit_intercept)
    v = rows.root / np.sqrt(task.weight)
    dof = []
    for r, alpha in zip(factor.roots, alphas, strict=True):
        inverse = np.einsum("ij,ij->i", r.inverse, r.inverse)[live].sum()
        along = np.square(r.inverse.T @ v).sum() if task.fit_intercept else 0.0
        dof.append(rank - alpha * float(inverse - along))
    return rank, dof


def _notes(task: Task, rank: int, alphas: Array) -> tuple[str, ...]:
    n, d = task.design.shape
    if alphas[0] > 0:
        return ()
    return (
        f"X has rank {rank}, not {d}, with only {n} rows: many coefficients fit equally well; these are the ones of "
        "minimum norm.",
    )
