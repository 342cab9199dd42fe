"""What forests for regression share: means, quantiles, several outputs, out-of-bag R²."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from corollary.base import check_weights, fitting
from corollary.core.limits import Boolean, Choice, Limit
from corollary.core.parallel import each_block, threads
from corollary.core.types import Array
from corollary.ensemble.forest.base import Forest, Target
from corollary.solvers.trees.forest.growth import Grown
from corollary.solvers.trees.forest.out_of_bag import OutOfBag
from corollary.solvers.trees.forest.proximity import Proximity
from corollary.solvers.trees.forest.rows import Rows
from corollary.solvers.trees.forest.storage import small

REGRESSOR_LIMITS: dict[str, Limit] = {
    "criterion": Choice("squared_error", "poisson"),
    "keep_targets": Boolean(),
} | Forest.limits


class ForestRegressor(RegressorMixin, Proximity, Forest):
    """A forest whose leaves hold means."""

    leaf_targets_: dict[str, Array]  # training targets of each leaf, with ``keep_targets``

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.criterion != "poisson"
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees."""
        several = self.criterion != "poisson"
        X, y, weights, categorical = self._read_fit(X, y, sample_weight, multi_output=several)
        target = self._numbers_to_learn(y, weights)
        assert target.y is not None
        if self.keep_targets and (target.y.shape[1] > 1 or self.warm_start):
            raise ValueError("keep_targets is for one output and without warm_start.")
        if self.monotonic_cst is not None and target.y.shape[1] > 1:
            raise ValueError(f"monotonic_cst is for one output, but y has {target.y.shape[1]}.")
        self.n_outputs_ = target.y.shape[1]
        self.__dict__.pop("leaf_targets_", None)
        self._grow(X, target, categorical)
        return self

    def _numbers_to_learn(self, y: Array, weights: Array) -> Target:
        y = np.asarray(y, dtype=np.float64)
        numbers = y[:, None] if y.ndim == 1 else y
        if self.criterion == "poisson" and (numbers.min() < 0 or numbers.sum() <= 0):
            raise ValueError(
                "criterion='poisson' needs y without negative numbers and with a positive sum, but the smallest y is "
                f"{numbers.min():g} and the sum is {numbers.sum():g}. Use criterion='squared_error'."
            )
        return Target(weights, y=numbers)

    def _target(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Target]:
        X = self._read_predict(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        return X, self._numbers_to_learn(y, check_weights(sample_weight, X))

    def _keep_votes(self, bag: OutOfBag, order: Array) -> None:
        from sklearn.metrics import r2_score

        votes = np.empty_like(bag.votes)
        votes[order] = bag.mean_votes()
        self.oob_prediction_ = votes[:, 0] if votes.shape[1] == 1 else votes
        kept = bag.judged & (bag.rows.weights > 0)
        if kept.sum() < 2:
            self.oob_score_ = float("nan")
            return
        truth, found = bag.rows.y[kept], bag.mean_votes()[kept]
        if callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth.squeeze(), found.squeeze())
        else:
            self.oob_score_ = float(r2_score(truth, found, sample_weight=bag.rows.weights[kept]))

    @property
    def _needs_members(self) -> bool:
        return bool(self.keep_targets)

    def _keep_targets(self, rows: Rows, parts: list[Grown], order: Array) -> None:
        if not self.keep_targets:
            return
        values, ranks = np.unique(rows.y[:, 0], return_inverse=True)
        members = np.concatenate([part.inside for part in parts])
        self.leaf_targets_ = {
            "values": values,
            "ranks": small(ranks[members]),
            "mass": small(np.concatenate([part.inside_mass for part in parts])),
        }

    def predict(self, X: Any) -> Array:
        """Mean over the trees of the mean at each row's leaf."""
        means = self._means(X)
        return means[:, 0] if means.shape[1] == 1 else means

    def predict_quantiles(self, X: Any, quantiles: Any = (0.1, 0.5, 0.9)) -> Array:
        """Quantiles of the training targets that share leaves with each row (a quantile regression forest).

        A target counts as much as it does in ``predict``, so the mean of this distribution is the prediction.

        Parameters
        ----------
        X : table
        quantiles : floats in [0, 1]

        Returns
        -------
        array of shape (rows, quantiles)
        """
        from corollary._compiled.trees.forest.nodes import weighted_quantiles

        check_is_fitted(self, "nodes_")
        if not hasattr(self, "leaf_targets_"):
            raise ValueError("predict_quantiles needs the targets of each leaf; fit with keep_targets=True.")
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if levels.ndim != 1 or not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"quantiles must lie between 0 and 1, but they are {quantiles!r}.")
        X = self._read_predict(X)
        ascending = np.argsort(levels, kind="stable")
        out = np.empty((X.shape[0], len(levels)))
        kept, trees = self.leaf_targets_, self.trees_
        rows = np.where(trees.is_leaf, trees.count, 0)
        stops = np.cumsum(rows)
        fits = stops[-1] == len(kept["ranks"]) == len(kept["mass"]) and kept["ranks"].dtype.kind == "u"
        if not fits or int(kept["ranks"].max(initial=0)) >= len(kept["values"]):
            raise ValueError("forest: the targets of leaves do not fit the leaves.")
        masses = kept["mass"].astype(np.float64)

        def run(start: int, stop: int) -> None:
            leaves = trees.apply(X[start:stop])
            found = np.empty((stop - start, len(levels)))
            weighted_quantiles(
                leaves, stops - rows, stops, kept["ranks"].astype(np.int64, copy=False), masses, trees.weight,
                levels[ascending], kept["values"], found,
            )  # fmt: skip
            out[start:stop, ascending] = found

        with threads(self.n_jobs):
            each_block(run, X.shape[0], 256)
        return out
