"""Decision trees that try every threshold: a classifier and a regressor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import sklearn.tree
from sklearn.base import RegressorMixin
from sklearn.utils import Bunch

from corollary.base import assigning, fitting, predicting
from corollary.core.door.reach import SQUARES, refuse_targets
from corollary.core.limits import CLASS_WEIGHT, ArrayLike, Choice, Limit
from corollary.core.trees.dependence import partial_dependence
from corollary.core.types import Array
from corollary.tree.criteria import refuse_for_poisson, renaming_criterion
from corollary.tree.tree_base import GROWTH_LIMITS, DecisionTree
from corollary.tree.tree_classifier import TreeClassifier


class DecisionTreeClassifier(TreeClassifier):
    r"""A classifier that asks one question about one column at a time.

    At every node the split with the largest fall of impurity is taken, over all columns and all thresholds between
    neighbouring values:

    .. math:: \max_{j, t}\; W I(\text{node}) - W_L I(\text{left}) - W_R I(\text{right}), \qquad
              I = 1 - \sum_k p_k^2 \text{ (Gini)} \quad\text{or}\quad -\sum_k p_k \log_2 p_k \text{ (entropy)}

    Missing values are tried on both sides. Categories are ordered by the share of each class and cut like numbers; for
    two classes that finds the best of all subsets.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default "gini"
        "log_loss" is entropy.
    splitter : {"best", "random"}, default "best"
        "random" draws one threshold per column and takes the best of these.
    max_depth : int ≥ 1 or None
    min_samples_split, min_samples_leaf : int, or a fraction of the rows; default 2 and 1
        Least rows of a node that is split, and of a leaf.
    min_weight_fraction_leaf : float in [0, 0.5], default 0.0
    max_features : int, fraction, "sqrt", "log2" or None
        Columns tried at each node, drawn at random; None is all.
    random_state : int, RandomState or None
        Used only if ``max_features`` is less than all or ``splitter="random"``.
    max_leaf_nodes : int ≥ 2 or None
        With it the tree grows best first.
    min_impurity_decrease : float ≥ 0, default 0.0
        Least fall of impurity times the node's share of the weight.
    class_weight : dict, "balanced", a list of these for several targets, or None
    ccp_alpha : float ≥ 0, default 0.0
        Cost-complexity pruning: the price of a leaf.
    monotonic_cst : array of −1, 0, 1 per column, or dict by name
        The probability of the second of two classes must fall, may do what it wants, or must rise with the column.
    categorical_features : "from_dtype", None, mask, column numbers or names
    max_bins : int ≥ 2 or None
        Round each column to so many bins first; None is exact. If chance has a say besides (``max_features``,
        ``splitter``), the tree is that of a forest of one, without draws of rows, of the same seed.
    n_jobs : int, optional
        Threads; they do not change the answer.

    Attributes
    ----------
    classes_, n_classes_ : of the target, or lists for several
    trees_ : Trees
        The tree as arrays.
    tree_ : object
        The same under scikit-learn's names (``feature``, ``threshold``, ``children_left``, ``value`` …), for tools that
        read those; made when first asked for, read-only. Not where a split is by categories.
    feature_importances_ : array of shape (d,)
    max_features_, n_outputs_ : int
    evidence_ : Evidence

    Notes
    -----
    *Cost.* Each column is sorted once, O(n d log n); then O(n d) per level. Memory 8 n d bytes and some twenty numbers
    a row, two more for each thread. The tree is the same whatever the number of threads; of equal splits the first
    column and the lowest threshold win.

    *Evidence.* Nodes drawn at random are searched again by brute force: by how much any other split would gain more, as
    a part of the impurity of the root. Besides, every leaf predicts what its rows say, and gains and what the
    leaves keep add up to the root's impurity; under monotone constraints only this is checked. Kind: *checked*;
    *exact* if every node was searched. Facts: depth, leaves, training error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    >>> round(model.score(X, y), 2), model.get_n_leaves(), model.evidence_.holds
    (0.97, 5, True)
    """

    limits: ClassVar[dict[str, Limit]] = GROWTH_LIMITS | {
        "criterion": Choice("gini", "entropy", "log_loss"),
        "class_weight": CLASS_WEIGHT | ArrayLike(),
    }

    @assigning
    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        max_bins: int | None = None,
        n_jobs: int | None = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> DecisionTreeClassifier:
        """Grow the tree on labels y (n,) or (n, targets); a row of weight w counts w times."""
        self._fit_classes(X, y, sample_weight)
        return self

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """``ccp_alphas`` at which another split is not worth its leaves, and the ``impurities`` left by then."""
        return self._pruning_path(X, y, sample_weight)


class DecisionTreeRegressor(RegressorMixin, DecisionTree):
    r"""A regressor that asks one question about one column at a time.

    As :class:`DecisionTreeClassifier`, with the impurity

    .. math:: I = \tfrac1W \sum_i w_i (y_i - \bar y)^2, \qquad \tfrac1W \sum_i w_i |y_i - \operatorname{median}(y)|,
              \qquad \tfrac1W \sum_i w_i y_i \log\tfrac{y_i}{\bar y}

    for squared error, absolute error and Poisson deviance; a leaf predicts the mean, the median and the mean.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default "squared_error"
        "friedman_mse" is "squared_error", with a warning.
    splitter : {"best", "random"}, default "best"
        "random" draws one threshold per column and takes the best of these.
    max_depth : int ≥ 1 or None
    min_samples_split, min_samples_leaf : int, or a fraction of the rows; default 2 and 1
        Least rows of a node that is split, and of a leaf.
    min_weight_fraction_leaf : float in [0, 0.5], default 0.0
    max_features : int, fraction, "sqrt", "log2" or None
        Columns tried at each node, drawn at random; None is all.
    random_state : int, RandomState or None
        Used only if ``max_features`` is less than all or ``splitter="random"``.
    max_leaf_nodes : int ≥ 2 or None
        With it the tree grows best first.
    min_impurity_decrease : float ≥ 0, default 0.0
        Least fall of impurity times the node's share of the weight.
    ccp_alpha : float ≥ 0, default 0.0
        Cost-complexity pruning: the price of a leaf.
    monotonic_cst : array of −1, 0, 1 per column, or dict by name
        The prediction must fall, may do what it wants, or must rise with the column.
    categorical_features : "from_dtype", None, mask, column numbers or names
    max_bins : int ≥ 2 or None
        Round each column to so many bins first; None is exact.
    n_jobs : int, optional
        Threads; they do not change the answer.

    Attributes
    ----------
    trees_ : Trees
        The tree as arrays.
    tree_ : object
        The same under scikit-learn's names, as for the classifier.
    feature_importances_ : array of shape (d,)
    max_features_, n_outputs_ : int
    evidence_ : Evidence
        "training error" is the mean loss of the training rows.

    Notes
    -----
    *Cost.* As :class:`DecisionTreeClassifier`; absolute error takes O(n d log n) per level.

    *Evidence.* As the classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary import DecisionTreeRegressor
    >>> x = np.arange(8.0)[:, None]
    >>> model = DecisionTreeRegressor(max_depth=1).fit(x, [1, 1, 1, 1, 1, 5, 5, 5])
    >>> model.predict([[4.0], [4.6]]), model.trees_.threshold[0].item()
    (array([1., 5.]), 4.5)
    """

    limits: ClassVar[dict[str, Limit]] = GROWTH_LIMITS | {
        "criterion": Choice("squared_error", "absolute_error", "poisson")
    }

    @renaming_criterion
    @assigning
    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        max_bins: int | None = None,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> DecisionTreeRegressor:
        """Grow the tree on numbers y (n,) or (n, targets); a row of weight w counts w times."""
        refuse_for_poisson(self.criterion, y)
        X, y, weights, categorical = self._read_rows(X, y, sample_weight)
        columns = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        from corollary.solvers.trees.exact.grow import far_centre

        self._check_targets(columns, weights)
        far = np.zeros(columns.shape[1]) if self.criterion == "poisson" else far_centre(columns)
        self._grow(X, columns - far, weights, categorical, None)
        if far.any():
            self.trees_ = replace(self.trees_, value=self.trees_.value + far)
        return self

    def _check_targets(self, y: Array, weights: Array) -> None:
        if self.criterion == "squared_error":
            refuse_targets(y, weights, SQUARES)
        refuse_for_poisson(self.criterion, y, weights)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """``ccp_alphas`` at which another split is not worth its leaves, and the ``impurities`` left by then."""
        return self._pruning_path(X, y, sample_weight)

    @predicting
    def predict(self, X: Any, check_input: bool = True) -> Array:
        """The mean (or median) of the training rows in the same leaf: (n,), or (n, targets) for several."""
        value = self._leaf_values(X)
        return value[:, 0] if self.n_outputs_ == 1 else value

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> Array:
        """What ``sklearn.inspection.partial_dependence`` asks of a regression tree."""
        return partial_dependence(self.trees_, grid, list(map(int, target_features)))[:, 0]


# virtual subclasses, which is how plot_tree, export_text and other tools know whose ``tree_`` they can read
sklearn.tree.DecisionTreeClassifier.register(DecisionTreeClassifier)
sklearn.tree.DecisionTreeRegressor.register(DecisionTreeRegressor)
