"""Scores of ridge at many penalties: of what leave-one-out predicts, or of folds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring

from corollary.core.door.metadata import of_rows
from corollary.core.types import Array
from corollary.linear.folds import Fold
from corollary.solvers.least_squares.closed_form import solve
from corollary.solvers.least_squares.leave_one_out import ridge_path
from corollary.solvers.least_squares.task import Task, steady_algebra

Score = Callable[[Array, Array, Array | None], float]  # of (truth, prediction, rows that they are of)


class _Predicted(RegressorMixin, BaseEstimator):
    """Stands in for a fitted model towards a scorer: what it is given as X are the predictions themselves."""

    def fit(self, X: Any, y: Any = None) -> _Predicted:
        return self

    def predict(self, X: Array) -> Array:
        return X


def as_scorer(scoring: Any, default: str) -> Any:
    """A scorer, by name or a callable (estimator, X, y)."""
    return check_scoring(_Predicted(), scoring=scoring or default)


def score_function(scorer: Any, weights: Array | None, routed: dict[str, Any] | None, n: int) -> Score:
    """What a scorer gives of some of n rows; weights go to those that take them, or else what metadata routing says."""
    options = {} if routed is None else routed
    if routed is None and weights is not None and "sample_weight" in inspect.signature(scorer).parameters:
        options = {"sample_weight": weights}

    def score(truth: Array, prediction: Array, rows: Array | None) -> float:
        part = {name: value if rows is None else of_rows(value, rows, n) for name, value in options.items()}
        return float(scorer(_Predicted(), prediction, truth, **part))

    return score


def leave_one_out_scores(
    task: Task, alphas: Array, y: Array, method: str, *, score: Score | None, separate: bool, keep: bool, counts: bool
) -> tuple[Array, Array | None]:
    """(scores (number of alphas, k or 1), residuals (n, k, number of alphas) if they are kept or scored).

    ``separate`` targets have a score each; weights that are ``counts`` stand for so many rows.
    """
    n, k = task.Y.shape
    errors = np.zeros((len(alphas), k))
    residuals = np.empty((n, k, len(alphas))) if keep or score is not None else None
    weights = np.ones(n) if task.weights is None else task.weights

    def consume(start: int, stop: int, part: Array) -> None:
        errors[:] += np.einsum("i,ika,ika->ak", weights[start:stop], part, part)
        if residuals is not None:
            residuals[start:stop] = part

    with steady_algebra(task.design):
        ridge_path(task, method).leave_one_out(alphas, consume, counts=counts)
    if score is None or residuals is None:
        scores = -errors / task.weight
        return scores if separate else scores.mean(axis=1, keepdims=True), residuals
    predictions = task.Y[:, :, None] - residuals
    each = range(len(alphas))
    if separate:
        return np.array([[score(task.Y[:, c], predictions[:, c, a], None) for c in range(k)] for a in each]), residuals
    return np.array([[score(y, predictions[:, :, a].reshape(y.shape), None)] for a in each]), residuals


def fold_scores(task: Task, y: Array, alphas: Array, folds: list[Fold], score: Score) -> Iterator[list[float]]:
    """The score of each alpha in each fold."""
    design = task.design
    for train, test in folds:
        weights = None if task.weights is None else task.weights[train]
        part = Task(design.rows(train), task.Y[train], weights, task.alpha, task.fit_intercept)
        found = _coefficients(part, alphas)
        raw = design.rows(test).matvec(np.hstack([coef for coef, _ in found])) + np.hstack([b for _, b in found])
        each = np.split(raw, len(alphas), axis=1)
        yield [score(y[test], prediction.reshape(y[test].shape), test) for prediction in each]


def _coefficients(task: Task, alphas: Array) -> list[tuple[Array, Array]]:
    """β and b at each alpha; all penalties share a decomposition, and none at all is least squares."""
    with steady_algebra(task.design):
        path = ridge_path(task)
    free = solve(task.at(0.0))[0] if (alphas == 0).any() else None
    return [path.coefficients(float(a)) if a or free is None else (free.coef, free.intercept) for a in alphas]
