"""What all forests share: parameters, the fit, predictions, leaves and importances."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from corollary.base import caller_level, predicting
from corollary.core.derived import Derived
from corollary.core.door.arrays import as_fitted
from corollary.core.drawing import BLUE, axes
from corollary.core.fitted import Anything, Count, Fitted, Maybe, Record
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.scaling import answer_type, magnitude
from corollary.core.trees import Trees
from corollary.core.trees.binning import MOST_BINS, Binner
from corollary.core.trees.paths import decision_paths
from corollary.core.types import Array
from corollary.ensemble.forest.members import (
    DRAWN_FROM,
    check_drawn_from,
    drawn_from,
    members,
    samples,
    unfitted_member,
)
from corollary.ensemble.members import refuse_other_categories, refuse_other_columns
from corollary.referee.verdict import Verification
from corollary.solvers.draws import fingerprint
from corollary.solvers.trees.forest.forest import ForestGrowth, grow_forest, nothing_grown
from corollary.solvers.trees.forest.growth import NO_LIMIT, ForestRules
from corollary.solvers.trees.forest.nodes import GrownTree
from corollary.solvers.trees.forest.out_of_bag import OutOfBag, coded_trees, permutation_importance
from corollary.solvers.trees.forest.rows import BinnedRows, Target, n_draws
from corollary.solvers.trees.forest.shared_leaves import proximities
from corollary.solvers.trees.forest.storage import NODES, WHOLE_NODES, Walker, expand, stored_binner
from corollary.tables import TableReader
from corollary.tree.counts import count_features

_SEEDS = 2**31 - 1  # seeds of trees are such as estimators take
_expanded: Derived[Walker] = Derived()


class Forest(TableReader):
    """Growing and reading a forest. Subclasses say what a leaf means."""

    nodes_: dict[str, Array]  # the trees as they are stored; ``trees_`` is what follows from them
    data_key_: int  # tells whether rows given later are those of the fit
    _n_draws: int  # rows that a tree draws; 0 is none
    _random_cuts: ClassVar[bool]

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_outputs_": Count("outputs", low=1),
        "nodes_": NODES | WHOLE_NODES,
        "data_key_": Count(low=-(2**63)),
        "_n_draws": Count(),
        "_before": Maybe(Record(Count(), Count())),
        "_drawn_from": DRAWN_FROM,
        "oob_score_": Maybe(Anything()),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "n_estimators": Integer(1),
        "max_depth": Choice(None) | Integer(1),
        "min_samples_split": Integer(2) | Real(0, 1, above=True),
        "min_samples_leaf": Integer(1) | Real(0, 1, above=True),
        "min_weight_fraction_leaf": Real(0, 0.5),
        "max_features": Choice("sqrt", "log2", None) | Integer(1) | Real(0, 1, above=True),
        "max_leaf_nodes": Choice(None) | Integer(2),
        "min_impurity_decrease": Real(0),
        "bootstrap": Boolean(),
        "oob_score": Boolean() | Instance("a function of (y, predictions)", methods=("__call__",)),
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
        "verbose": Integer(0) | Boolean(),
        "warm_start": Boolean(),
        "ccp_alpha": Real(0),
        "max_samples": Choice(None) | Integer(1) | Real(0, above=True),
        "monotonic_cst": Choice(None) | ArrayLike() | Instance("a dict", dict),
        "max_bins": Integer(2, MOST_BINS),
        "categorical_features": Choice(None, "from_dtype") | ArrayLike(),
    }

    def _grow(self, X: Any, target: Target, categorical: Array) -> None:
        """Grow the trees and keep them, the evidence and what was asked for."""
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "Out of bag estimation only available if bootstrap=True: without draws every tree sees every row."
            )
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set "
                "`max_sample=None`."
            )
        random = check_random_state(self.random_state)
        earlier = self._earlier(X.shape[1])
        if earlier is None:
            binner = Binner.fit(X, self.max_bins, categorical, target.weights)
        else:
            binner = stored_binner(earlier)
        draws = n_draws(self.max_samples, target.weights) if self.bootstrap else 0
        rows, order, keys = self._rows(X, target, binner, draws)
        seeds = random.randint(_SEEDS, size=self.n_estimators, dtype=np.int64)
        key = fingerprint(keys, target.weights)
        begun = others = 0 if earlier is None else len(earlier["sizes"])
        if earlier is not None and (self.data_key_, self._n_draws) == (key, draws):
            others = self._taken_over[1]
        growth = ForestGrowth(
            rows, self._rules(rows), seeds, earlier=earlier, others=others, judged=bool(self.oob_score),
            members=self._needs_members,
        )  # fmt: skip
        observe = self._observer(X, target.answers, self.n_estimators, lambda nodes: {"nodes_": nodes})
        self.nodes_, evidence = grow_forest(growth, observe)
        self.data_key_, self._n_draws, self._before = key, draws, (begun, others)
        self._drawn_from = drawn_from(rows, order)
        self._keep_targets(rows, growth.parts)
        if growth.bag is not None:
            self._set_oob_score_and_attributes(growth.bag, order)
            if not evidence.status.cut_short:
                _warn_of_rows_without_votes(growth.bag)
        self._keep_evidence(evidence)

    def _is_complete(self, X: Any) -> bool:
        """Whether a warm start has nothing to add: it warns, trees stay what they are, and nothing is said of them."""
        if not self.warm_start or len(self.__dict__.get("nodes_", {}).get("sizes", ())) != self.n_estimators:
            return False
        shape = getattr(X, "shape", None) or np.shape(X)
        if len(shape) == 2:
            refuse_other_columns(self.n_features_in_, shape[1])
        warnings.warn(
            "Warm-start fitting without increasing n_estimators does not fit new trees.",
            UserWarning,
            stacklevel=caller_level(),
        )
        if self.oob_score and not hasattr(self, "oob_score_"):
            return False
        self._before = self.n_estimators, self._taken_over[1]
        self._observer(None, None, 0, lambda state: {})
        self._keep_evidence(nothing_grown(self.evidence_, self.n_estimators))
        return True

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[Any, Array, Array, Array]:
        """As ``_read_fit``, for one target or several."""
        if scipy.sparse.issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported. y.toarray() makes it dense.")
        before = self.categories_ if self.warm_start and "nodes_" in self.__dict__ else None
        X, y, weights, categorical = self._read_fit(X, y, sample_weight, multi_output=True, **options)
        if before is not None:
            refuse_other_categories(before, self.categories_)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. y.ravel() makes one of it.",
                DataConversionWarning,
                stacklevel=caller_level(),
            )
        return X, y, weights, categorical

    @property
    def _taken_over(self) -> tuple[int, int]:
        """How many trees are of earlier fits, and how many of these drew from other rows."""
        found: tuple[int, int] = self.__dict__.get("_before", (0, 0))  # which older files do not tell
        return found

    def _check_state(self) -> None:
        super()._check_state()
        stored_binner(self.nodes_).check()  # a warm start grows trees on them
        check_drawn_from(self)
        if not len(self.nodes_["sizes"]) >= self._taken_over[0] >= self._taken_over[1]:
            raise ValueError(f"of {len(self.nodes_['sizes'])} trees, {self._taken_over} cannot be of earlier fits.")

    def _keep_targets(self, rows: BinnedRows, parts: list[GrownTree]) -> None:
        """For those who need to know the training targets of each leaf."""

    @abstractmethod
    def _set_oob_score_and_attributes(self, bag: OutOfBag, order: Array) -> None:
        """Out-of-bag attributes; rows of ``bag`` are rows ``order`` of X."""

    @property
    def _stores_inner_nodes(self) -> bool:
        """Whether values of inner nodes do not follow from those of leaves."""
        return False

    @property
    def _needs_members(self) -> bool:
        return False

    def _earlier(self, n_columns: int) -> dict[str, Array] | None:
        """With ``warm_start``, the trees of the last fit."""
        nodes: dict[str, Array] | None = self.__dict__.get("nodes_")
        if not self.warm_start or nodes is None:
            return None
        refuse_other_columns(len(nodes["n_bins"]), n_columns)
        if ("inner_sums" in nodes) != (self._stores_inner_nodes):
            raise ValueError("warm_start needs the criterion of the last fit: its trees are of another kind.")
        if self.n_estimators < len(nodes["sizes"]):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {len(nodes['sizes'])} trees that "
                "warm_start goes on from."
            )
        return nodes

    def _rows(self, X: Any, target: Target, binner: Binner, draws: int) -> tuple[BinnedRows, Array, Array]:
        relative = self.criterion == "poisson"
        return BinnedRows.of(X, target, binner, draws, random_cuts=self._random_cuts, relative=relative)

    def _rules(self, rows: BinnedRows) -> ForestRules:
        """What the parameters mean for these rows."""
        n, d = int((rows.weights > 0).sum()), len(rows.codes)
        leaf, split = self.min_samples_leaf, self.min_samples_split
        return ForestRules(
            criterion=self.criterion,
            max_depth=NO_LIMIT if self.max_depth is None else int(self.max_depth),
            min_split=int(split) if isinstance(split, Integral) else max(2, math.ceil(split * n)),
            min_leaf=int(leaf) if isinstance(leaf, Integral) else max(1, math.ceil(leaf * n)),
            min_mass_share=float(self.min_weight_fraction_leaf),
            min_gain=float(self.min_impurity_decrease),
            max_features=count_features(self.max_features, d),
            max_leaves=0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            ccp_alpha=float(self.ccp_alpha),
            monotone=self._directions(self.monotonic_cst),
        )

    @property
    def trees_(self) -> Trees:
        """The trees with thresholds, values, weights, impurities and gains at every node."""
        check_is_fitted(self, "nodes_")
        return self._walker.trees

    @property
    def _walker(self) -> Walker:
        return _expanded.of(self, self.nodes_, self._expand)

    def _expand(self) -> Walker:
        classes = hasattr(self, "classes_")
        trees = expand(self.nodes_, self.criterion, classes=classes, n_features=self.n_features_in_)
        return Walker(self._as_told(trees), self.nodes_)

    def _as_told(self, trees: Trees) -> Trees:
        """The trees that were learnt with the values that they predict."""
        return trees

    def _as_learnt(self, trees: Trees) -> Trees:
        """What ``_as_told`` was given."""
        return trees

    @property
    def estimator(self) -> Any:
        """A decision tree, not fitted, with the parameters of the trees."""
        return unfitted_member(self)

    @property
    def estimator_(self) -> Any:
        """As ``estimator``, of a forest that is fitted."""
        check_is_fitted(self, "nodes_")
        return unfitted_member(self)

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted decision trees, which know classes by their numbers; made when first asked for."""
        check_is_fitted(self, "nodes_")
        return members(self)

    @property
    def _n_samples_bootstrap(self) -> int | None:
        """Rows that a tree draws, by scikit-learn's name; None without draws."""
        return self._n_draws or None

    @property
    def estimators_samples_(self) -> list[Array]:
        """The rows that each tree drew, as often as it did, int32."""
        check_is_fitted(self, "nodes_")
        return samples(self)

    def __len__(self) -> int:
        check_is_fitted(self, "nodes_")
        return len(self.nodes_["sizes"])

    def __bool__(self) -> bool:
        return True  # a forest that is not fitted has no length, and is something none the less

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.claims import verify_forest

        return verify_forest(self, X, y, sample_weight)

    def _means(self, X: Any) -> Array:
        """Mean over the trees of the values at the leaves of the rows."""
        means: Array | None = None
        if as_fitted(self, X) and self._walker.worth_tables(X.shape[0]) and self._walker.scorer is not None:
            means = self._walker.scorer.sums_unread(X, np.zeros(self.trees_.value.shape[1]))
        if means is None:
            X = self._read_predict(X)
            means = self._walker.predict_sum(X)
        means /= self.trees_.n_trees
        return means.astype(answer_type(X.dtype, magnitude(self.trees_.value)), copy=False)

    @predicting
    def apply(self, X: Any) -> Array:
        """Leaf of every row in every tree, int32 (rows, trees), numbered as the tree's ``tree_`` does: depth first."""
        return self._walker.places[self.trees_.apply(self._read_predict(X))]

    @predicting
    def decision_path(self, X: Any) -> tuple[Any, Array]:
        """(the nodes that each row passes, a CSR matrix (rows, nodes of all trees) of ones; where each tree begins).

        Columns ``pointers[t]`` to ``pointers[t + 1]`` are the nodes of tree t.
        """
        trees = self.trees_
        paths = decision_paths(trees, trees.apply(self._read_predict(X)), self._walker.places)
        return paths, np.append(trees.roots, trees.node_count).astype(np.intp)

    @predicting
    def proximity(self, X: Any, Z: Any = None, *, top: int | None = None) -> Any:
        """Share of the trees in which a row of X and a row of Z (of X itself by default) end in the same leaf.

        Parameters
        ----------
        X, Z : tables
        top : int ≥ 1, optional
            Keep only so many of the largest entries of each row, in a sparse matrix.

        Returns
        -------
        float32 array of shape (rows of X, rows of Z), or a CSR array of that shape

        Notes
        -----
        *Cost.* O(rows of X · rows of Z · trees), threads over rows; 4 bytes for each pair, which are checked against
        the memory there is before anything is allocated.
        """
        if top is not None and top < 1:
            raise ValueError(f"top must be a whole number ≥ 1, but it is {top!r}.")
        leaves = self.trees_.apply(self._read_predict(X))
        return proximities(leaves, leaves if Z is None else self.trees_.apply(self._read_predict(Z)), top)

    @property
    def feature_importances_(self) -> Array:
        """Share of each column in the decrease of impurity, averaged over trees (those that split at all)."""
        check_is_fitted(self, "nodes_")
        trees, d = self.trees_, self.n_features_in_
        inner = np.flatnonzero(~trees.is_leaf)
        tree = np.searchsorted(trees.roots, inner, side="right") - 1
        gains = np.bincount(tree * d + trees.feature[inner], weights=trees.gain[inner], minlength=trees.n_trees * d)
        by_tree = gains.reshape(trees.n_trees, d)
        totals = by_tree.sum(axis=1)
        grown = totals > 0
        if not grown.any():
            return np.zeros(d)
        shares = (by_tree[grown] / totals[grown, None]).mean(axis=0)
        normalised: Array = shares / shares.sum()
        return normalised

    @abstractmethod
    def _target(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Target]:
        """X and what was learnt, from the data of the fit given again."""

    @predicting
    def oob_permutation_importance(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_repeats: int = 1, random_state: Any = None
    ) -> Bunch:
        """By how much the out-of-bag error of a tree grows when a column is shuffled; X and y are those of the fit.

        Returns
        -------
        Bunch
            ``importances_mean`` (d,), ``importances_standard_error`` (d,) over trees, and ``importances`` (d, trees).
        """
        if not self.bootstrap:
            raise ValueError("oob_permutation_importance needs bootstrap=True: without draws no row is out of bag.")
        X, target = self._target(X, y, sample_weight)
        rows, _, keys = self._rows(X, target, stored_binner(self.nodes_), self._n_draws)
        if fingerprint(keys, target.weights) != self.data_key_:
            raise ValueError("X, y and sample_weight must be those of the fit: no tree drew from other rows.")
        random = check_random_state(self.random_state if random_state is None else random_state)
        seed = int(random.randint(_SEEDS, dtype=np.int64))
        others = self._taken_over[1]
        trees = coded_trees(self._as_learnt(self.trees_), self.nodes_)[others:]
        if not trees:
            raise ValueError("oob_permutation_importance needs trees that drew from these rows, but no tree has.")
        return permutation_importance(rows, trees, self.nodes_["seeds"][others:], n_repeats, seed)

    def plot(self, ax: Any = None) -> Any:
        """Draw the out-of-bag error against the number of trees, with its standard error; needs ``oob_score=True``."""
        check_is_fitted(self, "nodes_")
        history, kind = self.evidence_.history, "share of rows misclassified"
        if not history.get("OOB error"):
            raise ValueError("plot needs the out-of-bag error of each tree; fit with bootstrap=True, oob_score=True.")
        ax, kind = axes(ax), kind if is_classifier(self) else "mean squared error"
        trees, error = np.asarray(history["iteration"]), np.asarray(history["OOB error"])
        last, width = float(error[-1]), self.evidence_.facts["standard error"]
        ax.axhspan(last - width, last + width, color=BLUE, alpha=0.12, lw=0)
        ax.plot(trees, error, color=BLUE, lw=1.6)
        ax.text(0.98, 0.95, f"{trees[-1]:.0f} trees: {last:.4g} ± {width:.2g}", ha="right", va="top", color=BLUE,
                transform=ax.transAxes)  # fmt: skip
        title = f"{type(self).__name__}: error on rows a tree never saw"
        ax.set(xlabel="trees", ylabel=f"out-of-bag {kind}", title=title)
        return ax

    def plot_importances(self, importances: Any = None, *, top: int = 20, ax: Any = None) -> Any:
        """Draw the importances of columns: by gain, or what ``oob_permutation_importance`` returned, ± two errors."""
        from corollary.tree.importances import plot_importances
        from corollary.tree.shap import column_names

        check_is_fitted(self, "nodes_")
        measure, spread = "gain" if importances is None else "out of bag", {}
        heights = self.feature_importances_
        if importances is not None:
            heights, spread = importances.importances_mean, {measure: 2 * importances.importances_standard_error}
        first = np.argsort(-heights, kind="stable")[:top]
        return plot_importances({measure: heights}, column_names(self), first, spread, None if ax is None else [ax])[0]


def _warn_of_rows_without_votes(bag: OutOfBag) -> None:
    without = int((~bag.judged & (bag.rows.weights > 0)).sum())
    if without:
        warnings.warn(
            f"Some inputs do not have OOB scores: {without} rows are in the sample of every tree. More trees leave "
            "none without, as a rule.",
            UserWarning,
            stacklevel=caller_level(),
        )
