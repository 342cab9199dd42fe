"""What linear classifiers share: decision values and predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from corollary.base import predicting
from corollary.core.fitted import Fitted, Floats, Labels
from corollary.core.types import Array
from corollary.labels import winners
from corollary.linear.predict import LinearPredictor
from corollary.solvers.linear.driver import Solution


def same_scores(found: Solution) -> Solution:
    """Adding a constant to all scores changes nothing, so let the intercepts of several classes sum to zero."""
    if found.coef.ndim == 1:
        return found
    return replace(found, intercept=found.intercept - np.mean(found.intercept))


class LinearClassifier(ClassifierMixin, LinearPredictor):
    """A linear model with ``classes_``; ``coef_`` is (1, d) for two classes and (k, d) for more, as in scikit-learn."""

    classes_: Array
    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(),
        "coef_": Floats("scores", "d"),
        "intercept_": Floats("scores"),
    }

    @predicting
    def decision_function(self, X: Any) -> Array:
        """Raw predictions: log-odds of the second class (n,), or one score per class (n, k)."""
        raw = self._raw_prediction(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    @predicting
    def predict(self, X: Any) -> Array:
        """The class with the highest score."""
        index = winners(self.decision_function(X))
        return self.classes_[index]

    def _keep_classifier(self, coef: Array, intercept: Any, dtype: Any) -> None:
        """Store (d,) or (d, k) solver output in scikit-learn's shapes."""
        columns = coef[:, None] if coef.ndim == 1 else coef
        self._keep_coefficients(columns, np.atleast_1d(intercept), dtype)
