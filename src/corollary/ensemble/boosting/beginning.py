"""Where boosting begins: the best constant, zero, or what another model says."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from corollary.core.limits import Choice, Instance
from corollary.core.loss import Loss
from corollary.core.types import Array
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
    n, eps = X.shape[0], np.finfo(np.float64).eps
    if n_classes is None:
        said = _numbers(model, "predict", X, ((n,), (n, 1)))
        return loss.link.forward(said.ravel())[:, None]
    known = np.asarray(getattr(model, "classes_", np.arange(n_classes)))  # who does not tell knows them all
    if not np.isin(known, np.arange(n_classes)).all():
        raise ValueError(f"init: {type(model).__name__} has classes_ {known!r} that it was not fitted to.")
    shares = np.zeros((n, n_classes))
    shares[:, known] = _numbers(model, "predict_proba", X, ((n, len(known)),))
    shares = np.clip(shares, eps, 1 - eps)
    if loss.multiclass:
        return loss.link.forward(shares)
    second = shares[:, 1]
    return (loss.link.forward(second) if loss.link.probabilistic else 2 * second - 1)[:, None]


def _numbers(model: Any, method: str, X: Any, shapes: tuple[tuple[int, ...], ...]) -> Array:
    """What a method of the model answers, if it is finite and of one of these shapes; else ValueError."""
    name = f"{type(model).__name__}.{method}"
    try:
        said = np.asarray(getattr(model, method)(X)).astype(np.float64)
    except TypeError as error:
        raise ValueError(f"init: {name} must answer with numbers: {error}") from error
    if said.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ValueError(f"init: {name} must answer {shapes[0][0]} rows with shape {wanted}, but it gave {said.shape}.")
    if not np.isfinite(said).all():
        raise ValueError(f"init: {name} answers with NaN or infinity, which nothing can be boosted from.")
    return said


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
