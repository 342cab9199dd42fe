"""Directions along which the loss falls for ever: no finite coefficients are best there.

The logistic, softmax and exponential losses near zero as a row's margin grows and never reach it. A direction (β, b)
in which no margin falls and some grow is one of recession: separation if all of them grow, quasi-separation if some
stay as they are. With margins aᵢᵀγ it solves the linear program

    maximise Σ sᵢ   subject to   sᵢ ≤ aᵢᵀγ,  0 ≤ sᵢ ≤ 1,

whose optimum has sᵢ = 1 for every row that can grow, and is zero if no direction exists. What the program finds is
believed once it has been made exact, up to no rounding at all (``exact_direction``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.double_double import Pair
from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.least_squares.double_double import product
from corollary.solvers.linear.exact_direction import exact_direction

CERTAIN = 12.0  # a margin that a fit without separation seldom reaches: there one looks
NUMBERS = 1 << 21  # of the program's matrix, beyond which it is not solved
SMALLEST = 1e-28  # of the terms of a margin: less is the rounding of double-double numbers
SHOWN = 3  # columns that are named


@dataclass(frozen=True)
class Recession:
    """A direction (d,) or (d, k), the sizes of its columns' parts, and how many of how many margins grow."""

    coef: Array
    shares: Array
    strict: int
    rows: int

    @property
    def note(self) -> str:
        """The direction and what it does, in a sentence."""
        flat, shares = self.coef.ravel(), self.shares.ravel()
        classes = self.coef.shape[1] if self.coef.ndim > 1 else 1
        top = np.argsort(-shares, kind="stable")[:SHOWN]
        terms = [(flat[at], _name(at, classes)) for at in top if shares[at] > 0.01 * shares.max()]
        text = " ".join(f"{'−' if c < 0 else '+'} {abs(c):.2g}·{name}" for c, name in terms).removeprefix("+ ")
        rest = " and smaller parts of other columns" if (shares > 0.01 * shares.max()).sum() > SHOWN else ""
        return (
            f"Along {text}{rest} every row is on its side of a plane or in it, {self.strict} of {self.rows} strictly: "
            "the loss falls for ever in that direction."
        )


def _name(at: int, classes: int) -> str:
    column, k = divmod(int(at), classes)
    return f"x{column}" if classes == 1 else f"x{column} (class {k})"


def recession(problem: Problem, raw: Array) -> Recession | None:
    """A direction of recession, sought only where the margins of the raw predictions at hand are large."""
    live = np.flatnonzero(problem.weights > 0)
    classes = problem.n_classes
    if not (problem.loss.unattained and problem.penalty.absent) or margins(problem, raw)[live].max() < CERTAIN:
        return None
    d, width = problem.design.shape[1], max(classes, 1)
    if len(live) * max(width - 1, 1) * (d + 1) * width > NUMBERS:
        return None
    X = problem.design.rows(live).block(0, len(live))
    centre = X.mean(axis=0) if problem.fit_intercept else np.zeros(d)
    size = np.sqrt(np.square(X - centre).mean(axis=0))
    size = np.where(size > 0, size, 1.0)
    step = _program(_sides(problem, live, (X - centre) / size))
    if step is None:
        return None
    gamma = step.reshape(-1, width)
    gamma[:d] /= size[:, None]
    gamma[d:] -= centre @ gamma[:d]
    sizes = np.repeat(np.r_[size, np.ones(len(gamma) - d)], width)
    found = exact_direction(_sides(problem, live, X), gamma.ravel(), sizes)
    if found is None:
        return None
    coef = found[0].reshape(-1, width)[:d]
    shares = np.abs(coef) * size[:, None]
    coef = coef / max(float(shares.max()), 1e-300)
    grow = found[1].reshape(len(live), -1).any(axis=1)
    return Recession(coef if classes else coef[:, 0], shares, int(grow.sum()), len(live))


def _sides(problem: Problem, live: Array, X: Array) -> Array:
    """A row for each margin, of columns (and a constant) × classes."""
    rows = np.column_stack([X, np.ones(len(X))]) if problem.fit_intercept else X
    y = problem.y[live]
    return _differences(rows, y, problem.n_classes) if problem.n_classes else rows * y[:, None]


def all_right(problem: Problem, coef: Array, intercept: Any) -> bool:
    """Whether every row with weight is on its own side, of which rounding leaves no doubt: in double-double."""
    live = problem.weights > 0
    if not (margins(problem, problem.raw(coef, intercept))[live] > 0).all():
        return False
    start = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    exact = product(problem.design, coef, Pair.of(start))
    least = SMALLEST * (problem.design.column_largest() @ np.abs(coef) + np.abs(start)).max()
    if not problem.n_classes:
        return bool((exact.value * problem.y > least)[live].all())
    every = np.arange(len(problem.y)), problem.y
    ahead = (exact.high[every][:, None] - exact.high) + (exact.low[every][:, None] - exact.low)
    ahead[every] = np.inf
    return bool((ahead > least)[live].all())


def margins(problem: Problem, raw: Array) -> Array:
    """By how much each row is on its own side."""
    if not problem.n_classes:
        return np.asarray(raw * problem.y)
    own = raw[np.arange(len(raw)), problem.y]
    others = raw.copy()
    others[np.arange(len(raw)), problem.y] = -np.inf
    return np.asarray(own - others.max(axis=1))


def _differences(rows: Array, y: Array, classes: int) -> Array:
    """For each row and each other class, the score of its own class less that of the other, of (columns × classes)."""
    n, d = rows.shape
    other = np.array([[c for c in range(classes) if c != own] for own in range(classes)])[y]
    A = np.zeros((n, classes - 1, d, classes))
    for c in range(classes - 1):
        A[np.arange(n), c, :, y] = rows
        A[np.arange(n), c, :, other[:, c]] = -rows
    return A.reshape(n * (classes - 1), d * classes)


def _program(A: Array) -> Array | None:
    """γ, or None if there is none by far."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack

    m, p = A.shape
    bounds: list[Any] = [(None, None)] * p + [(0.0, 1.0)] * m
    cost = np.concatenate([np.zeros(p), -np.ones(m)])
    found = linprog(cost, A_ub=hstack([-A, eye_array(m)], format="csr"), b_ub=np.zeros(m), bounds=bounds)
    return None if found.x is None or not -found.fun > 0.5 else np.asarray(found.x[:p])
