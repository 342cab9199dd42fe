"""What forests for classification share: labels, probabilities, class weights, out-of-bag accuracy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length, column_or_1d

from corollary.base import check_weights, fitting, weights_by_class
from corollary.core.limits import CLASS_WEIGHT, Choice, Limit
from corollary.core.types import Array
from corollary.ensemble.forest_base import Forest, Target
from corollary.ensemble.forest_proximity import Proximity
from corollary.ensemble.oob import OutOfBag
from corollary.labels import encode_labels

CLASSIFIER_LIMITS: dict[str, Limit] = {
    "criterion": Choice("gini", "entropy", "log_loss"),
    "class_weight": CLASS_WEIGHT | Choice("balanced_subsample"),
} | Forest.limits


class ForestClassifier(ClassifierMixin, Proximity, Forest):
    """A forest whose leaves hold class masses."""

    classes_: Array

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees."""
        X, y, weights, categorical = self._read_fit(X, y, sample_weight, y_numeric=False)
        before = getattr(self, "classes_", None) if self.warm_start else None
        plain = None if self.class_weight == "balanced_subsample" else self.class_weight
        self.classes_, _, _ = encode_labels(y, weights, plain)
        if before is not None and not np.array_equal(before, self.classes_):
            raise ValueError(f"warm_start needs the classes of the last fit, {before!r}, but y has {self.classes_!r}.")
        self.n_classes_, self.n_outputs_ = len(self.classes_), 1
        if self.monotonic_cst is not None and len(self.classes_) > 2:
            raise ValueError(f"monotonic_cst is for two classes, but y has {len(self.classes_)}.")
        self._grow(X, self._classes_to_learn(y, weights), categorical)
        return self

    def _classes_to_learn(self, y: Array, weights: Array) -> Target:
        label = np.searchsorted(self.classes_, y)
        wanted, factors = self.class_weight, None
        subsample = wanted == "balanced_subsample"
        if wanted is not None and not (subsample and self.bootstrap):
            weighted = weights_by_class("balanced" if subsample else wanted, self.classes_, y, weights)
            counted = weights > 0
            factors = np.zeros(len(self.classes_))
            factors[label[counted]] = weighted[counted] / weights[counted]
        return Target(
            weights,
            n_classes=len(self.classes_),
            label=label,
            class_factors=factors,
            balance_draws=subsample and self.bootstrap,
        )

    def _target(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Target]:
        X = self._read_predict(X)
        y = column_or_1d(y)
        check_consistent_length(X, y)
        unknown = sorted(set(np.unique(y).tolist()) - set(self.classes_.tolist()), key=str)
        if unknown:
            raise ValueError(f"y has classes that the fit did not have: {unknown!r}.")
        return X, self._classes_to_learn(y, check_weights(sample_weight, X))

    def _keep_votes(self, bag: OutOfBag, order: Array) -> None:
        votes = np.empty_like(bag.votes)
        votes[order] = bag.mean_votes()
        label = np.empty(len(order), dtype=np.intp)
        label[order] = bag.rows.label
        weights = np.empty(len(order))
        weights[order] = bag.rows.weights
        self.oob_decision_function_ = votes
        kept = ~np.isnan(votes[:, 0]) & (weights > 0)
        if not kept.any():
            self.oob_score_ = float("nan")
            return
        found, truth = self.classes_[votes[kept].argmax(axis=1)], self.classes_[label[kept]]
        if callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth, found)
        else:
            self.oob_score_ = float(accuracy_score(truth, found, sample_weight=weights[kept]))

    def predict_proba(self, X: Any) -> Array:
        """Mean over the trees of the class shares at each row's leaf; columns in the order of ``classes_``."""
        return self._means(X)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """The class with the highest probability."""
        best = self.predict_proba(X).argmax(axis=1)
        labels: Array = self.classes_[best]
        return labels
