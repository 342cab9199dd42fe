"""The verdict on coefficients that were called optimal."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.linear import descent
from corollary.referee.linear.descent import Found, descend, step_cost
from corollary.referee.linear.losses import LONG, SMOOTH, Array, least_constant, pieces
from corollary.referee.linear.problem import Objective, Problem
from corollary.referee.verdict import Verification

REACH = 10.0  # how much longer than those at hand the predictions are of which an unpenalised claim speaks
FLOOR = 1e-6  # of the null model's objective: relative to less than that nothing is measured
FINEST = 1e8  # times what the rounding of y to float64 may change: nor relative to less than that
UNITS_OF_Y = ("squared", "huber", "absolute", "quantile", "epsilon_insensitive")
LARGEST = 20_000_000  # numbers in X that are held in extended precision
LONGEST = 5e9  # operations (about 3 ns each) that a basis and ten steps may take: a quarter of a minute


def judge(given: Objective, coef: Array, intercept: Any, tolerance: float) -> Verification:
    """Whether nothing is lower than these coefficients by more than ``tolerance``, relative to their objective."""
    if (refused := too_large(given)) is not None:
        return refused
    known = given.n_classes or given.loss in SMOOTH or pieces(given.loss, np.zeros(1), 0.5) is not None
    if not known:
        return Verification(None, f"the referee does not know the loss {given.loss!r}")
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        return Verification(False, "coefficients are not finite")
    with np.errstate(all="ignore"):
        problem = Problem(given)
        x = problem.inward(coef, intercept)
        value = problem.value(x)
        if not np.isfinite(value):
            return Verification(False, "the objective of these coefficients is not finite")
        least = yardstick(problem)
        found = _within_reach(problem, x, _search(problem, x))
        slack = rounding(problem, x) + rounding(problem, found.x)
    return _verdict(problem, value, found, least, slack, tolerance)


def too_large(given: Objective) -> Verification | None:
    """A refusal to judge what would take minutes or more: rows × (columns × classes)² is what a step costs."""
    (n, d), k = given.X.shape, max(given.n_classes, 1)
    share = given.patience / Objective.patience
    if n * d <= LARGEST and 25 * n * d**2 + 10 * step_cost(n, d + given.fit_intercept, k) <= LONGEST * share:
        return None
    classes = f" and {k} classes" if k > 1 else ""
    return beyond_patience(given, classes)


def beyond_patience(given: Objective, more: str = "") -> Verification:
    """What to say of a claim that would take minutes or more."""
    (n, d), parts = given.X.shape, round(Objective.patience / given.patience)
    times = f", {parts} times," if parts > 1 else ""
    words = f"{n:,} rows of {d:,} columns{more}{times} are too large for the referee, which is made for thousands of"
    return Verification(None, f"{words} rows and tens of columns (times classes or targets)")


def _search(problem: Problem, x: Array) -> Found:
    """The lower of two descents: from the coefficients, and from nothing if the first leaves doubts."""
    problem.prepare(x)
    found = descend(problem, x)
    if found.value - found.bound > LONG(1e-10) * abs(found.value):
        blank = np.zeros_like(x)
        problem.prepare(blank)
        second = descend(problem, blank)
        if second.value < found.value:
            found = Found(second.value, second.x, max(found.bound, second.bound))
        found.bound = max(found.bound, second.bound)
    return found


def _within_reach(problem: Problem, x: Array, found: Found) -> Found:
    """What was found, or where nothing is penalised the point on the way there that the claim still speaks of.

    Without a penalty a bound is over predictions f up to ``REACH`` times as long as those at hand, in √Σ w (f² + s²)
    with s = y where that is their unit, else 1. Farther out, where classes separate, the loss may fall for ever.
    """
    given = problem.given
    if given.loss == "squared" or given.l1 > 0 or given.l2 > 0 or given.groups is not None or given.positive:
        return found
    here, there = problem.Z @ x, problem.Z @ found.x
    least = problem.weights @ (problem.y[:, 0] ** 2 if given.loss in UNITS_OF_Y else np.ones(len(here), LONG))
    length = REACH * np.sqrt((problem.weights[:, None] * here**2).sum() + least)
    part = LONG(1)
    while np.sqrt((problem.weights[:, None] * (here + part * (there - here)) ** 2).sum()) > length:
        part = part / 2
    return found if part == 1 else Found(problem.value(x + part * (found.x - x)), x + part * (found.x - x), found.bound)


def yardstick(problem: Problem) -> Any:
    """What the objective is at least taken for when a difference is relative to it.

    That is a millionth of the null model's, or 1e8 Σ w ℓ(y, y + ε|y|) if that is more (1e8 ε Σ w |y| for losses with
    straight sides): data are floating-point numbers, and what one rounding of each y changes is no refutation; it is
    1e-8 of this floor.
    """
    given, rounding = problem.given, problem.weights[0] * 0
    if given.loss in UNITS_OF_Y:
        off = np.finfo(np.float64).eps * np.abs(problem.y)
        each = SMOOTH[given.loss](LONG(0), off, LONG(given.parameter))[0] if given.loss in SMOOTH else off
        rounding = problem.weights @ each[:, 0]
    return max(FLOOR * abs(_null(problem)), FINEST * rounding)


def _null(problem: Problem) -> Any:
    """The objective of the best constant; of zero where there is no intercept, or where predictions are logarithms."""
    blank = np.zeros((problem.Z.shape[1], problem.k), LONG)
    if not problem.first or problem.given.loss in ("poisson", "tweedie"):
        return problem.value(blank)
    given, y = problem.given, problem.y if problem.given.n_classes else problem.y[:, 0]
    if (least := least_constant(given.loss, y, problem.weights, given.n_classes)) is not None:
        return least
    constant = Objective(
        np.zeros((len(y), 0)), y, problem.weights, given.loss, given.parameter, n_classes=given.n_classes
    )
    alone = Problem(constant)
    start = np.zeros((1, problem.k), LONG)
    if not given.n_classes and given.loss in UNITS_OF_Y:
        start[:] = np.median(problem.y)
    alone.prepare(start)
    return descend(alone, start).value


def rounding(problem: Problem, x: Array, steepest: bool = False) -> Any:
    """What rounding the coefficients themselves, or the entries of X, to float64 can change of the objective at x.

    At the coefficients that were delivered: no solver can deliver them more exactly. At lower ones that were found: if
    the last digit of the data decides whether they are lower (enormous coefficients, which cancel in columns that are
    collinear but for their rounding), they are no refutation.
    With ``steepest``, as if every row were on the steepest part of Huber's loss.
    """
    given = problem.given
    f = problem.Z @ x
    slope, curve = np.ones(len(f), LONG), np.zeros(len(f), LONG)
    if steepest and given.loss == "huber":
        slope = np.full(len(f), LONG(given.parameter))
    elif not given.n_classes and given.loss in SMOOTH:
        _, slopes, curves = SMOOTH[given.loss](problem.y, f, LONG(given.parameter))
        slope, curve = np.abs(slopes[:, 0]), curves[:, 0]
    moved = np.abs(problem.Z) @ np.abs(x).max(axis=1) if problem.k > 1 else np.abs(problem.Z) @ np.abs(x[:, 0])
    far = np.abs(problem.centre.astype(LONG)) @ np.abs(x[problem.first :] * problem.scale[:, None])
    reach = moved + (far.max() if problem.first and far.size else 0)
    off = 2 * np.finfo(np.float64).eps * reach
    return (problem.weights * off * (slope + 4 * curve * off)).sum()


def _verdict(problem: Problem, value: Any, found: Found, least: Any, slack: Any, tolerance: float) -> Verification:
    scale = max(abs(value), least, np.finfo(LONG).tiny)
    whole = "it" if scale <= abs(value) else shown(scale * problem.unit)  # a floor, where the objective is below it
    lower, room = float((value - found.value) / scale), max(float((value - found.bound) / scale), 0.0)
    unsure = float(slack / scale)
    here = shown(value * problem.unit)
    if lower > tolerance * 1.01 + unsure:
        best = shown(found.value * problem.unit)
        words = f"coefficients with objective {best} exist, lower by {lower:.2g} of {whole}, where {here}"
        words += f" was called optimal within {tolerance:.2g}"
        return Verification(False, words, lower)
    if room <= tolerance * 1.01 + 1e-15:
        words = (
            f"the objective is {here}; an independent bound over predictions up to {descent.REACH:.0f} times as long"
        )
        return Verification(True, f"{words} shows that nothing is lower by more than {room:.2g} of {whole}", room)
    return undecided(here, shown(found.value * problem.unit), lower, tolerance, room)


def undecided(here: str, there: str, lower: float, tolerance: float, room: float) -> Verification:
    """What to say where a search shows neither that something is lower nor, by its bound, that nothing is."""
    if lower > tolerance * 1.01:
        words = f"a search found {there}, lower by {lower:.2g} of it, but the last digits of X and of the coefficients"
        return Verification(None, f"the objective is {here}; {words} decide whether that is so", lower)
    words = f"a search found nothing lower by more than {max(lower, 0.0):.2g} of it, but the bound that it leaves is"
    return Verification(None, f"the objective is {here}; {words} {room:.2g}", max(lower, 0.0))


def shown(number: Any) -> str:
    """Six digits, also beyond the range of float64."""
    inside = number == 0 or 1e-300 < abs(number) < 1e300
    return f"{float(number):.6g}" if inside else str(np.format_float_scientific(number, precision=5))
