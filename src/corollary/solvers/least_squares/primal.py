"""Least squares with at least as many rows as columns: a d × d factor, found in one pass and refined as it needs.

Well-conditioned data: centred second moments and Cholesky, one pass over X. Otherwise: an orthogonal factor of the rows
block by block, which squares nothing, and corrections whose residuals are exact to 32 digits, until nothing changes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corollary.core.double_double import Pair
from corollary.core.parallel import block_rows
from corollary.core.problem import EPS
from corollary.core.summary import Moments, Triangle
from corollary.core.types import Array
from corollary.solvers.least_squares.double_double import gradient
from corollary.solvers.least_squares.root import Root, root_of_gram, root_of_spectrum, root_of_triangle
from corollary.solvers.least_squares.seen import seen_by_rows
from corollary.solvers.least_squares.task import (
    SMALL,
    SPECTRUM,
    Answer,
    Factor,
    OutOfRange,
    Task,
    plain_gradient,
)

PLAIN = 200.0  # condition number up to which squaring it leaves eleven digits
SQUARED = 1e6  # condition number up to which the moments, refined, are as good as an orthogonal factor
SPREAD_WORK = 2_000_000  # products worth spending on standard errors to the last digit


def solve_primal(task: Task, method: str) -> Answer:
    """``method`` is "auto", "cholesky" (moments, where they have not lost too many digits) or "svd"."""
    if method in ("cholesky", "auto"):
        small = method == "auto" and task.size <= SMALL
        answer = _by_moments(task, exact=small)
        if answer is not None:
            return answer
        if small:
            task.__dict__.pop("moments")  # nobody is to take them for good ones
    return _by_rows(task)


def _by_moments(task: Task, *, exact: bool) -> Answer | None:
    """From one pass over X; None if the moments have lost too many digits.

    ``exact`` is for small data, which can afford any route: they take this one only where its loss is of no account,
    and the corrections always.
    """
    moments = task.moments
    _check_range(task, moments)
    mean = moments.mean_x if task.fit_intercept else np.zeros_like(moments.mean_x)
    level = moments.mean_y if task.fit_intercept else np.zeros_like(moments.mean_y)
    raw = np.diagonal(moments.xx) + moments.weight * moments.mean_x**2
    if task.design.is_sparse and task.fit_intercept and (raw > 1e6 * np.diagonal(moments.xx)).any():
        return None  # sparse moments are centred by subtraction
    xx, xy, yy = (moments.xx, moments.xy, moments.yy) if task.fit_intercept else moments.about_zero()
    varied = np.diagonal(xx) > 0  # of a constant column nothing is left about its mean, not even rounding
    if not varied.all():
        xx, xy = xx * np.outer(varied, varied), xy * varied[:, None]
    values, index = task.groups
    roots = []
    for alpha in values:
        H = xx + np.diag(task.penalty(alpha)) if alpha > 0 else xx
        root = root_of_gram(H)
        if exact and (root is None or root.condition > PLAIN):
            return None
        if root is None or root.condition > SQUARED:
            root = _deficient_root(task, H, mean, np.sqrt(raw)) if alpha == 0 else None
        if root is None:
            return None
        roots.append(root)
    return _polish(task, Factor(roots, index, mean, varied), xx, xy, yy, level, exact=exact)


def _check_range(task: Task, moments: Moments) -> None:
    diagonal, means = np.diagonal(moments.xx), np.abs(moments.mean_x)
    if not (np.isfinite(moments.xx).all() and np.isfinite(moments.xy).all() and np.isfinite(moments.yy).all()):
        raise OutOfRange
    if ((np.sqrt(np.abs(diagonal)) + means < 1e-100) & ((means > 0) | (diagonal > 0))).any():
        raise OutOfRange
    sizes = np.abs(task.Y).max(axis=0)
    if ((sizes > 0) & (sizes < 1e-100)).any():
        raise OutOfRange


def _deficient_root(task: Task, H: Array, mean: Array, raw: Array) -> Root | None:
    """A root of a singular H, if X itself shows that the small eigenvalues are zeros and not rounding."""
    n, d = task.design.shape
    root, null = root_of_spectrum(H, 1e-11)
    if task.design.is_sparse and float(n) * d * d > 1e10:
        return root  # an orthogonal factor would need X as a dense matrix, which is too large
    if not null.shape[1] or not root.rank or root.condition > SQUARED:
        return None
    images = plain_gradient(task, mean, null, 0.0, with_target=False).value
    noise = (16 * np.sqrt(d) + 2) * EPS * (np.abs(null).T @ raw)
    return root if (np.sqrt(images) <= noise).all() and _seen(task, null) is None else None


def _polish(task: Task, factor: Factor, xx: Array, xy: Array, yy: Array, level: Array, *, exact: bool) -> Answer:
    """Solve from the moments; compute residuals from the rows only where the moments are not accurate enough."""
    varied = factor.varied[:, None]
    coef = factor.solve(xy) * varied
    slope = xy - xx @ coef - task.penalties * coef
    squares = np.maximum(yy - np.einsum("jk,jk->k", coef, 2 * xy - xx @ coef), 0.0)
    # the moments carry rounding errors of their own, which the measured slope does not show
    rounding = 4 * EPS * factor.condition * np.sqrt(np.einsum("jk,jk->k", coef, xy).clip(0.0))
    gap, passes = 0.5 * (np.sqrt(factor.whiten(slope)) + rounding) ** 2, 0
    best = np.full_like(gap, np.inf)
    if exact or factor.condition > PLAIN or (squares < 1e-3 * yy).any():
        while passes < 5:
            passes += 1
            seen = plain_gradient(task, factor.mean, coef, level)
            slope = seen.gradient * varied - task.penalties * coef
            shift = seen.gradient_sum / task.weight if task.fit_intercept else np.zeros_like(level)
            squares = seen.value
            gap = 0.5 * (factor.whiten(slope) + shift**2 * task.weight)
            done = gap <= np.maximum(1e-26 * yy, EPS**2 * squares)
            if done.all() or (gap > best / 4).all():
                break
            best, coef, level = gap, coef + factor.solve(slope) * varied, level + shift
    singular = np.sqrt(np.linalg.eigvalsh(xx)[::-1].clip(0.0)) if len(xx) <= SPECTRUM else None
    intercept = level - factor.mean @ coef
    return _answer(task, factor, coef, intercept, squares, gap, "Cholesky factor", passes, singular)


def _by_rows(task: Task) -> Answer:
    factor, triangle = _factor_by_rows(task)
    coef, intercept, squares, gap, passes = _refine(task, factor)
    singular = np.linalg.svd(triangle, compute_uv=False) if len(triangle.T) <= SPECTRUM else None
    return _answer(task, factor, coef, intercept, squares, gap, "orthogonal factor", passes, singular)


def _factor_by_rows(task: Task) -> tuple[Factor, Array]:
    """Roots from the triangular factor of the centred rows, and that triangle."""
    mean, triangle, noise = factor_rows(task)
    values, index = task.groups
    penalties = [task.penalty(alpha) if alpha > 0 else None for alpha in values]
    roots = [root_of_triangle(triangle, penalty, noise, task.precision) for penalty in penalties]
    roots = [root if root.hidden is None else replace(root, hidden=_seen(task, root.hidden)) for root in roots]
    return Factor(roots, index, mean, np.any(triangle != 0, axis=0)), triangle


def _seen(task: Task, hidden: Array) -> Array | None:
    """Those of the directions left out as rounding beside huge rows that other rows do see.

    Of rows that are a factor of others the small ones are rounding themselves, and nothing can be seen.
    """
    if task.factored:
        return None
    seen = seen_by_rows(task.design, task.root**2, hidden, centred=task.fit_intercept) > 0
    return hidden[:, seen] if seen.any() else None


def factor_rows(task: Task) -> tuple[Array, Array, Array]:
    """The mean of X, R with RᵀR = (X − mean)ᵀ W (X − mean), and the norm of the rounding error in each column."""
    (n, d), first, root = task.design.shape, int(task.fit_intercept), task.root

    def part(start: int, stop: int, rows: Array) -> Triangle:
        return Triangle.of(np.column_stack([root[start:stop], rows]) if first else rows)

    R = task.centred.sum_rows(part, max(block_rows(n, 8 * d), 2 * d)).R
    shifted = np.sqrt(np.einsum("ij,ij->j", R, R))[first:]
    mean = task.mean + R[0, 1:] / R[0, 0] if task.fit_intercept else task.mean  # without the rounding of the sums
    triangle = R[first:, first:].copy()
    return mean, triangle, 2 * EPS * shifted


def _refine(task: Task, factor: Factor, aim: Array | None = None) -> tuple[Array, Array, Array, Array, int]:
    """Newton steps with exact residuals until the coefficients stop changing: (coef, intercept, squares, gap, passes).

    A step leaves about condition · 1e-16 of the error, so two or three are enough for anything of full rank.
    With ``aim`` ((d + 1) × k) the gradient is brought to −aim instead of 0: that gives columns of the inverse of H.
    """
    d, k = task.design.shape[1], task.Y.shape[1]
    coef, intercept = Pair.of(np.zeros((d, k))), Pair.of(task.level)
    best, passes, varied = np.inf, 0, factor.varied[:, None]
    while passes < 10:
        passes += 1
        seen = gradient(task.design, task.Y, task.weights, coef, intercept)
        slope = seen.slope if aim is None else seen.slope + Pair.of(aim)
        total = slope.value[d] if task.fit_intercept else np.zeros(k)
        pull = Pair(slope.high[:d], slope.low[:d]) + -coef.times(task.penalties)
        inward = (pull.value - np.outer(factor.mean, total)) * varied
        step = factor.solve(inward) * varied
        step_intercept = total / task.weight - factor.mean @ step if task.fit_intercept else np.zeros(k)
        gap = 0.5 * (factor.whiten(inward) + total**2 / task.weight)
        size = float(gap.max())
        if not size < best / 16:  # rounding prevents further progress
            break
        best = size
        coef = coef + Pair.of(step)
        intercept = intercept + Pair.of(step_intercept)
        steps, sizes = np.vstack([step, step_intercept]), np.vstack([coef.high, intercept.high])
        if (np.abs(steps) <= EPS / 4 * np.abs(sizes)).all():
            break
    gap = gap + np.sqrt(seen.squares) * factor.apply(inward, Root.beyond)
    return coef.value, intercept.value, seen.squares, gap, passes


def _answer(
    task: Task,
    factor: Factor,
    coef: Array,
    intercept: Array,
    squares: Array,
    gap: Array,
    solver: str,
    passes: int,
    singular: Array | None,
) -> Answer:
    root, d = factor.roots[0], len(coef)
    gap = gap + _delivered(factor, coef)
    values, index = task.groups
    taken = [r.penalty_share(task.penalty(a)) if a > 0 else 0.0 for r, a in zip(factor.roots, values, strict=True)]
    dof = np.array([r.rank - share for r, share in zip(factor.roots, taken, strict=True)])
    spread, intercept_spread = _spread(task, factor)
    notes: tuple[str, ...] = ()
    if root.rank < d:
        notes = (
            f"X has rank {root.rank}, not {d}: its columns are linearly dependent, so many coefficients fit equally "
            "well; these are the ones of minimum norm.",
        )
    return Answer(
        coef=coef,
        intercept=intercept if task.fit_intercept else np.zeros_like(intercept),
        norm=np.sqrt(squares),
        gap=gap,
        rank=root.rank,
        condition=factor.condition,
        dof=dof[index],
        solver=solver,
        passes=passes,
        mean=factor.mean,
        inverse=root.inverse,
        spread=spread,
        intercept_spread=intercept_spread,
        singular=singular,
        notes=notes,
    )


def _delivered(factor: Factor, coef: Array) -> Array:
    """How much the rounding of coefficients to float64 may add to half the objective.

    Of nearly collinear columns coefficients are huge and predictions small differences.
    """
    columns = np.sqrt(np.max([np.einsum("ij,ij->j", root.forward, root.forward) for root in factor.roots], axis=0))
    slope = 0.5 * EPS * (columns @ np.abs(coef))
    return np.asarray(0.5 * slope**2)


def _spread(task: Task, factor: Factor) -> tuple[Array, float]:
    """√diag of the inverse of H, and the intercept's entry."""
    root, (n, d) = factor.roots[0], task.design.shape
    share = 1 / task.weight if task.fit_intercept else 0.0
    ill = root.condition > 5e3 and root.rank == d and len(factor.roots) == 1
    if ill and n * d * (d + 1) <= SPREAD_WORK:
        columns = d + int(task.fit_intercept)
        single = replace(task, Y=np.zeros((n, columns)), alpha=np.full(columns, task.alpha[0]))
        whole = replace(factor, index=np.zeros(columns, dtype=int))
        coef, intercept, *_ = _refine(single, whole, np.eye(d + 1, columns))
        return np.sqrt(np.diagonal(coef)), float(np.sqrt(intercept[-1])) if task.fit_intercept else 0.0
    squares = np.square(root.inverse).sum(axis=1)
    return np.sqrt(squares), float(np.sqrt(share + np.square(factor.mean @ root.inverse).sum()))
