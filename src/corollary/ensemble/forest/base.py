"""What all forests share: parameters, the fit, predictions, leaves and importances."""

from __future__ import annotations

import time
import weakref
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from corollary.core.binning import MOST_BINS, Binner
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.parallel import threads
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.ensemble.forest.plots import plot_oob
from corollary.solvers.draws import row_keys
from corollary.solvers.trees.forest.growth import Grown
from corollary.solvers.trees.forest.limits import growth_limits, n_draws
from corollary.solvers.trees.forest.out_of_bag import OutOfBag, coded_trees, permutation_importance
from corollary.solvers.trees.forest.rows import Rows, bin_edges, bin_means, centred
from corollary.solvers.trees.forest.run import Run
from corollary.solvers.trees.forest.storage import expand, stored_binner
from corollary.solvers.trees.forest.walk import Walker
from corollary.tables import TableReader

_SEEDS = 2**62

# what follows from a model's nodes, for as long as the model lives: no part of it, so neither copied nor saved
_expanded: weakref.WeakKeyDictionary[Any, tuple[dict[str, Array], Walker]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be learnt, in the order of X."""

    weights: Array
    n_classes: int = 0
    label: Array | None = None  # (rows,) or, for several outputs, (rows, outputs)
    y: Array | None = None  # (rows, outputs), for regression
    class_factors: Array | None = None
    balance_draws: bool = False
    blocks: tuple[int, ...] = ()  # classes of each output, if there are several

    @property
    def answers(self) -> Array:
        found = self.label if self.y is None else self.y
        assert found is not None
        return found


class Forest(TableReader):
    """Growing and reading a forest. Subclasses say what a leaf means."""

    nodes_: dict[str, Array]  # the trees as they are stored; ``trees_`` is what follows from them
    data_key_: int  # tells whether rows given later are those of the fit
    _random_cuts: ClassVar[bool]

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
        "warm_start": Boolean(),
        "ccp_alpha": Real(0),
        "max_samples": Choice(None) | Integer(1) | Real(0, above=True),
        "monotonic_cst": Choice(None) | ArrayLike() | Instance("a dict", dict),
        "max_bins": Integer(2, MOST_BINS),
        "categorical_features": Choice(None, "from_dtype") | ArrayLike(),
    }

    def _grow(self, X: Any, target: Target, categorical: Array) -> OutOfBag | None:
        """Grow the trees and keep them and the evidence; returns the out-of-bag votes where they are wanted."""
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score needs bootstrap=True: without draws every tree sees every row.")
        began = time.perf_counter()
        random = check_random_state(self.random_state)
        earlier = self._earlier(X.shape[1])
        first = 0 if earlier is None else len(earlier["sizes"])
        if earlier is None:
            binner = Binner.fit(X, self.max_bins, categorical, target.weights)
        else:
            binner = stored_binner(earlier)
        rows, order = self._rows(X, target, binner)
        seeds = random.randint(_SEEDS, size=self.n_estimators, dtype=np.int64)
        bag = OutOfBag(rows) if self.oob_score else None
        if bag is not None and earlier is not None:
            self._replay(bag, rows, earlier)
        run = Run(self, rows, growth_limits(self, rows), seeds[first:], bag, earlier, began)
        run.watch(X, target.answers)
        if run.parts:
            self.nodes_ = run.packed()
        self.data_key_ = int(_fingerprint(order[1], target.weights))
        self._n_draws = rows.draws
        self._keep_targets(rows, run.parts, order[0])
        self._keep_evidence(run.evidence())
        if bag is not None:
            self._keep_votes(bag, order[0])
        return bag

    def _keep_targets(self, rows: Rows, parts: list[Grown], order: Array) -> None:
        """For those who need to know the training targets of each leaf."""

    @abstractmethod
    def _keep_votes(self, bag: OutOfBag, order: Array) -> None:
        """Out-of-bag attributes; rows of ``bag`` are rows ``order`` of X."""

    @property
    def _needs_members(self) -> bool:
        return False

    def _earlier(self, n_columns: int) -> dict[str, Array] | None:
        """With ``warm_start``, the trees of the last fit."""
        nodes: dict[str, Array] | None = self.__dict__.get("nodes_")
        if not self.warm_start or nodes is None:
            return None
        if len(nodes["n_bins"]) != n_columns:
            raise ValueError(f"warm_start needs the {len(nodes['n_bins'])} columns of the last fit; X has {n_columns}.")
        if self.n_estimators < len(nodes["sizes"]):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(nodes['sizes'])} trees that warm_start "
                "goes on from."
            )
        return nodes

    def _rows(self, X: Any, target: Target, binner: Binner) -> tuple[Rows, tuple[Array, Array]]:
        """Rows sorted by what is in them, so that their order cannot matter; and (that order, their keys)."""
        keys = row_keys(X, target.answers)
        order = np.argsort(keys, kind="stable")
        codes = binner.transform(X, order="F").T
        random_cuts = self._random_cuts
        weights = target.weights[order]
        y = np.empty((0, 1)) if target.y is None else target.y[order]
        draws = n_draws(self, target.weights) if self.bootstrap else 0
        sums, scale = self._sums(y, weights, draws)
        return Rows(
            codes=np.ascontiguousarray(codes[:, order]),
            binner=binner,
            edges=bin_edges(binner, bin_means(X, codes, binner, target.weights)) if random_cuts else None,
            n_classes=target.n_classes,
            label=np.empty(0, dtype=np.int32) if target.label is None else target.label[order].astype(np.int32),
            y=y,
            sums=sums,
            scale=scale,
            weights=weights,
            class_factors=target.class_factors,
            balance_draws=target.balance_draws,
            draws=draws,
            ends=np.empty(0) if np.ptp(weights) == 0 else np.cumsum(weights),
            blocks=target.blocks,
        ), (order, keys)

    def _sums(self, y: Array, weights: Array, draws: int) -> tuple[Array, float]:
        """What is summed up over rows, and its scale."""
        return centred(y, weights, draws, relative=self.criterion == "poisson") if len(y) else (y, 1.0)

    def _replay(self, bag: OutOfBag, rows: Rows, nodes: dict[str, Array]) -> None:
        """Votes of the trees of an earlier fit, whose draws their seeds repeat."""
        trees = expand(nodes, self.criterion, classes=rows.n_classes > 0)
        for tree, seed in zip(coded_trees(trees, nodes), nodes["seeds"], strict=True):
            outside = np.flatnonzero((rows.drawn(int(seed)) == 0) & (rows.weights > 0)).astype(np.int32)
            bag.add(outside, tree.walk(rows.codes, outside, rows.binner.n_bins, rows.binner.categorical), tree.value)

    @property
    def trees_(self) -> Trees:
        """The trees with thresholds, values, weights, impurities and gains at every node."""
        check_is_fitted(self, "nodes_")
        return self._walker.trees

    @property
    def _walker(self) -> Walker:
        nodes, walker = _expanded.get(self, (None, None))
        if walker is None or nodes is not self.nodes_:
            trees = expand(self.nodes_, self.criterion, classes=hasattr(self, "classes_"))
            trees.check(self.n_features_in_)
            walker = Walker.of(trees)
            _expanded[self] = self.nodes_, walker
        return walker

    def _means(self, X: Any) -> Array:
        """Mean over the trees of the values at the leaves of the rows."""
        X = self._read_predict(X)
        with threads(self.n_jobs):
            means: Array = self._walker.predict_sum(X) / self.trees_.n_trees
        return means.astype(X.dtype, copy=False)

    def apply(self, X: Any) -> Array:
        """Leaf of every row in every tree, int32 (rows, trees)."""
        X = self._read_predict(X)
        with threads(self.n_jobs):
            return self.trees_.apply(X)

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

    def oob_permutation_importance(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_repeats: int = 1, random_state: Any = None
    ) -> Bunch:
        """By how much the out-of-bag error of a tree grows when a column is shuffled; X and y are those of the fit.

        Returns
        -------
        Bunch
            ``importances_mean`` (d,), ``importances_standard_error`` (d,) over trees, and ``importances`` (d, trees).
        """
        check_is_fitted(self, "nodes_")
        if not self.bootstrap:
            raise ValueError("oob_permutation_importance needs bootstrap=True: without draws no row is out of bag.")
        X, target = self._target(X, y, sample_weight)
        rows, order = self._rows(X, target, stored_binner(self.nodes_))
        if int(_fingerprint(order[1], target.weights)) != self.data_key_:
            raise ValueError("X, y and sample_weight must be those of the fit: no tree drew from other rows.")
        rows = replace(rows, draws=self._n_draws)
        random = check_random_state(self.random_state if random_state is None else random_state)
        seed = int(random.randint(_SEEDS, dtype=np.int64))
        with threads(self.n_jobs):
            trees = coded_trees(self.trees_, self.nodes_)
            return permutation_importance(rows, trees, self.nodes_["seeds"], n_repeats, seed)

    def plot(self, ax: Any = None) -> Any:
        """Draw the out-of-bag error against the number of trees; needs ``oob_score=True``."""
        check_is_fitted(self, "nodes_")
        return plot_oob(self, ax)

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
        axes = None if ax is None else [ax]
        return plot_importances({measure: heights}, column_names(self), first, spread, axes)[0]


def _fingerprint(keys: Array, weights: Array) -> Any:
    """A number that another set of rows or weights would hardly have; the same in any order of the rows."""
    mixed = keys * (weights.view(np.uint64) | np.uint64(1))
    return (mixed ^ (mixed >> np.uint64(17))).sum(dtype=np.uint64) >> np.uint64(1)
