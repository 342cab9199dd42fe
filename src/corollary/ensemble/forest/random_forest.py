"""Random forests: trees on bootstrap samples that try a few columns at each node."""

from __future__ import annotations

import sklearn.ensemble

from corollary.ensemble.forest.classifier import ForestClassifier
from corollary.ensemble.forest.regressor import ForestRegressor


class RandomForestClassifier(ForestClassifier):
    r"""A vote of decision trees, each grown on a sample of the rows and trying a few columns at each node.

    Tree t is grown on :math:`n` rows drawn with replacement, so that about 63 % of the rows are in its sample. At each
    node the best split of ``max_features`` columns drawn at random is taken. Probabilities are averaged over trees:

    .. math:: p(k \mid x) = \frac1T \sum_t \frac{\text{mass of class } k \text{ in the leaf of } x \text{ in tree } t}
              {\text{mass of that leaf}}

    Rows that a tree did not see judge it: ``oob_score`` is an honest estimate of the accuracy without a test set.

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
        Columns tried at a node. More are tried only if all of these are constant there.
    max_leaf_nodes : int ≥ 2, optional
        Grow best first until there are so many leaves.
    min_impurity_decrease : float ≥ 0, default 0
    bootstrap : bool, default True
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
        missing value, and missing values go to the side where they do best.

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
    *Cost.* O(n · max_features · depth) for each tree, threads over trees. Memory: one byte a cell of X, and
    about 70 bytes a node of all trees until the last is grown, 15 in the model; each thread has 50 bytes a row besides.

    *Evidence.* In two of the trees nodes drawn at random are searched again by brute force, with the tree's own rows
    and the columns that the node drew (where not all are tried, from the first 48 nodes of a tree; of a few others the
    column of their split is searched): by how much any other split would gain more. In every tree the impurity of the
    root equals what its splits took away and its leaves keep.
    With ``oob_score`` the out-of-bag error and its standard error.

    *Several targets.* y may have several columns of labels; a split then lowers the mean of their impurities, and
    errors are means over targets.

    *Differences.* Splits lie between bins, not between any two values. A weight is a number of repetitions.

    References
    ----------
    Breiman, L. (2001). Random forests. Machine Learning 45, 5–32.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> model.evidence_.holds, model.oob_score_ > 0.92
    (True, True)
    """

    _random_cuts = False


class RandomForestRegressor(ForestRegressor):
    r"""The mean of regression trees, each grown on a sample of the rows.

    Tree t is grown on :math:`n` rows drawn with replacement and tries ``max_features`` columns at each node. The forest
    predicts the mean over trees of the mean of the leaf:

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
        Columns tried at a node; all of them by default. More are tried only if all of these are constant there.
    max_leaf_nodes : int ≥ 2, optional
        Grow best first until there are so many leaves.
    min_impurity_decrease : float ≥ 0, default 0
    bootstrap : bool, default True
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
        missing value, and missing values go to the side where they do best.
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
    *Cost.* O(n · max_features · depth) for each tree, threads over trees. Memory: one byte a cell of X, and
    about 70 bytes a node of all trees until the last is grown, 15 in the model; each thread has 50 bytes a row besides.

    *Evidence.* In two of the trees nodes drawn at random are searched again by brute force, with the tree's own rows
    and the columns that the node drew (where not all are tried, from the first 48 nodes of a tree; of a few others the
    column of their split is searched): by how much any other split would gain more. In every tree the impurity of the
    root equals what its splits took away and its leaves keep.
    With ``oob_score`` the out-of-bag error and its standard error.

    *Several targets.* y may have several columns; a split then lowers the sum of their variances.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.ensemble import RandomForestRegressor
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> y = np.sin(6 * X[:, 0])
    >>> model = RandomForestRegressor(oob_score=True, keep_targets=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.99
    True
    >>> model.predict_quantiles([[0.25, 0.5]], [0.1, 0.9]).round(1)
    array([[1., 1.]])
    """

    _random_cuts = False


# virtual subclasses, which is how tools that convert and explain forests know whose ``estimators_`` they can read
sklearn.ensemble.RandomForestClassifier.register(RandomForestClassifier)
sklearn.ensemble.RandomForestRegressor.register(RandomForestRegressor)
