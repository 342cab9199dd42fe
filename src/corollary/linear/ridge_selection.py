"""Scores of ridge along a path of alphas: leave-one-out in closed form, or any folds, each from one decomposition."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from corollary.core.design import as_design
from corollary.core.types import Array
from corollary.solvers.least_squares.leave_one_out import ridge_path
from corollary.solvers.least_squares.task import Task, steady_algebra

Score = Callable[[Array, Array, Array | None], float]  # of (truth, prediction, weights)


class Predicted(RegressorMixin, BaseEstimator):
    """Stands in for a fitted model towards a scorer: what it is given as X are the predictions themselves."""

    def fit(self, X: Any, y: Any = None) -> Predicted:
        return self

    def predict(self, X: Array) -> Array:
        return X


def score_function(scoring: Any, default: str) -> Score:
    """A scorer by name or a callable (estimator, X, y); weights are handed on to those that take them."""
    scorer = check_scoring(Predicted(), scoring=scoring or default)
    weighted = "sample_weight" in inspect.signature(scorer).parameters

    def score(truth: Array, prediction: Array, weights: Array | None) -> float:
        options = {"sample_weight": weights} if weighted and weights is not None else {}
        return float(scorer(Predicted(), prediction, truth, **options))

    return score


def leave_one_out_scores(
    task: Task, alphas: Array, method: str, scoring: Any, keep: bool
) -> tuple[Array, Array | None]:
    """(scores (number of alphas, k), residuals (n, k, number of alphas) if they are kept or a scorer asks for them)."""
    n, k = task.Y.shape
    errors = np.zeros((len(alphas), k))
    residuals = np.empty((n, k, len(alphas))) if keep or scoring is not None else None
    weights = np.ones(n) if task.weights is None else task.weights

    def consume(start: int, stop: int, part: Array) -> None:
        errors[:] += np.einsum("i,ika,ika->ak", weights[start:stop], part, part)
        if residuals is not None:
            residuals[start:stop] = part

    with steady_algebra(task.design):
        ridge_path(task, method).leave_one_out(alphas, consume)
    if scoring is None or residuals is None:
        return -errors / task.weight, residuals
    score = score_function(scoring, "")
    predictions = task.Y[:, :, None] - residuals
    scores = [[score(task.Y[:, c], predictions[:, c, a], task.weights) for c in range(k)] for a in range(len(alphas))]
    return np.array(scores), residuals


def fold_scores(task: Task, X: Any, y: Array, alphas: Array, cv: Any, scoring: Any) -> Array:
    """The mean score of each alpha over the folds (R² unless asked otherwise), weights used in fit and score alike."""
    score, design = score_function(scoring, "r2"), as_design(X)
    scores = []
    for train, test in check_cv(cv, y).split(X, y):
        train, test = np.asarray(train), np.asarray(test)
        weights = (None, None) if task.weights is None else (task.weights[train], task.weights[test])
        part = Task(design.rows(train), task.Y[train], weights[0], task.alpha, task.fit_intercept)
        with steady_algebra(part.design):
            path, held_out = ridge_path(part), design.rows(test)
        row = []
        for alpha in alphas:
            coef, intercept = path.coefficients(float(alpha))
            prediction = held_out.matvec(coef) + intercept
            row.append(score(y[test], prediction.reshape(y[test].shape), weights[1]))
        scores.append(row)
    return np.mean(scores, axis=0)
