"""What linear classifiers share: decision values and predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from corollary.base import predicting
from corollary.core.fitted import Fitted, Floats, Labels, Matrix
from corollary.core.loss import SoftmaxLoss
from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.labels import winners
from corollary.linear.predict import LinearPredictor, dense
from corollary.solvers.linear.driver import Solution


def same_scores(found: Solution, problem: Problem) -> Solution:
    """Adding a constant to all scores changes nothing, so let the intercepts of several classes sum to zero.

    So do coefficients where a penalty makes them, and where nothing is penalised they are made to.
    """
    if found.coef.ndim == 1:
        return found
    coef = found.coef - found.coef.mean(axis=1, keepdims=True) if problem.penalty.absent else found.coef
    return replace(found, coef=coef, intercept=found.intercept - np.mean(found.intercept))


class LinearClassifier(ClassifierMixin, LinearPredictor):
    """A linear model with ``classes_``; ``coef_`` is (1, d) for two classes and (k, d) for more, as in scikit-learn."""

    classes_: Array
    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(),
        "coef_": Floats("scores", "d") | Matrix("scores", "d"),
        "intercept_": Floats("scores"),
    }

    @property
    def _raw_meaning(self) -> str:
        return SoftmaxLoss.link.raw_name(len(self.classes_))

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

    def sparsify(self) -> Self:
        """Keep ``coef_`` as a sparse matrix, which takes less memory where most coefficients are zero."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Keep ``coef_`` as an array again."""
        check_is_fitted(self)
        self.coef_ = dense(self.coef_)
        return self

    def _keep_classifier(self, coef: Array, intercept: Any, dtype: Any) -> None:
        """Store (d,) or (d, k) solver output in scikit-learn's shapes."""
        columns = coef[:, None] if coef.ndim == 1 else coef
        self._keep_coefficients(columns, np.atleast_1d(intercept), dtype)
