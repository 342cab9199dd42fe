"""Bagging: copies of one model, each fitted to a random sample of the rows (and columns); their votes are averaged."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from corollary.base import assigning, predicting
from corollary.core.fitted import Count, Fitted, Floats, Labels, ListOf, Maybe
from corollary.core.limits import CLASS_WEIGHT, Limit
from corollary.core.scaling import answer_type, magnitude
from corollary.core.types import Array
from corollary.ensemble.combine.bagging.base import BAGGING_LIMITS, Bagging
from corollary.ensemble.combine.bagging.interval import ErrorInterval
from corollary.ensemble.combine.votes import ByMean, ByVote, decisions_of, one_hot, predicted, votes_of
from corollary.ensemble.members import check_members, refuse_other_classes
from corollary.labels import agreeing, encode_labels


def _members_decide(model: BaggingClassifier) -> bool:
    members = vars(model).get("estimators_", ())
    _ = (members[0] if members else model.estimator_).decision_function  # its own AttributeError says why not
    return True


class BaggingClassifier(ByVote, Bagging):
    """The mean vote of classifiers fitted to bootstrap samples.

    A bootstrap sample of n rows holds about 1 − 1/e = 63.2 % of them. The others are out of that member's bag: votes of
    members on rows that they have not seen give an honest score without a test set.

    Parameters
    ----------
    estimator : classifier or None, default None
        None is a decision tree. Members that take ``sample_weight`` get each row once, with the number of times it was
        drawn as its weight; others get copies of it.
    n_estimators : int ≥ 1, default 10
    max_samples : int, float in (0, 1] or None, default None
        Rows that are drawn for a member. None is as many as there are (the sum of ``sample_weight``, if that is more
        than the number of rows that have one); a float is a share of that.
    max_features : int or float in (0, 1], default 1.0
        Columns that are drawn for a member.
    bootstrap : bool, default True
        Whether rows are drawn with replacement. Rows of large ``sample_weight`` are drawn more often: a row of weight 3
        is drawn exactly as three such rows are, and the order of the rows does not matter.
    bootstrap_features : bool, default False
        Whether columns are drawn with replacement.
    oob_score : bool or callable, default False
        Whether to compute ``oob_score_``: accuracy, or what the callable makes of (y, prediction).
    warm_start : bool, default False
        Keep the members of the last fit and add to them.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    random_state : int, RandomState or None
    verbose : int ≥ 0 or bool, default 0
        Whether to show progress.
    class_weight : dict, "balanced" or None, default None
        What the rows of each class count, times ``sample_weight``: rows of a heavy class are drawn more often.

    Attributes
    ----------
    classes_ : array of shape (k,)
    n_classes_, n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    estimator_ : classifier
        What the members are copies of.
    estimators_ : list of fitted members
        Their classes are the numbers of ``classes_``.
    estimators_features_, estimators_samples_ : lists of arrays
        Columns and rows of each member.
    oob_score_ : float
        With ``oob_score``.
    oob_decision_function_ : array of shape (n, k)
        Mean vote of the members that have not seen the row; NaN where all have.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* ``n_estimators`` fits; out-of-bag votes add one prediction of 37 % of the rows (without ``oob_score``: of at
    most 1000 rows) for each member. Memory: for each thread a copy of X and what the fit of a member takes.

    *Weights.* Which rows are drawn is the same for a row of weight w and for w copies of it. So is the answer, if the
    members take a weight for that many rows, as all of this library do, or get copies. Of others it need not be: of
    those that draw rows of their own, or decide between equals by the numbers of rows, as scikit-learn's trees do.

    *Evidence.* Checked: members got the weight they were to get. The error out of the bag and its 95 % interval (of
    shares Wilson's, of squares the normal one) are in its sentence and its facts: of all rows with ``oob_score``, else
    of 1000 drawn ones; without rows that a member has not seen there is none. Facts: the out-of-bag score and its
    standard error, the coverage of the samples and what it should be. Ctrl-C and callbacks keep the members that are
    fitted; "objective" of the history counts those that are still to come.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from corollary.ensemble.combine.bagging.bagging import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggingClassifier(KNeighborsClassifier(), 50, oob_score=True, random_state=0).fit(X, y)
    >>> bool(model.oob_score_ > 0.9), round(model.evidence_.facts["expected coverage"], 2)
    (True, 0.63)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Labels(low=1),
        "n_classes_": Count("k"),
        "oob_decision_function_": Maybe(Floats("rows", "k", finite=False)),
    }
    limits: ClassVar[dict[str, Limit]] = BAGGING_LIMITS | {"class_weight": CLASS_WEIGHT}
    _several = False
    classes_: Array

    @assigning
    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = 0,
        class_weight: Any = None,
    ) -> None: ...

    @property
    def estimator_(self) -> Any:
        """The estimator whose copies are fitted."""
        from corollary.tree.decision_tree import DecisionTreeClassifier

        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _target(self, y: Array, weights: Array) -> tuple[Array, Array]:
        before = self.classes_ if self.warm_start and hasattr(self, "estimators_") else None
        self.classes_, codes, weights = encode_labels(y, weights, self.class_weight, one_class=True)
        if before is not None:
            refuse_other_classes(before, self.classes_)
        self.n_classes_ = len(self.classes_)
        return codes, weights

    def _check_state(self) -> None:
        super()._check_state()
        check_members(self.estimators_, np.arange(self.n_classes_))

    def _votes(self, member: Any, X: Any) -> Array:
        return votes_of(member, X, np.arange(self.n_classes_))

    def _as_votes(self, target: Array) -> Array:
        return one_hot(target, self.n_classes_)

    def _error_out_of_bag(self, votes: Array, truth: Array, weights: Array) -> ErrorInterval:
        return ErrorInterval.of_shares(votes.argmax(axis=1) != truth.argmax(axis=1), weights)

    def _out_of_bag(self, votes: Array, target: Array, y: Array, weights: Array, voted: Array) -> dict[str, float]:
        self.oob_decision_function_, self.oob_score_ = votes, float("nan")
        if not voted.any():
            return {}
        predicted = np.nan_to_num(votes).argmax(axis=1)
        if callable(self.oob_score):
            self.oob_score_ = float(self.oob_score(y[voted], self.classes_[predicted[voted]]))
            return {"out-of-bag score": self.oob_score_}
        right, w = (predicted == target)[voted], weights[voted]
        self.oob_score_ = float(np.average(right, weights=w))
        spread = np.sqrt(self.oob_score_ * (1 - self.oob_score_) * np.square(w).sum()) / w.sum()
        return {"out-of-bag score": self.oob_score_, "standard error": float(spread)}

    @predicting
    def predict(self, X: Any, **metadata: Any) -> Array:
        """The class of the highest mean vote, the first of them in a tie.

        ``metadata`` goes to the members' ``predict_proba`` (or ``predict``), with metadata routing enabled.
        """
        best = self._mean_of("predict", X, metadata).argmax(axis=1)
        return self.classes_[best]

    @predicting
    def predict_proba(self, X: Any, **metadata: Any) -> Array:
        """The mean of the members' probabilities, or of their votes where they have none; ``metadata`` as above."""
        return self._mean_of("predict_proba", X, metadata)

    @predicting
    def predict_log_proba(self, X: Any, **metadata: Any) -> Array:
        """Logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self._mean_of("predict_log_proba", X, metadata))

    def _mean_of(self, method: str, X: Any, metadata: dict[str, Any]) -> Array:
        sent = self._routed(method, metadata)
        votes, dtype = self._vote(X, partial(votes_of, labels=np.arange(self.n_classes_), **sent) if sent else None)
        return agreeing(votes.astype(dtype), votes)

    @available_if(_members_decide)
    @predicting
    def decision_function(self, X: Any, **metadata: Any) -> Array:
        """The mean of the members' decision values: (n,) for two classes, (n, k) for more.

        A member that saw only some of the classes gives the others its lowest value.
        """
        sent = self._routed("decision_function", metadata)
        total, dtype = self._vote(X, partial(decisions_of, labels=np.arange(self.n_classes_), **sent))
        return (total[:, 0] if total.shape[1] == 1 else total).astype(dtype)


class BaggingRegressor(ByMean, Bagging):
    """The mean prediction of regressors fitted to bootstrap samples.

    y may have several columns if the members take that.

    Parameters
    ----------
    estimator : regressor or None, default None
        None is a regression tree. Members that take ``sample_weight`` get each row once, with the number of times it
        was drawn as its weight; others get copies of it.
    n_estimators : int ≥ 1, default 10
    max_samples : int, float in (0, 1] or None, default None
        Rows that are drawn for a member. None is as many as there are (the sum of ``sample_weight``, if that is more
        than the number of rows that have one); a float is a share of that.
    max_features : int or float in (0, 1], default 1.0
        Columns that are drawn for a member.
    bootstrap : bool, default True
        Whether rows are drawn with replacement. Rows of large ``sample_weight`` are drawn more often: a row of weight 3
        is drawn exactly as three such rows are, and the order of the rows does not matter.
    bootstrap_features : bool, default False
        Whether columns are drawn with replacement.
    oob_score : bool or callable, default False
        Whether to compute ``oob_score_``: R², or what the callable makes of (y, prediction).
    warm_start : bool, default False
        Keep the members of the last fit and add to them.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    random_state : int, RandomState or None
    verbose : int ≥ 0 or bool, default 0
        Whether to show progress.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    estimator_ : regressor
        What the members are copies of.
    estimators_ : list of fitted members
    estimators_features_, estimators_samples_ : lists of arrays
        Columns and rows of each member.
    oob_score_ : float
        With ``oob_score``.
    oob_prediction_ : array of shape (n,) or (n, k)
        Mean prediction of the members that have not seen the row; NaN where all have.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* ``n_estimators`` fits; out-of-bag votes add one prediction of 37 % of the rows (without ``oob_score``: of at
    most 1000 rows) for each member. Memory: for each thread a copy of X and what the fit of a member takes.

    *Weights.* Which rows are drawn is the same for a row of weight w and for w copies of it. So is the answer, if the
    members take a weight for that many rows, as all of this library do, or get copies. Of others it need not be: of
    those that draw rows of their own, or decide between equals by the numbers of rows, as scikit-learn's trees do.

    *Evidence.* As for :class:`BaggingClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary import Ridge
    >>> from corollary.ensemble.combine.bagging.bagging import BaggingRegressor
    >>> X = np.arange(40.0)[:, None]
    >>> model = BaggingRegressor(Ridge(), oob_score=True, random_state=0).fit(X, 2 * X[:, 0])
    >>> round(model.oob_score_, 2), model.evidence_.holds
    (1.0, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "_columns": ListOf(Count(low=1), kind=tuple),
        "oob_prediction_": Maybe(Floats("rows", finite=False) | Floats("rows", "?", finite=False)),
    }
    limits: ClassVar[dict[str, Limit]] = BAGGING_LIMITS
    _several = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self.estimator_).target_tags.multi_output
        return tags

    @property
    def estimator_(self) -> Any:
        """The estimator whose copies are fitted."""
        from corollary.tree.decision_tree import DecisionTreeRegressor

        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    def _target(self, y: Array, weights: Array) -> tuple[Array, Array]:
        target: Array = y.astype(np.float64)
        self._columns = target.shape[1:]
        return target, weights

    def _as_votes(self, target: Array) -> Array:
        return target.reshape(len(target), -1)

    def _check_state(self) -> None:
        super()._check_state()
        check_members(self.estimators_, None)

    @predicting
    def predict(self, X: Any, **metadata: Any) -> Array:
        """The mean of the members' predictions; ``metadata`` goes to them, with metadata routing enabled."""
        sent = self._routed("predict", metadata)
        said, dtype = self._vote(X, partial(self._votes, **sent))
        return said.astype(answer_type(dtype, magnitude(said)))

    def _votes(self, member: Any, X: Any, **options: Any) -> Array:
        return np.asarray(predicted(member, X, **options), dtype=np.float64).reshape(X.shape[0], -1)

    def _error_out_of_bag(self, votes: Array, truth: Array, weights: Array) -> ErrorInterval:
        return ErrorInterval.of_squares(np.square(votes - truth).mean(axis=1), weights)

    def _out_of_bag(self, votes: Array, target: Array, y: Array, weights: Array, voted: Array) -> dict[str, float]:
        self.oob_prediction_, self.oob_score_ = votes.reshape(target.shape), float("nan")
        if voted.sum() < 2:  # R² compares rows with each other
            return {}
        known, truth, w = self.oob_prediction_[voted], target[voted], weights[voted]
        if callable(self.oob_score):
            self.oob_score_ = float(self.oob_score(truth, known))
            return {"out-of-bag score": self.oob_score_}
        self.oob_score_ = float(r2_score(truth, known, sample_weight=w))
        squares = np.square(known - truth).reshape(len(w), -1).sum(axis=1)
        centred = np.square(truth - np.average(truth, axis=0, weights=w)).reshape(len(w), -1).sum(axis=1)
        share = w / w.sum()
        spread = np.sqrt(np.square(share * (squares - share @ squares)).sum()) / max(share @ centred, 1e-300)
        return {"out-of-bag score": self.oob_score_, "standard error": float(spread)}

    def _vote(self, X: Any, ask: Any = None) -> tuple[Array, Any]:
        votes, dtype = super()._vote(X, ask)
        return votes.reshape(len(votes), *self._columns), dtype
