"""Extra trees: forests whose cuts are drawn at random."""

from __future__ import annotations

from typing import Any

import sklearn.ensemble

from corollary.base import assigning
from corollary.ensemble.forest.classifier import ForestClassifier
from corollary.ensemble.forest.regressor import ForestRegressor
from corollary.tree.criteria import renaming_criterion


class ExtraTreesClassifier(ForestClassifier):
    r"""A vote of trees whose cuts are drawn at random: extremely randomised trees.

    At each node, one cut is drawn for each of ``max_features`` columns, uniformly between the lowest and the highest
    number there, and the best of these is taken. Trees see all rows unless ``bootstrap``. Probabilities are averaged
    over trees:

    .. math:: p(k \mid x) = \frac1T \sum_t \frac{\text{mass of class } k \text{ in the leaf of } x \text{ in tree } t}
              {\text{mass of that leaf}}

    Parameters
    ----------
    n_estimators : int ≥ 1, default 100
        Number of trees.
    criterion : "gini", "entropy" or "log_loss", default "gini"
        Impurity that splits lower; the last two are the same.
    max_depth : int ≥ 1, optional
    min_samples_split, min_samples_leaf : int or share of the rows, default 2 and 1
        Rows that a node must have to be split, and that a leaf must have.
    min_weight_fraction_leaf : float in [0, 0.5], default 0
        Share of the weight that a leaf must have.
    max_features : "sqrt", "log2", None, int or share, default "sqrt"
        Columns for which a cut is drawn at a node. More are tried only if all of these are constant there.
    max_leaf_nodes : int ≥ 2, optional
        Grow best first until there are so many leaves.
    min_impurity_decrease : float ≥ 0, default 0
    bootstrap : bool, default False
        Draw rows with replacement, in proportion to ``sample_weight``; else every tree sees all rows, weighted.
    oob_score : bool or function of (y, predictions), default False
        Judge by rows out of the bag; needs ``bootstrap``.
    n_jobs : int, optional
        Threads; they do not change the answer.
    random_state : int, RandomState or None
    verbose : int ≥ 0, default 0
        Show progress.
    warm_start : bool, default False
        Keep the trees there are and add up to ``n_estimators``.
    class_weight : dict, "balanced", "balanced_subsample" or a list of dicts, optional
        "balanced_subsample" weighs classes by how often each was drawn for a tree; a list has one part for each target,
        and weights of several targets multiply.
    ccp_alpha : float ≥ 0, default 0
        Prune subtrees that lower the impurity by no more than this for each leaf.
    max_samples : int or float > 0, optional
        Draws for each tree, or their share of the rows; default as many as there are rows. If all weights are whole
        numbers a row of weight 3 counts as three.
    monotonic_cst : array of −1, 0, 1 or dict of names, optional
        Direction in which the probability of the second of two classes may depend on each column.
    max_bins : int ≥ 2, default 255
        Columns with more distinct values are binned; a split is as fine as the bins.
    categorical_features : "from_dtype", mask, column numbers, names or None
        A categorical column is split into two sets of categories. A category that was not there in training is a
        missing value, and missing values go to a side drawn at random.

    Attributes
    ----------
    classes_, n_classes_, n_outputs_, n_features_in_, feature_names_in_
        The first two are lists if y has several columns, as ``predict_proba`` is.
    nodes_ : dict of arrays
        The trees in a few bytes a node.
    trees_ : Trees
        The same with thresholds, values, weights, impurities and gains (made when first asked for, not saved).
    estimators_, estimator_ : list of decision trees, decision tree
        Each tree with its ``tree_``, as scikit-learn has it (made when first asked for, not saved); classes are numbers
        there. The second is not fitted.
    estimators_samples_ : list of int arrays
        The rows that each tree drew.
    feature_importances_ : array of shape (d,)
    oob_score_ : float
    oob_decision_function_ : array of shape (n, classes) or (n, classes, targets)
        Mean vote of the trees that did not see the row; NaN where there is none.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* As :class:`RandomForestClassifier`, less the search for the best cut: O(n · max_features · depth) for each
    tree, threads over trees. Memory: one byte a cell of X, and about 70 bytes a node of all trees until the last is
    grown, 15 in the model; each thread has 50 bytes a row besides.

    *Evidence.* That in each tree the impurity of the root equals what its splits took away and its leaves keep, and
    that in two of them every leaf predicts what its rows say. With ``oob_score`` the out-of-bag error and its standard
    error.

    References
    ----------
    Geurts, P., Ernst, D., Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63, 3–42.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary.ensemble import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.92
    True
    """

    _random_cuts = True

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
        bootstrap: bool = False,
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


class ExtraTreesRegressor(ForestRegressor):
    r"""The mean of regression trees whose cuts are drawn at random: extremely randomised trees.

    At each node, one cut is drawn for each of ``max_features`` columns, uniformly between the lowest and the highest
    number there, and the best of these is taken. Trees see all rows unless ``bootstrap``. The forest predicts the mean
    over trees of the mean of the leaf:

    .. math:: f(x) = \frac1T \sum_t \text{mean of } y \text{ in the leaf of } x \text{ in tree } t

    Parameters
    ----------
    n_estimators : int ≥ 1, default 100
        Number of trees.
    criterion : "squared_error", "absolute_error" or "poisson", default "squared_error"
        Impurity that splits lower; the last needs y ≥ 0. By absolute error leaves predict medians, and trees are grown
        by a search that takes a multiple of the time. "friedman_mse" is "squared_error", with a warning.
    max_depth : int ≥ 1, optional
    min_samples_split, min_samples_leaf : int or share of the rows, default 2 and 1
        Rows that a node must have to be split, and that a leaf must have.
    min_weight_fraction_leaf : float in [0, 0.5], default 0
        Share of the weight that a leaf must have.
    max_features : "sqrt", "log2", None, int or share, default 1.0
        Columns for which a cut is drawn at a node; all of them by default.
    max_leaf_nodes : int ≥ 2, optional
        Grow best first until there are so many leaves.
    min_impurity_decrease : float ≥ 0, default 0
    bootstrap : bool, default False
        Draw rows with replacement, in proportion to ``sample_weight``; else every tree sees all rows, weighted.
    oob_score : bool or function of (y, predictions), default False
        Judge by rows out of the bag; needs ``bootstrap``.
    n_jobs : int, optional
        Threads; they do not change the answer.
    random_state : int, RandomState or None
    verbose : int ≥ 0, default 0
        Show progress.
    warm_start : bool, default False
        Keep the trees there are and add up to ``n_estimators``.
    ccp_alpha : float ≥ 0, default 0
        Prune subtrees that lower the impurity by no more than this for each leaf.
    max_samples : int or float > 0, optional
        Draws for each tree, or their share of the rows; default as many as there are rows. If all weights are whole
        numbers a row of weight 3 counts as three.
    monotonic_cst : array of −1, 0, 1 or dict of names, optional
        Direction in which the prediction may depend on each column; for one output.
    max_bins : int ≥ 2, default 255
        Columns with more distinct values are binned; a split is as fine as the bins.
    categorical_features : "from_dtype", mask, column numbers, names or None
        A categorical column is split into two sets of categories. A category that was not there in training is a
        missing value, and missing values go to a side drawn at random.
    keep_targets : bool, default False
        Remember the training targets of each leaf, as ``predict_quantiles`` needs them: about 3 bytes for each row of
        each tree.

    Attributes
    ----------
    n_outputs_, n_features_in_, feature_names_in_
    nodes_ : dict of arrays
        The trees in a few bytes a node.
    trees_ : Trees
        The same with thresholds, values, weights, impurities and gains (made when first asked for, not saved).
    estimators_, estimator_ : list of decision trees, decision tree
        Each tree with its ``tree_``, as scikit-learn has it (made when first asked for, not saved); classes are numbers
        there. The second is not fitted.
    estimators_samples_ : list of int arrays
        The rows that each tree drew.
    feature_importances_ : array of shape (d,)
    leaf_targets_ : dict of arrays
        With ``keep_targets``.
    oob_score_ : float
        R² on rows out of the bag.
    oob_prediction_ : array of shape (n,) or (n, outputs)
        Mean of the trees that did not see the row; NaN where there is none.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* As :class:`RandomForestClassifier`, less the search for the best cut: O(n · max_features · depth) for each
    tree, threads over trees. Memory: one byte a cell of X, and about 70 bytes a node of all trees until the last is
    grown, 15 in the model; each thread has 50 bytes a row besides.

    *Evidence.* That in each tree the impurity of the root equals what its splits took away and its leaves keep, and
    that in two of them every leaf predicts what its rows say. With ``oob_score`` the out-of-bag error and its standard
    error.

    *Several targets.* y may have several columns; a split then lowers the sum of their variances.

    References
    ----------
    Geurts, P., Ernst, D., Wehenkel, L. (2006). Extremely randomized trees. Machine Learning 63, 3–42.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.ensemble import ExtraTreesRegressor
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> y = np.sin(6 * X[:, 0])
    >>> ExtraTreesRegressor(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.98
    True
    """

    _random_cuts = True

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
        bootstrap: bool = False,
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


# virtual subclasses, which is how tools that convert and explain forests know whose ``estimators_`` they can read
sklearn.ensemble.ExtraTreesClassifier.register(ExtraTreesClassifier)
sklearn.ensemble.ExtraTreesRegressor.register(ExtraTreesRegressor)
