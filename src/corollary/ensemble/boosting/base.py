"""What the two gradient boosting estimators share: parameters, the fit, raw predictions stage by stage."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from corollary.base import caller_level, check_weights, predicting
from corollary.core.door.arrays import as_fitted
from corollary.core.door.target import refuse_missing
from corollary.core.door.weights import within_reach
from corollary.core.drawing import BLUE, ORANGE, axes
from corollary.core.fitted import Count, Fitted, Floats, TreesOf
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.scaling import answer_type, magnitude
from corollary.core.trees import Trees
from corollary.core.trees.binning import MOST_BINS, Binner
from corollary.core.types import Array
from corollary.ensemble.boosting.beginning import fit_beginning, refuse_beginning, said_by
from corollary.ensemble.boosting.monitor import Monitored
from corollary.ensemble.boosting.stages import Stages
from corollary.ensemble.members import refuse_other_categories, refuse_other_columns
from corollary.referee.verdict import Verification
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.boosting.rounds import Boosting, Plan, Start, boost
from corollary.solvers.trees.boosting.rules import HistogramRules
from corollary.tree.counts import count_features, count_rows
from corollary.tree.tree_base import GROWTH_LIMITS, Fraction

PATIENCE = 10  # rounds without a lower validation loss, where nobody says how many

LIMITS: dict[str, Limit] = {
    "learning_rate": Real(low=0, above=True),
    "n_estimators": Integer(1),
    "max_leaf_nodes": Choice(None) | Integer(2),
    "max_depth": Choice(None) | Integer(1),
    "criterion": Choice("deprecated", "friedman_mse", "squared_error"),
    "min_samples_split": Integer(2) | Fraction(),
    "min_samples_leaf": Choice("auto") | Integer(1) | Fraction(),
    "min_weight_fraction_leaf": Real(low=0, high=0.5),
    "min_impurity_decrease": Real(low=0),
    "ccp_alpha": Real(low=0),
    "init": Instance("an estimator, 'zero' or None", object),
    "l1_regularization": Real(low=0),
    "l2_regularization": Real(low=0),
    "leaf_penalty": Real(low=0),
    "growth": Choice("leaf", "depth"),
    "subsample": Real(low=0, high=1, above=True),
    "max_features": GROWTH_LIMITS["max_features"],
    "max_features_per_tree": Real(low=0, high=1, above=True),
    "goss": Choice(None) | Instance("a pair (top share, other share)", tuple),
    "max_bins": Integer(2),
    "categorical_features": Choice(None, "from_dtype") | ArrayLike(),
    "category_smoothing": Real(low=0),
    "monotonic_cst": Choice(None) | ArrayLike() | Instance("a dict", dict),
    "interaction_cst": Choice(None, "pairwise", "no_interactions") | ArrayLike(),
    "early_stopping": Choice("auto") | Boolean(),
    "validation_fraction": Real(low=0, high=1, above=True),
    "n_iter_no_change": Choice(None) | Integer(1),
    "tol": Real(low=0),
    "warm_start": Boolean(),
    "verbose": Boolean() | Integer(0),
    "random_state": RANDOM_STATE,
    "n_jobs": N_JOBS,
}


class GradientBoosting(Stages):
    """Fit and raw predictions. Subclasses say what the loss is and what raw predictions mean."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "start_": Floats("scores"),
        "trees_": TreesOf(),
        "n_iter_": Count(),
    }
    start_: Array
    trees_: Trees
    n_iter_: int

    def _fit(
        self,
        X: Any,
        y: Array,
        weights: Array,
        categorical: Array,
        validation: Any,
        objective_of: Callable[[Array, Array], Objective],
        weighted: bool,
        monitor: Any,
    ) -> None:
        """Bin, boost and keep the trees. ``validation`` is (X, y, weights) or None; a loss needs y and weights.

        ``weighted``: whether somebody gave weights, which a model to begin with is then told.
        """
        if self.criterion != "deprecated":
            warnings.warn(
                f"criterion={self.criterion!r} is deprecated in scikit-learn and has no effect: trees lower the loss "
                "itself. Leave it out.",
                FutureWarning,
                stacklevel=caller_level(),
            )
        if self.max_bins > MOST_BINS:
            raise ValueError(f"{type(self).__name__}: max_bins must be ≤ {MOST_BINS}, but it is {self.max_bins}.")
        random = check_random_state(self.random_state)
        X, y, weights, validation = self._set_aside(X, y, weights, validation, random)
        objective = objective_of(y, weights)
        plan = self._plan(X, weights)
        start = self._start(objective, X, y, weights if weighted else None, validation)
        binner = Binner.fit(X, self.max_bins, categorical, weights)
        judged = None if validation is None else (validation[0], objective_of(*validation[1:]))
        boosting = Boosting(binner.words(X), binner, objective, plan, random, start, judged, X)

        def attributes(trees: Trees | None) -> dict[str, Any]:
            rounds = 0 if trees is None else trees.n_trees // len(start.constant)
            state = {"start_": start.constant, "trees_": trees or _no_trees(), "n_iter_": rounds}
            return state | self._histories(boosting, rounds)

        observe: Any = self._observer(X, y, self.n_estimators, attributes)
        if monitor is not None:
            observe = Monitored(monitor, self, boosting.begun, attributes, observe)
        trees, evidence = boost(boosting, observe)
        state = attributes(trees)
        for name in {"oob_improvement_", "oob_scores_"} - state.keys():
            self.__dict__.pop(name, None)
        for name, value in state.items():
            setattr(self, name, value)
        if monitor is not None:
            observe.end(self.n_iter_)
        self._keep_evidence(evidence)

    @property
    def _goes_on(self) -> bool:
        """Whether a fit begins with the trees of the last one."""
        return bool(self.warm_start and hasattr(self, "trees_") and self.n_iter_)

    def _read_fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> tuple[Any, Array, Array, Array]:
        before = (self.n_features_in_, self.categories_) if self._goes_on else None
        read = super()._read_fit(X, y, sample_weight, **options)
        if before is not None:  # trees would read past the end of narrower rows, and codes of categories otherwise
            refuse_other_columns(before[0], self.n_features_in_)
            refuse_other_categories(before[1], self.categories_)
        if self.min_weight_fraction_leaf:
            self._refuse_unequal(read[2])
        return read

    def _refuse_unequal(self, weights: Array) -> None:
        """Raise ValueError where a row of weight two would not be two rows: leaves are not weighed."""
        if weights.max() > weights[weights > 0].min(initial=np.inf) * (1 + 1e-9):
            raise ValueError(
                f"{type(self).__name__}: min_weight_fraction_leaf={self.min_weight_fraction_leaf} needs rows of equal "
                "weight: boosted trees count the rows of a leaf and do not weigh them. With a sample_weight that "
                "differs set min_samples_leaf instead, or repeat rows."
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        refuse_beginning(self)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.claims import verify_boosting

        return verify_boosting(self, X, y, sample_weight)

    def _check_state(self) -> None:
        super()._check_state()
        rounds, outputs = self.n_iter_, len(self.start_)
        if self.trees_.value.shape[1] != 1 or (rounds and rounds * outputs != self.trees_.n_trees):
            raise ValueError(f"{rounds} rounds of {outputs} outputs are not {self.trees_.n_trees} trees of one value.")

    def _read_validation(self, X_val: Any, y_val: Any, sample_weight_val: Any) -> tuple[Any, Array, Array]:
        """Rows that only judge, through the same door."""
        if y_val is None:
            raise ValueError("X_val needs y_val: rows without answers cannot judge.")
        X_val = self._read_predict(X_val)
        refuse_missing(y_val, numeric=not is_classifier(self))
        y_val = column_or_1d(y_val)
        check_consistent_length(X_val, y_val)
        y_val = y_val if is_classifier(self) else y_val.astype(np.float64)
        return X_val, y_val, within_reach(check_weights(sample_weight_val, X_val))[0]

    def _set_aside(self, X: Any, y: Array, weights: Array, validation: Any, random: Any) -> Any:
        """Split rows off for early stopping where it is wanted and none were given."""
        if validation is not None or not self._stops_early:
            return X, y, weights, validation
        labels = _shown(self.classes_)[y] if is_classifier(self) else None  # in the words of what may be refused
        parts = train_test_split(
            np.arange(X.shape[0]), test_size=self.validation_fraction, stratify=labels, random_state=random
        )
        kept, judged = np.sort(parts[0]), np.sort(parts[1])
        if is_classifier(self) and len(np.unique(y[kept])) < len(np.unique(y)):
            raise ValueError(
                "The training data after the early stopping split have no rows of some of the classes. Lower "
                "validation_fraction, or give rows to judge as X_val and y_val."
            )
        return X[kept], y[kept], weights[kept], (X[judged], y[judged], weights[judged])

    @property
    def _stops_early(self) -> bool:
        """Whether rows are set aside to say when to stop."""
        return self.n_iter_no_change is not None if self.early_stopping == "auto" else bool(self.early_stopping)

    def _plan(self, X: Any, weights: Array) -> Plan:
        leaves, d = self.max_leaf_nodes if self.max_leaf_nodes is not None else 2**31 - 1, X.shape[1]
        live = weights if weights.all() else weights[weights > 0]
        # what scikit-learn asks for of a mean over rows, our gains have in the sum, halved as the loss is
        price = 0.5 * (float(self.min_impurity_decrease) + float(self.ccp_alpha)) * float(weights.sum())
        rules = HistogramRules(
            max_leaves=leaves,
            max_depth=self.max_depth if self.max_depth is not None else 2**31 - 1,
            min_rows=max(_rows_of_a_leaf(self.min_samples_leaf, len(live)), self._rows_of_a_share(live)),
            min_split=count_rows(self.min_samples_split, len(live)),
            min_hessian=HistogramRules.min_hessian * self._weight_unit,
            l1=float(self.l1_regularization) * self._weight_unit,
            l2=float(self.l2_regularization) * self._weight_unit,
            leaf_cost=float(self.leaf_penalty) * self._weight_unit + price,
            smoothing=float(self.category_smoothing),
            best_first=self.growth == "leaf",
            monotone=self._directions(self.monotonic_cst),
            interactions=self._groups(d),
        )
        top, other = (None, 0.1) if self.goss is None else self.goss
        return Plan(
            learning_rate=float(self.learning_rate),
            n_rounds=self.n_estimators,
            rules=rules,
            subsample=float(self.subsample),
            columns_per_tree=float(self.max_features_per_tree),
            columns_per_node=count_features(self.max_features, d) / d,
            top_rate=top,
            other_rate=other,
            patience=PATIENCE if self.n_iter_no_change is None else self.n_iter_no_change,
            tol=float(self.tol),
        )

    def _rows_of_a_share(self, weights: Array) -> int:
        """So many rows that even those of the lightest class have ``min_weight_fraction_leaf`` of the weight."""
        if not self.min_weight_fraction_leaf:
            return 1
        reach = np.cumsum(np.sort(weights))
        return 1 + int(np.searchsorted(reach, self.min_weight_fraction_leaf * reach[-1] * (1 - 1e-12)))

    def _groups(self, n_columns: int) -> tuple[frozenset[int], ...] | None:
        """Sets of columns that may meet on a path; columns that are not named form one more set."""
        wanted = self.interaction_cst
        if wanted is None:
            return None
        if isinstance(wanted, str):
            if wanted == "no_interactions":
                return tuple(frozenset({f}) for f in range(n_columns))
            return tuple(frozenset({f, g}) for f in range(n_columns) for g in range(f + 1, n_columns))
        groups = [frozenset(int(f) for f in group) for group in wanted]
        outside = sorted(f for group in groups for f in group if not 0 <= f < n_columns)
        if outside:
            raise ValueError(f"interaction_cst names columns {outside}, but X has columns 0 to {n_columns - 1}.")
        rest = frozenset(range(n_columns)).difference(*groups)
        return (*groups, rest) if rest else tuple(groups)

    def _start(
        self, objective: Objective, X: Any, y: Array, weights: Array | None, validation: Any
    ) -> Start:  # fmt: skip
        """The best constant or what ``init`` is, or with ``warm_start`` the trees of the last fit."""
        judges = None if validation is None else validation[0]
        if not self._goes_on:
            self._forget_histories()
            model = fit_beginning(self.init, X, y, None if weights is None else weights / self._weight_unit)
            if model is not None:
                self._init_model = model
            constant = objective.start() if self.init is None else np.zeros(objective.n_outputs)
            return Start(constant, offset=self._offset(X), of_judges=self._offset(judges))
        if len(self.start_) != objective.n_outputs:
            raise ValueError("warm_start needs the loss of the fit before: it has another number of scores.")
        if self.n_estimators < self.n_iter_:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {self.n_iter_} rounds that warm_start goes "
                "on from."
            )
        raw, offset = self.trees_.predict_sum(X, self.start_), self._offset(X)
        raw = raw if offset is None else raw + offset
        return Start(self.start_, self.trees_, raw.T.copy(), offset, self._offset(judges))

    def _offset(self, X: Any) -> Array | None:
        """What the model that boosting began with says of rows, (rows, outputs); None if there is none."""
        if "_init_model" not in vars(self) or X is None:
            return None
        n_classes = len(self.classes_) if is_classifier(self) else None
        return said_by(self._init_model, X, self._loss_of_fit(), n_classes)

    def _raw_predict(self, X: Any) -> Array:
        """Raw predictions (rows, outputs)."""
        # one row of the right shape and type, for those who serve predictions one by one
        plain = as_fitted(self, X) and "_init_model" not in vars(self)
        if plain and len(X) == 1 and X.dtype == np.float64 and X.flags.carray and not np.isinf(X).any():
            return self.trees_.one_row(X, self.start_)
        return self._raw_of_rows(X)

    @predicting
    def _raw_of_rows(self, X: Any) -> Array:
        raw: Array | None = None
        begun = "_init_model" in vars(self)
        if not begun and as_fitted(self, X) and (scorer := self.trees_.scorer(X.shape[0])) is not None:
            raw = scorer.sums_unread(X, self.start_)
        if raw is None:
            X = self._read_predict(X)
            raw = self.trees_.predict_sum(X, self.start_)
            raw = raw + self._offset(X) if begun else raw
        reach = max(magnitude(self.start_), magnitude(self.trees_.value))
        return raw.astype(answer_type(X.dtype, reach), copy=False)

    def _staged_raw(self, X: Any) -> Iterator[Array]:
        X = self._read_predict(X)
        raw, offset = np.repeat(self.start_[None, :], X.shape[0], axis=0), self._offset(X)
        raw = raw if offset is None else raw + offset
        for t in range(self.n_iter_):
            self._add_round(t, X, raw)
            yield raw.copy()

    @predicting
    def _add_round(self, t: int, X: Any, raw: Array) -> None:
        k = len(self.start_)
        for j in range(k):
            raw[:, j] += self.trees_.tree(t * k + j).predict_sum(X)[:, 0]

    @predicting
    def apply(self, X: Any) -> Array:
        """Leaf of every row in every tree: (rows, rounds), of a classifier (rows, rounds, trees of a round)."""
        leaves = self.trees_.apply(self._read_predict(X))
        return leaves.reshape(len(leaves), self.n_iter_, -1) if is_classifier(self) else leaves

    @property
    def feature_importances_(self) -> Array:
        """Share of each column in the total gain."""
        return self.importances("gain")

    def importances(self, kind: str = "gain") -> Array:
        """Importance of each column by total ``"gain"`` or by number of ``"split"``s; sums to 1."""
        check_is_fitted(self)
        if kind not in ("gain", "split"):
            raise ValueError(f"kind must be 'gain' or 'split', but it is {kind!r}.")
        return self.trees_.importances(self.n_features_in_, by_gain=kind == "gain")

    def plot(self, ax: Any = None) -> Any:
        """Draw the learning curve: training loss, and validation loss where there is one, against rounds."""
        check_is_fitted(self)
        ax = axes(ax)
        history = self.evidence_.history
        ax.plot(history["iteration"], history["objective"], color=BLUE, label="training")
        if "validation loss" in history:
            ax.plot(history["iteration"], history["validation loss"], color=ORANGE, label="validation")
            ax.axvline(self.n_iter_, color="0.5", ls="--", lw=1, label=f"kept: {self.n_iter_} rounds")
        ax.set(xlabel="boosting rounds", ylabel="mean loss", title=f"{type(self).__name__}: learning curve")
        ax.grid(alpha=0.25)
        ax.legend(frameon=False)
        return ax


def _rows_of_a_leaf(wanted: Any, n: int) -> int:
    """Least rows of a leaf; "auto" is 20, but of few rows one for every twenty: leaves of 20 would hide them all."""
    if isinstance(wanted, str):
        return min(20, max(1, n // 20))
    return count_rows(wanted, n)


def _shown(classes: Array) -> Array:
    """Labels as scikit-learn's errors show them: numbers as numbers, the rest as it is."""
    return classes.astype(np.float64) if classes.dtype.kind in "iub" else classes


def _no_trees() -> Trees:
    """One leaf that adds nothing: a model that was stopped before its first round."""
    empty = np.zeros(1, dtype=np.int32)
    return Trees(
        roots=empty,
        feature=np.full(1, -1, dtype=np.int32),
        threshold=np.full(1, np.nan),
        left=np.full(1, -1, dtype=np.int32),
        missing_left=np.zeros(1, dtype=bool),
        category=np.full(1, -1, dtype=np.int32),
        bitsets=np.zeros((0, 1), dtype=np.uint32),
        value=np.zeros((1, 1)),
        weight=np.zeros(1),
        count=empty,
        impurity=np.zeros(1),
        gain=np.zeros(1),
    )
