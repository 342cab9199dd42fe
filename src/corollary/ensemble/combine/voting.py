"""Voting: different models fitted to the same rows; the majority, or the mean of what they say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from corollary.base import assigning, predicting
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Fitted, Floats, Integers, Labels, Maybe, Number
from corollary.core.limits import CLASS_WEIGHT, ArrayLike, Boolean, Choice, Integer, Limit
from corollary.core.types import Array
from corollary.ensemble.combine.excess import HeldOutExcess
from corollary.ensemble.combine.held_out import SEEN, SPLITS, HeldOut
from corollary.ensemble.combine.named import NAMED_LIMITS, Members, WeightedMembers, without_weights
from corollary.ensemble.combine.votes import (
    ByMean,
    ByVote,
    columns_type,
    counted_again,
    float_type,
    has_vote,
    one_hot,
    take_rows,
    weighted_sum,
)
from corollary.ensemble.members import weakened
from corollary.ensemble.routing import Told
from corollary.referee.verdict import Verification

MEASURED = 2000  # training rows on which members and vote are scored, where no rows are held out
RECOUNTED = 200  # rows whose vote is counted again
_NOT_HELD_OUT = (
    "Members saw every row, so scores are those of training and nothing is claimed of new rows; with cv=5 rows are "
    "held out."
)
_HELD_OUT = ("held_out_votes_", "held_out_rows_", "held_out_error_", "held_out_excess_")


class _Voting(TransformerMixin, WeightedMembers):
    """Fits all members to all rows; with ``cv`` also to parts of them, to judge the vote on the rest."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "_shares": Floats("members", low=0, total=1),
        "held_out_rows_": Maybe(Integers("held", low=0)),
        "held_out_error_": Maybe(Number(low=0, finite=False)),
        "held_out_excess_": Maybe(Floats("members", 3, finite=False)),
    }
    weights: Any

    def _fit(self, members: Members, X: Any, y: Array, told: Told, weights: Array) -> Evidence:
        self._shares = self._shares_of(members)
        for name in _HELD_OUT:
            self.__dict__.pop(name, None)
        found = None if self.cv is None else self._held_out(members, X, y, told)
        self._fit_members(members, X, y, told)
        mute = [name for name, member in zip(self._names, self.estimators_, strict=True) if not has_vote(member)]
        if mute:
            return _unchecked(mute, len(members))
        certificate = self._counted_again(X)
        notes: tuple[str, ...] = (_NOT_HELD_OUT,)
        if found is None:
            facts = self._on_training_rows(X, y, weights)
        else:
            facts, notes = self._on_held_out_rows(found, y, weights)
            name = f"{certificate.name}, or {SEEN}"
            certificate = Certificate(certificate.kind, name, max(certificate.value, found.seen), certificate.tolerance)
        evidence = Evidence(
            Status.EXACT, certificate, "voting", facts=facts, notes=(*notes, *without_weights(members, told))
        )
        return weakened(evidence, [*self.estimators_, *(() if found is None else found.evidence)])

    def _on_training_rows(self, X: Any, y: Array, weights: Array) -> dict[str, float]:
        """Scores of members and vote on (some of) the rows of the fit."""
        if len(y) > MEASURED:
            rows = np.linspace(0, len(y) - 1, MEASURED).astype(np.intp)
            X, y, weights = take_rows(X, rows), y[rows], weights[rows]
        w = weights if weights.sum() > 0 else np.ones(len(weights))
        said = self._said(X)
        shown = dict(zip(self._names, said, strict=True)) | {"the vote": weighted_sum(self._shares, said)}
        return self._scores(shown, y, w)

    def _on_held_out_rows(self, found: HeldOut, y: Array, weights: Array) -> tuple[dict[str, float], tuple[str, ...]]:
        """Keep what members said of rows that they had not seen; (facts, sentences) about the vote on them."""
        counted = weights[found.rows] > 0
        if not counted.any():
            raise ValueError(f"{type(self).__name__}: no row that cv holds out has a weight; hold out more of them.")
        self.held_out_rows_ = found.rows[counted]
        said = [votes[counted] for votes in found.votes]
        self.held_out_votes_ = np.stack(said)
        truth, w = y[self.held_out_rows_], weights[self.held_out_rows_]
        judged = HeldOutExcess.of(self._names, said, self._shares, truth, w)
        self.held_out_error_, self.held_out_excess_ = judged.vote.error, judged.excess
        shown = dict(zip(self._names, said, strict=True)) | {"the vote": weighted_sum(self._shares, said)}
        seen = f"{found.seen:.0%} of the predictions are by models that had seen the row: cv overlaps."
        return self._scores(shown, truth, w) | judged.facts, (judged.sentence, *((seen,) if found.seen else ()))

    @property
    def _judged(self) -> str:
        return "held-out" if "held_out_rows_" in vars(self) else "training"

    def _counted_again(self, X: Any) -> Certificate:
        """The vote of a few of these rows, counted once more member by member."""
        rows = np.unique(np.linspace(0, X.shape[0] - 1, RECOUNTED).astype(np.intp))
        whole = getattr(self, "voting", "soft") == "hard"
        return counted_again(self, take_rows(X, rows), self.estimators_, self._shares, whole)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.combine.claims import verify_voting

        return verify_voting(self, X, y, sample_weight)

    def _shares_of(self, members: Members) -> Array:
        """Weights of the members that take part, as shares of one; dropped members had weights too."""
        if self.weights is None:
            return np.full(len(members), 1.0 / len(members))
        values, kept = np.asarray(self.weights, dtype=np.float64), {name for name, _ in members}
        names = [name for name, _ in (members if self.estimators is None else self.estimators)]
        if values.shape != (len(names),):
            raise ValueError(
                f"Number of `estimators` and weights must be equal: weights must be {len(names)} numbers, one for each "
                f"estimator, but they are {self.weights!r}."
            )
        values = values[[name in kept for name in names]]
        if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
            raise ValueError(f"weights must be finite, not negative and not all zero, but they are {self.weights!r}.")
        return values / values.sum()

    @property
    def _counts(self) -> Array:
        return self._shares

    @predicting
    def transform(self, X: Any) -> Array:
        """What the members say, side by side: one column for each regressor."""
        X = self._table(X, reset=False)
        said = self._said(X)
        return np.column_stack(said).astype(columns_type(float_type(X), said))

    @predicting
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of ``transform``."""
        return np.array(self._column_names([1] * len(self._names)), dtype=object)


def _unchecked(mute: list[str], n_members: int) -> Evidence:
    """Of a vote that cannot be counted, as scikit-learn lets people fit one, nothing is claimed."""
    certificate = Certificate(Kind.CHECKED, "share of members that cannot predict", len(mute) / n_members, 0.0)
    return Evidence(Status.MUTE, certificate, "voting", notes=(f"Without predict: {', '.join(mute)}.",))


class SeveralLabelsError(NotImplementedError, ValueError):
    """What scikit-learn calls not implemented, and all else here a bad value."""


def _votes_are_soft(model: VotingClassifier) -> bool:
    if model.voting == "hard":
        raise AttributeError(f"predict_proba is not available when voting={model.voting!r}: use voting='soft'.")
    return True


class VotingClassifier(ByVote, _Voting):
    """The majority vote of classifiers, or the class of the highest mean probability.

    Parameters
    ----------
    estimators : list of (name, classifier) pairs, or None
        "drop" in place of a classifier leaves it out. None is logistic regression and a small tree.
    voting : {"hard", "soft"}, default "hard"
        Whether a member casts one vote or its probabilities.
    weights : array of shape (members,) or None
        How much each member's vote counts, ≥ 0.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    flatten_transform : bool, default True
        Whether ``transform`` of soft votes gives one row of numbers for each row of X.
    verbose : bool, default False
        Whether to show progress.
    cv : int ≥ 2, float in (0, 1), splitter, splits or None, default None
        Whether, and how, to judge the vote on rows that members have not seen: folds, or one held-out share of the rows
        (a float). Copies of the members are fitted for it; the model itself is the same with and without. Where rows
        belong together in groups, give the splits: ``list(GroupKFold(5).split(X, y, groups))``.
    class_weight : dict, "balanced" or None, default None
        What the rows of each class count, times ``sample_weight``; members that take no weights ignore it.

    Attributes
    ----------
    estimators_ : list of fitted members
        Their classes are the numbers of ``classes_``.
    named_estimators_ : Bunch
        The same, by name.
    le_ : LabelEncoder
        From labels to these numbers.
    classes_ : array of shape (k,)
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    held_out_rows_ : array of shape (h,)
        With ``cv``: the rows (of positive weight) that were held out.
    held_out_votes_ : array of shape (members, h, k)
        What each member, fitted without the row, says of it; the mean where a row is held out more than once.
    held_out_error_ : float
        The share of these rows (by weight) that the vote gets wrong.
    held_out_excess_ : array of shape (members, 3)
        That share less the one of each member, and the low and high ends of its interval.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* One fit of each member, and with ``cv`` one more for each fold. Memory: what their fits take.
    ``sample_weight`` goes to members that take it (in a pipeline, to its last step).

    *Evidence.* Checked: the votes of up to 200 rows, counted again member by member, are those that the model gives.
    Without ``cv`` no row is held out, nothing is claimed about new rows, and the facts have training accuracies. With
    ``cv`` no held-out prediction may be by a model that had seen the row, and the sentence and the facts say how often
    the vote is wrong on held-out rows, and how much more often or less than each of its members. The intervals of these
    differences (Bonett and Price's, of paired rows) hold for all members at once with 95 % confidence, so also for the
    best one; rows are taken as independent, and that folds share rows to learn from is left aside. A vote that is worse
    than a member is said to be so, but what is checked holds none the less.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from corollary import LogisticRegression
    >>> from corollary.ensemble.combine.voting import VotingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotingClassifier([("linear", LogisticRegression()), ("bayes", GaussianNB())], voting="soft").fit(X, y)
    >>> round(model.score(X, y), 2), model.evidence_.holds
    (0.96, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "held_out_votes_": Maybe(Floats("members", "held", "?", low=0)),
        "_labels": Labels(low=1),
        "classes_": Labels(low=1),
    }
    limits: ClassVar[dict[str, Limit]] = NAMED_LIMITS | {
        "voting": Choice("hard", "soft"),
        "weights": Choice(None) | ArrayLike(),
        "flatten_transform": Boolean(),
        "verbose": Boolean() | Integer(0),
        "cv": Choice(None) | SPLITS,
        "class_weight": CLASS_WEIGHT,
    }

    @assigning
    def __init__(
        self,
        estimators: Any = None,
        *,
        voting: str = "hard",
        weights: Any = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
        verbose: Any = False,
        cv: Any = None,
        class_weight: Any = None,
    ) -> None: ...

    @property
    def _one_class(self) -> bool:
        return True

    def _refuse_targets(self, y: Any) -> None:
        if type_of_target(y, input_name="y").startswith("multilabel"):
            raise SeveralLabelsError(
                "VotingClassifier only supports binary or multiclass classification: y has several labels for a row. "
                "Vote on each column of y by itself, as MultiOutputClassifier does."
            )

    def _members(self) -> Members:
        members = super()._members()
        for name, member in members if self.voting == "soft" else ():
            if has_vote(member) and not hasattr(member, "predict_proba"):
                raise ValueError(f"voting='soft' needs predict_proba, which {name!r} does not have. Use voting='hard'.")
        return members

    @property
    def le_(self) -> LabelEncoder:
        """The encoder of the labels, as members know them."""
        if not hasattr(self, "classes_"):
            raise NotFittedError(f"{type(self).__name__} has no le_ before fit.")
        return LabelEncoder().fit(self.classes_)

    @available_if(_votes_are_soft)
    def predict_proba(self, X: Any) -> Array:
        """The mean of the members' probabilities, with ``voting="soft"``."""
        return self._mean_vote(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.voting == "hard":
            tags.transformer_tags.preserves_dtype = []  # class numbers
        return tags

    def _speakers(self) -> list[Callable[..., Array]]:
        if self.voting == "soft":
            return super()._speakers()
        return [partial(_ballot, n_classes=len(self.classes_))] * len(self._names)

    @predicting
    def transform(self, X: Any) -> Array:
        """What the members say: class numbers (n, members), or probabilities (n, members · k) of soft votes."""
        if self.voting == "soft" and self.flatten_transform:
            return super().transform(X)
        X = self._table(X, reset=False)
        said = np.stack(self._said(X))
        return said.argmax(axis=2).T if self.voting == "hard" else said.astype(float_type(X))

    @predicting
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of ``transform``."""
        if self.voting == "hard":
            return super().get_feature_names_out(input_features)
        if not self.flatten_transform:
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and `flatten_transform=False`: what "
                "transform gives is no table, whose columns had names."
            )
        return np.array(self._column_names([len(self.classes_)] * len(self._names)), dtype=object)


def _ballot(member: Any, X: Any, n_classes: int) -> Array:
    return one_hot(np.asarray(member.predict(X), dtype=np.intp), n_classes)


class VotingRegressor(ByMean, _Voting):
    """The weighted mean of what regressors predict.

    Parameters
    ----------
    estimators : list of (name, regressor) pairs, or None
        "drop" in place of a regressor leaves it out. None is ridge regression and a small tree.
    weights : array of shape (members,) or None
        How much each member counts, ≥ 0.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    verbose : bool, default False
        Whether to show progress.
    cv : int ≥ 2, float in (0, 1), splitter, splits or None, default None
        Whether, and how, to judge the vote on rows that members have not seen: folds, or one held-out share of the rows
        (a float). Copies of the members are fitted for it; the model itself is the same with and without. Where rows
        belong together in groups, give the splits: ``list(GroupKFold(5).split(X, y, groups))``.

    Attributes
    ----------
    estimators_ : list of fitted members
    named_estimators_ : Bunch
        The same, by name.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    held_out_rows_ : array of shape (h,)
        With ``cv``: the rows (of positive weight) that were held out.
    held_out_votes_ : array of shape (members, h)
        What each member, fitted without the row, predicts; the mean where a row is held out more than once.
    held_out_error_ : float
        The mean squared error of the vote on these rows (by weight).
    held_out_excess_ : array of shape (members, 3)
        That error less the one of each member, and the low and high ends of its interval.
    evidence_ : Evidence

    Notes
    -----
    *Cost* and *Evidence*: as for :class:`VotingClassifier`, with R² for accuracy, squared errors for wrong labels and
    Student's interval of paired differences.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from corollary import Ridge
    >>> from corollary.ensemble.combine.voting import VotingRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> model = VotingRegressor([("linear", Ridge()), ("near", KNeighborsRegressor(3))]).fit(X, X[:, 0] ** 2)
    >>> model.predict([[4.0]]).shape, model.evidence_.holds
    ((1,), True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {"held_out_votes_": Maybe(Floats("members", "held", finite=False))}
    limits: ClassVar[dict[str, Limit]] = NAMED_LIMITS | {
        "weights": Choice(None) | ArrayLike(),
        "verbose": Boolean() | Integer(0),
        "cv": Choice(None) | SPLITS,
    }

    @assigning
    def __init__(
        self,
        estimators: Any = None,
        *,
        weights: Any = None,
        n_jobs: int | None = None,
        verbose: Any = False,
        cv: Any = None,
    ) -> None: ...
