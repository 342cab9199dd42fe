"""A search that costs next to nothing, so that simulations can repeat it: which column's sign tells the class best?"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class OneColumnSearch(ClassifierMixin, BaseEstimator):
    """Chooses one column by five-fold cross-validation; the rule is y = sign(±x_j), the sign learnt from the rows."""

    def fit(self, X: Any, y: Any) -> OneColumnSearch:
        self.classes_ = np.array([-1, 1])
        agree = np.sign(X) * y[:, None]
        fold = np.arange(len(y)) % 5
        scores = np.empty((5, X.shape[1]))
        for number in range(5):
            sign = np.where(agree[fold != number].mean(axis=0) >= 0, 1, -1)
            scores[number] = (agree[fold == number] * sign > 0).mean(axis=0)
        means = scores.mean(axis=0)
        self.cv_results_ = {"params": [{"column": column} for column in range(X.shape[1])]}
        self.column_ = int(np.argmax(means))
        self.best_params_, self.best_score_ = {"column": self.column_}, float(means[self.column_])
        self.sign_ = 1 if agree[:, self.column_].mean() >= 0 else -1
        return self

    def predict(self, X: Any) -> Any:
        return np.where(self.sign_ * X[:, self.column_] > 0, 1, -1)

    def score(self, X: Any, y: Any) -> float:
        return float((self.predict(X) == y).mean())  # without scikit-learn's checks, which take most of the time


def world(rng: np.random.Generator, rows: int, right: Any) -> tuple[Any, Any]:
    """Rows in which the sign of column j is right about y with probability ``right[j]``."""
    y = rng.choice([-1, 1], rows)
    agrees = rng.random((rows, len(right))) < right
    return np.abs(rng.normal(size=agrees.shape)) * np.where(agrees, y[:, None], -y[:, None]), y
