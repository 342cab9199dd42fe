"""The decision tree with a single split."""

from __future__ import annotations

from typing import Any, ClassVar

from corollary.base import assigning, fitting
from corollary.core.limits import CLASS_WEIGHT, ArrayLike, Choice, Limit
from corollary.tree.tree_base import GROWTH_LIMITS
from corollary.tree.tree_classifier import TreeClassifier


class DecisionStump(TreeClassifier):
    """The best single split: the classical weak learner for boosting.

    As :class:`DecisionTreeClassifier` with ``max_depth=1``.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default "gini"
    min_samples_leaf : int, or a fraction of the rows; default 1
    min_weight_fraction_leaf : float in [0, 0.5], default 0.0
    max_features : int, fraction, "sqrt", "log2" or None
        Columns tried, drawn at random; None is all.
    random_state : int, RandomState or None
    class_weight : dict, "balanced", a list of these for several targets, or None
    categorical_features : "from_dtype", None, mask, column numbers or names
    n_jobs : int, optional
        Threads; they do not change the answer.

    Attributes
    ----------
    classes_, n_classes_ : of the target, or lists for several
    trees_ : Trees
        The tree as arrays.
    feature_importances_ : array of shape (d,)
    max_features_, n_outputs_ : int
    evidence_ : Evidence

    Notes
    -----
    *Cost.* One sort of each column and one pass over it. Memory 8 n d bytes and some twenty numbers a row, two more for
    each thread.

    *Evidence.* As a decision tree; where all cuts of all columns could be tried again, that no other is better.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from corollary import DecisionStump
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionStump().fit(X, y)
    >>> round(model.score(X, y), 2), model.get_n_leaves()
    (0.92, 2)
    """

    splitter = "best"
    max_depth = 1
    min_samples_split = 2
    max_leaf_nodes = None
    min_impurity_decrease = 0.0
    ccp_alpha = 0.0
    monotonic_cst = None
    max_bins = None
    limits: ClassVar[dict[str, Limit]] = {
        "criterion": Choice("gini", "entropy", "log_loss"),
        "min_samples_leaf": GROWTH_LIMITS["min_samples_leaf"],
        "min_weight_fraction_leaf": GROWTH_LIMITS["min_weight_fraction_leaf"],
        "max_features": GROWTH_LIMITS["max_features"],
        "random_state": GROWTH_LIMITS["random_state"],
        "class_weight": CLASS_WEIGHT | ArrayLike(),
        "categorical_features": GROWTH_LIMITS["categorical_features"],
        "n_jobs": GROWTH_LIMITS["n_jobs"],
    }

    @assigning
    def __init__(
        self,
        *,
        criterion: str = "gini",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # two leaves cannot tell three classes apart
        return tags

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> DecisionStump:
        """Find the split for labels y (n,) or (n, targets); a row of weight w counts w times."""
        self._fit_classes(X, y, sample_weight)
        return self
