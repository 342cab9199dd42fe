"""The fits on one fold of a cross-validated logistic regression, and the scores of what was held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import brier_score_loss, get_scorer, log_loss

from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.linear.classify import same_scores
from corollary.linear.folds import uninterrupted
from corollary.linear.logistic import named_solver, unfolded
from corollary.solvers.linear.driver import State, solve

LOWEST = 37.0  # log-odds below which a probability is lost in the rounding of one
ENOUGH = 1e-5  # relative duality gap on folds: choosing a strength needs far fewer digits than the answer itself


@dataclass(frozen=True)
class OnFold:
    """Coefficients (scores, d) and intercepts at one strength, and how they were found; ``state`` starts the next."""

    coef: Array
    intercept: Array
    n_iter: int = 0
    gap: float = 0.0
    state: State | None = None


def along(model: Any, problems: Iterable[Problem]) -> Iterator[OnFold]:
    """The fit of each problem, from strong to weak penalties, each starting from the one before.

    A class without rows in this fold has no finite intercept. So the others are fitted alone, and it stays as
    improbable as float64 can tell in the rows of the fold.
    """
    start: State | None = None
    for problem in problems:
        there = _there(problem)
        fit = _fitted(model, problem, start) if there.all() else _without(model, problem, there, start)
        start = fit.state
        yield fit


def _fitted(model: Any, problem: Problem, start: State | None) -> OnFold:
    solver, tol = named_solver(model.solver, problem), max(model.tol, ENOUGH)
    found = uninterrupted(solve(solver, problem, tol=tol, max_iter=model.max_iter, start=start))
    state, found = State(found.coef, found.intercept), same_scores(found, problem)
    coef, intercept = unfolded(found.coef, found.intercept, model._constant)
    gap = found.evidence.certificate.value
    return OnFold(np.atleast_2d(coef.T), np.atleast_1d(intercept), found.evidence.n_iter, gap, state)


def _there(problem: Problem) -> Array:
    """Which classes have rows with weight, where an intercept runs away without them."""
    if not problem.fit_intercept:
        return np.ones(1, dtype=bool)
    if problem.loss.multiclass:
        return np.bincount(problem.y, weights=problem.weights, minlength=problem.n_classes) > 0
    return np.array([problem.weights[problem.y == side].any() for side in (-1.0, 1.0)])


def _without(model: Any, problem: Problem, there: Array, start: State | None) -> OnFold:
    d, k = problem.design.shape[1], problem.n_classes
    if not problem.loss.multiclass:
        return OnFold(np.zeros((1, d)), np.array([LOWEST if there[1] else -LOWEST]))
    if there.sum() == 1:
        return OnFold(np.zeros((k, d)), np.where(there, 0.0, -LOWEST))
    live = problem.weights > 0
    number = np.where(live, (np.cumsum(there) - 1)[problem.y], 0)
    part = _fitted(model, replace(problem, y=number, n_classes=int(there.sum())), start)
    lowest = float((problem.design.matvec(part.coef.T) + part.intercept)[live].min())
    coef, intercept = np.zeros((k, d)), np.full(k, lowest - LOWEST)
    coef[there], intercept[there] = part.coef, part.intercept
    return replace(part, coef=coef, intercept=intercept)


def scorer_of(scoring: Any) -> Any:
    """The scorer of a parameter ``scoring``; None is accuracy, as in scikit-learn 1.9."""
    return get_scorer("accuracy" if scoring is None or (isinstance(scoring, str) and scoring == "warn") else scoring)


def judge_of(scoring: Any, classes: Array) -> Callable[..., float]:
    """The scorer on a fold, which knows of classes that the rows held out do not have."""
    metric = {"neg_log_loss": log_loss, "neg_brier_score": brier_score_loss}.get(
        scoring if type(scoring) is str else ""
    )
    if metric is None:
        scorer: Callable[..., float] = scorer_of(scoring)
        return scorer
    known = {"labels": classes}
    if metric is brier_score_loss and len(classes) == 2:
        known["pos_label"] = classes[1]

    def score(model: Any, X: Any, y: Array, **extra: Any) -> float:
        return -float(metric(y, model.predict_proba(X), **known, **extra))

    return score
