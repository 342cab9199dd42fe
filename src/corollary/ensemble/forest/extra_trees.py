"""Extra trees: forests whose cuts are drawn at random."""

from __future__ import annotations

from typing import Any, ClassVar

from corollary.core.limits import Limit
from corollary.ensemble.forest.classifier import CLASSIFIER_LIMITS, ForestClassifier
from corollary.ensemble.forest.regressor import REGRESSOR_LIMITS, ForestRegressor


class ExtraTreesClassifier(ForestClassifier):
    r"""A vote of trees whose cuts are drawn at random: extremely randomised trees.

    At each node, one cut is drawn for each of ``max_features`` columns, uniformly between the lowest and the highest
    number there, and the best of these is taken. Trees see all rows unless ``bootstrap``. Everything else is as in
    :class:`RandomForestClassifier`.

    Parameters
    ----------
    bootstrap : bool, default False

    Attributes
    ----------
    classes_, nodes_, trees_, feature_importances_, oob_score_, oob_decision_function_, evidence_

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

    limits: ClassVar[dict[str, Limit]] = CLASSIFIER_LIMITS
    _random_cuts: ClassVar[bool] = True

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
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.categorical_features = categorical_features


class ExtraTreesRegressor(ForestRegressor):
    r"""The mean of regression trees whose cuts are drawn at random: extremely randomised trees.

    Cuts are drawn as in :class:`ExtraTreesClassifier`; parameters are those of :class:`RandomForestRegressor` and
    :class:`RandomForestClassifier`.

    Parameters
    ----------
    bootstrap : bool, default False

    Attributes
    ----------
    nodes_, trees_, feature_importances_, oob_score_, oob_prediction_, leaf_targets_, evidence_

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.ensemble import ExtraTreesRegressor
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> y = np.sin(6 * X[:, 0])
    >>> ExtraTreesRegressor(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.98
    True
    """

    limits: ClassVar[dict[str, Limit]] = REGRESSOR_LIMITS
    _random_cuts: ClassVar[bool] = True

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
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        keep_targets: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.keep_targets = keep_targets
