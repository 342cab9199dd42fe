"""What models share whose leaves hold shares of classes, of one target or several; and classification trees."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from corollary.base import predicting
from corollary.core.fitted import Count, Fitted, Labels, ListOf, TreesOf
from corollary.core.types import Array
from corollary.labels import encode_labels
from corollary.tree.tree_base import DecisionTree


def weights_of_outputs(class_weight: Any, n_outputs: int) -> list[Any]:
    """``class_weight`` of each target: one for all, or a list with one for each."""
    parts = class_weight if isinstance(class_weight, list) else [class_weight] * n_outputs
    if len(parts) != n_outputs:
        raise ValueError(
            "The number of elements in class_weight should match number of outputs. It has "
            f"{len(parts)}, but y has {n_outputs} targets."
        )
    return parts


class ClassShares(ClassifierMixin):
    """Labels and probabilities from the shares of classes that ``_shares`` gives, target after target."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(low=1) | ListOf(Labels(None, low=1), "outputs"),
        "n_classes_": Count("k", low=1) | ListOf(Count(low=1), "outputs"),
        "n_outputs_": Count("outputs", low=1),
    }
    classes_: Any  # an array, or a list of arrays for several targets
    n_classes_: Any
    n_outputs_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    @abstractmethod
    def _shares(self, X: Any) -> Array:
        """(rows, classes of all targets)."""

    def _keep_classes(self, classes: list[Array]) -> list[int]:
        """Keep the classes of each target; how many there are of each."""
        counts = [len(each) for each in classes]
        self.n_outputs_ = len(classes)
        self.classes_, self.n_classes_ = (classes[0], np.int64(counts[0])) if len(classes) == 1 else (classes, counts)
        return counts

    def _check_state(self) -> None:
        super()._check_state()
        counts = [len(classes) for classes in self._classes]
        known = [self.n_classes_] if isinstance(self.classes_, np.ndarray) else self.n_classes_
        single = isinstance(self.classes_, np.ndarray)
        if counts != known or single != (self.n_outputs_ == 1) or sum(counts) != self.trees_.value.shape[1]:
            raise ValueError(f"classes_, n_classes_={self.n_classes_!r} and the values of the trees differ.")

    @property
    def _classes(self) -> list[Array]:
        """The classes of each target."""
        return [self.classes_] if self.n_outputs_ == 1 else list(self.classes_)

    def _tables(self, shares: Array) -> list[Array]:
        """One table of classes for each target."""
        return np.split(shares, np.cumsum([len(classes) for classes in self._classes])[:-1], axis=1)

    def _labels(self, shares: Array) -> Array:
        """The class with the largest share, of equal ones the first: (rows, targets)."""
        pairs = zip(self._classes, self._tables(shares), strict=True)
        return np.column_stack([classes[table.argmax(axis=1)] for classes, table in pairs])

    @predicting
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, as ``classes_``; a list for several targets.

        It is the share of the class in the leaf of the row, in the mean over trees.
        """
        shares = self._shares(X)
        return shares if self.n_outputs_ == 1 else self._tables(shares)

    @predicting
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of ``predict_proba``; −inf for a class without a share."""
        with np.errstate(divide="ignore"):
            logs = [np.log(table) for table in self._tables(self._shares(X))]
        return logs[0] if self.n_outputs_ == 1 else logs

    @predicting
    def predict(self, X: Any) -> Array:
        """The most probable class, of equal ones the first: (n,), or (n, targets) for several targets."""
        labels = self._labels(self._shares(X))
        return labels[:, 0] if self.n_outputs_ == 1 else labels


class TreeClassifier(ClassShares, DecisionTree):
    """A tree whose leaves hold class probabilities, for one target or several."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "trees_": TreesOf(trees=1),
    }
    class_weight: Any

    def _shares(self, X: Any) -> Array:
        return self._leaf_values(X)

    def predict(self, X: Any, check_input: bool = True) -> Array:
        """The most probable class, of equal ones the first: (n,), or (n, targets) for several targets."""
        return super().predict(X)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Share of each class, as ``classes_``, in the leaf of the row; a list for several targets."""
        return super().predict_proba(X)

    def _values_of_outputs(self) -> list[int]:
        return [len(classes) for classes in self._classes]

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y, weights, categorical = self._read_rows(X, y, sample_weight, y_numeric=False)
        columns = y[:, None] if y.ndim == 1 else y
        class_weight = weights_of_outputs(self.class_weight, columns.shape[1])
        classes, codes, factor = [], np.empty(columns.shape, dtype=np.intp), np.ones(len(weights))
        for o in range(columns.shape[1]):
            found, codes[:, o], own = encode_labels(columns[:, o], weights, class_weight[o], one_class=True)
            classes.append(found)
            factor *= np.divide(own, weights, out=np.zeros_like(own), where=weights > 0)
        self._grow(X, codes, weights * factor, categorical, self._keep_classes(classes))
