"""Coordinate descent on a quadratic model, made exact: descend, then solve on the support.

Minimises ½ (w − w₀)ᵀH(w − w₀) + gᵀ(w − w₀) + Ω(w). Descent finds which coefficients are non-zero and their signs; given
those, the minimiser solves a linear system. If its signs agree, that is the answer to full precision; if not, the
segment to it is followed to the first sign change, which lowers the objective, and descent goes on. This takes the
place of extrapolation wherever H fits in memory.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from corollary.core.design import DenseDesign, Design, SparseDesign
from corollary.core.penalty import Penalty
from corollary.core.types import Array
from corollary.solvers.loop import overflow

GRAM_COLUMNS = 4096  # largest working set for which H is formed: a larger one would not fit in cache, or in memory
HISTORY = 5
MAX_EPOCHS = 2000
EPOCHS = 10  # epochs of descent between two attempts to solve on the support
PATIENT, ROUNDING = 5, 1e-15  # rounds after which a violation of the size of rounding is taken for that
STEEPER = 1e-10  # added to the diagonal of H, relative to it, where H is too nearly singular to solve with


def minimise_quadratic(
    H: Array, gradient: Array, w: Array, penalty: Penalty, *, tol: float, max_rounds: int = 200
) -> tuple[Array, Array]:
    """The minimiser from ``w``, and the gradient g + H (w − w₀) there. ``gradient`` is that of the start.

    ``H`` may be larger than ``w``; its leading block counts.

    Every coordinate's optimality condition holds to within ``tol`` on return, unless ``max_rounds`` ran out.
    """
    from corollary._compiled.linear import cd

    w, gradient = w.copy(), gradient.copy()
    if not (np.isfinite(gradient).all() and np.isfinite(np.diag(H)[: len(w)]).all()):
        raise overflow()
    if penalty.grouped:
        return _minimise_groups(H[: len(w), : len(w)], gradient, w, penalty, tol, max_rounds)
    if penalty.quadratic:
        return _minimise_smooth(H[: len(w), : len(w)], gradient, w, penalty.l2)
    signs, root = np.sign(w), np.sqrt(np.maximum(np.diag(H)[: len(w)], 0.0))
    for turn in range(max_rounds):
        worst = cd.gram_epochs(H, gradient, w, penalty.code, penalty.l1, penalty.l2, EPOCHS, tol)
        if worst <= tol or (turn >= PATIENT and worst <= ROUNDING * root.max(initial=0.0) * float(root @ np.abs(w))):
            break  # the second: what is left is rounding of H w, in which signs may change for ever
        before, signs = signs, np.sign(w)
        if (signs == before).all():
            # where descent and this undo each other's signs, a coefficient that reached zero is left there for a while
            while _solve_on_support(H, gradient, w, penalty) and turn >= PATIENT:
                pass
    return w, gradient


def minimise_columns(
    design: Design, columns: Array, curve: Array, slope: Array, w: Array, penalty: Penalty, *, free: bool, tol: float
) -> Array:
    """The same minimiser over some columns of a design, without forming H: for sets that are sparse or too large.

    Holds the slope of every row instead. Dense epochs are extrapolated (Anderson) every ``HISTORY`` of them, and the
    extrapolated point is kept if it is better. ``free`` means that an intercept follows every step.
    """
    total = float(curve.sum())
    if free:
        slope = slope - curve * (slope.sum() / total)
    if isinstance(design, SparseDesign):
        return _minimise_sparse(design, columns, curve, slope.copy(), w.copy(), penalty, free, tol)
    from corollary._compiled.linear import cd

    part = design.take(columns)
    assert isinstance(part, DenseDesign)
    centre = part.rmatvec(curve) / total if free else np.zeros(len(columns))
    norms = part.column_squares(centre, curve)
    start, base, w, slope = w, slope, w.copy(), slope.copy()
    trail = [w.copy()]
    for _ in range(MAX_EPOCHS):
        worst = cd.dense_epochs(part.X, curve, slope, w, centre, norms, penalty.code, penalty.l1, penalty.l2, 1, tol)
        if worst <= tol:
            break
        trail.append(w.copy())
        if len(trail) <= HISTORY:
            continue
        guess = _extrapolate(np.array(trail))
        trail = [w.copy()]
        if guess is None:
            continue
        move = part.matvec(guess - start)
        there = base + curve * (move - float(centre @ (guess - start)))
        now = float((slope + base) @ part.matvec(w - start)) / 2 + penalty.value(w)
        if float((there + base) @ move) / 2 + penalty.value(guess) < now:
            w, slope, trail = guess, there, [guess.copy()]
    return w


def _minimise_sparse(
    design: SparseDesign, columns: Array, curve: Array, slope: Array, w: Array, penalty: Penalty, free: bool, tol: float
) -> Array:
    """Most epochs visit non-zero coefficients only; a full epoch precedes any claim that the conditions hold."""
    from corollary._compiled.linear import cd

    X, s = design.by_column(), len(columns)
    places = np.concatenate([[0], np.cumsum(X.indptr[columns + 1] - X.indptr[columns])]).astype(np.int64)
    values, weighted, rows = np.empty(places[s]), np.empty(places[s]), np.empty(places[s], dtype=np.int32)
    centre, norms = np.empty(s), np.empty(s)
    cd.gather_columns(X.data, X.indices, X.indptr, columns, curve, free, places, values, weighted, rows, centre, norms)
    total, offset, every = float(curve.sum()), 0.0, np.arange(s)

    def epoch(chosen: Array, offset: float) -> tuple[float, float]:
        found: tuple[float, float] = cd.sparse_epoch(
            chosen, values, weighted, rows, places, total, slope, w, centre, norms, penalty.code, penalty.l1,
            penalty.l2, offset,
        )  # fmt: skip
        return found

    for _ in range(MAX_EPOCHS):
        worst, offset = epoch(every, offset)
        if worst <= tol:
            break
        support = np.flatnonzero(w)
        trail = [w[support]]
        for _ in range(2 * HISTORY):
            inner, offset = epoch(support, offset)
            if inner <= 0.5 * tol:
                break
            trail.append(w[support])
            if len(trail) <= HISTORY:
                continue
            guess = _extrapolate(np.array(trail))
            trail = [w[support]]
            if guess is None:
                continue
            step = np.zeros(s)
            step[support] = guess - w[support]
            move = np.zeros(len(slope))
            cd.gathered_product(support, values, rows, places, step, move)
            shift = float(centre @ step)
            there = slope + curve * move
            # half the slopes before and after, along the move, is by how much the quadratic changes
            both = slope + there - (2 * offset + shift) * curve
            gain = 0.5 * float(both @ (move - shift)) + penalty.value(w + step) - penalty.value(w)
            if gain < 0:
                w[support] = guess
                slope[:] = there
                offset += shift
                trail = [guess.copy()]
    return w


def _extrapolate(trail: Array) -> Array | None:
    """The affine combination of the iterates whose successive differences cancel best; exact zeros stay zero."""
    steps = np.diff(trail, axis=0)
    gram = steps @ steps.T
    try:
        weights = np.linalg.solve(gram + 1e-12 * np.trace(gram) * np.eye(len(gram)), np.ones(len(gram)))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(weights).all() or weights.sum() == 0:
        return None
    guess: Array = (weights / weights.sum()) @ trail[1:]
    guess[trail[-1] == 0] = 0.0
    return guess


def _minimise_smooth(H: Array, gradient: Array, w: Array, l2: float) -> tuple[Array, Array]:
    """No kinks: one linear system, shifted as little as makes it definite."""
    scale = 1 / np.sqrt(np.maximum(np.diag(H) + l2, 1e-300))
    unit = H * scale * scale[:, None]
    unit[np.diag_indices_from(unit)] += l2 * scale**2
    shift = 0.0
    while True:
        try:
            factor = cho_factor(unit + shift * np.eye(len(w)), check_finite=False)
            break
        except LinAlgError:
            shift = max(1e-14, 10 * shift)
    step = -scale * cho_solve(factor, scale * (gradient + l2 * w), check_finite=False)
    return w + step, gradient + H @ step


def _solve_on_support(H: Array, gradient: Array, w: Array, penalty: Penalty) -> bool:
    """Move w towards the minimiser among coefficients with its signs, in place, as far as the signs hold.

    Returns whether a coefficient reached zero before that, so that the support is smaller now.

    Where H is singular (classes of softmax share a direction, columns may be equal) rounding can make the solution
    anything: a move that does not lower the model is not made, and one of a slightly steeper model is tried instead,
    which lowers both.
    """
    support = np.flatnonzero(w)
    if support.size == 0:
        return False
    old = w[support]
    pull = gradient[support] + penalty.l2 * old
    if penalty.convex:  # an L0 penalty is flat on the support
        pull += penalty.l1 * np.sign(old)
    block = H[np.ix_(support, support)]
    block[np.diag_indices_from(block)] += penalty.l2
    for steeper in (0.0, STEEPER):
        step = _newton_step(block, pull, steeper)
        if step is None:
            continue
        step = _up_to_zero(old, step) if penalty.convex else step
        if float(pull @ step) + 0.5 * float(step @ (block @ step)) < 0:
            w[support] = old + step
            gradient += step @ H[support, : len(w)]
            return bool((w[support] == 0).any())
    return False


def _newton_step(block: Array, pull: Array, steeper: float) -> Array | None:
    """−(block + steeper · its diagonal)⁻¹ pull, or nothing if that is not definite."""
    matrix = block
    if steeper > 0:
        matrix = block.copy()
        matrix[np.diag_indices_from(matrix)] *= 1 + steeper
    try:
        step: Array = -cho_solve(cho_factor(matrix, check_finite=False), pull, check_finite=False)
    except LinAlgError:
        return None
    return step if np.isfinite(step).all() else None


def _up_to_zero(w: Array, step: Array) -> Array:
    """The step, or as much of it as takes the first coefficient exactly to zero."""
    target = w + step
    crossing = target * w < 0
    if not crossing.any():
        return step
    fractions = w[crossing] / (w - target)[crossing]
    reach = fractions.min()
    target = w + reach * step
    target[np.flatnonzero(crossing)[fractions == reach]] = 0.0
    return target - w


def _minimise_groups(
    H: Array, gradient: Array, w: Array, penalty: Any, tol: float, max_rounds: int
) -> tuple[Array, Array]:
    """Block descent; coefficients are reordered so that groups are contiguous."""
    from corollary._compiled.linear import cd

    order = np.argsort(penalty.groups, kind="stable")
    counts = np.bincount(penalty.groups, minlength=len(penalty.weights))
    starts = np.concatenate([[0], np.cumsum(counts)])
    H = np.ascontiguousarray(H[np.ix_(order, order)])
    w, gradient = w[order], gradient[order]
    blocks = [H[a:b, a:b] for a, b in pairwise(starts)]
    curvature = np.array([np.linalg.eigvalsh(block)[-1] if len(block) else 0.0 for block in blocks])
    scratch = np.empty_like(w)
    for _ in range(max_rounds):
        worst = cd.group_epochs(H, gradient, w, starts, curvature, penalty.weights, scratch, 5 * EPOCHS, tol)
        if worst <= tol:
            break
    back = np.argsort(order)
    return w[back], gradient[back]
