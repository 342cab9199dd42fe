"""Predictions of rows while they were held out, as models that scikit-learn's scorers can ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if

from corollary.evaluate.scoring import fitted, take

_METHODS = ("predict", "predict_proba", "decision_function")


def record(model: Any, X: Any, y: Any, weights: Any, train: Any, test: Any) -> dict[str, Any]:
    """Fit a clone to the training rows; what it says about the test rows, as JSON can hold it, labels as codes."""
    done = fitted(clone(model), take(X, train), take(y, train), take(weights, train))
    rows = take(X, test)
    said: dict[str, Any] = {}
    classes = np.unique(np.asarray(y)) if is_classifier(model) else None
    for name in _METHODS:
        if not hasattr(done, name):
            continue
        values: NDArray[Any] | None = np.asarray(getattr(done, name)(rows))
        if classes is not None and values is not None:
            values = _in_common_terms(name, values, done, classes)
        if values is not None:
            said[name] = values.tolist()
    return said


def _in_common_terms(name: str, values: NDArray[Any], done: Any, classes: NDArray[Any]) -> NDArray[Any] | None:
    """Labels as codes of all classes; a column for every class. None if the training part lacks a class of values that
    cannot be filled in."""
    if name == "predict":
        return np.searchsorted(classes, values)
    own = np.asarray(done.classes_)
    if len(own) == len(classes):
        return values
    if name != "predict_proba":
        return None
    filled = np.zeros((len(values), len(classes)))
    filled[:, np.searchsorted(classes, own)] = values
    return filled


def _has(name: str) -> Callable[[Any], bool]:
    return lambda model: name in model.said


class _Recorded(BaseEstimator):
    """Answers for row numbers in place of rows."""

    def __init__(self, said: dict[str, NDArray[Any]], classes: NDArray[Any] | None) -> None:
        self.said, self.classes = said, classes
        if classes is not None:
            self.classes_ = classes

    def fit(self, X: Any, y: Any = None) -> Any:
        """Nothing: what it says is known."""
        return self

    @available_if(_has("predict"))
    def predict(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self.said["predict"][rows]

    @available_if(_has("predict_proba"))
    def predict_proba(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self.said["predict_proba"][rows]

    @available_if(_has("decision_function"))
    def decision_function(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self.said["decision_function"][rows]


class RecordedClassifier(ClassifierMixin, _Recorded):
    """Labels, and probabilities or decision values where the model has them."""


class RecordedRegressor(RegressorMixin, _Recorded):
    """Numbers."""


def recorded_models(
    parts: list[list[dict[str, Any]]], tests: list[NDArray[Any]], model: Any, y: Any
) -> tuple[list[Any], NDArray[np.intp]]:
    """A model of recorded predictions for each configuration, and the rows that were held out (once, or the first
    time)."""
    rows, first = np.unique(np.concatenate(tests), return_index=True)
    classes = np.unique(np.asarray(y)) if is_classifier(model) else None
    models: list[Any] = []
    for folds in parts:
        names = [name for name in _METHODS if all(name in fold for fold in folds)]
        said = {name: np.concatenate([np.asarray(fold[name]) for fold in folds])[first] for name in names}
        if classes is None:
            models.append(RecordedRegressor(said, None))
            continue
        if "predict" in said:
            said["predict"] = classes[said["predict"].astype(np.intp)]
        models.append(RecordedClassifier(said, classes))
    return models, rows
