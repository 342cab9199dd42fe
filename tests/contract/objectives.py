"""From a fitted model to the optimisation problem that its documentation states, in the formulas of ``duality``."""

from __future__ import annotations

from typing import Any

import numpy as np
from duality import Objective, huber_bounds


def bounds(model: Any, X: Any, y: Any, s: Any) -> list[tuple[float, float]]:
    """(objective at the fitted coefficients, a lower bound on every objective) of each problem that the fit solved."""
    name = type(model).__name__
    if name == "HuberRegressor":
        return [huber_bounds(X, y, model.coef_, model.intercept_, model.scale_, s, model.epsilon, model.alpha)]
    objective = OBJECTIVES[name](model, s)
    objective.intercept = model.fit_intercept
    return [objective.bounds(X, *problem) for problem in _problems(model, y, objective.loss)]


def yardsticks(model: Any, X: Any, y: Any, s: Any) -> list[float]:
    """What a relative gap is relative to at least: 1e-6 of the objective at zero (docs/notation.md) for Tweedie.

    Half a deviance nears zero with a close fit. Every other loss is held to its own objective, which is more.
    """
    name = type(model).__name__
    objective = OBJECTIVES[name](model, s) if name in OBJECTIVES else None
    if objective is None or objective.loss != "tweedie":
        return [0.0] * len(bounds(model, X, y, s))
    return [1e-6 * abs(objective.primal(X, t, 0 * w, 0 * b)) for t, w, b in _problems(model, y, objective.loss)]


def _ridge(model: Any, s: Any) -> Objective:
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    return Objective("squared", s, l2=alpha, positive=getattr(model, "positive", False))


def _elastic_net(model: Any, s: Any) -> Objective:
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    mix = getattr(model, "l1_ratio_", model.l1_ratio)
    return Objective("squared", s / s.sum(), l1=alpha * mix, l2=alpha * (1 - mix), positive=model.positive)


def _logistic(model: Any, s: Any) -> Objective:
    C = getattr(model, "C_", getattr(model, "C", 1.0))
    mix = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 0.0))
    return Objective("logistic" if len(model.classes_) == 2 else "softmax", s, l1=mix / C, l2=(1 - mix) / C)


def _linear_model(model: Any, s: Any) -> Objective:
    if not isinstance(model.loss, str):  # a loss and a penalty with their own parameters
        loss, penalty = model.loss, model.penalty
        return Objective(loss.name, s / s.sum(), penalty.l1, penalty.l2, loss.parameter)
    mix = {"l1": 1.0, "group": 1.0, "l2": 0.0, "none": 0.0}.get(model.penalty, model.l1_ratio)
    alpha = 0.0 if model.penalty == "none" else model.alpha
    parameter = {"huber": model.delta, "quantile": model.quantile, "epsilon_insensitive": model.epsilon, "tweedie": 1.5}
    groups = None
    if model.penalty == "group":
        groups = np.arange(model.n_features_in_) if model.groups is None else model.groups
    weights = s / s.sum()
    return Objective(model.loss, weights, alpha * mix, alpha * (1 - mix), parameter.get(model.loss, 0.0), groups=groups)


OBJECTIVES = {
    "LinearRegression": _ridge,
    "Ridge": _ridge,
    "RidgeCV": _ridge,
    "Lasso": _elastic_net,
    "ElasticNet": _elastic_net,
    "LassoCV": _elastic_net,
    "ElasticNetCV": _elastic_net,
    "LogisticRegression": _logistic,
    "LogisticRegressionCV": _logistic,
    "LinearModel": _linear_model,
}


def _problems(model: Any, y: Any, loss: str) -> list[tuple[Any, Any, Any]]:
    """(y, coefficients, intercept) of each problem: one, or one per class against the rest."""
    if not hasattr(model, "classes_"):
        return [(y, model.coef_, model.intercept_)]
    codes = np.searchsorted(model.classes_, y)
    if loss == "softmax" and len(model.classes_) == 2:  # the one decision value is the difference of two halves
        halves = np.array([-0.5, 0.5])
        return [(codes, model.coef_.T * halves, model.intercept_ * halves)]
    if loss == "softmax":
        return [(codes, model.coef_.T, model.intercept_)]
    positive = [1] if len(model.classes_) == 2 else range(len(model.classes_))
    return [(np.where(codes == c, 1.0, -1.0), model.coef_[k], model.intercept_[k]) for k, c in enumerate(positive)]


def class_weights(model: Any, y: Any) -> Any:
    """The weight that ``class_weight`` gives to each row, for whole-number labels."""
    if getattr(model, "class_weight", None) != "balanced":
        return np.ones(len(y))
    counts = np.bincount(y)
    return (len(y) / (len(counts) * counts))[y]
