"""A linear model's objective as the referee has it: columns centred exactly, scaled by powers of two, long doubles.

minimise Σᵢ wᵢ ℓ(yᵢ, xᵢᵀβ + b) + l1 ‖β‖₁ + ½ l2 ‖β‖² + Σ_g λ_g ‖β_g‖, with β ≥ 0 if ``positive``.

Every term is a convex function of one linear form, or of a few, so all are minimised, and bounded from below, alike.
Terms with a kink, max(low·t, high·t), are rounded off over a width μ for the descent; for any slope s between low and
high the line s·t lies below such a term, which is all that the bound needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from corollary.referee.linear.losses import LONG, SMOOTH, Array, pieces, softmax

LAYERS = 4  # factorisations, each of what the one before could not see
SHORTEST = 0.01  # length of a direction that was to have length one, below which it is none
PATIENCE = 2e10  # operations, about 3 ns each, that may be spent on one claim


@dataclass(frozen=True)
class Objective:
    """What was minimised, in plain numbers and arrays. ``l1`` and ``l2`` are numbers; ``groups`` has a number for each
    column and ``group_strengths`` one λ for each group. ``n_classes`` is 0 but for softmax. ``patience`` is what may be
    spent on it: a part of all there is, where a claim has several such objectives.
    """

    X: Any
    y: Any
    weights: Any
    loss: str
    parameter: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    positive: bool = False
    groups: Any = None
    group_strengths: Any = None
    fit_intercept: bool = True
    n_classes: int = 0
    patience: float = PATIENCE


@dataclass
class Kinks:
    """Terms weight · max(low·t, high·t), t = (row of Z) x − centre, for rows of the data or for coordinates."""

    rows: str  # "rows": t is of rows of the data; "coordinates": of the coordinates themselves
    centre: Array
    low: Array
    high: Array
    width: Array  # of the rounding at μ = 1


class Problem:
    """The objective over x = (b, β scaled), a matrix with a column for each class."""

    def __init__(self, given: Objective) -> None:
        X = given.X.toarray() if hasattr(given.X, "toarray") else np.asarray(given.X)
        weights = np.asarray(given.weights, dtype=LONG)
        live = weights > 0
        X, self.weights = X[live], weights[live]
        self.unit = self.weights.max()  # the objective is divided by it throughout
        self.weights = self.weights / self.unit
        self.given, self.k = given, max(given.n_classes, 1)
        y = np.asarray(given.y)[live]
        self.y = y.astype(np.intp) if given.n_classes else y.astype(LONG)[:, None]
        self.centre = np.median(X.astype(np.float64), axis=0) if given.fit_intercept else np.zeros(X.shape[1])
        moved = X.astype(LONG) - self.centre.astype(LONG)  # exact but for columns that span 19 digits
        largest = np.abs(moved).max(axis=0, initial=0)
        self.scale = np.where(largest > 0, 2.0 ** -np.floor(np.log2(np.where(largest > 0, largest, 1))), LONG(1))
        columns = [np.ones((len(moved), 1), LONG)] if given.fit_intercept else []
        self.Z = np.hstack([*columns, moved * self.scale])
        self.first = len(columns)  # of the penalised coordinates
        self.strength = {
            "l1": LONG(given.l1) / self.unit * self.scale,
            "l2": LONG(given.l2) / self.unit * self.scale**2,
        }
        if given.groups is not None:
            self.groups = np.asarray(given.groups)
            self.lambdas = np.asarray(given.group_strengths, dtype=LONG) / self.unit
        self.kinks: list[Kinks] = []
        self.spent = 0.0  # operations of all descents

    # from and to the user's coefficients ------------------------------------------------------------------------

    def inward(self, coef: Array, intercept: Array) -> Array:
        beta = np.asarray(coef, dtype=LONG).reshape(-1, self.k)
        x = beta / self.scale[:, None]
        if not self.first:
            return x
        start = np.asarray(intercept, dtype=LONG).reshape(-1) + self.centre.astype(LONG) @ beta
        return np.vstack([start[None, :], x])

    # the objective itself ---------------------------------------------------------------------------------------

    def value(self, x: Array) -> Any:
        """The objective, without any rounding off, over ``unit``."""
        f, beta = self.Z @ x, x[self.first :]
        given = self.given
        split = None if given.n_classes else pieces(given.loss, self.y[:, 0], given.parameter)
        if given.n_classes:
            each = softmax(self.y, f)[0]
        elif split is None:
            each = SMOOTH[given.loss](self.y, f, LONG(given.parameter))[0][:, 0]
        else:
            each = sum(np.maximum(lo * (f[:, 0] - c), hi * (f[:, 0] - c)) for c, lo, hi in split)
        total = (self.weights * each).sum() + (self.strength["l2"] @ (beta * beta)).sum() / 2
        total = total + (self.strength["l1"] @ np.abs(beta)).sum()
        if given.groups is not None:
            total = total + self.lambdas @ self._norms(beta)
        return LONG(np.inf) if given.positive and (beta < 0).any() else total

    def _norms(self, beta: Array) -> Array:
        squares = ((beta * self.scale[:, None]) ** 2).sum(axis=1)
        return np.sqrt(np.array([squares[self.groups == g].sum() for g in range(len(self.lambdas))]))

    def prepare(self, x: Array) -> None:
        """Choose how widely each kink is rounded off: in units of the spread of y, or of the predictions at x."""
        f = self.Z @ x
        given = self.given
        split = None if given.n_classes else pieces(given.loss, self.y[:, 0], given.parameter)
        spread = np.ptp(self.y) if not given.n_classes and given.loss != "hinge" else LONG(2)
        size = max(spread, LONG(1e-6) * np.ptp(f), np.finfo(LONG).tiny * 1e40)
        self.kinks = []
        for centre, low, high in split or []:
            self.kinks.append(Kinks("rows", centre, low, high, size / (high - low)))
        d = self.Z.shape[1] - self.first
        if given.l1 > 0:
            bound = self.strength["l1"]
            self.kinks.append(Kinks("coordinates", np.zeros(d, LONG), -bound, bound, size / bound))
        if given.positive:
            pull = np.abs(self.Z[:, self.first :]).T @ self.weights + np.finfo(LONG).tiny
            endless = np.full(d, -np.inf, LONG)
            self.kinks.append(Kinks("coordinates", np.zeros(d, LONG), endless, np.zeros(d, LONG), size / pull))
        self.size = size

    def rounded(self, x: Array, mu: float) -> tuple[Any, Any, Array, Array, Array]:
        """At x with kinks rounded off: the value; a bound's constant (the lines' heights at x); the gradient (as x);
        curvatures of rows (n, or n × k × k for softmax); curvatures of coordinates (d × k).
        """
        f, beta, given = self.Z @ x, x[self.first :], self.given
        w = self.weights[:, None]
        curve_rows: Array = np.zeros(len(f), LONG)
        curve_beta = np.repeat(self.strength["l2"][:, None], self.k, axis=1)
        slope_beta = self.strength["l2"][:, None] * beta
        value = (self.strength["l2"] @ (beta * beta)).sum() / 2
        slope_rows = np.zeros_like(f)
        if given.n_classes:
            each, p = softmax(self.y, f)
            value, slope_rows = value + self.weights @ each, w * p
            slope_rows[np.arange(len(f)), self.y] -= self.weights
            eye = np.eye(self.k)
            curve_rows = w[:, :, None] * (p[:, :, None] * eye - p[:, :, None] * p[:, None, :])
        elif given.loss in SMOOTH:
            each, slope, curve = SMOOTH[given.loss](self.y, f, LONG(given.parameter))
            value, slope_rows, curve_rows = value + (w * each).sum(), w * slope, (w * curve)[:, 0]
        lines = value
        for kink in self.kinks:
            of_rows = kink.rows == "rows"
            t = f[:, 0] - kink.centre if of_rows else beta[:, 0] if self.k == 1 else beta
            low, high, width = kink.low, kink.high, kink.width * mu
            if not of_rows and self.k > 1:
                low, high, width = low[:, None], high[:, None], width[:, None]
            s = np.clip(t / width, low, high)
            bent = (t / width > low) & (t / width < high)
            weight = self.weights if of_rows else LONG(1)
            value = value + (weight * (s * t - width * s * s / 2)).sum()
            lines = lines + (weight * s * t).sum()
            if of_rows:
                slope_rows = slope_rows + (weight * s)[:, None]
                curve_rows = curve_rows + weight * bent / width
            else:
                slope_beta = slope_beta + s.reshape(beta.shape)
                curve_beta = curve_beta + (bent / width).reshape(beta.shape)
        if given.groups is not None:
            v, line, s, c = self._groups(beta, mu)
            value, lines, slope_beta, curve_beta = value + v, lines + line, slope_beta + s, curve_beta + c
        gradient = self.Z.T @ slope_rows
        gradient[self.first :] += slope_beta
        return value, lines, gradient, curve_rows, curve_beta

    def _groups(self, beta: Array, mu: float) -> tuple[Any, Any, Array, Array]:
        """Norms of groups, rounded off; their curvature is overstated by its diagonal, which only slows the descent."""
        value = lines = LONG(0)
        slope, curve = np.zeros_like(beta), np.zeros_like(beta)
        for g, strength in enumerate(self.lambdas):
            at = self.groups == g
            scale = self.scale[at][:, None]
            v = beta[at] * scale
            norm, width = np.sqrt((v * v).sum()), self.size * mu * scale.max() / max(strength, np.finfo(LONG).tiny)
            s = v / width if norm <= strength * width else strength * v / norm
            value += (s * v).sum() - width * (s * s).sum() / 2
            lines += (s * v).sum()
            slope[at], curve[at] = s * scale, scale**2 * min(1 / width, strength / max(norm, np.finfo(LONG).tiny))
        return value, lines, slope, curve

    def basis(self) -> tuple[Array, float]:
        """Directions T (of x, in columns) along which the weighted data are orthonormal, with a little of every
        penalised coordinate besides, and the least length that a unit combination of them really has.

        What a factorisation in float64 does not see, all that shows in rows which are tiny beside another, or weigh
        little, is factorised again by itself. The length is 0 where not even long doubles tell: then T may lack a
        direction in which predictions change, and nothing is known of the objective there.
        """
        A = np.sqrt(self.weights)[:, None] * self.Z
        A = A / max(np.abs(A).max(initial=0), np.finfo(LONG).tiny)
        norms = np.sqrt((A * A).sum(axis=0))
        unit = 1 / np.where(norms > 0, norms, LONG(1))
        A, given = A * unit, self.given
        if given.l1 > 0 or given.l2 > 0 or given.positive or given.groups is not None:
            A = np.vstack([A, LONG(1e-5) * np.eye(A.shape[1])[self.first :]])
        taken, whole = _orthonormal(A)
        return taken * unit[:, None], _least_length(A, taken) if whole else 0.0


def _orthonormal(A: Array) -> tuple[Array, bool]:
    """T with A T orthonormal, up to rounding, and whether A is zero, to the rounding of every row, in all the rest."""
    left, taken, roundings = np.eye(A.shape[1], dtype=LONG), np.zeros((A.shape[1], 0), LONG), 0.0
    for _ in range(LAYERS):
        E = A @ left
        seen = (np.abs(E) > roundings * np.finfo(np.float64).eps * (np.abs(A) @ np.abs(left))).any(axis=0)
        size = np.sqrt((E[:, seen] ** 2).sum(axis=0))
        left = left[:, seen] / size
        if not left.shape[1]:
            return taken, True
        _, R, order = linalg.qr((E[:, seen] / size).astype(np.float64), mode="economic", pivoting=True)
        pivots = np.abs(np.diag(R))
        rank = int((pivots > 1e-15 * pivots.max()).sum())
        new = left[:, order[:rank]] @ linalg.solve_triangular(R[:rank, :rank], np.eye(rank)).astype(LONG)
        left, taken = left[:, order[rank:]] - new @ R[:rank, rank:], np.hstack([taken, new])
        spanned, roundings = A @ taken, 4.0
        for _ in range(2):
            left = left - taken @ (spanned.T @ (A @ left))
    return taken, not left.shape[1]


def _least_length(A: Array, taken: Array) -> float:
    """The least singular value of A T, less what rounding to long doubles may do to it; at most 1, and 0 if unsure."""
    if not taken.shape[1]:
        return 1.0
    blur = np.finfo(LONG).eps * np.linalg.norm((np.abs(A) @ np.abs(taken)).astype(np.float64))
    least = linalg.svdvals((A @ taken).astype(np.float64))[-1] - blur
    return float(min(least, 1.0)) if least > SHORTEST else 0.0
