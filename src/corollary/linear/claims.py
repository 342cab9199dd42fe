"""What each linear model claims to have minimised, in the plain words of the referee."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from corollary.base import weights_by_class
from corollary.core.evidence import Kind
from corollary.core.loss import as_loss
from corollary.core.types import Array
from corollary.referee.linear.judge import judge
from corollary.referee.linear.others import huber_with_scale, single_coefficients
from corollary.referee.linear.problem import PATIENCE, Objective
from corollary.referee.verdict import Verification, weakest


def verify_linear(model: Any, X: Any, y: Array, weights: Array) -> Verification:
    """Every target, or class against the rest, as a problem of its own; the weakest verdict counts."""
    if sparse.issparse(model.coef_):
        model = copy(model)
        model.coef_ = model.coef_.toarray()
    if not all(np.isfinite(np.asarray(getattr(model, name))).all() for name in ("coef_", "intercept_")):
        return Verification(False, "coefficients are not finite")
    if not model.fit_intercept and np.any(model.intercept_):
        return Verification(False, "there was to be no intercept, but intercept_ is not zero")
    tolerance = float(model.evidence_.certificate.tolerance)
    if hasattr(model, "classes_"):
        return _classes(model, X, y, weights, tolerance)
    each = y.astype(np.float64).reshape(len(y), -1)
    coef = np.asarray(model.coef_).reshape(each.shape[1], -1)
    start = np.broadcast_to(np.asarray(model.intercept_), (each.shape[1],))
    found = []
    for target in range(each.shape[1]):
        terms = _terms(model, weights, target)
        if terms is None:
            return UNKNOWN
        terms["patience"] = PATIENCE / each.shape[1]
        found.append(_one(X, each[:, target], terms, coef[target], start[target], tolerance))
    return weakest(found)


UNKNOWN = Verification(None, "the referee has no second opinion on this loss and penalty")


def _classes(model: Any, X: Any, y: Array, weights: Array, tolerance: float) -> Verification:
    strange = np.setdiff1d(y, model.classes_)
    if len(strange):
        raise ValueError(f"y has classes that the model was not fitted to: {strange.tolist()!r}.")
    weights = class_weights(model, y, weights)
    codes, coef, start = np.searchsorted(model.classes_, y), np.asarray(model.coef_), np.asarray(model.intercept_)
    terms = _terms(model, weights, 0)
    if terms is None:
        return UNKNOWN
    if (constant := terms.pop("constant", None)) is not None:  # the intercept is the coefficient of one more column
        X = np.column_stack([X.toarray() if sparse.issparse(X) else X, np.full(len(codes), constant)])
        coef, start = np.column_stack([coef, start / constant]), 0.0 * start
        terms["fit_intercept"] = False
    k = len(model.classes_)
    if terms["loss"] == "softmax" and "count" in terms:
        return UNKNOWN
    if terms["loss"] == "softmax" and k > 2:
        return judge(Objective(X, codes, n_classes=k, **terms), coef.T, start, tolerance)
    if terms["loss"] == "softmax":  # two classes as one difference of scores, each of which has half of it
        half = np.stack([-coef[0] / 2.0, coef[0] / 2.0], axis=1), np.stack([-start / 2.0, start / 2.0], axis=1)[0]
        return judge(Objective(X, codes, n_classes=2, **terms), *half, tolerance)
    sides = [1] if k == 2 else range(k)
    terms["patience"] = PATIENCE / len(sides)
    found = [
        _one(X, np.where(codes == side, 1.0, -1.0), terms, coef[at], start[at], tolerance)
        for at, side in enumerate(sides)
    ]
    return weakest(found)


def class_weights(model: Any, y: Array, weights: Array) -> Array:
    """Weights of rows times those of their classes, in long doubles: a power of two is left out on the way."""
    unit = float(np.ldexp(1.0, int(np.frexp(weights.max())[1]) - 1))
    return weights_by_class(model.class_weight, model.classes_, y, weights / unit).astype(np.longdouble) * unit


def _one(X: Any, y: Array, terms: dict[str, Any], coef: Array, start: Any, tolerance: float) -> Verification:
    """One vector of coefficients."""
    terms = dict(terms)
    scale, count = terms.pop("scale", None), terms.pop("count", None)
    if scale is not None:
        return huber_with_scale(Objective(X, y, **terms), coef, start, scale, tolerance)
    if count is not None:
        return single_coefficients(Objective(X, y, **terms), count, coef, start, tolerance)
    return judge(Objective(X, y, **terms), coef, start, tolerance)


def _terms(model: Any, weights: Array, target: int) -> dict[str, Any] | None:
    claims = (CLAIMS[cls.__name__] for cls in type(model).__mro__ if cls.__name__ in CLAIMS)
    claim = next(claims, None)  # a class of a user's own has none, unless it is built on one of these
    terms = None if claim is None else claim(model, target)
    if terms is None:
        return None
    long = weights.astype(np.longdouble)  # sums of huge weights stay finite
    shared = long / long.sum() if terms.pop("mean", False) else long
    return {"weights": shared, "fit_intercept": model.fit_intercept, **terms}


def _squares(model: Any, target: int) -> dict[str, Any]:
    """Σ w r² + α ‖β‖², halved."""
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    strengths = np.asarray(alpha, dtype=float).ravel()
    l2 = float(strengths[target if strengths.size > 1 else 0])
    return {"loss": "squared", "l2": l2, "positive": getattr(model, "positive", False)}


def _lasso(model: Any, target: int) -> dict[str, Any]:
    alpha = float(model.alpha_ if hasattr(model, "alpha_") else model.alpha)
    ratio = float(model.l1_ratio_ if hasattr(model, "l1_ratio_") else model.l1_ratio)
    l1, l2 = alpha * ratio, alpha * (1 - ratio)
    return {"loss": "squared", "l1": l1, "l2": l2, "positive": model.positive, "mean": True}


def _logistic(model: Any, target: int) -> dict[str, Any]:
    (C, ratio), constant = model._strength_and_mix, model._constant
    loss = "logistic" if len(model.classes_) == 2 else "softmax"
    terms = {"loss": loss, "l1": ratio / C, "l2": (1 - ratio) / C}
    return terms if constant is None else {**terms, "constant": constant}


def _any(model: Any, target: int) -> dict[str, Any] | None:
    loss, penalty = as_loss(model.loss, vars(model)), model._penalty(model.n_features_in_)
    terms: dict[str, Any] = {"loss": loss.name, "parameter": loss.parameter, "mean": True}
    if penalty.grouped:
        return {**terms, "groups": penalty.groups, "group_strengths": penalty.weights}
    if penalty.name == "l0":
        return {**terms, "count": penalty.l1}
    if not penalty.elastic or model.evidence_.certificate.kind is not Kind.OPTIMAL:
        return None
    return {**terms, "l1": penalty.l1, "l2": penalty.l2}


def _huber(model: Any, target: int) -> dict[str, Any]:
    return {"loss": "huber", "parameter": model.epsilon, "l2": 2 * model.alpha, "scale": float(model.scale_)}


CLAIMS: dict[str, Callable[[Any, int], dict[str, Any] | None]] = {
    "LinearRegression": _squares,
    "Ridge": _squares,
    "RidgeCV": _squares,
    "Lasso": _lasso,
    "ElasticNet": _lasso,
    "LassoCV": _lasso,
    "ElasticNetCV": _lasso,
    "LogisticRegression": _logistic,
    "LogisticRegressionCV": _logistic,
    "LinearModel": _any,
    "HuberRegressor": _huber,
}
