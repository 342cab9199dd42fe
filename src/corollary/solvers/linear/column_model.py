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

from corollary.core.design import DenseDesign, Design, SparseDesign
from corollary.core.penalty import Penalty
from corollary.core.types import Array

LOOSE, TIGHTER, TIGHT = 0.3, 0.25, 0.01  # parts of what is violated
HISTORY = 5  # epochs that are extrapolated
TURNS = 20  # of so many epochs, for one model
RIDGE = 1e-12  # relative to the trace, for epochs whose steps are nearly parallel
Matrix = tuple[Array, Array, Array]  # column j is data[starts[j]:starts[j + 1]], of these rows or, if none, of all


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


def by_columns(design: Design) -> Matrix:
    """The columns of X as kernels read them; CSR is converted, and dense rows are copied."""
    if isinstance(design, SparseDesign):
        X = design.by_column()
        return X.data, X.indices, X.indptr
    X = design.X if isinstance(design, DenseDesign) and design.X.flags.f_contiguous else design.matrix()
    n, d = design.shape
    return np.asarray(X, order="F").T.reshape(-1), np.empty(0, dtype=np.int32), np.arange(d + 1) * n


def product(matrix: Matrix, columns: Array, step: Array, n: int) -> Array:
    """X[:, columns] · step."""
    from corollary._compiled.linear.column_model import add_columns

    out = np.zeros(n)
    add_columns(matrix, columns, step, out)
    return out


def lower_model(
    matrix: Matrix, columns: Array, curve: Array, slope: Array, w: Array, penalty: Penalty, *, free: bool, enough: float
) -> tuple[Array, bool]:
    """Coefficients of these columns with a lower model, and whether violations are at most ``enough`` in all there.

    ``free`` means that an intercept follows every step.
    """
    from corollary._compiled.linear.column_model import model_epochs

    total, w = float(curve.sum()) if free else 0.0, w.copy()
    slope = slope - curve * (slope.sum() / total) if free else slope.copy()
    chosen = np.random.default_rng(0).permutation(len(columns))
    norms, sums = np.empty(len(columns)), np.empty(len(columns))
    fixed = total, w, norms, sums, (penalty.code, penalty.l1, penalty.l2)
    mass, offset = model_epochs(matrix, columns, chosen, True, curve, slope, *fixed, 0.0, enough, 1)
    chosen = chosen[w[chosen] != 0]
    for _ in range(TURNS):
        trail = [w[chosen]]
        for _ in range(HISTORY):
            if mass <= enough:
                return w, True
            mass, offset = model_epochs(matrix, columns, chosen, False, curve, slope, *fixed, offset, enough, 1)
            trail.append(w[chosen])
        guess = extrapolated(np.array(trail))
        if guess is None:
            continue
        step = guess - w[chosen]
        move = product(matrix, columns[chosen], step, len(curve))
        shift = float(sums[chosen] @ step) / total if free else 0.0
        # half the slopes before and after, along the move, is by how much the quadratic changes
        both = 2 * slope + curve * (move - 2 * offset - shift)
        gain = 0.5 * float(both @ (move - shift)) + penalty.value(guess) - penalty.value(w[chosen])
        if gain < 0:
            w[chosen] = guess
            slope += curve * move
            offset += shift
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
