"""Weak learners of AdaBoost: any classifier, and the way from a binned tree to a model of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.ensemble.members import fit_member, seeded, weight_argument
from corollary.solvers.draws import Urn, row_keys
from corollary.solvers.trees.adaboost.ledger import Heavier, Ledger
from corollary.solvers.trees.adaboost.stumps import DEEPEST
from corollary.tree.decision_tree import DecisionTreeClassifier
from corollary.tree.stump import DecisionStump

GINI, ENTROPY = 0, 1
MAX_BINS = 255
_DRAWS = 10  # of rows for a first learner, at most


class AnyLearner:
    """Clones of one classifier, fitted to weights or, where it takes none, to rows drawn by weight."""

    name = "SAMME"
    foreign = True

    def __init__(self, estimator: Any, X: Any, classes: Array, ledger: Ledger, random: Any) -> None:
        self.estimator, self.X, self.classes, self.ledger, self.random = estimator, X, classes, ledger, random
        self.models: list[Any] = []
        weighted = weight_argument(estimator) is not None
        self._order = None if weighted else np.argsort(row_keys(X, ledger.labels), kind="stable")

    def learn(self, weights: Array) -> Array:
        """Fit another clone, keep it, and return the class numbers that it says of the rows."""
        labels, weights = self.classes[self.ledger.labels], self.ledger.normalised
        if self._order is None:
            member = fit_member(seeded(self.estimator, self.random), self.X, labels, weights)
            said = self._said_by(member)
        else:  # without a first learner that beats chance there is no model, and of few rows that may be by the draw
            chance = 1 - 1 / len(self.classes)
            for _ in range(1 if self.models else _DRAWS):
                member = self._drawn(self._order, labels, weights)
                said = self._said_by(member)
                if weights[said != self.ledger.labels].sum() < chance * weights.sum():
                    break
        self.models.append(member)
        return said

    def _said_by(self, member: Any) -> Array:
        said: Array = np.searchsorted(self.classes, member.predict(self.X)).astype(np.int32)
        return said

    def _drawn(self, order: Array, labels: Array, weights: Array) -> Any:
        """A learner of rows that are drawn by their weights."""
        urn = Urn(order, order[:0], np.cumsum(weights[order]))
        rows = urn.listed(urn.draw(round(self.ledger.total), self.random))
        return fit_member(seeded(self.estimator, self.random), self.X[rows], labels[rows])

    def follow(self, heavier: Heavier, factor: float) -> None:
        """Weights are read from the ledger."""


def binned_tree(estimator: Any) -> tuple[int, int, int] | None:
    """(depth, code of the criterion, bins) of a tree that can be grown on binned columns; None for other learners."""
    if type(estimator) not in (DecisionStump, DecisionTreeClassifier):
        return None
    given, plain = estimator.get_params(deep=False), type(estimator)().get_params(deep=False)
    depth, bins = estimator.max_depth, estimator.max_bins or MAX_BINS
    criterion = {"gini": GINI, "entropy": ENTROPY, "log_loss": ENTROPY}.get(estimator.criterion)
    if criterion is None or depth is None or depth > DEEPEST or bins > MAX_BINS:
        return None
    free = {"max_depth", "criterion", "random_state", "max_bins"}
    same = all(value is plain[name] or value == plain[name] for name, value in given.items() if name not in free)
    return (int(depth), criterion, int(bins)) if same else None


def tree_model(owner: Any, trees: Trees, number: int) -> Any:
    """One binned tree as a fitted tree classifier.

    Its seed is its number: scikit-learn's members have seeds that differ, and code tells them apart by these. A tree of
    this kind tries every column and threshold, so nothing is drawn from it, and a copy with it grows the same tree.
    """
    model = clone(owner.estimator_)
    if "random_state" in model.get_params(deep=False):
        model.random_state = number
    model.trees_, model.classes_, model.n_classes_ = trees, owner.classes_, len(owner.classes_)
    model.n_features_in_, model.n_outputs_, model.max_features_ = owner.n_features_in_, 1, owner.n_features_in_
    model.categories_ = owner.categories_
    if hasattr(owner, "feature_names_in_"):
        model.feature_names_in_ = owner.feature_names_in_
    return model
