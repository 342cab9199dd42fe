"""The quadratic model of a loss on some columns of a sparse matrix, lowered by coordinate descent until it is enough.

A model is only as good as the point it was made at, so it is not solved to the end, and most epochs visit only
coefficients that are not zero or close to leaving it. Columns are visited in a shuffled order: as words by how common
they are, neighbours tend to be alike. Every few epochs the last ones are extrapolated (Anderson), and the guess is kept
if it is better.

Reference: Yuan, Ho and Lin (2012), *An improved GLMNET for L1-regularized logistic regression*, JMLR 13.
"""

from __future__ import annotations

import numpy as np

from corollary.core.penalty import Penalty
from corollary.core.types import Array

HISTORY = 5  # epochs that are extrapolated
EPOCHS = 100  # of one model
RIDGE = 1e-12  # relative to the trace, for epochs whose steps are nearly parallel
Matrix = tuple[Array, Array, Array]  # data, indices, indptr of a CSC matrix


def lower_model(
    matrix: Matrix, columns: Array, curve: Array, slope: Array, w: Array, penalty: Penalty, *, free: bool, enough: float
) -> tuple[Array, bool]:
    """Coefficients of these columns with a lower model, and whether violations are at most ``enough`` in all there.

    ``free`` means that an intercept follows every step.
    """
    from corollary._compiled.linear.sparse_model import add_columns, model_epoch

    total, w = float(curve.sum()) if free else 0.0, w.copy()
    state = np.stack([slope - curve * (slope.sum() / total) if free else slope, curve], axis=1)
    chosen, kept = np.random.default_rng(0).permutation(len(columns)), np.empty(len(columns), dtype=np.intp)
    norms, sums = np.empty(len(columns)), np.empty(len(columns))
    parts, offset, trail = (penalty.code, penalty.l1, penalty.l2), 0.0, list[Array]()
    for epoch in range(EPOCHS):
        first = epoch == 0
        mass, offset, count = model_epoch(
            matrix, columns, chosen, first, state, total, w, norms, sums, parts, offset, kept
        )
        if first:
            chosen = kept[:count].copy()
        if mass <= enough:
            break
        trail.append(w[chosen])
        if len(trail) <= HISTORY:
            continue
        guess, trail = extrapolated(np.array(trail)), [w[chosen]]
        if guess is None:
            continue
        step, move = guess - w[chosen], np.zeros(len(curve))
        add_columns(matrix, columns[chosen], step, move)
        shift = float(sums[chosen] @ step) / total if free else 0.0
        # half the slopes before and after, along the move, is by how much the quadratic changes
        both = 2 * state[:, 0] + curve * (move - 2 * offset - shift)
        gain = 0.5 * float(both @ (move - shift)) + penalty.value(guess) - penalty.value(w[chosen])
        if gain < 0:
            w[chosen], trail, offset = guess, [guess.copy()], offset + shift
            state[:, 0] += curve * move
    return w, bool(mass <= enough)


def extrapolated(trail: Array) -> Array | None:
    """The affine combination of the iterates whose successive differences cancel best; exact zeros stay zero."""
    steps = np.diff(trail, axis=0)
    gram = steps @ steps.T
    try:
        weights = np.linalg.solve(gram + RIDGE * np.trace(gram) * np.eye(len(gram)), np.ones(len(gram)))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(weights).all() or weights.sum() == 0:
        return None
    guess: Array = (weights / weights.sum()) @ trail[1:]
    guess[trail[-1] == 0] = 0.0
    return guess
