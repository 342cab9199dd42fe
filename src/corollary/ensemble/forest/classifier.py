"""What forests for classification share: labels, probabilities, class weights, out-of-bag accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from corollary.base import assigning, check_weights, fitting, weights_by_class
from corollary.core.door.weights import within_reach
from corollary.core.fitted import Fitted, Floats, ListOf, Maybe
from corollary.core.limits import CLASS_WEIGHT, ArrayLike, Choice, Limit
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.ensemble.forest.base import Forest
from corollary.labels import encode_labels
from corollary.solvers.trees.forest.out_of_bag import OutOfBag
from corollary.solvers.trees.forest.rows import Target
from corollary.tree.tree_base import no_direction
from corollary.tree.tree_classifier import ClassShares, weights_of_outputs


class ForestClassifier(ClassShares, Forest):
    """A forest whose leaves hold class masses, of one target or several."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "oob_decision_function_": Maybe(
            Floats("?", "?", finite=False)
            | Floats("?", "?", "outputs", finite=False)
            | ListOf(Floats("?", "?", finite=False), "outputs")  # in older files
        ),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "criterion": Choice("gini", "entropy", "log_loss"),
        "class_weight": CLASS_WEIGHT | Choice("balanced_subsample") | ArrayLike(),
    } | Forest.limits

    @assigning
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
    ) -> None: ...

    def _shares(self, X: Any) -> Array:
        return self._means(X)

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees to labels y (n,) or (n, targets)."""
        if self._is_complete(X):
            return self
        X, y, weights, categorical = self._read_rows(X, y, sample_weight, y_numeric=False)
        columns = y[:, None] if y.ndim == 1 else y
        before = self._classes if self.warm_start and hasattr(self, "classes_") else None
        plain = self._class_weights(columns.shape[1])
        pairs = zip(columns.T, plain, strict=True)
        found = [encode_labels(column, weights, own, one_class=True)[0] for column, own in pairs]
        if before is not None and [list(each) for each in before] != [list(each) for each in found]:
            raise ValueError(f"warm_start needs the classes of the last fit, {before!r}, but y has {found!r}.")
        counts = self._keep_classes(found)
        if self.monotonic_cst is not None and sum(counts) > 2:
            raise ValueError(no_direction(len(counts)))
        self._grow(X, self._classes_to_learn(columns, weights), categorical)
        return self

    def _class_weights(self, n_outputs: int) -> list[Any]:
        """``class_weight`` of each target, less what only the draws of a tree can tell."""
        wanted = self.class_weight
        if isinstance(wanted, str) and wanted == "balanced_subsample":
            wanted = None if self.bootstrap else "balanced"
        return weights_of_outputs(wanted, n_outputs)

    def _classes_to_learn(self, columns: Array, weights: Array) -> Target:
        found, counted = self._classes, weights > 0
        wanted = self._class_weights(len(found))
        blocks = [max(2, len(classes)) for classes in found]  # of one class, another that never comes
        first = np.cumsum([0, *blocks])
        label, factors = np.empty(columns.shape, dtype=np.intp), np.ones(first[-1])
        for o, classes in enumerate(found):
            label[:, o] = first[o] + np.searchsorted(classes, columns[:, o])
            weighted = weights_by_class(wanted[o], classes, columns[:, o], weights)
            factors[label[counted, o]] = weighted[counted] / weights[counted]
        several = len(found) > 1
        return Target(
            weights,
            n_classes=int(first[-1]),
            label=label if several else label[:, 0],
            class_factors=None if all(each is None for each in wanted) else factors,
            balance_draws=bool(self.bootstrap) and self.class_weight == "balanced_subsample",
            blocks=tuple(blocks) if several else (),
        )

    def _places(self, width: int) -> Array | None:
        """Where the classes are among those that were learnt; None if these are the same."""
        counts = [len(classes) for classes in self._classes]
        if min(counts) > 1 or width != sum(max(2, k) for k in counts):
            return None
        return np.flatnonzero(np.concatenate([np.arange(max(2, k)) < k for k in counts]))

    def _as_told(self, trees: Trees) -> Trees:
        places = self._places(trees.value.shape[1])
        return trees if places is None else replace(trees, value=np.ascontiguousarray(trees.value[:, places]))

    def _as_learnt(self, trees: Trees) -> Trees:
        counts = [len(classes) for classes in self._classes]
        if min(counts) > 1:
            return trees
        value = np.zeros((trees.node_count, sum(max(2, k) for k in counts)))
        value[:, self._places(value.shape[1])] = trees.value
        return replace(trees, value=value)

    def _target(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Target]:
        X = self._read_predict(X)
        columns = column_or_1d(y)[:, None] if self.n_outputs_ == 1 else np.asarray(y)
        check_consistent_length(X, columns)
        if columns.shape[1:] != (self.n_outputs_,):
            raise ValueError(f"y must have the {self.n_outputs_} targets of the fit, but its shape is {columns.shape}.")
        for classes, column in zip(self._classes, columns.T, strict=True):
            unknown = sorted(set(np.unique(column).tolist()) - set(classes.tolist()), key=str)
            if unknown:
                raise ValueError(f"y has classes that the fit did not have: {unknown!r}.")
        return X, self._classes_to_learn(columns, within_reach(check_weights(sample_weight, X))[0])

    def _set_oob_score_and_attributes(self, bag: OutOfBag, order: Array) -> None:
        means, places = bag.mean_votes(), self._places(bag.votes.shape[1])
        means = means if places is None else means[:, places]
        votes = np.empty_like(means)
        votes[order] = means
        self.oob_decision_function_ = votes if self.n_outputs_ == 1 else _stacked(self._tables(votes))
        kept = np.flatnonzero(bag.judged & (bag.rows.weights > 0))
        if not kept.size:
            self.oob_score_ = float("nan")
            return
        found = self._labels(means[kept])
        label = bag.rows.label.reshape(bag.rows.n, -1)[kept]
        first = np.cumsum([0, *bag.rows.blocks[:-1]])
        truth = np.column_stack([own[codes] for own, codes in zip(self._classes, (label - first).T, strict=True)])
        if callable(self.oob_score):
            pair = (truth, found) if self.n_outputs_ > 1 else (truth[:, 0], found[:, 0])
            self.oob_score_ = self.oob_score(*pair)
        else:
            self.oob_score_ = float(np.average((truth == found).all(axis=1), weights=bag.rows.weights[kept]))


def _stacked(tables: list[Array]) -> Array:
    """(rows, classes, targets), with zeros for classes that a target does not have."""
    width = max(table.shape[1] for table in tables)
    return np.stack([np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in tables], axis=2)
