"""What a boosted vote answers once it is fitted: scores, probabilities and predictions, after any number of rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from corollary.base import predicting
from corollary.core.fitted import Count, Fitted, Floats, Labels, ListOf, Maybe, Model, TreesOf
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.ensemble.adaboost.learner import tree_model
from corollary.ensemble.members import check_members
from corollary.ensemble.plots import plot_rounds
from corollary.labels import agreeing, winners
from corollary.referee.verdict import Verification
from corollary.tables import TableReader
from corollary.tree.decision_tree import DecisionTreeClassifier


class BoostedVote(ClassifierMixin, TableReader):
    """A vote of learners with weights α, held as binned trees ``trees_`` or as fitted models ``_members``."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(low=1),
        "n_classes_": Count("k"),
        "trees_": Maybe(TreesOf(outputs="k")),
        "_members": Maybe(ListOf(Model("predict", columns="d"), "trees")),
        "estimator_weights_": Floats("trees", low=0),
        "estimator_errors_": Floats("trees", low=0, high=1),
    }
    estimator: Any
    class_weight: Any
    classes_: Array
    estimator_weights_: Array
    trees_: Trees
    _members: list[Any]

    @property
    def estimator_(self) -> Any:
        """The learner that was cloned."""
        if self.estimator is not None:
            return self.estimator
        return DecisionTreeClassifier(max_depth=1, min_weight_fraction_leaf=0.0 if self.class_weight is None else 0.01)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted learners, one for each round."""
        if "_members" in vars(self):
            return list(self._members)
        check_is_fitted(self)
        return [tree_model(self, self.trees_.tree(t), t) for t in range(self.trees_.n_trees)]

    def __len__(self) -> int:
        return len(self.estimator_weights_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def _read_predict(self, X: Any, **options: Any) -> Any:
        """Learners that are not ours may take rows of any shape."""
        return super()._read_predict(X, **({"allow_nd": True} if "_members" in vars(self) else {}), **options)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.claims import verify_adaboost

        return verify_adaboost(self, X, y, sample_weight)

    def _check_state(self) -> None:
        if ("trees_" in vars(self)) == ("_members" in vars(self)):
            raise ValueError("it must have either trees_ or other learners.")
        super()._check_state()
        check_members(vars(self).get("_members", ()), self.classes_)

    @property
    def feature_importances_(self) -> Array:
        """Importances of the learners, averaged with weights α."""
        check_is_fitted(self)
        alphas = self.estimator_weights_ if self.estimator_weights_.any() else np.ones(len(self.estimator_weights_))
        alphas = alphas / np.abs(alphas).max()  # shares do not depend on the scale, and their sum cannot overflow
        if "trees_" not in vars(self):
            return np.average([member.feature_importances_ for member in self._members], axis=0, weights=alphas)
        trees, owner, inner = self.trees_, self._tree_of_node(), ~self.trees_.is_leaf
        gains = np.maximum(trees.gain, np.finfo(float).tiny)[inner]
        share = gains / np.bincount(owner[inner], weights=gains, minlength=trees.n_trees)[owner[inner]]
        sums = np.bincount(trees.feature[inner], weights=share * alphas[owner[inner]], minlength=self.n_features_in_)
        return sums / sums.sum() if sums.any() else sums

    def _tree_of_node(self) -> Array:
        return np.searchsorted(self.trees_.roots, np.arange(self.trees_.node_count), side="right") - 1

    def _ballots(self) -> Array:
        """What each node of each tree adds to the scores: α for its class and −α / (K − 1) for the others."""
        alphas = self.estimator_weights_[self._tree_of_node()]
        return self._ballot(self.trees_.value.argmax(axis=1)) * alphas[:, None]

    def _ballot(self, said: Array) -> Array:
        """1 for the class number that is said and −1 / (K − 1) for the others."""
        k = len(self.classes_)
        ballot = np.full((len(said), k), -1.0 / max(k - 1, 1))
        ballot[np.arange(len(said)), said] = 1.0
        return ballot

    def _additive_trees(self) -> tuple[Trees, Array, float, Array]:
        """The votes as one sum of trees, whose total is ``decision_function``, for Shapley values."""
        alphas = self.estimator_weights_
        parts = []
        for alpha, member in zip(alphas, self.estimators_, strict=True):
            trees, classes = getattr(member, "trees_", None), getattr(member, "classes_", None)
            if not isinstance(trees, Trees) or trees.n_trees != 1 or not isinstance(classes, np.ndarray):
                raise TypeError(
                    f"Shapley values are read off trees, and the learners are of type {type(member).__name__}; boost "
                    "decision trees of this library."
                )
            said = np.searchsorted(self.classes_, classes[trees.value.argmax(axis=1)])
            votes = alpha * self._ballot(said)
            parts.append(replace(trees, value=votes[:, 1:] - votes[:, :1] if len(self.classes_) == 2 else votes))
        trees, total = Trees.join(parts), float(alphas.sum())
        scale = 1.0 / total if total > 0 else 1.0
        return trees, np.zeros(trees.value.shape[1]), scale, trees.count.astype(np.float64)

    def _votes(self, X: Any) -> Iterator[Array]:
        """What each round adds to the sum of votes (n, K)."""
        if "trees_" in vars(self):
            leaves, ballots = self.trees_.apply(X), self._ballots()
            return (ballots[leaves[:, t]] for t in range(leaves.shape[1]))
        said = (np.searchsorted(self.classes_, member.predict(X)) for member in self._members)
        return (alpha * self._ballot(each) for alpha, each in zip(self.estimator_weights_, said, strict=True))

    def _decision(self, total: Array, weight: float, dtype: Any) -> Array:
        if not np.isfinite(weight):
            raise ValueError("The weights of the learners add up to more than float64 can hold.")
        scores = total / weight if weight > 0 else total
        if scores.shape[1] == 1:  # there is nothing to decide
            return np.zeros(len(scores), dtype=dtype)
        scores = (scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores.copy()
        return scores.astype(dtype)

    @predicting
    def decision_function(self, X: Any) -> Array:
        """Votes divided by Σ α: (n,) in [−2, 2] for two classes, else (n, K) in [−1 / (K − 1), 1]."""
        X = self._read_predict(X)
        if "trees_" in vars(self):
            total = replace(self.trees_, value=self._ballots()).predict_sum(X)
        else:
            total = sum(self._votes(X), np.zeros((X.shape[0], len(self.classes_))))
        return self._decision(total, float(self.estimator_weights_.sum()), X.dtype)

    @predicting
    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """``decision_function`` after each round."""
        X = self._read_predict(X)
        totals, weights = accumulate(self._votes(X)), np.cumsum(self.estimator_weights_)
        return (self._decision(total, weight, X.dtype) for total, weight in zip(totals, weights, strict=True))

    def _probabilities(self, decision: Array) -> Array:
        k = len(self.classes_)
        if k == 1:
            return np.ones((len(decision), 1), dtype=decision.dtype)
        columns = np.column_stack([-decision, decision]) / 2 if k == 2 else decision / (k - 1)
        return agreeing(softmax(columns, axis=1), decision)

    @predicting
    def predict_proba(self, X: Any) -> Array:
        """Softmax of the scores divided by K − 1; its argmax is ``predict``."""
        return self._probabilities(self.decision_function(X))

    @predicting
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of ``predict_proba``."""
        return np.log(self.predict_proba(X))

    @predicting
    def predict(self, X: Any) -> Array:
        """The class with most votes."""
        index = winners(self.decision_function(X))
        return self.classes_[index]

    @predicting
    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """``predict_proba`` after each round."""
        return map(self._probabilities, self.staged_decision_function(X))

    @predicting
    def staged_predict(self, X: Any) -> Iterator[Array]:
        """``predict`` after each round."""
        return (self.classes_[winners(scores)] for scores in self.staged_decision_function(X))

    @predicting
    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Accuracy after each round."""
        return (accuracy_score(y, said, sample_weight=sample_weight) for said in self.staged_predict(X))

    @predicting
    def plot(self, ax: Any = None) -> Any:
        """Draw training error, its bound and the weighted errors against rounds; returns the matplotlib axes."""
        return plot_rounds(self.evidence_.history, ax)
