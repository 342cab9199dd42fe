"""Prediction by the nearest training rows: a vote for classes, a mean for numbers."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning

from corollary.base import caller_level, fitting, predicting
from corollary.core.fitted import Fitted, Flag, Floats, Integers, Labels, ListOf
from corollary.core.limits import Limit
from corollary.core.types import Array
from corollary.labels import encode_labels
from corollary.neighbors.voting import VOTE_LIMITS, VotingNeighbors


class KNeighborsClassifier(ClassifierMixin, VotingNeighbors):
    r"""A vote of the k nearest training rows.

    .. math:: P(y = c \mid q) = \frac{\sum_{i \in N_k(q)} w(d(q, x_i)) \, [y_i = c]}{\sum_{i \in N_k(q)} w(d(q, x_i))}

    Neighbours are exact, and of rows at the same distance the first comes first, whatever the algorithm.

    Parameters
    ----------
    n_neighbors : int ≥ 1, default=5
    weights : {"uniform", "distance", "inverse", "gaussian"}, callable or None, default="uniform"
        w(d): 1; 1/d, where exact matches outvote all others; 1/(c + dⁿ); exp(−½ (d/h)²); or a function that turns an
        array of distances into one of weights.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        "auto" builds a tree and keeps it if a few of the rows find their neighbours more cheaply with it. "ball_tree"
        is a k-d tree, or brute force for metrics that have none.
    leaf_size : int ≥ 1, default=30
        Least rows of a leaf of the tree; at most twice as many.
    p : float > 0, default=2
        The power of "minkowski".
    metric : str, callable or DistanceMetric, default="minkowski"
        "minkowski", "euclidean" ("l2"), "manhattan" ("l1"), "chebyshev", "cosine", "haversine"; "nan_euclidean", which
        allows gaps; "precomputed" if X holds distances, all of them or a sparse graph of those that count; any other
        name that scikit-learn's ball tree or ``pairwise_distances`` knows, or a function of two rows.
    metric_params : dict or None
        Further arguments of the metric.
    offset, power : float, default=1.0
        c ≥ 0 and n > 0 of "inverse".
    bandwidth : float > 0 or None
        h of "gaussian"; None is each query's distance to its k-th neighbour.
    n_jobs : int or None
        Threads, in fit and in predictions; None is all usable cores. The answer does not depend on it.

    Attributes
    ----------
    classes_ : array, or a list of arrays for several targets
    outputs_2d_ : bool
        Whether y was a table.
    n_samples_fit_ : int
    effective_metric_, effective_metric_params_ : str or callable, dict
        As given, but "minkowski" is called by the name that its power has, if any.
    rows_, multiplicity_ : arrays
        Numbers of the rows whose weight is not zero, and their weights. ``kneighbors`` numbers these rows only.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: that of :class:`NearestNeighbors`; votes are counted for 16 384 queries at a time.

    *Evidence*: checked: by how much the distances found for a random sample of the rows exceed those of brute force,
    and the share of all rows that can be wrong, with 95 % confidence, if none of those is.

    References
    ----------
    T. M. Cover and P. E. Hart, "Nearest neighbor pattern classification", *IEEE Transactions on Information Theory* 13,
    1967.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(n_neighbors=15, weights="gaussian").fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.92
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(None, low=1) | ListOf(Labels(None, low=1), "targets", low=2),
        "outputs_2d_": Flag(),
        "_y": Integers("n", "targets", low=0),
    }
    limits: ClassVar[dict[str, Limit]] = VOTE_LIMITS
    classes_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KNeighborsClassifier:
        """Keep the rows X with labels y (n,) or (n, targets); a row of weight w stands for w of them."""
        options = {"y_numeric": False, "multi_output": True, **self._door}
        X, y, weights = self._validate_fit(self._given(X), y, sample_weight, **options)
        if y.ndim == 2 and y.shape[1] == 1:
            words = "A column-vector y was passed when a 1d array was expected; y.ravel() is one."
            warnings.warn(f"{type(self).__name__}: {words}", DataConversionWarning, stacklevel=caller_level())
        columns = y[:, None] if y.ndim == 1 else y
        encoded = [encode_labels(columns[:, o], weights, one_class=True) for o in range(columns.shape[1])]
        self.classes_ = encoded[0][0] if len(encoded) == 1 else [classes for classes, _, _ in encoded]
        self.outputs_2d_ = bool(y.ndim == 2 and y.shape[1] > 1)
        self._keep_votes(X, np.column_stack([codes for _, codes, _ in encoded]), weights)
        return self

    def _keeps(self, y: Array) -> bool:
        targets = self.classes_ if self.outputs_2d_ else [self.classes_]
        columns = y.reshape(len(y), -1).T
        if len(columns) != len(targets) or len(y) != len(self._y):
            return False
        return all((of[codes] == own).all() for of, codes, own in zip(targets, self._y.T, columns, strict=True))

    def _check_state(self) -> None:
        super()._check_state()
        several = isinstance(self.classes_, list)
        targets = self.classes_ if several else [self.classes_]
        if several != self.outputs_2d_ or self._y.shape[1] != len(targets):
            raise ValueError(f"{len(targets)} targets have classes, but {self._y.shape[1]} have labels.")
        if any(int(codes.max()) >= len(classes) for codes, classes in zip(self._y.T, targets, strict=True)):
            raise ValueError("a row has the number of a class that is not there.")

    def _probabilities(self, X: Any) -> list[Array]:
        """One table per target."""
        from corollary.solvers.neighbors.votes import count_votes

        Q = self._asked(X)
        all_classes = self.classes_ if self.outputs_2d_ else [self.classes_]
        tables = [np.zeros((Q.shape[0], len(classes)), dtype=np.float64) for classes in all_classes]
        for block, rows, votes in self._neighbours(Q, others=X is None):
            for o, table in enumerate(tables):
                count_votes(rows, votes, self._y, o, table[block])
        return [table.astype(Q.dtype, copy=False) for table in tables]

    @predicting
    def predict_proba(self, X: Any) -> Any:
        """Share of the votes for each class, in the order of ``classes_``; a list for several targets.

        Without X (None), each training row is predicted from the others.
        """
        tables = self._probabilities(X)
        return tables if self.outputs_2d_ else tables[0]

    @predicting
    def predict(self, X: Any) -> Array:
        """The class with most votes, of equal ones the first; without X (None), of training rows from the others."""
        winners = [table.argmax(axis=1) for table in self._probabilities(X)]
        if not self.outputs_2d_:
            labels: Array = self.classes_[winners[0]]
            return labels
        return np.column_stack([classes[won] for classes, won in zip(self.classes_, winners, strict=True)])


class KNeighborsRegressor(RegressorMixin, VotingNeighbors):
    r"""The mean of the k nearest training rows.

    .. math:: \hat y(q) = \frac{\sum_{i \in N_k(q)} w(d(q, x_i)) \, y_i}{\sum_{i \in N_k(q)} w(d(q, x_i))}

    Neighbours are exact, and of rows at the same distance the first comes first, whatever the algorithm.

    Parameters
    ----------
    n_neighbors : int ≥ 1, default=5
    weights : {"uniform", "distance", "inverse", "gaussian"}, callable or None, default="uniform"
        w(d): 1; 1/d, where exact matches leave nothing to others; 1/(c + dⁿ); exp(−½ (d/h)²); or a function that turns
        an array of distances into one of weights.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        "auto" builds a tree and keeps it if a few of the rows find their neighbours more cheaply with it. "ball_tree"
        is a k-d tree, or brute force for metrics that have none.
    leaf_size : int ≥ 1, default=30
        Least rows of a leaf of the tree; at most twice as many.
    p : float > 0, default=2
        The power of "minkowski".
    metric : str, callable or DistanceMetric, default="minkowski"
        "minkowski", "euclidean" ("l2"), "manhattan" ("l1"), "chebyshev", "cosine", "haversine"; "nan_euclidean", which
        allows gaps; "precomputed" if X holds distances, all of them or a sparse graph of those that count; any other
        name that scikit-learn's ball tree or ``pairwise_distances`` knows, or a function of two rows.
    metric_params : dict or None
        Further arguments of the metric.
    offset, power : float, default=1.0
        c ≥ 0 and n > 0 of "inverse".
    bandwidth : float > 0 or None
        h of "gaussian"; None is each query's distance to its k-th neighbour.
    n_jobs : int or None
        Threads, in fit and in predictions; None is all usable cores. The answer does not depend on it.

    Attributes
    ----------
    n_samples_fit_ : int
    effective_metric_, effective_metric_params_ : str or callable, dict
        As given, but "minkowski" is called by the name that its power has, if any.
    rows_, multiplicity_ : arrays
        Numbers of the rows whose weight is not zero, and their weights. ``kneighbors`` numbers these rows only.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: that of :class:`NearestNeighbors`; means are taken for 16 384 queries at a time.

    *Evidence*: checked: by how much the distances found for a random sample of the rows exceed those of brute force,
    and the share of all rows that can be wrong, with 95 % confidence, if none of those is.

    References
    ----------
    T. M. Cover, "Estimation by the nearest neighbor rule", *IEEE Transactions on Information Theory* 14, 1968.

    Examples
    --------
    >>> from corollary import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> model.predict([[1.6]])
    array([2.5])
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "_y": Floats("n") | Floats("n", "?"),
    }
    limits: ClassVar[dict[str, Limit]] = VOTE_LIMITS

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KNeighborsRegressor:
        """Keep the rows X with numbers y (n,) or (n, targets); a row of weight w stands for w of them."""
        options = {"multi_output": True, **self._door}
        X, y, weights = self._validate_fit(self._given(X), y, sample_weight, **options)
        self._keep_votes(X, np.asarray(y, dtype=np.float64), weights)
        return self

    def _keeps(self, y: Array) -> bool:
        return y.size == self._y.size and bool((np.asarray(y, dtype=np.float64).ravel() == self._y.ravel()).all())

    @predicting
    def predict(self, X: Any) -> Array:
        """The weighted mean of the neighbours' y: (n,), or (n, targets) for several.

        Without X (None), each training row is predicted from the others.
        """
        from corollary.solvers.neighbors.votes import average

        Q = self._asked(X)
        y = self._y if self._y.ndim == 2 else self._y[:, None]
        means = np.empty((Q.shape[0], y.shape[1]))
        for block, rows, votes in self._neighbours(Q, others=X is None):
            average(rows, votes, y, means[block])
        means = means.astype(Q.dtype, copy=False)
        return means if self._y.ndim == 2 else means[:, 0]
