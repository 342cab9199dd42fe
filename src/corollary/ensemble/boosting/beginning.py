"""Where boosting begins: the best constant, zero, or what another model says."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from corollary.core.limits import Choice, Instance
from corollary.core.loss import Loss
from corollary.core.types import Array
from corollary.ensemble.combine.votes import votes_of
from corollary.ensemble.members import fit_member, weight_argument


def refuse_beginning(owner: Any) -> None:
    """Raise ValueError for an ``init`` that nothing can begin with."""
    init, needed = owner.init, "predict_proba" if is_classifier(owner) else "predict"
    if not (Choice(None, "zero") | Instance("a model", methods=("fit", needed))).accepts(init):
        raise ValueError(
            f"The 'init' parameter of {type(owner).__name__} must be a str among {{'zero'}}, None or an object "
            f"implementing 'fit' and '{needed}', but it is {init!r}{', a class' if isinstance(init, type) else ''}."
        )


def fit_beginning(init: Any, X: Any, y: Array, weights: Array | None) -> Any:
    """A copy of the model that ``init`` is, fitted; None if it is none. ``weights`` are None if nobody gave any."""
    if init is None or isinstance(init, str):
        return None
    if weights is not None and weight_argument(init) != "sample_weight":
        raise ValueError(
            f"The initial estimator {type(init).__name__} does not support sample weights. Give an init whose fit "
            "takes sample_weight, or fit without weights."
        )
    return fit_member(clone(init), X, y, weights)


def said_by(model: Any, X: Any, loss: Loss, n_classes: int | None) -> Array:
    """What a model says of rows, as raw predictions (rows, outputs)."""
    if n_classes is None:
        return loss.link.forward(np.asarray(model.predict(X), dtype=np.float64).ravel())[:, None]
    eps = np.finfo(np.float64).eps
    shares = np.clip(votes_of(model, X, np.arange(n_classes)), eps, 1 - eps)
    if loss.multiclass:
        return loss.link.forward(shares)
    second = shares[:, 1]
    return (loss.link.forward(second) if loss.link.probabilistic else 2 * second - 1)[:, None]


def constant_model(owner: Any, loss: Loss) -> Any:
    """A model that predicts the constant which boosting started from, as scikit-learn's ``init_`` is one."""
    rows = np.zeros((1, owner.n_features_in_))
    if not is_classifier(owner):
        return DummyRegressor().fit(rows, loss.link.inverse(owner.start_))
    k, start = len(owner.classes_), owner.start_
    if not loss.link.probabilistic:
        prior = np.array([start[0] <= 0, start[0] > 0], dtype=np.float64)
    else:
        prior = loss.link.probabilities(start[None, :] if len(start) > 1 else start)[0]
    rows = np.zeros((k, owner.n_features_in_))
    return DummyClassifier(strategy="prior").fit(rows, np.arange(k), sample_weight=prior)
