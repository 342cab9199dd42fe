"""What classification trees share: labels of one target or several, and probabilities from shares of leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from corollary.base import predicting
from corollary.core.types import Array
from corollary.labels import encode_labels
from corollary.tree.tree_base import DecisionTree


class TreeClassifier(ClassifierMixin, DecisionTree):
    """A tree whose leaves hold class probabilities, for one target or several."""

    class_weight: Any
    classes_: Any  # an array, or a list of arrays for several targets
    n_classes_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y, weights, categorical = self._read_fit(X, y, sample_weight, y_numeric=False, multi_output=True)
        columns = y[:, None] if y.ndim == 1 else y
        class_weight = self.class_weight if isinstance(self.class_weight, list) else [self.class_weight]
        if len(class_weight) not in (1, columns.shape[1]):
            raise ValueError(f"class_weight has {len(class_weight)} parts, but y has {columns.shape[1]} targets.")
        class_weight = class_weight * (columns.shape[1] // len(class_weight))
        classes, codes, factor = [], np.empty(columns.shape, dtype=np.intp), np.ones(len(weights))
        for o in range(columns.shape[1]):
            found, codes[:, o], own = encode_labels(columns[:, o], weights, class_weight[o])
            classes.append(found)
            factor *= np.divide(own, weights, out=np.zeros_like(own), where=weights > 0)
        self.classes_ = classes[0] if len(classes) == 1 else classes
        counts = [len(found) for found in classes]
        self.n_classes_ = counts[0] if len(counts) == 1 else counts
        self._grow(X, codes, weights * factor, categorical, counts)

    def _probabilities(self, X: Any) -> list[Array]:
        """One table per target."""
        value = self._leaf_values(X)
        counts = [self.n_classes_] if self.n_outputs_ == 1 else self.n_classes_
        return np.split(value, np.cumsum(counts)[:-1], axis=1)

    @predicting
    def predict_proba(self, X: Any) -> Any:
        """Share of each class in the leaf of each row, in the order of ``classes_``; a list for several targets."""
        tables = self._probabilities(X)
        return tables[0] if self.n_outputs_ == 1 else tables

    @predicting
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of ``predict_proba``; −inf for a class that the leaf does not have."""
        with np.errstate(divide="ignore"):
            logs = [np.log(table) for table in self._probabilities(X)]
        return logs[0] if self.n_outputs_ == 1 else logs

    @predicting
    def predict(self, X: Any) -> Array:
        """The most probable class, of equal ones the first."""
        winners = [table.argmax(axis=1) for table in self._probabilities(X)]
        if self.n_outputs_ == 1:
            labels: Array = self.classes_[winners[0]]
            return labels
        return np.column_stack([classes[won] for classes, won in zip(self.classes_, winners, strict=True)])
