"""Gradient boosting: regression trees on histograms, each a Newton step on the loss of your choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from corollary.base import assigning, fitting
from corollary.core.door.reach import refuse_targets
from corollary.core.fitted import Fitted, Floats, Labels
from corollary.core.limits import CLASS_WEIGHT, Limit, Real
from corollary.core.loss import Loss, LossOf, as_loss, known_loss
from corollary.core.parallel import each_block, threads
from corollary.core.types import Array
from corollary.ensemble.boosting.base import LIMITS, GradientBoosting
from corollary.ensemble.members import refuse_other_classes
from corollary.labels import agreeing, encode_labels, signs, winners
from corollary.solvers.trees.boosting.objective import Objective

_BLOCK = 1 << 14  # rows whose probabilities a thread makes at a time


class GradientBoostingRegressor(RegressorMixin, GradientBoosting):
    r"""Boosted regression trees for any loss.

    .. math:: F_t = F_{t-1} + \eta\, T_t, \qquad T_t \approx \arg\min_T
              \sum_i s_i\Big(g_i T(x_i) + \tfrac12 h_i T(x_i)^2\Big) +
              \sum_{\text{leaves } j} \big(\gamma + \alpha |v_j| + \tfrac{\lambda}{2} v_j^2\big)

    with g and h the first and second derivative of the loss at F. Losses without curvature (absolute, quantile, Huber,
    ε-insensitive) take h = 1 to find the tree, and then the exact best value in each leaf.

    Parameters
    ----------
    loss : str or Loss, default "squared_error"
        "squared_error", "absolute_error", "huber", "quantile", "poisson", "tweedie" (of power 1.5),
        "epsilon_insensitive", or a :class:`corollary.core.loss.Loss` with parameters of its own, such as
        ``Tweedie(1.8)`` or one that you wrote.
    learning_rate : float > 0, default 0.1
    n_estimators : int ≥ 1, default 100
        Rounds of boosting.
    alpha : float in (0, 1), default 0.9
        The quantile of "quantile"; for "huber", residuals of the median beyond this quantile count as outliers; for
        "epsilon_insensitive", the half-width of the tube.
    init : estimator, "zero" or None, default None
        What boosting starts from: a regressor, which is fitted first, zero, or the best constant.
    max_leaf_nodes : int ≥ 2 or None, default 31
        Leaves of a tree.
    max_depth : int ≥ 1 or None, default None
    min_samples_split : int ≥ 2, or fraction, default 2
        Least rows of a node that is split.
    min_samples_leaf : int ≥ 1, fraction or "auto", default "auto"
        Least rows of a leaf. "auto" is 20, or one for every 20 rows if there are fewer than 400.
    min_weight_fraction_leaf : float in [0, 0.5], default 0
        Least share of the weight in a leaf. Trees count rows and do not weigh them, so unequal entries of
        ``sample_weight`` (zeros aside) are refused: set ``min_samples_leaf``.
    min_impurity_decrease : float ≥ 0, default 0
        By how much a split must lower the loss (to second order, twice the mean over all rows): for squared errors
        that is the mean square.
    ccp_alpha : float ≥ 0, default 0
        The price of a leaf in the same units. Splits that are not worth it are not made, rather than taken back.
    criterion : accepted for scikit-learn's sake, which has deprecated it; without effect
    l1_regularization, l2_regularization : float ≥ 0, default 0
        α and λ on the values of leaves.
    leaf_penalty : float ≥ 0, default 0
        γ, the price of a leaf: a split must gain more.
    growth : {"leaf", "depth"}, default "leaf"
        Split the most promising leaf first, or level by level.
    subsample : float in (0, 1], default 1.0
        Share of rows that each tree sees.
    max_features : int, fraction, "sqrt", "log2" or None, default 1.0
        Columns tried at each node.
    max_features_per_tree : float in (0, 1], default 1.0
        Share of the columns tried in each tree.
    goss : None or (top, other), default None
        Keep the share ``top`` of rows with the largest gradients and draw the share ``other`` of the rest, which then
        stands for all of it.
    max_bins : int in [2, 65535], default 255
        Columns with more distinct values are binned; a split is as fine as the bins.
    categorical_features : "from_dtype", None, mask, column numbers or names
        Categories are ordered by their mean gradient at every node and then split in two.
    category_smoothing : float ≥ 0, default 10
        Curvature added to each category, so that rare ones decide nothing.
    monotonic_cst : array of −1, 0, 1 per column, or dict by name
        The prediction must fall, may do what it wants, or must rise with the column.
    interaction_cst : "pairwise", "no_interactions" or lists of column numbers that may meet on a path
    early_stopping : bool or "auto", default "auto"
        Set ``validation_fraction`` of the rows aside and keep the rounds with the best loss on them. ``X_val, y_val``
        in ``fit`` do the same with your rows. "auto" is whether ``n_iter_no_change`` is given.
    validation_fraction : float in (0, 1), default 0.1
    n_iter_no_change : int ≥ 1 or None, default None
        Rounds without a lower validation loss after which no more are tried; None is 10.
    tol : float ≥ 0, default 1e-7
        By how much a validation loss must be lower to count.
    warm_start : bool, default False
        Add rounds to the last fit.
    verbose : int ≥ 0 or bool, default 0
        Whether to show progress.
    random_state : int, RandomState or None
        Used only to draw rows, columns and the rows set aside.
    n_jobs : int, optional
        Threads; they do not change the answer.

    Attributes
    ----------
    trees_ : Trees
    start_ : array of shape (1,)
        The best constant, from which boosting starts.
    n_iter_, n_estimators_ : int
        Rounds kept.
    estimators_ : array of shape (rounds, n_trees_per_iteration_)
        The trees as regressors, made from ``trees_`` when asked for.
    init_ : estimator or "zero"
        What boosting started from.
    train_score_ : array of shape (rounds,)
        The loss after each round, in scikit-learn's units (mean squares; twice the log-loss of two classes).
    oob_scores_, oob_improvement_, oob_score_ : arrays of shape (rounds,), float
        With ``subsample`` < 1: the loss on the rows that a round's trees did not see, by how much it fell, its last.
    max_features_ : int
        Columns tried at each node.
    n_features_in_, feature_names_in_
    categories_ : dict of column number to its categories
    feature_importances_ : array of shape (d,)
        Share of each column in the total gain.
    evidence_ : Evidence
        History of training (and validation) loss.

    Notes
    -----
    *Cost.* O(n d) once to bin, then O(n d log leaves) per tree on one byte a cell; memory n d bytes beyond X, plus some
    twenty vectors of length n. The answer does not depend on the number of threads: histograms are sums of whole
    numbers.

    *Evidence.* Without sampling every round lowers the training loss, and every leaf takes the step that is best for
    its rows: the largest rise, or the largest slope left in leaves that are worked out again from their rows, is the
    certificate. It is a check of the bookkeeping and claims nothing about other models. Facts: how much of the rows'
    slopes at the start is left; the best round by validation loss, and its loss.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=50).fit(X, y)
    >>> model.evidence_.holds, model.score(X, y) > 0.7
    (True, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "start_": Floats(1),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "loss": LossOf("regression"),
        "alpha": Real(low=0, above=True),
    } | LIMITS

    @assigning
    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        alpha: float = 0.9,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: Any = "auto",
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        criterion: str = "deprecated",
        init: Any = None,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        leaf_penalty: float = 0.0,
        growth: str = "leaf",
        subsample: float = 1.0,
        max_features: Any = 1.0,
        max_features_per_tree: float = 1.0,
        goss: tuple[float, float] | None = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        category_smoothing: float = 10.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-7,
        warm_start: bool = False,
        verbose: Any = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        loss = known_loss(self.loss)
        tags.target_tags.positive_only = loss is not None and loss.domain.low >= 0
        return tags

    @fitting
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None,
        sample_weight_val: Any = None, monitor: Any = None,
    ) -> GradientBoostingRegressor:  # fmt: skip
        """Boost; rows of ``X_val, y_val`` only decide when to stop.

        ``monitor(round, model, variables)`` is called after each round, and may end the fit by returning True.
        """
        X, y, weights, categorical = self._read_fit(X, y, sample_weight)
        y = y.astype(np.float64, copy=False)
        refuse_targets(y, weights)
        loss = self._loss(y, weights)
        loss.check_target(y)
        validation = None
        if X_val is not None:
            validation = self._read_validation(X_val, y_val, sample_weight_val)
        weighted, of = sample_weight is not None, lambda y, weights: Objective(loss, y, weights, 1)
        self._fit(X, y, weights, categorical, validation, of, weighted, monitor)
        return self

    def _loss(self, y: Array, weights: Array) -> Loss:
        loss = known_loss(self.loss)
        assert loss is not None
        return loss.for_alpha(self.alpha, y, weights) if isinstance(loss, type) else loss

    def _loss_of_fit(self) -> Loss:
        return as_loss(self.loss)

    def predict(self, X: Any) -> Array:
        """Predicted values."""
        return self._mean(self._raw_predict(X)[:, 0])

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predictions after 1, 2, … rounds."""
        for raw in self._staged_raw(X):
            yield self._mean(raw[:, 0])

    def _mean(self, raw: Array) -> Array:
        return as_loss(self.loss).link.inverse(raw)


def _has_probabilities(model: GradientBoostingClassifier) -> bool:
    loss = known_loss(model.loss)
    return loss is not None and loss.link.probabilistic


class GradientBoostingClassifier(ClassifierMixin, GradientBoosting):
    r"""Boosted trees for classes: log-loss (logistic for two, softmax for more), or a margin loss for two.

    .. math:: F_t = F_{t-1} + \eta\, T_t, \qquad T_t \approx \arg\min_T
              \sum_i s_i\Big(g_i T(x_i) + \tfrac12 h_i T(x_i)^2\Big) +
              \sum_{\text{leaves } j} \big(\gamma + \alpha |v_j| + \tfrac{\lambda}{2} v_j^2\big)

    with g and h the first and second derivative of the loss at the score F; with more than two classes there is a
    score, and in each round a tree, for every class. Losses without curvature (hinge) take h = 1 to find the tree, and
    then the exact best value in each leaf.

    Parameters
    ----------
    loss : str or Loss, default "log_loss"
        "log_loss", or for two classes "exponential", "hinge", "squared_hinge", or a Loss of your own on y = ±1.
    learning_rate : float > 0, default 0.1
    n_estimators : int ≥ 1, default 100
        Rounds of boosting.
    init : estimator, "zero" or None, default None
        What boosting starts from: a classifier with probabilities, which is fitted first, zero, or the best constant.
    max_leaf_nodes : int ≥ 2 or None, default 31
        Leaves of a tree.
    max_depth : int ≥ 1 or None, default None
    min_samples_split : int ≥ 2, or fraction, default 2
        Least rows of a node that is split.
    min_samples_leaf : int ≥ 1, fraction or "auto", default "auto"
        Least rows of a leaf. "auto" is 20, or one for every 20 rows if there are fewer than 400.
    min_weight_fraction_leaf : float in [0, 0.5], default 0
        Least share of the weight in a leaf. Trees count rows and do not weigh them, so unequal entries of
        ``sample_weight`` (zeros aside) are refused: set ``min_samples_leaf``. With ``class_weight`` leaves have so many
        rows that even those of the lightest class would do.
    min_impurity_decrease : float ≥ 0, default 0
        By how much a split must lower the loss (to second order, twice the mean over all rows): for squared errors
        that is the mean square.
    ccp_alpha : float ≥ 0, default 0
        The price of a leaf in the same units. Splits that are not worth it are not made, rather than taken back.
    criterion : accepted for scikit-learn's sake, which has deprecated it; without effect
    l1_regularization, l2_regularization : float ≥ 0, default 0
        α and λ on the values of leaves.
    leaf_penalty : float ≥ 0, default 0
        γ, the price of a leaf: a split must gain more.
    growth : {"leaf", "depth"}, default "leaf"
        Split the most promising leaf first, or level by level.
    subsample : float in (0, 1], default 1.0
        Share of rows that each tree sees.
    max_features : int, fraction, "sqrt", "log2" or None, default 1.0
        Columns tried at each node.
    max_features_per_tree : float in (0, 1], default 1.0
        Share of the columns tried in each tree.
    goss : None or (top, other), default None
        Keep the share ``top`` of rows with the largest gradients and draw the share ``other`` of the rest, which then
        stands for all of it.
    max_bins : int in [2, 65535], default 255
        Columns with more distinct values are binned; a split is as fine as the bins.
    categorical_features : "from_dtype", None, mask, column numbers or names
        Categories are ordered by their mean gradient at every node and then split in two.
    category_smoothing : float ≥ 0, default 10
        Curvature added to each category, so that rare ones decide nothing.
    monotonic_cst : array of −1, 0, 1 per column, or dict by name
        The score (of the second of two classes, or of every class) must fall, may do what it wants, or must rise with
        the column.
    interaction_cst : "pairwise", "no_interactions" or lists of column numbers that may meet on a path
    early_stopping : bool or "auto", default "auto"
        Set ``validation_fraction`` of the rows aside and keep the rounds with the best loss on them. ``X_val, y_val``
        in ``fit`` do the same with your rows. "auto" is whether ``n_iter_no_change`` is given.
    validation_fraction : float in (0, 1), default 0.1
    n_iter_no_change : int ≥ 1 or None, default None
        Rounds without a lower validation loss after which no more are tried; None is 10.
    tol : float ≥ 0, default 1e-7
        By how much a validation loss must be lower to count.
    warm_start : bool, default False
        Add rounds to the last fit.
    verbose : int ≥ 0 or bool, default 0
        Whether to show progress.
    class_weight : dict, "balanced" or None
        Weights of rows are multiplied by those of their classes.
    random_state : int, RandomState or None
        Used only to draw rows, columns and the rows set aside.
    n_jobs : int, optional
        Threads; they do not change the answer.

    Attributes
    ----------
    classes_ : array of shape (k,)
    n_classes_ : int
    trees_ : Trees
        One tree per round for two classes, one per class and round for more.
    start_ : array of shape (1,), or (k,) for more than two classes
        The best constant scores, from which boosting starts.
    n_iter_, n_estimators_ : int
        Rounds kept.
    estimators_ : array of shape (rounds, n_trees_per_iteration_)
        The trees as regressors, made from ``trees_`` when asked for.
    init_ : estimator or "zero"
        What boosting started from.
    train_score_ : array of shape (rounds,)
        The loss after each round, in scikit-learn's units (mean squares; twice the log-loss of two classes).
    oob_scores_, oob_improvement_, oob_score_ : arrays of shape (rounds,), float
        With ``subsample`` < 1: the loss on the rows that a round's trees did not see, by how much it fell, its last.
    max_features_ : int
        Columns tried at each node.
    n_features_in_, feature_names_in_
    categories_ : dict of column number to its categories
    feature_importances_ : array of shape (d,)
        Share of each column in the total gain.
    evidence_ : Evidence
        History of training (and validation) loss.

    Notes
    -----
    *Cost.* O(n d) once to bin, then O(n d log leaves) per tree on one byte a cell; memory n d bytes beyond X, plus some
    twenty vectors of length n, a few more for each further score. The answer does not depend on the number of threads:
    histograms are sums of whole numbers.

    *Evidence.* Without sampling every round lowers the training loss, and every leaf takes the step that is best for
    its rows: the largest rise, or the largest slope left in leaves that are worked out again from their rows, is the
    certificate. It is a check of the bookkeeping and claims nothing about other models. Facts: how much of the rows'
    slopes at the start is left; the best round by validation loss, and its loss.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from corollary import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=30).fit(X, y)
    >>> model.evidence_.holds, model.score(X, y) > 0.97
    (True, True)
    """

    classes_: Array
    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "loss": LossOf("classification"),
        "class_weight": CLASS_WEIGHT,
    } | LIMITS

    @assigning
    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: Any = "auto",
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        criterion: str = "deprecated",
        init: Any = None,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        leaf_penalty: float = 0.0,
        growth: str = "leaf",
        subsample: float = 1.0,
        max_features: Any = 1.0,
        max_features_per_tree: float = 1.0,
        goss: tuple[float, float] | None = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        category_smoothing: float = 10.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-7,
        warm_start: bool = False,
        verbose: Any = 0,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    @fitting
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None,
        sample_weight_val: Any = None, monitor: Any = None,
    ) -> GradientBoostingClassifier:  # fmt: skip
        """Boost; rows of ``X_val, y_val`` only decide when to stop.

        ``monitor(round, model, variables)`` is called after each round, and may end the fit by returning True.
        """
        X, y, weights, categorical = self._read_fit(X, y, sample_weight, y_numeric=False)
        before = self.classes_ if self._goes_on else None
        self.classes_, codes, weights = encode_labels(y, weights, self.class_weight)
        if before is not None:
            refuse_other_classes(before, self.classes_)
        validation = None
        if X_val is not None:
            X_val, y_val, w_val = self._read_validation(X_val, y_val, sample_weight_val)
            unknown = sorted(set(np.unique(y_val).tolist()) - set(self.classes_.tolist()))
            if unknown:
                raise ValueError(f"y_val has classes that y does not have: {unknown!r}.")
            validation = X_val, np.searchsorted(self.classes_, y_val), w_val
        weighted = sample_weight is not None or self.class_weight is not None
        self._fit(X, codes, weights, categorical, validation, self._objective, weighted, monitor)
        return self

    def _objective(self, y: Array, weights: Array) -> Objective:
        loss = as_loss(self.loss).for_classes(len(self.classes_))
        if loss.multiclass:
            return Objective(loss, y, weights, len(self.classes_))
        return Objective(loss, signs(y), weights, 1)

    def _loss_of_fit(self) -> Loss:
        return as_loss(self.loss).for_classes(len(self.classes_))

    @property
    def n_classes_(self) -> int:
        """How many classes there are."""
        return len(self.classes_)

    def decision_function(self, X: Any) -> Array:
        """Raw predictions: (n,) for two classes, positive for the second; (n, k) for more."""
        raw = self._raw_predict(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: Any) -> Array:
        """The class with the highest score."""
        best = winners(self.decision_function(X))
        return self.classes_[best]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, in the order of ``classes_``."""
        return self._probabilities(self.decision_function(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _probabilities(self, raw: Array) -> Array:
        link = as_loss(self.loss).for_classes(len(self.classes_)).link
        if len(raw) <= _BLOCK:
            return agreeing(link.probabilities(raw), raw)
        out = np.empty((len(raw), len(self.classes_)), dtype=raw.dtype)

        def run(start: int, stop: int) -> None:
            out[start:stop] = agreeing(link.probabilities(raw[start:stop]), raw[start:stop])

        with threads(self.n_jobs):
            each_block(run, len(raw), _BLOCK)
        return out

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Raw predictions (rows, classes) after 1, 2, … rounds; one column for two classes, as in scikit-learn."""
        yield from self._staged_raw(X)

    def _staged_scores(self, X: Any) -> Iterator[Array]:
        for raw in self._staged_raw(X):
            yield raw[:, 0] if raw.shape[1] == 1 else raw

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predictions after 1, 2, … rounds."""
        for raw in self._staged_scores(X):
            yield self.classes_[winners(raw)]

    @available_if(_has_probabilities)
    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Probabilities after 1, 2, … rounds."""
        for raw in self._staged_scores(X):
            yield self._probabilities(raw)
