"""What linear classifiers share: labels to ±1 or class numbers, decision values, probabilities, predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from corollary.core.types import Array
from corollary.linear.predict import LinearPredictor


def encode_labels(y: Any) -> tuple[Array, Array]:
    """(classes, class number of each row); a clear error for targets that are not classes or have only one."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"A classifier needs samples of at least 2 classes in y, but y has only one class: {classes[0]!r}."
        )
    return classes, codes


def signs(codes: Array, positive: int = 1) -> Array:
    """+1 for the positive class number, −1 for the others."""
    return np.where(codes == positive, 1.0, -1.0)


class LinearClassifier(ClassifierMixin, LinearPredictor):
    """A linear model with ``classes_``; ``coef_`` is (1, d) for two classes and (k, d) for more, as in scikit-learn."""

    classes_: Array

    def decision_function(self, X: Any) -> Array:
        """Raw predictions: log-odds of the second class (n,), or one score per class (n, k)."""
        raw = self._raw_prediction(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: Any) -> Array:
        """The class with the highest score."""
        raw = self.decision_function(X)
        index = (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)
        return self.classes_[index]

    def _keep_classifier(self, coef: Array, intercept: Any, dtype: Any) -> None:
        """Store (d,) or (d, k) solver output in scikit-learn's shapes."""
        columns = coef[:, None] if coef.ndim == 1 else coef
        if columns.shape[1] > 1:  # adding a constant to all scores changes nothing, so let the intercepts sum to zero
            intercept = intercept - np.mean(intercept)
        self._keep_coefficients(columns, np.atleast_1d(intercept), dtype)
