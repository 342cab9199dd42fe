"""The quadratic model of a loss on some columns of X, lowered by coordinate descent along them until it is enough.

A model is only as good as the point it was made at, so it is not solved to the end, and after the first epoch only
coefficients that are not zero are visited. Columns are visited in a shuffled order: as words by how common they are,
neighbours tend to be alike. Every few epochs the last ones are extrapolated (Anderson), and the guess is kept if it is
better.

Reference: Yuan, Ho and Lin (2012), *An improved GLMNET for L1-regularized logistic regression*, JMLR 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.penalty import Penalty
from corollary.core.types import Array
from corollary.solvers.linear.descent.columns import Columns

LOOSE, TIGHTER, TIGHT = 0.3, 0.25, 0.01  # parts of what is violated
TURNS = 20  # of as many epochs as are extrapolated, for one model


@dataclass(frozen=True)
class Forcing:
    """How well the next model is to be solved: to a ``part`` of what is violated where it is made.

    Models that did not halve the violations were solved too badly, and the next ones are solved better.
    """

    part: float = LOOSE
    mass: float = np.inf

    def at(self, violation: Array) -> Forcing:
        mass = float(violation.sum())
        return Forcing(self.part if mass <= 0.5 * self.mass else max(TIGHTER * self.part, TIGHT), mass)

    @property
    def enough(self) -> float:
        """The sum of violations to reach."""
        return self.part * self.mass


def lower_model(
    laid: Columns, columns: Array, curve: Array, slope: Array, w: Array, penalty: Penalty, *, free: bool, enough: float
) -> tuple[Array, bool]:
    """Coefficients of these columns with a lower model, and whether violations are at most ``enough`` in all there.

    ``free`` means that an intercept follows every step.
    """
    from corollary._compiled.linear.column_model import model_epoch
    from corollary._compiled.linear.columns import HISTORY

    matrix = laid.data, laid.rows, laid.starts
    total, w = float(curve.sum()) if free else 0.0, w.copy()
    slope = slope - curve * (slope.sum() / total) if free else slope.copy()
    chosen = np.random.default_rng(0).permutation(len(columns))
    norms, sums = np.empty(len(columns)), np.empty(len(columns))
    fixed = total, w, norms, sums, (penalty.code, penalty.l1, penalty.l2)
    mass, offset = model_epoch(matrix, columns, chosen, True, curve, slope, *fixed, 0.0)
    chosen = chosen[w[chosen] != 0]
    for _ in range(TURNS):
        trail = [w[chosen]]
        for _ in range(HISTORY):
            if mass <= enough:
                return w, True
            mass, offset = model_epoch(matrix, columns, chosen, False, curve, slope, *fixed, offset)
            trail.append(w[chosen])
        guess = _extrapolated(np.array(trail))
        if guess is None:
            continue
        step, move = guess - w[chosen], np.zeros(len(curve))
        laid.move(columns[chosen], step, move)
        shift = float(sums[chosen] @ step) / total if free else 0.0
        # half the slopes before and after, along the move, is by how much the quadratic changes
        both = 2 * slope + curve * (move - 2 * offset - shift)
        gain = 0.5 * float(both @ (move - shift)) + penalty.value(guess) - penalty.value(w[chosen])
        if gain < 0:
            w[chosen] = guess
            slope += curve * move
            offset += shift
    return w, bool(mass <= enough)


def _extrapolated(trail: Array) -> Array | None:
    """The affine combination of the iterates whose successive differences cancel best; exact zeros stay zero."""
    from corollary._compiled.linear.columns import mixture

    size = len(trail) - 1
    mix = np.empty(size)
    if not mixture(trail, trail.shape[1], np.empty((size, size)), mix):
        return None
    guess: Array = mix @ trail[1:]
    guess[trail[-1] == 0] = 0.0
    return guess
