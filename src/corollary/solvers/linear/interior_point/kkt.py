"""The linear system of the interior point method: a weighted Gram matrix plus a diagonal, bordered by the intercept.

For weights w > 0 on the rows, find x, b and z such that

    X x + b + dz / w = miss,      diagonal · x − Xᵀ(z + dz) = pull,      Σ (z + dz) = total (if there is an intercept).

Small systems are factored whole. Otherwise eliminating dz leaves (Xᵀ w X + diagonal) x = …, factored d × d, and
eliminating x an n × n matrix, for d > n. Both lose digits if as many rows have huge weights as there are columns, that
is, in nearly exact fits with n ≈ d; the whole does not. Columns are scaled by powers of two, matrices equilibrated, and
solutions refined: w spans many powers of ten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from corollary.core.problem import Problem
from corollary.core.types import Array

WHOLE = 500  # rows and columns together, up to which the system is factored whole
LIMIT = 5000  # side of the matrix beyond which it may not be larger than X itself
CORRECTIONS = 4  # refinements at most; one is enough unless the matrix is nearly singular
ENOUGH = 1e-12  # relative residual at which refinement stops
DEFINITE = 1e-14  # added to the diagonal of an equilibrated matrix that may be singular; corrections mend the rest


class System(ABC):
    """The system for one set of weights, factored once and solved for several right-hand sides."""

    @abstractmethod
    def solve(self, miss: Array, z: Array, pull: Array, total: float) -> tuple[Array, float, Array]:
        """x, b and z + dz.

        Corrections add to dz instead of computing it afresh: where w is huge, X x has no digits to spare.
        """


def newton_system(problem: Problem, scale: Array, w: Array, diagonal: Array) -> System:
    """The form that suits the shape; ``diagonal`` belongs to the scaled columns X · scale."""
    rows, columns = problem.design.shape
    if rows + columns <= WHOLE:
        return _Whole(problem, scale, w, diagonal)
    wide = columns > rows and bool((diagonal > 0).all())
    return _RowSystem(problem, scale, w, diagonal) if wide else _ColumnSystem(problem, scale, w, diagonal)


def _side(problem: Problem) -> int:
    n, d = problem.design.shape
    return min(n, d) if problem.penalty.l1 > 0 or problem.penalty.l2 > 0 else d


def fits(problem: Problem) -> bool:
    """Whether the matrix is small, or at least not larger than X itself."""
    side = _side(problem)
    return side <= LIMIT or (side <= problem.design.shape[0] and not problem.design.is_sparse)


def check_size(problem: Problem) -> None:
    """Say before anything is allocated that the matrix would be too large."""
    if fits(problem):
        return
    (n, d), side = problem.design.shape, _side(problem)
    raise ValueError(
        f"The interior point method would factor a {side:,} × {side:,} matrix ({8 * side**2 / 2**30:.1f} GiB, and "
        f"as much again while it works) in every iteration, for X of shape {n:,} × {d:,}. Keep fewer columns (select, "
        "hash or reduce them), or use a smooth loss: 'huber' instead of 'absolute', 'squared_hinge' instead of 'hinge'."
    )


class _Whole(System):
    """All of x, b and dz at once, by an LU factorisation."""

    def __init__(self, problem: Problem, scale: Array, w: Array, diagonal: Array) -> None:
        from scipy.linalg import lu_factor

        n, border = len(w), int(problem.fit_intercept)
        self.A = np.hstack([problem.design.block(0, n) * scale, np.ones((n, border))])
        self.w, self.diagonal = w, np.append(diagonal, np.zeros(border))
        columns = len(self.diagonal)
        typical = np.exp(np.log(w).mean())
        of_rows, of_columns = np.sqrt(np.minimum(typical, w)), 1.0 / np.sqrt(np.maximum(typical, self.diagonal))
        self.root = np.concatenate([of_columns, of_rows])
        matrix = np.block([[np.diag(self.diagonal), -self.A.T], [self.A, np.diag(1.0 / w)]])
        matrix *= self.root[:, None] * self.root
        pivots = np.einsum("ii->i", matrix)
        pivots[columns:] += DEFINITE  # rows of huge weights may be equal
        if not (diagonal > 0).all():  # columns may be dependent
            pivots[:columns] += DEFINITE
        self.factor = lu_factor(matrix, overwrite_a=True, check_finite=False)

    def solve(self, miss: Array, z: Array, pull: Array, total: float) -> tuple[Array, float, Array]:
        from scipy.linalg import lu_solve

        d, columns = len(pull), len(self.diagonal)
        pull = np.append(pull, np.full(columns - d, -total))
        x, dz, last = np.zeros(columns), np.zeros(len(z)), np.inf
        best = x, dz
        for _ in range(CORRECTIONS + 1):
            left = np.append(pull - self.diagonal * x + self.A.T @ (z + dz), miss - self.A @ x - dz / self.w)
            size = float(np.abs(self.root * left).max())
            if not size < last:
                break
            last, best = size, (x, dz)
            move = self.root * lu_solve(self.factor, self.root * left, check_finite=False)
            x, dz = x + move[:columns], dz + move[columns:]
        x, dz = best
        return x[:d], float(x[d:].sum()), z + dz


class _ColumnSystem(System):
    """Through the d × d Schur complement in b, which is the matrix of centred moments: huge means cost no digits."""

    def __init__(self, problem: Problem, scale: Array, w: Array, diagonal: Array) -> None:
        self.design, self.scale, self.w, self.diagonal = problem.design, scale, w, diagonal
        if problem.fit_intercept:
            moments = self.design.moments(np.empty((len(w), 0)), w, self.design.column_means(w))
            self.weight, self.mean, gram = moments.weight, scale * moments.mean_x, moments.xx
            removed = self.weight * self.mean**2
        else:
            self.weight, self.mean, gram = np.inf, np.zeros(len(scale)), self.design.gram(w)
            removed = self.mean
        gram = gram * scale[:, None] * scale
        gram[np.diag_indices_from(gram)] += diagonal
        self.root, self.inverse = _cholesky(gram, removed)

    def solve(self, miss: Array, z: Array, pull: Array, total: float) -> tuple[Array, float, Array]:
        z = z + self.w * miss
        x, b, move, move_b = np.zeros(len(self.scale)), 0.0, np.zeros(len(self.scale)), 0.0

        def pointwise(start: int, stop: int, moved: Array) -> tuple[float, Array, None]:
            z[start:stop] -= self.w[start:stop] * moved
            return 0.0, z[start:stop], None

        first = last = np.inf
        for turn in range(CORRECTIONS + 1):
            found = self.design.sweep(self.scale * move, move_b, pointwise)
            left = self.scale * found.gradient + pull - self.diagonal * x
            left_b = float(found.gradient_sum) - total
            left -= self.mean * left_b
            size = float(np.abs(self.root * left).max(initial=0.0)) + abs(left_b) / self.weight**0.5
            first = size if turn == 0 else first
            if turn == CORRECTIONS or size <= ENOUGH * first or not size < last:
                break
            move, last = self.inverse(left), size
            move_b = left_b / self.weight - float(self.mean @ move)
            x, b = x + move, b + move_b
        return x, b, z


class _RowSystem(System):
    """Through the n × n matrix I + √w X diagonal⁻¹ Xᵀ √w (Woodbury)."""

    def __init__(self, problem: Problem, scale: Array, w: Array, diagonal: Array) -> None:
        self.problem, self.scale, self.w, self.diagonal, self.sqrt = problem, scale, w, diagonal, np.sqrt(w)
        matrix = problem.design.transposed().gram(scale**2 / diagonal)
        matrix *= self.sqrt[:, None] * self.sqrt
        matrix[np.diag_indices_from(matrix)] += 1.0
        _, self.inverse = _cholesky(matrix, 0.0)
        self.ones = self.inverse(self.sqrt)

    def solve(self, miss: Array, z: Array, pull: Array, total: float) -> tuple[Array, float, Array]:
        design, scale = self.problem.design, self.scale
        x, b, move_b = np.zeros(len(scale)), 0.0, 0.0
        for _ in range(CORRECTIONS - 1):
            left = pull - self.diagonal * x + scale * design.rmatvec(z)
            inner = self.inverse(self.sqrt * (miss - design.matvec(scale * left / self.diagonal)))
            if self.problem.fit_intercept:
                move_b = (float(self.sqrt @ inner) - total + float(z.sum())) / float(self.sqrt @ self.ones)
            dz = self.sqrt * (inner - move_b * self.ones)
            move = (left + scale * design.rmatvec(dz)) / self.diagonal
            miss = miss - self.problem.raw(scale * move, move_b) - dz / self.w
            x, b, z = x + move, b + move_b, z + dz
        return x, b, z


def _cholesky(matrix: Array, removed: Any) -> tuple[Array, Callable[[Array], Array]]:
    """Factor a positive semidefinite matrix, equilibrated, with just enough added to its diagonal to succeed.

    ``removed`` is what centring took from the diagonal: a constant column gets a pivot of the size of its rounding.
    Returns the equilibrating scale and the solver.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    diagonal = np.maximum(np.diagonal(matrix), 1e-15 * removed) + np.finfo(float).tiny
    root = 1.0 / np.sqrt(diagonal)
    unit = matrix * root[:, None] * root
    for extra in 10.0 ** np.arange(-14, 5, 2):
        unit[np.diag_indices_from(unit)] = 1.0 + extra
        try:
            factor = cho_factor(unit, lower=True, check_finite=False)
        except LinAlgError:
            continue
        break
    else:
        return root, lambda g: np.full_like(g, np.nan)
    return root, lambda g: root * cho_solve(factor, root * g, check_finite=False)
