"""What the decision trees share: how parameters become rules, the fit with its evidence, and all that reads a tree."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.utils import Bunch, check_random_state, metadata_routing
from sklearn.utils.validation import check_is_fitted

from corollary.base import predicting
from corollary.core.evidence import Evidence, Status
from corollary.core.fitted import Count, Fitted, TreesOf
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Choice, Instance, Integer, Limit, Real
from corollary.core.scaling import answer_type, magnitude
from corollary.core.trees import Trees
from corollary.core.trees.binning import MOST_BINS
from corollary.core.trees.view import TreeView, numbered, view_of
from corollary.core.types import Array
from corollary.referee.verdict import Verification
from corollary.tables import TableReader
from corollary.tree.counts import count_features, count_rows
from corollary.tree.growth import Growth


class Fraction(Limit):
    """A number in (0, 1] that is not a whole number by its type: 1.0 is all, 1 is one."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral) and 0 < float(value) <= 1

    def __str__(self) -> str:
        return "a fraction in (0, 1]"


GROWTH_LIMITS: dict[str, Limit] = {
    "splitter": Choice("best", "random"),
    "max_depth": Choice(None) | Integer(1),
    "min_samples_split": Integer(2) | Fraction(),
    "min_samples_leaf": Integer(1) | Fraction(),
    "min_weight_fraction_leaf": Real(low=0, high=0.5),
    "max_features": Choice(None, "sqrt", "log2") | Integer(1) | Fraction(),
    "random_state": RANDOM_STATE,
    "max_leaf_nodes": Choice(None) | Integer(2),
    "min_impurity_decrease": Real(low=0),
    "ccp_alpha": Real(low=0),
    "monotonic_cst": Choice(None) | ArrayLike() | Instance("a dict", dict),
    "categorical_features": Choice(None, "from_dtype") | ArrayLike(),
    "max_bins": Choice(None) | Integer(2),
    "n_jobs": N_JOBS,
}


class DecisionTree(TableReader):
    """A fitted tree ``trees_`` and what can be asked of it. A stump has these parameters as constants of its class.

    Methods take ``check_input`` because scikit-learn's do; the checks cost little, and are made whatever it is.
    """

    # an option of methods, not data that a pipeline hands on
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"check_input": metadata_routing.UNUSED}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {"check_input": metadata_routing.UNUSED}
    __metadata_request__predict_proba: ClassVar[dict[str, Any]] = {"check_input": metadata_routing.UNUSED}

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_outputs_": Count("outputs", low=1),
        "max_features_": Count(low=1),
        "trees_": TreesOf(outputs="outputs", trees=1),
    }
    criterion: str
    splitter: str
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    max_features: Any
    random_state: Any
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    ccp_alpha: float
    monotonic_cst: Any
    max_bins: int | None
    n_jobs: int | None

    trees_: Trees
    n_outputs_: int
    max_features_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_parameters(self) -> None:
        wanted: Any = self.min_samples_split
        if wanted is not True and isinstance(wanted, numbers.Integral) and wanted == 1:
            raise ValueError(
                f"The 'min_samples_split' parameter of {type(self).__name__} must be an int in the range [2, inf) or a "
                f"float in the range (0.0, 1.0], but it is {wanted!r}: 1.0 is all rows, 1 is one, which is never split."
            )
        super()._check_parameters()

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[Any, Array, Array, Array]:
        """As ``_read_fit``, for one target or several."""
        if scipy.sparse.issparse(y):
            raise TypeError("A sparse y was passed, but dense data is required: y.toarray() makes it dense.")
        return self._read_fit(X, y, sample_weight, multi_output=True, **options)

    def _rules(self, X: Any, weights: Array, categorical: Array, one_value: bool) -> Any:
        """The rules of this tree for X, with fractions made numbers; ``one_value``: a node predicts one number."""
        from corollary.solvers.trees.exact.grow import ExactRules

        if self.max_bins is not None and self.max_bins > MOST_BINS:
            raise ValueError(f"{type(self).__name__}: max_bins must be ≤ {MOST_BINS}, but it is {self.max_bins}.")
        n, d = int((weights > 0).sum()), X.shape[1]
        total = float(weights.sum())
        self.max_features_ = count_features(self.max_features, d)
        min_leaf = count_rows(self.min_samples_leaf, n)
        chance = self.max_features_ < d or self.splitter == "random"
        return ExactRules(
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_split=max(2, count_rows(self.min_samples_split, n), 2 * min_leaf),
            min_samples_leaf=min_leaf,
            min_weight=self.min_weight_fraction_leaf * total,
            min_gain=self.min_impurity_decrease * total,
            max_features=self.max_features_,
            max_leaf_nodes=self.max_leaf_nodes,
            random_thresholds=self.splitter == "random",
            categorical=categorical,
            monotone=self._monotone(one_value),
            max_bins=self.max_bins,
            seed=self._seed() if chance else 0,
        )

    def _seed(self) -> int:
        """A number for what is left to chance; of a tree of bins a seed is itself, as it is of a tree of a forest."""
        if self.max_bins is not None and isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _monotone(self, one_value: bool) -> Array | None:
        """Directions per column, or None if there are none; only one number can rise or fall."""
        if self.monotonic_cst is not None and self.n_outputs_ > 1:
            raise ValueError(no_direction(self.n_outputs_))
        directions = self._directions(self.monotonic_cst)
        if directions is not None and not one_value:
            raise ValueError(no_direction(self.n_outputs_))
        return directions

    def _grow(
        self, X: Any, y: Array, weights: Array, categorical: Array, n_classes: list[int] | None
    ) -> None:  # fmt: skip
        """Grow, prune, check and keep the tree; y is (n, outputs) of class numbers or numbers."""
        from corollary.solvers.trees.exact.pruning import prune

        self._observer(X, y, 0, lambda state: {})
        self.n_outputs_ = y.shape[1]
        one_value = y.shape[1] == 1 and (n_classes is None or n_classes[0] == 2)
        rules = self._rules(X, weights, categorical, one_value)
        growth = Growth(X, y, weights, rules, n_classes)
        self.trees_ = prune(growth.trees, self.ccp_alpha) if self.ccp_alpha > 0 else growth.trees
        leaves = self.trees_.apply(X)[:, 0]
        certificate, found, below = growth.judge(self.trees_, leaves, self.ccp_alpha)
        error = below / float(weights.sum())
        if n_classes is not None:
            error = _training_error(self.trees_.value[leaves], y, weights, n_classes)
        evidence = Evidence(
            status=Status.EXACT,
            certificate=certificate,
            solver=growth.solver,
            facts={
                "depth": float(self.trees_.depth()),
                "leaves": float(self.trees_.is_leaf.sum()),
                "training error": error,
                "nodes searched again": 0.0 if found is None else float(found.drawn),
            }
            | ({} if found is None else {"nodes that could be searched": float(found.nodes)}),
            notes=("No node of a member was searched again." if found is None else found.sentence,),
        )
        self._keep_evidence(evidence)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.tree.claims import verify_tree

        return verify_tree(self, self._read_predict(X), y, sample_weight)

    @property
    def feature_importances_(self) -> Array:
        """Share of each column in the total fall of impurity; zeros if nothing was split."""
        check_is_fitted(self)
        return self.trees_.importances(self.n_features_in_)

    def get_depth(self) -> int:
        """Length of the longest path from the root to a leaf."""
        check_is_fitted(self)
        return self.trees_.depth()

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return int(self.trees_.is_leaf.sum())

    @property
    def tree_(self) -> TreeView:
        """The tree under scikit-learn's names, for tools that read those; made when first asked for."""
        check_is_fitted(self)
        return view_of(self, self.trees_, self._values_of_outputs())

    def _values_of_outputs(self) -> list[int]:
        """How many numbers a node has for each output."""
        return [1] * self.n_outputs_

    @predicting
    def apply(self, X: Any, check_input: bool = True) -> Array:
        """The number of the leaf that each row reaches, as ``tree_`` and scikit-learn number nodes: depth first."""
        return numbered(self, self.trees_, self._values_of_outputs()).apply(self._read_predict(X))

    def _leaf_values(self, X: Any) -> Array:
        """The values at the leaves of the rows, in the precision of X."""
        X = self._read_predict(X)
        values = self.trees_.value
        return values[self.trees_.apply(X)[:, 0]].astype(answer_type(X.dtype, magnitude(values)), copy=False)

    @predicting
    def decision_path(self, X: Any, check_input: bool = True) -> Any:
        """The nodes that each row passes, as a CSR matrix (rows, nodes) of ones."""
        return numbered(self, self.trees_, self._values_of_outputs()).decision_path(self._read_predict(X))

    def _pruning_path(self, X: Any, y: Any, sample_weight: Any) -> Bunch:
        """The path of a fresh, unpruned fit to these rows."""
        from sklearn.base import clone

        from corollary.solvers.trees.exact.pruning import pruning_path

        fresh = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight=sample_weight)
        alphas, impurities = pruning_path(fresh.trees_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def plot(self, ax: Any = None, max_depth: int = 6) -> Any:
        """Draw the tree down to ``max_depth``; returns the matplotlib axes."""
        from corollary.tree.plots import plot_tree

        return plot_tree(self, ax=ax, max_depth=max_depth)


def no_direction(n_outputs: int) -> str:
    """Why monotone constraints are refused."""
    what = "multiple outputs" if n_outputs > 1 else "multiclass classification"
    return (
        f"Monotonicity constraints are not supported with {what}: monotonic_cst is for one number to predict, or the "
        "probability of the second of two classes."
    )


def _training_error(value: Array, y: Array, weights: Array, n_classes: list[int]) -> float:
    """Weighted share of labels that the tree gets wrong, over all outputs."""
    wrong, start = 0.0, 0
    for o, k in enumerate(n_classes):
        wrong += float(weights @ (value[:, start : start + k].argmax(axis=1) != y[:, o]))
        start += k
    return wrong / (float(weights.sum()) * len(n_classes))
