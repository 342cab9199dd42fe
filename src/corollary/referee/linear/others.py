"""Linear claims that are not a bound on one convex objective in the coefficients: a scale besides, or a count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corollary.referee.linear.descent import REACH, descend
from corollary.referee.linear.judge import (
    FINEST,
    FLOOR,
    beyond_patience,
    rounding,
    shown,
    too_large,
    undecided,
    yardstick,
)
from corollary.referee.linear.losses import LONG, SMOOTH, Array
from corollary.referee.linear.problem import Objective, Problem
from corollary.referee.verdict import Verification, measured

OTHERS = (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)  # scales at which a lower objective is looked for, in units of that at hand
COLUMN, COEFFICIENT = 7e3, 9e4  # operations a row that it takes to change a column's coefficient, and to remove one


def huber_with_scale(given: Objective, coef: Array, intercept: Any, scale: float, tolerance: float) -> Verification:
    """min over (β, b, σ) of Σ w (σ + σ H_ε(r/σ)) + ½ l2 ‖β‖², which is convex in all of them; ``parameter`` is ε.

    For fixed σ it is Huber's loss. A lower value is looked for over σ; the slope in σ bounds what could be gained.
    """
    if (refused := too_large(given)) is not None:
        return refused
    given = replace(given, patience=given.patience / (len(OTHERS) + 1))
    with np.errstate(all="ignore"):
        problem, total = _at_scale(given, scale)
        x = problem.inward(coef, intercept)
        value = problem.value(x) * problem.unit + total * LONG(scale)
        if not np.isfinite(value):
            return Verification(False, "the objective is not finite")
        problem.prepare(x)
        here = descend(problem, x)
        lowest = here.value * problem.unit + total * LONG(scale)
        null, rounded = _of_constants(given)
        unit = LONG(scale) if scale > 0 else null / (2 * LONG(given.parameter) * total)
        for factor in OTHERS if scale > 0 else (1e-6, 1e-4, 1e-2, 0.1):
            other, _ = _at_scale(given, float(unit * LONG(factor)))
            other.prepare(here.x)
            lowest = min(lowest, descend(other, here.x).value * other.unit + total * unit * LONG(factor))
        size = max(abs(value), LONG(FLOOR) * null, LONG(FINEST) * rounded, np.finfo(LONG).tiny)
        lower, slack = float((value - lowest) / size), float(rounding(problem, x, steepest=True) * problem.unit / size)
        if lower > tolerance * 1.01 + slack:
            words = f"an objective of {shown(lowest)} exists where {shown(value)} was called optimal within"
            return Verification(False, f"{words} {tolerance:.2g}", lower)
        bound = here.bound * problem.unit + total * LONG(scale)
        if scale > 0:
            r = np.abs(problem.Z @ here.x - problem.y)[:, 0]
            inner = np.minimum(r / LONG(scale), LONG(given.parameter)) ** 2
            slope = (_live(given) * (1 - inner)).sum()
            bound = bound - abs(slope) * 10 * LONG(scale)
        room = float((value - bound) / size)
    if scale > 0 and room <= tolerance * 1.01 + 1e-15:
        words = f"the objective is {shown(value)}; an independent bound over scales up to ten times as large, and"
        words += f" predictions up to {REACH:.0f} times as long, shows that nothing is lower by more than"
        return Verification(True, f"{words} {max(room, 0.0):.2g} of it", max(room, 0.0))
    return undecided(shown(value), shown(lowest), lower, tolerance, room)


def _of_constants(given: Objective) -> tuple[Any, Any]:
    """2ε Σ w |y − c|, the objective without coefficients and scale, and what rounding each y may change in it.

    c is the weighted median, or zero where no intercept is fitted: a constant y is then no fit of the null model.
    """
    w, y = _live(given), np.asarray(given.y, dtype=LONG)[np.asarray(given.weights) > 0]
    order = np.argsort(y)
    mass = np.cumsum(w[order])
    centre = y[order][np.searchsorted(mass, mass[-1] / 2)] if given.fit_intercept else LONG(0)
    steepest = 2 * LONG(given.parameter) * w
    return steepest @ np.abs(y - centre), steepest @ (np.finfo(np.float64).eps * np.abs(y))


def _live(given: Objective) -> Array:
    weights = np.asarray(given.weights, dtype=LONG)
    return weights[weights > 0]


def _at_scale(given: Objective, scale: float) -> tuple[Problem, Any]:
    """σ H_ε(r/σ) = (2/σ) huber_{εσ}(r), and 2ε|r| at σ = 0; besides, Σ w."""
    weights = np.asarray(given.weights, dtype=LONG)
    if scale > 0:
        fixed = replace(
            given, weights=weights * (2 / LONG(scale)), loss="huber", parameter=float(given.parameter * scale)
        )
    else:
        fixed = replace(given, weights=weights * (2 * LONG(given.parameter)), loss="absolute")
    return Problem(fixed), weights.sum()


def single_coefficients(
    given: Objective, strength: float, coef: Array, intercept: Any, tolerance: float
) -> Verification:
    """Σ w ℓ + strength · (number of non-zero coefficients): can any one coefficient be changed, added or removed?

    The intercept, where there is one, follows.
    """
    if given.loss not in SMOOTH:
        return Verification(None, f"the referee does not change single coefficients for the loss {given.loss!r}")
    (n, d), used = given.X.shape, int(np.count_nonzero(coef))
    if n * (COLUMN * d + COEFFICIENT * (used + 1)) > given.patience:
        return beyond_patience(given)
    with np.errstate(all="ignore"):
        X = given.X.toarray() if hasattr(given.X, "toarray") else np.asarray(given.X)
        live = np.asarray(given.weights) > 0
        X, y = X[live].astype(LONG), np.asarray(given.y)[live].astype(LONG)
        w, beta = _live(given), np.asarray(coef, dtype=LONG).ravel()
        f = X @ beta + LONG(intercept)
        each, slope, _ = SMOOTH[given.loss](y, f, LONG(given.parameter))
        start = (w * each).sum()
        if not np.isfinite(start):
            return Verification(False, "the objective of these coefficients is not finite")
        value, best, doubt = start + LONG(strength) * np.count_nonzero(beta), LONG(0), LONG(0)
        level = _level(given, y, w, f)
        as_it_is = _lowest(given, y, w, f, level, None)
        for j in range(len(beta)):
            column = X[:, j] - np.median(X[:, j]) if given.fit_intercept else X[:, j]
            without, unsure = as_it_is
            if beta[j] != 0:
                left = f - column * beta[j]
                without, unsure = _lowest(given, y, w, left, _level(given, y, w, left), None)
            changed, more = _lowest(given, y, w, f, level, column)
            now = start + (LONG(strength) if beta[j] != 0 else 0)
            best, doubt = max(best, now - min(without, changed + LONG(strength))), max(doubt, unsure, more)
        reach = np.abs(X) @ np.abs(beta) + abs(LONG(intercept))
        slack = 2 * np.finfo(np.float64).eps * (w * np.abs(slope) * reach).sum()
        whole = Problem(given)
        size = max(abs(value), yardstick(whole) * whole.unit, np.finfo(LONG).tiny)
    words = "the relative gain of the best change of one coefficient"
    found = measured(float(best / size), tolerance * 1.01, words, float(slack / size))
    if found.stands and not doubt <= tolerance * size:
        return Verification(None, f"{words} could not be found: a descent did not come to its end", found.found)
    return found


def _level(given: Objective, y: Array, w: Array, f: Array) -> Array:
    """f with the best intercept, by halving: the slope rises, and may be flat for long stretches."""
    if not given.fit_intercept:
        return f
    low, high = (LONG(sign) * (1 + 2 * np.abs(f).max() + 2 * np.abs(y).max()) for sign in (-1, 1))
    for _ in range(120):
        middle = (low + high) / 2
        falls = (w * SMOOTH[given.loss](y, f + middle, LONG(given.parameter))[1]).sum() < 0
        low, high = (middle, high) if falls else (low, middle)
    return f + (low + high) / 2


def _lowest(given: Objective, y: Array, w: Array, f: Array, levelled: Array, column: Array | None) -> tuple[Any, Any]:
    """The least Σ w ℓ(y, f + t · column + u) over t and the intercept u, by Newton's method with halving.

    It begins at f, or where the intercept is best (``levelled``) if that is lower.

    With it what the last step promised: infinitely much where no step could be worked out.
    """
    loss, parameter = SMOOTH[given.loss], LONG(given.parameter)
    directions = ([np.ones(len(y), LONG)] if given.fit_intercept else []) + ([] if column is None else [column])
    values = [(w * loss(y, g, parameter)[0]).sum() for g in (f, levelled)]
    f = levelled if values[1] < values[0] or not np.isfinite(values[0]) else f
    each, slope, curve = loss(y, f, parameter)
    value, promise = (w * each).sum(), LONG(0)
    if not directions:
        return value, promise
    A = np.stack(directions, axis=1)
    A = A / np.maximum(np.abs(A).max(axis=0), np.finfo(LONG).tiny)
    for _ in range(50):
        g, H = A.T @ (w * slope), (A.T * (w * curve)) @ A
        top = np.abs(H).max()
        if not (top > 0 and np.isfinite(g).all() and np.isfinite(top)):
            promise = LONG(0) if np.isfinite(value) and not g.any() else LONG(np.inf)
            break
        step = -np.linalg.lstsq((H / top).astype(float), (g / top).astype(float), rcond=1e-15)[0].astype(LONG)
        promise = -(g @ step) / 2
        for _ in range(40):
            each, slope, curve = loss(y, f + A @ step, parameter)
            new = (w * each).sum()
            if new <= value:
                break
            step = step / 2
        else:
            break
        f, drop, value = f + A @ step, value - new, new
        if drop <= LONG(1e-17) * abs(value):
            break
    return value, promise
