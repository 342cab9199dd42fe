"""What forests for regression share: means, quantiles, several outputs, out-of-bag R²."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length

from corollary.base import assigning, check_weights, fitting, predicting
from corollary.core.door.reach import SQUARES, refuse_targets
from corollary.core.door.weights import within_reach
from corollary.core.fitted import Fitted, Floats, Maybe
from corollary.core.limits import Boolean, Choice, Limit
from corollary.core.trees.dependence import partial_dependence
from corollary.core.types import Array
from corollary.ensemble.forest.base import Forest
from corollary.solvers.trees.forest.beyond_sums import needs_more_than_sums
from corollary.solvers.trees.forest.nodes import GrownTree
from corollary.solvers.trees.forest.out_of_bag import OutOfBag
from corollary.solvers.trees.forest.rows import BinnedRows, Target
from corollary.solvers.trees.forest.shared_leaves import keep_targets, leaf_quantiles
from corollary.solvers.trees.forest.storage import TARGETS
from corollary.tree.criteria import refuse_for_poisson, renaming_criterion
from corollary.tree.tree_base import no_direction


class ForestRegressor(RegressorMixin, Forest):
    """A forest whose leaves hold means."""

    leaf_targets_: dict[str, Array]  # training targets of each leaf, with ``keep_targets``

    fitted: ClassVar[dict[str, Fitted]] = {
        "oob_prediction_": Maybe(Floats("?", finite=False) | Floats("?", "outputs", finite=False)),
        "leaf_targets_": Maybe(TARGETS),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "criterion": Choice("squared_error", "absolute_error", "poisson"),
        "keep_targets": Boolean(),
    } | Forest.limits

    @renaming_criterion
    @assigning
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        keep_targets: bool = False,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.criterion != "poisson"  # else it would be tested with y < 0
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees."""
        if self._is_complete(X):
            return self
        refuse_for_poisson(self.criterion, y)
        X, y, weights, categorical = self._read_rows(X, y, sample_weight)
        target = self._numbers_to_learn(y, weights)
        assert target.y is not None
        if self.keep_targets and (target.y.shape[1] > 1 or self.warm_start):
            raise ValueError("keep_targets is for one output and without warm_start.")
        if self.monotonic_cst is not None and target.y.shape[1] > 1:
            raise ValueError(no_direction(target.y.shape[1]))
        self.n_outputs_ = target.y.shape[1]
        self.__dict__.pop("leaf_targets_", None)
        self._grow(X, target, categorical)
        return self

    def _numbers_to_learn(self, y: Array, weights: Array) -> Target:
        y = np.asarray(y, dtype=np.float64)
        numbers = y[:, None] if y.ndim == 1 else y
        refuse_for_poisson(self.criterion, numbers, weights)
        refuse_targets(numbers, weights, SQUARES)
        return Target(weights, y=numbers)

    def _target(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Target]:
        X = self._read_predict(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        return X, self._numbers_to_learn(y, within_reach(check_weights(sample_weight, X))[0])

    def _set_oob_score_and_attributes(self, bag: OutOfBag, order: Array) -> None:
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

    def _check_state(self) -> None:
        super()._check_state()
        if self.trees_.value.shape[1] != self.n_outputs_:
            raise ValueError(f"n_outputs_ is {self.n_outputs_}, but leaves have {self.trees_.value.shape[1]} numbers.")

    @property
    def _stores_inner_nodes(self) -> bool:
        return needs_more_than_sums(self.criterion, self.n_outputs_)

    @property
    def _needs_members(self) -> bool:
        return bool(self.keep_targets)

    def _keep_targets(self, rows: BinnedRows, parts: list[GrownTree]) -> None:
        if self.keep_targets:
            members, mass = ([getattr(part, name) for part in parts] for name in ("inside", "inside_mass"))
            self.leaf_targets_ = keep_targets(rows.y[:, 0], np.concatenate(members), np.concatenate(mass))

    @predicting
    def predict(self, X: Any) -> Array:
        """Mean over the trees of the mean at each row's leaf."""
        means = self._means(X)
        return means[:, 0] if means.shape[1] == 1 else means

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> Array:
        """What ``sklearn.inspection.partial_dependence`` asks of a regression forest."""
        return partial_dependence(self.trees_, grid, list(map(int, target_features)))[:, 0]

    @predicting
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
        if not hasattr(self, "leaf_targets_"):
            raise ValueError("predict_quantiles needs the targets of each leaf; fit with keep_targets=True.")
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if levels.ndim != 1 or not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"quantiles must lie between 0 and 1, but they are {quantiles!r}.")
        return leaf_quantiles(self.trees_, self.leaf_targets_, self._read_predict(X), levels)
