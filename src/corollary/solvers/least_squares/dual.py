"""Least squares with fewer rows than columns: an n × n factor of K = X Xᵀ, and β = Xᵀa.

With X̃ = √W (X − 1 x̄ᵀ) and ỹ = √W (y − ȳ), ridge solves (X̃X̃ᵀ + αI) a = ỹ; least squares of minimum norm is its limit.
Whatever a, half the objective at β = X̃ᵀa is within ½‖ρ‖² of its minimum, where ρ = ỹ − X̃β − αa is what is left over.
Where β is X̃ᵀa but for an error e, that is ½(‖ρ‖ + √α‖e‖)².
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corollary.core.parallel import block_rows
from corollary.core.problem import EPS
from corollary.core.summary import Triangle
from corollary.core.types import Array
from corollary.solvers.least_squares.root import Root, root_of_gram
from corollary.solvers.least_squares.task import SPECTRUM, Answer, Factor, Task

LIMIT = 1e5  # condition number of X up to which K is factorised as it is


def solve_dual(task: Task, method: str) -> Answer:
    """``method`` is "auto" or "cholesky" (of K, where that is far enough from singular) or "svd"."""
    target = task.balanced(task.root[:, None] * (task.Y - task.level))
    factor, singular = _by_cholesky(task) if method != "svd" else (None, None)
    name = "Cholesky factor of XXᵀ"
    if factor is None:
        name = "singular values"
        factor, singular = _by_svd(task)
    return replace(_iterate(task, factor, target), solver=name, singular=singular)


def outer_product(task: Task) -> Array:
    """K = X̃X̃ᵀ (n × n)."""
    columns = task.centred.transposed()
    if columns.is_sparse:
        return task.balanced(task.balanced(columns.gram()).T)

    def part(start: int, stop: int, rows: Array) -> Array:
        columns = task.balanced(rows.T)
        return columns @ columns.T

    return columns.sum_rows(part, _columns_at_once(task))


def _columns_at_once(task: Task) -> int:
    n, d = task.design.shape
    return max(block_rows(d, 8 * n), 2 * n)


def _by_cholesky(task: Task) -> tuple[Factor | None, Array | None]:
    K = outer_product(task)
    singular = np.sqrt(np.linalg.eigvalsh(K)[::-1].clip(0.0)) if len(K) <= SPECTRUM else None
    typical = float(np.trace(K)) / len(K) or 1.0
    # centring makes √w a null vector, and a row of weight zero is one too: fill both in, the solution stays orthogonal
    if task.fit_intercept:
        K += typical * np.outer(task.root, task.root) / task.weight
    np.fill_diagonal(K, np.where(task.root > 0, np.diagonal(K), typical))
    values, index = task.groups
    roots = []
    for alpha in values:
        root = root_of_gram(K + alpha * np.eye(len(K)))
        if root is None or root.condition > LIMIT:
            return None, None
        roots.append(root)
    return Factor(roots, index, task.mean, np.ones(len(task.mean), dtype=bool)), singular


def _by_svd(task: Task) -> tuple[Factor, Array]:
    columns = task.centred.transposed()
    triangle = columns.sum_rows(
        lambda start, stop, rows: Triangle.of(task.balanced(rows.T).T), _columns_at_once(task)
    ).R
    _, singular, right = np.linalg.svd(triangle)
    alphas, index = task.groups
    roots = []
    for alpha in alphas:
        shrunk = np.hypot(singular, np.sqrt(alpha))
        keep = shrunk > 16 * np.sqrt(len(singular)) * EPS * shrunk[0]
        shrunk, vectors = shrunk[keep], right[: len(singular)][keep].T
        condition = float(shrunk[0] / shrunk[-1]) if len(shrunk) else 1.0
        rest = _seen(task, right[: len(singular)][~keep].T)
        roots.append(Root(vectors / shrunk, shrunk[:, None] * vectors.T, condition, doubtful=rest))
    return Factor(roots, index, task.mean, np.ones(len(task.mean), dtype=bool)), singular


def _seen(task: Task, vectors: Array) -> Array | None:
    """Those of the directions (n × m) left out as rounding beside long columns that short columns do see."""
    if not vectors.shape[1]:
        return None

    def part(start: int, stop: int, rows: Array) -> Array:
        rows = task.balanced(rows.T).T
        noise = 16 * np.sqrt(len(vectors)) * EPS * np.linalg.norm(rows, axis=1)
        return np.asarray((np.abs(rows @ vectors) > noise[:, None]).sum(axis=0))

    seen = task.centred.transposed().sum_rows(part, _columns_at_once(task)) > 0
    return vectors[:, seen] if seen.any() else None


def _iterate(task: Task, factor: Factor, target: Array) -> Answer:
    """a ← a + K⁻¹ρ until ρ stops shrinking."""
    dual, coef = np.zeros_like(target), np.zeros((task.design.shape[1], target.shape[1]))
    best, passes = np.full(target.shape[1], np.inf), 0
    while passes < 8:
        passes += 1
        residual = task.balanced(target - task.centred.matvec(coef))
        rho = residual - task.alpha * dual
        inside = factor.apply(rho, _inside)
        gap = 0.5 * (np.sqrt(np.square(inside).sum(axis=0)) + _blurred(task, dual)) ** 2 + factor.apply(rho, _beside)
        floor = 4 * EPS**2 * np.einsum("ik,ik->k", target, target)
        if (gap <= floor).all() or (gap > best / 4).all():
            break
        best, dual = gap, task.balanced(dual + factor.solve(inside))
        coef = task.centred.rmatvec(dual)
    alphas, index = task.groups
    rank, dof = _degrees(task, factor)
    return Answer(
        coef=coef,
        intercept=task.intercept(coef),
        norm=np.sqrt(np.einsum("ik,ik->k", residual, residual)),
        gap=gap,
        rank=rank,
        condition=factor.condition,
        dof=np.array(dof)[index],
        solver="",
        passes=passes,
        mean=task.mean,
        notes=_notes(task, rank, alphas),
    )


def _blurred(task: Task, dual: Array) -> Array:
    """√α‖e‖, where e is the rounding of β = X̃ᵀa: of columns far from zero it is a difference of large sums."""
    size = float(np.linalg.norm(task.mean)) * (np.abs(task.root[:, None] * dual).sum(axis=0))
    return np.asarray(np.sqrt(task.alpha) * EPS * size)


def _inside(root: Root, rho: Array) -> Array:
    """The part of ρ that the factor can act on: all of it, or the range of X̃ where K is singular."""
    return rho if root.rank == len(rho) else root.forward.T @ (root.inverse.T @ rho)


def _beside(root: Root, rho: Array) -> Array:
    """½‖·‖² of the part of ρ in doubtful directions, of each output."""
    return np.zeros(rho.shape[1]) if root.doubtful is None else 0.5 * np.square(root.doubtful.T @ rho).sum(axis=0)


def _degrees(task: Task, factor: Factor) -> tuple[int, list[float]]:
    """Rank of X̃, and Σ λ / (λ + α) for each alpha."""
    alphas, _ = task.groups
    n, root = len(task.root), factor.roots[0]
    if root.rank < n:
        return root.rank, [r.rank - r.penalty_share(a) for r, a in zip(factor.roots, alphas, strict=True)]
    live = task.root > 0
    rank = int(live.sum()) - int(task.fit_intercept)
    v = task.root / np.sqrt(task.weight)
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
