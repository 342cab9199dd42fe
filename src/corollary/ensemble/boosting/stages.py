"""What scikit-learn's gradient boosting has as fitted attributes, read off our trees: nothing here is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from corollary.core.fitted import Fitted, Floats, Maybe, Model
from corollary.core.loss import Loss
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.ensemble.boosting.beginning import constant_model
from corollary.solvers.trees.boosting.rounds import Boosting
from corollary.tables import TableReader
from corollary.tree.counts import count_features
from corollary.tree.decision_tree import DecisionTreeRegressor

_HISTORIES = ("train_score_", "oob_improvement_", "oob_scores_")


class Stages(TableReader):
    """The rounds of boosting as scikit-learn shows them."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "train_score_": Maybe(Floats("rounds", finite=False)),  # files of earlier releases have none
        "oob_improvement_": Maybe(Floats("rounds", finite=False)),
        "oob_scores_": Maybe(Floats("rounds", finite=False)),
        "_init_model": Maybe(Model("predict", columns="d")),
    }
    init: Any
    max_features: Any
    max_depth: int | None
    min_impurity_decrease: float
    learning_rate: float
    start_: Array
    trees_: Trees
    n_iter_: int
    train_score_: Array
    oob_scores_: Array
    oob_improvement_: Array

    def _loss_of_fit(self) -> Loss:
        """The loss whose link raw predictions have."""
        raise NotImplementedError

    @property
    def n_estimators_(self) -> int:
        """Rounds kept."""
        return self.n_iter_

    @property
    def n_trees_per_iteration_(self) -> int:
        """Trees of a round."""
        return len(self.start_)

    @property
    def max_features_(self) -> int:
        """Columns that are tried at a node."""
        return count_features(self.max_features, self.n_features_in_)

    @property
    def oob_score_(self) -> float:
        """The last of ``oob_scores_``."""
        return self.oob_scores_[-1]

    @property
    def init_(self) -> Any:
        """The model that boosting started from, fitted; ``"zero"`` if that was zero."""
        if "_init_model" in vars(self):
            return self._init_model
        if not hasattr(self, "start_"):
            raise NotFittedError(f"{type(self).__name__} has no init_ before fit.")
        return "zero" if isinstance(self.init, str) else constant_model(self, self._loss_of_fit())

    @property
    def estimators_(self) -> Array:
        """The trees as regressors, an array (rounds, trees of a round); made anew whenever it is asked for.

        Their predictions, times ``learning_rate`` and added to what ``init_`` says, are raw predictions.
        """
        if not hasattr(self, "trees_"):
            raise NotFittedError(f"{type(self).__name__} has no estimators_ before fit.")
        k = len(self.start_)
        found = np.empty((self.n_iter_, k), dtype=object)
        for t in range(self.n_iter_ * k):
            found[divmod(t, k)] = self._as_regressor(self.trees_.tree(t))
        return found

    def _as_regressor(self, tree: Trees) -> DecisionTreeRegressor:
        deepest = None if self.max_depth is None else min(self.max_depth, max(1, tree.depth()))
        model = DecisionTreeRegressor(
            max_depth=deepest, min_impurity_decrease=self.min_impurity_decrease, max_features=self.max_features
        )
        model.trees_ = replace(tree, value=tree.value / self.learning_rate)
        model.n_features_in_, model.n_outputs_, model.max_features_ = self.n_features_in_, 1, self.max_features_
        model.categories_ = self.categories_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    def _histories(self, boosting: Boosting, rounds: int) -> dict[str, Array]:
        """Losses after each round that is kept, in scikit-learn's units, after those of the fit that is gone on from.

        Rounds of which no row was out of the sample have zeros, if others have such rows.
        """
        begun, new = boosting.begun, rounds - boosting.begun
        unit = boosting.objective.loss.deviance
        old = {name: vars(self)[name] for name in _HISTORIES if begun and name in vars(self)}
        found = {"train_score_": unit * boosting.seen_losses()[:new]}
        if boosting.outside:
            scores = unit * np.array(boosting.outside)[:new, 0]
            known = "oob_scores_" in old and old["oob_scores_"][begun - 1] != 0
            first = old["oob_scores_"][begun - 1] if known else unit * boosting.outside_before
            found["oob_scores_"] = scores
            found["oob_improvement_"] = -np.diff(scores, prepend=first)
        elif "oob_scores_" in old:
            found |= {name: np.zeros(new) for name in ("oob_scores_", "oob_improvement_")}
        return {
            name: np.concatenate([old.get(name, np.zeros(begun))[:begun], values]) for name, values in found.items()
        }

    def _forget_histories(self) -> None:
        for name in (*_HISTORIES, "_init_model"):
            self.__dict__.pop(name, None)

    def _check_state(self) -> None:
        super()._check_state()
        for name in _HISTORIES:
            if name in vars(self) and len(vars(self)[name]) != self.n_iter_:
                raise ValueError(f"{name} has {len(vars(self)[name])} numbers, but there are {self.n_iter_} rounds.")
        if "_init_model" in vars(self):
            check_is_fitted(self._init_model)
