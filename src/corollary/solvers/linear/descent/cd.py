"""Coordinate descent on a quadratic model, made exact: descend, then solve on the support.

Minimises ½ (w − w₀)ᵀH(w − w₀) + gᵀ(w − w₀) + Ω(w). Descent finds which coefficients are non-zero and their signs; given
those, the minimiser solves a linear system. If its signs agree, that is the answer to full precision; if not, the
segment to it is followed to the first sign change, which lowers the objective, or to where all that would change their
sign are zero, if that is lower; and descent goes on.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotrs

from corollary.core.penalty import Penalty
from corollary.core.types import Array
from corollary.solvers.loop import overflow

GRAM_COLUMNS = 4096  # largest working set for which H is formed: a larger one would not fit in cache, or in memory
MAX_ROUNDS = 60  # of descent on H, with solves on the support between them
EPOCHS = 10  # epochs of descent between two attempts to solve on the support
PATIENT, ROUNDING = 5, 1e-15  # rounds after which a violation of the size of rounding is taken for that
IDLE = 2  # rounds in a row that may lower the model by no more than its rounding
STEEPER = 1e-10  # added to the diagonal of H, relative to it, where H is too nearly singular to solve with
STEEP = 1e-2  # the same where there are more coefficients than its rank


class Stall:
    """Notices that a sum, which a method lowers, has not fallen by more than a part of it a few times in a row."""

    def __init__(self, patience: int, part: float = ROUNDING) -> None:
        self.patience, self.part, self.least, self.idle = patience, part, np.inf, 0

    def seen(self, terms: Array | float, rest: float) -> bool:
        """Whether there is no progress any more, now that the sum is Σ terms + rest."""
        value, size = float(np.sum(terms)) + rest, float(np.sum(np.abs(terms))) + abs(rest)
        self.idle = 0 if value < self.least - self.part * size else self.idle + 1
        self.least = min(value, self.least)
        return self.idle > self.patience


def minimise_quadratic(
    H: Array,
    gradient: Array,
    w: Array,
    penalty: Penalty,
    *,
    tol: float,
    max_rounds: int = MAX_ROUNDS,
    rank: float = np.inf,
) -> tuple[Array, Array]:
    """The minimiser from ``w``, and the gradient g + H (w − w₀) there. ``gradient`` is that of the start.

    ``H`` may be larger than ``w``; its leading block counts. Its rank is ``rank`` at most.

    Every coordinate's optimality condition holds to within ``tol`` on return, unless ``max_rounds`` ran out or rounds
    no longer lower the model by more than it is rounded.
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
    start, base, stall = w.copy(), gradient.copy(), Stall(IDLE)
    for turn in range(max_rounds):
        worst = cd.gram_epochs(H, gradient, w, penalty.code, penalty.l1, penalty.l2, EPOCHS, tol)
        if worst <= tol or (turn >= PATIENT and worst <= ROUNDING * root.max(initial=0.0) * float(root @ np.abs(w))):
            break  # the second: what is left is rounding of H w, in which signs may change for ever
        if stall.seen(0.5 * (base + gradient) * (w - start), penalty.value(w)):
            break
        before, signs = signs, np.sign(w)
        if (signs == before).all():
            # where descent and this undo each other's signs, a coefficient that reached zero is left there for a while
            # steeper models, which drop many at once, are for the beginning: they end nowhere near the minimum
            while _solve_on_support(H, gradient, w, penalty, rank if turn < PATIENT else np.inf) and turn >= PATIENT:
                pass
    return w, gradient


def descend_products(
    H: Array, pull: Array, square: float, offset: float, gradient: Array, w: Array, penalty: Penalty, *small: float
) -> tuple[float, float]:
    """Primal and dual value where epochs over H end, from ``w`` and in place: see ``gram_fit`` of the kernels."""
    from corollary._compiled.linear import cd

    found: tuple[float, float] = cd.gram_fit(
        H, pull, square, offset, gradient, w, penalty.code, penalty.l1, penalty.l2, *small
    )
    return found


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


def _solve_on_support(H: Array, gradient: Array, w: Array, penalty: Penalty, rank: float) -> bool:
    """Move w towards the minimiser among coefficients with its signs, in place, as far as the signs hold.

    That is to the first sign change, or to where all that would change are zero, whichever is lower. Returns whether a
    coefficient reached zero before the minimiser, so that the support is smaller now.

    Where H is singular (classes of softmax share a direction, columns may be equal) rounding can make the solution
    anything: a move that does not lower the model is not made, and one of a slightly steeper model is tried instead,
    which lowers both. With more coefficients than its rank the way to zero is free for all but so many: in a much
    steeper model they go together, and not one by one.
    """
    support = np.flatnonzero(w)
    if support.size == 0:
        return False
    old = w[support]
    pull = gradient[support] + penalty.l2 * old
    if penalty.convex:  # an L0 penalty is flat on the support
        pull += penalty.l1 * np.sign(old)
    block = H[np.ix_(support, support)]
    block.flat[:: len(block) + 1] += penalty.l2
    singular = support.size > rank and penalty.l2 == 0
    for steeper in (STEEP,) if singular else (0.0, STEEPER):
        step = _newton_step(block, pull, steeper)
        if step is None:
            continue
        steps = [_up_to_zero(old, step), _all_to_zero(old, step)] if penalty.convex else [step]
        gains = [float(pull @ each) + 0.5 * float(each @ (block @ each)) for each in steps]
        if min(gains) < 0:
            step = steps[int(np.argmin(gains))]
            w[support] = old + step
            gradient += step @ H[support, : len(w)]
            return bool((w[support] == 0).any())
    return False


def _newton_step(block: Array, pull: Array, steeper: float) -> Array | None:
    """−(block + steeper · its diagonal)⁻¹ pull, or nothing if that is not definite."""
    matrix = block
    if steeper > 0:
        matrix = block.copy()
        matrix.flat[:: len(block) + 1] *= 1 + steeper
    factor, failed = dpotrf(matrix)  # the checks around it take longer than a small system does
    if failed:
        return None
    step: Array = -dpotrs(factor, pull)[0]
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


def _all_to_zero(w: Array, step: Array) -> Array:
    """The step, but that coefficients which would change their sign end at zero."""
    return np.where((w + step) * w < 0, -w, step)


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
